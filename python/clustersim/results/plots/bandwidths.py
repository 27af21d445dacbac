# SPDX-License-Identifier: GPL-2.0-only
"""Bus bandwidth of collectives against their size, with published measurements."""
import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TYPE_CHECKING

import pandas as pd

from clustersim.results import ResultsError
from clustersim.results.plots import style

if TYPE_CHECKING:
    from clustersim.results.run import Run
    from matplotlib.figure import Figure

PUBLISHED = pathlib.Path(__file__).with_name("published_busbw.csv")
MARKERS = "os^Dv<>P*dX"  # one for each kind of collective, which may have a single size
COLUMNS = ["source", "gpu_type", "op", "ranks", "bytes", "busbw"]


def read_published(path: str | pathlib.Path = PUBLISHED) -> pd.DataFrame:
    """@return measurements, busbw in GB/s by source, GPU type, operation, ranks and bytes"""
    try:
        frame = pd.read_csv(path, comment="#", skipinitialspace=True)
        if list(frame.columns) != COLUMNS:
            raise ValueError(f"its columns are {', '.join(map(str, frame.columns))}")
        return frame.astype({"ranks": int, "bytes": int, "busbw": float})
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be used ({error}); expected the columns {', '.join(COLUMNS)}") from None


def curves(run: "Run") -> dict[tuple[str, str, int], dict[int, float]]:
    """@return (op, kind of group, ranks) -> median busbw in GB/s by bytes, from the last start where it is known"""
    assert run.collectives is not None
    column = "busbw_last_start" if "busbw_last_start" in run.collectives else "busbw"
    table = run.collectives.groupby(["op", "kind", "ranks", "bytes"])[column].median()
    found: dict[tuple[str, str, int], dict[int, float]] = {}
    for (op, kind, ranks, size), busbw in table.items():
        found.setdefault((op, kind, ranks), {})[size] = busbw
    return found


def _fitting(published: pd.DataFrame, run: "Run", keys: Iterable[tuple[str, str, int]]) -> Iterator[tuple[str,
    pd.DataFrame]]:
    """Yields the measurements of this run's kind of GPU, for operations and groups that it has."""
    if run.topology is None:
        return
    gpu_type = run.topology.gpu_type
    for (source, gpu, op, ranks), rows in published.groupby(["source", "gpu_type", "op", "ranks"]):
        # Measured inside one server: a group over several is another case.
        if gpu == gpu_type and any(key[0] == op and key[2] == ranks for key in keys) \
                and ranks <= run.topology.gpus_per_server:
            name = f"measured: {ranks} × {gpu}, {style.shorten(op)} ({style.shorten(source)})"
            yield name, rows.sort_values("bytes")


def busbw(runs: "Sequence[Run]", published: str | pathlib.Path | None = PUBLISHED) -> "Figure":
    """A line per run, operation and kind of group, and what others measured on such GPUs."""
    runs = [run for run in runs if run.collectives is not None and len(run.collectives)]
    if not runs:
        raise style.NothingToDraw("no run has finished collectives (collectives.csv)")
    measurements = read_published(published) if published else None
    figure, axes = style.new_figure(10, 4.8)
    drawn: dict[str, Any] = {}
    sizes = set()
    kinds = sorted({key for run in runs for key in curves(run)})
    for i, run in enumerate(runs):
        mine = curves(run)
        for key, points in mine.items():
            op, kind, ranks = key
            label = f"{style.shorten(op)}, {style.shorten(kind)} of {ranks}"
            look = style.line(kinds.index(key))
            if len(runs) > 1:
                # A colour for each run, dashes and markers for each kind of collective.
                label = f"{style.shorten(run.name)}: {label}"
                look = {"color": style.colour(i), "linestyle": style.LINES[kinds.index(key) % len(style.LINES)]}
            axes.plot(list(points), list(points.values()), markersize=4.5, label=label,
                      marker=MARKERS[kinds.index(key) % len(MARKERS)], **look)
            sizes |= set(points)
        if measurements is not None:
            drawn |= dict(_fitting(measurements, run, mine))
    largest = max(sizes)
    for i, (label, rows) in enumerate(drawn.items()):
        # Far beyond what was simulated there is nothing to compare.
        rows = rows[rows["bytes"] <= max(4 * largest, rows["bytes"].min())]
        axes.plot(rows["bytes"], rows["busbw"], color=style.ink_colour(), linestyle=style.LINES[1 + i % 3],
                  linewidth=1.2, marker="x", markersize=5, label=label)
        sizes |= set(rows["bytes"])
    axes.set_xscale("log", base=2)
    ticks = style.apart(sorted(sizes), 12)
    axes.set_xticks(ticks, style.size_texts(ticks), **style.slant(len(ticks) > 7))
    axes.set_xticks([], minor=True)
    axes.margins(x=0.05)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("size of the collective, as nccl-tests counts it")
    axes.set_ylabel("bus bandwidth (GB/s)")
    axes.set_title("Bus bandwidth by size")
    if any(run.collectives is not None and "busbw_last_start" in run.collectives for run in runs):
        style.remark(axes, "from the last rank's start to the last rank's end")
    style.legend(axes, style.merge_coinciding(axes), title="collective")
    return figure
