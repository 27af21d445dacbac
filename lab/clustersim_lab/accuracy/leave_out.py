# SPDX-License-Identifier: GPL-2.0-only
"""Predicts tables with figures that they did not inform: each figure that rests on several tables, derived without one
of them."""
import csv
import dataclasses
import pathlib
import re
from collections.abc import Iterable, Mapping

from clustersim.whole_file import write_text
from clustersim_lab.accuracy import evidence, simulate
from clustersim_lab.accuracy.tables import Table

COLUMNS = ("figure", "value", "table", "without it", "error", "error without it")


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """A prediction of a table without its own figure. Errors are mean magnitudes, as fractions."""
    figure: str
    value: float
    table: str
    without: float
    error: float
    error_without: float


def cases(figures: Iterable[evidence.Figure], tables: Iterable[Table]) -> list[tuple[evidence.Figure, Table]]:
    """@return pairs of a figure and a table that is one of several that gave it; tables of many ranks take too long"""
    by_name = {table.name: table for table in tables if table.machine.ranks < simulate.MANY_RANKS}
    return [(figure, by_name[name]) for figure in figures if len(figure.shown) > 1
            for name, value in figure.shown.items() if value is not None and name in by_name]


def mean_error(table: Table, simulated: Mapping[int, simulate.Simulated]) -> float:
    """@return the mean magnitude of the error of the bus bandwidth over the sizes that count, as a fraction"""
    counted = [abs(row.microseconds / simulated[row.size].microseconds - 1) for row in table.rows if not row.doubt]
    return sum(counted) / len(counted)


def recorded_errors(path: pathlib.Path) -> dict[str, float]:
    """@return by table, the mean error that a record of the card has over the sizes that count"""
    errors: dict[str, list[float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if not row["doubt"]:
                errors.setdefault(row["table"], []).append(abs(float(row["error"])))
    return {table: sum(values) / len(values) for table, values in errors.items()}


def leave_out(figure: evidence.Figure, table: Table, error: float, directory: pathlib.Path, program: pathlib.Path,
              gpu_table: pathlib.Path) -> LeftOut:
    """@param error the table's error with the figure as it is
    @return that error, and the one with the figure as the other tables alone show it"""
    path = directory / f"{table.name}.{re.sub('[^A-Za-z0-9]+', '_', figure.name)}.yaml"
    value = figure.without(table.name)
    assert not isinstance(figure.value, list)  # tables show numbers
    directory.mkdir(parents=True, exist_ok=True)
    write_text(path, evidence.file_with(figure, value))
    simulated = simulate.simulate(table, [row.size for row in table.rows], directory / path.stem, program, gpu_table,
                                  "flow", {figure.setting: str(path)})
    return LeftOut(figure.name, figure.value, table.name, round(value, 4), round(error, 4),
                   round(mean_error(table, simulated), 4))


def write(rows: Iterable[LeftOut], path: pathlib.Path) -> None:
    """Writes predictions as a CSV file with COLUMNS."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(dataclasses.astuple(row) for row in rows)


def read(path: pathlib.Path) -> list[LeftOut]:
    """@return the predictions of a file that write() has written"""
    with path.open(encoding="utf-8", newline="") as file:
        return [LeftOut(row["figure"], float(row["value"]), row["table"], float(row["without it"]), float(row["error"]),
                        float(row["error without it"])) for row in csv.DictReader(file)]
