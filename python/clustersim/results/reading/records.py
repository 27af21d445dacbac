# SPDX-License-Identifier: GPL-2.0-only
"""Reads files of records, one a line; lines that are none are left out and reported.

All numbers of results are finite and none is negative: a line with another one is not a record.
"""
import codecs
import csv
import io
import pathlib
import re
from collections.abc import Callable, Mapping
from typing import Any
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from clustersim import csv_cell

if TYPE_CHECKING:
    from clustersim.results.reading.problem import Problems

REST = "_rest"  # fields beyond those of a record
# Hexadecimals are few different texts, such as addresses: each is read once.
DTYPES: dict[str, Any] = {"int": np.int64, "count": np.int64, "float": np.float64, "text": str, "hex": "category"}
MOST = float(1 << 62)  # above what any clock or counter holds


def whole_lines(path: pathlib.Path, problems: "Problems") -> bytes | None:
    """@return the bytes of a file without a byte order mark and a last line that was cut off, or None if it cannot be
    read"""
    try:
        data = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        problems.add(path, 0, f"cannot be read ({error.strerror})", "a file of the run")
        return None
    if data and not data.endswith(b"\n"):
        whole, _, _ = data.rpartition(b"\n")
        problems.add(path, data.count(b"\n") + 1, "the file is cut off in this line, which is left out",
                     "a line end (has the run finished?)")
        data = whole + b"\n" if whole else b""
    return data


def read_blank_separated(path: pathlib.Path, columns: Mapping[str, str], problems: "Problems") -> pd.DataFrame | None:
    """Reads a file without a header line.

    @param columns name -> "int", "count" (an integer above 0), "float", "text" or "hex" (an integer)
    @return DataFrame, or None if the file cannot be read
    """
    data = whole_lines(path, problems)
    return None if data is None else _frame(path, data, 0, columns, None, problems)


def read_comma_separated(path: pathlib.Path, columns: dict[str, str], problems: "Problems",
                         optional: dict[str, str] | None = None) -> pd.DataFrame | None:
    """Reads a file with a header line, which may name more columns than these.

    @param columns the required columns @param optional columns that files of other versions lack
    @return DataFrame with the file's columns, or None if it cannot be read or lacks one of columns
    """
    data = whole_lines(path, problems)
    if data is None:
        return None
    first = data.split(b"\n", 1)[0].decode(errors="replace")
    names = [name.strip() for name in first.split(",")] if first.strip() else []
    missing = [name for name in columns if name not in names]
    if missing or len(set(names)) < len(names):
        problems.add(path, 1, f"the columns {', '.join(missing)} are missing" if names and missing else
                     "a column is there twice" if names else "the file has no header line", ",".join(columns))
        return None
    known = columns | (optional or {})
    frame = _frame(path, data, 1, {name: known.get(name, "text") for name in names}, ",", problems)
    extra = [name for name in names if name not in known]
    for name in extra:
        numbers = pd.to_numeric(frame[name], errors="coerce")
        if len(numbers) and not numbers.isna().any():
            frame[name] = numbers
    return frame


def _frame(path: pathlib.Path, data: bytes, header_lines: int, columns: Mapping[str, str], separator: str | None,
           problems: "Problems") -> pd.DataFrame:
    frame = _all_at_once(data, header_lines, columns, separator)
    if frame is None:
        frame = _line_by_line(path, data, header_lines, columns, separator, problems)
    for name, kind in columns.items():
        if kind == "hex":
            frame[name] = _integers_of_hexadecimals(frame[name])
        elif kind == "text" and len(frame) and frame[name].str.startswith("'").any():
            frame[name] = frame[name].map(csv_cell.unescape)
    return frame


def _all_at_once(data: bytes, header_lines: int, columns: Mapping[str, str],
                 separator: str | None) -> pd.DataFrame | None:
    """@return the records if all lines are records, else None"""
    if not data.strip():
        return _empty(columns)
    how = {"sep": separator, "skipinitialspace": True} if separator else {"sep": r"\s+"}
    try:
        with np.errstate(invalid="ignore"):  # pandas tries a cast before it refuses it
            frame = pd.read_csv(io.BytesIO(data), header=None, skiprows=header_lines, index_col=False,
                                names=[*columns, REST], keep_default_na=False, na_values=[""],
                                low_memory=False, **how,
                                dtype={**{n: DTYPES[kind] for n, kind in columns.items()}, REST: str})
    except pd.errors.EmptyDataError:
        return _empty(columns)
    except (ValueError, OverflowError):  # ParserError is a ValueError
        return None
    numbers = [name for name, kind in columns.items() if kind != "text"]
    if frame[REST].notna().any() or frame[numbers].isna().any(axis=None):
        return None
    if any((frame[name] < (kind == "count")).any() or (frame[name] > MOST).any() for name, kind in columns.items()
           if kind not in ("text", "hex")):
        return None
    words = [name for name, kind in columns.items() if kind == "text"]
    # A record that is too short ends with missing fields; one whose last field is empty does too.
    if words and frame[words].isna().any(axis=None):
        if list(columns)[-1] in words and frame[list(columns)[-1]].isna().any():
            return None
        frame[words] = frame[words].fillna("")
    hexadecimals = [name for name, kind in columns.items() if kind == "hex"]
    if any(not re.fullmatch("[0-9a-fA-F]{1,15}", text) for name in hexadecimals for text in frame[name].cat.categories):
        return None
    return frame.drop(columns=REST)


def _integer(text: str, base: int = 10, least: int = 0) -> int:
    value = int(text, base)
    if not least <= value < MOST:
        raise ValueError
    return value


def _real(text: str) -> float:
    value = float(text)
    if not 0 <= value < MOST:
        raise ValueError
    return value


def _line_by_line(path: pathlib.Path, data: bytes, header_lines: int, columns: Mapping[str, str], separator: str | None,
                  problems: "Problems") -> pd.DataFrame:
    convert: dict[str, Callable[[str], object]] = {"int": _integer, "count": lambda text: _integer(text, least=1),
                                                   "float": _real, "text": str.strip,
               "hex": lambda text: f"{_integer(text, 16):x}"}
    functions = [convert[kind] for kind in columns.values()]
    rows, wrong = [], []
    for number, line in enumerate(data.decode(errors="replace").split("\n")[:-1], 1):
        if number <= header_lines or not line.strip():
            continue
        try:
            fields = next(csv.reader([line])) if separator else line.split()
            if len(fields) != len(functions):
                raise ValueError
            rows.append([function(field) for function, field in zip(functions, fields)])
        except (ValueError, csv.Error, StopIteration):
            wrong.append(number)
    if wrong:
        more = (f"this line and {len(wrong) - 1} more are no records and are left out" if wrong[1:] else
                "this line is not a record and is left out")
        problems.add(path, wrong[0], more, (separator or " ").join(columns))
    frame = pd.DataFrame(rows, columns=list(columns))
    return frame.astype({name: DTYPES[kind] for name, kind in columns.items()})


def _empty(columns: Mapping[str, str]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype=DTYPES[kind]) for name, kind in columns.items()})


def _integers_of_hexadecimals(texts: pd.Series) -> pd.Series:
    values = np.array([int(text, 16) for text in texts.cat.categories], dtype=np.int64)
    return pd.Series(values[texts.cat.codes] if len(values) else values, index=texts.index, dtype=np.int64)
