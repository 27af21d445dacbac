# SPDX-License-Identifier: GPL-2.0-only
"""Dragonfly: groups of a routers that all see each other, each with p GPUs and h global links; one
global link between every two groups, so at most a*h + 1 groups.
"""
import argparse
from collections.abc import Iterator


from clustersim.topology.cluster import (Cable, Cluster, InputError, count_nvswitches, nvlinks,
                                 require_at_least_one)


def build(options: argparse.Namespace) -> tuple[Cluster, list[str]]:
    require_at_least_one(options, "routers_per_group", "gpus_per_router", "global_links")
    a, p, h = options.routers_per_group, options.gpus_per_router, options.global_links
    groups = a * h + 1 if options.groups is None else options.groups
    if not 2 <= groups <= a * h + 1:
        raise InputError(f"--groups {groups} is not possible; expected 2 to {a * h + 1}: each of the "
                         f"{a} routers of a group has {h} global links")
    gpus = groups * a * p
    if options.gpu not in (None, gpus):
        raise InputError(f"{groups} groups of {a} routers with {p} GPUs have {gpus} GPUs, not "
                         f"{options.gpu}; expected --gpu {gpus} or other counts")
    nvswitches = count_nvswitches(gpus, options)
    name = (f"Dragonfly_a{a}_p{p}_h{h}_{gpus}g_{options.gpu_per_server}gps_{options.bandwidth}_"
            f"{options.gpu_type}")
    return Cluster(name, gpus, options.gpu_per_server, nvswitches, groups * a, options.gpu_type,
                   links(options, gpus, nvswitches, groups), options.error_rate), []


def links(options: argparse.Namespace, gpus: int, nvswitches: int, groups: int) -> Iterator[Cable]:
    a, h = options.routers_per_group, options.global_links
    first = gpus + nvswitches
    for gpu in range(gpus):
        yield from nvlinks(gpu, options, gpus)
        yield gpu, first + gpu // options.gpus_per_router, options.bandwidth, options.latency
    for group in range(groups):
        for i in range(a):
            for j in range(i + 1, a):
                yield (first + group * a + i, first + group * a + j, options.ap_bandwidth,
                       options.latency)
    # Router (d-1)/h of a group leads to the group d further on.
    for group in range(groups):
        for other in range(group + 1, groups):
            forth, back = other - group, groups - (other - group)
            yield (first + group * a + (forth - 1) // h, first + other * a + (back - 1) // h,
                   options.core_bandwidth, options.latency)
