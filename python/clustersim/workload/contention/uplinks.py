# SPDX-License-Identifier: GPL-2.0-only
"""The tiers of a topology that carry up less than comes into them from below."""
import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from clustersim.topology import tiers
from clustersim.topology.reader import Topology

BYTES_PER_NS = 8e9  # bit/s


@dataclasses.dataclass(frozen=True)
class Tier:
    """The parts of a network that only switches above the tier join, such as leaves, or pods."""
    part_of: Sequence[int]  # of each GPU
    up: Mapping[int, float]  # bytes/ns that leave a part; as many enter it


@dataclasses.dataclass(frozen=True)
class Uplinks:
    """GPUs by their place in the topology."""
    gpus_per_server: int
    nic: Sequence[float]  # of each GPU, bytes/ns: its part where GPUs share one
    tiers: Sequence[Tier]  # that are oversubscribed


def _without_nics(topology: Topology) -> Iterator[tuple[int, int, float]]:
    """Yields links, with those of a NIC that GPUs share in equal parts from its GPUs to its switch."""
    shared, gpus = topology.shared_nics, set(topology.gpus)
    below: dict[int, list[int]] = collections.defaultdict(list)
    above: dict[int, tuple[int, float]] = {}
    for link in topology.links:
        nic, other = (link.a, link.b) if link.a in shared else (link.b, link.a)
        if nic not in shared:
            yield link.a, link.b, link.rate_bps
        elif other in gpus:
            below[nic].append(other)
        else:
            above[nic] = other, link.rate_bps
    for nic, (switch, bps) in above.items():
        yield from ((gpu, switch, bps / len(below[nic])) for gpu in below[nic])


def _tier(level: int, topology: Topology, tier_of: Mapping[int, int], neighbours: tiers.Capacities,
          tors: tiers.Capacities) -> Tier:
    from networkx.utils import UnionFind  # loads networkx
    joined = UnionFind(topology.gpus)
    for gpu, mine in tors.items():
        joined.union(gpu, *mine)
    for switch, others in neighbours.items():
        if tier_of[switch] <= level:
            joined.union(switch, *(other for other in others if tier_of[other] <= level))
    up: dict[int, float] = collections.defaultdict(float)
    for switch, others in neighbours.items():
        if tier_of[switch] == level:
            up[joined[switch]] += sum(bps for other, bps in others.items() if tier_of[other] > level) / BYTES_PER_NS
    return Tier([joined[gpu] for gpu in topology.gpus], up)


def find(topology: Topology) -> Uplinks | None:
    """@return None if each tier carries up all that the NICs below it can send"""
    switches = set(topology.switches) - topology.shared_nics
    neighbours, tors = tiers.attachments(topology.gpus, switches, _without_nics(topology))
    tier_of = tiers.tier_of(switches, neighbours, tors)
    nic = [sum(tors[gpu].values()) / BYTES_PER_NS for gpu in topology.gpus]
    found = []
    for level in range(1, max(tier_of.values(), default=1)):
        tier = _tier(level, topology, tier_of, neighbours, tors)
        sent: dict[int, float] = collections.defaultdict(float)
        for part, rate in zip(tier.part_of, nic):
            sent[part] += rate
        if any(rate > tier.up.get(part, 0.0) * (1 + 1e-9) > 0 for part, rate in sent.items()):
            found.append(tier)
    return Uplinks(topology.gpus_per_server, nic, found) if found else None
