# SPDX-License-Identifier: GPL-2.0-only
"""The picture of scripts/plan.py."""
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, TYPE_CHECKING

from clustersim.results.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def name_of(row: Mapping[str, Any]) -> str:
    """@return the plan, with everything in which two of a search may differ"""
    more = ((row["zero"], f"ZeRO-{row['zero']} "), (row["copies"] > 1, f"in {row['copies']} copies "),
            (row["recompute"] != "none", f"{row['recompute']} recomputation "))
    experts = f" ETP {row['etp']}" if row["etp"] != row["tp"] else ""
    return (f"TP {row['tp']} PP {row['pp']}x{row['vpp']} DP {row['dp']} EP {row['ep']}{experts} CP {row['cp']} "
            + "".join(text for is_so, text in more if is_so) + f"mb {row['micro_batch']}")


def draw(rows: Sequence[Mapping[str, Any]], title: str) -> "Figure":
    """@return a Figure: where the time of each plan goes"""
    parts = ("computation", "TP", "DP", "DP_EP", "EP", "CP", "PP", "bubble")
    with style.theme():
        figure, axes = style.new_figure(10.5, 1.5 + 0.42 * len(rows))
        left, places = [0.0] * len(rows), range(len(rows))
        for part in parts:
            widths = [row[part] * row["time_ms"] for row in rows]
            if max(widths) > 0:
                axes.barh(places, widths, left=left, label=part, color=style.colour_of(part))
                left = [start + width for start, width in zip(left, widths)]
        axes.set_yticks(list(places), [f"{row['rank']}: {name_of(row)}" for row in rows])
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set(xlabel="time of an iteration (ms)", title=title)
        style.legend(axes, len(parts))
    return figure


def write(rows: Sequence[Mapping[str, Any]], title: str, directory: pathlib.Path) -> None:
    """Writes plans.png and plans.svg."""
    figure = draw(rows, title)
    for ending in ("png", "svg"):
        style.save(figure, directory / f"plans.{ending}")
