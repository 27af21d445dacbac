# SPDX-License-Identifier: GPL-2.0-only
"""Times of operators from a GPU's peaks, the shares of them that the best kernels reach, and tiles of products."""
import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.kernels.work import Passes, Work

# Outputs of a matrix product that one block of threads computes (NVIDIA, Matrix Multiplication Background User's
# Guide).
TILES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64))
# Bytes of a factor, with its share of a scale: a byte for 32 numbers (MXFP8), a byte for 16 (NVFP4).
FACTOR_BYTES = {"bfloat16": 2.0, "fp8": 1.0, "fp8_block": 1.0, "mxfp8": 1 + 1 / 32, "nvfp4": 1 / 2 + 1 / 16}
RESULT_BYTES = 2.0
# The backward pass of attention computes the scores again: five products instead of two.
ATTENTION_BACKWARD = 2.5
# The backward pass of a kernel that moves data reads the incoming gradient as well.
STREAM_BACKWARD = 1.5


def passes(shape: tuple[int, ...]) -> tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]]:
    """@return (m, n, k) of a product and of its gradients: results of m x n, m x k and n x k"""
    m, n, k, _ = shape
    return (m, n, k), (m, k, n), (n, k, m)


def product_bytes(m: float, n: float, k: float, count: float, precision: str) -> float:
    """@return bytes that `count` products of m x k and k x n read and write"""
    return count * (FACTOR_BYTES[precision] * (m * k + k * n) + RESULT_BYTES * m * n)


@functools.lru_cache(None)
def filled(m: int, n: int, count: int, sms: int) -> float:
    """@return the part of the SMs' time that outputs take with the best tile size; tile and wave quantization waste the
    rest"""
    best = 0.0
    for rows, columns in TILES:
        tiles = -(-m // rows) * -(-n // columns) * count
        waves = -(-tiles // sms)
        best = max(best, m * n * count / (waves * sms * rows * columns))
    return best


def _product_ns(gpu: "Gpu", precision: str, m: int, n: int, k: int, count: int) -> float:
    peak, ceiling = gpu.peak_and_ceiling(precision)
    return max(2 * m * n * k * count / (peak * 1e3 * ceiling * filled(m, n, count, gpu.sms)),
               product_bytes(m, n, k, count, precision) / gpu.stream_rate)


def times_ns(gpu: "Gpu", operator: "Work") -> "Passes":
    """@return nanoseconds of the operator's forward, input-gradient and weight-gradient pass"""
    moved = operator.bytes / gpu.stream_rate
    if operator.kind == "matmul":
        precision, count = gpu.precision_of(operator), operator.shape[3]
        forward, by_input, by_weight = (_product_ns(gpu, precision, m, n, k, count) for m, n,
                                        k in passes(operator.shape))
        return forward, by_input, by_weight
    if operator.kind == "attention":
        forward, backward = (operator.flops / (gpu.tflops * 1e3 * share) for share in gpu.attention)
        return forward, ATTENTION_BACKWARD * backward, 0.0
    if operator.kind == "fused":
        forward = max(moved, operator.flops / (gpu.tflops * 1e3 * gpu.attention[0]))
        return forward, ATTENTION_BACKWARD * forward, 0.0
    return moved, STREAM_BACKWARD * moved, 0.0
