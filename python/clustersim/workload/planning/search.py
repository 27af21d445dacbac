# SPDX-License-Identifier: GPL-2.0-only
"""Finds the best plans: each is timed by SimAI_analytical, in the order of what it cannot beat, until none can be
better."""
import concurrent.futures
import csv
import dataclasses
import os
import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TYPE_CHECKING

from clustersim.simulation import run_program
from clustersim.workload.estimate import estimate
from clustersim.workload.estimate.plans import Candidate
from clustersim.workload.write import simai_text

if TYPE_CHECKING:
    from clustersim.workload.estimate.collective_times import Machine
    from clustersim.workload.kernels.frameworks import Framework
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.plan.parallel import Parallelism
    from clustersim.workload.training.megatron import Iteration

# Beyond so many micro-batches for each stage, an iteration grows by the same time with each further group of them.
STEADY_GROUPS = 6
PARTS = {"Expose DP comm": "DP", "Expose DP_EP comm": "DP_EP", "Expose TP comm": "TP", "Expose_EP_comm": "EP",
         "Expose_PP_comm": "PP", "Expose_CP_comm": "CP", "bubble time": "bubble", "total comp": "compute"}
COMMUNICATION = ("TP", "DP", "DP_EP", "EP", "CP", "PP")


@dataclasses.dataclass(frozen=True)
class Timed:
    """A plan's time of an iteration, and where it goes, in nanoseconds."""
    candidate: Candidate
    total_ns: float
    parts: dict[str, float]

    @property
    def plan(self) -> "Parallelism":
        return self.candidate.plan

    @property
    def tokens_per_s(self) -> float:
        """Tokens of the whole job per second"""
        return self.plan.sequences * self.plan.sequence / self.total_ns * 1e9

    def utilisation(self, gpu: "Gpu") -> float:
        """Model FLOPs utilisation: work without recomputation over what the GPUs could do."""
        return self.candidate.iteration.flops() / (self.total_ns * gpu.tflops * 1e3 * self.plan.world_size)

    @property
    def bound_by(self) -> str:
        """@return the part that takes the most of what is not computation, or 'computation' if little else is left"""
        waits = {key: self.parts.get(key, 0.0) for key in (*COMMUNICATION, "bubble")}
        largest = max(waits, key=lambda part: waits[part])
        if waits[largest] < 0.05 * self.total_ns:
            return "computation"
        return largest if largest == "bubble" else f"{largest} communication"


def read_summary(path: os.PathLike) -> tuple[float, dict[str, float]]:
    """@return nanoseconds of an EndToEnd.csv's total and parts"""
    with open(path, newline="") as file:
        rows = csv.reader(file)
        names, values = [cell.strip() for cell in next(rows)], next(rows)
    found = {name: float(value.split("(")[0]) * 1000 for name, value in zip(names[1:], values[1:])}
    return found["Total time"], {key: found[name] for name, key in PARTS.items()}


class Timer(Protocol):
    """Times plans."""
    def time(self, candidate: Candidate, name: str) -> Timed:
        """@param name for files, if there are any"""


class Analytical:
    """Runs SimAI_analytical on iterations."""

    def __init__(self, program: str | os.PathLike, flags: Sequence[str], directory: str | os.PathLike) -> None:
        self.program, self.flags, self.directory = program, flags, pathlib.Path(directory)

    def run(self, iteration: "Iteration", name: str) -> tuple[float, dict[str, float]]:
        """@return nanoseconds of the iteration, and of its parts"""
        workload, result = self.directory / f"{name}.txt", self.directory / name
        simai_text.write(iteration, workload)
        run_program([self.program, "-w", workload, "-r_f", result, "--quiet", *self.flags])
        return read_summary(result / "EndToEnd.csv")

    def time(self, candidate: Candidate, name: str) -> Timed:
        """The same, from two shorter iterations where the full one only repeats them."""
        iteration, plan = candidate.iteration, candidate.plan
        if plan.micro_batches <= STEADY_GROUPS * plan.pp or iteration.reduces_each:
            return Timed(candidate, *self.run(iteration, name))
        few, more = 2 * plan.pp, 3 * plan.pp
        runs = [self.run(_with_micro_batches(iteration, count), f"{name}-{count}") for count in (few, more)]
        steps = (plan.micro_batches - few) / (more - few)
        parts = {key: runs[0][1][key] + steps * (runs[1][1][key] - runs[0][1][key]) for key in runs[0][1]}
        return Timed(candidate, runs[0][0] + steps * (runs[1][0] - runs[0][0]), parts)


class Estimated:
    """Times iterations as a framework carries them out, with what it overlaps."""

    def __init__(self, machine: "Machine", framework: "Framework | None") -> None:
        """@param machine a collective_times.Machine @param framework a frameworks.Framework, or None"""
        self.machine, self.framework = machine, framework

    def time(self, candidate: Candidate, name: str) -> Timed:
        found = estimate.estimate(candidate.iteration, self.machine, self.framework)
        return Timed(candidate, found.total_ns, found.shares)


def _with_micro_batches(iteration: "Iteration", count: int) -> "Iteration":
    return iteration.of_plan(dataclasses.replace(iteration.plan,
                                                 global_batch=count * iteration.plan.micro_batch * iteration.plan.dp))


def best(candidates: Iterable[Candidate], analytical: Timer, wanted: int) -> tuple[list[Timed], int]:
    """@return the `wanted` fastest of `candidates`, which are sorted by their bounds, and how many were timed

    A candidate whose bound is above the time of the worst that is wanted is not timed: it cannot be among them.
    """
    timed: list[Timed] = []
    remaining: Iterator[tuple[int, Candidate]] = iter(enumerate(candidates))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running: set[concurrent.futures.Future[Timed]] = set()
        while True:
            limit = sorted(t.total_ns for t in timed)[wanted - 1] if len(timed) >= wanted else float("inf")
            while len(running) < (os.cpu_count() or 1):
                number, candidate = next(remaining, (None, None))
                if candidate is None or candidate.bound_ns > limit:
                    remaining = iter(())
                    break
                running.add(pool.submit(analytical.time, candidate, f"plan{number}"))
            if not running:
                break
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            timed += [future.result() for future in done]
    return sorted(timed, key=lambda t: t.total_ns)[:wanted], len(timed)
