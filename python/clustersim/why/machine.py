# SPDX-License-Identifier: GPL-2.0-only
"""Finds the links that hold up a communication (NVLink, NICs or fabric), and the part of its time for which they do."""
import bisect
import collections
import dataclasses
import os
import pathlib
from typing import TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.results.reading.links import read_links
from clustersim.results.reading.problem import Problems
from clustersim.topology.reader import read as read_topology
from clustersim.why.records import Flow, Records

if TYPE_CHECKING:
    from clustersim.why.path import Segment

# A port whose flows reach this share of its rate holds them up; headers and congestion control take the rest.
Port = tuple[str, int, str]  # carrier, GPU, out or in
Listed = tuple[list[float], list[Flow], float]  # starts of flows, the flows, the longest time of one
SATURATED = 0.7
CARRIERS = ("NVLink", "NIC", "fabric")


@dataclasses.dataclass(frozen=True)
class Link:
    """One direction of a link, after the run."""
    node: int
    peer: int
    rate_bps: float
    busy_share: float
    used_by: str
    trims: int = 0
    replays: int = 0


class Machine:
    """The topology of a run and how busy its links were."""

    def __init__(self, topology: str | os.PathLike, run_directory: str | os.PathLike, simulated_ns: float) -> None:
        self.topology = read_topology(topology)
        self.gpus = set(self.topology.gpus)
        self.nvswitches = set(self.topology.nvswitches)
        self.switches = set(self.topology.switches) - self.nvswitches
        self.rates: dict[int, dict[str, float]] = collections.defaultdict(lambda: {"NVLink": 0.0, "NIC": 0.0})
        for link in self.topology.links:
            for gpu, other in ((link.a, link.b), (link.b, link.a)):
                if gpu in self.gpus:
                    self.rates[gpu]["NIC" if other in self.switches else "NVLink"] += link.rate_bps / 8e6  # bytes/us
        self.index: dict[Port, Listed] | None = None
        self.links = self._read_links(pathlib.Path(run_directory) / "links.csv", simulated_ns)

    @staticmethod
    def _read_links(path: pathlib.Path, simulated_ns: float) -> list[Link]:
        if not path.is_file():
            return []
        problems = Problems()
        frame = read_links(path, simulated_ns, problems)
        if problems or frame is None:
            raise InputError(str(problems[0]))
        return [Link(row["node"], row["peer"], row["rate_bps"], row["utilisation"] if simulated_ns else 0.0,
                     row.get("used_by", ""), row.get("trims", 0), row.get("replays", 0))
                for row in frame.to_dict("records")]

    def carrier_of_link(self, node: int, peer: int) -> str:
        """@return NVLink, NIC or fabric"""
        if node in self.nvswitches or peer in self.nvswitches or (node in self.gpus and peer in self.gpus):
            return "NVLink"
        return "NIC" if node in self.gpus or peer in self.gpus else "fabric"

    def busiest(self, carrier: str) -> Link | None:
        """@return the busiest Link of a kind, or None"""
        links = [link for link in self.links if self.carrier_of_link(link.node, link.peer) == carrier]
        return max(links, key=lambda link: link.busy_share) if links else None

    def carrier_of_flow(self, flow: Flow) -> str:
        server = self.topology.gpus_per_server
        if flow.dst < 0 or flow.src // server == flow.dst // server:
            return "NVLink"
        nic, fabric = self.busiest("NIC"), self.busiest("fabric")
        return "fabric" if nic and fabric and fabric.busy_share > nic.busy_share else "NIC"

    def _ports(self, records: Records) -> dict[Port, Listed]:
        """Flows by the port that they leave or enter, in order of their starts, with the longest of each."""
        if self.index is None:
            flows = collections.defaultdict(list)
            for each in records.flows.values():
                for flow in each:
                    carrier = self.carrier_of_flow(flow)
                    flows[carrier, flow.src, "out"].append(flow)
                    if flow.dst >= 0:
                        flows[carrier, flow.dst, "in"].append(flow)
            self.index = {}
            for port, listed in flows.items():
                listed.sort(key=lambda flow: flow.start)
                self.index[port] = ([flow.start for flow in listed], listed, max(f.end - f.start for f in listed))
        return self.index

    def _saturated_us(self, port: Port, segment: "Segment", records: Records) -> float:
        """@return how long the port was busy with bytes during the segment, if it was what held them up"""
        starts, flows, longest = self._ports(records)[port]
        first = bisect.bisect_left(starts, segment.start - longest)
        last = bisect.bisect_left(starts, segment.end)
        moved = active = 0.0
        reached = segment.start
        for flow in flows[first:last]:
            inside = min(flow.end, segment.end) - max(flow.start, segment.start)
            if inside <= 0:
                continue
            moved += flow.bytes * inside / (flow.end - flow.start)
            active += max(0.0, min(flow.end, segment.end) - max(flow.start, reached))
            reached = max(reached, min(flow.end, segment.end))
        rate = self.rates[port[1]]["NVLink" if port[0] == "NVLink" else "NIC"]
        return moved / rate if active and moved / active >= SATURATED * rate else 0.0

    def blame(self, segment: "Segment", records: Records) -> tuple[str, float]:
        """@return the carrier of a communication, and the share of its time in which a port of its last flow was full

        The rest is latency, waiting between its steps, and what NCCL's channels can carry: rates of links do not change
        it.
        """
        flow = segment.flow
        if flow is None or not segment.duration:
            return "NVLink", 0.0
        carrier = self.carrier_of_flow(flow)
        ports = [(carrier, flow.src, "out")] + ([(carrier, flow.dst, "in")] if flow.dst >= 0 else [])
        return carrier, min(1.0, max(self._saturated_us(port, segment, records) for port in ports) / segment.duration)
