# SPDX-License-Identifier: GPL-2.0-only
"""The training side of a step: log-probabilities of rollouts, which are forward passes, and updates of weights."""
import dataclasses
from typing import TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.workload.estimate import estimate
from clustersim.workload.estimate.collective_times import CollectiveTimes, Machine
from clustersim.workload.estimate.plans import fitting, iteration_of
from clustersim.workload.plan.parallel import Parallelism

if TYPE_CHECKING:
    from clustersim.workload.kernels.frameworks import Framework
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.training.megatron import Iteration


def iteration(model: "Model", plan: Parallelism, gpu: "Gpu", machine: Machine, framework: "Framework",
              reserved_gb: float, recompute: str | None) -> "Iteration":
    """@return an iteration with the least recomputation that fits into memory, or as `recompute` says
    @raise InputError if none fits"""
    if recompute:
        return iteration_of(framework, model, dataclasses.replace(plan, recompute=recompute), gpu,
                            machine.line_rates())
    found = fitting(model, plan, gpu, machine.line_rates(), reserved_gb, framework)
    if found is None:
        raise InputError(f"{model.name} does not fit into the memory of {plan.world_size} {gpu.name} as "
                         f"{plan.describe()}; expected more GPUs or parallelism")
    return found[0]


def update_ns(each: "Iteration", machine: Machine, framework: "Framework") -> float:
    """@return nanoseconds of an update of the weights: forward and backward passes, and the optimizer's step"""
    return estimate.estimate(each, machine, framework).total_ns


def forward_ns(each: "Iteration", machine: Machine, framework: "Framework") -> float:
    """@return nanoseconds of the forward passes of an iteration's sequences, which fill the pipeline once"""
    plan = dataclasses.replace(each.plan, virtual=1, recompute="none", modules=(), recompute_layers=0)
    alone = each.of_plan(plan)
    times = CollectiveTimes(alone, machine, estimate.collectives(alone, framework))
    passes = estimate.Passes(alone, times, framework)
    stages = [estimate.Stage(alone, stage, passes, times, framework) for stage in range(plan.pp)]
    durations = [sum(shares.total for shares in stage.forward) for stage in stages]
    send = times.pipeline_ns if plan.pp > 1 else 0.0
    return sum(durations) + send * (plan.pp - 1) + (plan.micro_batches - 1) * (max(durations) + send)
