# SPDX-License-Identifier: GPL-2.0-only
"""How busy links were, and how many packets they trimmed or sent again, on the drawn topology."""
from typing import Any, TYPE_CHECKING

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


def counts(links: "pd.DataFrame", column: str) -> dict[tuple[int, int], float]:
    """@return a column of links.csv, both directions of a link together, by (low, high) node"""
    found: dict[tuple[int, int], float] = {}
    for node, peer, count in zip(links["node"], links["peer"], links[column]):
        key = (min(node, peer), max(node, peer))
        found[key] = found.get(key, 0.0) + count
    return found


def _links_of(run: "Run") -> "pd.DataFrame":
    """@return the counters of links of a run that can be drawn"""
    if not run.has_whole_network:
        raise style.NothingToDraw(f"{run.name}: with --fast-forward, links.csv lacks the traffic; expected a run "
                                  f"without it")
    links = run.links
    if links is None or not len(links):
        raise style.NothingToDraw(f"{run.name}: no counters of links (links.csv)")
    if run.topology is None:
        raise style.NothingToDraw(f"{run.name}: the topology of the run is not there; expected --topology FILE")
    return links


def link_utilisation(run: "Run") -> "Figure":
    """The topology with each link as wide and dark as it was busy."""
    links = _links_of(run)
    if not run.simulated_ns:
        raise style.NothingToDraw(f"{run.name}: the length of the run is unknown (run.json)")
    return _drawn(run, utilisations(links), "busy share of the run, busier direction (%)", "Link utilisation", top=100)


def link_trims(run: "Run") -> "Figure":
    """The topology with each link as wide and dark as switches trimmed packets for it."""
    return _counted(run, "trims", "packets trimmed for the link", "Trimmed packets")


def link_replays(run: "Run") -> "Figure":
    """The topology with each link as wide and dark as it sent packets again."""
    return _counted(run, "replays", "packets sent again by the link", "Link-level retry")


def _counted(run: "Run", column: str, value_name: str, title: str) -> "Figure":
    links = _links_of(run)
    if column not in links or not links[column].sum():
        raise style.NothingToDraw(f"{run.name}: no {value_name} (column {column} of links.csv)")
    return _drawn(run, counts(links, column), value_name, title, carried=counts(links, "tx_bytes"))


def _drawn(run: "Run", values: dict[tuple[int, int], float], value_name: str, title: str,
           **options: Any) -> "Figure":
    assert run.topology is not None
    try:
        return draw.figure_of(run.topology, values, value_name, f"{title}: {style.shorten(run.name)}", **options)
    except InputError as error:
        raise style.NothingToDraw(str(error)) from None
