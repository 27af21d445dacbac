# SPDX-License-Identifier: GPL-2.0-only
"""The rows of gpus.yaml, and of a user's file of the same form: all that Python commands know of a type of GPU."""
import contextlib
import dataclasses
import functools
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clustersim import variables, yaml_file
from clustersim.errors import InputError, nearest

PATH = pathlib.Path(__file__).with_name("gpus.yaml")
VARIABLE = "AS_GPU_TABLE"
GENERATIONS = ("Ampere", "Hopper", "Blackwell", "CDNA2", "CDNA3", "CDNA4", "DaVinci")
REDUCING = ("Hopper", "Blackwell")  # whose NVSwitches reduce
JOINED = ("switched", "meshed", "lanes")  # how links join the GPUs of a server: one of them
# Fields that a type without tables of kernels takes from the GPU that it is `like`.
PARTS = ("matmul", "attention", "stream", "loaded", "attention_table", "attention_library")


@dataclasses.dataclass(frozen=True)
class Field:
    """The legal values of a field."""
    holds: Callable[[Any], bool]
    expected: str


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, (int, float)) and value > 0


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_lanes(value: Any) -> bool:
    return (isinstance(value, dict) and value.keys() == {"rate", "links"} and _is_text(value["rate"])
            and isinstance(value["links"], list)
            and all(isinstance(link, list) and len(link) == 3 and all(isinstance(each, int) for each in link)
                    for link in value["links"]))


_RATE = Field(_is_text, "a rate, such as 2880Gbps")
_TRUTH = Field(lambda value: isinstance(value, bool), "true or false")
FIELDS = {
    "generation": Field(lambda value: value in GENERATIONS, f"one of {', '.join(GENERATIONS)}"),
    **dict.fromkeys(("nvlink_gbps", "usable_gbps", "channel_gbps", "pcie_gbps", "tflops", "sms", "memory_gb",
                     "memory_mib", "memory_gbps", "watts", "matmul", "stream", "loaded"),
                    Field(_is_number, "a number above 0")),
    "attention": Field(_is_pair, "the shares of the peak that forward and backward reach, such as [0.75, 0.56]"),
    **dict.fromkeys(("fp8", "fp4"), Field(_is_pair,
                                          "the peak in TFLOP/s and the share of it that products reach, such as "
                                          "[1979, 0.709]")),
    **dict.fromkeys(("switched", "meshed"), _RATE),
    "lanes": Field(_is_lanes, "{rate: RATE, links: [[GPU, GPU, LANES], ...]}"),
    **dict.fromkeys(("nvswitch", "grace"), _TRUTH),
    **dict.fromkeys(("like", "attention_table", "attention_library"), Field(_is_text, "a name")),
    "rings": Field(lambda value: value == "MI250X", "MI250X"),
    "messages": Field(lambda value: isinstance(value, list), "a list of {above: BYTES, us: MICROSECONDS, gbps: GB/s}"),
}
Row = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows by the name of the type, and the place of each for messages."""
    rows: dict[str, dict[str, Any]]
    places: dict[str, str]


def _check(name: str, row: Any, place: str) -> None:
    if not isinstance(row, dict):
        raise InputError(f'{place}: "{row}" is not a valid row of GPU {name}; expected fields in braces, such as '
                         f'{{generation: Hopper}}')
    for field, value in row.items():
        if field not in FIELDS:
            raise InputError(f'{place}: "{field}" is not a valid field of GPU {name}; expected one of '
                             f'{", ".join(FIELDS)}{nearest(field, FIELDS)}')
        if not FIELDS[field].holds(value):
            raise InputError(f'{place}: "{value}" is not a valid {field} of GPU {name}; expected '
                             f'{FIELDS[field].expected}')
    if sum(field in row for field in JOINED) > 1:
        raise InputError(f"{place}: GPU {name} is joined in several ways; expected one of {', '.join(JOINED)}")


def _changed(path: str | pathlib.Path | None) -> int:
    """@return when a file was changed, in ns; 0 of none"""
    return os.stat(path).st_mtime_ns if path and os.path.isfile(path) else 0


@functools.lru_cache(None)
def _read(path: str | pathlib.Path, _: int) -> Table:
    found, lines = yaml_file.load(path, "rows of GPUs, such as MyGpu: {generation: Hopper, tflops: 989}", InputError)
    if not isinstance(found, dict):
        raise InputError(f"{path}:1: has no rows; expected a GPU a line, such as MyGpu: {{generation: Hopper, tflops: "
                         f"989}}")
    places = {name: f"{path if path != PATH else PATH.name}:{lines[name]}" for name in found}
    for name, row in found.items():
        _check(name, row, places[name])
    return Table(found, places)


@contextlib.contextmanager
def using(path: str | os.PathLike | None) -> Iterator[None]:
    """Adds the rows of a user's file, here and in the programs that are started meanwhile. @param path None: that of
    AS_GPU_TABLE, if it is set"""
    with variables.setting(**{VARIABLE: path}):
        table()  # refuses a wrong file at once
        yield


def _user_file() -> str | None:
    return os.environ.get(VARIABLE) or None


def table() -> Table:
    """@return built-in rows and those of the user's file"""
    user_file = _user_file()
    return _joined(user_file, _changed(user_file))


@functools.lru_cache(None)
def _joined(user_file: str | None, changed: int) -> Table:
    found = [_read(PATH, 0), *([_read(user_file, changed)] if user_file else [])]
    rows = {name: row for each in found for name, row in each.rows.items()}
    for name, row in rows.items():
        other = rows.get(row.get("like", ""), {})
        rows[name] = {field: other[field] for field in PARTS if field in other} | row
    return Table(rows, {name: place for each in found for name, place in each.places.items()})


def rows() -> dict[str, dict[str, Any]]:
    """@return the fields of each type of GPU by name"""
    return table().rows


def of(field: str) -> dict[str, Any]:
    """@return that field by name of the GPUs that have it"""
    return {name: row[field] for name, row in rows().items() if field in row}


def need(name: str, *fields: str) -> Row:
    """@return the row of a type @raise InputError it lacks one of the fields"""
    row = rows()[name]
    for field in fields:
        if field not in row:
            raise InputError(f"{table().places[name]}: GPU {name} lacks {field}; expected {FIELDS[field].expected}")
    return row


def reduces(name: str) -> bool:
    """@return whether NVSwitches reduce for that type of GPU"""
    row = rows().get(name, {})
    return row.get("generation") in REDUCING and row.get("nvswitch", True)


def idle(name: str) -> list[str]:
    """@return a warning if there is a user's file without a row of the type"""
    path = _user_file()
    if path is None or name in _read(path, _changed(path)).rows:
        return []
    return [f"{path} has no effect: it has no row of {name}"]
