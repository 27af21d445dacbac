# SPDX-License-Identifier: GPL-2.0-only
"""Says what a topology is: layers with their node ids, links, oversubscription, path lengths, bisection, parts."""
import collections
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clustersim.topology.reader import Topology


def rate(bps: float) -> str:
    """@return bit/s with a unit"""
    return f"{bps / 1e9:g} Gb/s"


def describe(topology: "Topology") -> Iterator[str]:
    """@return the description as lines of text"""
    from clustersim.topology.layers.graph import Graph  # loads networkx
    graph = Graph(topology)
    yield f"{topology.path}"
    servers = len(topology.gpus) // topology.gpus_per_server
    yield (f"GPUs            {len(topology.gpus)} {topology.gpu_type} in {servers} servers of "
           f"{topology.gpus_per_server}: {nodes(topology.gpus)}").replace("  in", " in")
    if topology.nvswitches:
        yield f"NVSwitches      {len(topology.nvswitches)}: {nodes(topology.nvswitches)}"
    for tier in sorted(graph.tiers):
        members = graph.tiers[tier]
        ports = [graph.degree[node] for node in members]
        yield f"switch tier {tier}   {len(members)} switches, {span(ports)} ports used: {nodes(members)}"
    outside = set(topology.switches)
    own = ((gpu, other, link.rate_bps) for link in topology.links
           for gpu, other in ((link.a, link.b), (link.b, link.a)) if gpu in graph.gpus and other in outside)
    yield f"each GPU        {network_of_gpus(topology.gpus, own, topology.shared_nics)}"
    if graph.planes > 1:
        yield f"planes          {graph.planes} (they meet only in the GPUs)"

    yield "links"
    bundles = graph.bundles()
    for (low, high, bps), count in sorted(graph.link_kinds().items()):
        sizes = bundles.get((low, high), {1})
        yield f"  {low} - {high}: {count} x {rate(bps)}" + (
            f", {span(sorted(sizes))} between two switches" if sizes != {1} else "")

    yield "oversubscription (capacity down / capacity up; 1 is none)"
    ratios = list(graph.oversubscription())
    for tier, ratio in ratios:
        yield f"  tier {tier}: {ratio:.3g}:1"
    if not ratios:
        yield "  no tier has another above it"

    yield "path lengths (links on a shortest path, pairs of GPUs)"
    lengths = graph.path_lengths()
    pairs = sum(lengths.values())
    for length in sorted(lengths):
        yield f"  {length}: {lengths[length]} pairs ({100 * lengths[length] / pairs:.1f} %)"

    if servers > 1:
        cut = graph.bisection_bps()
        half = graph.nic_bps(servers // 2)
        yield (f"bisection       {rate(cut)} from the first half of the servers to the second, "
               f"{100 * cut / half:.3g} % of what their NICs can send" if half else
               f"bisection       {rate(cut)}")
    cables, shared = len(graph.cables()), len(topology.shared_nics)
    nics = f"{shared} NICs that GPUs share, " if shared else ""
    yield (f"parts           {len(topology.switches) - shared} switches, {nics}{cables} cables, {2 * cables} optics "
           f"(two for each cable that is not an NVLink)")


def network_of_gpus(gpus: Iterable[int], links: Iterable[tuple[int, int, float]], shared: Collection[int]) -> str:
    """@param links as (GPU, NIC or switch, bit/s) @param shared NICs that GPUs share
    @return the rate at which a GPU reaches the network, and over how many links; each once where GPUs differ"""
    rates: dict[int, list[float]] = {gpu: [] for gpu in gpus}
    nic_of, users = {}, collections.Counter[int]()
    for gpu, other, bps in links:
        rates[gpu].append(bps)
        if other in shared:
            nic_of[gpu] = other
            users[other] += 1
    kinds = {(tuple(own), users[nic_of[gpu]] if gpu in nic_of else 1) for gpu, own in rates.items()}
    return "; ".join((f"{len(own)} x {rate(own[0])} = " if len(own) > 1 else "") + rate(sum(own))
                     + (f", shared by {sharing} GPUs" if sharing > 1 else "") for own, sharing in sorted(kinds))


def nodes(ids: Sequence[int]) -> str:
    """@return node ids as ranges, such as "nodes 0-63, 72" """
    runs: list[list[int]] = []
    for node in sorted(ids):
        if runs and node == runs[-1][1] + 1:
            runs[-1][1] = node
        else:
            runs.append([node, node])
    return f"node{'s' if len(ids) > 1 else ''} " + ", ".join(f"{first}" if first == last else f"{first}-{last}"
                                                             for first, last in runs)


def span(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"
