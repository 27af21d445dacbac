# SPDX-License-Identifier: GPL-2.0-only
"""Plans that were found, the best first."""
import csv
import dataclasses
import json
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any, TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.shown import Shown, Table
from clustersim.whole_file import whole_file, write_text
from clustersim.workload.plan import recompute
from clustersim.workload.planning import search
from clustersim.workload.write import launch_arguments

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.parallel import Parallelism

COLUMNS = ("rank", "gpus", "tp", "dp", "pp", "vpp", "ep", "etp", "cp", "zero", "copies", "recompute", "micro_batch",
           "micro_batches", "memory_gb",
           "time_ms", "tokens_per_s_per_gpu", "mfu", "cost", "computation", "TP", "DP", "DP_EP", "EP", "CP", "PP",
           "bubble", "bound_by", "simulated_ms")
SHOWN = ("rank", "gpus", "tp", "dp", "pp", "vpp", "ep", "etp", "cp", "zero", "copies", "recompute", "micro_batch",
         "memory_gb", "time_ms", "tokens_per_s_per_gpu", "mfu", "cost", "bubble", "bound_by", "simulated_ms")

Row = dict[str, Any]  # the cells of a plan by COLUMNS


def _recomputed(plan: "Parallelism") -> str:
    """@return what is computed again, as in `full:2` (layers of each chunk) or `selective:mla_up_proj`"""
    more = [str(plan.recompute_layers)] if plan.recompute_layers else []
    more += [",".join(name for name in plan.modules if name not in recompute.DEFAULT)] if plan.modules else []
    return ":".join([plan.recompute, *more])


def row_of(number: int | str, timed: search.Timed, gpu: "Gpu", hour: float) -> Row:
    """@param number its rank @param hour price of a GPU for an hour"""
    plan = timed.plan
    share = {key: timed.parts.get(key, 0.0) / timed.total_ns for key in (*search.COMMUNICATION, "bubble")}
    cost = plan.world_size * timed.total_ns / 3.6e12 * hour / (plan.sequences * plan.sequence) * 1e9
    return {"rank": number, "gpus": plan.world_size, "tp": plan.tp, "dp": plan.dp, "pp": plan.pp, "vpp": plan.virtual,
            "ep": plan.ep, "etp": plan.expert_tp, "cp": plan.cp, "zero": plan.zero, "copies": plan.copies,
            "recompute": _recomputed(plan), "micro_batch": plan.micro_batch,
            "micro_batches": plan.micro_batches, "memory_gb": timed.candidate.memory.total / 1e9,
            "time_ms": timed.total_ns / 1e6, "tokens_per_s_per_gpu": timed.tokens_per_s / plan.world_size,
            "mfu": timed.utilisation(gpu), "cost": cost, "computation": 1 - sum(share.values()), **share,
            "bound_by": timed.bound_by, "simulated_ms": None}


def _text(key: str, value: Any) -> str:
    if value is None:
        return "-"
    if key in ("mfu", "bubble", "computation", "TP", "DP", "DP_EP", "EP", "CP", "PP"):
        return f"{100 * value:.1f}%"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def shown_columns(rows: Sequence[Row], costs: bool) -> list[str]:
    """@param costs whether to show the price of 10^9 tokens @return those that people see"""
    return [key for key in SHOWN if (key != "simulated_ms" or any(row[key] for row in rows))
            and (key != "cost" or costs)]


def table(rows: Sequence[Row], costs: bool = False) -> str:
    """@return the table for people"""
    shown = shown_columns(rows, costs)
    cells = [shown] + [[_text(key, row[key]) for key in shown] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(shown))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in cells)


def differences(rows: Sequence[Row]) -> str:
    """@return for people, what each plan takes more than the best, in ms, and which parts of it"""
    keys = ("computation", *search.COMMUNICATION, "bubble")
    best = rows[0]
    lines: list[tuple[str, ...]] = [("rank", "total", *keys)]
    for row in rows[1:]:
        more = [row[key] * row["time_ms"] - best[key] * best["time_ms"] for key in keys]
        lines.append((str(row["rank"]), *(f"{value:+.1f}" for value in (row["time_ms"] - best["time_ms"], *more))))
    kept = [0, 1, *(column for column in range(2, len(lines[0]))
                    if any(line[column] not in ("+0.0", "-0.0") for line in lines[1:]))]
    widths = {column: max(len(line[column]) for line in lines) for column in kept}
    return "\n".join("  ".join(line[column].rjust(widths[column]) for column in kept) for line in lines)


def comparison(rows: Sequence[Row]) -> str:
    """@return how the reader's layout, the last row, stands beside the best, in a line"""
    here, best = rows[-1], rows[0]
    key = "simulated_ms" if here["simulated_ms"] and best["simulated_ms"] else "time_ms"
    ratio = here[key] / best[key] * best["gpus"] / here["gpus"]
    return (f"you are here: {here[key]:.1f} ms, "
            f"{f'{ratio:.2f} times as long as the best plan' if ratio > 1 else 'as fast as the best plan, or faster'}"
            f"{', simulated' if key == 'simulated_ms' else ''}")


def arguments_of(framework: str, model: "Model", best: "Sequence[Parallelism]", gpus_per_server: int) -> str:
    """@return the arguments of the first of the best plans that the framework can carry out"""
    refusal = None
    for rank, plan in enumerate(best, 1):
        try:
            text = launch_arguments.text(framework, model, plan, gpus_per_server)
        except InputError as error:
            refusal = error
            continue
        which = "" if rank == 1 else f" for plan {rank}, the best that it can carry out"
        return f"arguments of {framework}{which}:\n{text}"
    raise InputError(f"{refusal}, or more plans (--top)")


@dataclasses.dataclass(frozen=True, repr=False)
class Plans(Shown):
    """The best plans of a search; the workload of plan N is directory/planN.txt.

    rows have a dictionary for each plan, best the plans themselves with their iterations. The reader's own layout, if
    the flags describe one, is the last, with the rank "here" and the workload here.txt.
    """
    title: str
    model: "Model"
    rows: Sequence[Row]
    best: Sequence[search.Timed]
    seen: int  # plans
    timed: int
    directory: pathlib.Path
    gpus_per_server: int
    has_costs: bool = False
    framework: str | None = None  # of which the text has the arguments

    @property
    def frame(self) -> "pd.DataFrame":
        """A row per plan, the columns of plans.csv: memory in GB (10^9 bytes), times in ms, cost of 10^9 tokens; mfu,
        computation and all behind it are shares of 1"""
        import pandas as pd
        return pd.DataFrame(self.rows, columns=list(COLUMNS))

    @property
    def workload(self) -> pathlib.Path:
        """The best plan's workload"""
        return self.directory / "plan1.txt"

    def arguments(self, framework: str) -> str:
        """@param framework such as "megatron" @return its arguments for the best plan that it can carry out
        @raise InputError it can carry out none"""
        launch_arguments.check(framework)
        found = [each.plan for each, row in zip(self.best, self.rows) if row["rank"] != "here"]
        return arguments_of(framework, self.model, found, self.gpus_per_server)

    def headline(self) -> str:
        return f"{self.title}: {self.seen} plans, {self.timed} timed, the others cannot be better"

    def lines(self) -> Iterable[str]:
        yield self.headline()
        yield table(self.rows, self.has_costs)
        if len(self.rows) > 1:
            yield "ms that each plan takes more than the best, as estimated:"
            yield differences(self.rows)
        if self.framework:
            yield self.arguments(self.framework)
        if self.rows[-1]["rank"] == "here":
            yield comparison(self.rows)
        yield f"results in {self.directory}; the best plan's workload is {self.workload}"

    def tables(self) -> Iterable[Table]:
        yield "", self.frame[shown_columns(self.rows, self.has_costs)]

    def picture(self) -> bytes | None:
        path = self.directory / "plans.svg"
        return path.read_bytes() if path.is_file() else None

    def write(self) -> None:
        """Writes plans.csv, plans.json, plans.png and plans.svg."""
        path = self.directory / "plans.csv"
        with whole_file(path) as part, open(part, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(self.rows)
        write_text(self.directory / "plans.json",
                   json.dumps([{**row, "plan": dataclasses.asdict(timed.plan)}
                               for row, timed in zip(self.rows, self.best)], indent=1) + "\n")
        from clustersim.results.plots import plan_picture  # loads matplotlib and pandas, longer than most refusals take
        plan_picture.write(self.rows, self.title, self.directory)


def by_simulation(best: Sequence[search.Timed], rows: Sequence[Row],
                  directory: pathlib.Path) -> tuple[list[search.Timed], list[Row]]:
    """Sorts the simulated plans by their simulated times, ahead of all others, and renames their files."""
    order = sorted(range(len(rows)), key=lambda i: (rows[i]["simulated_ms"] is None, rows[i]["simulated_ms"] or i))
    for number in range(1, len(rows) + 1):
        for ending in (".txt", ""):
            path = directory / f"plan{number}{ending}"
            if path.exists():
                path.rename(directory / f"plan{number}-as-estimated{ending}")
    for number, old in enumerate(order, 1):
        for ending in (".txt", ""):
            path = directory / f"plan{old + 1}-as-estimated{ending}"
            if path.exists():
                path.rename(directory / f"plan{number}{ending}")
    for number, old in enumerate(order, 1):
        rows[old]["rank"] = number
    return [best[i] for i in order], [rows[i] for i in order]
