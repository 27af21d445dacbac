# SPDX-License-Identifier: GPL-2.0-only
"""Timelines: collectives of groups, and the work of ranks."""
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clustersim.results.plots import style

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.run import Run
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


SMALLEST_FONT = 5  # in points, that can be read
ROUNDING_NS = 1.5  # by which intervals that follow each other may seem to overlap


def lanes(intervals: Sequence[tuple[float, float]]) -> tuple[list[int], int]:
    """Puts intervals (start, end) in ns that overlap side by side. @return the lane of each, and their number"""
    order = sorted(range(len(intervals)), key=lambda i: intervals[i])
    ends: list[float] = []
    lane = [0] * len(intervals)
    for i in order:
        start, end = intervals[i]
        free = next((k for k, until in enumerate(ends) if until <= start + ROUNDING_NS), len(ends))
        ends[free:free + 1] = [end]
        lane[i] = free
    return lane, max(1, len(ends))


def _natural(text: str) -> list[int | str]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def groups_to_show(collectives: "pd.DataFrame") -> list[str]:
    """@return the groups that get a row: all while they fit, else the first of each kind, evenly"""
    names = sorted(collectives["group"].unique(), key=_natural)
    if len(names) <= style.MOST_ROWS:
        return names
    kinds: dict[str, set[str]] = {}
    for name, kind in zip(collectives["group"], collectives["kind"]):
        kinds.setdefault(kind, set()).add(name)
    each = max(1, style.MOST_ROWS // len(kinds))
    return [name for kind in sorted(kinds) for name in sorted(kinds[kind], key=_natural)[:each]]


def _bars(axes: "Axes", row: int, intervals: Sequence[tuple[float, float]], factor: float, colours: Sequence[str],
          labels: Sequence[str] | None = None, points: float = 0) -> None:
    """Draws intervals into a row, those that overlap one under the other; labels where they fit.

    @param points height of a row, in points as of a font
    """
    lane, count = lanes(intervals)
    paper = axes.get_facecolor()
    height = 0.8 / count
    shortest = 0.006 * axes.get_xlim()[1]  # with an edge that separates it from its neighbours
    for number in range(count):
        mine = [i for i in range(len(intervals)) if lane[i] == number]
        spans = [(intervals[i][0] / factor, (intervals[i][1] - intervals[i][0]) / factor) for i in mine]
        y = row - 0.4 + number * height
        axes.broken_barh(spans, (y, height * 0.94), facecolors=[colours[i] for i in mine], linewidth=0.6,
                         edgecolors=[paper if span[1] > shortest else colours[i] for i, span in zip(mine, spans)])
        if labels and height * points >= SMALLEST_FONT:
            for i, (left, width) in zip(mine, spans):
                if labels[i]:
                    axes.text(left + width / 2, y + 0.47 * height, labels[i], ha="center", va="center",
                              fontsize=min(7, height * points), color=style.on_colour(colours[i]), clip_on=True)


def _key(axes: "Axes", names: Sequence[str]) -> None:
    for name in names:
        axes.broken_barh([], (0, 0), facecolor=style.colour_of(name), label=style.shorten(name))


def collectives(run: "Run") -> "Figure":
    """A row per group: its collectives from first start to last end, coloured by operation."""
    table = run.collectives
    if table is None or not len(table):
        raise style.NothingToDraw(f"{run.name}: no collective finished (collectives.csv)")
    shown = groups_to_show(table)
    count = table["group"].nunique()
    figure, axes = style.new_figure(10, style.rows_height(len(shown)))
    span = table["end_ns"].max()
    factor = style.time_axis(axes, span)
    axes.set_xlim(0, span / factor)
    operations = sorted(table["op"].unique())
    points = 72 * style.row_height(len(shown))
    _key(axes, operations)
    sizes = table["bytes"].unique()
    texts = dict(zip(sizes, style.size_texts(sizes)))
    for row, group in enumerate(shown):
        mine = table[table["group"] == group]
        wide = mine["duration_ns"] > 0.055 * span
        labels = [texts[size] if fits else "" for size, fits in zip(mine["bytes"], wide)]
        _bars(axes, row, list(zip(mine["start_ns"], mine["end_ns"])), factor,
              [style.colour_of(op) for op in mine["op"]], labels, points)
    ranks_of = table.groupby("group")["ranks"].first()
    style.name_rows(axes, [f"{style.shorten(group)} ({ranks_of[group]} ranks)" for group in shown])
    axes.set_title(f"Collectives: {style.shorten(run.name)}")
    if count > len(shown):
        style.remark(axes, f"{len(shown)} of {count} groups, the first of each kind")
    style.legend(axes, len(operations), title="operation")
    return figure


def ranks(run: "Run") -> "Figure":
    """Two rows per rank: what it computed and waited for, and the collectives of its streams."""
    events = run.timeline
    if events is None or not len(events):
        raise style.NothingToDraw(f"{run.name}: no timeline.json; a run with --timeline-ranks N writes it")
    events = events[events["category"].isin(("compute", "wait", "stream"))]
    if not len(events):
        raise style.NothingToDraw(f"{run.name}: timeline.json has no computation, waiting or stream of a rank")
    shown = sorted(events["rank"].unique())[:style.MOST_ROWS // 2]
    figure, axes = style.new_figure(10, style.rows_height(2 * len(shown)))
    span = max(1, (events["start_us"] + events["duration_us"]).max() * 1000)
    factor = style.time_axis(axes, span)
    axes.set_xlim(0, span / factor)
    streams = events["category"] == "stream"
    activities = [name for name in ("compute", "exposed communication", "bubble")
                  if ((events["name"] == name) if name != "compute" else (events["category"] == name)).any()]
    keys = activities + sorted(events.loc[streams, "name"].unique())
    _key(axes, keys)
    names: list[str] = []
    for rank in shown:
        for of_stream in (False, True):
            mine = events[(events["rank"] == rank) & (streams == of_stream)]
            kinds = mine["category"].where(mine["category"] == "compute", mine["name"])
            intervals = [(start * 1000, (start + length) * 1000)
                         for start, length in zip(mine["start_us"], mine["duration_us"])]
            _bars(axes, len(names), intervals, factor, [style.colour_of(kind) for kind in kinds])
            names.append("streams" if of_stream else f"rank {rank}")
        axes.axhline(len(names) - 0.5, color=style.soft_colour(), linewidth=0.5)
    style.name_rows(axes, names)
    axes.set_title(f"Ranks: {style.shorten(run.name)}")
    if len(shown) < events["rank"].nunique():
        style.remark(axes, f"the first {len(shown)} of {events['rank'].nunique()} ranks in timeline.json")
    style.legend(axes, len(keys), title="activity")
    return figure
