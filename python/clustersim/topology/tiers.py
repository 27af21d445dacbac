# SPDX-License-Identifier: GPL-2.0-only
"""Tiers of switches, and what each carries up for what comes into it from below. Without networkx, which takes long to
load."""
import collections
from collections.abc import Collection, Iterable, Iterator, Mapping

Capacities = Mapping[int, Mapping[int, float]]  # bit/s by node and the switch that it is linked to


def attachments(gpus: Iterable[int], switches: Collection[int],
                links: Iterable[tuple[int, int, float]]) -> tuple[Capacities, Capacities]:
    """@param links iterable of (node, node, bit/s)
    @return switch -> switch -> bit/s, and GPU -> access switch -> bit/s"""
    neighbours: dict[int, dict[int, float]] = collections.defaultdict(dict)
    tors: dict[int, dict[int, float]] = {gpu: {} for gpu in gpus}
    for one, other, bps in links:
        for a, b in ((one, other), (other, one)):
            if b in switches and a in switches:
                neighbours[a][b] = neighbours[a].get(b, 0) + bps
            elif b in switches and a in tors:
                tors[a][b] = tors[a].get(b, 0) + bps
    return neighbours, tors


def tier_of(switches: Collection[int], neighbours: Capacities, tors: Capacities) -> dict[int, int]:
    """Tier 1 is what GPUs are attached to, tier 2 what tier 1 is attached to, and so on. @return switch -> tier"""
    found = {tor: 1 for mine in tors.values() for tor in mine}
    queue = collections.deque(found)
    while queue:
        switch = queue.popleft()
        for above in neighbours[switch]:
            if above not in found:
                found[above] = found[switch] + 1
                queue.append(above)
    return {switch: found.get(switch, 1) for switch in switches}


def oversubscription(tier: Mapping[int, int], neighbours: Capacities, tors: Capacities) -> Iterator[tuple[int, float]]:
    """Yields each tier that has another above it, and its capacity down over its capacity up."""
    up: dict[int, float] = collections.defaultdict(float)
    down: dict[int, float] = collections.defaultdict(float)
    for switch, others in neighbours.items():
        for other, bps in others.items():
            if tier[other] == tier[switch] + 1:
                up[tier[switch]] += bps
            elif tier[other] == tier[switch] - 1:
                down[tier[switch]] += bps
    for mine in tors.values():
        for tor, bps in mine.items():
            down[tier[tor]] += bps
    for level in sorted(up):
        yield level, down[level] / up[level]
