# SPDX-License-Identifier: GPL-2.0-only
"""Times of a serving instance's rows, as the lines `times` of an INFERENCE file: measured times
(`kernels.serving`), and rooflines of attention that reaches some of a sequence's tokens only.

A line has a row's time at a few numbers of tokens, between which the simulator interpolates. Attention has several such
lines, for a few numbers of new tokens or of decoding sequences.
"""
import collections
import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from clustersim.workload.inference.flags import MOST_TOKENS
from clustersim.workload.kernels import experts, fused, serving, weight_only
from clustersim.workload.kernels.products import SHORTEST_NS
from clustersim.workload.model.reach import WHOLE
from clustersim.workload.serve import lora, placement
from clustersim.workload.serve.instance import Row

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.model.operator import Heads, Operator
    from clustersim.workload.model.reach import Reach
    from clustersim.workload.serve.engine import Engine
    from clustersim.workload.serve.instance import Instance

LONGEST = 1 << 17  # the most tokens to attend to that a line has; beyond, times grow in proportion
# The times of these rows are part of the measured times of a rank's experts.
WITHIN_EXPERTS = ("dispatch", "expert_activation", "expert_down", "combine")
SAMPLED = 2 + 4 + 4  # bytes moved for a logit: read, written as a float32, and read again to find the largest


def points(most: int, more: Iterable[int] = ()) -> list[int]:
    """@return powers of two, from 1 to the first that is no less than `most`, with those half-way between them from 128
    on"""
    found = {1, *more}
    power = 1
    while power < most:
        power *= 2
        found |= {power} if power <= 128 else {power * 3 // 4, power}
    return sorted(found)


def _line(words: Sequence[int | str], found: Sequence[tuple[float, float]]) -> str:
    return " ".join(["times", *map(str, words), *(f"{place:g} {time:.4g}" for place, time in found)])


def with_reaches(rows: "Sequence[Row]", gpu: "Gpu", most: int, sequences: int, verified: int = 1) -> "list[Row]":
    """@return the rows with their times: lines of rooflines for attention that reaches some of a sequence's tokens and
    for weights with few bits, and the figures of scans @param verified new tokens of a decoding sequence, with drafts
    """
    return [_scanned(row, row.scan, gpu, verified) if row.scan else
            dataclasses.replace(row, times=(_line(["tokens"], lora.times(gpu, *row.thin, points(most))),))
            if row.thin else
            dataclasses.replace(row, times=tuple(_reached(row, row.reach, gpu, most, sequences,
                                                          verified))) if row.reach else
            dataclasses.replace(row, times=(_with_few_bits(row, gpu, most),)) if row.weight else row
            for row in rows]


def _with_few_bits(row: Row, gpu: "Gpu", most: int) -> str:
    """@return the line of a product. Its points are dense, as a roofline jumps where a further tile begins."""
    n, k, count = row.figures[:3]
    found = []
    for tokens in points(MOST_TOKENS if row.kind == "experts" else most):  # experts: tokens of all replicas
        arriving = math.ceil(tokens * row.figures[3]) if row.kind == "experts" else 0
        active = min(count, arriving) if arriving else count
        m = math.ceil(arriving / active) if arriving else tokens
        found.append((tokens, weight_only.grouped_roofline_ns(gpu, m, n, k, active, row.weight)))
    return _line(["tokens"], found)


def _scanned(row: Row, scan: "Operator", gpu: "Gpu", verified: int) -> "Row":
    """@return the row with its figures. A token of a prompt costs its part of a scan; a decoding sequence reads and
    writes its state once."""
    slower = fused.slower(gpu, scan) if gpu.kernels == "measured" else 1.0
    each = slower * max(scan.flops / (gpu.tflops * 1e3), scan.bytes / gpu.stream_rate)
    decoding = (2 * row.figures[0] + verified * scan.bytes) / gpu.stream_rate
    return dataclasses.replace(row, figures=(0, each, decoding, 0))


def _reached(row: Row, reach: "Reach", gpu: "Gpu", most: int, sequences: int,
             verified: int) -> Iterator[str]:
    """Yields the lines of attention. Two of each kind suffice: a roofline is in proportion to new tokens and to
    sequences, and the simulator interpolates between the lines."""
    each, cached_bytes, token_bytes = row.figures
    speed = gpu.tflops * 1e3 * gpu.attention[0]
    slower = fused.of(gpu, reach.kernel) if reach.kernel and gpu.kernels == "measured" else 1.0
    places = points(MOST_TOKENS, reach.places)
    for news in sorted({1, most}):
        # A prompt reads as many keys and values as it has tokens.
        yield _line(["prompts", news], [(attended, news * slower * max(each * reach.of_prompt(attended) / speed,
                                                                       (cached_bytes + token_bytes) / gpu.stream_rate))
                                        for attended in places])
    for decoding in sorted({1, sequences}):
        found = []
        for cached in places:
            reached = reach.of_decoding(cached)
            moved = cached_bytes * reached + verified * token_bytes
            found.append((cached, decoding * slower * max(verified * each * reached / speed, moved / gpu.stream_rate)))
        yield _line(["decoding", decoding], found)


def beside_kernels(rows: "Iterable[Row]", engine: "Engine", instance: "Instance", gpu: "Gpu",
                   most: int) -> "Iterator[Row]":
    """@return the rows, and rows for the rest of an engine's time: its work on the CPU for each sequence and token,
    kernels that it does not fuse with attention, and the choice of experts @param most tokens of a replica's step"""
    if engine.sequence_ns or engine.token_ns:
        yield Row("host", "first", "linear", (0, engine.token_ns, engine.sequence_ns, 0))
    for row in rows:
        if row.kind.startswith("attention") and row.heads:
            yield from _unfused(row, row.heads.heads, engine, gpu, most)
        yield row
        if row.name == "router" and (routing := engine.routing(instance.model, gpu)):
            yield Row("routing", row.layers, "linear", (routing, 0, 0, 0))


def _unfused(row: Row, heads: int, engine: "Engine", gpu: "Gpu", most: int) -> "Iterator[Row]":
    """@return the row of kernels beside attention: measured ones of latent attention, or the profile's number of short
    ones"""
    name = f"{row.name}_unfused"
    beside = row.latent_width and gpu.kernels == "measured"
    found = [(tokens, time) for tokens in (points(most) if beside else ())
             if (time := serving.latent_beside_ns(gpu, engine.products, heads, tokens)) is not None]
    if found:
        yield Row(name, row.layers, "memory", (0,), times=(_line(["tokens"], found),))
    elif engine.extra_kernels:
        yield Row(name, row.layers, "linear", (engine.extra_kernels * SHORTEST_NS, 0, 0, 0))


class Timed:
    """Adds times to the rows of an Instance.

    @param most tokens of a replica's step @param sequences the most that decode at a time @param engine its kernels of
    experts are taken, or the fastest ones without an engine @param verified new tokens of a decoding sequence
    """

    def __init__(self, instance: "Instance", gpu: "Gpu", most: int, sequences: int,
                 engine: "Engine | None" = None, verified: int = 1) -> None:
        self.instance, self.gpu, self.most, self.sequences = instance, gpu, most, min(sequences, most)
        self.engine, self.verified = engine, verified

    def rows(self) -> "list[Row]":
        """@return the Instance's rows with times"""
        rows = [self._timed(row) for row in self.instance.rows()]
        merged: list[Row] = []
        for row in rows:
            if row.name == "expert_activation":
                continue
            if row.name == "expert_down":  # its collective follows the experts
                place = next(i for i in reversed(range(len(merged))) if merged[i].name == "expert_up")
                merged[place] = dataclasses.replace(merged[place], name="experts", collective=row.collective,
                                                    bytes=row.bytes)
                continue
            merged.append(row)
        return [*merged, self._timed(Row("sampling", "last", "memory", (SAMPLED * self.instance.model.vocabulary,)))]

    def _timed(self, row: "Row") -> "Row":
        if row.name in WITHIN_EXPERTS:
            return dataclasses.replace(row, figures=(0,) * len(row.figures))
        if row.scan or row.thin or row.reach and row.reach.kernel:
            return with_reaches([row], self.gpu, self.most, self.sequences, self.verified)[0]
        kind = row.kind.split("_")[0]
        if kind == "attention":
            # An indexer's scores have no heads.
            return dataclasses.replace(row, times=tuple(self._attention(row, row.heads))) if row.heads else row
        times = {"matmul": self._products, "experts": self._experts, "memory": self._moved}[kind](row)
        return dataclasses.replace(row, times=tuple(times))

    def _dtype(self, row: "Row") -> str:
        """@return the type of a row's factors; 8-bit floats by their scales"""
        dtype = row.kind.partition("_")[2] or "bfloat16"
        return self.engine.eight_bits(self.instance.model) if self.engine and dtype == "fp8" else dtype

    def _products(self, row: "Row") -> list[str]:
        n, k, _ = row.figures
        most = self.verified * self.sequences if row.layers == "last" else self.most
        engine = self.engine.products if self.engine else ""
        return [_line(["tokens"], [
            (m, weight_only.product_ns(self.gpu, m, n, k, row.weight) if row.weight else
             serving.product_ns(self.gpu, self._dtype(row), m, n, k, engine)) for m in points(most)])]

    def _experts(self, row: "Row") -> list[str]:
        model, (columns, hidden, local, share) = self.instance.model, row.figures
        inward = 2 if model.gated else 1
        found = []
        shape = experts.Shape(hidden, columns // inward, local, model.experts_per_token,
                              model.experts + (self.instance.redundant or 0))
        dtype, engine = self._dtype(row), self.engine
        for tokens in points(self.most * self.instance.replicas):
            name = engine.experts if engine else ""
            rows = tokens * share * self._uneven(tokens)
            found.append((tokens, weight_only.experts_ns(self.gpu, rows, shape, inward, name, row.weight)
                          if row.weight else experts.time_ns(self.gpu, dtype, rows, shape, inward, name)))
        return [_line(["tokens"], found)]

    def _uneven(self, tokens: float) -> float:
        """@return how much fuller the fullest rank is than its share says, because few tokens choose experts by chance.
        All others wait for it in each layer"""
        instance = self.instance
        return placement.by_chance(tokens * instance.model.experts_per_token, instance.ep,
                                   instance.fullest) / instance.fullest

    def _moved(self, row: "Row") -> list[str]:
        """@return the line of a row that moves bytes; no kernel is shorter than SHORTEST_NS"""
        each = row.figures[0] / self.gpu.stream_rate
        return [_line(["tokens"], [(1, max(each, SHORTEST_NS)),
                                   (max(SHORTEST_NS / each, 2), max(2 * each, SHORTEST_NS))])] if each else []

    def _attention(self, row: Row, heads: "Heads") -> Iterator[str]:
        instance, window = self.instance, row.kind == "attention_window"
        longest = instance.window if window else MOST_TOKENS if row.reach else LONGEST
        reached = row.reach or WHOLE
        yield from (_line(["prompts", news], [(attended,
                                               serving.prompts_ns(self.gpu, instance.cache, heads, news,
                                                   reached.of_prompt(attended)))
                                              for attended in points(longest)[2:]])
                    for news in points(self.most)[3:])
        width = row.latent_width or heads.head_dim + heads.value_dim
        kv_heads = 1 if row.latent_width else heads.kv_heads
        alone: dict[tuple[int, float], float] = {}
        for sequences in points(self.sequences):
            # Each token of a draft is a query to the same keys and values, as further heads are.
            times = ((cached, serving.decoding_ns(self.gpu, instance.cache, sequences, reached.of_decoding(cached),
                                                  self.verified * heads.heads, kv_heads, width,
                                                  bool(row.latent_width)))
                     for cached in points(longest, reached.places)[4:])
            found = [(cached, max(time, self._verifying_ns(row, sequences * reached.of_decoding(cached))))
                     for cached, time in times if time is not None]
            alone |= {(sequences, cached): time for cached, time in found}
            if found:
                yield _line(["decoding", sequences], found)
        yield from self._mixed(row, heads, alone)

    def _mixed(self, row: Row, heads: "Heads", alone: dict[tuple[int, float], float]) -> Iterator[str]:
        """@param alone times of decoding sequences by their number and cached tokens, in kernels of their own"""
        rows = self.engine.mixed_rows.get(self.gpu.generation, 0) if self.engine and not row.latent_width else 0
        reached = row.reach or WHOLE
        found: dict[int, list[tuple[float, float]]] = collections.defaultdict(list)
        for (sequences, cached), time in alone.items() if rows else ():
            tiles = serving.mixed_ns(self.gpu, heads, sequences, max(reached.of_decoding(cached), 1), rows)
            found[sequences].append((cached, max(time, tiles)))
        yield from (_line(["mixed", sequences], times) for sequences, times in found.items())

    def _verifying_ns(self, row: Row, scores: float) -> float:
        """@return a lower bound of the time to verify several tokens; 0 for one token, which is measured"""
        speed = self.gpu.tflops * 1e3 * self.gpu.attention[0]
        return self.verified * row.figures[0] * scores / speed if self.verified > 1 else 0.0
