# SPDX-License-Identifier: GPL-2.0-only
"""timeline.json (--timeline-ranks): what ranks did when, in Chrome's trace format.

Columns: rank, thread, name, category (compute, wait, stream), start_us, duration_us, layer, group,
collective, phase, bytes (the last five missing where they have no meaning).
"""
import json
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, TYPE_CHECKING

import pandas as pd

from clustersim import input_file

if TYPE_CHECKING:
    from clustersim.results.reading.problem import Problems

COLUMNS = ("rank", "thread", "name", "category", "start_us", "duration_us")
Number = TypeVar("Number", int, float)
MOST = 1 << 34  # bytes of a timeline
MOST_NUMBER = float(1 << 53)
ARGUMENTS = ("layer", "group", "collective", "phase", "bytes")


def read_events(path: str | pathlib.Path, problems: "Problems") -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields line and event, an object of JSON, of each line of a file that holds one."""
    try:
        lines = input_file.read_text(path, errors="replace", most=MOST).splitlines()
    except OSError as error:
        problems.add(path, 0, f"cannot be read ({error.strerror})", "a timeline of the run")
        return
    for number, line in enumerate(lines, 1):
        if line.strip() in ("", "[", "]"):
            continue
        try:
            event = json.loads(line.rstrip().rstrip(","))
        except (ValueError, RecursionError):
            event = None
        if isinstance(event, dict) and isinstance(event.get("args", {}), dict):
            yield number, event
        else:
            problems.add(path, number, "this line is cut off or no event and is left out",
                         "one event of Chrome's trace format a line")
    if not lines or lines[-1].strip() != "]":
        problems.add(path, len(lines), "the file is cut off", "a last line ]")


def whole(event: Mapping[str, Any], name: str, of: Callable[[Any], Number]) -> Number:
    """@return a number of an event, 0 or more @raise ValueError it is none, TypeError likewise, KeyError there is
    none"""
    value = event[name]
    if isinstance(value, bool) or not 0 <= value < MOST_NUMBER:
        raise ValueError(name)
    return of(value)


def span_of(event: Mapping[str, Any]) -> tuple[float, float]:
    """@return start and duration of an event, in us @raise ValueError, TypeError, KeyError for the reasons of
    whole()"""
    return whole(event, "ts", float), whole(event, "dur", float)


def _plain(value: object) -> str | float | None:
    """@return the value if it is a text or a number; None if it is nested"""
    return value if isinstance(value, (str, int, float)) else None


def read_timeline(path: pathlib.Path, problems: "Problems") -> pd.DataFrame:
    """@return the events, or None"""
    rows = []
    for number, event in read_events(path, problems):
        try:
            if event.get("ph") == "X":
                more = event.get("args", {})
                rows.append((whole(event, "pid", int), whole(event, "tid", int), str(event["name"]), str(event["cat"]),
                             *span_of(event), *(_plain(more.get(name)) for name in ARGUMENTS)))
        except (KeyError, TypeError, ValueError):
            problems.add(path, number, "this event lacks a field and is left out",
                         "pid tid name cat ts dur")
    return pd.DataFrame(rows, columns=[*COLUMNS, *ARGUMENTS])
