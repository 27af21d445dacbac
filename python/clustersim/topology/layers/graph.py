# SPDX-License-Identifier: GPL-2.0-only
"""Properties of a topology's links: tiers, planes, path lengths, capacities."""
import collections
from collections.abc import Iterator
from typing import TYPE_CHECKING

import networkx

from clustersim.topology import tiers

if TYPE_CHECKING:
    from clustersim.topology.reader import Link, Topology

GPU, NVSWITCH = "GPU", "NVSwitch"


class Graph:
    def __init__(self, topology: "Topology") -> None:
        self.topology = topology
        self.gpus, self.nvswitches = set(topology.gpus), set(topology.nvswitches)
        self.server_of = {gpu: i // topology.gpus_per_server for i, gpu in enumerate(topology.gpus)}
        switches = set(topology.switches)
        self.neighbours, self.tors = tiers.attachments(topology.gpus, switches,
                                                       ((link.a, link.b, link.rate_bps) for link in topology.links))
        self.degree: collections.Counter[int] = collections.Counter()
        self.nv_of: dict[int, set[int]] = {gpu: set() for gpu in topology.gpus}
        for link in topology.links:
            for a, b in ((link.a, link.b), (link.b, link.a)):
                self.degree[a] += 1
                if a in self.gpus and b in self.nvswitches:
                    self.nv_of[a].add(b)
        self.served_by = self._servants()
        self.nvlinks = networkx.Graph((link.a, link.b) for link in topology.links
                                      if link.a in self.nvswitches and link.b in self.nvswitches)
        self.network = networkx.Graph()  # of the switches
        self.network.add_nodes_from(topology.switches)
        self.network.add_edges_from((a, b) for a, others in self.neighbours.items() for b in others)
        self.tier = tiers.tier_of(topology.switches, self.neighbours, self.tors)
        self.tiers = collections.defaultdict(list)
        for switch in topology.switches:
            self.tiers[self.tier[switch]].append(switch)
        self.plane = self._planes()
        self.planes = len(set(self.plane.values()))

    def _servants(self) -> dict[int, set[int]]:
        """@return by GPU, the NVSwitches that it is linked to, and those behind them that have no GPU of their own"""
        fabric_of, upper = self.topology.nv_fabric_of, collections.defaultdict(set)
        for nv in self.nvswitches.difference(*self.nv_of.values()):
            upper[fabric_of[nv]].add(nv)
        return {gpu: own.union(*(upper[fabric_of[nv]] for nv in own)) for gpu, own in self.nv_of.items()}

    def _planes(self) -> dict[int, int]:
        return {switch: plane for plane, switches in enumerate(networkx.connected_components(self.network))
                for switch in switches}

    def name(self, node: int) -> str:
        if node in self.gpus:
            return GPU
        return NVSWITCH if node in self.nvswitches else f"tier {self.tier[node]}"

    def cables(self) -> "list[Link]":
        """@return the links that leave a server, or join switches: no NVLinks, and none from a GPU to a NIC that it
        shares"""
        inside = self.gpus | self.topology.shared_nics

        def is_of_server(ends: set[int]) -> bool:
            servers = {self.server_of[node] for node in ends & self.gpus}
            return bool(ends & self.nvswitches) or (ends <= inside and len(servers) == 1)
        return [link for link in self.topology.links if not is_of_server({link.a, link.b})]

    def link_kinds(self) -> collections.Counter[tuple[str, str, float]]:
        kinds: collections.Counter[tuple[str, str, float]] = collections.Counter()
        for link in self.topology.links:
            low, high = sorted((self.name(link.a), self.name(link.b)))
            kinds[low, high, link.rate_bps] += 1
        return kinds

    def bundles(self) -> dict[tuple[str, str], set[int]]:
        """@return how many links join two switches, by the names of the two"""
        switches = set(self.topology.switches)
        pairs = collections.Counter((min(link.a, link.b), max(link.a, link.b)) for link in self.topology.links
                                    if link.a in switches and link.b in switches)
        sizes: dict[tuple[str, str], set[int]] = collections.defaultdict(set)
        for (a, b), count in pairs.items():
            low, high = sorted((self.name(a), self.name(b)))
            sizes[low, high].add(count)
        return sizes

    def oversubscription(self) -> Iterator[tuple[int, float]]:
        """Yields each tier that has another above it, and the ratio of its capacities."""
        return tiers.oversubscription(self.tier, self.neighbours, self.tors)

    def path_lengths(self) -> dict[int, int]:
        """@return number of pairs of GPUs by links on their shortest path; GPUs forward nothing"""
        attached = collections.Counter(frozenset(tors) for tors in self.tors.values())
        kinds = list(attached)
        distance = {}
        for tor in {tor for kind in kinds for tor in kind}:
            distance[tor] = networkx.single_source_shortest_path_length(self.network, tor)
        total: collections.Counter[int | None] = collections.Counter()
        lengths = {}
        for i, one in enumerate(kinds):
            for two in kinds[i:]:
                hops = min((distance[a][b] for a in one for b in two if b in distance[a]),
                           default=None)
                lengths[one, two] = lengths[two, one] = hops
                pairs = (attached[one] * (attached[one] - 1) // 2 if one == two
                         else attached[one] * attached[two])
                if pairs:
                    total[None if hops is None else hops + 2] += pairs
        by_fabric = collections.defaultdict(list)
        for gpu, switches in self.nv_of.items():
            if switches:
                by_fabric[self.topology.nv_fabric_of[min(switches)]].append(gpu)
        for members in by_fabric.values():
            for i, a in enumerate(members):
                for b in members[i + 1:]:
                    hops = lengths[frozenset(self.tors[a]), frozenset(self.tors[b])]
                    total[None if hops is None else hops + 2] -= 1
                    total[self._nvlink_hops(a, b)] += 1
        return {length: count for length, count in total.items() if count and length is not None}

    def _nvlink_hops(self, a: int, b: int) -> int:
        if self.nv_of[a] & self.nv_of[b]:
            return 2
        return 2 + min(networkx.shortest_path_length(self.nvlinks, one, two) for one in self.nv_of[a]
                       for two in self.nv_of[b])

    def nic_bps(self, servers: int) -> float:
        return sum(sum(self.tors[gpu].values())
                   for gpu in self.topology.gpus[:servers * self.topology.gpus_per_server])

    def bisection_bps(self) -> float:
        """Largest flow from the GPUs of the first half of the servers to those of the second."""
        servers = len(self.topology.gpus) // self.topology.gpus_per_server
        first = servers // 2 * self.topology.gpus_per_server
        flows = networkx.DiGraph()
        flows.add_nodes_from(("source", "sink"))
        for a, others in self.neighbours.items():
            flows.add_edges_from((a, b, {"capacity": bps}) for b, bps in others.items())
        ends: dict[tuple[int | str, int | str], float] = collections.defaultdict(float)
        for i, gpu in enumerate(self.topology.gpus):
            for tor, bps in self.tors[gpu].items():
                if i < first:
                    ends["source", tor] += bps
                else:
                    ends[tor, "sink"] += bps
        flows.add_edges_from((a, b, {"capacity": bps}) for (a, b), bps in ends.items())
        return networkx.maximum_flow_value(flows, "source", "sink")
