# SPDX-License-Identifier: GPL-2.0-only
"""How much of its time a training job trains, with failures and checkpoints.

A part fails once in its mean time between failures (MTBF) on average, exponentially distributed and
independent of the others, and any failure stops the job. The job writes a checkpoint after each interval of
work, which takes its time; after a failure it restarts, which takes its time, from the last checkpoint. Failures
may come during checkpoints and restarts, too. All times here are hours.

    mtbf = system_mtbf([Part("GPU", 1024, 50000), Part("switch", 96, 150000)])
    interval = daly_interval(mtbf, checkpoint=1 / 60)
    effective_ratio(mtbf, interval, checkpoint=1 / 60, restart=1 / 6)
"""
import dataclasses
import math
from collections.abc import Iterable

import numpy as np


@dataclasses.dataclass(frozen=True)
class Part:
    """Parts of one kind, of which each fails once in mtbf hours on average."""
    name: str
    count: int
    mtbf: float


def system_mtbf(parts: Iterable[Part]) -> float:
    """@return hours between failures of any part"""
    rate = sum(part.count / part.mtbf for part in parts)
    return 1 / rate if rate else math.inf


def young_interval(mtbf: float, checkpoint: float) -> float:
    """Young 1974. @return hours of work between checkpoints that lose the least, to first order"""
    return math.sqrt(2 * checkpoint * mtbf)


def daly_interval(mtbf: float, checkpoint: float) -> float:
    """Daly 2006, equation 37. @return the same to higher order"""
    if checkpoint >= 2 * mtbf:
        return mtbf
    root = math.sqrt(checkpoint / (2 * mtbf))
    return young_interval(mtbf, checkpoint) * (1 + root / 3 + root * root / 9) - checkpoint


def effective_ratio(mtbf: float, interval: float, checkpoint: float, restart: float) -> float:
    """Daly 2006, equation 20. @return work over wall time in the long run"""
    if math.isinf(mtbf):
        return interval / (interval + checkpoint)
    exponent = (interval + checkpoint) / mtbf
    if exponent + restart / mtbf >= 700:
        return 0.0
    return interval / (mtbf * math.exp(restart / mtbf) * math.expm1(exponent))


def simulate(mtbf: float, interval: float, checkpoint: float, restart: float, hours: float,
             random: np.random.Generator) -> tuple[float, int]:
    """One history. @param random numpy's Generator @return hours of work that were kept, and failures"""
    now, kept, failures = 0.0, 0.0, 0
    fails = random.exponential(mtbf) if math.isfinite(mtbf) else math.inf
    while now < hours:
        segment = interval + checkpoint
        whole = int((min(fails, hours) - now) // segment)
        now, kept = now + whole * segment, kept + whole * interval
        if hours <= fails:
            return kept + min(interval, hours - now), failures  # what the end finds is not lost
        now, failures = fails, failures + 1
        fails = now + random.exponential(mtbf)
        while fails < min(now + restart, hours):  # a failure during the restart begins it anew
            now, failures = fails, failures + 1
            fails = now + random.exponential(mtbf)
        now += restart
    return kept, failures


def simulate_many(mtbf: float, interval: float, checkpoint: float, restart: float, hours: float, histories: int,
                  seed: int) -> tuple[np.ndarray, np.ndarray]:
    """@return the ratio of each history, and its failures"""
    random = np.random.default_rng(seed)
    found = [simulate(mtbf, interval, checkpoint, restart, hours, random) for _ in range(histories)]
    return np.array([kept / hours for kept, _ in found]), np.array([failures for _, failures in found])
