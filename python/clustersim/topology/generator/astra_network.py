# SPDX-License-Identifier: GPL-2.0-only
"""ASTRA-sim's own network files (of its analytical back ends, YAML) as topologies.

    topology: [ Ring, Switch ]     # of each dimension; also FullyConnected
    npus_count: [ 4, 2 ]
    bandwidth: [ 50.0, 25.0 ]      # GB/s of a link, where ASTRA-sim's GB is 2^30 bytes
    latency: [ 500.0, 700.0 ]      # ns of a link

Its NPUs forward messages of others, which GPUs do not: so each NPU is a GPU with a router of its own, but where a
single switch joins all.
"""
import itertools
import math
import os
from typing import TYPE_CHECKING

from clustersim import required_modules
from clustersim.topology.cluster import Cluster, InputError

if TYPE_CHECKING:
    import yaml

ASTRA_GB = 2**30
NUMBERS = {"npus_count": (lambda npus: npus >= 2 and npus % 1 == 0, "whole numbers of 2 or more"),
           "bandwidth": (lambda rate: 0 < rate < math.inf, "GB/s above 0"),
           "latency": (lambda delay: 0 <= delay < math.inf, "nanoseconds, 0 or more")}
KEYS = ("topology", *NUMBERS)
KINDS = ("Ring", "FullyConnected", "Switch")
# Between a GPU and its router: so much faster than the other links that it hardly counts.
ROUTER_FACTOR = 100
ROUTER_DELAY = "1ps"


def _lists(path: str | os.PathLike) -> "list[list[yaml.Node]]":
    """@return the nodes of each key's entries"""
    from clustersim import yaml_file

    root = yaml_file.compose(path, "a network file of ASTRA-sim's", InputError)
    found, lines = yaml_file.keys(path, root, InputError), yaml_file.lines(root)
    for key in found:
        if key not in KEYS:
            raise InputError(f"{path}:{lines[key]}: unknown key '{key}'; expected {', '.join(KEYS)}")
    entries = [found[key].value if key in found and found[key].id == "sequence" else [] for key in KEYS]
    for key, listed in zip(KEYS, entries):
        if len(listed) != len(entries[0]) or not listed:
            raise InputError(f"{path}:{lines.get(key, 1)}: {key} is not a list with an entry for each dimension; "
                             f"expected "
                             f"{', '.join(KEYS)} of the same length")
    return entries


def _word(node: "yaml.Node") -> str:
    return node.value if node.id == "scalar" else f"a {node.id}"


def _number(path: str | os.PathLike, key: str, node: "yaml.Node") -> float:
    """@return the number that an entry is"""
    from clustersim import yaml_file

    is_valid, expected = NUMBERS[key]
    number = float(node.value) if node.id == "scalar" and yaml_file.NUMBER.fullmatch(node.value) else math.nan
    if not is_valid(number):
        raise InputError(f"{path}:{yaml_file.line(node)}: {key} has the entry {_word(node)}; expected {expected}")
    return number


def read(path: str | os.PathLike) -> list[tuple[str, int, float, float]]:
    """@return kind, number of NPUs, bandwidth in ASTRA-sim's GB/s and latency in ns, of each dimension"""
    required_modules.require("yaml")  # only this needs it
    from clustersim import yaml_file

    dimensions = []
    for kind, *entries in zip(*_lists(path)):
        if _word(kind) not in KINDS:
            raise InputError(f"{path}:{yaml_file.line(kind)}: \"{_word(kind)}\" is not a valid topology; expected "
                             f"{', '.join(KINDS)}")
        npus, bandwidth, latency = (_number(path, key, entry) for key, entry in zip(NUMBERS, entries))
        dimensions.append((kind.value, int(npus), bandwidth, latency))
    return dimensions


def _nanoseconds(latency: float) -> str:
    return f"{int(latency)}ns" if latency == int(latency) else f"{latency!r}ns"


def build(path: str | os.PathLike, bytes_per_gb: int, gpu_type: str) -> Cluster:
    dimensions = read(path)
    npus = math.prod(count for _, count, _, _ in dimensions)

    def rate(gigabytes: float) -> str:
        return f"{round(gigabytes * bytes_per_gb * 8)}bps"

    if len(dimensions) == 1 and dimensions[0][0] == "Switch":
        _, _, bandwidth, latency = dimensions[0]
        links, switches = [(npu, npus, rate(bandwidth), _nanoseconds(latency)) for npu in range(npus)], 1
    else:
        fastest = max(bandwidth for _, _, bandwidth, _ in dimensions)
        links = [(npu, npus + npu, rate(ROUTER_FACTOR * fastest), ROUTER_DELAY) for npu in range(npus)]
        switches, stride = npus, 1
        for kind, count, bandwidth, latency in dimensions:
            for first in (npu for npu in range(npus) if npu // stride % count == 0):
                routers = [npus + first + i * stride for i in range(count)]
                if kind == "Switch":
                    pairs = [(router, npus + switches) for router in routers]
                    switches += 1
                elif kind == "Ring" and count > 2:
                    pairs = list(zip(routers, routers[1:] + routers[:1]))
                else:
                    pairs = list(itertools.combinations(routers, 2))
                links += [(a, b, rate(bandwidth), _nanoseconds(latency)) for a, b in pairs]
            stride *= count
    name = "ASTRA_" + "_".join(f"{kind}{count}" for kind, count, _, _ in dimensions)
    return Cluster(name, npus, 1, 0, switches, gpu_type, links)
