# SPDX-License-Identifier: GPL-2.0-only
"""reordering.csv: how far packets of each queue pair came out of order.

A row per queue pair with such packets: src, dst (nodes), sport, dport, qpn (at the sender), priority,
out_of_order_packets, reorder_bytes (the farthest that one reached beyond the byte expected next).
"""
import pathlib
from typing import TYPE_CHECKING

from clustersim.results.reading.records import read_comma_separated

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.reading.problem import Problems

COLUMNS = {"src": "int", "dst": "int", "sport": "int", "dport": "int", "qpn": "int", "priority": "int",
           "out_of_order_packets": "int", "reorder_bytes": "int"}


def read_reordering(path: pathlib.Path, problems: "Problems") -> "pd.DataFrame | None":
    """@return the queue pairs, or None"""
    return read_comma_separated(path, COLUMNS, problems)
