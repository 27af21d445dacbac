# SPDX-License-Identifier: GPL-2.0-only
"""links.csv: what every port did, a row per direction of a link.

Columns: node, port (from 1), peer, rate_bps, tx_bytes, busy_ns, pause_ns, drops, and worked out here
utilisation (share of the run in which the port was sending, 0 to 1). Runs of this simulator also have
ecn_marks (frames marked CE as they left by the port), messages (counted on the link), used_by (such as
"AllReduce DP 92%; AllReduce TP 8%") and largest_flows (hosts and their share, such as "0>8 45%; 1>9 20%").
"""
import pathlib
from typing import TYPE_CHECKING

from clustersim.results.reading.records import read_comma_separated

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.reading.problem import Problems

COLUMNS = {"node": "int", "port": "int", "peer": "int", "rate_bps": "int", "tx_bytes": "int",
           "busy_ns": "float", "pause_ns": "float", "drops": "int"}
OPTIONAL = {"messages": "int", "used_by": "text", "largest_flows": "text"}


def read_links(path: pathlib.Path, simulated_ns: float | None, problems: "Problems") -> "pd.DataFrame | None":
    """@param simulated_ns how long the run was, or None @return the ports, or None"""
    frame = read_comma_separated(path, COLUMNS, problems, OPTIONAL)
    if frame is not None:
        frame["utilisation"] = frame["busy_ns"] / simulated_ns if simulated_ns else float("nan")
    return frame
