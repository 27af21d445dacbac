# SPDX-License-Identifier: GPL-2.0-only
"""Times of matrix products from tables of the share of the roofline that bfloat16 products reach.

Grouped products, one per expert, are one product of all experts' tokens, but for the weights of each expert that they
read.
"""
import functools
from typing import TYPE_CHECKING

from clustersim.workload.kernels import grid, roofline

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.kernels.work import Passes, Work

SHORTEST_NS = 2000.0  # the fastest products of the tables take 2.5 us, elementwise kernels in a graph 1 us
# Products of 8-bit floats whose sums the tensor cores hand over to float32 often enough for gradients, against those
# with fast sums, on Hopper: median of 18 (measured-H100.csv).
PRECISE_SUMS = 1.07
# Time of grouped products / that of one product of all their rows, or of reading their weights: median of 72
# (measured-H100.csv).
GROUPED = 1.11
# Weight gradients are added to float32 sums, which are read and written. Products hide half of that (median of 18,
# measured-H100.csv).
ACCUMULATED_BYTES, SHOWN = 8, 0.5


@functools.lru_cache(None)
def relative(gpu: str) -> dict[str, float]:
    """@return by precision, time of products of a GPU's table / what the peaks make of that of bfloat16
    (precisions.csv)

    Products of MXFP8 are what DeepGEMM's kernels of fp8_block carry out on Blackwell.
    """
    _, found = grid.rows("precisions.csv")
    known = {row[1]: float(row[2]) for row in found if row[0] == gpu}
    return {"bfloat16": 1.0, **known, "mxfp8": known.get("fp8_block", 1.0)}


@functools.lru_cache(65536)
def share(table: str, m: float, n: float, k: float) -> float:
    """@return the part of its roofline that a table's product of m x k and k x n reaches, interpolated"""
    return grid.load(table).at(n, k, m)


def loaded(gpu: "Gpu", compute: float, moved: float) -> float:
    """@return the factor of a time: under load the power limit lowers the clock, which slows computation and not
    memory"""
    return 1 + (1 / gpu.loaded - 1) * min(1.0, compute / moved)


def product_ns(gpu: "Gpu", precision: str, m: float, n: float, k: float, count: float = 1) -> float:
    """@return nanoseconds of `count` products, whose rows or columns are those of one large product"""
    peak, _ = gpu.peak_and_ceiling(precision)
    compute = 2 * m * n * k * count / (gpu.tflops * 1e3)
    moved = roofline.product_bytes(m, n, k, 1, "bfloat16") / gpu.memory_gbps * count
    together = max(compute, roofline.product_bytes(m * count, n, k, 1, "bfloat16") / gpu.memory_gbps)
    time = together / share(gpu.table("products"), m * count, n, k) * loaded(gpu, compute, moved)
    time *= relative(gpu.like or gpu.name)[precision] * gpu.tflops / peak
    bytes_ns = roofline.product_bytes(m, n, k, count, precision) / gpu.stream_rate
    return max(time, 2 * m * n * k * count / (peak * 1e3), bytes_ns, SHORTEST_NS) * (GROUPED if count > 1 else 1)


def quantized_ns(gpu: "Gpu", precision: str, elements: float) -> float:
    """@return nanoseconds to make low-precision copies of a tensor, one for each direction of its scales"""
    return (roofline.FACTOR_BYTES["bfloat16"] + 2 * roofline.FACTOR_BYTES[precision]) * elements / gpu.stream_rate


def times_ns(gpu: "Gpu", operator: "Work") -> "Passes":
    """@return nanoseconds of a product's forward, input-gradient and weight-gradient pass, with the quantization of
    what it reads"""
    precision, (m, n, k, count) = gpu.precision_of(operator), operator.shape
    # Experts' weight gradients lie beside each other.
    forward, by_input, by_weight = (product_ns(gpu, precision, *sizes, count)
                                    for sizes in roofline.passes(operator.shape))
    by_weight += SHOWN * ACCUMULATED_BYTES * n * k * count / gpu.stream_rate
    if precision == "bfloat16":
        return forward, by_input, by_weight
    if not gpu.fp4:  # Hopper
        by_input, by_weight = by_input * PRECISE_SUMS, by_weight * PRECISE_SUMS
    if not operator.after_norm:  # a norm writes its output in that precision
        forward += quantized_ns(gpu, precision, m * k * count)
    by_input += quantized_ns(gpu, precision, m * n * count)
    return forward, by_input, by_weight
