# SPDX-License-Identifier: GPL-2.0-only
"""Fat trees as htsim describes them (.topo files): hosts of a pod, and links down and up of a switch of each tier."""
import os
from collections.abc import Iterator, Sequence

from clustersim.errors import InputError

HEADER = ("nodes", "tiers", "podsize")
ABSENT = {"bundle": 1, "switch_latency_ns": 0, "oversubscribed": 1}  # values that a tier need not give

RawLink = tuple[int, int, float, float, float]  # two nodes, bit/s, ps, error rate


class FatTree:
    """A tree with the node ids and links that the simulator gives it, which also checks that its numbers agree."""

    def __init__(self, path: str | os.PathLike, lines: Sequence[Sequence[str]]) -> None:
        """lines: the words of each line, without comments"""
        self.path = path
        self.values: dict[tuple[int, str], int] = {}  # by tier (-1: none) and key
        tier = -1
        for number, words in enumerate(lines, 1):
            if not words:
                continue
            if len(words) != 2 or not words[1].isdecimal():
                raise InputError(f"{path}:{number}: '{' '.join(words)}' is not a key and a whole number; expected both")
            if words[0].lower() == "tier":
                tier = int(words[1])
            else:
                self.values[tier, words[0].lower()] = int(words[1])

    @staticmethod
    def begins(lines: Sequence[Sequence[str]]) -> bool:
        """@return whether these are the lines of such a file"""
        return next((words[0].lower() in HEADER for words in lines if words), False)

    def _get(self, tier: int, key: str) -> int:
        value = self.values.get((tier, key), ABSENT.get(key))
        if value is None or (value == 0 and not key.endswith("_ns")):
            raise InputError(f"{self.path}: {f'tier {tier}' if tier >= 0 else 'the topology'} has no {key}; "
                             "expected a number above 0")
        return value

    def _bundle(self, tier: int, lower: int, upper: int) -> list[RawLink]:
        """@return the links between two switches, or a host and a switch. tier: of the upper one"""
        delay_ns = self._get(tier, "downlink_latency_ns") + self._get(tier, "switch_latency_ns") / 2
        if tier:
            delay_ns += self._get(tier - 1, "switch_latency_ns") / 2
        rate = self._get(tier, "downlink_speed_gbps") * 1e9
        return [(lower, upper, rate, delay_ns * 1e3, 0.0)] * self._get(tier, "bundle")

    def expand(self) -> tuple[int, int, list[RawLink]]:
        """@return the numbers of hosts and of switches, and the links; hosts have the first ids"""
        hosts, pod = self._get(-1, "nodes"), self._get(-1, "podsize")
        tors_of_pod = max(1, pod // self._get(0, "radix_down"))
        aggs_of_pod = self._get(0, "radix_up") // self._get(1, "bundle")
        cores_of_agg = self._get(1, "radix_up") // self._get(2, "bundle") if self._get(-1, "tiers") == 3 else 0
        tors, aggs = hosts // pod * tors_of_pod, hosts // pod * aggs_of_pod
        links = [link for pair in self._pairs(hosts, tors, aggs, tors_of_pod, aggs_of_pod, cores_of_agg)
                 for link in self._bundle(*pair)]
        return hosts, tors + aggs + aggs_of_pod * cores_of_agg, links

    def _pairs(self, hosts: int, tors: int, aggs: int, tors_of_pod: int, aggs_of_pod: int,
               cores_of_agg: int) -> Iterator[tuple[int, int, int]]:
        """@return the tier of the upper node, the lower and the upper node of each bundle"""
        first_agg, first_core = hosts + tors, hosts + tors + aggs
        for host in range(hosts):
            yield 0, host, hosts + host // self._get(0, "radix_down")
        for tor in range(tors):
            for i in range(aggs_of_pod):
                yield 1, hosts + tor, first_agg + tor // tors_of_pod * aggs_of_pod + i
        for agg in range(aggs):
            for i in range(cores_of_agg):
                yield 2, first_agg + agg, first_core + agg % aggs_of_pod + i * aggs_of_pod
