# SPDX-License-Identifier: GPL-2.0-only
"""AICB's flags that change nothing here, and the reasons."""

WITHOUT_EFFECT = {
    "--use_flash_attn": "attention is always fused", "--flash_attn": "attention is always fused",
    "--moe_grouped_gemm": "experts are always grouped", "--grouped_gemm": "experts are always grouped",
    "--moe_enable": "a model with experts has them",
    "--overlap_grad_reduce": "gradients are always reduced beside backward",
    "--overlap_version": "rows do not depend on it", "--computation_enable": "it is for GPUs",
    "--enable_visual": "scripts/plot.py draws results", "--workload_only": "there is nothing else",
    "--openai_gelu": "a GELU takes its bytes' time",
    "--squared_relu": "a GELU takes its bytes' time", "--bias_gelu_fusion": "kernels are always fused",
    "--contiguous_gradients": "it moves no byte", "--amp_enabled": "bfloat16 is assumed",
}
VALUES_WITHOUT_EFFECT = {
    "--pp_rank": "all stages are written", "--epoch_num": "--passes of the simulators repeats a workload",
    "--activation_func": "--swiglu says it", "--onnx_safe": "it changes no size",
    "--reduce_bucket_size": "gradients are reduced layer by layer",
    "--allgather_bucket_size": "weights are gathered at once",
    "--param_persistence_threshold": "all weights are sharded",
    "--model_persistence_threshold": "all weights are sharded",
    "--max_live_parameters": "layers are gathered one by one",
    "--prefetch_bucket_size": "layers are gathered one by one",
}
