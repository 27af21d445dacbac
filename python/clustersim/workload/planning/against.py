# SPDX-License-Identifier: GPL-2.0-only
"""Layouts whose speed others have published, timed as a search times them: are the fast ones found?

A file has a row for each layout. A layout that ran out of memory has no speed.
"""
import concurrent.futures
import csv
import dataclasses
import math
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from clustersim import input_file
from clustersim.errors import InputError
from clustersim.whole_file import whole_file
from clustersim.workload.estimate import plans
from clustersim.workload.model import catalogue
from clustersim.workload.plan.parallel import Parallelism

if TYPE_CHECKING:
    from clustersim.workload.kernels.frameworks import Framework
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.planning.search import Timer
    from clustersim.workload.training.megatron import Iteration

NUMBERS = ("gpus", "dp", "tp", "pp", "zero", "micro_batch", "grad_accum", "seq_len")
COLUMNS = ("model", "tokens_per_s_gpu", *NUMBERS)
FIGURES = ("tau", "regret", "ratio", "memory_precision", "memory_recall")
Value = int | float | str | None
Figures = Mapping[str, Value]  # by name, of a model and a number of GPUs
FEWEST = 3  # layouts that have an order worth comparing
STALLED = 3


@dataclasses.dataclass(frozen=True)
class Layout:
    """A row: seconds of an iteration, or None if it did not run."""
    line: int
    model: str
    plan: Parallelism
    seconds: float | None

    @property
    def group(self) -> tuple[str, int]:
        return self.model, self.plan.world_size


@dataclasses.dataclass(frozen=True)
class Compared:
    """A layout as it was estimated: seconds where it is published, and bytes of the GPU that needs most. A plan that we
    refuse takes no time and does not fit."""
    layout: Layout
    seconds: float | None
    needed: float
    fits: bool


def _layout(path: str | os.PathLike, line: int, row: Mapping[str, str]) -> Layout:
    try:
        number = {name: int(row[name]) for name in NUMBERS}
        speed = float(row["tokens_per_s_gpu"]) if row["tokens_per_s_gpu"].strip() else None
    except (TypeError, ValueError):
        raise InputError(
            f"{path}:{line}: a number is not valid; expected whole numbers in {', '.join(NUMBERS)}"
        ) from None
    if min(value for name, value in number.items() if name != "zero") < 1 or (speed is not None
        and not 0 < speed < math.inf):
        raise InputError(f"{path}:{line}: a number is not positive; expected degrees, sizes and speeds above 0")
    if number["dp"] * number["tp"] * number["pp"] != number["gpus"]:
        raise InputError(f"{path}:{line}: dp x tp x pp is not {number['gpus']}; expected the GPUs")
    sequences = number["dp"] * number["micro_batch"] * number["grad_accum"]
    plan = Parallelism(world_size=number["gpus"], tp=number["tp"], pp=number["pp"], sequence_parallel=number["tp"] > 1,
                       zero=number["zero"], micro_batch=number["micro_batch"], global_batch=sequences,
                       sequence=number["seq_len"])
    seconds = sequences * plan.sequence / (plan.world_size * speed) if speed else None
    return Layout(line, row["model"].strip(), plan, seconds)


def read(path: str | os.PathLike) -> list[Layout]:
    """@return the Layouts of a CSV file with at least the columns of COLUMNS"""
    rows = csv.DictReader(input_file.read_input(path, "layouts with their speeds").splitlines())
    missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
    if missing:
        raise InputError(f"{path}:1: there is no column {missing[0]}; expected {','.join(COLUMNS)}")
    found = [_layout(path, number, row) for number, row in enumerate(rows, 2)]
    if not found:
        raise InputError(f"{path}: there are no layouts; expected at least one")
    return found


def model_of(framework: "Framework | None", name: str) -> "Model":
    """@return the catalogue's model of that name, or of the framework's runs of that name"""
    own = f"{framework.name}_{name.lower()}" if framework else ""
    return catalogue.find(own if own in catalogue.entries() else name)


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float:
    """@return Kendall's tau-b of two lists: 1 if they order alike, -1 if one is the other's reverse, 0 where one is all
    equal"""
    agree = ties_first = ties_second = 0
    pairs = len(first) * (len(first) - 1) // 2
    for i, a in enumerate(first):
        for j in range(i):
            x, y = a - first[j], second[i] - second[j]
            agree += (x * y > 0) - (x * y < 0)
            ties_first += x == 0
            ties_second += y == 0
    scale = math.sqrt((pairs - ties_first) * (pairs - ties_second))
    return agree / scale if scale else 0.0


def compare(layouts: Sequence[Layout], iteration_of: "Callable[[Layout], Iteration]",
            timer_of: "Callable[[int], Timer]", gpu: "Gpu", reserved_gb: float) -> list[Compared]:
    """@param iteration_of gives a Layout's Iteration @param timer_of gives what times plans of a number of GPUs
    @return a Compared of each layout; those that did not run are not timed"""
    limit = (gpu.memory_gb - reserved_gb) * 1e9

    def one(layout: Layout) -> Compared:
        try:
            iteration = iteration_of(layout)
        except InputError:
            return Compared(layout, None, math.inf, False)
        needed = iteration.needed()
        seconds = None
        if layout.seconds is not None:
            candidate = plans.Candidate(iteration, needed, 0.0)
            seconds = timer_of(layout.plan.world_size).time(candidate, f"line{layout.line}").total_ns / 1e9
        return Compared(layout, seconds, needed.total, needed.total <= limit)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(one, layouts))


def stalled(layouts: Sequence[Layout]) -> set[Layout]:
    """@return those layouts whose micro-batches took STALLED times as long as the same micro-batches on the same stages
    elsewhere in the file, with another number of replicas: something other than the layout held them up"""
    fastest: dict[tuple[str, int, int, int], float] = {}
    ran = [(layout, layout.seconds / (layout.plan.micro_batches + layout.plan.pp - 1)) for layout in layouts
           if layout.seconds is not None]
    for layout, each in ran:
        key = layout.model, layout.plan.tp, layout.plan.pp, layout.plan.micro_batch
        fastest[key] = min(each, fastest.get(key, math.inf))
    return {layout for layout, each in ran
            if each > STALLED * fastest[layout.model, layout.plan.tp, layout.plan.pp, layout.plan.micro_batch]}


def table(rows: Sequence[Figures]) -> str:
    """@return the figures of `summary` for people, with their medians"""
    keys = ("model", "gpus", "layouts", "ran", *FIGURES)
    lines = [keys, *([_cell(row.get(key)) for key in keys] for row in [*rows, {"model": "median", **medians(rows)}])]
    widths = [max(len(line[i]) for line in lines) for i in range(len(keys))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines)


def _cell(value: Value) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def write(compared: Sequence[Compared], path: str | os.PathLike) -> None:
    """Writes a row for each layout: the plan, seconds published and estimated, bytes needed, whether it stalled."""
    stuck = stalled([each.layout for each in compared])
    with whole_file(path) as part, open(part, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["line", "model", "gpus", "dp", "tp", "pp", "zero", "micro_batch", "micro_batches",
                         "published_s", "estimated_s", "needed_gb", "fits", "stalled"])
        for each in compared:
            layout, plan = each.layout, each.layout.plan
            writer.writerow([layout.line, layout.model, plan.world_size, plan.dp, plan.tp, plan.pp, plan.zero,
                             plan.micro_batch,
                             plan.micro_batches, layout.seconds, each.seconds, each.needed / 1e9, int(each.fits),
                             int(layout in stuck)])


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def summary(compared: Sequence[Compared]) -> list[Figures]:
    """@return a row of figures for each model and number of GPUs, in the order of the file"""
    groups: dict[tuple[str, int], list[Compared]] = {}
    for each in compared:
        groups.setdefault(each.layout.group, []).append(each)
    return [_of_group(model, gpus, members) for (model, gpus), members in groups.items()]


def _order(ran: Sequence[Compared]) -> dict[str, float | None]:
    """@return tau of our order of what ran, how much longer our best takes than the best, and the median ratio of ours
    to published

    Our best is the fastest that fits into memory as we count it.
    """
    if len(ran) < FEWEST:
        return {"tau": None, "regret": None, "ratio": None}
    times = [(each.layout.seconds, each.seconds, each.fits) for each in ran if each.layout.seconds is not None
             and each.seconds is not None]
    chosen, _, _ = min([each for each in times if each[2]] or times, key=lambda each: each[1])
    published, ours = [each[0] for each in times], [each[1] for each in times]
    return {"tau": kendall_tau(published, ours), "regret": chosen / min(published) - 1,
            "ratio": statistics.median(a / b for a, b in zip(ours, published))}


def _of_group(model: str, gpus: int, members: Sequence[Compared]) -> Figures:
    ran = [each for each in members if each.seconds is not None]
    foreseen = [each for each in members if not each.fits]
    failed = [each for each in members if each.layout.seconds is None]
    both = sum(each.layout.seconds is None for each in foreseen)
    return {"model": model, "gpus": gpus, "layouts": len(members), "ran": len(ran), **_order(ran),
            "memory_precision": _ratio(both, len(foreseen)), "memory_recall": _ratio(both, len(failed))}


def medians(rows: Sequence[Figures]) -> dict[str, float | None]:
    """@return the median of each figure over the groups that have it"""
    known = {key: [value for row in rows if isinstance(value := row[key], (int, float))] for key in FIGURES}
    return {key: statistics.median(values) if values else None for key, values in known.items()}
