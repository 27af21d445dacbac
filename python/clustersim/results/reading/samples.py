# SPDX-License-Identifier: GPL-2.0-only
"""bandwidth.txt, rate.txt and cnp.txt: samples of ports and of queue pairs.

bandwidth: time_ns (end of the interval), node, port (from 1), gbps (sent in the interval; idle ports
have no line). rates: time_ns, src, dst (node ids), sport, dport, bytes (of the queue pair), gbps.
cnps: time_ns, src, dst, sport, dport, bytes, cnps (received so far).
"""
import pathlib
from typing import TYPE_CHECKING

from clustersim.results.reading.records import read_comma_separated

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.reading.problem import Problems

PAIR = {"time": "int", "src": "int", "dst": "int", "sport": "int", "dport": "int", "size": "int"}
BANDWIDTH = {"time": "int", "node_id": "int", "port_id": "int", "bandwidth": "float"}
NAMES = {"time": "time_ns", "node_id": "node", "port_id": "port", "bandwidth": "gbps", "size": "bytes",
         "curr_rate": "gbps", "cnp_number": "cnps"}


def _read(path: pathlib.Path, columns: dict[str, str], problems: "Problems") -> "pd.DataFrame | None":
    frame = read_comma_separated(path, columns, problems)
    return None if frame is None else frame.rename(columns=NAMES)


def read_bandwidth(path: pathlib.Path, problems: "Problems") -> "pd.DataFrame | None":
    """@return bandwidth of ports, or None"""
    return _read(path, BANDWIDTH, problems)


def read_rates(path: pathlib.Path, problems: "Problems") -> "pd.DataFrame | None":
    """@return sending rates of queue pairs, or None"""
    return _read(path, PAIR | {"curr_rate": "float"}, problems)


def read_cnps(path: pathlib.Path, problems: "Problems") -> "pd.DataFrame | None":
    """@return congestion notifications of queue pairs, or None"""
    return _read(path, PAIR | {"cnp_number": "int"}, problems)
