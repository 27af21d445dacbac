# SPDX-License-Identifier: GPL-2.0-only
"""EndToEnd.csv: where the time of an iteration went.

summary has job and, in microseconds, exposed_dp, exposed_dp_ep, exposed_tp, exposed_ep, exposed_pp,
exposed_cp, exposed_other, bubble, compute, exposed, total. layers has job, layer, and for each phase fwd, wg, ig:
<phase>_compute_us, <phase>_exposed_us, <phase>_total_us, <phase>_algbw, <phase>_busbw (GB/s; missing without
communication), and finished_us. The row SUM of the file is left out.
"""
import csv
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, TYPE_CHECKING

import pandas as pd

from clustersim import csv_cell
from clustersim.results.reading.records import MOST, whole_lines

if TYPE_CHECKING:
    from clustersim.results.reading.problem import Problems

SUMMARY = {"Expose DP comm": "exposed_dp", "Expose DP_EP comm": "exposed_dp_ep",
           "Expose TP comm": "exposed_tp", "Expose_EP_comm": "exposed_ep",
           "Expose_PP_comm": "exposed_pp", "Expose_CP_comm": "exposed_cp",
           "Expose_other_comm": "exposed_other", "bubble time": "bubble", "total comp": "compute",
           "total exposed comm": "exposed", "Total time": "total"}
# Files of earlier versions have no such columns.
Summary = dict[str, Any]  # of a job: its name, and microseconds by the names of SUMMARY
Layer = dict[str, Any]  # of a job's layer: names, and numbers by those of LAYER
NEW_IN_SUMMARY = ("Expose_CP_comm", "Expose_other_comm")
LAYER = {"fwd compute": "fwd_compute_us", "wg compute": "wg_compute_us", "ig compute": "ig_compute_us",
         "fwd exposed comm": "fwd_exposed_us", "wg exposed comm": "wg_exposed_us",
         "ig exposed comm": "ig_exposed_us", "fwd total comm": "fwd_total_us",
         "wg total comm": "wg_total_us", "ig total comm": "ig_total_us",
         "workload finished at": "finished_us"}
NUMBER = re.compile(r"\d+(\.\d*)?([eE][-+]?\d+)?")


def _leading_number(text: str) -> float | None:
    """@return the number that a cell such as "12.5 (40.00%)" starts with, or None"""
    found = NUMBER.match(text.strip())
    value = float(found[0]) if found else None
    return value if value is not None and value < MOST else None


def _summary(rows: Sequence[Sequence[str]], path: pathlib.Path, problems: "Problems") -> Summary | None:
    if len(rows) < 2:
        problems.add(path, 1, "the summary is missing", "a line of names and a line of values")
        return None
    values = dict(zip((name.strip() for name in rows[0]), rows[1]))
    found = {}
    for title, name in SUMMARY.items():
        found[name] = _leading_number(values.get(title, "0" if title in NEW_IN_SUMMARY else ""))
        if found[name] is None:
            problems.add(path, 2, f"the summary has no '{title}'", "microseconds under each name")
            return None
    return {"job": csv_cell.unescape(rows[1][0].strip()), **found}


def _layer_columns(header: Sequence[str]) -> list[str | None]:
    """@return name of each cell of a layer's row; algbw and busbw belong to the total before them"""
    names, phase = [], ""
    for title in (cell.strip() for cell in header):
        name = LAYER.get(title)
        if name and name.endswith("_total_us"):
            phase = name.removesuffix("_total_us")
        names.append(f"{phase}_{title}" if title in ("algbw", "busbw") else name)
    return names


def _layers(rows: Sequence[Sequence[str]], path: pathlib.Path, job: str, problems: "Problems") -> list[Layer]:
    start = next((i for i, row in enumerate(rows) if row and row[0].strip() == "layer_name"), None)
    if start is None:
        problems.add(path, min(3, len(rows)), "the layers are missing", "a line layer_name,...")
        return []
    names, found = _layer_columns(rows[start]), []
    for number, row in enumerate(rows[start + 1:], start + 2):
        if not row or row[0] in ("SUM", "total exposed comm"):
            continue
        if len(row) < len(names):
            problems.add(path, number, f"the row has {len(row)} cells and is left out",
                         f"{len(names)}, as the line layer_name has")
            continue
        cells: Layer = {name: _leading_number(cell) for name, cell in zip(names, row) if name}
        found.append({"job": job, "layer": csv_cell.unescape(row[0].strip()), **cells})
    return found


def read_end_to_end(path: pathlib.Path, problems: "Problems") -> tuple[Summary | None, list[Layer]]:
    """@return the summary as a dictionary or None, and the layers as a list of dictionaries"""
    data = whole_lines(path, problems)
    if data is None:
        return None, []
    try:
        rows = list(csv.reader(data.decode(errors="replace").splitlines()))
    except csv.Error as error:
        problems.add(path, 0, f"is not a table ({error})", "a summary and a row for each layer")
        return None, []
    summary = _summary(rows, path, problems)
    layers = _layers(rows, path, summary["job"] if summary else "", problems)
    if not any(row and row[0] == "total exposed comm" for row in rows):
        problems.add(path, len(rows), "the file is cut off", "a last row total exposed comm,...")
    return summary, layers


def number_jobs(results: Sequence[tuple[Summary | None, list[Layer]]]) -> None:
    """Tells jobs of the same name apart: "job (0)", "job (1)". @param results of read_end_to_end()"""
    names = [summary["job"] if summary else "" for summary, _ in results]
    for number, (summary, layers) in enumerate(results):
        if names.count(names[number]) > 1:
            for row in [*([summary] if summary else []), *layers]:
                row["job"] = f"{names[number]} ({number})".lstrip()


def summary_frame(rows: Sequence[Summary]) -> pd.DataFrame:
    """@return a row per job"""
    return _frame(rows, {"job": str, **dict.fromkeys(SUMMARY.values(), float)})


def layers_frame(rows: Sequence[Layer]) -> pd.DataFrame:
    """@return a row per layer of each job"""
    bandwidths = [f"{phase}_{value}" for phase in ("fwd", "wg", "ig") for value in ("algbw", "busbw")]
    return _frame(rows, {"job": str, "layer": str, **dict.fromkeys([*LAYER.values(), *bandwidths], float)})


def _frame(rows: Sequence[Layer], columns: Mapping[str, type]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns)).astype(columns)
