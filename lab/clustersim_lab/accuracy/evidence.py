# SPDX-License-Identifier: GPL-2.0-only
"""The parts of the model that come from measurements: figures, rules and launches, and the tables that each was read
off."""
import dataclasses
import pathlib
import re
import statistics
from collections.abc import Iterable, Mapping
from typing import Any, TYPE_CHECKING

import yaml

from clustersim_lab import ROOT
from clustersim_lab.accuracy import networks

if TYPE_CHECKING:
    from clustersim_lab.accuracy.tables import Machine

FIGURES = pathlib.Path("contrib/collectives/model/nccl/measured-figures.yaml")
MACHINES = pathlib.Path("docs/source/data/measurements/machines.yaml")
LIBRARY_TABLES = ("nccl-tuning.cc", "*-algorithm*.cc", "../rccl/rccl-tuning.cc", "../rccl/*-algorithm.cc",
                  "../hccl/hccl-constants.h")  # the libraries' own constants, seen from that file's folder
NUMBER = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?![\w.])")
LIST = re.compile(r"\{[^{};()]*\}")                # of numbers, the innermost braces
SET = re.compile(r"=\s*\d[\d\s./*<]*;")            # a constant or a field that is set to a number
SAME = "as "  # a figure whose source begins so is another one, once more


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure that a measurement or a source gave."""
    name: str
    value: float | list[str]
    by: str
    shown: dict[str, float
                | None]  # by table, what that table shows by itself; None where one table alone gave the figure
    setting: str  # the variable that takes a file with another value
    row: dict[str, Any]  # the row of that file, but for the value

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables that show the figure"""
        return tuple(self.shown)

    def without(self, table: str) -> float:
        """@return the figure as the other tables show it: their mean"""
        return statistics.mean(value for name, value in self.shown.items() if name != table and value is not None)


def shown_of(tables: Mapping[str, float] | Iterable[str]) -> dict[str, float | None]:
    """@return by table, the value that it shows by itself; None for each of a bare list of names"""
    return dict(tables) if isinstance(tables, dict) else dict.fromkeys(tables)


def network_figures(root: pathlib.Path) -> list[Figure]:
    """@return the figures of network-kinds.yaml"""
    found = []
    for row in yaml.safe_load((root / networks.FILE).read_text(encoding="utf-8")):
        for name in networks.FIGURES:
            parts = row.get(name, [])
            for i, part in enumerate(parts if isinstance(parts, list) else [parts]):
                slow = name == "slow_starts"
                title = f"{row['name']}: {name}" + (f" above {part['above']} bytes" if slow else "")
                own: dict[str, Any] = {"name": row["name"], "like": row["name"]}
                own[name] = {"parts": parts, "index": i} if slow else None
                found.append(Figure(title, part["us"] if slow else part["is"], part["by"],
                                    shown_of(part.get("tables", ())), "AS_NETWORK_TABLE", own))
    return found


def gpu_figures(root: pathlib.Path) -> list[Figure]:
    """@return the figures of measured-figures.yaml"""
    found = []
    for row in yaml.safe_load((root / FIGURES).read_text(encoding="utf-8")):
        title = row["name"] + (f" ({', '.join(row['of'])})" if "of" in row else "")
        shown = shown_of(row.get("tables", ())) | ({row["others"]: None} if "others" in row else {})
        found.append(Figure(title, row["is"], row["by"], shown, "AS_MEASURED_FIGURES",
                            {key: row[key] for key in ("name", "of") if key in row}))
    return found


def figures(root: pathlib.Path = ROOT) -> list[Figure]:
    """@return every figure once, whether a table gave it or another source"""
    return [figure for figure in gpu_figures(root) + network_figures(root) if not figure.by.startswith(SAME)]


def rules(root: pathlib.Path = ROOT) -> list[dict[str, Any]]:
    """@return the rules that tables gave: what each says, and which tables"""
    return yaml.safe_load((root / MACHINES).read_text(encoding="utf-8"))["rules"]


def file_with(figure: Figure, value: float) -> str:
    """@return the text of a file in which the figure has another value"""
    row = dict(figure.row)
    if "slow_starts" in row:
        parts, index = row["slow_starts"]["parts"], row["slow_starts"]["index"]
        row["slow_starts"] = [{key: part[key] for key in ("above", "us", "gbps", "occupies") if key in part}
                              for part in parts]
        row["slow_starts"][index]["us"] = value
    elif figure.setting == "AS_NETWORK_TABLE":
        row = {key: value if entry is None else entry for key, entry in row.items()}
    else:
        row["is"] = value
    return yaml.safe_dump([row])


def informed(machines: Mapping[str, "Machine"], root: pathlib.Path = ROOT) -> dict[str, list[str]]:
    """@return by table, the figures and rules that come from it, in words"""
    found: dict[str, list[str]] = {}
    for figure in figures(root):
        for table in figure.tables:
            found.setdefault(table, []).append(figure.name)
    for rule in rules(root):
        for table in rule["tables"]:
            found.setdefault(table, []).append(f"that {rule['rule']}")
    for name, machine in machines.items():
        if machine.launch_us:
            found.setdefault(name, []).append("launches of the other tables with one thread for several GPUs")
    return found


def constants_in(code: str) -> int:
    """@return how many numbers tables of C++ code hold: those in lists, and one for each name that is set to a number;
    arithmetic has none"""
    code = re.sub(r"//[^\n]*|/\*.*?\*/|\"[^\"]*\"|#[^\n]*", "", code, flags=re.DOTALL)
    return sum(len(NUMBER.findall(numbers)) for numbers in LIST.findall(code)) + len(SET.findall(LIST.sub("", code)))


def library_constants(root: pathlib.Path = ROOT) -> int:
    """@return how many numbers the tables have that NCCL's, RCCL's and HCCL's sources gave"""
    return sum(constants_in(file.read_text(encoding="utf-8")) for name in LIBRARY_TABLES
               for file in (root / FIGURES.parent).glob(name))
