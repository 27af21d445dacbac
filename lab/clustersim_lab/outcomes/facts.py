# SPDX-License-Identifier: GPL-2.0-only
"""Rows of a table of published step times."""
import csv
import dataclasses
import io
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from clustersim import input_file
from clustersim.errors import InputError

T = TypeVar("T", int, float)
NUMBERS = ("tp", "pp", "cp", "vp", "ep", "etp", "dp", "micro_batch", "global_batch", "layers", "hidden", "heads",
           "vocab")
TEXTS = ("id", "task", "model", "gpu", "precision", "sharding", "sp", "recompute", "interconnect", "notes", "source")
NEEDED = ("id", "task", "model", "gpu", "gpus", "seq_len", "global_batch", "step_s", "source")


@dataclasses.dataclass(frozen=True)
class Fact:
    """A published figure of a run; None where its source does not say."""
    line: int
    id: str
    task: str
    model: str
    gpu: str
    precision: str
    sharding: str
    sp: str
    recompute: str
    interconnect: str
    notes: str
    source: str
    gpus: int | None = None
    gpus_doubtful: bool = False  # the source does not say how many; whoever gathered the table guessed
    seq_len: int | None = None
    lengths: tuple[int, int] | None = None  # of a served prompt and its output
    step_s: float | None = None
    tokens_per_s_gpu: float | None = None
    tp: int | None = None
    pp: int | None = None
    cp: int | None = None
    vp: int | None = None
    ep: int | None = None
    etp: int | None = None
    dp: int | None = None
    micro_batch: int | None = None
    global_batch: int | None = None
    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    vocab: int | None = None

    @property
    def has_full_layout(self) -> bool:
        """Whether the source says all that a workload needs."""
        return None not in (self.gpus, self.tp, self.pp, self.micro_batch, self.global_batch,
                            self.seq_len) and not self.gpus_doubtful


def _number(path: str | os.PathLike, line: int, column: str, text: str, kind: Callable[[float], T]) -> T:
    try:
        value = kind(float(text))
    except (ValueError, OverflowError):
        value = -1
    if not value > 0:
        raise InputError(f'{path}:{line}: {column} "{text}" is not valid; expected a number above 0, or nothing')
    return value


def _fact(path: str | os.PathLike, line: int, row: Mapping[str, str]) -> Fact:
    fields: dict[str, Any] = {name: (row.get(name) or "").strip() for name in TEXTS}
    fields |= {name: _number(path, line, name, row[name], int) for name in NUMBERS if (row.get(name) or "").strip()}
    gpus = (row["gpus"] or "").strip()
    fields["gpus_doubtful"] = gpus.endswith("?")
    if gpus:
        fields["gpus"] = _number(path, line, "gpus", gpus.rstrip("?"), int)
    lengths = (row["seq_len"] or "").strip()
    if lengths.isdigit():
        fields["seq_len"] = int(lengths)
    elif served := re.fullmatch(r"(\d+)/(\d+)", lengths):
        fields["lengths"] = int(served[1]), int(served[2])
    fields |= {name: _number(path, line, name, row[name], float) for name in ("step_s", "tokens_per_s_gpu")
               if (row.get(name) or "").strip()}
    return Fact(line=line, **fields)


def read(path: str | os.PathLike) -> list[Fact]:
    """@return every Fact of a CSV file"""
    text = input_file.read_input(path, "a table of published step times")
    reader = csv.DictReader(line for line in io.StringIO(text, newline="") if not line.startswith("#"))
    missing = [name for name in NEEDED if name not in (reader.fieldnames or ())]
    if missing:
        raise InputError(f"{path}:1: there is no column {missing[0]}; expected {', '.join(NEEDED)}")
    return [_fact(path, reader.line_num, row) for row in reader]
