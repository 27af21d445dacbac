# SPDX-License-Identifier: GPL-2.0-only
"""The top of the page: which run is fastest, and where the time of each went."""
import dataclasses
from typing import TYPE_CHECKING
from collections.abc import Iterator, Sequence

from clustersim.results.breakdown import Breakdown, breakdowns, parts_that_occur
from clustersim.results.verdict import sentences_of

if TYPE_CHECKING:
    from clustersim.results.run import Run

@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    colour: int  # of the page's palette, from 1
    percent: float  # of the longest time of all runs
    text: str


@dataclasses.dataclass(frozen=True)
class Bar:
    name: str
    total: str
    relative: str
    parts: list[Part]


@dataclasses.dataclass(frozen=True)
class Glance:
    sentences: list[str]
    bars: list[Bar]
    legend: list[tuple[str, int]]  # names and colours of the parts that occur


VERDICTS = 2  # at the top; the section "What limits each group" has all


def time_text(microseconds: float) -> str:
    """@return a time with the unit that suits it, such as "2.747 ms" """
    for factor, unit in ((1e6, "s"), (1e3, "ms"), (1, "\u00b5s")):
        if microseconds >= factor:
            return f"{microseconds / factor:.4g} {unit}"
    return f"{microseconds * 1e3:.4g} ns"


def _bar(breakdown: Breakdown, longest: float, first: float) -> Bar:
    parts = [Part(part.name, part.colour + 1, 100 * part.us / longest, time_text(part.us))
             for part in breakdown.parts]
    relative = f"{breakdown.total_us / first:.2f} x" if first else ""
    return Bar(breakdown.name, time_text(breakdown.total_us), relative, parts)


def _alternatives(jobs: Sequence[Breakdown]) -> list[list[Breakdown]]:
    """@return the jobs whose times may be compared, a list for each workload"""
    found: dict[object, list[Breakdown]] = {}
    for job in jobs:
        if job.comparable is not None:
            found.setdefault(job.comparable, []).append(job)
    return [group for group in found.values() if len(group) > 1]


def _fastest(jobs: Sequence[Breakdown], workload: str) -> str:
    """@param workload its name, where there are several"""
    ordered = sorted(jobs, key=lambda job: job.total_us)
    best, worst = ordered[0], ordered[-1]
    of = f"{workload}: " if workload else ""
    if not best.total_us:
        return f"{of}{best.name} is fastest."
    return (f"{of}{best.name} is fastest with {time_text(best.total_us)}; {worst.name} takes "
            f"{worst.total_us / best.total_us:.2f} times as long.")


def _served(run: "Run") -> Iterator[str]:
    """@return what users of the run's instances saw, the mean of each job's requests"""
    if run.inference is None:
        return
    for job, rows in run.inference.groupby("job"):
        found = dict(zip(rows["metric"], rows["mean"]))
        if "e2e_us" in found and "ttft_us" in found:
            name = run.name if run.inference["job"].nunique() == 1 else f"{run.name}: {job}"
            yield (f"{name}: {found.get('requests', 0):.0f} requests; the mean one has its first token after "
                   f"{time_text(found['ttft_us'])} and its last after {time_text(found['e2e_us'])}.")


def _sentences(runs: "Sequence[Run]", jobs: Sequence[Breakdown]) -> list[str]:
    found = []
    names: dict[tuple[str, int] | None, str] = {(run.workload_identity, 0): run.workload for run in runs}
    several = len({run.workload_identity for run in runs if not run.serves_requests}) > 1
    if len(runs) > 1 and len(jobs) == len(runs):
        found += [_fastest(group, names.get(group[0].comparable, "") if several else "")
                  for group in _alternatives(jobs)]
    elif len(jobs) == 1 and jobs[0].comparable:
        row = next(run.summary.iloc[0] for run in runs if run.summary is not None and len(run.summary))
        share = 100 * row["exposed"] / row["total"] if row["total"] else 0
        found.append(f"It takes {time_text(row['total'])}, {share:.0f}% of it communication that no "
                     f"computation hides.")
    for run in runs:
        found += _served(run)
        if not jobs and run.flows is not None and len(run.flows):
            assert run.simulated_ns is not None  # at least the last end of its flows
            found.append(f"{run.name}: {len(run.flows)} flows, the last done at "
                         f"{time_text(run.simulated_ns / 1e3)}, median slowdown "
                         f"{run.flows['slowdown'].median():.2f}.")
        if run.info.get("drops"):
            found.append(f"{run.name}: {run.info['drops']} frames were lost.")
        if run.info.get("trimmed_packets"):
            found.append(f"{run.name}: switches cut the payload off {run.info['trimmed_packets']} packets.")
    if len(runs) == 1:
        found += sentences_of(runs[0])[:VERDICTS]
    return found


def glance_of(runs: "Sequence[Run]") -> Glance:
    """@return what stands at the top of the page"""
    jobs = breakdowns(runs)
    longest = max((job.total_us for job in jobs), default=0)
    first = {id(job): group[0].total_us for group in _alternatives(jobs) for job in group}
    return Glance(_sentences(runs, jobs), [_bar(job, longest, first.get(id(job), 0)) for job in jobs],
                  [(name, colour + 1) for name, colour in parts_that_occur(jobs)])
