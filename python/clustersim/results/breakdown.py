# SPDX-License-Identifier: GPL-2.0-only
"""Where the time of each job of a run went: the parts that its Total time consists of."""
import dataclasses
from collections.abc import Sequence
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from clustersim.results.run import Run

# Column of the summary, name, and place in Okabe and Ito's palette from 0: the same in every picture.
PARTS = (("compute", "computation", 2), ("exposed_tp", "exposed TP", 0), ("exposed_dp", "exposed DP", 1),
         ("exposed_dp_ep", "exposed DP_EP", 4), ("exposed_ep", "exposed EP", 3),
         ("exposed_pp", "exposed PP", 5), ("exposed_cp", "exposed CP", 7), ("bubble", "bubble", 6))
OTHER = ("other", 8)  # also what groups of other kinds expose
WAITING = ("no request to serve", 8)
ROUNDING = 1e-3  # of the longest time: a rest that is shorter comes from rounding, and is not shown


@dataclasses.dataclass(frozen=True)
class Part:
    """A share of a job's time, by name."""
    name: str
    colour: int
    us: float


@dataclasses.dataclass(frozen=True)
class Breakdown:
    name: str  # of the run; of a run with several jobs, also of the job
    total_us: float
    parts: list[Part]  # none of them zero
    comparable: tuple[str,
                      int] | None = None  # jobs of the same are alternatives; None: it lasts as long as requests come


def comparable_of(run: "Run", number: int) -> tuple[str, int] | None:
    """@param number of the job in the run @return what jobs have in common whose times may be compared; None: with
    none"""
    return None if run.serves_requests else (run.workload_identity, number)


def _jobs(run: "Run") -> list[tuple[str, dict[str, Any], tuple[str, int] | None]]:
    rows = [] if run.summary is None else run.summary.to_dict("records")
    return [(run.name if len(rows) == 1 else f"{run.name}: {row['job']}", row, comparable_of(run, number))
            for number, row in enumerate(rows)]


def breakdowns(runs: "Sequence[Run]") -> list[Breakdown]:
    """@return where the time of each job went, in the order of the runs"""
    jobs = [job for run in runs for job in _jobs(run)]
    longest = max((row["total"] for _, row, _ in jobs), default=0)
    found = []
    for name, row, comparable in jobs:
        parts = [Part(title, colour, row[column]) for column, title, colour in PARTS if row[column] > 0]
        rest = row["total"] - sum(row[column] for column, _, _ in PARTS)
        if longest and rest / longest > ROUNDING:
            parts.append(Part(*(OTHER if comparable else WAITING), rest))
        found.append(Breakdown(name, row["total"], parts, comparable))
    return found


def parts_that_occur(found: Sequence[Breakdown]) -> list[tuple[str, int]]:
    """@return (name, colour) of the parts of any job, in the order in which they are shown"""
    occurring = {(part.name, part.colour) for breakdown in found for part in breakdown.parts}
    return [entry for entry in [(name, colour) for _, name, colour in PARTS] + [OTHER, WAITING] if entry in occurring]
