# SPDX-License-Identifier: GPL-2.0-only
"""Bundles: how many links join a switch to each switch above it, and so how many switches are above it.

A switch with 32 uplinks has 32 switches above it with a link each, or 4 with 8 each. The fewest switches are those with
the largest bundles that the ports of a switch allow.
"""
import collections
import dataclasses
from collections.abc import Callable, Iterable

from clustersim.topology.cluster import Cluster, InputError, tier_of

ROLES = {1: "access switch", 2: "aggregation switch", 3: "core switch"}


@dataclasses.dataclass(frozen=True)
class Bundles:
    """The uplinks of a switch."""
    above: int  # switches to which it is linked
    links: int  # between it and each of them


@dataclasses.dataclass(frozen=True)
class Asked:
    """Numbers that flags ask for, None where they do not, with the names of the flags."""
    above: int | None
    links: int | None
    name_of_above: str
    name_of_links: str


def split(uplinks: int, asked: Asked, has_ports: Callable[[int], bool] | None) -> Bundles:
    """Splits the uplinks of a switch into bundles of the same size: as asked for, or the largest, or single links.

    @param has_ports whether switches have ports for bundles of so many links; None: switches have as many as they need
    """
    for number, name in ((asked.above, asked.name_of_above), (asked.links, asked.name_of_links)):
        if number is not None and (number < 1 or uplinks % number):
            raise InputError(f"--{name} {number} does not share out the {uplinks} uplinks of a switch; expected a "
                             f"divisor of {uplinks}, or other rates")
    if asked.above and asked.links and asked.above * asked.links != uplinks:
        raise InputError(f"--{asked.name_of_above} {asked.above} with --{asked.name_of_links} {asked.links} makes "
                         f"{asked.above * asked.links} uplinks of a switch; expected {uplinks}, or one of the two flags")
    if asked.above:
        return Bundles(asked.above, uplinks // asked.above)
    links = asked.links or 1
    if has_ports and not asked.links:
        links = largest((size for size in range(1, uplinks + 1) if uplinks % size == 0), has_ports)
    return Bundles(uplinks // links, links)


def largest(sizes: Iterable[int], has_ports: Callable[[int], bool]) -> int:
    """@return the largest bundle that the switches have ports for: the one with the fewest switches above"""
    return max(filter(has_ports, sizes), default=1)


def check_ports(cluster: Cluster, ports: int) -> None:
    """Refuses a cluster with a switch that needs more ports than switches have."""
    end = cluster.gpus + cluster.nvswitches + cluster.switches
    switches = range(end - cluster.switches, end - cluster.shared_nics)
    used = collections.Counter(node for a, b, *_ in cluster.links for node in (a, b) if node in switches)
    fullest = max(used, key=lambda node: (used[node], -node), default=None)
    if fullest is not None and used[fullest] > ports:
        role = ROLES.get(tier_of(cluster)[fullest], "switch")
        raise InputError(f"{role} {fullest} needs {used[fullest]} ports, and --switch_ports is {ports}; expected larger "
                         f"switches, fewer links between two of them, or fewer NICs or switches below it")
