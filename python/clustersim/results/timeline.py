# SPDX-License-Identifier: GPL-2.0-only
"""timeline.json (--timeline-ranks): what ranks did when, in Chrome's trace format.

Columns: rank, thread, name, category (compute, wait, stream), start_us, duration_us, layer, group,
collective, phase, bytes (the last five missing where they have no meaning).
"""
import json

import pandas as pd

COLUMNS = ("rank", "thread", "name", "category", "start_us", "duration_us")
ARGUMENTS = ("layer", "group", "collective", "phase", "bytes")


def _events(path, problems):
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError as error:
        problems.add(path, 0, f"cannot be read ({error.strerror})", "a timeline of the run")
        return
    for number, line in enumerate(lines, 1):
        if line.strip() in ("", "[", "]"):
            continue
        try:
            yield number, json.loads(line.rstrip().rstrip(","))
        except json.JSONDecodeError:
            problems.add(path, number, "this line is cut off or no event and is left out",
                         "one event of Chrome's trace format a line")
    if not lines or lines[-1].strip() != "]":
        problems.add(path, len(lines), "the file is cut off", "a last line ]")


def read_timeline(path, problems):
    """@return the events, or None"""
    rows = []
    for number, event in _events(path, problems):
        try:
            if event.get("ph") == "X":
                more = event.get("args", {})
                rows.append((event["pid"], event["tid"], event["name"], event["cat"], event["ts"],
                             event["dur"], *(more.get(name) for name in ARGUMENTS)))
        except (AttributeError, KeyError):
            problems.add(path, number, "this event lacks a field and is left out",
                         "pid tid name cat ts dur")
    return pd.DataFrame(rows, columns=[*COLUMNS, *ARGUMENTS])
