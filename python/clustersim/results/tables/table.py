# SPDX-License-Identifier: GPL-2.0-only
"""A table of results, and its forms: text, Markdown and CSV."""
import csv
import dataclasses
import io
import math
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np

from clustersim import csv_cell
from clustersim.whole_file import write_text


Row = Sequence[Any]  # a plain value for each column


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of plain values; None is an empty cell. Units are in the names of columns.

    digits: column -> digits after the point of its numbers in text and Markdown (default 3); CSV has
    all digits. note: a sentence on how to read it. optional: columns that only CSV has while they are
    zero or empty in all rows. sentences: what the rows say, in words.
    """
    key: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[Row]
    note: str = ""
    digits: dict[str, int] = dataclasses.field(default_factory=dict)
    optional: tuple[str, ...] = ()
    sentences: list[str] = dataclasses.field(default_factory=list)

    def for_people(self) -> "Table":
        """@return the table without optional columns that say nothing"""
        keep = [i for i, name in enumerate(self.columns)
                if name not in self.optional or any(row[i] for row in self.rows)]
        return dataclasses.replace(self, columns=tuple(self.columns[i] for i in keep),
                                   rows=[tuple(row[i] for i in keep) for row in self.rows])

    def records(self) -> list[dict[str, object]]:
        """@return rows as dictionaries by column"""
        return [dict(zip(self.columns, row)) for row in self.rows]

    def cells(self, row: Row) -> list[str]:
        """@return the texts of a row"""
        return [as_cell(value, self.digits.get(name, 3)) for name, value in zip(self.columns, row)]

    def numeric(self) -> list[bool]:
        """@return for each column whether all its values are numbers"""
        return [all(is_number(row[i]) or row[i] is None for row in self.rows)
                and any(row[i] is not None for row in self.rows) for i in range(len(self.columns))]


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def as_cell(value: object, digits: int = 3) -> str:
    """@return how a value reads in a table"""
    if value is None or isinstance(value, (float, np.floating)) and math.isnan(value):
        return ""
    if isinstance(value, (float, np.floating)):
        return f"{value:.{digits}f}"
    return str(value)


def as_text(table: Table, widest: int = 48) -> str:
    """@return the table for a terminal; cells wider than that many characters are shortened"""
    table = table.for_people()
    lines = [[str(name) for name in table.columns], *map(table.cells, table.rows)]
    lines = [[cell if len(cell) <= widest else cell[:widest - 3] + "..." for cell in line]
             for line in lines]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.columns))]
    numeric = table.numeric()
    text = ["  ".join(cell.rjust(width) if right else cell.ljust(width)
                      for cell, width, right in zip(line, widths, numeric)).rstrip() for line in lines]
    return "\n".join([table.title, *text, *(f"- {sentence}" for sentence in table.sentences)])


def as_markdown(table: Table) -> str:
    """@return the table as a section of a Markdown document"""
    def line(cells: Iterable[object]) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
    table = table.for_people()
    text = [f"## {table.title}", ""] + ([table.note, ""] if table.note else [])
    rule = ["---:" if right else "---" for right in table.numeric()]
    words = ["", *(f"- {sentence}" for sentence in table.sentences)] if table.sentences else []
    return "\n".join([*text, line(table.columns), line(rule),
                      *(line(table.cells(row)) for row in table.rows), *words, ""])


def write_csv(table: Table, path: pathlib.Path) -> None:
    """Writes the table with all digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(csv_cell.escape, table.columns))
    for row in table.rows:
        writer.writerow(["" if as_cell(value) == "" else csv_cell.escape(value) for value in row])
    write_text(path, text.getvalue())
