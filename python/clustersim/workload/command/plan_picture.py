# SPDX-License-Identifier: GPL-2.0-only
"""The picture of scripts/plan.py."""
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, TYPE_CHECKING

from clustersim.results import breakdown
from clustersim.results.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(rows: Sequence[Mapping[str, Any]], title: str) -> "Figure":
    """@return a Figure: where the time of each plan goes"""
    colours = {name.removeprefix("exposed "): number for _, name, number in breakdown.PARTS}
    parts = ("computation", "TP", "DP", "DP_EP", "EP", "CP", "PP", "bubble")
    with style.theme():
        figure, axes = style.new_figure(10.5, 1.5 + 0.42 * len(rows))
        left = [0.0] * len(rows)
        places = range(len(rows))
        for part in parts:
            widths = [row[part] * row["time_ms"] for row in rows]
            if max(widths) > 0:
                axes.barh(places, widths, left=left, label=part,
                          color=style.colour(colours[part]))
                left = [start + width for start, width in zip(left, widths)]
        names = [f"{row['rank']}: TP {row['tp']} PP {row['pp']}x{row['vpp']} DP {row['dp']} EP {row['ep']} CP "
                 f"{row['cp']} "
                 f"mb {row['micro_batch']}" for row in rows]
        axes.set_yticks(list(places), names)
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("time of an iteration (ms)")
        axes.set_title(title)
        style.legend(axes, len(parts))
    return figure


def write(rows: Sequence[Mapping[str, Any]], title: str, directory: pathlib.Path) -> None:
    """Writes plans.png and plans.svg."""
    figure = draw(rows, title)
    for ending in ("png", "svg"):
        style.save(figure, directory / f"plans.{ending}")
