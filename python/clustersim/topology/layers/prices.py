# SPDX-License-Identifier: GPL-2.0-only
"""Price and power of a topology's parts, from a list of prices that the user gives.

    currency: EUR
    gpu: {price: 30000, watts: 700}
    nvswitch: {price: 5000, watts: 300}              # left out: part of the GPU's price
    nic: {400Gbps: {price: 1500, watts: 25}}         # one for each GPU, by the rate of all its links, or one that
                                                     # GPUs share, by the rate of its link to the network
    switch:                                          # the cheapest that has the ports and their rate is taken
      - {ports: 64, rate: 400Gbps, price: 40000, watts: 1500}
    transceiver: {400Gbps: {price: 900, watts: 8}}   # two for each link that is not an NVLink
    cable: {price: 50}                               # one for each such link
"""
import collections
import dataclasses
import os
from collections.abc import Iterator, Mapping
from typing import Any, TYPE_CHECKING

from clustersim import required_modules
from clustersim.topology.cluster import InputError, parse_rate

if TYPE_CHECKING:
    from clustersim.topology.reader import Topology

KEYS = ("currency", "gpu", "nvswitch", "nic", "switch", "transceiver", "cable")


@dataclasses.dataclass(frozen=True)
class Part:
    """Parts of one kind in a topology; price and watts are of one of them."""
    name: str
    count: int
    price: float
    watts: float
    network: bool  # whether it is there to join servers


def _bps(text: object, where: str) -> float:
    bps = parse_rate(text)
    if bps is None:
        raise InputError(f"{where}: '{text}' is not a valid rate; expected one such as 400Gbps")
    return bps


def _number(entry: Mapping[str, Any], key: str, where: str, default: float | None = None) -> float:
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise InputError(f"{where}: {key} is {value!r}; expected a number, 0 or more")
    return float(value)


class Prices:
    """A list of prices; asks for what it lacks only when a topology needs it."""

    def __init__(self, path: str | os.PathLike) -> None:
        required_modules.require("yaml")  # the generator needs it for this alone
        from clustersim import yaml_file

        self.path = path
        self.entries, self.lines = yaml_file.load(path, "a list of prices (YAML)", InputError)
        if not isinstance(self.entries, dict):
            raise InputError(f"{path}:1: has no keys; expected {', '.join(KEYS)}")
        for key in self.entries:
            if key not in KEYS:
                raise InputError(f"{path}:{self.lines.get(key, 1)}: unknown key '{key}'; expected one of "
                                 f"{', '.join(KEYS)}")
        self.currency = str(self.entries.get("currency", ""))

    def place(self, key: str) -> str:
        """@return where a key is, for errors"""
        return f"{self.path}:{self.lines.get(key, 1)}: {key}"

    def part(self, name: str, key: str, count: int, network: bool, rate_bps: float | None = None) -> Part:
        """@return parts of which there is one price, or one for each rate"""
        entry, where = self.entries.get(key), self.place(key)
        if rate_bps is not None:
            found = [value for text, value in (entry or {}).items() if _bps(text, where) == rate_bps]
            where += f" of {rate_bps / 1e9:g}Gbps"
            entry = found[0] if found else None
        if not isinstance(entry, dict):
            raise InputError(f"{where} has no price; expected {{price: N, watts: N}} for {count} of them")
        return Part(name, count, _number(entry, "price", where), _number(entry, "watts", where, 0.0), network)

    def switch(self, name: str, count: int, ports: int, rate_bps: float) -> Part:
        """@return switches with at least so many ports of at least that rate, the cheapest"""
        where = self.place("switch")
        listed = self.entries.get("switch")
        fitting = [entry for entry in (listed if isinstance(listed, list) else []) if isinstance(entry, dict)
                   and _number(entry, "ports", where) >= ports and _bps(entry.get("rate"), where) >= rate_bps]
        if not fitting:
            raise InputError(f"{where}: none has {ports} ports of {rate_bps / 1e9:g}Gbps; expected an entry with "
                             f"ports, rate, price and watts for {count} of them")
        entry = min(fitting, key=lambda each: _number(each, "price", where))
        return Part(f"{name} ({entry['ports']} x {entry['rate']})", count, _number(entry, "price", where),
                    _number(entry, "watts", where, 0.0), True)


def parts_of(topology: "Topology", prices: Prices) -> list[Part]:
    """@return the Parts of a topology"""
    from clustersim.topology.layers.graph import Graph  # loads networkx
    graph = Graph(topology)
    parts = [prices.part("GPU", "gpu", len(topology.gpus), False)]
    if topology.nvswitches and "nvswitch" in prices.entries:
        parts.append(prices.part("NVSwitch", "nvswitch", len(topology.nvswitches), False))
    shared = topology.shared_nics
    nics = collections.Counter(sum(tors.values()) for tors in graph.tors.values() if tors and not shared & tors.keys())
    nics.update(sum(graph.neighbours[nic].values()) for nic in shared)
    parts += [prices.part(f"NIC {bps / 1e9:g} Gb/s", "nic", count, True, bps) for bps, count in sorted(nics.items())]
    cables = graph.cables()
    fastest: dict[int, float] = collections.defaultdict(float)
    for link in cables:
        for node in (link.a, link.b):
            fastest[node] = max(fastest[node], link.rate_bps)
    kinds = collections.Counter((graph.tier[node], graph.degree[node], fastest[node]) for node in topology.switches
                                if node not in shared)
    parts += [prices.switch(f"switch, tier {tier}", count, ports, bps)
              for (tier, ports, bps), count in sorted(kinds.items())]
    optics = collections.Counter(link.rate_bps for link in cables)
    parts += [prices.part(f"transceiver {bps / 1e9:g} Gb/s", "transceiver", 2 * count, True, bps)
              for bps, count in sorted(optics.items())]
    if cables and "cable" in prices.entries:
        parts.append(prices.part("cable", "cable", len(cables), True))
    return parts


def per_gpu(topology: "Topology", prices: Prices) -> tuple[float, float]:
    """@return price and watts of all parts, for each GPU"""
    parts, gpus = parts_of(topology, prices), len(topology.gpus)
    return sum(part.count * part.price for part in parts) / gpus, sum(part.count * part.watts for part in parts) / gpus


def cost_lines(topology: "Topology", prices: Prices) -> Iterator[str]:
    """@return a table of the parts with their sums, as lines of text"""
    parts, gpus = parts_of(topology, prices), len(topology.gpus)
    money = prices.currency or "price"
    yield f"{'cost and power':<34} {'count':>7} {money:>14} {'watts':>12}"
    for part in parts:
        yield f"  {part.name:<32} {part.count:>7} {part.count * part.price:>14,.0f} {part.count * part.watts:>12,.0f}"
    network = [part for part in parts if part.network]
    for name, some in (("network", network), ("all", parts)):
        price, watts = (sum(part.count * getattr(part, key) for part in some) for key in ("price", "watts"))
        yield f"  {name:<40} {price:>14,.0f} {watts:>12,.0f}"
        yield f"  {name + ', per GPU':<40} {price / gpus:>14,.0f} {watts / gpus:>12,.1f}"
