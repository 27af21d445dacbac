# SPDX-License-Identifier: GPL-2.0-only
"""Adapters (LoRA) while serving: their flags, and the times of their thin products.

Two kernels follow each product that has an adapter, as in Punica (arXiv 2310.18547), vLLM (lora_shrink_op.py,
lora_expand_op.py) and SGLang: shrink multiplies tokens by the first weights of their adapters, and writes float32;
expand multiplies these by the second weights, and adds to the product's output. Each reads the weights of all adapters
in the batch once. Tensor parallelism cuts the weights as it cuts the product's own (vLLM without
--fully-sharded-loras).
"""
import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.workload.kernels.products import SHORTEST_NS
from clustersim.workload.model import operators
from clustersim.workload.plan import adapters
from clustersim.workload.plan.adapters import Adapters
from clustersim.workload.plan.parallel import Parallelism

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.model.operator import Operator
    from clustersim.workload.model.transformer import Model

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # MaxLoRARanks of vllm/config/lora.py
MOST_LORAS = 1 << 16
FLOAT32 = 4  # bytes of what shrink writes
BFLOAT16 = 2
# Products of layers whose adapters are known, and those that servers give none.
KNOWN = {"qkv", "projection", "mlp_up", "mlp_down", "shared_up", "shared_down", "expert_up", "expert_down", "router",
         "shared_gate"}


def add_flags(group: argparse._ArgumentGroup) -> None:
    """Adds the flags of vLLM and SGLang."""
    group.add_argument("--enable_lora", "--enable-lora", action="store_true",
                       help="each request has one of --max_loras adapters, any as likely as the others")
    group.add_argument("--max_loras", "--max-loras", "--max_loras_per_batch", "--max-loras-per-batch", type=int,
                       metavar="N", help="adapters, which are all in the memory of each instance (default: 1)")
    group.add_argument("--max_lora_rank", "--max-lora-rank", type=int, metavar="R", choices=RANKS,
                       help=f"rank of adapters, one of {', '.join(map(str, RANKS))} (default: 16)")
    group.add_argument("--lora_target_modules", "--lora-target-modules", nargs="+", metavar="MODULE",
                       choices=list(adapters.OTHER_NAMES),
                       help=f"products that have adapters, of {', '.join(adapters.OTHER_NAMES)}; those that servers join "
                       "with one of them, as k_proj with q_proj, have one, too (default: all)")


def find(given: argparse.Namespace, model: "Model") -> Adapters | None:
    """@return the adapters that the flags describe, or None @raise InputError they are not modelled for the model"""
    if not given.enable_lora:
        for key in ("max_loras", "max_lora_rank", "lora_target_modules"):
            if getattr(given, key) is not None:
                raise InputError(f"--{key} has no effect without --enable_lora; expected both or neither")
        return None
    slots = 1 if given.max_loras is None else given.max_loras
    if not 1 <= slots <= MOST_LORAS:
        raise InputError(f"--max_loras {slots} is not valid; expected 1 to {MOST_LORAS}")
    found = adapters.served(given.max_lora_rank or 16, given.lora_target_modules or (), slots, model.gated)
    if model.experts and found.operators & {"mlp_up", "mlp_down"}:
        raise InputError(f"{model.name} has experts, whose adapters are not modelled; expected --lora_target_modules "
                         "qkv_proj o_proj")
    kinds = {model.layer_kind(index) for index in range(model.layers)}
    others = {operator.name for kind in kinds for operator in operators.of_kind(model, Parallelism(world_size=1), kind)
              if operator.kind == "matmul"} - KNOWN
    if others:
        raise InputError(f"{model.name} has products ({', '.join(sorted(others))}) whose adapters are not modelled; "
                         "expected no --enable_lora")
    return found


def times(gpu: "Gpu", thin: "Operator", of: Adapters, places: Sequence[int]) -> list[tuple[int, float]]:
    """@return nanoseconds of a thin product at numbers of tokens"""
    _, n, k, _ = thin.shape
    width = of.width(adapters.base(thin.name))
    shrinks = thin.name.endswith(adapters.INWARD)
    # A token's input, and its output, to which expand adds.
    moved = BFLOAT16 * k + FLOAT32 * width if shrinks else FLOAT32 * width + 2 * BFLOAT16 * n
    shortest = SHORTEST_NS if gpu.kernels == "measured" else 0.0
    return [(tokens, max(2 * tokens * n * k / (gpu.tflops * 1e3 * gpu.matmul),
                         (tokens * moved + of.in_batch(tokens) * BFLOAT16 * n * k) / gpu.stream_rate, shortest))
            for tokens in places]
