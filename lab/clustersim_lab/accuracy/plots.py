# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of the card: times and bus bandwidths, measured and simulated, by size."""
import pathlib

import matplotlib
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from clustersim.results.plots import style
from clustersim_lab.accuracy.tables import Table

MOST_LABELS = 6
ROOM_ABOVE = 1.05
# From the lowest to the highest time: so little that an axis from one to the other would name rounded numbers twice.
CLOSE = 1.5
FEW = 30  # from the lowest to the highest time: so few that round numbers between the powers of ten are named, too


def size_name(size: float) -> str:
    """@return a size in bytes with its unit"""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size:g} B"


def figure_of(frame: pd.DataFrame) -> Figure:
    """@param frame a table's rows of the card @return a Figure"""
    figure, (time, bandwidth) = style.new_figure(9, 3, columns=2)
    counted, doubted = frame[frame["doubt"] == ""], frame[frame["doubt"] != ""]
    for axes, column in ((time, "us"), (bandwidth, "busbw")):
        axes.plot(counted["size"], counted[f"measured {column}"], "o", markersize=4, markerfacecolor="none",
                  color=style.colour(0), label="measured")
        if len(doubted):
            axes.plot(doubted["size"], doubted[f"measured {column}"], "x", markersize=4, color=style.soft_colour(),
                      label="not counted")
        # Points, too: a table may have a single size.
        axes.plot(frame["size"], frame[f"simulated {column}"], ".-", markersize=4, linewidth=1.2, color=style.colour(1),
                  label="simulated")
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(LogLocator(base=2, numticks=MOST_LABELS))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_name(size)))
        axes.set_xlabel("size")
    times = frame[["measured us", "simulated us"]].to_numpy()
    time.set_yscale("log")
    if times.max() < CLOSE * times.min():
        time.set_ylim(times.min() / CLOSE, times.max() * CLOSE)
    time.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if times.max() < FEW * times.min() else (1,)))
    time.yaxis.set_major_formatter(FuncFormatter(lambda us, _: style.number_text(us)))
    time.yaxis.set_minor_formatter(NullFormatter())
    time.set_ylabel("time (µs)")
    bandwidth.set_ylabel("bus bandwidth (GB/s)")
    bandwidth.set_ylim(0, ROOM_ABOVE * frame[["measured busbw", "simulated busbw"]].to_numpy().max())
    style.legend(bandwidth, 2)
    return figure


def draw(table: Table, frame: pd.DataFrame, path: pathlib.Path) -> None:
    """@param frame the table's rows of the card @param path an SVG file"""
    with style.theme(), matplotlib.rc_context({"svg.hashsalt": table.name, "svg.fonttype": "none"}):
        style.save(figure_of(frame), path)
