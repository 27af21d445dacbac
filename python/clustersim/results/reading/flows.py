# SPDX-License-Identifier: GPL-2.0-only
"""fct.txt: the flows that finished.

Columns: src, dst (hosts, from 0), sport, dport, bytes, start_ns, fct_ns (duration), ideal_ns (the
duration alone), slowdown (fct_ns / ideal_ns; not less than 1 but for rounding).
"""
import pathlib
from typing import TYPE_CHECKING

from clustersim.results.reading.records import read_blank_separated

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.reading.problem import Problems

COLUMNS = {"src": "hex", "dst": "hex", "sport": "int", "dport": "int", "bytes": "int",
           "start_ns": "int", "fct_ns": "int", "ideal_ns": "int"}
FIRST_ADDRESS = 0x0b000001


def read_flows(path: pathlib.Path, problems: "Problems") -> "pd.DataFrame | None":
    """@return the flows in the order of their ends, or None"""
    frame = read_blank_separated(path, COLUMNS, problems)
    if frame is None:
        return None
    for name in ("src", "dst"):
        offset = frame[name] - FIRST_ADDRESS
        frame[name] = offset // 65536 * 256 + offset // 256 % 256
    frame["slowdown"] = frame["fct_ns"] / frame["ideal_ns"].where(frame["ideal_ns"] > 0)
    return frame
