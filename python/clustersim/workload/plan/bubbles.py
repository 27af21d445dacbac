# SPDX-License-Identifier: GPL-2.0-only
"""Schedules of pipelines with less bubble than 1F1B: zero-bubble 1F1B and DualPipe (DeepSeek-V3, arXiv 2412.19437, table 2).

Their bubble is a closed form of F, B and W: the forward pass of a stage, its whole backward pass, and the weight gradients of that.
DualPipe feeds micro-batches from both ends, so each rank has two stages, and overlaps a forward with a backward pass (F&B).
"""
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clustersim.errors import InputError

if TYPE_CHECKING:
    from clustersim.workload.plan.parallel import Parallelism

SCHEDULES = ("1f1b", "zb1p", "dualpipe")


def devices(plan: "Parallelism") -> Sequence[tuple[int, ...]]:
    """@return the stages that a rank of each place in the pipeline has; with DualPipe the second half has what the first one has"""
    if plan.schedule == "dualpipe":
        return [(stage, plan.pp - 1 - stage) for stage in range(plan.pp // 2)]
    return [(stage,) for stage in range(plan.pp)]


def bubble_ns(schedule: str, stages: int, forward: float, backward: float, weight: float) -> float:
    """@return nanoseconds that a rank waits in an iteration"""
    if schedule == "dualpipe":
        return max(0.0, (stages / 2 - 1) * (forward + backward + backward - 3 * weight))
    return max(0.0, (stages - 1) * (forward + backward - 2 * weight))


def in_flight(plan: "Parallelism") -> float:
    """@return micro-batches whose activations of each of its two stages a rank of DualPipe holds: (PP + 1) of one stage in all"""
    return min(plan.pp + 1, plan.micro_batches) / 2


def check(plan: "Parallelism") -> None:
    """Refuses what DualPipe (github.com/deepseek-ai/DualPipe) and schedules without chunks refuse."""
    if plan.schedule not in SCHEDULES:
        raise InputError(f'"{plan.schedule}" is not a known schedule of a pipeline; expected {", ".join(SCHEDULES)}')
    if plan.schedule == "1f1b":
        return
    if plan.pp < 2 or plan.virtual > 1:
        raise InputError(f"schedule {plan.schedule} with PP {plan.pp} and VPP {plan.virtual}; expected a pipeline without --vpp")
    if plan.schedule == "dualpipe" and (plan.pp % 2 or plan.micro_batches % 2 or plan.micro_batches < 2 * plan.pp):
        raise InputError(f"DualPipe with PP {plan.pp} and {plan.micro_batches} micro-batches; expected an even PP, and an even number of at "
                         "least 2 PP micro-batches")
