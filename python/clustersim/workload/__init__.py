# SPDX-License-Identifier: GPL-2.0-only
"""Workloads of transformer models without a GPU: what every rank computes and communicates.

    model = catalogue.find("llama3_70b")
    plan = Parallelism(world_size=64, tp=8, pp=2, global_batch=64)
    iteration = megatron.Iteration(model, plan, gpus.find("H100"))
    simai_text.write(iteration, "llama.txt")

A model (`model`, `catalogue`, `hugging_face`) and its parallelism (`parallel`) become operators
(`operators`) with times (`gpus`, `kernels`, `measured`) and memory (`memory`), and these the rows of a pipeline
stage (`megatron`; `aicb` for AICB's own rows). Two writers write rows: `simai_text` and `chakra`.
"""
