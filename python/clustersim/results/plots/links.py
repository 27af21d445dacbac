# SPDX-License-Identifier: GPL-2.0-only
"""How busy links were, on the drawn topology."""
from typing import TYPE_CHECKING

from clustersim.results.nodes import InputError
from clustersim.results.plots import style
from clustersim.topology.layers import draw

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.run import Run
    from matplotlib.figure import Figure


def utilisations(links: "pd.DataFrame") -> dict[tuple[int, int], float]:
    """@return the share of the run, in %, in which the busier direction of each link was sending, by (low, high)
    node"""
    found: dict[tuple[int, int], float] = {}
    for node, peer, busy in zip(links["node"], links["peer"], links["utilisation"]):
        key = (min(node, peer), max(node, peer))
        found[key] = max(found.get(key, 0.0), 100 * busy)
    return found


def link_utilisation(run: "Run") -> "Figure":
    """The topology with each link as wide and dark as it was busy."""
    if not run.has_whole_network:
        raise style.NothingToDraw(f"{run.name}: with --fast-forward, links.csv lacks the traffic; expected a run "
                                  f"without it")
    links = run.links
    if links is None or not len(links):
        raise style.NothingToDraw(f"{run.name}: no counters of links (links.csv)")
    if run.topology is None:
        raise style.NothingToDraw(f"{run.name}: the topology of the run is not there; expected --topology FILE")
    if not run.simulated_ns:
        raise style.NothingToDraw(f"{run.name}: the length of the run is unknown (run.json)")
    try:
        return draw.figure_of(run.topology, utilisations(links), "busy share of the run, busier direction (%)",
                              f"Link utilisation: {style.shorten(run.name)}", 100)
    except InputError as error:
        raise style.NothingToDraw(str(error)) from None
