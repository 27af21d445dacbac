# SPDX-License-Identifier: GPL-2.0-only
"""What follows from the links of a topology: tiers, planes, path lengths, capacities."""
import collections

GPU, NVSWITCH = "GPU", "NVSwitch"


class Graph:
    def __init__(self, topology):
        self.topology = topology
        self.gpus, self.nvswitches = set(topology.gpus), set(topology.nvswitches)
        switches = set(topology.switches)
        self.degree = collections.Counter()
        self.neighbours = collections.defaultdict(dict)  # switch -> switch -> bit/s
        self.tors = {gpu: {} for gpu in topology.gpus}  # GPU -> access switch -> bit/s
        self.nv_of = {gpu: set() for gpu in topology.gpus}
        for link in topology.links:
            for a, b in ((link.a, link.b), (link.b, link.a)):
                self.degree[a] += 1
                if a in switches and b in switches:
                    self.neighbours[a][b] = self.neighbours[a].get(b, 0) + link.rate_bps
                elif a in self.gpus and b in switches:
                    self.tors[a][b] = self.tors[a].get(b, 0) + link.rate_bps
                elif a in self.gpus and b in self.nvswitches:
                    self.nv_of[a].add(b)
        self.tier = self._tiers()
        self.tiers = collections.defaultdict(list)
        for switch in topology.switches:
            self.tiers[self.tier[switch]].append(switch)
        self.plane = self._planes()
        self.planes = len(set(self.plane.values()))

    def _tiers(self):
        """Tier 1 is what GPUs are attached to, tier 2 what tier 1 is attached to, and so on."""
        tier = {tor: 1 for tors in self.tors.values() for tor in tors}
        queue = collections.deque(tier)
        while queue:
            switch = queue.popleft()
            for other in self.neighbours[switch]:
                if other not in tier:
                    tier[other] = tier[switch] + 1
                    queue.append(other)
        return {switch: tier.get(switch, 1) for switch in self.topology.switches}

    def _planes(self):
        plane = {}
        for start in self.topology.switches:
            if start in plane:
                continue
            number = len(set(plane.values()))
            plane[start] = number
            todo = [start]
            while todo:
                for other in self.neighbours[todo.pop()]:
                    if other not in plane:
                        plane[other] = number
                        todo.append(other)
        return plane

    def name(self, node):
        if node in self.gpus:
            return GPU
        return NVSWITCH if node in self.nvswitches else f"tier {self.tier[node]}"

    def link_kinds(self, nvlinks=True):
        kinds = collections.Counter()
        for link in self.topology.links:
            if nvlinks or not (link.a in self.nvswitches or link.b in self.nvswitches):
                low, high = sorted((self.name(link.a), self.name(link.b)))
                kinds[low, high, link.rate_bps] += 1
        return kinds

    def oversubscription(self):
        """Yields each tier that has another above it, and the ratio of its capacities."""
        for tier in sorted(self.tiers):
            if tier + 1 not in self.tiers:
                continue
            members = set(self.tiers[tier])
            up = sum(bps for switch in members for other, bps in self.neighbours[switch].items()
                     if self.tier[other] == tier + 1)
            down = sum(bps for switch in members for other, bps in self.neighbours[switch].items()
                       if self.tier[other] == tier - 1)
            down += sum(bps for tors in self.tors.values() for tor, bps in tors.items()
                        if tor in members)
            yield tier, down / up

    def path_lengths(self):
        """@return number of pairs of GPUs by links on their shortest path; GPUs forward nothing"""
        attached = collections.Counter(frozenset(tors) for tors in self.tors.values())
        kinds = list(attached)
        distance = {}
        for tor in {tor for kind in kinds for tor in kind}:
            distance[tor] = self._distances(tor)
        total = collections.Counter()
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
        by_nvswitch = collections.defaultdict(list)
        for gpu, switches in self.nv_of.items():
            if switches:
                by_nvswitch[min(switches)].append(gpu)
        for members in by_nvswitch.values():
            for i, a in enumerate(members):
                for b in members[i + 1:]:
                    hops = lengths[frozenset(self.tors[a]), frozenset(self.tors[b])]
                    total[None if hops is None else hops + 2] -= 1
                    total[2] += 1
        return {length: count for length, count in total.items() if count and length is not None}

    def _distances(self, start):
        distance, queue = {start: 0}, collections.deque([start])
        while queue:
            switch = queue.popleft()
            for other in self.neighbours[switch]:
                if other not in distance:
                    distance[other] = distance[switch] + 1
                    queue.append(other)
        return distance

    def nic_bps(self, servers):
        return sum(sum(self.tors[gpu].values())
                   for gpu in self.topology.gpus[:servers * self.topology.gpus_per_server])

    def bisection_bps(self):
        """Largest flow from the GPUs of the first half of the servers to those of the second."""
        servers = len(self.topology.gpus) // self.topology.gpus_per_server
        first = servers // 2 * self.topology.gpus_per_server
        capacity = collections.defaultdict(dict)
        for a, others in self.neighbours.items():
            capacity[a] = dict(others)
        for i, gpu in enumerate(self.topology.gpus):
            for tor, bps in self.tors[gpu].items():
                a, b = ("source", tor) if i < first else (tor, "sink")
                capacity[a][b] = capacity[a].get(b, 0) + bps
                capacity[b].setdefault(a, 0)
        return _max_flow(capacity, "source", "sink")


def _max_flow(capacity, source, sink):
    """Dinic's algorithm: as long as there is a path, a blocking flow along the shortest ones."""
    flow = 0
    while True:
        level, queue = {source: 0}, collections.deque([source])
        while queue:
            node = queue.popleft()
            for other, left in capacity[node].items():
                if left > 0 and other not in level:
                    level[other] = level[node] + 1
                    queue.append(other)
        if sink not in level:
            return flow
        edges = {node: iter(list(capacity[node])) for node in level}
        path = [source]
        while path:
            node = path[-1]
            if node == sink:
                pushed = min(capacity[a][b] for a, b in zip(path, path[1:]))
                flow += pushed
                cut = None
                for i, (a, b) in enumerate(zip(path, path[1:])):
                    capacity[a][b] -= pushed
                    capacity[b][a] = capacity[b].get(a, 0) + pushed
                    if cut is None and capacity[a][b] <= 0:
                        cut = i
                # The edge that filled up is tried again from its start, which moves past it.
                path = path[:cut + 1]
                edges[path[-1]] = iter(list(capacity[path[-1]]))
                continue
            for other in edges[node]:
                if capacity[node][other] > 0 and level.get(other) == level[node] + 1:
                    path.append(other)
                    break
            else:
                path.pop()
                if path:
                    level[node] = -1
