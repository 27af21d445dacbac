# SPDX-License-Identifier: GPL-2.0-only
"""How much longer a plan's collectives take as all groups of their kind send at once over the same uplinks.

A group alone is as fast as its NICs. Where all groups of the kind together would send up more than the uplinks of a
leaf or a pod carry, their bytes take as much longer as these uplinks need for them than the NICs do. Latencies stay.
In AllReduce, AllGather and ReduceScatter, each server sends the next one of its group as much as a ring does, from GPU
to GPU at the same place: in a rail-optimised network that traffic stays on its leaf. In AllToAll each rank sends as
much to every other one. ECMP is ideal.

    found = uplinks.find(reader.read(path))
    extra_ns = Contention(found).extra_ns(plan, collective, collective.bytes)
"""
import collections
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from clustersim.workload.contention.uplinks import Uplinks

if TYPE_CHECKING:
    from clustersim.workload.plan.parallel import Parallelism
    from clustersim.workload.training.rows import Collective


def factor(op: str, ranks: int) -> float:
    """@return bytes that a collective moves through each rank, for each of its own"""
    return {"ALLREDUCE": 2 * (ranks - 1) / ranks, "ALLGATHER": (ranks - 1) / ranks,
            "REDUCESCATTER": (ranks - 1) / ranks, "ALLTOALL": (ranks - 1) / ranks}.get(op, 1)


@dataclasses.dataclass(frozen=True)
class Sent:
    """Bytes that a rank sends for each byte of a collective."""
    rank: int
    by_nic: float
    beyond: tuple[float, ...]  # its part of each tier


@dataclasses.dataclass(frozen=True)
class Demand:
    """Nanoseconds for each byte of a collective."""
    nic: float  # on its ranks' NICs
    alone: float  # on the uplinks that one group keeps busy longest
    together: float  # on the uplinks that all groups of the kind together keep busy longest

    def extra(self, alone_counts: bool) -> float:
        """@param alone_counts whether the collective's time is that of its own messages on the uplinks
        @return nanoseconds for each byte that sharing adds"""
        return max(0.0, self.together - (max(self.nic, self.alone) if alone_counts else self.nic))


class Demands:
    """Demands of kinds of groups on uplinks."""

    def __init__(self, uplinks: Uplinks) -> None:
        self.uplinks = uplinks
        self.known: dict[tuple[str, int, int, int], Demand] = {}

    def find(self, op: str, stride: int, size: int, world_size: int) -> Demand:
        """@param op an operation, or SENDRECV: each rank sends to the next of its group
        @param stride between consecutive ranks of a group @param size ranks of a group"""
        key = (op, stride, size, world_size)
        if key not in self.known:
            self.known[key] = self._of(self._sent(op, group) for group in groups(stride, size, world_size))
        return self.known[key]

    def _sent(self, op: str, ranks: Sequence[int]) -> Iterator[Sent]:
        if op == "ALLTOALL":
            return self._to_all(ranks)
        if op == "SENDRECV":
            return (self._to(*pair, 1.0) for pair in zip(ranks, ranks[1:]))
        return self._around(ranks, factor(op, len(ranks)))

    def _to(self, here: int, there: int, share: float) -> Sent:
        crosses = here // self.uplinks.gpus_per_server != there // self.uplinks.gpus_per_server
        return Sent(here, share * crosses, tuple(share * (crosses and tier.part_of[here] != tier.part_of[there])
                                                 for tier in self.uplinks.tiers))

    def _around(self, ranks: Sequence[int], moved: float) -> Iterator[Sent]:
        """Channels of a ring share out the NICs of the group's ranks in a server."""
        servers: dict[int, list[int]] = collections.defaultdict(list)
        for rank in ranks:
            servers[rank // self.uplinks.gpus_per_server].append(rank)
        here, lanes = list(servers.values()), min(map(len, servers.values()))
        for mine, following in zip(here, [*here[1:], here[0]]):
            yield from (self._to(*pair, moved / lanes) for pair in zip(mine[:lanes], following[:lanes]))

    def _to_all(self, ranks: Sequence[int]) -> Iterator[Sent]:
        server_of = {rank: rank // self.uplinks.gpus_per_server for rank in ranks}
        inside = collections.Counter(server_of.values())
        near = [(tier.part_of, collections.Counter(tier.part_of[rank] for rank in ranks),
                 collections.Counter((tier.part_of[rank], server_of[rank]) for rank in ranks))
                for tier in self.uplinks.tiers]
        for rank in ranks:
            server, size = server_of[rank], len(ranks)
            outside = size - inside[server]
            yield Sent(rank, outside / size,
                       tuple((outside - parts[of[rank]] + both[of[rank], server]) / size for of, parts, both in near))

    def _busiest(self, loads: Sequence[dict[int, float]]) -> float:
        return max((load / tier.up[part] for tier, parts in zip(self.uplinks.tiers, loads)
                    for part, load in parts.items() if tier.up.get(part)), default=0.0)

    def _of(self, sent_by_group: Iterable[Iterable[Sent]]) -> Demand:
        tiers = self.uplinks.tiers
        nic = alone = 0.0
        together: list[dict[int, float]] = [collections.defaultdict(float) for _ in tiers]
        for sent in sent_by_group:
            own: list[dict[int, float]] = [collections.defaultdict(float) for _ in tiers]
            for each in sent:
                nic = max(nic, each.by_nic / self.uplinks.nic[each.rank] if each.by_nic else 0.0)
                for tier, load, total, share in zip(tiers, own, together, each.beyond):
                    load[tier.part_of[each.rank]] += share
                    total[tier.part_of[each.rank]] += share
            alone = max(alone, self._busiest(own))
        return Demand(nic, alone, self._busiest(together))


def groups(stride: int, size: int, world_size: int) -> Iterator[range]:
    """Yields the ranks of each group of a kind."""
    for block in range(0, world_size, stride * size):
        for first in range(block, block + stride):
            yield range(first, first + stride * size, stride)


class Contention:
    """Times that a plan's collectives take longer as their groups share uplinks."""

    def __init__(self, uplinks: Uplinks, alone_counts: bool = False) -> None:
        """@param alone_counts whether times without contention are those of one group on the same uplinks"""
        self.demands, self.alone_counts = Demands(uplinks), alone_counts

    def extra_ns(self, plan: "Parallelism", collective: "Collective", size: float) -> float:
        """@param size bytes of the collective, or of a message to the next stage"""
        stride, ranks = plan.groups[collective.group]
        if collective.op == "NONE" or ranks < 2 or not self.demands.uplinks.tiers:
            return 0.0
        return size * self.demands.find(collective.op, stride, ranks, plan.world_size).extra(self.alone_counts)


NO_CONTENTION = Contention(Uplinks(1, (), ()))
