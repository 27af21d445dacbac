# SPDX-License-Identifier: GPL-2.0-only
"""The operators of a published server's steps, on an idle network: one that decodes a sequence of each user, and one
that computes a prompt."""
import dataclasses
from collections.abc import Iterator, Sequence

from clustersim.rst import escape, list_table
from clustersim.serving_plan import layouts
from clustersim.serving_plan.estimate import Load
from clustersim.serving_plan.steps import Shape, Steps
from clustersim.workload.serve import engine
from clustersim_lab.servers.rows import Row, flags

SIZES = ("tp", "dp", "ep")
SHOWN = ("gp-dsr1-h200x8-vllm-c4", "ixe-minimax-h200-tep8-1024-c4")  # in the documentation
NIC_GBPS = 50.0  # of a GPU; servers of one machine do not use it


@dataclasses.dataclass(frozen=True)
class Line:
    """An operator of a step, times in us."""
    operator: str
    layers: int
    each: float  # of a layer
    collective: str
    exchange: float  # the collective after it, of a layer

    @property
    def total(self) -> float:
        """@return microseconds of all layers"""
        return self.layers * (self.each + self.exchange)


def steps_of(row: Row) -> Steps:
    """@return times of the steps of the server of a row"""
    own = flags(row)
    if own.pop("enable_expert_parallel", False):
        own["ep"] = row.gpus
    common = ("--model_name", row.model, *(word for name in ("gpu_type", "dtype", "kv_cache_dtype", "engine")
                                           for word in (f"--{name}", str(own[name]))))
    sizes = tuple((name, str(own[name])) for name in SIZES if name in own)
    profile = engine.find(row.profile)
    assert profile is not None
    load = Load(int(row.prompt), int(row.output), 1.0, 1.0, 1.0)
    return layouts.layout_of(common, sizes, load, NIC_GBPS, profile).steps


def shapes(row: Row, steps: Steps) -> dict[str, Shape]:
    """@return the steps that are shown, by name"""
    prompt, replicas = int(row.prompt), steps.instance.replicas
    news = min(prompt, int(steps.flags["max_num_batched_tokens"]))
    return {f"{row.users} sequences decode": Shape(row.users / replicas, prompt + int(row.output) / 2),
            f"a prompt of {news} tokens": Shape(news=news, prompt=news, all_news=news, prompts=1)}


def lines(steps: Steps, shape: Shape) -> Iterator[Line]:
    """Yields the operators that take time, and the CPU's time beside them. Equal operators of unlike layers are one."""
    found: dict[tuple[str, float, str, float], int] = {}
    for part in steps.parts(shape):
        if part.kernel_ns or part.collective.time:
            key = part.row.name, part.kernel_ns, part.row.collective, part.collective.time
            found[key] = found.get(key, 0) + part.count
    for (name, kernel, collective, exchange), layers in found.items():
        yield Line(name, layers, kernel / 1e3, collective if exchange else "", exchange / 1e3)
    yield Line("CPU between steps", 1, steps.flags["step_overhead_ns"] / 1e3, "", 0.0)


def of(row: Row) -> Iterator[tuple[str, list[Line], float]]:
    """Yields each step's name, its operators and its time in ms; launches may be longer than operators"""
    steps = steps_of(row)
    for name, shape in shapes(row, steps).items():
        yield name, list(lines(steps, shape)), steps.step(shape).time / 1e6


def text(row: Row) -> Iterator[str]:
    """Yields lines to print"""
    for name, found, time in of(row):
        yield f"{row.id}: {name}, {time:.2f} ms"
        for line in found:
            after = f"  {line.collective} {line.exchange:.1f} us" if line.collective else ""
            yield f"  {line.operator:<22}{line.layers:>4} x {line.each:>9.1f} us{line.total / 1e3:>9.2f} ms{after}"


def table(rows: Sequence[Row]) -> str:
    """@return the steps of the rows as reStructuredText: an operator a line, a step a column"""
    columns = [(f"{row.model}, {name}", found, time) for row in rows for name, found, time in of(row)]
    names = list(dict.fromkeys(line.operator for _, found, _ in columns for line in found))
    cells: list[list[str]] = []
    for operator in names:
        own = [[line for line in found if line.operator == operator] for _, found, _ in columns]
        cells.append([escape(operator), *(f"{sum(line.total for line in some) / 1e3:.2f}" if some else ""
                                          for some in own)])
    cells.append(["step", *(f"{time:.2f}" for _, _, time in columns)])
    return ".. Written by lab/servers.py --update; do not edit.\n\n" + list_table(
        ("ms of all layers", *(escape(title) for title, _, _ in columns)), cells, (24, *(19 for _ in columns)))
