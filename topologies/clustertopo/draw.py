# SPDX-License-Identifier: GPL-2.0-only
"""Draws a topology: layers from bottom to top, rails by colour, planes by the shape of switches."""
import collections
import math

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection

from clustertopo.cluster import InputError
from clustertopo.graph import Graph

MOST_GPUS = 1024
# Okabe and Ito's colours, which people with any colour blindness can tell apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
PLAIN = "#7a7a7a"
SHAPES = ("s", "D", "^", "v")


def rails_of(graph):
    """@return the rail of each GPU and access switch, or None for each when there are no rails

    There are rails when switches share servers out by the place of a GPU in its server: several
    switches on each server, each with several servers.
    """
    topology = graph.topology
    per_server = topology.gpus_per_server
    places, servers = collections.defaultdict(set), collections.defaultdict(set)
    for i, gpu in enumerate(topology.gpus):
        for tor in graph.tors[gpu]:
            places[tor].add(i % per_server)
            servers[tor].add(i // per_server)
    sets = {frozenset(found) for found in places.values()}
    disjoint = sum(len(found) for found in sets) == len(set().union(*sets)) if sets else False
    if len(sets) < 2 or not disjoint or min(map(len, servers.values())) < 2:
        return None
    number = {found: i for i, found in enumerate(sorted(sets, key=min))}
    rail = {tor: number[frozenset(found)] for tor, found in places.items()}
    for gpu in topology.gpus:
        rail[gpu] = next((rail[tor] for tor in graph.tors[gpu]), None)
    return rail


def is_flat(graph):
    """Whether switches of one tier are linked to each other, as in a torus and a dragonfly."""
    return any(graph.tier[a] == graph.tier[b] for a, others in graph.neighbours.items()
               for b in others)


def positions_in_layers(graph):
    """@return node -> (x, y), and the name of each layer by its y"""
    topology = graph.topology
    layers = [("NVSwitches", topology.nvswitches), ("GPUs", topology.gpus)]
    names = {1: "access switches", 2: "aggregation switches", 3: "core switches"}
    layers += [(names.get(tier, f"tier {tier}"), graph.tiers[tier]) for tier in sorted(graph.tiers)]
    layers = [layer for layer in layers if layer[1]]
    place, labels = {}, {}
    for y, (name, nodes) in enumerate(layers):
        labels[y] = f"{len(nodes)} {name}"
        for i, node in enumerate(sorted(nodes)):
            place[node] = ((i + 0.5) / len(nodes), y)
    return place, labels


def positions_in_a_circle(graph):
    topology = graph.topology
    place = {}
    switches = sorted(topology.switches)
    for i, node in enumerate(switches):
        angle = 2 * math.pi * i / len(switches)
        place[node] = (math.cos(angle), math.sin(angle))
    per_switch = collections.defaultdict(list)
    for gpu in topology.gpus:
        per_switch[min(graph.tors[gpu], default=None)].append(gpu)
    for tor, gpus in per_switch.items():
        start = 2 * math.pi * switches.index(tor) / len(switches) if tor in place else 0
        width = 2 * math.pi / len(switches) * 0.7
        for i, gpu in enumerate(gpus):
            angle = start + width * ((i + 0.5) / len(gpus) - 0.5)
            place[gpu] = (1.28 * math.cos(angle), 1.28 * math.sin(angle))
    for nv in topology.nvswitches:
        mine = [place[gpu] for gpu in topology.gpus if nv in graph.nv_of[gpu]]
        x, y = (sum(c) / len(mine) for c in zip(*mine))
        far = 1.5 / math.hypot(x, y) if math.hypot(x, y) > 1e-9 else 1
        place[nv] = (x * far, y * far)
    return place


def draw(topology, base, link_values=None, value_name=""):
    """Writes base.png and base.svg. @param link_values number from 0 to 1 by (low node, high node)
    @return the names of the files"""
    figure = figure_of(topology, link_values, value_name)
    files = [f"{base}.png", f"{base}.svg"]
    for file in files:
        figure.savefig(file, dpi=150)
    plt.close(figure)
    return files


def figure_of(topology, link_values=None, value_name=""):
    if len(topology.gpus) > MOST_GPUS:
        raise InputError(f"{topology.path}: {len(topology.gpus)} GPUs make no readable picture; "
                         f"expected at most {MOST_GPUS}")
    graph = Graph(topology)
    rail = rails_of(graph) or {}
    flat = is_flat(graph)
    figure, axes = plt.subplots(figsize=(10, 10) if flat else (14, 7), layout="constrained")
    if flat:
        place, labels = positions_in_a_circle(graph), {}
        axes.set_aspect("equal")
    else:
        place, labels = positions_in_layers(graph)
    for y, label in labels.items():
        axes.text(-0.01, y, label, ha="right", va="center", fontsize=11)
    _links(figure, axes, topology, graph, place, rail, link_values, value_name)
    _nodes(axes, topology, graph, place, rail)
    axes.set_title(topology.path.rsplit("/", 1)[-1])
    axes.axis("off")
    return figure


def _colour(rail, node):
    number = rail.get(node)
    return PLAIN if number is None else COLOURS[number % len(COLOURS)]


def _links(figure, axes, topology, graph, place, rail, values, value_name):
    ends = {}
    for link in topology.links:
        ends[min(link.a, link.b), max(link.a, link.b)] = link
    alpha = max(0.08, min(0.7, 60 / math.sqrt(len(ends)) / 10))
    if values is None:
        special = set(topology.nvswitches)
        colours = ["#b0b0b0" if a in special or b in special else
                   _colour(rail, a if rail.get(a) is not None else b) for a, b in ends]
        axes.add_collection(LineCollection([(place[a], place[b]) for a, b in ends], colors=colours,
                                           alpha=alpha, linewidths=0.8, zorder=1))
        return
    # The busiest are drawn last, over the others.
    keys = sorted(ends, key=lambda key: values.get(key, 0))
    numbers = [values.get(key, 0) for key in keys]
    lines = LineCollection([(place[a], place[b]) for a, b in keys], cmap="cividis_r", array=numbers, zorder=1,
                           linewidths=[0.5 + 2.5 * n for n in numbers], norm=plt.Normalize(0, 1))
    axes.add_collection(lines)
    figure.colorbar(lines, ax=axes, label=value_name, shrink=0.6)


def _nodes(axes, topology, graph, place, rail):
    size = max(6, min(80, 4000 / max(1, len(topology.gpus))))
    groups = [("GPU", topology.gpus, "o", size), ("NVSwitch", topology.nvswitches, "h", size * 1.5)]
    area_of_switch = max(18, min(90, 5000 / max(1, len(topology.switches))))
    for plane in range(graph.planes):
        nodes = [node for node in topology.switches if graph.plane[node] == plane]
        name = f"switch, plane {plane + 1}" if graph.planes > 1 else "switch"
        groups.append((name, nodes, SHAPES[plane % len(SHAPES)], area_of_switch))
    for name, nodes, shape, area in groups:
        if nodes:
            axes.scatter([place[n][0] for n in nodes], [place[n][1] for n in nodes], s=area,
                         marker=shape, c=[_colour(rail, n) for n in nodes], edgecolors="black",
                         linewidths=0.4 if area > 12 else 0, zorder=2)
            axes.scatter([], [], marker=shape, c="white", edgecolors="black", label=name)
    numbers = sorted({number for number in rail.values() if number is not None})
    for number in numbers[:len(COLOURS)]:
        again = " and on" if len(numbers) > len(COLOURS) else ""
        axes.plot([], [], color=COLOURS[number], linewidth=3, label=f"rail {number}{again}")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=7, frameon=False, fontsize=9)
