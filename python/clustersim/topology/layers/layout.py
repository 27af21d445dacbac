# SPDX-License-Identifier: GPL-2.0-only
"""Where the nodes of a drawn topology stand: in layers, on a grid (a torus) or in a circle."""
import collections
import dataclasses
import itertools
import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clustersim.topology.layers.describe import nodes

if TYPE_CHECKING:
    from clustersim.topology.layers.graph import Graph

Point = tuple[float, float]

ONE_ROW = 64  # GPUs that stand side by side; of more, each server is a block of rows
ROWS = 8
MOST_DIMENSIONS = 3
LONGEST_IDS = 24  # characters under the name of a layer


@dataclasses.dataclass(frozen=True)
class Layout:
    place: dict[int, Point]  # of each node
    labels: dict[float, str] = dataclasses.field(default_factory=dict)  # y -> name of the layer there, node ids
    square: bool = False  # one unit is as long in both directions
    curved: frozenset[tuple[int, int]] = frozenset()  # links (low, high) that would run through other nodes


def layout_of(graph: "Graph") -> Layout:
    layout = (_grid(graph) or _circle(graph)) if is_flat(graph) else _layers(graph)
    # NVSwitches that are linked to each other stand in a row.
    bows = {(min(ends), max(ends)) for ends in graph.nvlinks.edges}
    return dataclasses.replace(layout, curved=layout.curved | bows)


def is_flat(graph: "Graph") -> bool:
    """Whether switches of one tier are linked to each other, as in a torus and a dragonfly."""
    return any(graph.tier[a] == graph.tier[b] for a, others in graph.neighbours.items()
               for b in others)


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number != 1 else f"1 {name.removesuffix('es' if name.endswith('ches') else 's')}"


def _layer(ids: Sequence[int], name: str) -> str:
    return _count(len(ids), name) + "\n" + textwrap.shorten(nodes(ids), LONGEST_IDS, placeholder=" ...")


def _layers(graph: "Graph") -> Layout:
    topology = graph.topology
    gpus, per_server = topology.gpus, topology.gpus_per_server
    rows = 1 if len(gpus) <= ONE_ROW else min(ROWS, per_server)
    columns = -(-per_server // rows)
    servers = -(-len(gpus) // per_server)
    gap = 0.8 if servers > 1 and per_server > 1 else 0
    width = servers * (columns + gap)
    tall = 0.55 if rows > 1 else 0.0
    place, middle = {}, {}
    base = 1 if topology.nvswitches else 0
    for i, gpu in enumerate(gpus):
        server, k = divmod(i, per_server)
        column, row = divmod(k, rows)
        # Aslant, so that the links to the GPUs of a column do not cover each other.
        aslant = 0.6 * (row / (rows - 1) - 0.5) if rows > 1 else 0
        x = (server * (columns + gap) + gap / 2 + (column + aslant) + 0.5) / width
        place[gpu] = (x, base + (tall * row / (rows - 1) if rows > 1 else 0))
        middle[server] = (server * (columns + gap) + (columns + gap) / 2) / width
    labels = {base + tall / 2: _layer(gpus, "GPUs")}
    if topology.nvswitches:
        labels[0] = _layer(topology.nvswitches, "NVSwitches")
        for server, mine in _nvswitches_by_server(graph).items():
            for k, nv in enumerate(mine):
                spread = (k - (len(mine) - 1) / 2) * columns / max(len(mine), 1)
                place[nv] = (middle[server] + spread / width, 0)
    names = {1: "access switches", 2: "aggregation switches", 3: "core switches"}
    for tier in sorted(graph.tiers):
        members = sorted(graph.tiers[tier])
        y = base + tall + tier
        labels[y] = _layer(members, names.get(tier, f"switches of tier {tier}"))
        for i, node in enumerate(members):
            place[node] = ((i + 0.5) / len(members), y)
    return Layout(place, labels)


def _nvswitches_by_server(graph: "Graph") -> dict[int, list[int]]:
    topology = graph.topology
    found: dict[int, set[int]] = collections.defaultdict(set)
    for i, gpu in enumerate(topology.gpus):
        found[i // topology.gpus_per_server] |= graph.served_by[gpu]
    return {server: sorted(mine) for server, mine in found.items()}


def torus_dimensions(graph: "Graph") -> tuple[int, ...] | None:
    """@return the dimensions of a torus of two or three, whose switches are numbered with the last dimension
    fastest; None for another network"""
    switches = sorted(graph.topology.switches)
    index = {node: i for i, node in enumerate(switches)}
    edges = {(min(index[a], index[b]), max(index[a], index[b]))
             for a, others in graph.neighbours.items() for b in others}
    for dimensions in _factorisations(len(switches), MOST_DIMENSIONS):
        if len(dimensions) >= 2 and edges == set(_torus_edges(dimensions)):
            return dimensions
    return None


def _factorisations(number: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yields the products of at most so many factors, each above 1, that make a number."""
    if number == 1:
        yield ()
    elif most:
        for first in range(2, number + 1):
            if number % first == 0:
                for rest in _factorisations(number // first, most - 1):
                    yield (first, *rest)


def _torus_edges(dimensions: Sequence[int]) -> Iterator[tuple[int, int]]:
    strides = [math.prod(dimensions[i + 1:]) for i in range(len(dimensions))]
    for position in itertools.product(*map(range, dimensions)):
        here = sum(p * s for p, s in zip(position, strides))
        for p, length, stride in zip(position, dimensions, strides):
            there = here + ((p + 1) % length - p) * stride
            yield min(here, there), max(here, there)


def _grid(graph: "Graph") -> Layout | None:
    """A torus as its grid, with the GPUs of each switch beside and under it; a third dimension as panels."""
    dimensions = torus_dimensions(graph)
    if not dimensions:
        return None
    switches = sorted(graph.topology.switches)
    *panels, rows, columns = (1, *dimensions)[-3:] if len(dimensions) == 2 else dimensions
    place: dict[int, Point] = {}
    for i, node in enumerate(switches):
        panel, rest = divmod(i, rows * columns)
        row, column = divmod(rest, columns)
        place[node] = (column + panel * (columns + 0.6), -row)
    curved = set()
    for a, others in graph.neighbours.items():
        for b in others:
            (xa, ya), (xb, yb) = place[a], place[b]
            if math.hypot(xa - xb, ya - yb) > 1.01:
                curved.add((min(a, b), max(a, b)))
    for tor, gpus in _gpus_by_switch(graph).items():
        x, y = place[tor]
        for k, gpu in enumerate(gpus):
            # Beside the link to the switch below.
            place[gpu] = (x + 0.36 + 0.56 * ((k + 0.5) / len(gpus) - 0.5), y - 0.3)
    for nv in graph.topology.nvswitches:
        mine = [place[gpu] for gpu in graph.topology.gpus if nv in graph.served_by[gpu]]
        place[nv] = (sum(x for x, _ in mine) / len(mine), min(y for _, y in mine) - 0.17)
    return Layout(place, square=True, curved=frozenset(curved))


def _gpus_by_switch(graph: "Graph") -> dict[int, list[int]]:
    found = collections.defaultdict(list)
    for gpu in graph.topology.gpus:
        if graph.tors[gpu]:
            found[min(graph.tors[gpu])].append(gpu)
    return found


def _circle(graph: "Graph") -> Layout:
    topology, place = graph.topology, {}
    switches = sorted(topology.switches)
    for i, node in enumerate(switches):
        angle = 2 * math.pi * i / len(switches)
        place[node] = (math.cos(angle), math.sin(angle))
    for tor, gpus in _gpus_by_switch(graph).items():
        start = 2 * math.pi * switches.index(tor) / len(switches)
        width = 2 * math.pi / len(switches) * 0.7
        for i, gpu in enumerate(gpus):
            angle = start + width * ((i + 0.5) / len(gpus) - 0.5)
            place[gpu] = (1.28 * math.cos(angle), 1.28 * math.sin(angle))
    alone = [gpu for gpu in topology.gpus if gpu not in place]
    for i, gpu in enumerate(alone):
        angle = 2 * math.pi * (i + 0.5) / len(alone)
        place[gpu] = (0.4 * math.cos(angle), 0.4 * math.sin(angle))
    for nv in topology.nvswitches:
        mine = [place[gpu] for gpu in topology.gpus if nv in graph.served_by[gpu]]
        x, y = (sum(c) / len(mine) for c in zip(*mine)) if mine else (0, 0)
        far = 1.5 / math.hypot(x, y) if math.hypot(x, y) > 1e-9 else 1
        place[nv] = (x * far, y * far)
    return Layout(place, square=True)
