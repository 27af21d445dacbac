# SPDX-License-Identifier: GPL-2.0-only
"""When PFC kept ports from sending."""
from typing import TYPE_CHECKING

import numpy as np

from clustersim.results.plots import style

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.run import Run
    from matplotlib.figure import Figure

KINDS = ((0, "GPU (its NIC)"), (1, "switch"), (2, "NVSwitch"))


def paused_ports(pauses: "pd.DataFrame") -> tuple[np.ndarray, np.ndarray]:
    """@return times in ns at which the number of paused ports changes, and the number from then on"""
    times = np.concatenate([pauses["start_ns"], pauses["end_ns"]])
    steps = np.concatenate([np.ones(len(pauses)), -np.ones(len(pauses))])
    unique, inverse = np.unique(times, return_inverse=True)
    return unique, np.cumsum(np.bincount(inverse, weights=steps))


def largest_of_each(times: np.ndarray, values: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """@return times and values of steps with one step, the largest, of those within a width of each other"""
    if len(times) <= style.MOST_POINTS:
        return times, values
    bins = (times // width).astype(np.int64)
    first = np.concatenate([[0], np.nonzero(np.diff(bins))[0] + 1])
    return times[first], np.maximum.reduceat(values, first)


def pfc(run: "Run") -> "Figure":
    """A row per paused port with its pauses, and how many ports were paused at each time."""
    style.need_packets(run)
    pauses = run.pauses
    if pauses is None or not len(pauses):
        raise style.NothingToDraw(f"{run.name}: no port was paused (pfc.txt)")
    span = max(run.simulated_ns or 0, pauses["end_ns"].max())
    total = (pauses["end_ns"] - pauses["start_ns"]).groupby([pauses["node"], pauses["port"]]).sum()
    ports = sorted(total.sort_values(ascending=False, kind="stable").index[:style.MOST_ROWS])
    height = style.rows_height(len(ports))
    figure, (above, axes) = style.new_figure(9.5, height + 1.4, rows=2, sharex=True,
                                             height_ratios=[1.2, height - 1])
    factor = style.time_axis(axes, span)
    times, count = paused_ports(pauses)
    times, count = largest_of_each(times, count, span / style.MOST_POINTS)
    above.fill_between(np.append(times, span) / factor, np.append(count, count[-1]), step="post",
                       color=style.soft_colour(), alpha=0.5, linewidth=0)
    above.set_ylim(bottom=0)
    above.set_ylabel("ports paused")
    above.set_title(f"PFC pauses: {style.shorten(run.name)}")
    left_out = f", the {len(ports)} with the longest below" if len(total) > len(ports) else ""
    style.remark(above, f"{len(pauses)} pauses of {len(total)} ports, {style.time_text(total.sum())} together"
                        f"{left_out}")
    by_port = dict(list(pauses.groupby(["node", "port"])))
    used = set()
    for row, key in enumerate(ports):
        mine = by_port[key]
        kind = int(mine["node_type"].iloc[0])
        spans = [(start / factor, length / factor) for start, length in
                 style.merge_spans(mine["start_ns"], mine["end_ns"], span / style.MOST_POINTS)]
        # A pause shorter than a pixel is still seen, by its edge.
        axes.broken_barh(spans, (row - 0.38, 0.76), facecolor=style.colour(kind), edgecolor=style.colour(kind),
                         linewidth=0.6, label=None if kind in used else dict(KINDS).get(kind, "node"))
        used.add(kind)
    axes.set_xlim(0, span / factor)
    style.name_rows(axes, [style.port_name(run, node, port) for node, port in ports])
    style.legend(axes, len(used), title="paused port of")
    return figure
