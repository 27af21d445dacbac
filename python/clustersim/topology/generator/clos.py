# SPDX-License-Identifier: GPL-2.0-only
"""Clos networks of two tiers (leaf, spine) and three (pods of them, and a core), with a chosen
oversubscription: what comes into a leaf from its GPUs over what it can send up. Three tiers have
the same ratio again between spine and core. With the ports of a switch, they have the fewest switches.
"""
import argparse
import dataclasses
import math
from collections.abc import Iterator

from clustersim.topology.cluster import (Cable, Cluster, InputError, count_nvswitches, nvlinks, rate_bps,
                                         require_at_least_one)
from clustersim.topology.generator.bundles import Asked, Bundles, split

NICS_PER_LEAF, LEAVES_PER_POD = 32, 8  # where nothing says otherwise


@dataclasses.dataclass(frozen=True)
class Shape:
    """Counts that follow from the options."""
    nics_per_leaf: int
    leaves: int
    leaves_per_pod: int
    pods: int
    spines: Bundles  # above a leaf
    cores: Bundles  # above a spine

    @property
    def switches(self) -> int:
        return self.leaves + self.pods * self.spines.above + self.spines.above * self.cores.above


def uplinks(capacity_bps: float, rate: str, oversubscription: float, of: str) -> int:
    exact = capacity_bps / (rate_bps(rate) * oversubscription)
    if exact < 1 or abs(exact - round(exact)) > 1e-9:
        raise InputError(f"{oversubscription:g}:1 would need {exact:g} uplinks of {rate} at each {of}; "
                         f"expected a whole number: change --oversubscription or a bandwidth")
    return round(exact)


def most_below(ports: int | None, rate: str, up_rate: str, oversubscription: float) -> int | None:
    """@return how many links of a rate a switch has at most for below, so that it has ports for all uplinks, too"""
    up_each = rate_bps(rate) / (rate_bps(up_rate) * oversubscription)
    fitting = (below for below in range(ports or 0, 0, -1)
               if below * (1 + up_each) <= (ports or 0) + 1e-9 and abs(below * up_each - round(below * up_each)) < 1e-9
               and round(below * up_each) > 0)
    return next(fitting, None)


def build(options: argparse.Namespace, tiers: int) -> tuple[Cluster, list[str]]:
    options.gpu = options.gpu or 512
    require_at_least_one(options, "gpu")
    if options.oversubscription <= 0:
        raise InputError(f"--oversubscription {options.oversubscription:g} is not possible; expected "
                         f"more than 0")
    nvswitches = count_nvswitches(options.gpu, options)
    s = pods(options) if tiers == 3 else leaves_and_spines(options)
    asked = options.switch_ports or options.links_per_psw or options.psw_switch_num
    spines = f"{s.spines.above}spines_" if asked else ""
    name = (f"Clos{tiers}_{options.gpu}g_{options.gpu_per_server}gps_{options.oversubscription:g}to1_{spines}"
            f"{options.bandwidth}_{options.gpu_type}")
    return Cluster(name, options.gpu, options.gpu_per_server, nvswitches, s.switches, options.gpu_type,
                   links(options, nvswitches, s), options.error_rate), []


def count_leaves(options: argparse.Namespace) -> tuple[int, int, int]:
    """@return the NICs of a leaf, its uplinks, and how many leaves there are"""
    if options.nics_per_leaf is None:
        options.nics_per_leaf = most_below(options.switch_ports, options.bandwidth, options.ap_bandwidth,
                                           options.oversubscription) or NICS_PER_LEAF
    require_at_least_one(options, "nics_per_leaf")
    nics = options.nics_per_leaf
    return nics, uplinks(nics * rate_bps(options.bandwidth), options.ap_bandwidth, options.oversubscription,
                         "leaf"), math.ceil(options.gpu / nics)


def asked_spines(options: argparse.Namespace) -> Asked:
    return Asked(options.psw_switch_num, options.links_per_psw, "psw_switch_num", "links_per_psw")


def leaves_and_spines(options: argparse.Namespace) -> Shape:
    nics, up, leaves = count_leaves(options)
    ports = options.switch_ports
    if ports and leaves > ports:
        raise InputError(f"a spine of {ports} ports does not join {leaves} leaves; expected at most {ports * nics} GPUs, "
                         f"Clos3, or larger --switch_ports")
    spines = split(up, asked_spines(options), (lambda links: leaves * links <= ports) if ports else None)
    return Shape(nics, leaves, leaves, 1, spines, Bundles(0, 0))


def pods(options: argparse.Namespace) -> Shape:
    nics, up, leaves = count_leaves(options)
    ports, ratio = options.switch_ports, options.oversubscription
    if options.leaves_per_pod is None:
        most = most_below(ports, options.ap_bandwidth, options.core_bandwidth, ratio)
        options.leaves_per_pod = min(most, math.ceil(leaves / 2)) if most else LEAVES_PER_POD  # two pods or more
    require_at_least_one(options, "leaves_per_pod")
    per_pod = options.leaves_per_pod
    count = math.ceil(leaves / per_pod)
    down_bps = per_pod * rate_bps(options.ap_bandwidth)

    def spine_has_ports(links: int) -> bool:
        above = links * down_bps / (rate_bps(options.core_bandwidth) * ratio)
        return per_pod * links + above <= ports and abs(above - round(above)) < 1e-9
    spines = split(up, asked_spines(options), spine_has_ports if ports else None)
    if options.core_switch_num % spines.above:
        raise InputError(f"{options.core_switch_num} core switches cannot be shared out to the {spines.above} spines of "
                         f"a pod; expected a multiple")
    cores = split(uplinks(spines.links * down_bps, options.core_bandwidth, ratio, "spine"),
                  Asked(options.core_switch_num // spines.above or None, options.links_per_core, "core_switch_num",
                        "links_per_core"), (lambda links: count * links <= ports) if ports else None)
    return Shape(nics, leaves, per_pod, count, spines, cores)


def links(options: argparse.Namespace, nvswitches: int, s: Shape) -> Iterator[Cable]:
    first_leaf = options.gpu + nvswitches
    first_spine = first_leaf + s.leaves
    first_core = first_spine + s.pods * s.spines.above
    for gpu in range(options.gpu):
        yield from nvlinks(gpu, options, options.gpu)
        yield gpu, first_leaf + gpu // s.nics_per_leaf, options.bandwidth, options.latency
    for leaf in range(s.leaves):
        first = first_spine + leaf // s.leaves_per_pod * s.spines.above
        for spine in range(first, first + s.spines.above):
            yield from [(first_leaf + leaf, spine, options.ap_bandwidth, options.latency)] * s.spines.links
    if s.cores.above:
        for spine in range(s.pods * s.spines.above):
            first = first_core + spine % s.spines.above * s.cores.above
            for core in range(first, first + s.cores.above):
                yield from [(first_spine + spine, core, options.core_bandwidth, options.latency)] * s.cores.links
