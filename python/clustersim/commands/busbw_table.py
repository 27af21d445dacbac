# SPDX-License-Identifier: GPL-2.0-only
"""Prints the bandwidth of each kind of collective of a run as a table.

Usage: scripts/busbw_table.py RUN_DIRECTORY

Reads collectives.csv of the run. Collectives of the same operation, kind of group and size (one per
group) make one row: the slowest of them gives the time, the bandwidths are the medians. They are from the
first rank's start to the last one's end; "from last start" begins when the last rank has started, and is shown
where it differs.
"""
import collections
import csv
import pathlib
import statistics
import sys

from clustersim import command

LATE = "from last start GB/s"
COLUMNS = ("op", "group", "ranks", "bytes", "algorithm", "protocol", "count", "time us", "algbw GB/s",
           "busbw GB/s", LATE)
NEEDED = ("op", "group", "ranks", "bytes", "algorithm", "protocol", "start_ns", "end_ns", "algbw",
          "busbw")


class InputError(Exception):
    pass


def kind_of(group):
    """@return the kind of a group: "DP" of "DP3", "DP 3", "DP[3]" or "DP"."""
    return group.rstrip("0123456789[]:# -.") or group


def read(directory):
    path = pathlib.Path(directory) / "collectives.csv"
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected the output directory of a run")
    with path.open(newline="") as file:
        reader = csv.DictReader(file, skipinitialspace=True)
        missing = [name for name in NEEDED if name not in (reader.fieldnames or ())]
        if missing:
            raise InputError(f"{path}:1: lacks the columns {', '.join(missing)}")
        return list(reader)


def starts_late(collectives):
    """@return whether some rank starts so late that a bandwidth is more from the last start"""
    return any(float(record.get("busbw_last_start") or 0) > 1.01 * float(record["busbw"]) for record in collectives)


def rows(collectives):
    """@return a row of each kind of collective, its cells in the order of COLUMNS"""
    groups = collections.defaultdict(list)
    for record in collectives:
        key = (record["op"], kind_of(record["group"]), int(record["ranks"]), int(record["bytes"]),
               record["algorithm"], record["protocol"])
        groups[key].append(record)
    for key in sorted(groups, key=lambda k: (k[0], k[1], k[2], k[3])):
        records = groups[key]
        slowest = max(float(r["end_ns"]) - float(r["start_ns"]) for r in records)
        yield (*key, len(records), f"{slowest / 1000:.3f}",
               f"{statistics.median(float(r['algbw']) for r in records):.2f}",
               f"{statistics.median(float(r['busbw']) for r in records):.2f}",
               f"{statistics.median(float(r.get('busbw_last_start') or r['busbw']) for r in records):.2f}")


def render(table, columns):
    """@param columns names of the first columns, which are shown"""
    table = [columns, *(tuple(str(cell) for cell in row[:len(columns)]) for row in table)]
    widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
    numeric = [i for i, name in enumerate(columns)
               if name not in ("op", "group", "algorithm", "protocol")]
    return "\n".join("  ".join(cell.rjust(w) if i in numeric else cell.ljust(w)
                               for i, (cell, w) in enumerate(zip(row, widths))).rstrip()
                     for row in table)


def main(arguments):
    if {"-h", "--help"} & set(arguments):
        print(__doc__.strip())
        return 0
    if len(arguments) != 1:
        print(f"{command.name()}: {len(arguments)} arguments; expected one, the directory of a run", file=sys.stderr)
        return 2
    collectives = read(arguments[0])
    print(render(rows(collectives), COLUMNS if starts_late(collectives) else COLUMNS[:-1]))
    return 0


def run():
    command.run(command.name(), main, (InputError, ValueError))
