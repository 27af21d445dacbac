# SPDX-License-Identifier: GPL-2.0-only
"""Percentiles by nearest rank: the smallest value that so many per cent do not exceed."""
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def percentiles(values: ArrayLike, percents: Sequence[float], weights: ArrayLike | None = None,
                zeros: int = 0) -> list[float | None]:
    """@param weights how often each value occurred @param zeros that many 0 come in addition

    @return a list; None for each if there is nothing
    """
    values = np.asarray(values, dtype=float)
    if weights is None:
        values, counts = np.sort(values), np.arange(1, len(values) + 1)
    else:
        order = np.argsort(values, kind="stable")
        values, counts = values[order], np.cumsum(np.asarray(weights, dtype=float)[order])
    total = (counts[-1] if len(counts) else 0) + zeros
    if not total:
        return [None] * len(percents)
    found: list[float | None] = []
    for percent in percents:
        rank = max(math.ceil(total * percent / 100 - 1e-9), 1) - zeros
        found.append(0.0 if rank <= 0 else
                     float(values[min(int(np.searchsorted(counts, rank - 1e-9)), len(values) - 1)]))
    return found
