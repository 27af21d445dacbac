# SPDX-License-Identifier: GPL-2.0-only
"""Every way to spread a model over GPUs that Megatron-LM allows and that fits into memory."""
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.workload.contention.demand import factor
from clustersim.workload.plan import keeping, pipeline, recompute
from clustersim.workload.plan.exchange import Exchange
from clustersim.workload.plan.parallel import Parallelism, check
from clustersim.workload.plan.precision import Precision
from clustersim.workload.training import megatron, memory, nanotron

if TYPE_CHECKING:
    from clustersim.workload.kernels.frameworks import Framework
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.training.rows import Collective, Row

MICRO_BATCHES = (1, 2, 4, 8)
VIRTUAL = (1, 2, 4, 8)
CONTEXT = (1, 2, 4, 8)


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A plan that can be, with its memory, and a time that it cannot beat."""
    iteration: megatron.Iteration
    memory: memory.Memory
    bound_ns: float

    @property
    def plan(self) -> Parallelism:
        return self.iteration.plan


@dataclasses.dataclass(frozen=True)
class Machine:
    """Bounds of communication: the highest bus bandwidths, in bytes/ns."""
    gpus_per_server: int
    nvlink: float
    nic: float

    # NVSwitches that reduce make an AllReduce seem faster than NVLink (NVLS: 480 GB/s where rings reach 360).
    REDUCED_IN_SWITCHES = 1.5

    def bandwidth(self, stride: int, size: int) -> float:
        """Of a group of `size` ranks `stride` apart"""
        together = max(1, min(size, self.gpus_per_server // stride))
        inside = self.nvlink * self.REDUCED_IN_SWITCHES
        return inside if size <= together else min(inside, together * self.nic)


def _divisors(number: int) -> list[int]:
    return [divisor for divisor in range(1, number + 1) if number % divisor == 0]


def _duration_ns(plan: Parallelism, machine: Machine) -> "Callable[[Collective], float]":
    """@return the least time of a collective, as a function of it"""
    groups = plan.groups
    speeds = {group: machine.bandwidth(stride, size) for group, (stride, size) in groups.items()}

    def duration(collective: "Collective") -> float:
        size = groups[collective.group][1]
        if collective.op == "NONE" or size < 2:
            return 0.0
        return collective.bytes * factor(collective.op, size) / speeds[collective.group]
    return duration


def _sums(parts: Iterable[tuple[float, float, float]]) -> tuple[float, float, float]:
    first, second, third = map(sum, zip(*parts))
    return first, second, third


class _Bound:
    """The parts of a bound, in nanoseconds."""

    def __init__(self, iteration: megatron.Iteration, machine: Machine, overlapped: bool, shortened: bool) -> None:
        self.iteration, self.shortened = iteration, shortened
        self.known: dict[int, tuple[float, float, float]] = {}
        self.duration: "Callable[[Collective], float]" = (
            (lambda collective: 0.0) if overlapped else _duration_ns(iteration.plan, machine)
        )

    def _block(self, layer: int | None, rows: "Sequence[Row]") -> tuple[float, float, float]:
        """Forward pass, backward pass and gradients of a layer's rows."""
        duration = self.duration
        if id(rows) not in self.known or layer is None:
            forward = sum(row.forward_ns + duration(row.forward) for row in rows)
            backward = sum(row.input_ns + duration(row.input) + row.weight_ns for row in rows)
            repeated = [] if self.shortened else self.iteration.recomputed(rows)
            again = sum(row.forward_ns + duration(row.forward) for row in repeated)
            self.known[id(rows)] = forward, backward + again, sum(duration(row.weight) for row in rows)
        return self.known[id(rows)]

    def chunks(self, stage: int) -> list[tuple[float, float, float]]:
        """@return forward pass, backward pass and gradients of each chunk"""
        return [_sums(self._block(*block) for block in chunk) for chunk in self.iteration.blocks(stage)]

    def after(self, stage: int, gradients: float) -> float:
        """The work after a stage's last micro-batch: gradients, the optimizer's step, weights."""
        once = sum(row.weight_ns + self.duration(row.weight) for row in self.iteration.once(stage))
        return once + gradients * (self.iteration.plan.micro_batches if self.iteration.reduces_each else 1)


def bound_ns(iteration: megatron.Iteration, machine: Machine, overlapped: bool = False,
             shortened: bool = False) -> float:
    """@return nanoseconds that no simulation of the iteration can go below: its computation, its collectives at the
    line rate, and the bubble of both

    @param overlapped whether a framework may hide its collectives, which count nothing then
    @param shortened whether it ends a layer's recomputation early; then that counts nothing
    """
    plan, stages = iteration.plan, iteration.plan.pp
    parts = _Bound(iteration, machine, overlapped, shortened)
    chunks = [parts.chunks(stage) for stage in range(stages)]
    whole = [_sums(stage) for stage in chunks]
    count, bound, done, beyond = plan.micro_batches, 0.0, 0.0, 0.0
    begins = [0.0, *itertools.accumulate(stage[0][0] for stage in chunks)]
    for stage in reversed(range(stages)):
        forward, backward, gradients = whole[stage]
        # A stage begins with its first chunk when the stages before it have done theirs, and ends with it.
        done = max(done + chunks[stage][0][1], begins[stage] + count * (forward + backward))
        if plan.virtual == 1:
            # Before its first backward pass a stage does a forward pass for each stage from it on.
            left = count * backward + (count - min(stages - stage, count)) * forward
            done = max(done, begins[stage] + forward + beyond + left)
        beyond += forward + backward
        bound = max(bound, done + parts.after(stage, gradients))
    return bound


def iteration_of(framework: "Framework | None", model: "Model", plan: Parallelism, gpu: "Gpu",
                 machine: Machine) -> megatron.Iteration:
    """@param framework a frameworks.Framework or None @return the Iteration of a plan on a Machine as that framework
    carries it out"""
    if framework and framework.name == "nanotron":
        return nanotron.Iteration(model, plan, gpu, machine)
    if framework and framework.name.startswith("torch"):
        plan = dataclasses.replace(plan, keeping=keeping.find("torch"))
    return megatron.Iteration(model, plan, gpu)


def _recomputations(model: "Model", plan: Parallelism) -> Iterator[dict[str, Any]]:
    """@return changes to a plan, which need less and less memory"""
    yield {"recompute": "none"}
    yield {"recompute": "selective"}
    if model.attention.recomputed:
        yield {"recompute": "selective", "modules": (*recompute.DEFAULT, *model.attention.recomputed)}
    of_chunk = model.layers // (plan.pp * plan.virtual)
    if of_chunk > 1:
        yield {"recompute": "full", "recompute_layers": of_chunk // 2}
    yield {"recompute": "full"}


def fitting(model: "Model", plan: Parallelism, gpu: "Gpu", machine: Machine, reserved_gb: float,
             framework: "Framework | None") -> tuple[megatron.Iteration, memory.Memory] | None:
    """@return the iteration of the plan with the least recomputation that fits, and its memory, or None"""
    *lighter, last = _recomputations(model, plan)
    chosen = None
    for changes in (last, *lighter):  # the last one needs least: if it does not fit, none does
        iteration = iteration_of(framework, model, dataclasses.replace(plan, **changes), gpu, machine)
        needed = iteration.needed()
        fits = needed.total <= (gpu.memory_gb - reserved_gb) * 1e9
        if changes is last:
            if not fits:
                return None
            chosen = iteration, needed
        elif fits:
            return iteration, needed
    return chosen


def _splits(model: "Model", pp: int, virtual: int) -> Sequence[pipeline.Split]:
    """@return how layers may be spread: as they come, and with the embedding and the loss as layers if stages are equal
    then"""
    equal = pp > 1 and virtual == 1 and model.layers % pp and (model.layers + 2) % pp == 0
    return (pipeline.Split(), pipeline.Split(embedding=True, loss=True)) if equal else (pipeline.Split(),)


def _expert_degrees(model: "Model", tp: int, replicas: int) -> list[tuple[int, int]]:
    """@return (EP, parts of an expert): experts cut as everything else, or whole and spread over tensor parallelism,
    too"""
    every = _divisors(max(model.experts, 1))
    cut = [(ep, 0) for ep in every if replicas % ep == 0]
    return cut + [(ep, 1) for ep in every if model.experts and tp > 1 and (replicas * tp) % ep == 0]


def _shardings(model: "Model", replicas: int, server: int) -> Iterator[tuple[int, int]]:
    """@return (stage of ZeRO, copies) without a pipeline: ZeRO-3 shards over all replicas, or in hybrid sharding over
    those of a server"""
    yield from ((1, 1), (3, 1))
    if not model.experts and 1 < server < replicas and replicas % server == 0:
        yield 3, replicas // server


def _layouts(model: "Model", world_size: int, tp: int, pp: int, cp: int,
             gpus_per_server: int) -> Iterator[dict[str, Any]]:
    """@return what else a plan of these degrees may choose"""
    replicas = world_size // (tp * pp)
    shardings = list(_shardings(model, replicas, gpus_per_server // tp)) if pp == 1 else [(1, 1)]
    for ep, etp in _expert_degrees(model, tp, replicas):
        for virtual in VIRTUAL if pp > 1 else (1,):
            for split in _splits(model, pp, virtual):
                for zero, copies in shardings:
                    for micro_batch in MICRO_BATCHES:
                        yield dict(ep=ep, etp=etp, virtual=virtual, split=split, zero=zero, copies=copies,
                                   micro_batch=micro_batch)


def shapes(model: "Model", world_size: int, global_batch: int, sequence: int, gpus_per_server: int,
           exchange: Exchange = Exchange(), numbers: Precision = Precision()) -> Iterator[Parallelism]:
    """@return Parallelisms that Megatron-LM allows. Tensor parallelism stays within a server"""
    for tp in [t for t in _divisors(world_size) if t <= gpus_per_server]:
        for pp in [p for p in _divisors(world_size // tp) if p <= model.layers]:
            for cp in [c for c in CONTEXT if world_size // (tp * pp) % c == 0]:
                for layout in _layouts(model, world_size, tp, pp, cp, gpus_per_server):
                    plan = Parallelism(world_size=world_size, tp=tp, pp=pp, cp=cp, sequence_parallel=tp > 1,
                                       global_batch=global_batch,
                                       sequence=sequence, exchange=exchange, precision=numbers, **layout)
                    try:
                        check(model, plan)
                    except InputError:
                        continue
                    yield plan


def candidates(model: "Model", gpu: "Gpu", machine: Machine, world_size: int, global_batch: int, sequence: int,
               reserved_gb: float = memory.RESERVED_GB, framework: "Framework | None" = None,
               exchange: Exchange = Exchange(),
               overlapped: bool = False, numbers: Precision = Precision()) -> tuple[list[Candidate], int]:
    """@param overlapped whether communication may be hidden, so that no time of it is sure @param numbers bytes of each
    @return Candidates, the most promising first, and how many plans do not fit"""
    found, too_large, full = [], 0, set()
    for plan in shapes(model, world_size, global_batch, sequence, machine.gpus_per_server, exchange, numbers):
        if (plan.copies > 1 or plan.shards_gradients) and framework and framework.name == "nanotron":
            continue
        layout = dataclasses.replace(plan, micro_batch=1)
        # A plan that is too large for a micro-batch is so for larger ones, which come after it.
        found_one = None if layout in full else fitting(model, plan, gpu, machine, reserved_gb, framework)
        if found_one is None:
            full.add(layout)
            too_large += 1
            continue
        iteration, needed = found_one
        bound = bound_ns(iteration, machine, overlapped or framework is not None,
                         framework is not None and framework.stops_early)
        found.append(Candidate(iteration, needed, bound))
    return sorted(found, key=lambda candidate: candidate.bound_ns), too_large
