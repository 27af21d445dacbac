# SPDX-License-Identifier: GPL-2.0-only
"""A job carried out on each fabric, and what the runs say."""
import dataclasses
import pathlib
import subprocess
import sys
from collections.abc import Sequence

from clustersim.errors import InputError
from clustersim.fabrics.candidates import Fabric
from clustersim.results import Run, open_run
from clustersim.results.nodes import links_with_kinds
from clustersim.results.tables.table import Table
from clustersim.simulation import SimulationError
from clustersim.workload.planning.carried_out import Simulator


@dataclasses.dataclass(frozen=True)
class Work:
    """The task of a fabric: the workload of a step, and a shorter one with the same traffic, or the same one."""
    workload: pathlib.Path
    short: pathlib.Path
    plan: str = ""
    tokens: int | None = None  # of a step
    factor: float = 1.0  # of the simulated time: GPUs wait for the slowest


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A fabric's step, and the run whose links are counted; None where that took too long."""
    fabric: Fabric
    work: Work
    step_ns: float
    run: Run
    links: Run | None

    def per_token(self, per_hour: float | None) -> float | None:
        """@return an amount per hour as one per token, or per step where the work has no tokens"""
        if per_hour is None:
            return None
        return per_hour * self.step_ns / 3.6e12 / (self.work.tokens or 1)


@dataclasses.dataclass(frozen=True)
class FullestLink:
    """The link of a network that was busy for the largest part of the run."""
    name: str
    busy: float  # part of the run
    used_by: str


def fullest(run: Run | None) -> FullestLink | None:
    """@return the fullest link that is no NVLink"""
    links = links_with_kinds(run) if run else None
    if run is None or links is None:
        return None
    network = links[(links["kind"] != "NVLink") & (links["tx_bytes"] > 0)]
    if not len(network):
        return None
    # Of links that are equally full, those between switches say more.
    row = network.assign(above=network["kind"].str.startswith("switch")).sort_values(
        ["utilisation", "above", "node", "port"], ascending=[False, False, True, True]).iloc[0]
    return FullestLink(f"{run.nodes.name(row['node'])} to {run.nodes.name(row['peer'])} ({row['kind']})",
                       float(row["utilisation"]), str(row.get("used_by", "")))


def carry_out(fabric: Fabric, work: Work, simulator: Simulator, directory: pathlib.Path) -> Outcome:
    """@return what a fabric makes of the work; the run is in `directory`/NAME"""
    result = directory / fabric.name.replace("/", "-")
    try:
        step = simulator.run(work.workload, fabric.path, result)
    except subprocess.TimeoutExpired:
        raise InputError(f"{fabric.name}: a step was not simulated within {simulator.time_limit:g} s; expected more "
                         "--time_limit, or fewer layers or a smaller --global_batch") from None
    run = open_run(result)
    links: Run | None = run
    if run.info.get("fast_forward") is not None or simulator.network == "analytical":
        links = _links_of(fabric, work, simulator, result.with_name(f"{result.name}-links"))
    return Outcome(fabric, work, step * work.factor, run, links)


def _links_of(fabric: Fabric, work: Work, simulator: Simulator, result: pathlib.Path) -> Run | None:
    """@return a run in which every flow is simulated, so that links.csv has all of them"""
    try:
        dataclasses.replace(simulator, network="flow").run(work.short, fabric.path, result, ())
    except (subprocess.TimeoutExpired, SimulationError) as problem:
        late = isinstance(problem, subprocess.TimeoutExpired)
        why = f"took more than {simulator.time_limit:g} s" if late else problem
        print(f"compare_fabrics.py: warning: {fabric.name}: its links are not counted: {why}", file=sys.stderr)
        return None
    return open_run(result)


def table(outcomes: Sequence[Outcome], years: float, kwh: float, currency: str) -> Table:
    """@return the fabrics side by side"""
    tokens = outcomes[0].work.tokens is not None
    unit, scale = ("10^9 tokens", 1e9) if tokens else ("1,000 steps", 1e3)
    money = currency or "cost"
    columns = ("fabric", "plan", "step ms", "times the fastest", "tokens/s/GPU", f"network {money}/GPU",
               f"{money} per {unit}", "J per token" if tokens else "kJ per step", "fullest link", "busy %", "carries")
    fastest = min(each.step_ns for each in outcomes)
    rows = []
    for each in outcomes:
        fabric, gpus = each.fabric, len(each.fabric.topology.gpus)
        cost, joules = each.per_token(fabric.cost_per_hour(years, kwh)), each.per_token(fabric.watts)
        link = fullest(each.links) or FullestLink("", 0.0, "")
        rows.append((fabric.name, each.work.plan or None, each.step_ns / 1e6, each.step_ns / fastest,
                     each.work.tokens / each.step_ns * 1e9 / gpus if each.work.tokens else None,
                     None if fabric.network_price is None else fabric.network_price / gpus,
                     None if cost is None else cost * scale,
                     None if joules is None else joules * 3600 / (1 if tokens else 1000),
                     link.name or None, 100 * link.busy if link.name else None, link.used_by or None))
    return Table("fabrics", "Fabrics", columns, rows, optional=columns[1:2] + columns[4:],
                 note="A step as simulated on each fabric; all of its parts written off, and their power. The fullest "
                 "link is the one, of those between servers, that was sending for the largest part of the step.",
                 digits={"step ms": 2, "times the fastest": 3, "tokens/s/GPU": 0, f"network {money}/GPU": 0,
                         f"{money} per {unit}": 2, columns[7]: 3, "busy %": 1},
                 sentences=list(sentences(outcomes, years, kwh)))


def sentences(outcomes: Sequence[Outcome], years: float, kwh: float) -> Sequence[str]:
    """@return which is fastest and cheapest, and what of each fills up first"""
    best = min(outcomes, key=lambda each: each.step_ns)
    found = [f"{best.fabric.name} is the fastest: {best.step_ns / 1e6:.2f} ms a step."]
    costs = [(cost, each) for each in outcomes
             if (cost := each.per_token(each.fabric.cost_per_hour(years, kwh))) is not None]
    if costs:
        least, cheapest = min(costs, key=lambda each: each[0])
        most = max(cost for cost, _ in costs)
        found.append(f"{cheapest.fabric.name} costs the least for the same work"
                     + (f", {100 * (1 - least / most):.1f}% less than the dearest." if len(costs) > 1 else "."))
    for each in outcomes:
        link = fullest(each.links)
        if link:
            found.append(f"{each.fabric.name}: {link.name} fills up first, busy for {100 * link.busy:.1f}% of the step"
                         + (f" ({link.used_by})." if link.used_by else "."))
    return found
