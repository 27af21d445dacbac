# SPDX-License-Identifier: GPL-2.0-only
"""Requests that were served: distributions of their times, and where the time went."""
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter

from clustersim.results.plots import style

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.run import Run
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TIMES = (("ttft_us", "time to first token"), ("tpot_us", "time per output token"), ("e2e_us", "end to end"))
PHASES = (("queue_us", "queue"), ("prefill_us", "prefill"), ("transfer_us", "transfer of the cache"),
          ("decode_us", "decode"))


def _served(runs: "Sequence[Run]") -> "list[tuple[Run, pd.DataFrame]]":
    found = [(run, run.served) for run in runs if run.served is not None and len(run.served)]
    if not found:
        raise style.NothingToDraw("no run has served requests (requests.csv of an INFERENCE workload)")
    return found


def _scale(axes: "Axes", shortest: float, longest: float, factor: float) -> None:
    if longest < 10 * shortest:  # which is 1 ns at least
        axes.set_xlim(0, 1.05 * longest / factor)
        return
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if longest < 100 * shortest else (1,)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def latencies(runs: "Sequence[Run]") -> "Figure":
    """Share of the requests that took at most so long: to the first token, per token, to the last; a line per run."""
    found = _served(runs)
    figure, panels = style.new_figure(13, 4.4, columns=3, sharey=True)
    for axes, (column, name) in zip(panels, TIMES):
        every = [(run, np.sort(1e3 * frame[column].dropna().to_numpy())) for run, frame in found]
        every = [(run, times) for run, times in every if len(times)]
        axes.set_title(name[0].upper() + name[1:])
        axes.set_ylim(0, 101)
        if not every:
            continue
        longest = max(1, *(times[-1] for _, times in every))
        factor, unit = style.time_unit(longest)
        for i, (run, times) in enumerate(every):
            x, y = style.cumulative(times / factor)
            axes.plot(x, y, drawstyle="steps-post", label=style.shorten(run.name), **style.line(i))
        _scale(axes, max(1, min(times[0] for _, times in every)), longest, factor)
        axes.set_xlabel(f"{name} ({unit})")
    panels[0].set_ylabel("requests that took at most this long (%)")
    style.legend(panels[2], len(found), title="run")
    return figure


def phases(runs: "Sequence[Run]") -> "Figure":
    """Where the mean request spent its time, a bar per run."""
    found = _served(runs)
    figure, axes = style.new_figure(10.5, style.rows_height(len(found)))
    longest = max(1e3 * frame["e2e_us"].mean() for _, frame in found)
    factor, unit = style.time_unit(longest)
    left = np.zeros(len(found))
    for column, name in PHASES:
        widths = np.array([1e3 * frame[column].mean() / factor for _, frame in found])
        axes.barh(range(len(found)), widths, left=left, color=style.colour_of(name), label=name)
        for row, (start, width) in enumerate(zip(left, widths)):
            if width > 0.06 * longest / factor:
                axes.text(start + width / 2, row, style.number_text(width), ha="center", va="center", fontsize=8,
                          color=style.on_colour(style.colour_of(name)))
        left += widths
    style.name_rows(axes, [style.shorten(run.name) for run, _ in found])
    axes.set_xlabel(f"mean over requests ({unit})")
    axes.set_title("Where requests spend their time")
    style.legend(axes, len(PHASES))
    return figure
