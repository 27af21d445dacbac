# SPDX-License-Identifier: GPL-2.0-only
"""Deployments: how many instances of which layout keep the limits, and the limit that breaks first."""
import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Sequence

from clustersim.serving_plan.estimate import Estimate, Layout, Load, State

MOST_INSTANCES = 1 << 20
STEP = 1.02  # of the rate, in search of its limit


@dataclasses.dataclass(frozen=True)
class Pool:
    """Instances that share a rate."""
    layout: Layout
    instances: int

    @property
    def gpus(self) -> int:
        return self.instances * self.layout.gpus


@dataclasses.dataclass(frozen=True)
class Deployment:
    """Pools that serve a load: a colocated one, or one that prefills and one that decodes."""
    pools: tuple[Pool, ...]
    load: Load

    @property
    def gpu(self) -> str:
        return self.pools[0].layout.gpu

    @property
    def gpus(self) -> int:
        return sum(pool.gpus for pool in self.pools)

    def states(self, rate: float) -> list[State]:
        """@return the state of an instance of each pool at a rate of all"""
        return [Estimate(pool.layout, self.load).state(rate / pool.instances) for pool in self.pools]

    @functools.cached_property
    def state(self) -> State:
        """Of the deployment under its load."""
        return self._joined(self.states(self.load.rate))

    @staticmethod
    def _joined(states: Sequence[State]) -> State:
        """The first token waits for both sides."""
        if len(states) == 1:
            return states[0]
        prefill, decode = states
        return dataclasses.replace(decode, ttft=prefill.ttft + decode.ttft, prompt_ms=prefill.prompt_ms,
                                   **{name: max(getattr(prefill, name), getattr(decode, name))
                                      for name in ("memory", "slots", "nic", "network")})

    @functools.cached_property
    def breaks(self) -> tuple[str, float]:
        """The limit that a higher rate breaks first, and the rate at which it does so / the load's."""
        def broken(factor: float) -> str:
            return self._joined(self.states(self.load.rate * factor)).broken(self.load)

        low, high = 1.0, 2.0
        while high < MOST_INSTANCES and not broken(high):
            low, high = high, 2 * high
        while high / low > STEP:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if broken(middle) else (middle, high)
        name = broken(high)
        if name in ("TPOT", "TTFT") and self.state.network > 0.5:
            name += ", most of it network"
        return name, high


def fewest(serves: Callable[[int], bool]) -> int | None:
    """@return the least number of instances that keep the limits; None if no number does. More never do worse."""
    high = 1
    while not serves(high):
        high *= 2
        if high > MOST_INSTANCES:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if serves(middle) else (middle, high)
    return high


def sized(layout: Layout, load: Load) -> Pool | None:
    """@return the smallest pool of a layout that keeps the limits"""
    estimate = Estimate(layout, load)
    if estimate.state(1e-6).broken(load):
        return None
    count = fewest(lambda instances: not estimate.state(load.rate / instances).broken(load))
    return Pool(layout, count) if count else None


def _best_pools(layouts: Iterable[Layout], load: Load, some: int) -> list[Pool]:
    pools = [pool for layout in layouts if (pool := sized(layout, load))]
    return sorted(pools, key=lambda pool: (pool.gpus, pool.layout.gpus))[:some]


def separate(prefill: Sequence[Layout], decode: Sequence[Layout], load: Load, some: int = 2) -> list[Deployment]:
    """@return deployments of the smallest pools that prefill and that decode"""
    decoding = _best_pools(decode, load, some)
    if not decoding:
        return []
    # A decoding step follows the prompt.
    first = min(load.tpot_ms, load.ttft_ms / 2)
    prefilling = _best_pools(prefill, dataclasses.replace(load, ttft_ms=load.ttft_ms - first), some)
    return [Deployment((one, other), load) for one in prefilling for other in decoding]


def together(layouts: Iterable[Layout], load: Load) -> list[Deployment]:
    """@return deployments of instances that do both"""
    return [Deployment((pool,), load) for layout in layouts if (pool := sized(layout, load))]


def best_times(layouts: Iterable[Layout], load: Load) -> str:
    """@return the least times of idle instances that do both, in words"""
    states = [Estimate(layout, load).state(1e-6) for layout in layouts]
    return (f"idle instances have a TTFT of at least {min(state.ttft for state in states):.4g} ms and a TPOT of at "
            f"least {min(state.tpot for state in states):.4g} ms")
