# SPDX-License-Identifier: GPL-2.0-only
"""How evenly loads are spread."""
import math
from collections.abc import Sequence


def spread(loads: Sequence[float]) -> float | None:
    """@param loads of links @return how evenly they are spread: the exponential of their entropy, over their number; 1
    if all are equal, 1/n if one of n has all; None without a load"""
    total = sum(loads)
    if not total:
        return None
    entropy = -sum(load / total * math.log(load / total) for load in loads if load > 0)
    return math.exp(entropy) / len(loads)
