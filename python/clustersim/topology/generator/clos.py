# SPDX-License-Identifier: GPL-2.0-only
"""Clos networks of two tiers (leaf, spine) and three (pods of them, and a core), with a chosen
oversubscription: what comes into a leaf from its GPUs over what it can send up. Three tiers have
the same ratio again between spine and core.
"""
import argparse
import math
from collections.abc import Iterator

from clustersim.topology.cluster import (Cable, Cluster, InputError, count_nvswitches, nvlinks, rate_bps,
                                         require_at_least_one)


def uplinks(capacity_bps: float, rate: str, oversubscription: float, of: str) -> int:
    exact = capacity_bps / (rate_bps(rate) * oversubscription)
    if exact < 1 or abs(exact - round(exact)) > 1e-9:
        raise InputError(f"{oversubscription:g}:1 would need {exact:g} uplinks of {rate} at each {of}; "
                         f"expected a whole number: change --oversubscription or a bandwidth")
    return round(exact)


def build(options: argparse.Namespace, tiers: int) -> tuple[Cluster, list[str]]:
    options.gpu = options.gpu or 512
    require_at_least_one(options, "gpu", "nics_per_leaf", "leaves_per_pod")
    if options.oversubscription <= 0:
        raise InputError(f"--oversubscription {options.oversubscription:g} is not possible; expected "
                         f"more than 0")
    nvswitches = count_nvswitches(options.gpu, options)
    leaves = math.ceil(options.gpu / options.nics_per_leaf)
    spines = uplinks(options.nics_per_leaf * rate_bps(options.bandwidth), options.ap_bandwidth,
                     options.oversubscription, "leaf")
    pods, leaves_per_pod, cores = 1, leaves, 0
    if tiers == 3:
        leaves_per_pod = options.leaves_per_pod
        pods = math.ceil(leaves / leaves_per_pod)
        cores = uplinks(leaves_per_pod * rate_bps(options.ap_bandwidth), options.core_bandwidth,
                        options.oversubscription, "spine")
    name = (f"Clos{tiers}_{options.gpu}g_{options.gpu_per_server}gps_{options.oversubscription:g}to1_"
            f"{options.bandwidth}_{options.gpu_type}")
    return Cluster(name, options.gpu, options.gpu_per_server, nvswitches,
                   leaves + pods * spines + spines * cores, options.gpu_type,
                   links(options, nvswitches, leaves, leaves_per_pod, pods, spines, cores),
                   options.error_rate), []


def links(options: argparse.Namespace, nvswitches: int, leaves: int, leaves_per_pod: int, pods: int, spines: int,
          cores: int) -> Iterator[Cable]:
    first_leaf = options.gpu + nvswitches
    first_spine = first_leaf + leaves
    first_core = first_spine + pods * spines
    for gpu in range(options.gpu):
        yield from nvlinks(gpu, options, options.gpu)
        yield gpu, first_leaf + gpu // options.nics_per_leaf, options.bandwidth, options.latency
    for leaf in range(leaves):
        first = first_spine + leaf // leaves_per_pod * spines
        for spine in range(first, first + spines):
            yield first_leaf + leaf, spine, options.ap_bandwidth, options.latency
    for spine in range(pods * spines):
        first = first_core + spine % spines * cores
        for core in range(first, first + cores if cores else first):
            yield first_spine + spine, core, options.core_bandwidth, options.latency
