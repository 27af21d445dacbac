# SPDX-License-Identifier: GPL-2.0-only
"""Names and kinds of the nodes of a run, from its topology if there is one."""
import hashlib
import pathlib
from collections.abc import Mapping
from typing import Any, TYPE_CHECKING

from clustersim.results.reading import run_json
from clustersim.topology.cluster import InputError
from clustersim.topology.reader import Topology, read

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.reading.problem import Problems
    from clustersim.results.run import Run

ROOT = pathlib.Path(__file__).resolve().parents[3]
LINK_KINDS = ("NVLink", "GPU to switch", "switch to GPU", "switch up", "switch down",
              "switch to switch", "GPU to GPU", "all links")


def find_topology(path: str | pathlib.Path, info: Mapping[str, Any], directory: pathlib.Path, sha256: str | None,
                  problems: "Problems") -> Topology | None:
    """Reads the topology that a run names.

    @param path as in run.json; looked for as given, from where the run was started, in the repository, in and beside
        the run directory
    @param info run.json @param sha256 of the file that the run used, or None
    @return clustersim.topology's Topology, or None
    """
    path = pathlib.Path(path)
    places = (*run_json.places_of(path, info), ROOT / path, directory / path.name, directory.parent / path.name)
    found = [place for place in places if place.is_file()]
    same = [place for place in found if not sha256 or hashlib.sha256(place.read_bytes()).hexdigest() == sha256]
    if same:
        return read_topology(same[0], problems)
    if not found:
        problems.add(path, 0, "the topology of the run is not there; names and kinds of nodes are left "
                              "out", "the file, or --topology FILE")
        return None
    problems.add(found[0], 0, "the topology has changed since the run; names and kinds of nodes are "
                              "left out", f"a file with SHA-256 {sha256}")
    return None


def read_topology(path: str | pathlib.Path, problems: "Problems") -> Topology | None:
    """@return the topology, or None if the file is none"""
    try:
        return read(path)
    except InputError as error:
        problems.add(path, 0, f"the topology cannot be used ({error})", "a topology file")
        return None


class Nodes:
    """The nodes and links; without a topology only their numbers."""

    def __init__(self, topology: Topology | None) -> None:
        self.topology = topology
        self.graph = None
        if topology:
            from clustersim.topology.layers.graph import Graph  # loads networkx
            self.graph = Graph(topology)
        self._host = {node: i for i, node in enumerate(topology.gpus)} if topology else {}

    def kind(self, node: int) -> str:
        """@return "GPU", "NVSwitch", "tier 1", ... or "node" """
        return self.graph.name(node) if self.graph and self.topology and 0 <= node < self.topology.nodes else "node"

    def name(self, node: int) -> str:
        """@return such as "GPU 3", "NVSwitch 16", "switch 20 (tier 1)", or "node 3" """
        kind = self.kind(node)
        if kind == "GPU":
            return f"GPU {self._host[node]}"
        return f"switch {node} ({kind})" if kind.startswith("tier") else f"{kind} {node}"

    def link_kind(self, node: int, peer: int) -> str:
        """@return one of LINK_KINDS, for the direction from node to peer"""
        kinds = self.kind(node), self.kind(peer)
        if "node" in kinds:
            return "all links"
        if "NVSwitch" in kinds:
            return "NVLink"
        if "GPU" in kinds:
            if kinds[0] == kinds[1]:
                return "GPU to GPU"
            return "GPU to switch" if kinds[0] == "GPU" else "switch to GPU"
        assert self.graph is not None  # without a topology all kinds are nodes
        tiers = self.graph.tier[node], self.graph.tier[peer]
        if tiers[0] == tiers[1]:
            return "switch to switch"
        return "switch up" if tiers[0] < tiers[1] else "switch down"


def links_with_kinds(run: "Run") -> "pd.DataFrame | None":
    """@return run.links with the column kind (see LINK_KINDS), or None"""
    links = run.links
    if links is None or not run.simulated_ns:
        return None
    kinds = [run.nodes.link_kind(node, peer) for node, peer in zip(links["node"], links["peer"])]
    return links.assign(kind=kinds)
