# SPDX-License-Identifier: GPL-2.0-only
"""The origin of runs: inputs with their checksums, and every effective option."""
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from clustersim.results.tables.overview import text_of

if TYPE_CHECKING:
    from clustersim.results.run import Run

COST = ("version", "host", "seed", "events", "packets", "packet_hops", "wall_s", "peak_memory_bytes")


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    values: list[str]
    differs: bool


def _rows(names: Iterable[str], dictionaries: Sequence[Mapping[str, object]]) -> list[Row]:
    rows = []
    for name in names:
        values = [text_of(each.get(name)) for each in dictionaries]
        rows.append(Row(name, values, len(set(values)) > 1))
    return rows


def _inputs(run: "Run") -> dict[str, str]:
    inputs = run.info.get("inputs")
    found: dict[str, list[str]] = {}
    for entry in inputs if isinstance(inputs, list) else ():
        if isinstance(entry, dict):
            role = str(entry.get("role", ""))
            found.setdefault(role, []).append(
                f"{entry.get('path', '')} (SHA-256 {str(entry.get('sha256', ''))[:12]})")
    return {role: f"{paths[0]} and {len(paths) - 1} more" if paths[1:] else paths[0]
            for role, paths in found.items()}


def parameters_of(runs: "Sequence[Run]") -> tuple[list[str], list[tuple[str, list[Row]]]]:
    """@return title and rows of each section, of the runs that have a run.json"""
    known = [run for run in runs if run.info]
    if not known:
        return [], []
    inputs = [_inputs(run) for run in known]
    options = [run.options for run in known]
    roles = dict.fromkeys(role for each in inputs for role in each)
    names = sorted({name for each in options for name in each})
    cost = [name for name in COST if any(name in run.info for run in known)]
    return [run.name for run in known], [
        ("Inputs", _rows(roles, inputs)), ("Options", _rows(names, options)),
        ("Run", _rows(cost, [run.info for run in known]))]
