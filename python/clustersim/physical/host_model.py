# SPDX-License-Identifier: GPL-2.0-only
"""A host as the simulator models it, and the host that explains measured times best.

A host's link has a rate R and a latency L. Its CPU moves messages one after another: each keeps it busy for o before it
leaves, and at the rate R while it does. These are L, o and G = 1/R of the LogGP model (Alexandrov et al., SPAA 1995).
Messages above a limit may have an o of their own, as libraries change their protocol with the size: they copy short
messages, and agree upon long ones first (LogGPS: Ino, Fujimoto, Hagihara, PPoPP 2001).
"""
import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence

import numpy
from numpy.typing import ArrayLike

FASTEST_BPS = 1e15
MOST_COSTS = 3  # that a row of --gpu-table takes
# Each cost must lower the error of the fitted sizes to this part. One whose limit is the best of many must do more than
# chance.
WORTHWHILE = 2 / 3
WORTHWHILE_SEARCHED = 1 / 2
PARTS_OF_CPU = (0.1, 0.5, 0.9)  # of a short message's time: where searches begin
EXACT = 0.005  # relative error below which nothing more is looked for: measurements scatter more
ROUNDS = 60  # of least squares
STEPS = 12  # of a search
GAIN = 0.01  # relative; a step that lowers the error by less is the last
SIZES_PER_NUMBER = 2  # that are fitted, at least, for each number of a host with costs
SHORTEST_STEP = 1 / 16  # of the way to where slopes lead
PROBE = 0.05  # relative change of a number that shows its slope
SMALL_ERROR = 1e-3  # relative; below it all errors weigh the same

Cost = tuple[int, float]  # microseconds of the CPU for a message above so many bytes: (bytes, microseconds)


@dataclasses.dataclass(frozen=True)
class Host:
    """A host: the latency and the rate of its link, and the CPU's work for a message."""
    latency_us: float
    rate_bps: float
    costs: tuple[Cost, ...] = ()  # by rising bytes; the last that applies to a message counts
    copies: bool = True  # whether the CPU moves the bytes, not a NIC

    def row(self, name: str) -> str:
        """@return its row of a --gpu-table. A host has no NVLinks; their rates are that of its own link"""
        rate = f"{self.rate_bps / 8e9:.9g}"
        messages = [f"{{above: {above}, us: {us:.9g}" + f", gbps: {rate}" * self.copies + "}" for above,
                    us in self.costs if us > 0 or self.copies]
        return (f"{name}: {{generation: Hopper, channel_gbps: {rate}, usable_gbps: {rate}"
                + f", messages: [{', '.join(messages)}]" * bool(messages) + "}")


class HostFit:
    """Looks for a host by its simulated times. They are sums along the longest path through a collective, so near any
    host they are linear in its numbers: slopes lead to the host of least absolute relative errors, and are then taken
    anew.

    @param simulate gives the microseconds of all sizes for a Host @param chosen which sizes are fitted
    @param copies see Host
    """

    def __init__(self, simulate: Callable[[Host], ArrayLike], measured: ArrayLike, chosen: ArrayLike,
                 copies: bool = True) -> None:
        self._simulate = functools.cache(lambda host: numpy.asarray(simulate(host), float))
        self._measured, self._chosen, self._copies = numpy.asarray(measured, float), numpy.asarray(chosen, bool), copies

    def error(self, host: Host) -> float:
        """@return the mean of the relative errors of the sizes that are fitted"""
        return float(abs(self._simulate(host) / self._measured - 1)[self._chosen].mean())

    def best(self, known: Iterable[int] = (), searched: Iterable[int] = ()) -> Host:
        """@param known limits that the provider tells of, in bytes @param searched limits to be tried
        @return the host with the costs that are worthwhile
        """
        known = sorted(set(known))
        plain = best = self._settle(Host(self._measured.min(), 1e9, (), self._copies))
        for limits in [(0,), *((0, limit) for limit in known), (0, *known)]:
            for part in PARTS_OF_CPU:
                best = self._better(best, [self._divide(plain, limits, part)], WORTHWHILE)
        return self._better(best, [self._split(best, limit) for limit in searched if limit not in dict(best.costs)],
                            WORTHWHILE_SEARCHED)

    def _better(self, host: Host, starts: Sequence[Host], part: float) -> Host:
        """@return the host that is found from one of other hosts, if its costs are worthwhile; otherwise the given
        one"""
        tellable = min(MOST_COSTS, int(self._chosen.sum()) // SIZES_PER_NUMBER - len(self._numbers(Host(0, 1))))
        if self.error(host) <= EXACT:
            return host
        other = min((self._settle(start) for start in starts if len(start.costs) <= tellable), key=self.error,
                    default=host)
        return other if self.error(other) < self.error(host) * part ** (len(other.costs) - len(host.costs)) else host

    @staticmethod
    def _divide(plain: Host, limits: Sequence[int], part: float) -> Host:
        """@return a host that divides the latency of another between the link and the CPU"""
        costs = tuple((limit, plain.latency_us * part * (1 + number)) for number, limit in enumerate(limits))
        return dataclasses.replace(plain, latency_us=plain.latency_us * (1 - part), costs=costs)

    @staticmethod
    def _split(host: Host, limit: int) -> Host:
        """@return the same host, with a cost of its own above a limit"""
        costs = dict(host.costs)
        below = [us for above, us in host.costs if above < limit]
        costs.setdefault(0, host.latency_us * PARTS_OF_CPU[0])
        costs[limit] = below[-1] if below else costs[0]
        return dataclasses.replace(host, costs=tuple(sorted(costs.items())))

    def _settle(self, host: Host) -> Host:
        numbers = self._numbers(host)
        for _ in range(STEPS):
            target = self._target(host, numbers)
            step, error = 1.0, self.error(host)
            while step >= SHORTEST_STEP:
                trial = self._host(host, numbers + step * (target - numbers))
                if self.error(trial) < error:
                    break
                step /= 2
            if step < SHORTEST_STEP:
                break
            host, numbers = trial, self._numbers(trial)
            if self.error(host) > error * (1 - GAIN):
                break
        return host

    def _target(self, host: Host, numbers: numpy.ndarray) -> numpy.ndarray:
        """@return the numbers of least absolute errors, by the slopes at a host"""
        times = self._simulate(host)
        smallest = numpy.full(len(numbers), PROBE * PROBE * self._measured.min())
        smallest[1] = 0  # a link's rate is never infinite
        probes = numpy.maximum(PROBE * numbers, smallest)
        slopes = numpy.stack([(self._simulate(self._host(host, numbers + probe)) - times) / probe.sum()
                              for probe in numpy.diag(probes)], axis=1)
        goal = (self._measured - times + slopes @ numbers)[self._chosen] / self._measured[self._chosen]
        rows = slopes[self._chosen] / self._measured[self._chosen, None]
        weights = numpy.ones(len(rows))
        for _ in range(ROUNDS):
            solution = _least_squares(rows * weights[:, None], goal * weights)
            weights = 1 / numpy.sqrt(numpy.maximum(abs(rows @ solution - goal), SMALL_ERROR))
        # Where a number hardly matters, its slope leads anywhere; but no part of a collective, nor a byte of it, takes
        # longer than all.
        longest = numpy.full(len(numbers), self._measured.max())
        longest[1] *= 1e3 / 8
        return numpy.minimum(solution, longest)

    @staticmethod
    def _numbers(host: Host) -> numpy.ndarray:
        """@return what times are linear in: microseconds, and nanoseconds of a bit"""
        return numpy.array([host.latency_us, 1e9 / host.rate_bps, *(us for _, us in host.costs)])

    @staticmethod
    def _host(like: Host, numbers: numpy.ndarray) -> Host:
        costs = tuple((above, float(us)) for (above, _), us in zip(like.costs, numbers[2:]))
        return Host(float(numbers[0]), 1e9 / max(float(numbers[1]), 1e9 / FASTEST_BPS), costs, like.copies)


def _least_squares(rows: numpy.ndarray, goal: numpy.ndarray) -> numpy.ndarray:
    """@return the solution of rows * x = goal with no negative number"""
    scale = abs(rows).max(axis=0)
    used = [column for column in range(rows.shape[1]) if scale[column] > 0]
    solution = numpy.zeros(rows.shape[1])
    while used:
        found = numpy.linalg.lstsq(rows[:, used] / scale[used], goal, rcond=None)[0]
        worst = int(numpy.argmin(found))
        if found[worst] >= 0:
            solution[used] = found / scale[used]
            break
        del used[worst]
    return solution
