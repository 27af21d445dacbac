# SPDX-License-Identifier: GPL-2.0-only
"""Lengths of rollouts: drawn from a distribution with a long tail, and cut at the longest sequence."""
import math
import random
from collections.abc import Iterable

from clustersim.errors import InputError

FORMS = 'N, "uniform LOW HIGH", "exponential MEAN" or "lognormal MEAN DEVIATION"'


def _draw(kind: str, numbers: list[float], random_: random.Random) -> float:
    if kind == "uniform":
        return random_.uniform(numbers[0] - 0.5, numbers[1] + 0.5)
    if kind == "exponential":
        return random_.expovariate(1 / numbers[0])
    variance = math.log1p((numbers[1] / numbers[0]) ** 2)  # of the logarithm
    return random_.lognormvariate(math.log(numbers[0]) - variance / 2, math.sqrt(variance))


def draw(text: str, count: int, most: int, seed: int) -> list[int]:
    """@return tokens of `count` outputs of a distribution, each from 1 to `most`"""
    words = text.split()
    kind = words.pop(0) if words and not words[0][0].isdigit() else "fixed"
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    wanted = {"fixed": 1, "uniform": 2, "exponential": 1, "lognormal": 2}.get(kind)
    is_backward = kind == "uniform" and numbers != sorted(numbers)
    if len(numbers) != wanted or not all(1 <= number <= 1 << 24 for number in numbers) or is_backward:
        raise InputError(f'--output_tokens "{text}" is not a distribution; expected {FORMS}, of 1 to {1 << 24} tokens')
    random_ = random.Random(seed)
    drawn = (numbers[0] if kind == "fixed" else _draw(kind, numbers, random_) for _ in range(count))
    return [max(1, min(most, round(each))) for each in drawn]


def pack(lengths: Iterable[int], most: int) -> int:
    """@return the sequences of `most` tokens that hold all lengths: the longest first, each into the first with room
    (first fit decreasing)"""
    # The bins with the same room are alike, so each kind is one entry, in the order of first use.
    rooms: list[int] = []
    for length in sorted(lengths, reverse=True):
        for place, room in enumerate(rooms):
            if room >= length:
                rooms[place] -= length
                break
        else:
            rooms.append(most - length)
    return len(rooms)
