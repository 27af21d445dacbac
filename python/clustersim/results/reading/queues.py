# SPDX-License-Identifier: GPL-2.0-only
"""queue.txt: lengths of the queues of switch ports.

Columns: time_ns, node, port (from 1), queue, queue_bytes, port_bytes (all queues of the port). Empty
queues have no line: see Run.queue_samples for how many samples there were.

The HPCC simulator writes a histogram of each port's length instead, in KB, since the start. A row is then
a bar of the last one: time_ns is its time, queue is -1, queue_bytes and port_bytes are the length, and
the column samples is the number of samples of that length.
"""
import pathlib
from typing import TYPE_CHECKING

import pandas as pd

from clustersim.results.reading.records import read_comma_separated, whole_lines

if TYPE_CHECKING:
    from clustersim.results.reading.problem import Problems

COLUMNS = {"time": "int", "sw_id": "int", "port_id": "int", "q_id": "int", "q_len": "int",
           "port_len": "int"}
NAMES = {"time": "time_ns", "sw_id": "node", "port_id": "port", "q_id": "queue", "q_len": "queue_bytes",
         "port_len": "port_bytes"}


def read_queues(path: pathlib.Path, problems: "Problems") -> pd.DataFrame | None:
    """@return the samples, or None"""
    try:
        with path.open("rb") as file:
            histogram = file.read(5) == b"time:"
    except OSError:
        histogram = False
    if histogram:
        return _read_histogram(path, problems)
    frame = read_comma_separated(path, COLUMNS, problems)
    return None if frame is None else frame.rename(columns=NAMES)


def _read_histogram(path: pathlib.Path, problems: "Problems") -> pd.DataFrame | None:
    data = whole_lines(path, problems)
    if data is None:
        return None
    time, rows, wrong = 0, {}, []
    for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
        try:
            if line.startswith("time:"):
                time = int(line[5:])
            elif line.strip():
                node, port, *counts = map(int, line.split())
                rows[node, port] = (time, counts)  # each dump counts from the start
        except ValueError:
            wrong.append(number)
    if wrong:
        problems.add(path, wrong[0], f"{len(wrong)} lines such as this one are left out",
                     "time: NS, or SWITCH PORT COUNT...")
    return pd.DataFrame([(time, node, port, -1, kilobytes * 1000, kilobytes * 1000, count)
                         for (node, port), (time, counts) in rows.items()
                         for kilobytes, count in enumerate(counts) if count],
                        columns=[*NAMES.values(), "samples"])
