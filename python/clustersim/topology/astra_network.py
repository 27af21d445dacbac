# SPDX-License-Identifier: GPL-2.0-only
"""ASTRA-sim's own network files (of its analytical back ends, YAML) as topologies.

    topology: [ Ring, Switch ]     # of each dimension; also FullyConnected
    npus_count: [ 4, 2 ]
    bandwidth: [ 50.0, 25.0 ]      # GB/s of a link, where ASTRA-sim's GB is 2^30 bytes
    latency: [ 500.0, 700.0 ]      # ns of a link

Its NPUs forward messages of others, which GPUs do not: so each NPU is a GPU with a router of its own, but where a single
switch joins all.
"""
import itertools
import math

from clustersim import input_file, required_modules
from clustersim.topology.cluster import Cluster, InputError

ASTRA_GB = 2**30
KINDS = ("Ring", "FullyConnected", "Switch")
# Between a GPU and its router: so much faster than the other links that it hardly counts.
ROUTER_FACTOR = 100
ROUTER_DELAY = "1ps"


def read(path):
    """@return kind, number of NPUs, bandwidth in ASTRA-sim's GB/s and latency in ns, of each dimension"""
    required_modules.require("yaml")  # only this needs it
    import yaml

    try:
        data = yaml.safe_load(input_file.read_text(path, most=input_file.LARGEST_YAML))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected a network file of ASTRA-sim's") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: cannot be read ({' '.join(str(error).split())}); expected a network file of "
                         f"ASTRA-sim's") from None
    except RecursionError:
        raise InputError(f"{path}:1: is nested too deeply; expected a network file of ASTRA-sim's") from None
    keys = ("topology", "npus_count", "bandwidth", "latency")
    columns = [data.get(key) if isinstance(data, dict) else None for key in keys]
    for key, column in zip(keys, columns):
        if not isinstance(column, list) or len(column) != len(columns[0]) or not column:
            raise InputError(f"{path}: {key} is not a list with an entry for each dimension; expected "
                             f"{', '.join(keys)} of the same length")
    for kind, npus, bandwidth, latency in zip(*columns):
        if kind not in KINDS:
            raise InputError(f"{path}: \"{kind}\" is not a valid topology; expected {', '.join(KINDS)}")
        numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
                      for value in (npus, bandwidth, latency))
        if not numbers or npus != int(npus) or npus < 2 or bandwidth <= 0 or latency < 0:
            raise InputError(f"{path}: {npus} NPUs, {bandwidth} GB/s, {latency} ns; expected 2 or more, above 0, and 0 "
                             f"or more")
    return [(kind, int(npus), bandwidth, latency) for kind, npus, bandwidth, latency in zip(*columns)]


def build(path, bytes_per_gb, gpu_type):
    dimensions = read(path)
    npus = math.prod(count for _, count, _, _ in dimensions)

    def rate(gigabytes):
        return f"{round(gigabytes * bytes_per_gb * 8)}bps"

    if len(dimensions) == 1 and dimensions[0][0] == "Switch":
        _, _, bandwidth, latency = dimensions[0]
        links, switches = [(npu, npus, rate(bandwidth), f"{latency:g}ns") for npu in range(npus)], 1
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
                    pairs = itertools.combinations(routers, 2)
                links += [(a, b, rate(bandwidth), f"{latency:g}ns") for a, b in pairs]
            stride *= count
    name = "ASTRA_" + "_".join(f"{kind}{count}" for kind, count, _, _ in dimensions)
    return Cluster(name, npus, 1, 0, switches, gpu_type, links)
