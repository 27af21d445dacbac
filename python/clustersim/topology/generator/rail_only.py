# SPDX-License-Identifier: GPL-2.0-only
"""A rail-only network: a switch for each rail and nothing between them; rails meet in NVLink alone.

Wang et al., Rail-only: A Low-Cost High-Performance Network for Training LLMs, Hot Interconnects 2024.
"""
import argparse
from collections.abc import Iterator


from clustersim.topology.cluster import Cable, Cluster, InputError, count_nvswitches, nvlinks


def build(options: argparse.Namespace) -> tuple[Cluster, list[str]]:
    gpus = options.gpu or 64
    nvswitches = count_nvswitches(gpus, options)
    if nvswitches == 0 and options.gpu_per_server > 1 and not options.mesh:
        raise InputError("a rail-only network without NVSwitches has no way between rails; expected "
                         "--nv_switch_per_server of 1 or more, or --mesh")
    name = f"RailOnly_{gpus}g_{options.gpu_per_server}gps_{options.bandwidth}_{options.gpu_type}"
    return Cluster(name, gpus, options.gpu_per_server, nvswitches, options.gpu_per_server, options.gpu_type,
                   links(options, gpus, nvswitches), options.error_rate), []


def links(options: argparse.Namespace, gpus: int, nvswitches: int) -> Iterator[Cable]:
    first = gpus + nvswitches
    for gpu in range(gpus):
        yield from nvlinks(gpu, options, gpus)
        yield gpu, first + gpu % options.gpu_per_server, options.bandwidth, options.latency
