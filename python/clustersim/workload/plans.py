# SPDX-License-Identifier: GPL-2.0-only
"""Every way to spread a model over GPUs that Megatron-LM allows and that fits into memory."""
import dataclasses

from clustersim.workload import memory, megatron
from clustersim.workload.errors import InputError
from clustersim.workload.parallel import RECOMPUTATION, Parallelism, check

MICRO_BATCHES = (1, 2, 4, 8)
VIRTUAL = (1, 2, 4)
CONTEXT = (1, 2, 4, 8)


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A plan that can be, with its memory, and a time that it cannot beat."""
    iteration: megatron.Iteration
    memory: memory.Memory
    bound_ns: float

    @property
    def plan(self):
        return self.iteration.plan


@dataclasses.dataclass(frozen=True)
class Machine:
    """What bounds communication: the highest bus bandwidths, in bytes/ns."""
    gpus_per_server: int
    nvlink: float
    nic: float

    # NVSwitches that reduce make an AllReduce seem faster than NVLink (NVLS: 480 GB/s where rings reach 360).
    REDUCED_IN_SWITCHES = 1.5

    def bandwidth(self, stride, size):
        """Of a group of `size` ranks `stride` apart"""
        together = max(1, min(size, self.gpus_per_server // stride))
        inside = self.nvlink * self.REDUCED_IN_SWITCHES
        return inside if size <= together else min(inside, together * self.nic)


def _divisors(number):
    return [divisor for divisor in range(1, number + 1) if number % divisor == 0]


def _factor(op, ranks):
    return {"ALLREDUCE": 2 * (ranks - 1) / ranks, "ALLGATHER": (ranks - 1) / ranks,
            "REDUCESCATTER": (ranks - 1) / ranks, "ALLTOALL": (ranks - 1) / ranks}.get(op, 1)


def bound_ns(iteration, machine):
    """@return nanoseconds that no simulation of the iteration can go below: its computation, its blocking collectives at the
    line rate, and the bubble of both"""
    plan = iteration.plan
    groups = {"TP": (1, plan.tp), "EP": (plan.tp, plan.ep), "CP": (plan.tp, plan.cp), "DP": (plan.tp, plan.replicas),
              "DP_EP": (plan.tp * plan.ep, plan.expert_replicas)}
    slowest = {}
    each = after = 0.0
    rows = iteration.stage_rows(iteration.heaviest_stage())
    for row in rows:
        each += row.compute_ns
        for blocking, collective in ((True, row.forward), (True, row.input), (False, row.weight)):
            if collective.op == "NONE" or collective.group not in groups:
                continue
            stride, size = groups[collective.group]
            if size > 1:
                speed = slowest.setdefault(collective.group, machine.bandwidth(stride, size))
                duration = collective.bytes * _factor(collective.op, size) / speed
                each += duration if blocking else 0
                after += 0 if blocking else duration
    if plan.recompute == "full":
        each += sum(row.forward_ns for row in rows if row.name.rsplit("_", 1)[-1].isdigit())
    pipeline = each * (plan.micro_batches + (plan.pp - 1) / plan.virtual)
    return pipeline + (after if plan.zero < 2 or plan.micro_batches == 1 else after * plan.micro_batches)


def _fitting(model, plan, gpu, reserved_gb):
    """@return the plan with the least recomputation that fits, and its memory, or None"""
    for recompute in RECOMPUTATION:
        candidate = dataclasses.replace(plan, recompute=recompute)
        needed = memory.needed(model, candidate)
        if needed.total <= (gpu.memory_gb - reserved_gb) * 1e9:
            return candidate, needed
    return None


def shapes(model, world_size, global_batch, sequence, gpus_per_server):
    """@return Parallelisms that Megatron-LM allows. Tensor parallelism stays within a server"""
    for tp in [t for t in _divisors(world_size) if t <= gpus_per_server]:
        for pp in [p for p in _divisors(world_size // tp) if p <= model.layers]:
            for cp in [c for c in CONTEXT if world_size // (tp * pp) % c == 0]:
                replicas = world_size // (tp * pp)
                for ep in [e for e in _divisors(max(model.experts, 1)) if replicas % e == 0]:
                    for micro_batch in MICRO_BATCHES:
                        for virtual in VIRTUAL if pp > 1 else (1,):
                            for zero in (1, 3) if pp == 1 else (1,):
                                plan = Parallelism(world_size=world_size, tp=tp, pp=pp, virtual=virtual, ep=ep, cp=cp,
                                                   sequence_parallel=tp > 1, zero=zero, micro_batch=micro_batch,
                                                   global_batch=global_batch, sequence=sequence)
                                try:
                                    check(model, plan)
                                except InputError:
                                    continue
                                yield plan


def candidates(model, gpu, machine, world_size, global_batch, sequence, reserved_gb=memory.RESERVED_GB):
    """@return Candidates, the most promising first, and how many plans do not fit"""
    found, too_large = [], 0
    for plan in shapes(model, world_size, global_batch, sequence, machine.gpus_per_server):
        fitting = _fitting(model, plan, gpu, reserved_gb)
        if fitting is None:
            too_large += 1
            continue
        plan, needed = fitting
        iteration = megatron.Iteration(model, plan, gpu)
        found.append(Candidate(iteration, needed, bound_ns(iteration, machine)))
    return sorted(found, key=lambda candidate: candidate.bound_ns), too_large
