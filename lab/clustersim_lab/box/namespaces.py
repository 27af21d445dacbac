# SPDX-License-Identifier: GPL-2.0-only
"""A cluster in a box: the nodes of a topology as network namespaces of this machine.

    with NamespaceCluster(reader.read("topology"), scale=500) as cluster:
        cluster.execute(0, ["ping", "-c1", cluster.address(1)])

A host has one NIC, a veth pair to its switch. A switch is a namespace that routes: shortest paths, several of the same
length by a hash of addresses and ports (ECMP). Each end of a link sends through a token bucket (tc tbf) at the link's
rate divided by the scale. Delays and error rates are not made: they are what this machine has.
"""
import ipaddress
import os
import pathlib
import re
import subprocess
from collections.abc import Mapping, Sequence

import networkx
from clustersim.topology.reader import Topology

PREFIX = "csim"
NETWORK = ipaddress.ip_address("10.77.0.0")
BURST_BYTES = 16_000
QUEUE_BYTES = 1_000_000
SWITCH_SETTINGS = ("net.ipv4.ip_forward=1", "net.ipv4.fib_multipath_hash_policy=1", "net.ipv6.conf.all.disable_ipv6=1")
HOST_SETTINGS = ("net.ipv6.conf.all.disable_ipv6=1", "net.ipv4.tcp_slow_start_after_idle=0")


class NotPermitted(Exception):
    """Namespaces cannot be made here; the text says why."""


class Unsuitable(Exception):
    """The topology cannot be made of namespaces; the text is a line for people."""


def _run(*words: str, text: str | None = None) -> str:
    result = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if result.returncode:
        raise NotPermitted(f"{' '.join(words)}: "
                           f"{(result.stderr or result.stdout).strip().splitlines()[-1:] or ['fails']}")
    return result.stdout


def namespaces() -> dict[int, list[str]]:
    """@return the names of all clusters' namespaces on this machine, by the process that made them"""
    made: dict[int, list[str]] = {}
    for line in _run("ip", "netns", "list").splitlines():
        name = line.split()[0]
        match = re.fullmatch(rf"{PREFIX}-(\d+)-\d+", name)
        if match:
            made.setdefault(int(match[1]), []).append(name)
    return made


def remove_orphans() -> int:
    """Removes what processes left that were killed. @return how many namespaces"""
    count = 0
    for owner, names in namespaces().items():
        if not pathlib.Path(f"/proc/{owner}").exists():
            for name in names:
                subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
                count += 1
    return count


def check(topology: Topology) -> None:
    """@raise Unsuitable if a GPU has not exactly one NIC"""
    if topology.nvswitches or topology.gpus_per_server > 1:
        raise Unsuitable(f"{topology.path}: has servers of {topology.gpus_per_server} GPUs with "
                         f"{len(topology.nvswitches)} "
                         "NVSwitches; expected one GPU per server, a host")
    degree = dict.fromkeys(range(topology.nodes), 0)
    for link in topology.links:
        degree[link.a] += 1
        degree[link.b] += 1
    for gpu in topology.gpus:
        if degree[gpu] != 1:
            raise Unsuitable(f"{topology.path}: GPU {gpu} has {degree[gpu]} links; expected one")


class NamespaceCluster:
    """A topology's nodes as network namespaces while its `with` block lasts. @raise Unsuitable, NotPermitted"""
    def __init__(self, topology: Topology, scale: float = 1) -> None:
        check(topology)
        self.topology, self.scale, self.owner = topology, scale, os.getpid()
        self.graph = networkx.MultiGraph()
        self.graph.add_nodes_from(range(topology.nodes))
        for number, link in enumerate(topology.links):
            self.graph.add_edge(link.a, link.b, key=number)

    def name(self, node: int) -> str:
        """@return the name of a node's namespace"""
        return f"{PREFIX}-{self.owner}-{node}"

    def _end(self, number: int, node: int) -> str:
        """@return the address of a node's end of a link"""
        return str(NETWORK + 2 * number + (node == self.topology.links[number].b))

    def address(self, host: int) -> str:
        """@return the address of a GPU's host"""
        return self._end(next(iter(self.graph.edges(host, keys=True)))[2], host)

    def __enter__(self) -> "NamespaceCluster":
        remove_orphans()
        try:
            self._make()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def _make(self) -> None:
        gpus = set(self.topology.gpus)
        for node in range(self.topology.nodes):
            _run("ip", "netns", "add", self.name(node))
            settings = HOST_SETTINGS if node in gpus else SWITCH_SETTINGS
            _run("ip", "netns", "exec", self.name(node), "sysctl", "-q", "-w", *settings)
            _run("ip", "-n", self.name(node), "link", "set", "lo", "up")
        for number, link in enumerate(self.topology.links):
            _run("ip", "link", "add", f"l{number}", "netns", self.name(link.a), "type", "veth",
                 "peer", "name", f"l{number}", "netns", self.name(link.b))
            for node in (link.a, link.b):
                self._set_up(number, node)
        for node in range(self.topology.nodes):
            self._add_routes(node, gpus)

    def _set_up(self, number: int, node: int) -> None:
        name, device = self.name(node), f"l{number}"
        _run("ip", "-n", name, "address", "add", f"{self._end(number, node)}/31", "dev", device)
        _run("ip", "-n", name, "link", "set", device, "up")
        rate = max(8000, round(self.topology.links[number].rate_bps / self.scale))
        _run("tc", "-n", name, "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{rate}bit",
             "burst", str(BURST_BYTES), "limit", str(QUEUE_BYTES))

    def _add_routes(self, node: int, gpus: set[int]) -> None:
        """Shortest paths to every host; a GPU forwards nothing."""
        reachable = self.graph.subgraph(set(self.graph) - gpus | {node})
        distance = networkx.single_source_shortest_path_length
        lines = []
        for host in sorted(gpus - {node}):
            access = next(iter(self.graph[host]))
            if access == node:
                continue  # its link says it
            steps = distance(reachable, access)
            hops = [(other, number) for _, other, number in self.graph.edges(node, keys=True)
                    if other not in gpus and steps.get(other, self.topology.nodes)
                    < steps.get(node, self.topology.nodes)]
            nearest = min(steps[other] for other, _ in hops)
            nexthops = " ".join(f"nexthop via {self._end(number, other)} dev l{number}"
                                for other, number in hops if steps[other] == nearest)
            lines.append(f"route add {self.address(host)}/32 {nexthops}")
        if lines:
            _run("ip", "-n", self.name(node), "-batch", "-", text="\n".join(lines) + "\n")

    def remove(self) -> None:
        """Ends the processes in this process's namespaces, and removes these."""
        for name in namespaces().get(self.owner, []):
            pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True,
                                  check=False).stdout.split()
            for pid in pids:
                try:
                    os.kill(int(pid), 9)
                except ProcessLookupError:
                    pass
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def execute(self, host: int, words: Sequence[str], env: Mapping[str, str] | None = None,
                capture_output: bool = False, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a command in a host's namespace.

        @param env its whole environment (this process's) @param capture_output whether to keep its output, as text
        @param timeout seconds, after which it is killed and subprocess.TimeoutExpired raised
        """
        return subprocess.run(["ip", "netns", "exec", self.name(host), *words], env=env, capture_output=capture_output,
                              text=True, timeout=timeout, check=False)

    def agent(self, directory: str | os.PathLike) -> pathlib.Path:
        """Writes the program by which mpirun starts its daemons on hosts h0, h1, ... @return its path"""
        path = pathlib.Path(directory) / "start-on-host"
        path.write_text("#!/bin/sh\nhost=$1\nshift\n"
                        f"exec ip netns exec {PREFIX}-{self.owner}-${{host#h}} unshare --uts "
                        "sh -c 'hostname \"$0\"; exec sh -c \"$1\"' \"$host\" \"$*\"\n")
        path.chmod(0o755)
        return path
