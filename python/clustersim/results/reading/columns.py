# SPDX-License-Identifier: GPL-2.0-only
"""The columns of files that the simulator writes. The rows that write them have written *-columns.csv, too."""
import csv
import pathlib

KINDS = {"integer": "int", "number": "float", "text": "text"}


def _rows(table: str) -> list[tuple[str, str]]:
    with (pathlib.Path(__file__).parent / f"{table}-columns.csv").open(newline="", encoding="utf-8") as file:
        return [(name, kind) for name, kind, _ in csv.reader(file)]


def of(table: str) -> dict[str, str]:
    """@return name -> kind, as `records` has them; numbers that may be empty are text"""
    return {name: KINDS.get(kind, "text") for name, kind in _rows(table)}


def may_be_empty(table: str) -> list[str]:
    """@return the columns of numbers that may be empty"""
    return [name for name, kind in _rows(table) if kind not in KINDS]
