# SPDX-License-Identifier: GPL-2.0-only
"""Prints the bandwidth of each kind of collective of a run as a table.

Usage: scripts/busbw_table.py RUN_DIRECTORY

Reads collectives.csv of the run, which may also be named by its file PREFIXEndToEnd.csv (SimAI_analytical -r).
Collectives of the same operation, kind of group and size (one per group) make one row: the slowest of them gives the
time, the bandwidths are the medians. They are from the first rank's start to the last one's end; "from last start"
begins when the last rank has started, and is shown where it differs.
"""
import collections
import pathlib
import statistics
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from clustersim.required_modules import require

require("numpy", "pandas", "yaml")

from clustersim import command
from clustersim.results import ResultsError, files
from clustersim.results.reading.problem import Problems

Record = dict[str, Any]  # a collective, by column
LATE = "from last start GB/s"
COLUMNS = ("op", "group", "ranks", "bytes", "algorithm", "protocol", "count", "time us", "algbw GB/s",
           "busbw GB/s", LATE)


def read(directory: str) -> list[Record]:
    """@return the collectives as dictionaries; what cannot be read is said on standard error"""
    from clustersim.results.reading.collectives import read_collectives  # loads pandas
    place, problems = pathlib.Path(directory) / "collectives.csv", Problems()
    if place.parent.is_file() or place.with_name("run.json").is_file():
        from clustersim.results import open_run  # loads pandas
        run = open_run(directory)
        place, problems = run.directory / f"{run.prefix}collectives.csv", run.problems
    path = files.whole_or_part(place)
    if not path.is_file():
        raise ResultsError(f"{path}: no such file; expected the output directory of a run")
    frame = read_collectives(path, problems)
    if frame is None:
        raise ResultsError(str(problems[0]))
    for problem in problems:
        print(f"warning: {problem}", file=sys.stderr)
    return frame.to_dict("records")


def starts_late(collectives: list[Record]) -> bool:
    """@return whether some rank starts so late that a bandwidth is more from the last start"""
    return any(record.get("busbw_last_start", 0) > 1.01 * record["busbw"] for record in collectives)


def rows(collectives: list[Record]) -> Iterator[tuple[object, ...]]:
    """@return a row of each kind of collective, its cells in the order of COLUMNS"""
    groups = collections.defaultdict(list)
    for record in collectives:
        key = tuple(record[name] for name in ("op", "kind", "ranks", "bytes", "algorithm", "protocol"))
        groups[key].append(record)
    for key in sorted(groups, key=lambda k: (k[0], k[1], k[2], k[3])):
        records = groups[key]
        slowest = max(r["duration_ns"] for r in records)
        yield (*key, len(records), f"{slowest / 1000:.3f}",
               f"{statistics.median(r['algbw'] for r in records):.2f}",
               f"{statistics.median(r['busbw'] for r in records):.2f}",
               f"{statistics.median(r.get('busbw_last_start') or r['busbw'] for r in records):.2f}")


def render(table: Iterable[tuple[object, ...]], columns: tuple[str, ...]) -> str:
    """@param columns names of the first columns, which are shown"""
    texts = [columns, *(tuple(str(cell) for cell in row[:len(columns)]) for row in table)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(columns))]
    numeric = [i for i, name in enumerate(columns)
               if name not in ("op", "group", "algorithm", "protocol")]
    return "\n".join("  ".join(cell.rjust(w) if i in numeric else cell.ljust(w)
                               for i, (cell, w) in enumerate(zip(row, widths))).rstrip()
                     for row in texts)


def main(arguments: list[str]) -> int:
    if {"-h", "--help"} & set(arguments):
        print(__doc__.strip())
        return 0
    if len(arguments) != 1:
        print(f"{command.name()}: {len(arguments)} arguments; expected one, the directory of a run", file=sys.stderr)
        return 2
    collectives = read(arguments[0])
    print(render(rows(collectives), COLUMNS if starts_late(collectives) else COLUMNS[:-1]))
    return 0


def run() -> None:
    command.run(command.name(), main, ResultsError)
