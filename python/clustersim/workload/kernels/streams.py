# SPDX-License-Identifier: GPL-2.0-only
"""Times of kernels that only move data: norms, activation functions, embedding, loss and optimizer.

The figures are those of measured-H100.csv, as bytes at the rate of a copy (3.0 TB/s of 3.35 on an H100), so other GPUs
scale by bandwidth.
"""
from typing import TYPE_CHECKING

from clustersim.workload.kernels.products import SHORTEST_NS

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.kernels.work import Passes, Work

# Time of the backward pass / the forward pass's. A norm's forward pass reads two tensors and writes two, for it adds to
# the residual stream; its backward pass takes as long as moving 6.5 (8192 x 8192: 291 us, 45 us each), the sum of
# gradients moves three. SwiGLU takes 259 / 134 us, GELU 134 / 93.
BACKWARD = {"norm": 9.5 / 4, "activation": 259 / 134, "embedding": 12.2}
OTHER_BACKWARD = 1.5
# Bytes at a copy's rate for each logit, forward and backward: 8,192 x 32,000 logits take 362 and 390 us.
LOSS = (4.2, 4.5)
LOGIT = 12  # bytes of each in the operator
# Adam reads a weight, a gradient and two moments of float32 and writes all but the gradient: 28 bytes in 10.6 ps, as
# long as 32.1 at a copy's rate. Then come the copy to bfloat16 (6 as 6.9) and the norm of the gradients (4 as 4.8). Its
# bytes are those 28 and the 2 written.
OPTIMIZER = (32.1 + 6.9 + 4.8) / 30


def _kind(name: str) -> str:
    return next((kind for kind in BACKWARD if name.endswith(kind)), "")


def times_ns(gpu: "Gpu", operator: "Work") -> "Passes":
    """@return nanoseconds of the forward and the backward pass"""
    if operator.name == "loss":
        forward, backward = (max(bytes_ * operator.bytes / LOGIT / gpu.stream_rate, SHORTEST_NS) for bytes_ in LOSS)
        return forward, backward, 0.0
    kind, forward = _kind(operator.name), max(operator.bytes / gpu.stream_rate, SHORTEST_NS)
    backward = BACKWARD.get(kind, OTHER_BACKWARD) * forward
    if kind == "embedding":  # the gradient of every word is cleared, then added to float32 sums
        backward += (2 + 2 + 8) * operator.parameters / gpu.stream_rate
    return forward, backward, 0.0


def optimizer_ns(gpu: "Gpu", bytes_: float) -> float:
    """@return nanoseconds of Adam's step, which moves so many bytes of weights, gradients and states"""
    return OPTIMIZER * bytes_ / gpu.stream_rate
