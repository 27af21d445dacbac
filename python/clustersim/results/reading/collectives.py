# SPDX-License-Identifier: GPL-2.0-only
"""collectives.csv: one row per collective of each group, in the order of their ends.

Columns: those of collectives-columns.csv, the last two of which files of other simulators lack, and two worked out
here: kind (group without its number) and duration_ns.
"""
import pathlib
from typing import TYPE_CHECKING

from clustersim.results.reading import columns
from clustersim.results.reading.records import read_comma_separated

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.reading.problem import Problems

NOT_NEEDED = ("last_start_ns", "busbw_last_start")


def read_collectives(path: pathlib.Path, problems: "Problems") -> "pd.DataFrame | None":
    """@return the collectives, or None"""
    kinds = columns.of("collectives") | {"ranks": "count"}
    frame = read_comma_separated(path, {name: kind for name, kind in kinds.items() if name not in NOT_NEEDED}, problems,
                                 kinds)
    if frame is None:
        return None
    ends_first = frame["end_ns"] < frame.get("last_start_ns", frame["start_ns"])
    if ends_first.any():
        problems.add(path, 0, f"{ends_first.sum()} collectives end before they start and are left out",
                     "an end after the start")
        frame = frame[~ends_first].reset_index(drop=True)
    kind = frame["group"].str.rstrip("0123456789[]:# -.")
    frame["kind"] = kind.where(kind != "", frame["group"])
    frame["duration_ns"] = frame["end_ns"] - frame["start_ns"]
    return frame
