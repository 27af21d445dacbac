# SPDX-License-Identifier: GPL-2.0-only
"""Runs a network of a paper in qbb-flows, and reads what the flows, queues and links did."""
import csv
import dataclasses
import json
import pathlib
import subprocess
from collections.abc import Iterable, Sequence
from typing import Any

from clustersim import input_file
from clustersim.errors import InputError
from clustersim.whole_file import write_text

DATA_PRIORITY = 3
Port = tuple[int, int]  # a node and its neighbour
Wish = tuple[int, int, int, float]  # source, destination, bytes, start in seconds


@dataclasses.dataclass(frozen=True)
class Flow:
    """A flow that has ended."""

    src: int
    dst: int
    size: int
    start_ns: int
    fct_ns: int
    ideal_ns: int

    @property
    def slowdown(self) -> float:
        return max(1.0, self.fct_ns / self.ideal_ns)

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.fct_ns


def host(address: str) -> int:
    """@return the number of the host of an address in fct.txt"""
    bits = int(address, 16)
    return (bits >> 16 & 0xFF) << 8 | bits >> 8 & 0xFF


@dataclasses.dataclass(frozen=True)
class Run:
    """The output of a run."""

    folder: pathlib.Path

    def flows(self) -> list[Flow]:
        """@return the flows that have ended, in the order of their ends"""
        lines = input_file.read_input(self.folder / "fct.txt", "the ends of flows").splitlines()
        return [Flow(host(row[0]), host(row[1]), *map(int, row[4:8])) for row in map(str.split, lines)]

    def _samples(self, name: str) -> list[list[float]]:
        """@return the rows of a file of samples"""
        lines = input_file.read_input(self.folder / name, "samples").splitlines()[1:]
        return [list(map(float, line.split(","))) for line in lines]

    def _port(self, port: Port) -> int:
        """@return the number of a port"""
        return next(int(row["port"]) for row in self.links() if (int(row["node"]), int(row["peer"])) == port)

    def queues(self, port: Port, samples: int) -> list[int]:
        """@return bytes of data that wait at a port, at each of so many samples, in rising order"""
        number = self._port(port)
        found = [int(row[4]) for row in self._samples("queue.txt") if row[1:4] == [port[0], number, DATA_PRIORITY]]
        return [0] * (samples - len(found)) + sorted(found)  # an empty queue has no line

    def bandwidth_gbps(self, port: Port) -> list[float]:
        """@return what a port has sent, at each sample at which it was not idle"""
        number = self._port(port)
        return [row[3] for row in self._samples("bandwidth.txt") if row[1:3] == [port[0], number]]

    def links(self) -> list[dict[str, str]]:
        """@return the rows of links.csv"""
        with open(self.folder / "links.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def totals(self) -> dict[str, Any]:
        """@return run.json"""
        return json.loads(input_file.read_input(self.folder / "run.json", "the totals of a run"))


@dataclasses.dataclass(frozen=True)
class Bench:
    """Where a paper's networks run."""

    program: pathlib.Path  # qbb-flows
    output: pathlib.Path
    data: pathlib.Path  # distributions of flow sizes

    def run(self, name: str, topology: str, wishes: Sequence[Wish], conf: str, *flags: str, stop_s: float = 0) -> Run:
        """Runs flows on a network. @param stop_s seconds after which the run ends; 0: when all flows have
        @return its output"""
        folder = self.output / name
        folder.mkdir(parents=True, exist_ok=True)
        flows = "".join(f"{src} {dst} {DATA_PRIORITY} {100 + number % 60_000} {size} {start:.9f}\n"
                        for number, (src, dst, size, start) in enumerate(wishes))
        write_text(folder / "topology.txt", topology)
        write_text(folder / "flows.txt", f"{len(wishes)}\n{flows}")
        write_text(folder / "run.conf", conf + (f"SIMULATOR_STOP_TIME {stop_s}\n" if stop_s else ""))
        words = [str(self.program.resolve()), "run.conf", "-n", "topology.txt", "-f", "flows.txt", "-o", "out", "-q",
                 *flags]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0 and not (stop_s and Run(folder / "out").totals()["status"] == "stopped"):
            raise InputError(f"{self.program}: ended with status {done.returncode} in {folder}: "
                             f"{done.stderr.strip().splitlines()[-1:]}; expected a complete run")
        return Run(folder / "out")


def network(nodes: int, switches: Sequence[int], links: Iterable[tuple[int, int, float, float]]) -> str:
    """@return a topology file @param links two ends, Gb/s and the delay in us of each"""
    rows = [f"{a} {b} {gbps:g}Gbps {delay * 1000:g}ns 0" for a, b, gbps, delay in links]
    return f"{nodes} {len(switches)} {len(rows)}\n{' '.join(map(str, switches))}\n" + "\n".join(rows) + "\n"


def star(hosts: int, gbps: float, delay: float) -> str:
    """@return hosts around one switch, which has the number of hosts"""
    return network(hosts + 1, [hosts], [(host, hosts, gbps, delay) for host in range(hosts)])


def fat_tree(k: int, gbps: float, delay: float) -> str:
    """@return a fat tree of k-port switches with k^3/4 hosts (Al-Fares et al., SIGCOMM 2008)"""
    half = k // 2
    hosts = k * half * half
    edge, aggregation, core = hosts, hosts + k * half, hosts + 2 * k * half
    links = [(host, edge + host // half, gbps, delay) for host in range(hosts)]
    for pod in range(k):
        for i in range(half):
            links += [(edge + pod * half + j, aggregation + pod * half + i, gbps, delay) for j in range(half)]
            links += [(aggregation + pod * half + i, core + i * half + j, gbps, delay) for j in range(half)]
    return network(core + half * half, range(hosts, core + half * half), links)


def first_core_link(topology: str, k: int, gbps: float = 0, loss: float = 0) -> str:
    """@return a fat_tree() whose first link between an aggregation and a core switch has another rate, or loses frames
    that nobody notices @param gbps 0: its rate @param loss the probability"""
    core = k**3 // 4 + k * k
    lines = topology.splitlines()
    at = next(i for i, line in enumerate(lines[2:], 2) if line.split()[1] == str(core))
    a, b, rate, delay, _ = lines[at].split()
    lines[at] = f"{a} {b} {f'{gbps:g}Gbps' if gbps else rate} {delay} {loss:g}"
    return "\n".join(lines) + "\n"


def leaf_spine(leaves: int, spines: int, hosts: int, gbps: tuple[float, float], delay: float) -> str:
    """@return a tree of two tiers @param hosts of a leaf @param gbps of links to hosts, and to spines"""
    leaf, spine = leaves * hosts, leaves * hosts + leaves
    links = [(host, leaf + host // hosts, gbps[0], delay) for host in range(leaf)]
    links += [(leaf + i, spine + j, gbps[1], delay) for i in range(leaves) for j in range(spines)]
    return network(spine + spines, range(leaf, spine + spines), links)
