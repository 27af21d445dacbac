# SPDX-License-Identifier: GPL-2.0-only
"""Times of fused attention from tables of the share of the peak that its forward pass reaches, by length, heads and
head_dim."""
import functools
import math
from typing import TYPE_CHECKING

from clustersim.workload.kernels import grid, roofline
from clustersim.workload.kernels.products import SHORTEST_NS

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.kernels.work import Work

LARGEST = 1 << 14
# Under lasting load attention loses half of what products lose: 8% and 7% where they lose 12% to 14%
# (measured-H100.csv).
LOADED = 0.5


@functools.lru_cache(None)
def _passes() -> dict[tuple[str, int], list[tuple[int, float, float]]]:
    _, found = grid.rows("passes.csv")
    table: dict[tuple[str, int], list[tuple[int, float, float]]] = {}
    for library, head_dim, tokens, forward, backward in found:
        table.setdefault((library, int(head_dim)), []).append((int(tokens), float(forward), float(backward)))
    return table


@functools.lru_cache(4096)
def passes(library: str, head_dim: int, tokens: float) -> tuple[float, float]:
    """@return the forward pass of a library / that of the tables of Hopper and Blackwell, and its backward pass / its
    forward pass"""
    table = _passes()
    dims = [dim for known, dim in table if known == library]
    points = table[library, min(dims, key=lambda dim: abs(math.log(dim / head_dim)))]
    tokens = min(max(tokens, points[0][0]), points[-1][0])
    for low, high in zip(points, points[1:]):
        if low[0] <= tokens <= high[0]:
            weight = math.log(tokens / low[0]) / math.log(high[0] / low[0])
            forward, backward = (low[i] ** (1 - weight) * high[i] ** weight for i in (1, 2))
            return forward, backward
    return points[0][1:]


@functools.lru_cache(65536)
def share(table: str, head_dim: int, tokens: float, heads: float) -> float:
    """@return the part of the peak rate that a table's attention reaches, interpolated between its points"""
    return grid.load(table).at(head_dim, tokens, heads)


def times_ns(gpu: "Gpu", operator: "Work") -> tuple[float, float, float]:
    """@return nanoseconds of the forward and the backward pass

    Windows of w tokens reach the share of whole sequences of 2w, of which there are as many more: a token attends to w
    of them on average. AIConfigurator's windows of 128 tokens take 1.24 times as long.
    """
    heads = operator.heads
    assert heads is not None
    tokens = min(heads.tokens, 2 * heads.window) if heads.window else heads.tokens
    together = heads.sequences * heads.heads * heads.tokens // tokens
    relative, backward = passes(gpu.attention_library, heads.head_dim, min(tokens, LARGEST))
    if gpu.attention_library == gpu.attention_table:
        relative = 1.0
    relative *= 1 + LOADED * (1 / gpu.loaded - 1)
    reached = share(gpu.table("attention"), heads.head_dim, tokens, together)
    forward = operator.flops / (gpu.tflops * 1e3 * reached) * relative
    forward = max(forward, operator.flops / (gpu.tflops * 1e3), operator.bytes / gpu.stream_rate, SHORTEST_NS)
    return forward, max(backward * forward, roofline.ATTENTION_BACKWARD * operator.flops / (gpu.tflops * 1e3)), 0.0
