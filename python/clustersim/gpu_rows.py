# SPDX-License-Identifier: GPL-2.0-only
"""The rows of gpus.yaml: all that the Python commands know of a type of GPU."""
import atexit
import functools
import os
import pathlib
import tempfile
from typing import Any

from clustersim import yaml_file
from clustersim.errors import InputError

PATH = pathlib.Path(__file__).with_name("gpus.yaml")
NUMBERS = ("nvlink_gbps", "tflops", "sms", "memory_gb", "memory_gbps", "matmul", "stream")
JOINED = ("switched", "meshed", "lanes")  # how links join the GPUs of a server: one of them
GENERATIONS = ("Ampere", "Hopper", "Blackwell", "CDNA2", "CDNA3", "CDNA4", "DaVinci")
REDUCING = ("Hopper", "Blackwell")  # whose NVSwitches reduce


def _check(name: str, row: Any) -> None:
    def refuse(problem: str, expected: str) -> None:
        raise InputError(f"{PATH.name}: GPU {name} {problem}; expected {expected}")
    if not isinstance(row, dict):
        refuse("is no row", "fields in braces, as the others have")
    for field in NUMBERS:
        if field not in row:
            refuse(f"lacks {field}", f"a number, such as {field}: {1 if field in ('matmul', 'stream') else 900}")
        if isinstance(row[field], bool) or not isinstance(row[field], (int, float)) or not row[field] > 0:
            refuse(f"has {field}: {row[field]}", "a number above 0")
    if not isinstance(row.get("attention"), list) or len(row["attention"]) != 2:
        refuse("lacks attention", "the shares of the peak that forward and backward reach, such as attention: [0.75, 0.56]")
    if row.get("generation") not in GENERATIONS:
        refuse("lacks generation" if "generation" not in row else f"has generation: {row['generation']}", f"one of {', '.join(GENERATIONS)}")
    if sum(field in row for field in JOINED) != 1:
        refuse(f"lacks {', '.join(JOINED)}" if not any(field in row for field in JOINED) else "is joined in several ways",
               "switched: RATE of all its links, meshed: RATE of a link, or lanes")
    if "table" in row and (not isinstance(row["table"], list) or len(row["table"]) != 2):
        refuse(f"has table: {row['table']}", "GB/s of a channel and of all NVLinks as NCCL counts them, such as table: [45, 720]")


@functools.lru_cache(None)
def _rows(path: pathlib.Path) -> dict[str, dict[str, Any]]:
    found, _ = yaml_file.load(path, "rows of GPUs", InputError)
    if not isinstance(found, dict):
        raise InputError(f"{PATH.name}: has no rows; expected a GPU a line")
    for name, row in found.items():
        _check(name, row)
    return found


def rows() -> dict[str, dict[str, Any]]:
    """@return the fields of each type of GPU by name @raise InputError a row lacks one"""
    return _rows(PATH)


def of(field: str) -> dict[str, Any]:
    """@return that field by name of the GPUs that have it"""
    return {name: row[field] for name, row in rows().items() if field in row}


def reduces(name: str) -> bool:
    """@return whether NVSwitches reduce for that type of GPU"""
    return rows().get(name, {}).get("generation") in REDUCING


@functools.lru_cache(None)
def _table_file(path: pathlib.Path) -> str | None:
    lines = [f"{name} {row['generation']} {row['table'][0]} {row['table'][1]}\n" for name, row in _rows(path).items() if "table" in row]
    if not lines:
        return None
    number, name = tempfile.mkstemp(prefix="gpus-", text=True)
    with os.fdopen(number, "w", encoding="utf-8") as file:
        file.writelines(lines)
    atexit.register(_remove, name, os.getpid())
    return name


def _remove(path: str, process: int) -> None:
    if os.getpid() == process:  # a copy of the process may end while others read the file
        os.unlink(path)


def environment() -> dict[str, str]:
    """@return variables that tell programs of types that they do not have built in"""
    file = _table_file(PATH)
    return {"AS_GPU_TABLE": file} if file else {}
