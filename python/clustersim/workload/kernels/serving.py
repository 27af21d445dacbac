# SPDX-License-Identifier: GPL-2.0-only
"""Times of the kernels of a step that serves requests: products of few tokens, and attention that reads caches.

Tables have the share of the roofline that the fastest engine (TensorRT-LLM, vLLM) reaches;
scripts/maintain/serving_tables.py makes them from AIConfigurator's measurements. Where a GPU lacks one, times are those
of training's tables (products) or of a roofline (attention). `experts` has the times of experts.
"""
import csv
import functools
import math
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clustersim.workload.kernels import attention, grid, products, roofline
from clustersim.workload.kernels.products import SHORTEST_NS

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.kernels.grid import Grid
    from clustersim.workload.kernels.work import AttentionHeads

LATENT = 576  # numbers of a token in the tables' latent caches, DeepSeek's
# Bytes that copy a token's queries, keys and values, rotated, and into the cache: each number is read and written
# (kernel_tables.py).
COPIED = 4
FEWEST = 128  # tokens of a sequence in the tables of attention: with one head, the shortest kernel
LATENT_BESIDE = "latent.csv"


@functools.lru_cache(None)
def _has(name: str) -> bool:
    return (pathlib.Path(grid.HERE) / name).is_file()


@functools.lru_cache(None)
def _keyed(name: str, keys: int) -> "dict[Sequence[str], Grid]":
    """@return a grid.Grid for each value of the first `keys` columns, which are text"""
    header, rows = grid.rows(name)
    parts: dict[tuple[str, ...], list[list[str]]] = {}
    for row in rows:
        parts.setdefault(tuple(row[:keys]), []).append(row[keys:])
    return {key: grid.Grid(header[keys:], found) for key, found in parts.items()}


@functools.lru_cache(None)
def _products(name: str) -> "dict[Sequence[str], Grid]":
    """@return grids of shares of the roofline by engine and precision, none if there is no such file"""
    return _keyed(name, 2) if _has(name) else {}


def product_ns(gpu: "Gpu", precision: str, m: float, n: float, k: float, engine: str = "") -> float:
    """@return nanoseconds of a product of m x k and k x n, with the quantization of what it reads

    @param engine whose kernels run; the fastest one's where it was not measured
    """
    found = {of: table for (of, kind), table in _products(gpu.table("engine-products") + ".gz").items()
             if kind == precision}
    if engine not in found and precision == "bfloat16" or not found:
        quantized = 0 if precision == "bfloat16" else (2 + roofline.FACTOR_BYTES[precision]) * m * k / gpu.stream_rate
        return products.product_ns(gpu, precision, m, n, k) + quantized
    least = roofline_ns(gpu, precision, m, n, k)
    peak, _ = gpu.peak_and_ceiling(precision)
    reached = max(table.at(n, k, m) for table in ([found[engine]] if engine in found else found.values()))
    return max(least / reached * products.loaded(gpu, 2 * m * n * k / (peak * 1e3), least), SHORTEST_NS)


def roofline_ns(gpu: "Gpu", precision: str, m: float, n: float, k: float) -> float:
    """@return nanoseconds of a product at the peak, or of its bytes at the memory's rate"""
    peak, _ = gpu.peak_and_ceiling(precision)
    return max(2 * m * n * k / (peak * 1e3), roofline.product_bytes(m, n, k, 1, precision) / gpu.memory_gbps)


def _prompts_compute_ns(gpu: "Gpu", heads: "AttentionHeads", together: float, tokens: float, scores: float) -> float:
    """@return nanoseconds of the scores of prompts of so many tokens, and of what they weigh"""
    slower = 1 + attention.LOADED * (1 / gpu.loaded - 1)
    reached = attention.share(gpu.table("attention"), heads.head_dim, min(tokens, attention.LARGEST), together)
    return 2 * scores * (heads.head_dim + heads.value_dim) / (gpu.tflops * 1e3) * max(slower / reached, 1)


def mixed_ns(gpu: "Gpu", heads: "AttentionHeads", sequences: int, cached: float, rows: int) -> float:
    """@return nanoseconds of decoding sequences in the kernel of prompts, where each query takes a tile of `rows`. Such
    tiles have no diagonal, like most of the longest prompts."""
    return _prompts_compute_ns(gpu, heads, heads.heads * sequences, attention.LARGEST,
                               rows * sequences * cached * heads.heads)


def prompts_ns(gpu: "Gpu", cache: str, heads: "AttentionHeads", news: int, attended: float) -> float:
    """@return nanoseconds of the attention of `news` tokens of prompts, each of which attends to `attended` on average,
    and of their copies

    @param cache as in decoding_ns() @param heads of a rank, as operators.Heads has them. As in `attention`, they are
    sequences of 2 x attended tokens.
    """
    tokens = max(2 * attended, 1)
    copied = COPIED * news * (heads.heads + 2 * heads.kv_heads) * heads.head_dim / gpu.stream_rate
    shortest = _prompts_compute_ns(gpu, heads, 1, FEWEST, FEWEST ** 2 / 2)
    time = max(_prompts_compute_ns(gpu, heads, heads.heads * max(news / tokens, 1), tokens,
                                   news * attended * heads.heads), shortest) + copied
    table = _keyed("prompts.csv", 1).get((gpu.like or gpu.name,)) if cache == "fp8" else None
    return time * table.at(heads.head_dim, 1, tokens) if table else time


def decoding_bytes(sequences: int, cached: float, kv_heads: int, width: int, element: int) -> float:
    """@return bytes of keys and values that decoding sequences read; of a latent cache, `width` is that of a token"""
    return sequences * cached * kv_heads * width * element


def decoding_ns(gpu: "Gpu", cache: str, sequences: int, cached: float, heads: int, kv_heads: int, width: int,
                is_latent: bool = False) -> float | None:
    """@return nanoseconds of the attention of decoding sequences, or None where the GPU has no table

    @param cache bfloat16 or fp8: the type of keys and values @param heads, kv_heads of a rank @param width numbers of a
    token and a key-value head: keys and values, or a latent (`is_latent`)
    """
    name = gpu.table("decoding")
    tables = _keyed(name, 3) if _has(name) else {}
    known = [(int(key[1]), int(key[2])) for key in tables if key[0] == cache and (int(key[1]) == LATENT) == is_latent]
    if not known:
        return None
    nearest = min(known, key=lambda key: (abs(math.log(key[0] / width)), abs(math.log(key[1] * kv_heads / heads))))
    least = decoding_bytes(sequences, cached, kv_heads, width, 1 if cache == "fp8" else 2) / gpu.memory_gbps
    reached = tables[(cache, *map(str, nearest))].at(cached, 1, sequences * kv_heads)
    return max(least / reached, SHORTEST_NS)


def latent_beside_ns(gpu: "Gpu", engine: str, heads: int, tokens: float) -> float | None:
    """@return nanoseconds of an engine's latent attention beside its products and its attention: norms, rotation,
    absorbed products, joining and copying parts. None where it was not measured

    @param heads of a rank
    """
    table = _keyed(LATENT_BESIDE, 2).get((gpu.like or gpu.name, engine))
    return 1e3 * table.at(heads, 1, tokens) if table else None
