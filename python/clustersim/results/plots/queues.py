# SPDX-License-Identifier: GPL-2.0-only
"""Queues of switch ports over time, as lines and as a heat map."""
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import PowerNorm

from clustersim.results.plots import style

if TYPE_CHECKING:
    from clustersim.results.run import Run
    from matplotlib.figure import Figure

MOST_SAMPLES = 100_000_000  # of a port; more are those of a damaged run.json


def lengths(run: "Run") -> tuple[np.ndarray, list[tuple[int, int]], np.ndarray]:
    """@return sampling times in ns, (node, port) of each row by falling peak, and bytes [row, time]

    Empty ports have no line in queue.txt, so the times come from the run's options. Of more samples than a picture
    can show, the largest of each few is taken.
    """
    style.need_packets(run)
    queues = run.queues
    if queues is None or not len(queues):
        raise style.NothingToDraw(f"{run.name}: no queue was ever sampled with bytes in it (queue.txt); "
                                  f"QLEN_MON_INTERVAL may be too long")
    if "samples" in queues:
        raise style.NothingToDraw(f"{run.name}: queue.txt counts lengths and has no times")
    times = np.unique(queues["time_ns"].to_numpy())
    if run.queue_sampling and run.queue_sampling[2] <= MOST_SAMPLES:
        start, interval, count = run.queue_sampling
        # Written times are rounded to nanoseconds; multiples of microseconds are not.
        times = np.union1d(times, ((start + interval * np.arange(count)) * 1000).round().astype(np.int64))
    ports = queues.drop_duplicates(["time_ns", "node", "port"])
    peaks = ports.groupby(["node", "port"])["port_bytes"].max().sort_values(ascending=False, kind="stable")
    row = {key: i for i, key in enumerate(peaks.index)}
    few = -(-len(times) // style.MOST_POINTS)
    grid = np.zeros((len(row), -(-len(times) // few)))
    rows = [row[key] for key in zip(ports["node"], ports["port"])]
    np.maximum.at(grid, (rows, np.searchsorted(times, ports["time_ns"]) // few), ports["port_bytes"])
    return times[::few], list(peaks.index), grid


def queue_lengths(run: "Run") -> "Figure":
    """Bytes at the fullest ports over time, and the fullest of all others."""
    times, ports, grid = lengths(run)
    figure, axes = style.new_figure(9.5, 4.5)
    factor = style.time_axis(axes, times[-1])
    scale, unit = style.byte_unit(grid.max())
    shown = min(style.MOST_LINES - 2, len(ports))
    if len(ports) > shown:
        axes.fill_between(times / factor, grid[shown:].max(axis=0) / scale, color=style.soft_colour(),
                          alpha=0.35, linewidth=0, label=f"largest of {len(ports) - shown} others")
    for i, (node, port) in enumerate(ports[:shown]):
        axes.plot(times / factor, grid[i] / scale, label=style.port_name(run, node, port), linewidth=1.3,
                  **style.line(i))
    axes.set_xlim(times[0] / factor, times[-1] / factor)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(f"queued at the port ({unit})")
    axes.set_title(f"Switch queues: {style.shorten(run.name)}")
    style.legend(axes, shown, title="fullest ports")
    return figure


def queue_heat_map(run: "Run") -> "Figure":
    """Ports down, time across, bytes as colour."""
    times, ports, grid = lengths(run)
    shown = sorted(range(min(len(ports), style.MOST_ROWS)), key=lambda i: ports[i])
    figure, axes = style.new_figure(9.5, style.rows_height(len(shown)))
    factor = style.time_axis(axes, times[-1])
    scale, unit = style.byte_unit(grid.max())
    half = np.diff(times).min() / 2 if len(times) > 1 else 0.5
    edges = np.append(times - half, times[-1] + half) / factor
    mesh = axes.pcolormesh(edges, np.arange(len(shown) + 1) - 0.5, grid[shown] / scale, cmap=style.SEQUENTIAL,
                           norm=PowerNorm(0.5, 0, grid.max() / scale), rasterized=True)
    figure.colorbar(mesh, ax=axes, label=f"queued at the port ({unit})", pad=0.01)
    style.name_rows(axes, [style.port_name(run, *ports[i]) for i in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.grid(False)
    axes.set_title(f"Switch queues: {style.shorten(run.name)}")
    if len(ports) > len(shown):
        style.remark(axes, f"the {len(shown)} fullest of {len(ports)} ports that ever had a queue")
    return figure
