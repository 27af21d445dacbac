# SPDX-License-Identifier: GPL-2.0-only
"""Reads a topology file and checks every rule of the format, with file and line."""
import dataclasses
import functools
import os
import re
from collections.abc import Sequence

from clustersim import input_file
from clustersim.htsim_topology import FatTree
from clustersim.topology.cluster import NUMBER, InputError, parse_rate

TIME_UNITS = {"fs": 1e-3, "ps": 1, "ns": 1e3, "us": 1e6, "ms": 1e9, "s": 1e12, "": 1e12,
              "min": 60e12, "h": 3600e12, "d": 86400e12, "y": 365 * 86400e12}
TIME = re.compile(f"{NUMBER}({'|'.join(TIME_UNITS)})")
MAX_LINKS = 100_000_000  # no header says more
LARGEST = 2**63  # bits per second and picoseconds are below
PROBABILITY = re.compile(NUMBER)


@dataclasses.dataclass(frozen=True)
class Link:
    a: int
    b: int
    rate_bps: float
    delay_ps: float
    error_rate: float


@dataclasses.dataclass(frozen=True)
class Topology:
    path: str
    nodes: int
    gpus_per_server: int
    nvswitches: list[int]
    switches: list[int]
    gpus: list[int]
    gpu_type: str
    links: list[Link]

    @functools.cached_property
    def nv_fabric_of(self) -> dict[int, int]:
        """@return the number of each NVSwitch's fabric, the same for NVSwitches that links join"""
        from networkx.utils import UnionFind  # loads networkx
        joined, nvswitches = UnionFind(self.nvswitches), set(self.nvswitches)
        for link in self.links:
            if link.a in nvswitches and link.b in nvswitches:
                joined.union(link.a, link.b)
        return {nv: joined[nv] for nv in self.nvswitches}

    @functools.cached_property
    def shared_nics(self) -> set[int]:
        """@return switches that are NICs which GPUs share: several GPUs of a single server, and one other link"""
        servers: dict[int, list[int]] = {switch: [] for switch in self.switches}
        others = dict.fromkeys(self.switches, 0)
        server_of = {gpu: i // self.gpus_per_server for i, gpu in enumerate(self.gpus)}
        for link in self.links:
            for switch, end in ((link.a, link.b), (link.b, link.a)):
                if switch in servers and end in server_of:
                    servers[switch].append(server_of[end])
                elif switch in servers:
                    others[switch] += 1
        return {switch for switch, mine in servers.items() if len(mine) > 1 and len(set(mine)) == 1
                and others[switch] == 1}


class _Lines:
    """The lines of a file without comments, each with its number."""

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = path
        self.lines = [line.split("#", 1)[0].split()
                      for line in input_file.read_input(path, "a topology file").split("\n")]
        self.number = 0
        self.has_bare_rates = False  # bits per second, without their unit

    def error(self, what: str) -> InputError:
        return InputError(f"{self.path}:{self.number}: {what}")

    def next(self) -> list[str] | None:
        """@return the fields of the next line that has any, or None at the end"""
        while self.number < len(self.lines):
            self.number += 1
            if self.lines[self.number - 1]:
                return self.lines[self.number - 1]
        return None


def _count(lines: _Lines, text: str, name: str) -> int:
    if not re.fullmatch(r"\d+", text):
        raise lines.error(f"<{name}> is '{text}'; expected a whole number, 0 or more")
    return int(text)


def _is_of_ns3_datacenter(fields: Sequence[str]) -> bool:
    """@return whether a header is <nodes> <switches> <ToRs> <links>, in Reverie's files with two rates behind them"""
    return len(fields) == 4 or (len(fields) == 6 and all(re.fullmatch(r"\d+", text) for text in fields[4:])
                                and int(fields[4]) > MAX_LINKS)


def _header(lines: _Lines) -> tuple[int, int, int, int, int, str]:
    fields = lines.next()
    if fields is None:
        lines.number = 1
        raise lines.error("the file is empty; expected <nodes> <gpus_per_server> <nvswitches> "
                          "<switches> <links> <gpu_type>")
    if _is_of_ns3_datacenter(fields):
        fields = [*fields[:2], fields[3]]
        lines.has_bare_rates = True
    if len(fields) == 6:
        names = ("nodes", "gpus_per_server", "nvswitches", "switches", "links")
        nodes, per_server, nv, switches, links = (_count(lines, text, name) for text, name in zip(fields, names))
        gpu_type = fields[5]
        if per_server < 1:
            raise lines.error("<gpus_per_server> is 0; expected 1 or more")
    elif len(fields) == 3:
        nodes, switches, links = (_count(lines, text, name)
                                  for text, name in zip(fields, ("nodes", "switches", "links")))
        per_server, nv, gpu_type = 1, 0, ""
    else:
        raise lines.error(f"the first line has {len(fields)} fields; expected 6 (<nodes> "
                          f"<gpus_per_server> <nvswitches> <switches> <links> <gpu_type>), 3 "
                          f"(<nodes> <switches> <links>) or ns3-datacenter's 4 (<nodes> <switches> <ToRs> <links>)")
    gpus = nodes - nv - switches
    if gpus < 1:
        raise lines.error(f"{nodes} nodes minus {nv} NVSwitches and {switches} switches leave no GPU; "
                          f"expected at least one")
    if gpus % per_server:
        raise lines.error(f"{gpus} GPUs do not fill servers of {per_server}; expected a multiple")
    if nv % (gpus // per_server):
        raise lines.error(f"{nv} NVSwitches for {gpus // per_server} servers; expected the same number in each server")
    return nodes, per_server, nv, switches, links, gpu_type


def _switch_ids(lines: _Lines, nodes: int, count: int) -> list[int]:
    ids: list[int] = []
    seen: set[int] = set()
    while len(ids) < count:
        fields = lines.next()
        if fields is None:
            raise lines.error(f"the file ends after {len(ids)} switch ids; expected {count}")
        for text in fields:
            node = _count(lines, text, "switch id")
            if node >= nodes:
                raise lines.error(f"switch id {node} is out of range; expected 0 to {nodes - 1}")
            if node in seen:
                raise lines.error(f"switch id {node} occurs twice; expected each once")
            seen.add(node)
            ids.append(node)
    if len(ids) > count:
        raise lines.error(f"{len(ids)} switch ids; expected {count}, as many as the first line says")
    return ids


def _link(lines: _Lines, fields: Sequence[str], nodes: int) -> Link:
    if len(fields) != 5:
        raise lines.error(f"{len(fields)} fields; expected <src> <dst> <rate> <delay> <error_rate>")
    a, b = _count(lines, fields[0], "src"), _count(lines, fields[1], "dst")
    for node in (a, b):
        if node >= nodes:
            raise lines.error(f"node {node} is out of range; expected 0 to {nodes - 1}")
    if a == b:
        raise lines.error(f"node {a} is linked to itself; expected another node")
    is_bare = lines.has_bare_rates and re.fullmatch(NUMBER, fields[2])
    bps = float(fields[2]) if is_bare else parse_rate(fields[2])
    if bps is None or bps >= LARGEST:
        raise lines.error(f"'{fields[2]}' is not a rate; expected one such as 400Gbps")
    if bps < 0.5:  # the simulator has whole bits per second
        raise lines.error(f"the rate {fields[2]} is not positive; expected more than 0")
    time = TIME.fullmatch(fields[3])
    delay = float(time[1]) * TIME_UNITS[time[2]] if time else LARGEST
    if delay >= LARGEST:
        raise lines.error(f"'{fields[3]}' is not a time; expected one such as 0.0005ms")
    error_rate = float(fields[4]) if PROBABILITY.fullmatch(fields[4]) else -1
    if not 0 <= error_rate <= 1:
        raise lines.error(f"the error rate '{fields[4]}' is not a probability; expected 0 to 1")
    return Link(a, b, bps, delay, error_rate)


def read(path: str | os.PathLike) -> Topology:
    """Reads and checks a file, by the same rules as the simulator."""
    lines = _Lines(path)
    if FatTree.begins(lines.lines):
        hosts, switch_count, raw = FatTree(path, lines.lines).expand()
        return Topology(str(path), hosts + switch_count, 1, [], list(range(hosts, hosts + switch_count)),
                        list(range(hosts)), "", [Link(*link) for link in raw])
    nodes, per_server, nv, switches, link_count, gpu_type = _header(lines)
    ids = _switch_ids(lines, nodes, nv + switches)
    # Two switches may have a bundle of links; a GPU's cable listed twice is a mistake.
    special = set(ids)
    links: list[Link] = []
    seen: dict[tuple[int, int], int] = {}
    while (fields := lines.next()) is not None:
        if len(links) == link_count:
            if not gpu_type:
                break  # the HPCC simulator's files go on with spare links and notes for people
            raise lines.error(f"more links than the {link_count} of the first line; expected the end of the file")
        link = _link(lines, fields, nodes)
        pair = (min(link.a, link.b), max(link.a, link.b))
        if pair in seen and not (link.a in special and link.b in special):
            raise lines.error(f"nodes {link.a} and {link.b} are already linked in line {seen[pair]}; "
                              f"expected one link (only two switches may have several)")
        seen.setdefault(pair, lines.number)
        links.append(link)
    if len(links) < link_count:
        lines.number = len(lines.lines)
        raise lines.error(f"the file ends after {len(links)} links; expected {link_count}, as many as "
                          f"the first line says")
    topology = Topology(str(path), nodes, per_server, ids[:nv], ids[nv:],
                        [n for n in range(nodes) if n not in special], gpu_type, links)
    if gpu_type and topology.gpus[-1] != len(topology.gpus) - 1:
        lines.number = 2
        raise lines.error(f"GPU ids are not 0 to {len(topology.gpus) - 1}; expected GPUs before "
                          f"switches in the six-field form")
    _check_nvswitches(topology)
    _check_reachable(topology)
    return topology


def _check_nvswitches(topology: Topology) -> None:
    """An NVSwitch serves the GPUs of one server, which is what makes it one; so do those that it is linked to."""
    switches, index = set(topology.switches), {gpu: i for i, gpu in enumerate(topology.gpus)}
    fabric_of = topology.nv_fabric_of
    server_of: dict[int, int] = {}
    for link in topology.links:
        for nv, other in ((link.a, link.b), (link.b, link.a)):
            if nv in fabric_of and other in switches:
                raise InputError(f"{topology.path}: NVSwitch {nv} is linked to switch {other}; "
                                 f"expected links to GPUs and NVSwitches only")
            if nv in fabric_of and other in index:
                server = index[other] // topology.gpus_per_server
                if server_of.setdefault(fabric_of[nv], server) != server:
                    raise InputError(f"{topology.path}: NVSwitch {nv} is linked to GPUs of servers "
                                     f"{server_of[fabric_of[nv]]} and {server}; expected GPUs of one server")


def _check_reachable(topology: Topology) -> None:
    pair = find_unreachable(topology, over_nvlink=True)
    if pair:
        raise InputError(f"{topology.path}: GPU {pair[0]} cannot reach GPU {pair[1]} over switches and "
                         f"NVLink; expected a path")


def find_unreachable(topology: Topology, over_nvlink: bool) -> tuple[int, int] | None:
    """Two GPUs reach each other by switches that connect, an NVSwitch or a cable.

    over_nvlink: also over the NVLink of a GPU that hangs on the other's switches, as in a rail-only network
    @return two GPUs that do not, the first one below the second, or None
    """
    from networkx.utils import UnionFind  # loads networkx
    connected = UnionFind()
    switches, gpus = set(topology.switches), set(topology.gpus)
    linked: dict[int, set[int]] = {gpu: set() for gpu in topology.gpus}
    near: dict[int, set[int]] = {
        gpu: set() for gpu in topology.gpus
    }  # GPUs, and what NVSwitches linked to each other have in common
    fabric_of = topology.nv_fabric_of
    for link in topology.links:
        if link.a in switches and link.b in switches:
            connected.union(link.a, link.b)
        for gpu, other in ((link.a, link.b), (link.b, link.a)):
            if gpu in gpus:
                (linked if other in switches else near)[gpu].add(fabric_of.get(other, other))
    for gpu in gpus if over_nvlink else ():
        # A GPU passes on what its NVSwitch brings, or in a mesh what GPUs that it is linked to do.
        beyond = [*sorted(near[gpu] - gpus)[:1], *(switch for other in near[gpu] & gpus for switch in linked[other])]
        for switch in linked[gpu]:
            connected.union(switch, *beyond)
    kinds: dict[frozenset[int], list[int]] = {}
    for gpu, direct in linked.items():
        kinds.setdefault(frozenset(connected[switch] for switch in direct), []).append(gpu)
    for one in kinds:
        for two in kinds:
            if one & two:
                continue
            for a in kinds[one]:
                for b in kinds[two]:
                    if a != b and not (b in near[a] or near[a] & near[b] - gpus):
                        return min(a, b), max(a, b)
    return None
