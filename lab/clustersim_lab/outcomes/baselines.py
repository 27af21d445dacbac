# SPDX-License-Identifier: GPL-2.0-only
"""Estimates of the same runs by simpler methods.

roofline: the work of a step over what the GPUs could do at their peak, recomputation included (a utilisation of 100%).
closed form: operators at their rooflines with measured ceilings, collectives' bytes at the line rate, a bubble of (p -
1)/v micro-batches, gradients and weights after that, nothing beside anything (Narayanan et al., arXiv 2104.04473,
sections 2.2 and 3; Calculon's terms).
"""
from clustersim.workload.estimate import plans
from clustersim.workload.kernels import gpus
from clustersim.workload.training import megatron
from clustersim_lab.outcomes.runs import Run

PASSES = {"none": 3, "selective": 3, "full": 4}  # a backward pass is twice a forward pass


def roofline_s(iteration: megatron.Iteration, gpu: gpus.Gpu) -> float:
    """@return seconds of a step at the peak rate"""
    peak = (gpu.product or (gpu.tflops,))[0]
    plan = iteration.plan
    return iteration.flops() / 3 * PASSES.get(plan.recompute, 3) / (plan.world_size * peak * 1e12)


def closed_form_s(run: Run) -> float:
    """@return seconds of a step by the closed form"""
    plan = run.plan
    gpu = gpus.find(run.gpu.name, run.gpu.precision, kernels="roofline").copy(
        update={"memory_gb": run.gpu.memory_gb, "memory_gbps": run.gpu.memory_gbps})
    iteration = megatron.Iteration(run.model, plan, gpu)
    duration = plans._duration_ns(plan, run.machine.line_rates())
    slowest = 0.0
    for stage in range(plan.pp):
        each = after = 0.0
        for chunk in iteration.blocks(stage):
            for layer, rows in chunk:
                forward = sum(row.forward_ns + duration(row.forward) for row in rows)
                again = forward if layer is not None and plan.recompute == "full" else 0.0
                each += forward + again + sum(row.input_ns + row.weight_ns + duration(row.input) for row in rows)
                after += sum(duration(row.weight) for row in rows)
        after *= plan.micro_batches if iteration.reduces_each else 1
        after += sum(row.weight_ns + duration(row.weight) for row in iteration.once(stage))
        slowest = max(slowest, each * (plan.micro_batches + (plan.pp - 1) / plan.virtual) + after)
    return slowest / 1e9
