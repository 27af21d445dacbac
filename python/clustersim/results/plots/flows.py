# SPDX-License-Identifier: GPL-2.0-only
"""Flows of one run or of several: completion times, and slowdown by size."""
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter

from clustersim.results.plots import style
from clustersim.results.tables.flows import path_kinds

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.run import Run
    from matplotlib.figure import Figure

BUCKETS = 12
LEFT_OUT = "of the network; flows over NVLink are left out"


def flows_to_draw(runs: "Sequence[Run]") -> "tuple[list[tuple[Run, pd.DataFrame]], bool]":
    """@return (run, its flows) of each run that has any, and whether flows over NVLink were left out

    Flows inside a server would hide those of the network: they are drawn only where there are no others.
    """
    found = [(run, run.flows[["bytes", "fct_ns", "slowdown"]], path_kinds(run)) for run in runs
             if run.flows is not None and len(run.flows)]
    if not found:
        raise style.NothingToDraw("no run has finished flows (fct.txt)")
    left_out = any((paths == "NVLink").any() for _, _, paths in found) and \
        any((paths != "NVLink").any() for _, _, paths in found)
    if left_out:
        found = [(run, flows[paths != "NVLink"], paths) for run, flows, paths in found]
    return [(run, flows) for run, flows, _ in found if len(flows)], left_out


def fct_cdf(runs: "Sequence[Run]") -> "Figure":
    """The cumulative distribution of flow completion times, a line per run."""
    found, left_out = flows_to_draw(runs)
    figure, axes = style.new_figure(10.5, 4.5)
    factor, unit = style.time_unit(max(flows["fct_ns"].median() for _, flows in found) * 10)
    for i, (run, flows) in enumerate(found):
        times = np.sort(flows["fct_ns"].to_numpy())
        label = (f"{style.shorten(run.name)}\n{len(times)} flows, median "
                 f"{style.time_text(style.percentile(times, 50))}, 99% {style.time_text(style.percentile(times, 99))}")
        x, y = style.cumulative(times / factor)
        axes.plot(x, y, drawstyle="steps-post", label=label, **style.line(i))
    shortest = min(max(1, flows["fct_ns"].min()) for _, flows in found)
    longest = max(flows["fct_ns"].max() for _, flows in found)
    if longest < 10 * shortest:
        axes.set_xlim(0, 1.05 * longest / factor)
    else:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if longest < 1000 * shortest else (1,)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(0, 101)
    axes.set_xlabel(f"flow completion time ({unit})")
    axes.set_ylabel("flows that took at most this long (%)")
    axes.set_title("Flow completion times")
    if left_out:
        style.remark(axes, LEFT_OUT)
    style.legend(axes, style.merge_coinciding(axes), title="run")
    return figure


def buckets_of(sizes: np.ndarray) -> np.ndarray:
    """Divides flow sizes: each size by itself while they are few, else at equal numbers of flows.

    @return the largest size of each bucket, ascending
    """
    distinct = np.unique(sizes)
    if len(distinct) <= BUCKETS:
        return distinct
    shares = np.arange(1, BUCKETS + 1) / BUCKETS
    return np.unique(np.quantile(sizes, shares, method="inverted_cdf"))


def slowdowns_by_size(flows: "pd.DataFrame", largest: np.ndarray, share: float) -> np.ndarray:
    """@return the percentile of slowdown in each bucket; not a number where there is no flow"""
    bucket = np.searchsorted(largest, flows["bytes"].to_numpy())
    slowdown = flows["slowdown"].to_numpy()
    found = np.full(len(largest), np.nan)
    for i in range(len(largest)):
        mine = np.sort(slowdown[(bucket == i) & np.isfinite(slowdown)])
        if len(mine):
            found[i] = style.percentile(mine, share)
    return found


def slowdown(runs: "Sequence[Run]") -> "Figure":
    """Slowdown (time over that of the flow alone) by flow size: median and tail."""
    found, left_out = flows_to_draw(runs)
    sizes = np.concatenate([flows["bytes"].to_numpy() for _, flows in found])
    largest = buckets_of(sizes)
    exact = len(np.unique(sizes)) == len(largest)
    figure, panels = style.new_figure(11.5, 4.6, columns=2, sharey=True)
    places = np.arange(len(largest))
    for axes, share, name in zip(panels, (50, 99), ("median", "99th percentile")):
        for i, (run, flows) in enumerate(found):
            axes.plot(places, slowdowns_by_size(flows, largest, share), marker="o", markersize=4,
                      label=style.shorten(run.name), **style.line(i))
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.axhline(1, color=style.soft_colour(), linewidth=1, zorder=1)
        labels = [("" if exact else "≤ ") + text for text in style.size_texts(largest)]
        axes.set_xticks(places, labels, **style.slant(len(labels) > 5))
        axes.margins(x=0.12 if len(labels) < 4 else 0.05)
        axes.set_xlabel("flow size" if exact else "flow size, buckets of equal numbers of flows")
        axes.set_title(f"Slowdown, {name}")
        if left_out:
            style.remark(axes, LEFT_OUT)
    panels[0].set_ylabel("completion time / time alone")
    style.legend(panels[1], len(found), title="run")
    return figure
