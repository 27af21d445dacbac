# SPDX-License-Identifier: GPL-2.0-only
"""Where the time of a run went, by EndToEnd.csv."""
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clustersim.results import breakdown as parts_of_time
from clustersim.results.plots import style

if TYPE_CHECKING:
    from clustersim.results.run import Run
    from matplotlib.figure import Figure

READABLE = 0.05  # of the width: a part that is narrower has no label in it


def _colour(index: int) -> str:
    # The rest is nothing in particular.
    return style.soft_colour() if index == parts_of_time.OTHER[1] else style.colour(index)


def breakdown(runs: "Sequence[Run]") -> "Figure":
    """A bar per job: computation, exposed communication of each kind of group, bubble."""
    found = parts_of_time.breakdowns(runs)
    longest = 1e3 * max((job.total_us for job in found), default=0)
    if not longest:
        raise style.NothingToDraw("no run has a time to divide (EndToEnd.csv)")
    names = parts_of_time.parts_that_occur(found)
    legend_height = (0.4 if len(found) == 1 else 0.2) * len(names)
    figure, axes = style.new_figure(10.5, max(style.rows_height(len(found)), 0.4 + legend_height))
    factor = style.time_axis(axes, longest)
    axes.set_xlim(0, longest / factor)
    axes.set_xlabel(axes.get_xlabel().replace("simulated time", "time, mean over ranks"))
    left = np.zeros(len(found))
    for name, index in names:
        times = np.array([sum(1e3 * part.us for part in job.parts if part.name == name) for job in found])
        label = name
        if len(found) == 1:
            label += f"\n{style.time_text(times[0])}, {100 * times[0] / longest:.2f}%"
        axes.barh(range(len(found)), times / factor, left=left, color=_colour(index), label=label, height=0.7)
        for row, (start, width) in enumerate(zip(left, times / factor)):
            if width * factor > READABLE * longest:
                share = 100 * width * factor / (1e3 * found[row].total_us)
                axes.text(start + width / 2, row, f"{share:.0f}%", ha="center", va="center", fontsize=8,
                          color=style.on_colour(_colour(index)))
        left += times / factor
    style.name_rows(axes, [f"{style.shorten(job.name)}\n{style.time_text(1e3 * job.total_us)}" for job in found])
    axes.set_title("Where the time goes")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0, alignment="left")
    return figure
