# SPDX-License-Identifier: GPL-2.0-only
"""Workloads of transformer models without a GPU: what every rank computes and communicates.

    model = catalogue.find("llama3_70b")
    plan = Parallelism(world_size=64, tp=8, pp=2, global_batch=64)
    iteration = megatron.Iteration(model, plan, gpus.find("H100"))
    simai_text.write(iteration, "llama.txt")

Each folder is a room, which imports those before it only: `kernels` (times of operators on a GPU), `plan` (parallelism
and numbers), `model` (layers and operators), `mixers` (attention and its like), `reading` (files of models), `training`
(rows and memory of an iteration), `write` (its formats), `estimate` (its time, and the best plan), `serve` (instances
that serve requests), `command` (flags).
"""
