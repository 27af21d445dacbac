# SPDX-License-Identifier: GPL-2.0-only
"""Draws a topology: layers from bottom to top, rails by colour, planes by the shape of switches."""
import collections
import dataclasses
import math
import os
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

import matplotlib
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patheffects import withStroke

from clustersim.command import printable
from clustersim.plain_text import plain_text
from clustersim.topology.cluster import InputError
from clustersim.topology.layers.describe import nodes, rate, span
from clustersim.topology.layers.graph import NVSWITCH, Graph
from clustersim.topology.layers.layout import layout_of
from clustersim.whole_file import whole_file

if TYPE_CHECKING:
    from clustersim.topology.layers.layout import Layout, Point
    from clustersim.topology.reader import Topology
    from matplotlib.axes import Axes

Ends = tuple[int, int]  # the nodes of a link, the lower first
Rails = dict[int, int | None]
MOST_GPUS = 1024
# Okabe and Ito's colours, which people with any colour blindness can tell apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
PLAIN = "#8a8a8a"
OF_TIER = {1: "#0072B2", 2: "#009E73", 3: "#D55E00", 4: "#CC79A7"}
OF_GPU = "#56B4E9"
SHAPES = ("s", "D", "^", "v")
LONGEST_LINE = 130  # characters under the title
MOST_NUMBERED = 40  # switches of a tier that have their node ids beside them
NO_BREAK = "\u00a0"
MOST_COLUMNS = 12  # of the legend
# Both grow steadily away from the paper, so that the busiest stands out in grey as well.
ON_LIGHT = LinearSegmentedColormap.from_list("busy", ["#d8d8d8", "#f2b134", "#d55e00", "#5a0a00"])
ON_DARK = LinearSegmentedColormap.from_list("busy", ["#3c4248", "#a8480a", "#f2a93b", "#fff6cf"])


def rails_of(graph: Graph) -> Rails | None:
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
    rail: dict[int, int | None] = {tor: number[frozenset(found)] for tor, found in places.items()}
    for gpu in topology.gpus:
        rail[gpu] = next((rail[tor] for tor in graph.tors[gpu]), None)
    return rail


@plain_text()
def draw(topology: "Topology", base: str | os.PathLike) -> list[str]:
    """Writes base.png and base.svg. @return the names of the files"""
    figure = figure_of(topology)
    files = [f"{base}.png", f"{base}.svg"]
    for file in files:
        with whole_file(file) as part:
            figure.savefig(part, dpi=150)
    return files


@plain_text()
def figure_of(topology: "Topology", link_values: Mapping[Ends, float] | None = None, value_name: str = "",
              title: str | None = None, top: float | None = None,
              carried: Mapping[Ends, float] | None = None) -> Figure:
    """@param link_values number from 0 on by (low node, high node): shown as width and colour of the links,
    and nodes are left plain; links that carried nothing, and switches that have no others, are left out
    @param top end of the scale of the values (default: the next round number)
    @param carried what links carried, by the same ends (default: link_values)
    @return a matplotlib Figure in the colours of matplotlib's current settings"""
    if len(topology.gpus) > MOST_GPUS:
        raise InputError(f"{topology.path}: {len(topology.gpus)} GPUs make no readable picture; "
                         f"expected at most {MOST_GPUS}")
    remark = ""
    if link_values is not None:
        topology, remark = without_idle(topology, link_values if carried is None else carried)
    graph = Graph(topology)
    rail = rails_of(graph) or {}
    layout = layout_of(graph)
    figure = Figure(figsize=_size(layout), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))
    axes = figure.add_subplot()
    if layout.square:
        axes.set_aspect("equal")
    for y, label in layout.labels.items():
        axes.text(-0.012, y, label, ha="right", va="center", fontsize=11)
    if link_values is None:
        _coloured_links(axes, topology, graph, layout, rail)
        remark = _say_rates(axes, graph, layout)
    else:
        _measured_links(figure, axes, topology, layout, link_values, value_name, top)
    _nodes(axes, topology, graph, layout.place, rail, link_values is not None)
    axes.margins(0.015, 0.04)
    axes.set_title(printable(title or topology.path.rsplit("/", 1)[-1]) + "\n" * len(remark.splitlines()), loc="left",
                   fontsize=13, weight="bold")
    if remark:
        axes.annotate(remark, (0, 1), (0, 5), xycoords="axes fraction", textcoords="offset points", fontsize=9,
                      color=matplotlib.rcParams["axes.edgecolor"], va="bottom")
    axes.axis("off")
    return figure


def without_idle(topology: "Topology", values: Mapping[Ends, float]) -> "tuple[Topology, str]":
    """@return the topology without links that carried nothing and switches that have no others, and a sentence
    that says so; as it is where nothing carried anything"""
    used = [link for link in topology.links if values.get((min(link.a, link.b), max(link.a, link.b)), 0) > 0]
    if not used or len(used) == len(topology.links):
        return topology, ""
    ends = {node for link in used for node in (link.a, link.b)}
    switches = [node for node in topology.switches if node in ends]
    nvswitches = [node for node in topology.nvswitches if node in ends]
    gone = len(topology.switches) + len(topology.nvswitches) - len(switches) - len(nvswitches)
    remark = f"left out: {len(topology.links) - len(used)} links that carried nothing"
    if gone:
        remark += f", {gone} switches that have no others"
    return dataclasses.replace(topology, links=used, switches=switches, nvswitches=nvswitches), remark


def _say_rates(axes: "Axes", graph: Graph, layout: "Layout") -> str:
    """Writes between two layers how many links of which rate join them, and how far the lower is oversubscribed.

    @return the same as a sentence where nodes stand in no layers
    """
    kinds = collections.defaultdict(list)
    bundles = graph.bundles()
    for (low, high, bps), count in sorted(graph.link_kinds().items()):
        sizes = bundles.get((low, high), {1})
        between = f"\n{span(sorted(sizes))} between two" if sizes != {1} else ""
        kinds[frozenset((low, high))].append(f"{count} × {rate(bps)}{between}")
    over = {tier: ratio for tier, ratio in graph.oversubscription()}
    if layout.square:
        def named(ends: frozenset[str]) -> str:
            same = NVSWITCH if NVSWITCH in ends else "switch"
            return " to ".join(sorted(ends, reverse=True) if len(ends) > 1 else (same, same))
        words = "; ".join(f"{named(ends)}: {', '.join(text.replace(' ', NO_BREAK) for text in texts)}" for ends,
                          texts in kinds.items())
        words += "".join(f"; {name}: {nodes(ids)}".replace(" ", NO_BREAK).replace(";" + NO_BREAK, "; ") for name, ids in
                         (("GPUs", graph.topology.gpus), ("NVSwitches", graph.topology.nvswitches)) if ids)
        return textwrap.fill(words, LONGEST_LINE).replace(NO_BREAK, " ")
    heights: dict[str, list[float]] = {}
    for node, (_, y) in layout.place.items():
        heights.setdefault(graph.name(node), []).append(y)
    for ends, texts in kinds.items():
        if (len(ends) < 2 and NVSWITCH not in ends) or not ends <= heights.keys():
            continue
        low, high = (chosen(ends, key=lambda name: max(heights[name])) for chosen in (min, max))
        text = "\n".join(texts)
        tier = int(low.split()[1]) if low.startswith("tier") else None
        if tier in over:
            text += f"\n{over[tier]:.3g}:1 oversubscribed" if over[tier] > 1.001 else "\nnot oversubscribed"
        axes.text(1.012, (max(heights[low]) + min(heights[high])) / 2, text, ha="left", va="center", fontsize=9,
                  color=matplotlib.rcParams["axes.edgecolor"])
    return ""


def _size(layout: "Layout") -> tuple[float, float]:
    if not layout.square:
        return 14, 7
    wide = max(x for x, _ in layout.place.values()) - min(x for x, _ in layout.place.values())
    tall = max(y for _, y in layout.place.values()) - min(y for _, y in layout.place.values())
    # A circle is as tall as it is wide, but for where its outermost nodes happen to be.
    return (10, 10) if abs(wide - tall) < 0.2 * wide else (14, max(5, min(14, 14 * tall / wide + 1)))


def _ends(topology: "Topology") -> list[Ends]:
    return sorted({(min(link.a, link.b), max(link.a, link.b)) for link in topology.links})


def _line(layout: "Layout", key: Ends) -> "list[Point]":
    """@return the points of a link"""
    a, b = layout.place[key[0]], layout.place[key[1]]
    if key not in layout.curved:
        return [a, b]
    # A bow beside the straight line, which would run through the nodes between the two.
    bend = min(0.4, 0.1 + 0.05 * math.hypot(b[0] - a[0], b[1] - a[1]))
    length = math.hypot(b[0] - a[0], b[1] - a[1])
    aside = (-abs(b[1] - a[1]) / length * bend, abs(a[0] - b[0]) / length * bend)
    shares = [i / 16 for i in range(17)]
    return [(a[0] + (b[0] - a[0]) * t + aside[0] * 4 * t * (1 - t),
             a[1] + (b[1] - a[1]) * t + aside[1] * 4 * t * (1 - t)) for t in shares]


def _coloured_links(axes: "Axes", topology: "Topology", graph: Graph, layout: "Layout", rail: Rails) -> None:
    keys = _ends(topology)
    special = set(topology.nvswitches)

    def colour(a: int, b: int) -> str:
        if a in special or b in special:
            return PLAIN
        number = rail.get(a) if rail.get(a) is not None else rail.get(b)
        if number is not None:
            return COLOURS[number % len(COLOURS)]
        # Of the colour of the lower switch, which tells what it links up to.
        tiers = [graph.tier[node] for node in (a, b) if node in graph.tier]
        return OF_TIER.get(min(tiers), PLAIN) if tiers else PLAIN

    many = len(keys) > 1000
    axes.add_collection(LineCollection([_line(layout, key) for key in keys],
                                       colors=[colour(*key) for key in keys], zorder=1,
                                       alpha=max(0.2, min(0.7, 13 / math.sqrt(len(keys)))),
                                       linewidths=0.6 if many else 0.9))


def _measured_links(figure: Figure, axes: "Axes", topology: "Topology", layout: "Layout", values: Mapping[Ends, float],
                    value_name: str, top: float | None) -> None:
    # The busiest are drawn last, over the others.
    keys = sorted(_ends(topology), key=lambda key: values.get(key, 0))
    numbers = [values.get(key, 0) for key in keys]
    top = top or round_up(max(numbers, default=0))
    dark = sum(to_rgb(matplotlib.rcParams["figure.facecolor"])) < 1.5
    thin = 0.6 if len(keys) <= 1000 else 0.35
    lines = LineCollection([_line(layout, key) for key in keys], cmap=ON_DARK if dark else ON_LIGHT,
                           array=numbers, zorder=1, linewidths=[thin + 3.2 * thin * n / top for n in numbers],
                           norm=Normalize(0, top))
    axes.add_collection(lines)
    figure.colorbar(lines, ax=axes, label=value_name, shrink=0.7, pad=0.01)


def round_up(value: float) -> float:
    """@return the least of 1, 2, 5, 10, 20, 50, ... that is not below a value; 1 for 0"""
    if value <= 0:
        return 1
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-12))


def _number(axes: "Axes", graph: Graph, place: "Mapping[int, Point]") -> None:
    """Writes a switch's node id beside it where there is room: keys such as LINK_DOWN name links by these."""
    for members in graph.tiers.values():
        for node in members if len(members) <= MOST_NUMBERED else ():
            axes.annotate(str(node), place[node], (0, 7), textcoords="offset points", fontsize=7, ha="center",
                          color=matplotlib.rcParams["text.color"], zorder=3,
                          path_effects=[withStroke(linewidth=2, foreground=matplotlib.rcParams["figure.facecolor"])])


def _nodes(axes: "Axes", topology: "Topology", graph: Graph, place: "Mapping[int, Point]", rail: Rails,
           plain: bool) -> None:
    size = max(7, min(80, 4000 / max(1, len(topology.gpus))))
    of_switch = max(18, min(90, 5000 / max(1, len(topology.switches))))
    groups = [("GPU", topology.gpus, "o", size),
              ("NVSwitch", topology.nvswitches, "P", max(7, min(90, 2600 / max(1, len(topology.nvswitches)))))]
    planes = [[node for node in topology.switches if graph.plane[node] == plane] for plane in range(graph.planes)]
    if rail and all(len({rail.get(node) for node in nodes}) == 1 for nodes in planes):
        planes = [topology.switches]  # rails that nothing joins: colours tell them apart
    for plane, nodes in enumerate(planes):
        name = f"switch, plane {plane + 1}" if len(planes) > 1 else "switch"
        groups.append((name, nodes, SHAPES[plane % len(SHAPES)], of_switch))
    ink, paper = matplotlib.rcParams["text.color"], matplotlib.rcParams["figure.facecolor"]

    def colour(node: int) -> str:
        if plain:
            return paper
        if rail:
            number = rail.get(node)
            return PLAIN if number is None else COLOURS[number % len(COLOURS)]
        if node in graph.tier:
            return OF_TIER.get(graph.tier[node], PLAIN)
        return OF_GPU if node in graph.gpus else PLAIN

    for name, nodes, shape, area in groups:
        if nodes:
            axes.scatter([place[n][0] for n in nodes], [place[n][1] for n in nodes], s=area,
                         marker=shape, c=[colour(n) for n in nodes], edgecolors=ink,
                         linewidths=0.5 if area > 12 else 0.2, zorder=2)
            axes.scatter([], [], marker=shape, c=[paper], edgecolors=ink, label=name)
    _number(axes, graph, place)
    numbers = [] if plain else sorted({number for number in rail.values() if number is not None})
    for number in numbers[:len(COLOURS)]:
        again = " and on" if len(numbers) > len(COLOURS) else ""
        axes.plot([], [], color=COLOURS[number], linewidth=3, label=f"rail {number}{again}")
    shapes = len(axes.get_legend_handles_labels()[1]) - min(len(numbers), len(COLOURS))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0), frameon=False, fontsize=9,
                ncols=min(shapes + min(len(numbers), len(COLOURS)), MOST_COLUMNS))
