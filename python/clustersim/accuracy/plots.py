# SPDX-License-Identifier: GPL-2.0-only
"""A plot per table: bus bandwidth and time by size, measured and simulated."""
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator  # noqa: E402

MOST_LABELS = 5  # of an axis of sizes; more touch one another
ROOM_ABOVE = 1.05


def size_name(size):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size:g} B"


def draw(table, frame, path):
    """@param frame the table's rows of the card @param path an SVG file"""
    with matplotlib.rc_context({"svg.hashsalt": table.name, "svg.fonttype": "none", "font.size": 8}):
        figure, (time, bandwidth) = plt.subplots(1, 2, figsize=(7.2, 2.4), constrained_layout=True)
        counted, doubted = frame[frame["doubt"] == ""], frame[frame["doubt"] != ""]
        for axes, column in ((time, "us"), (bandwidth, "busbw")):
            axes.plot(counted["size"], counted[f"measured {column}"], "o", ms=3, mfc="none", label="measured")
            if len(doubted):
                axes.plot(doubted["size"], doubted[f"measured {column}"], "x", ms=3, color="gray", label="not counted")
            axes.plot(frame["size"], frame[f"simulated {column}"], "-", lw=1, color="C1", label="simulated")
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_locator(LogLocator(base=2, numticks=MOST_LABELS))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_name(size)))
            axes.grid(alpha=0.3)
        time.set_yscale("log")
        time.set_ylabel("time, us")
        bandwidth.set_ylabel("busbw, GB/s")
        bandwidth.set_ylim(0, ROOM_ABOVE * frame[["measured busbw", "simulated busbw"]].to_numpy().max())
        time.legend(frameon=False)
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        plt.close(figure)
