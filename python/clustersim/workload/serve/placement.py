# SPDX-License-Identifier: GPL-2.0-only
"""Experts on ranks: in order, or as DeepSeek's EPLB places them (github.com/deepseek-ai/EPLB), with copies of those
that get most tokens."""
import functools
import heapq
import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clustersim import input_file
from clustersim.errors import InputError

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model

Loads = tuple[float, ...]  # of each expert, relative to the mean


def _with_copies(loads: Sequence[float], redundant: int) -> list[float]:
    """@return loads of experts and copies; the next copy is always of the expert with the largest load per copy"""
    heap = [(-load, 1, load) for load in loads]
    heapq.heapify(heap)
    for _ in range(redundant):
        _, copies, load = heap[0]
        heapq.heapreplace(heap, (-load / (copies + 1), copies + 1, load))
    return [load / copies for _, copies, load in heap for _ in range(copies)]


def _packed(loads: Sequence[float], ranks: int) -> list[float]:
    """@return loads of ranks; experts, largest load first, go to the emptiest rank that has a place"""
    places = -(-len(loads) // ranks)
    heap, full = [(0.0, 0, rank) for rank in range(ranks)], []
    for load in sorted(loads, reverse=True):
        sum_, count, rank = heapq.heappop(heap)
        if count + 1 < places:
            heapq.heappush(heap, (sum_ + load, count + 1, rank))
        else:
            full.append(sum_ + load)
    return full + [sum_ for sum_, _, _ in heap]


def _in_order(loads: Sequence[float], ranks: int) -> list[float]:
    """@return loads of ranks; the first ranks have one expert more if ranks do not divide the experts (as in vLLM)"""
    each, more = divmod(len(loads), ranks)
    ends = [rank * each + min(rank, more) for rank in range(ranks + 1)]
    return [sum(loads[first:end]) for first, end in zip(ends, ends[1:])]


@functools.lru_cache(1024)
def fullest(loads: Loads, ranks: int, redundant: int | None) -> float:
    """@return the load of the fullest rank over the mean @param redundant copies that EPLB places; None: no EPLB"""
    found = _in_order(loads, ranks) if redundant is None else _packed(_with_copies(loads, redundant), ranks)
    return max(found) * ranks / sum(loads)


SPREAD = 8  # standard deviations beyond which no rank is


@functools.lru_cache(4096)
def by_chance(choices: float, ranks: int, fullest_load: float) -> float:
    """@return the expected load of the fullest rank over the mean if each of `choices` picks a rank by itself: one rank
    with `fullest_load` times the mean probability, the others alike. Numbers of choices are taken as Poisson's"""
    means = choices * fullest_load / ranks, choices * (1 - fullest_load / ranks) / max(ranks - 1, 1)
    if ranks == 1 or choices <= 0:
        return fullest_load
    most = math.ceil(means[0] + SPREAD * math.sqrt(means[0]) + SPREAD)
    step = max(most // 512, 1)
    expected = sum(step * (1 - _at_most(x, means[0]) * _at_most(x, means[1]) ** (ranks - 1))
                   for x in range(0, most, step))
    return max(expected * ranks / choices, fullest_load)


def _at_most(x: int, mean: float) -> float:
    """@return the probability that a Poisson number is at most x; by the normal distribution where it is large"""
    if mean > 64:
        return 0.5 * (1 + math.erf((x + 0.5 - mean) / math.sqrt(2 * mean)))
    term = total = math.exp(-mean)
    for number in range(1, x + 1):
        term *= mean / number
        total += term
    return min(total, 1.0)


def read(path: str | os.PathLike, experts: int) -> tuple[Loads, ...]:
    """@return loads of each layer with experts, from a file with a line of numbers of tokens for each layer; none where
    lines have one number (exchange.read_loads)"""
    lines = input_file.read_input(path, "numbers of tokens for the experts of each layer").splitlines()
    found: list[Loads] = []
    for number, line in enumerate(lines, 1):
        words = line.replace(",", " ").split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) == 1 and not found:
            return ()
        try:
            counts = [float(word) for word in words]
        except ValueError:
            counts = []
        if len(counts) != experts or min(counts) < 0 or not 0 < sum(counts) < float("inf"):
            raise InputError(f"{path}:{number}: not the tokens of a layer's experts; expected {experts} numbers, 0 or "
                             "more, not all of them 0")
        found.append(tuple(count * experts / sum(counts) for count in counts))
    return tuple(found)


def of_layers(imbalance: str, model: "Model") -> tuple[Loads, ...]:
    """@return loads of the experts of each layer, if --moe_imbalance is a file with lines of them"""
    if not model.experts or imbalance.partition(":")[0] in ("none", "zipf"):
        return ()
    found = read(imbalance, model.experts)
    layers = sum(model.layer_kind(index).experts for index in range(model.layers))
    if found and len(found) != layers:
        raise InputError(f"{imbalance}: {len(found)} lines of loads; expected one for each of {layers} layers with "
                         "experts")
    return found
