# SPDX-License-Identifier: GPL-2.0-only
"""pfc.txt: when ports were paused; pauses.csv: by whom.

Events have time_ns, node, node_type (0 host, 1 switch, 2 NVSwitch), port (from 1), type (1 paused,
0 resumed), and priority unless the run wrote the HPCC simulator's file (PFC_OUTPUT_FILE). Pauses have node,
node_type, port, start_ns, end_ns, ended; one that did not end before the run has ended False and the end of the run.

pauses.csv: queues that were ever paused, with node, port (from 1), priority, paused_by (node), pauses,
paused_ns, longest_ns, storms (pauses that lasted PFC_WATCHDOG).
"""
import pathlib
from typing import TYPE_CHECKING

import pandas as pd

from clustersim import input_file
from clustersim.results.reading.records import read_blank_separated, read_comma_separated

if TYPE_CHECKING:
    from clustersim.results.reading.problem import Problems

QUEUES = {"node": "int", "port": "int", "priority": "int", "paused_by": "int", "pauses": "int",
          "paused_ns": "float", "longest_ns": "float", "storms": "int"}
COLUMNS = {"time_ns": "int", "node": "int", "node_type": "int", "port": "int", "type": "int"}


def read_pause_events(path: pathlib.Path, problems: "Problems") -> pd.DataFrame | None:
    """@return the lines of the file, or None"""
    try:
        input_file.check(path)
        with open(path, encoding="utf-8", errors="replace") as file:
            has_priorities = len(file.readline().split()) > len(COLUMNS)
    except OSError:
        has_priorities = False  # the reader below says what is wrong with the file
    return read_blank_separated(path, {**COLUMNS, "priority": "int"} if has_priorities else COLUMNS, problems)


def read_paused_queues(path: pathlib.Path, problems: "Problems") -> pd.DataFrame | None:
    """@return the queues that were paused, or None"""
    return read_comma_separated(path, QUEUES, problems)


def pauses_of(events: pd.DataFrame, end_ns: float | None) -> pd.DataFrame:
    """Joins pauses and resumes. @param end_ns the end of the run, or None

    A port is paused while any of its priorities is.
    """
    rows = []
    for (node, port), group in events.groupby(["node", "port"], sort=True):
        depth, since = 0, 0
        kind = int(group["node_type"].iloc[0])
        for time, paused in zip(group["time_ns"], group["type"]):
            if paused:
                since = time if depth == 0 else since
                depth += 1
            elif depth:
                depth -= 1
                if depth == 0:
                    rows.append((node, kind, port, since, time, True))
        if depth:
            rows.append((node, kind, port, since, max(since, end_ns or since), False))
    frame = pd.DataFrame(rows, columns=["node", "node_type", "port", "start_ns", "end_ns", "ended"])
    return frame.astype({"node": int, "node_type": int, "port": int, "start_ns": float, "end_ns": float,
                         "ended": bool})
