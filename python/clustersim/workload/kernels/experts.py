# SPDX-License-Identifier: GPL-2.0-only
"""Times of a rank's routed experts in a serving step: permutations, both products, activation.

A table has a curve for each shape that an engine was measured with: microseconds by the tokens of a step.
scripts/maintain/serving_tables.py makes them from AIConfigurator's measurements. Another shape takes the share of the
roofline of the nearest one, at the same number of rows of each expert. Where a GPU has no table, times are those of
training's grouped products.
"""
import bisect
import functools
import math
import pathlib
from collections.abc import Sequence
from typing import NamedTuple, TYPE_CHECKING

from clustersim.workload.kernels import gpus, grid, products, roofline
from clustersim.workload.kernels.products import SHORTEST_NS

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu

# Nanoseconds beside the roofline by which shapes are compared: a few kernels that only start.
STARTS_NS = 10_000
EIGHT_BITS = ("fp8", "fp8_block")  # with one scale for a tensor, and for each block
# A rank that has all experts was measured with tokens that choose experts as they do in engines (a power law with the
# exponent 1.01). Of a share of the experts, the measured rank is then the fullest: such ranks take equal choices.
UNEVEN, BALANCED = "uneven", "balanced"


class Shape(NamedTuple):
    """The routed experts of a rank."""
    hidden: float
    width: float  # of an expert's inner layer on a rank: after tensor parallelism
    local: float  # experts of the rank
    chosen: int  # experts of a token
    total: int  # experts of all ranks

    def distance(self, other: "Shape") -> float:
        """@return how unlike two shapes are: logarithms of sizes and of the number of ranks"""
        return sum(abs(math.log(one / two)) for one, two in (
            *zip(self[:4], other[:4]), (self.total / self.local, other.total / other.local)))


class Curve(NamedTuple):
    """Measured microseconds of a shape by the tokens of a step."""
    shape: Shape
    tokens: Sequence[int]
    us: Sequence[float]

    def at(self, each: float) -> tuple[float, float]:
        """@return rows of an expert nearest to `each` within what was measured, and microseconds there"""
        rows = [tokens * self.shape.chosen / self.shape.total for tokens in self.tokens]
        place = bisect.bisect_left(rows, each)
        if place in (0, len(rows)):
            place = min(place, len(rows) - 1)
            return rows[place], self.us[place]
        weight = math.log(each / rows[place - 1]) / math.log(rows[place] / rows[place - 1])
        return each, self.us[place - 1] ** (1 - weight) * self.us[place] ** weight


Curves = dict[tuple[str, str, str], list[Curve]]  # by engine, precision, routing


def curves(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Curves:
    """@return the curves of a table's cells"""
    found: Curves = {}
    tokens = [int(cell) for cell in header[8:]]
    for engine, precision, routing, hidden, width, local, chosen, total, *cells in rows:
        known = [(place, float(cell)) for place, cell in zip(tokens, cells) if cell]
        found.setdefault((engine, precision, routing), []).append(
            Curve(Shape(int(hidden), int(width), int(local), int(chosen), int(total)), *zip(*known)))
    return found


@functools.lru_cache(None)
def table(name: str) -> Curves:
    """@return the curves of a GPU's table, none if there is no such file"""
    return curves(*grid.rows(name)) if (pathlib.Path(grid.HERE) / name).is_file() else {}


def engines(gpu: "Gpu", precision: str) -> list[str]:
    """@return engines whose experts of a precision were measured on a GPU"""
    return sorted({engine for engine, kind, _ in table(_name(gpu)) if kind == precision})


def _name(gpu: "Gpu") -> str:
    return gpu.table("experts") + ".gz"


@functools.lru_cache(None)
def _nearest(name: str, engine: str, precision: str, shape: Shape) -> Curve | None:
    return nearest(table(name), engine, precision, shape)


def nearest(found: Curves, engine: str, precision: str, shape: Shape) -> Curve | None:
    """@return the measured curve most like a shape, or None without any of the engine and precision"""
    def of(kind: str) -> list[Curve]:
        own, other = (UNEVEN, BALANCED) if shape.local == shape.total else (BALANCED, UNEVEN)
        return found.get((engine, kind, own)) or found.get((engine, kind, other)) or []

    def is_of_model(curve: Curve) -> bool:
        known = curve.shape
        is_cut = math.log2(known.width / shape.width).is_integer()
        return is_cut and (known.hidden, known.chosen, known.total) == (shape.hidden, shape.chosen, shape.total)

    known: list[Curve] = of(precision)
    if precision in EIGHT_BITS and not any(map(is_of_model, known)):  # measured with the other scales alone
        other = next(kind for kind in EIGHT_BITS if kind != precision)
        known = [curve for curve in of(other) if is_of_model(curve)] or known
    return min(known, key=lambda curve: shape.distance(curve.shape)) if known else None


def roofline_ns(gpu: "Gpu", precision: str, rows: float, shape: Shape, inward: int = 2) -> float:
    """@return nanoseconds of a rank's routed experts at the peak, or of their bytes at the memory's rate

    @param rows that come, over all experts @param inward 2 if gated
    """
    peak, _ = gpu.peak_and_ceiling(precision)
    factor, size = roofline.FACTOR_BYTES[precision], (inward + 1) * shape.hidden * shape.width
    reached = min(shape.local, max(rows, 1))
    moved = factor * reached * size + rows * (factor + 2) * (shape.hidden + shape.width)
    return max(2 * rows * size / (peak * 1e3), moved / gpu.memory_gbps)


def of_curve(gpu: "Gpu", precision: str, rows: float, shape: Shape, curve: Curve, inward: int = 2) -> float:
    """@return nanoseconds of a shape as a curve of another shape, or its own, has them"""
    measured = gpus.find(gpu.like) if gpu.like else gpu
    each, time = curve.at(rows / shape.local)
    here = STARTS_NS + roofline_ns(gpu, precision, rows, shape, inward)
    return time * 1e3 * here / (STARTS_NS + roofline_ns(measured, precision, each * curve.shape.local, curve.shape))


def time_ns(gpu: "Gpu", precision: str, rows: float, shape: Shape, inward: int = 2, engine: str = "") -> float:
    """@return nanoseconds of a rank's routed experts; as roofline_ns()

    @param engine whose kernels run; the fastest one's where it was not measured
    """
    known = engines(gpu, precision)
    found = [curve for curve in (_nearest(_name(gpu), each, precision, shape)
                                 for each in ([engine] if engine in known else known)) if curve]
    if not found:
        m, moved = max(1, math.ceil(rows / shape.local)), 2 * rows * (4 * shape.hidden + (inward + 1) * shape.width)
        return moved / gpu.stream_rate + sum(
            products.product_ns(gpu, precision, m, n, k, min(shape.local, math.ceil(rows)))
            for n, k in ((inward * shape.width, shape.hidden), (shape.hidden, shape.width)))
    peak, _ = gpu.peak_and_ceiling(precision)
    compute = 2 * rows * (inward + 1) * shape.hidden * shape.width / (peak * 1e3)
    loaded = products.loaded(gpu, compute, roofline_ns(gpu, precision, rows, shape, inward))
    return max(loaded * min(of_curve(gpu, precision, rows, shape, curve, inward) for curve in found), SHORTEST_NS)
