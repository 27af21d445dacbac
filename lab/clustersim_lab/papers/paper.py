# SPDX-License-Identifier: GPL-2.0-only
"""The contract of a paper: its published figures, and a function that works out ours."""
import csv
import dataclasses
import pathlib
from collections.abc import Callable, Mapping

from clustersim.whole_file import whole_file
from clustersim_lab import ROOT
from clustersim_lab.papers.runs import Bench

DATA = ROOT / "docs" / "source" / "models" / "data"
PUBLISHED = DATA / "published.csv"
OURS = DATA / "reproduced.csv"
TOLERANCE = 0.1  # of a published value: within it, two values agree


@dataclasses.dataclass(frozen=True)
class Figure:
    """A published figure: a value, or a range where the paper says "up to" or "at least"."""

    key: str
    paper: str
    where: str  # figure, table or section
    what: str
    low: float | None
    high: float | None
    unit: str
    source: str  # the text that it was read from

    def published(self) -> str:
        """@return the value or the range, without its unit"""
        if self.low == self.high:
            return f"{self.low:.4g}"
        if self.low is None:
            return f"at most {self.high:g}"
        return f"at least {self.low:g}" if self.high is None else f"{self.low:g} to {self.high:g}"

    def agrees(self, ours: float) -> bool:
        """@return whether ours is in the range, or within TOLERANCE of its end"""
        return not (self.low is not None and ours < self.low - TOLERANCE * abs(self.low)
                    or self.high is not None and ours > self.high + TOLERANCE * abs(self.high))


@dataclasses.dataclass(frozen=True)
class Paper:
    """A paper. `why` explains a figure that differs, or says that the difference is open."""

    name: str
    title: str
    setting: str  # what we run, and how it differs from the paper's
    reproduce: Callable[[Bench], Mapping[str, float]]  # ours, by the keys of figures
    why: Mapping[str, str]
    needs_data: bool = False  # distributions of flow sizes that the checkout does not have


def read_published(path: pathlib.Path = PUBLISHED) -> list[Figure]:
    """@return all published figures, in the order of the file"""
    def number(text: str) -> float | None:
        return float(text) if text else None
    with open(path, newline="", encoding="utf-8") as file:
        return [Figure(row["key"], row["paper"], row["where"], row["what"], number(row["low"]), number(row["high"]),
                       row["unit"], row["source"]) for row in csv.DictReader(file)]


def read_ours(path: pathlib.Path = OURS) -> dict[str, float]:
    """@return our recorded figures by key; none where there is no file yet"""
    if not path.exists():
        return {}
    with open(path, newline="", encoding="utf-8") as file:
        return {row["key"]: float(row["ours"]) for row in csv.DictReader(file)}


def write_ours(ours: Mapping[str, float], path: pathlib.Path = OURS) -> None:
    """Writes our figures, in the order of the published ones."""
    with whole_file(path) as part, open(part, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("key", "ours"))
        writer.writerows((figure.key, f"{ours[figure.key]:.4g}") for figure in read_published() if figure.key in ours)
