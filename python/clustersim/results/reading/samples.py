# SPDX-License-Identifier: GPL-2.0-only
"""bandwidth.txt, rate.txt and cnp.txt: samples of ports and of queue pairs.

bandwidth: time_ns (end of the interval), node, port (from 1), gbps (sent in the interval; idle ports
have no line). rates: time_ns, src, dst (node ids), sport, dport, bytes (of the queue pair), gbps, qpn.
cnps: time_ns, src, dst, sport, dport, bytes, cnps (received so far), qpn.
qpn is the queue pair's number at its source. Files of earlier releases have none; it is 0 there.
"""
import pathlib
from typing import TYPE_CHECKING

from clustersim.results.reading.records import read_comma_separated

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.reading.problem import Problems

PAIR = {"time": "int", "src": "int", "dst": "int", "sport": "int", "dport": "int", "size": "int"}
NUMBER = {"qpn": "int"}
BANDWIDTH = {"time": "int", "node_id": "int", "port_id": "int", "bandwidth": "float"}
NAMES = {"time": "time_ns", "node_id": "node", "port_id": "port", "bandwidth": "gbps", "size": "bytes",
         "curr_rate": "gbps", "cnp_number": "cnps"}


def _read(path: pathlib.Path, columns: dict[str, str], problems: "Problems") -> "pd.DataFrame | None":
    frame = read_comma_separated(path, columns, problems)
    return None if frame is None else frame.rename(columns=NAMES)


def _read_pairs(path: pathlib.Path, value: dict[str, str], problems: "Problems") -> "pd.DataFrame | None":
    frame = read_comma_separated(path, PAIR | value, problems, NUMBER)
    if frame is not None and "qpn" not in frame:
        frame["qpn"] = 0
    return None if frame is None else frame.rename(columns=NAMES)


def read_bandwidth(path: pathlib.Path, problems: "Problems") -> "pd.DataFrame | None":
    """@return bandwidth of ports, or None"""
    return _read(path, BANDWIDTH, problems)


def read_rates(path: pathlib.Path, problems: "Problems") -> "pd.DataFrame | None":
    """@return sending rates of queue pairs, or None"""
    return _read_pairs(path, {"curr_rate": "float"}, problems)


def read_cnps(path: pathlib.Path, problems: "Problems") -> "pd.DataFrame | None":
    """@return congestion notifications of queue pairs, or None"""
    return _read_pairs(path, {"cnp_number": "int"}, problems)
