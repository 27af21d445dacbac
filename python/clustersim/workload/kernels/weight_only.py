# SPDX-License-Identifier: GPL-2.0-only
"""Times of products whose weights alone have 4 bits: kernels read these, and compute with bfloat16.

No table has measurements of such kernels. A product reaches the share of its roofline that the one of bfloat16 does:
with few tokens it takes the time of fewer bytes, with many as long as bfloat16. Marlin's kernels come near both (arXiv
2408.11743, figures 1 and 9): unpacking weights hides behind them.
"""
from typing import TYPE_CHECKING

from clustersim.workload.kernels import experts, roofline, serving
from clustersim.workload.kernels.products import SHORTEST_NS

if TYPE_CHECKING:
    from clustersim.workload.kernels.experts import Shape
    from clustersim.workload.kernels.gpus import Gpu

PLAIN = "bfloat16"


def _roofline_ns(gpu: "Gpu", m: float, n: float, k: float, weight: float) -> float:
    return max(2 * m * n * k / (gpu.tflops * 1e3), (weight * n * k + 2 * m * (n + k)) / gpu.memory_gbps)


def product_ns(gpu: "Gpu", m: float, n: float, k: float, weight: float) -> float:
    """@return nanoseconds of a product of m x k and k x n @param weight bytes of one, with its share of scales"""
    if gpu.kernels == "roofline":
        return grouped_roofline_ns(gpu, m, n, k, 1, weight)
    less = _roofline_ns(gpu, m, n, k, weight) / serving.roofline_ns(gpu, PLAIN, m, n, k)
    return max(less * serving.product_ns(gpu, PLAIN, m, n, k), SHORTEST_NS)


def grouped_roofline_ns(gpu: "Gpu", m: float, n: float, k: float, count: float, weight: float) -> float:
    """@return nanoseconds of `count` products of m rows each as their roofline has them; tiles may waste time"""
    rows, some = int(m), int(count)
    filled = roofline.filled(rows, int(n), some, gpu.sms)
    return max(2 * m * n * k * count / (gpu.tflops * 1e3 * gpu.matmul * filled),
               count * (weight * n * k + 2 * m * (n + k)) / gpu.stream_rate)


def experts_ns(gpu: "Gpu", rows: float, shape: "Shape", inward: int, engine: str, weight: float) -> float:
    """@return nanoseconds of a rank's routed experts; as experts.time_ns()"""
    plain = experts.roofline_ns(gpu, PLAIN, rows, shape, inward)
    size = (inward + 1) * shape.hidden * shape.width
    saved = (2 - weight) * min(shape.local, max(rows, 1)) * size / gpu.memory_gbps
    compute = 2 * rows * size / (gpu.tflops * 1e3)
    moved = (2 * min(shape.local, max(rows, 1)) * size + 4 * rows * (shape.hidden + shape.width)) / gpu.memory_gbps
    less = (experts.STARTS_NS + max(compute, moved - saved)) / (experts.STARTS_NS + plain)
    return max(less * experts.time_ns(gpu, PLAIN, rows, shape, inward, engine), SHORTEST_NS)
