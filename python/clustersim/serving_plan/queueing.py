# SPDX-License-Identifier: GPL-2.0-only
"""Closed forms of queues: waiting for a server, for the end of a step, and the batch that decodes."""
import math
from collections.abc import Callable

CLOSE = 1e-6  # relative change at which a fixed point has been found


def md1_wait(rate: float, service: float) -> float:
    """@return mean time in the queue of an M/D/1 server; infinite if it is overloaded"""
    load = rate * service
    return load * service / (2 * (1 - load)) if load < 1 else math.inf


def gated_response(rate: float, fixed: float, each: float) -> float:
    """The mean time to the end of the batch that serves an arrival, where a server takes all that wait at a time.

    A batch of k takes C = `fixed` + `each` k, and k is the number of Poisson arrivals in the batch before it. So
    E[C] = fixed / (1 - rate each) and Var[C] = rate each^2 E[C] / (1 - (rate each)^2). An arrival waits for the rest of
    a batch, E[C^2] / (2 E[C]), if there is one, and then for its own, with rate E[C^2] / E[C] others.
    """
    load = rate * each
    if load >= 1:
        return math.inf
    mean = fixed / (1 - load)
    biased = mean + rate * each ** 2 / (1 - load ** 2)  # E[C^2] / E[C]
    busy = min(1.0, rate * (fixed + each))
    return busy * biased / 2 + fixed + each * (1 + rate * biased * busy)


def residual(share: float, long: float, short: float) -> float:
    """The mean time to the end of a step for an arrival at a random time (M/G/1): E[S^2] / (2 E[S]).

    @param share of the steps that take `long`; the others take `short`
    """
    return (share * long ** 2 + (1 - share) * short ** 2) / (2 * (share * long + (1 - share) * short))


def fixed_point(function: Callable[[float], float], first: float, most: float) -> float:
    """@return the least x from `first` with x = function(x), which must increase; infinite if it is beyond `most`"""
    x = first
    for _ in range(500):
        following = max(function(x), first)
        if following > most:
            return math.inf
        if following - x <= CLOSE * x:
            return following
        x = following
    return math.inf
