# SPDX-License-Identifier: GPL-2.0-only
"""Flows of one run or of several: completion times, and slowdown by size."""
import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter

from clusterresults.plots import style

BUCKETS = 12


def _with_flows(runs):
    found = [run for run in runs if run.flows is not None and len(run.flows)]
    if not found:
        raise style.NothingToDraw("no run has finished flows (fct.txt)")
    return found


def fct_cdf(runs):
    """Share of the flows that took at most so long, a line per run."""
    runs = _with_flows(runs)
    figure, axes = style.new_figure(10.5, 4.5)
    factor, unit = style.time_unit(max(run.flows["fct_ns"].median() for run in runs) * 10)
    for i, run in enumerate(runs):
        times = np.sort(run.flows["fct_ns"].to_numpy())
        shares = np.arange(1, len(times) + 1) / len(times) * 100
        label = (f"{style.shorten(run.name)}\n{len(times)} flows, median "
                 f"{style.time_text(style.percentile(times, 50))}, 99% {style.time_text(style.percentile(times, 99))}")
        axes.plot(times / factor, shares, drawstyle="steps-post", label=label, **style.line(i))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_ylim(0, 101)
    axes.set_xlabel(f"flow completion time ({unit})")
    axes.set_ylabel("flows that took at most this long (%)")
    axes.set_title("Flow completion times")
    style.legend(axes, len(runs), title="run")
    return figure


def buckets_of(sizes):
    """Divides flow sizes: each size by itself while they are few, else at equal numbers of flows.

    @return the largest size of each bucket, ascending
    """
    distinct = np.unique(sizes)
    if len(distinct) <= BUCKETS:
        return distinct
    shares = np.arange(1, BUCKETS + 1) / BUCKETS
    return np.unique(np.quantile(sizes, shares, method="inverted_cdf"))


def slowdowns_by_size(flows, largest, share):
    """@return the percentile of slowdown in each bucket; not a number where there is no flow"""
    bucket = np.searchsorted(largest, flows["bytes"].to_numpy())
    slowdown = flows["slowdown"].to_numpy()
    found = np.full(len(largest), np.nan)
    for i in range(len(largest)):
        mine = np.sort(slowdown[(bucket == i) & np.isfinite(slowdown)])
        if len(mine):
            found[i] = style.percentile(mine, share)
    return found


def slowdown(runs):
    """Slowdown (time over that of the flow alone) by flow size: median and tail."""
    runs = _with_flows(runs)
    largest = buckets_of(np.concatenate([run.flows["bytes"].to_numpy() for run in runs]))
    exact = len(largest) <= BUCKETS and len(np.unique(np.concatenate(
        [run.flows["bytes"].unique() for run in runs]))) == len(largest)
    figure, panels = style.new_figure(11.5, 4.6, columns=2, sharey=True)
    places = np.arange(len(largest))
    for axes, share, name in zip(panels, (50, 99), ("median", "99th percentile")):
        for i, run in enumerate(runs):
            axes.plot(places, slowdowns_by_size(run.flows, largest, share), marker="o", markersize=4,
                      label=style.shorten(run.name), **style.line(i))
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.axhline(1, color=style.soft_colour(), linewidth=1, zorder=1)
        labels = [("" if exact else "≤ ") + style.size_text(int(size)) for size in largest]
        axes.set_xticks(places, labels, **style.slant(len(labels) > 5))
        axes.margins(x=0.12 if len(labels) < 4 else 0.05)
        axes.set_xlabel("flow size" if exact else "flow size, buckets of equal numbers of flows")
        axes.set_title(f"Slowdown, {name}")
    panels[0].set_ylabel("completion time / time alone")
    style.legend(panels[1], len(runs), title="run")
    return figure
