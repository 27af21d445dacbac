# SPDX-License-Identifier: GPL-2.0-only
"""Plots of runs. Every function returns a matplotlib Figure, or raises ResultsError that says why not.

    from clustersim.results import open_run
    from clustersim.results.plots import KINDS, style
    with style.theme("dark"):
        figure = KINDS["pfc"].draw([open_run("results/first")])
    figure.savefig("pfc.svg")
"""
import dataclasses
import importlib
from collections.abc import Sequence
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from clustersim.results.run import Run
    from matplotlib.figure import Figure

__all__ = ["KINDS", "THEMES", "Kind"]

THEMES = {
    "light": {"paper": "#ffffff", "ink": "#1a1a1a", "soft": "#767676", "grid": "#dddddd"},
    "dark": {"paper": "#16191d", "ink": "#e8e8e8", "soft": "#a0a0a0", "grid": "#3a3f45"},
}


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of plot. One that compares takes all runs into one figure, another is made for each run."""
    module: str  # of this package; loaded, with matplotlib, when something is drawn
    function: str
    compares: bool
    summary: str

    def draw(self, runs: "Sequence[Run]", **options: Any) -> "Figure":
        """@param runs all that are compared, or the one that is shown @return a Figure"""
        function = getattr(importlib.import_module(f"{__name__}.{self.module}"), self.function)
        if self.compares:
            return function(runs, **options)
        (run,) = runs
        return function(run, **options)


KINDS = {
    "breakdown": Kind("breakdown", "breakdown", True,
                      "where the time goes: computation, exposed communication, bubble"),
    "fct": Kind("flows", "fct_cdf", True, "flow completion times, cumulative"),
    "slowdown": Kind("flows", "slowdown", True, "slowdown of flows by size, median and 99th percentile"),
    "busbw": Kind("bandwidths", "busbw", True, "bus bandwidth by size, with published measurements"),
    "latencies": Kind("serving", "latencies", True,
                      "times of served requests, cumulative: first token, per token, whole"),
    "phases": Kind("serving", "phases", True,
                   "where served requests spend their time: queue, prefill, transfer, decode"),
    "collectives": Kind("timelines", "collectives", False, "when each group did which collective"),
    "ranks": Kind("timelines", "ranks", False, "computation, waiting and collectives of ranks (timeline.json)"),
    "links": Kind("links", "link_utilisation", False, "utilisation of links on the drawn topology"),
    "trims": Kind("links", "link_trims", False, "trimmed packets of links on the drawn topology"),
    "replays": Kind("links", "link_replays", False, "packets that links sent again, on the drawn topology"),
    "queues": Kind("queues", "queue_lengths", False, "lengths of the fullest switch queues over time"),
    "heat": Kind("queues", "queue_heat_map", False, "lengths of switch queues as a heat map"),
    "pfc": Kind("pauses", "pfc", False, "when which ports were paused"),
    "rates": Kind("pairs", "rates", False, "rates and congestion notifications of queue pairs"),
    "reordering": Kind("pairs", "reordering", False, "how far packets of queue pairs came out of order"),
}
