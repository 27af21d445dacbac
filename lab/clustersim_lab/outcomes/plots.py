# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of the card: predicted against published times, ratios by family, scaling curves, shares of a step."""
import pathlib
from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogFormatter, NullFormatter

from clustersim.results.plots import style
from clustersim.workload.estimate.estimate import SHARES
from clustersim_lab.outcomes.card import WITHIN
from clustersim_lab.outcomes.scaling import Point

MARKERS = "o+x^vsD*<p1"
COLOURS = (*style.COLOURS, "#332288", "#882255")  # of ten families; the last two are Tol's indigo and wine
COLUMNS = 3  # of scaling curves
SPREAD = 0.3  # of points of a family, up and down


def _families(frame: pd.DataFrame) -> list[str]:
    return sorted(frame["family"].unique())


def times(frame: pd.DataFrame) -> Figure:
    """@return a Figure: predicted against published step times"""
    figure, axes = style.new_figure(6.5, 5.5)
    ends = frame["published_s"].min() / 1.5, frame["published_s"].max() * 1.5
    axes.plot(ends, ends, color=style.soft_colour(), linewidth=1)
    for factor in (1 - WITHIN, 1 + WITHIN):
        axes.plot(ends, [end * factor for end in ends], color=style.soft_colour(), linewidth=0.8, linestyle=":")
    for number, family in enumerate(_families(frame)):
        rows = frame[frame["family"] == family]
        axes.plot(rows["published_s"], rows["predicted_s"], MARKERS[number % len(MARKERS)],
                  color=COLOURS[number % len(COLOURS)], markersize=4, label=family, markerfacecolor="none")
    axes.set(xscale="log", yscale="log", xlabel="published time of a step (s)", ylabel="predicted time of a step (s)",
             title="Step times")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(LogFormatter())
    axes.legend(fontsize=8)
    return figure


def ratios(frame: pd.DataFrame) -> Figure:
    """@return a Figure: predicted over published of every row, by family"""
    families = _families(frame)
    figure, axes = style.new_figure(8, 1.2 + 0.45 * len(families))
    axes.axvspan(1 - WITHIN, 1 + WITHIN, color=style.colour(4), alpha=0.2, linewidth=0)
    axes.axvline(1, color=style.soft_colour(), linewidth=1)
    for place, family in enumerate(reversed(families)):
        found = frame[frame["family"] == family]["ratio"].sort_values().reset_index(drop=True)
        spread = [place + SPREAD * ((number * 7 % 11) / 5 - 1) for number in range(len(found))]
        axes.plot(found, spread, "o", markersize=3, markerfacecolor="none", color=style.colour(0))
        axes.plot([found.median()] * 2, [place - 0.4, place + 0.4], color=style.colour(5), linewidth=2)
    axes.set_yticks(range(len(families)), [f"{f} ({(frame['family'] == f).sum()})" for f in reversed(families)])
    axes.set(xscale="log", xlabel="predicted / published; band: within 15%, bars: medians", title="Ratio by family")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks([0.3, 0.5, 0.7, 0.85, 1, 1.15, 1.5, 2])
    return figure


def scaling(points: Sequence[Point]) -> Figure:
    """@return a Figure with a panel for each curve"""
    curves = list(dict.fromkeys(point.curve for point in points))
    rows = -(-len(curves) // COLUMNS)
    figure, panels = style.new_figure(10, 2.2 * rows, rows=rows, columns=COLUMNS, squeeze=False)
    for axes, curve in zip(panels.flat, curves):
        own = [point for point in points if point.curve == curve]
        axes.plot([p.gpus for p in own], [p.published for p in own], "o", markerfacecolor="none", color=style.colour(5),
                  label="published")
        axes.plot([p.gpus for p in own], [p.predicted for p in own], color=style.colour(0), label="predicted")
        axes.set(xscale="log", ylim=(0.8, 1.05))
        axes.set_title(curve, fontsize=7)
        axes.tick_params(labelsize=7)
        ends = own[0].gpus, own[-1].gpus  # labels of all would overlap
        axes.set_xticks(ends, [f"{gpus:,}" for gpus in ends])
        axes.xaxis.set_minor_formatter(NullFormatter())
    for axes in list(panels.flat)[len(curves):]:
        axes.set_axis_off()
    panels.flat[0].legend(fontsize=7)
    figure.supylabel("work per GPU and second, that of the smallest job = 1", fontsize=8)
    figure.supxlabel("GPUs", fontsize=8)
    return figure


def shares(frame: pd.DataFrame) -> Figure:
    """@return a Figure: mean shares of a step by family"""
    means = frame.groupby("family")[list(SHARES)].mean()
    figure, axes = style.new_figure(8, 1.4 + 0.45 * len(means))
    left = [0.0] * len(means)
    for name in SHARES:
        axes.barh(range(len(means)), means[name], left=left, color=style.colour_of(name), label=name)
        left = [a + b for a, b in zip(left, means[name])]
    axes.set_yticks(range(len(means)), means.index)
    axes.invert_yaxis()
    axes.set(xlabel="share of the step, mean of rows", title="Where the time goes")
    axes.legend(ncols=6, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    return figure


def write_all(frame: pd.DataFrame, points: Sequence[Point], directory: pathlib.Path) -> list[str]:
    """Writes every picture of the card. @return their names"""
    figures = {"times": lambda: times(frame), "ratios": lambda: ratios(frame), "shares": lambda: shares(frame)}
    if points:
        figures["scaling"] = lambda: scaling(points)
    directory.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        with style.theme():
            style.save(figure(), directory / f"{name}.svg")
    return list(figures)
