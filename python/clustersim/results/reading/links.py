# SPDX-License-Identifier: GPL-2.0-only
"""links.csv: what every port did, a row per direction of a link.

Columns: those of links-columns.csv, of which files of other simulators have the needed ones, and worked out here
utilisation (share of the run in which the port was sending, 0 to 1).
"""
import pathlib
from typing import TYPE_CHECKING

from clustersim.results.reading import columns
from clustersim.results.reading.records import read_comma_separated

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.reading.problem import Problems

NEEDED = ("node", "port", "peer", "rate_bps", "tx_bytes", "busy_ns", "pause_ns", "drops")


def read_links(path: pathlib.Path, simulated_ns: float | None, problems: "Problems") -> "pd.DataFrame | None":
    """@param simulated_ns how long the run was, or None @return the ports, or None"""
    kinds = columns.of("links")
    frame = read_comma_separated(path, {name: kinds[name] for name in NEEDED}, problems, kinds)
    if frame is not None:
        frame["utilisation"] = frame["busy_ns"] / simulated_ns if simulated_ns else float("nan")
    return frame
