# SPDX-License-Identifier: GPL-2.0-only
"""The k-ary fat tree: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 core switches."""
import argparse
from collections.abc import Iterator


from clustersim.topology.cluster import Cable, Cluster, InputError, count_nvswitches, nvlinks


def build(options: argparse.Namespace) -> tuple[Cluster, list[str]]:
    k = options.radix
    if k < 2 or k % 2:
        raise InputError(f"--radix {k} makes no fat tree; expected an even number, 2 or more")
    half = k // 2
    gpus = k * half * half
    if options.gpu not in (None, gpus):
        raise InputError(f"a fat tree of radix {k} has {gpus} GPUs, not {options.gpu}; expected "
                         f"--gpu {gpus} or another --radix")
    nvswitches = count_nvswitches(gpus, options)
    name = f"FatTree_k{k}_{gpus}g_{options.gpu_per_server}gps_{options.bandwidth}_{options.gpu_type}"
    return Cluster(name, gpus, options.gpu_per_server, nvswitches, k * half * 2 + half * half,
                   options.gpu_type, links(options, k, gpus, nvswitches), options.error_rate), []


def links(options: argparse.Namespace, k: int, gpus: int, nvswitches: int) -> Iterator[Cable]:
    half = k // 2
    edge = gpus + nvswitches
    aggregation = edge + k * half
    core = aggregation + k * half
    for gpu in range(gpus):
        yield from nvlinks(gpu, options, gpus)
        yield gpu, edge + gpu // half, options.bandwidth, options.latency
    for switch in range(k * half):
        for up in range(half):
            yield (edge + switch, aggregation + switch // half * half + up, options.bandwidth,
                   options.latency)
    for switch in range(k * half):
        for up in range(half):
            yield (aggregation + switch, core + switch % half * half + up, options.bandwidth,
                   options.latency)
