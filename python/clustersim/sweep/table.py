# SPDX-License-Identifier: GPL-2.0-only
"""The table of a sweep: one row per run, as CSV and as Markdown."""
import csv
import io
import json
import pathlib
from collections.abc import Sequence

from clustersim import csv_cell
from clustersim.approximation import approximations_of
from clustersim.sweep.runs import Run

Row = dict[str, str | float]  # by column
COLUMNS = ("topology", "conf", "workload", "env", "network", "status", "total time us", "vs best",
           "compute us", "exposed comm us", "exposed TP us", "exposed DP us", "exposed EP us",
           "exposed DP_EP us", "exposed PP us", "exposed CP us", "exposed other us", "bubble us", "flows",
           "pauses", "drops", "wall s", "memory MB", "note")
# Columns of the table and of EndToEnd.csv's summary.
SUMMARY = {"total time us": "Total time", "compute us": "total comp",
           "exposed comm us": "total exposed comm", "exposed TP us": "Expose TP comm",
           "exposed DP us": "Expose DP comm", "exposed EP us": "Expose_EP_comm",
           "exposed DP_EP us": "Expose DP_EP comm", "exposed PP us": "Expose_PP_comm",
           "exposed CP us": "Expose_CP_comm", "exposed other us": "Expose_other_comm",
           "bubble us": "bubble time"}


def _summary(directory: pathlib.Path) -> dict[str, float]:
    """@return the summary of EndToEnd.csv, numbers by column of the table"""
    with (directory / "EndToEnd.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, skipinitialspace=True))
    if not rows[-1] or rows[-1][0] != "total exposed comm":
        raise ValueError("cut off")
    values = dict(zip(rows[0], rows[1]))
    return {ours: float(values[theirs].split()[0]) for ours, theirs in SUMMARY.items()}


def row_of(run: Run, note: str) -> Row:
    """@return the row of a run; an unfinished run has a status and a note, and no times"""
    case = run.case
    row: Row = {name: "" for name in COLUMNS}
    row |= {
        "topology": case.topology.name, "conf": case.conf.name, "workload": case.workload.name,
        "env": case.env.name, "network": case.network.name, "status": "not run", "note": note}
    try:
        record = json.loads((run.directory / "run.json").read_text(encoding="utf-8"))
        row["status"] = record["status"]
    except FileNotFoundError:
        return row
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return row | {"status": "cut off"}
    row |= {"flows": record.get("flows", ""), "pauses": record.get("pauses", ""),
            "drops": record.get("drops", ""), "wall s": record.get("wall_s", ""),
            "memory MB": record.get("peak_memory_bytes", 0) / 1e6}
    if record["status"] == "finished":
        row["note"] = row["note"] or approximations_of(record)
        try:
            row |= _summary(run.directory)
        except (OSError, ValueError, KeyError, IndexError, csv.Error):
            row["note"] = row["note"] or "EndToEnd.csv is missing or cut off"
    return row


def add_ratios(rows: Sequence[Row]) -> None:
    """Sets "vs best": the time over that of the fastest run of the same workload."""
    best: dict[str, float] = {}
    for row in rows:
        if isinstance(time := row["total time us"], float):
            key = str(row["workload"])
            best[key] = min(best.get(key, time), time)
    for row in rows:
        if isinstance(time := row["total time us"], float) and (least := best[str(row["workload"])]) > 0:
            row["vs best"] = time / least


def _cell(name: str, value: str | float) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3f}" if name in ("vs best", "wall s") else f"{value:.1f}"


def to_csv(rows: Sequence[Row]) -> str:
    """@return the table with all COLUMNS as CSV"""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_cell.escape(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def to_markdown(rows: Sequence[Row]) -> str:
    """@return the table without the columns in which no row has anything to say"""
    columns = [name for name in COLUMNS
               if any(row[name] not in ("", 0, 0.0) for row in rows) or name in ("status", "total time us")]
    table = [columns, *([_cell(name, row[name]).replace("|", "\\|") for name in columns] for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
    numeric = [any(isinstance(row[name], (int, float)) for row in rows) for name in columns]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.rjust(w) if right else cell.ljust(w)
                                 for cell, w, right in zip(cells, widths, numeric)) + " |"

    rule = "|" + "|".join("-" * (w + 1) + (":" if right else "-")
                          for w, right in zip(widths, numeric)) + "|"
    return "\n".join([line(table[0]), rule, *map(line, table[1:])]) + "\n"
