# SPDX-License-Identifier: GPL-2.0-only
"""The format of a sweep file (YAML), and the line of a mistake in it."""
import math
import os
import re
import shlex
from typing import Any, Dict, List, Optional, Tuple

import yaml

from clustersim import yaml_file
from clustersim.pydantic_v1 import pydantic
from clustersim.errors import InputError

Place = tuple[str | int, ...]  # in a file: keys, and numbers of entries
Plain = None | str | list["Plain"] | dict[str, "Plain"]
AXES = ("topologies", "conf", "workloads", "env", "network")


def _kind(value: object) -> str:
    if isinstance(value, dict):
        return "a set of keys"
    if isinstance(value, list):
        return "a list"
    return "empty" if value is None else f"'{value}'"


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{where} is {_kind(value)}; expected one value")
    return value


class Entry(pydantic.BaseModel, extra=pydantic.Extra.forbid):
    """An entry of an axis; its subclasses say which of the keys it has."""
    name: Optional[str]

    @pydantic.validator("*", pre=True)
    def _has_its_form(cls, value: object, field: "pydantic.fields.ModelField") -> object:
        if field.alias == "set":
            if not isinstance(value, dict):
                raise ValueError(f"set is {_kind(value)}; expected keys with values")
            return {key: " ".join(_text(item, key) for item in (of if isinstance(of, list) else [of]))
                    for key, of in value.items()}
        if field.name in ("flags", "generate"):
            return words(value, field.name)
        return _text(value, field.name)

    @pydantic.validator("name")
    def _names_a_directory(cls, name: str) -> str:
        if not re.fullmatch(r"[\w.,=@+-]+", name) or name.startswith("."):
            raise ValueError(f"the name '{name}' cannot name a directory; expected letters, digits and -_.,=@+")
        return name

    @classmethod
    def of_text(cls, text: str) -> dict[str, object]:
        """@return the keys of an entry that is a single word"""
        return {"file": text}


class TopologyEntry(Entry):
    """A file, or flags of the generator."""
    file: Optional[str]
    generate: Tuple[str, ...] = ()

    @pydantic.root_validator(skip_on_failure=True)
    def _comes_from_one_place(cls, entry: dict[str, Any]) -> dict[str, Any]:
        if (entry["file"] is None) == (not entry["generate"]):
            raise ValueError("a topology needs a 'file', or 'generate' with the generator's flags; expected one of "
                             "the two")
        return entry


class ConfEntry(Entry):
    """A file, and keys that win over it."""
    file: Optional[str]
    settings: Dict[str, str] = pydantic.Field({}, alias="set")


class WorkloadEntry(Entry):
    """A file, and flags of the program for it."""
    file: str
    flags: Tuple[str, ...] = ()


class EnvEntry(Entry):
    """Variables of the environment."""
    settings: Dict[str, str] = pydantic.Field({}, alias="set")

    @classmethod
    def of_text(cls, text: str) -> dict[str, object]:
        raise ValueError(f"an entry of env is {_kind(text)}; expected keys, of name, set")


class NetworkEntry(Entry):
    """Flags that choose how the network is simulated; a single word is that of --network."""
    flags: Tuple[str, ...] = ()

    @classmethod
    def of_text(cls, text: str) -> dict[str, object]:
        return {"name": text, "flags": ["--network", text]}


class SweepFile(pydantic.BaseModel, extra=pydantic.Extra.forbid):
    """The keys of a sweep file. None: left out."""
    topologies: List[TopologyEntry]
    conf: Optional[List[ConfEntry]]
    workloads: List[WorkloadEntry]
    env: Optional[List[EnvEntry]]
    network: Optional[List[NetworkEntry]]
    program: Optional[str]
    flags: Tuple[str, ...] = ()
    memory_gb: Optional[float]
    time_limit_s: Optional[float]

    @pydantic.validator(*AXES, pre=True)
    def _has_entries(cls, value: object, field: "pydantic.fields.ModelField") -> list[object]:
        entries = value if isinstance(value, list) else [value]
        if not entries:
            raise ValueError(f"{field.name} is empty; expected at least one entry")
        return [field.type_.of_text(entry) if isinstance(entry, str) else entry for entry in entries]

    @pydantic.validator("program", pre=True)
    def _is_text(cls, value: object, field: "pydantic.fields.ModelField") -> str:
        return _text(value, field.name)

    @pydantic.validator("flags", pre=True)
    def _are_words(cls, value: object, field: "pydantic.fields.ModelField") -> tuple[str, ...]:
        return words(value, field.name)

    @pydantic.validator("memory_gb", "time_limit_s", pre=True)
    def _is_positive(cls, value: object, field: "pydantic.fields.ModelField") -> float:
        text = _text(value, field.name)
        try:
            number = float(text)
        except ValueError:
            number = 0
        if not 0 < number < math.inf:
            raise ValueError(f"{field.name} is '{text}'; expected a number above 0")
        return number


def words(value: object, where: str) -> tuple[str, ...]:
    """@return flags that are given as on a command line, or as a list of words"""
    if isinstance(value, list):
        return tuple(_text(word, where) for word in value)
    try:
        return tuple(shlex.split(_text(value, where)))
    except ValueError as error:
        raise ValueError(str(error) if "expected" in str(error) else
                         f"{where}: {error}; expected flags as on a command line") from None


MOST_VALUES = 100_000  # of a file: a few lines of aliases of aliases stand for billions


class Lines:
    """Says where things stand in a file: by their path of keys and indices."""

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = path
        self._of: dict[Place, int] = {}

    def plain(self, node: yaml.Node, place: Place = ()) -> Plain:
        """@return the value of a YAML node as lists, dictionaries and the words as they are written"""
        self._of[place] = node.start_mark.line + 1
        if len(self._of) > MOST_VALUES:
            raise InputError(f"{self.path}:{self.line(place[:1])}: stands for more than {MOST_VALUES:,} values; "
                             f"expected fewer")
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(item, (*place, i)) for i, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            # YAML's true and yes are 1 and 0 to programs.
            if node.tag.endswith(":bool"):
                return "1" if yaml.SafeLoader.bool_values[node.value.lower()] else "0"
            return None if node.tag.endswith(":null") else node.value
        found = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self.error(place, "a key is not a word; expected one")
            if key.value in found:
                raise InputError(f"{self.path}:{key.start_mark.line + 1}: '{key.value}' occurs twice in "
                                 f"{_where(place)}; "
                                 f"expected it once")
            found[key.value] = self.plain(value, (*place, key.value))
            if not isinstance(value, yaml.ScalarNode):
                self._of[(*place, key.value)] = key.start_mark.line + 1
        return found

    def line(self, place: Place) -> int:
        """@return the line of a place, or of what it would be in"""
        while place not in self._of:
            place = place[:-1]
        return self._of[place]

    def holds(self, place: Place) -> bool:
        """@return whether there is such a place"""
        return place in self._of

    def error(self, place: Place, what: str) -> InputError:
        """@return the error of a place in the file"""
        return InputError(f"{self.path}:{self.line(place)}: {what}")


def _where(place: Place) -> str:
    return next((f"an entry of {part}" if i + 1 < len(place) else str(part)
                 for i, part in enumerate(place) if part in AXES), "a sweep")


def _describe(error: "pydantic.error_wrappers.ErrorDict") -> str:
    """@return what pydantic finds wrong, in the words of this project"""
    place = error["loc"]
    model = SweepFile.__fields__[str(place[0])].type_ if len(place) > 1 and place[0] in AXES else SweepFile
    where = f"an entry of {place[0]}" if len(place) > 1 else "a sweep"
    if error["type"] == "value_error.extra":
        keys = ", ".join(field.alias for field in model.__fields__.values())
        return f"'{place[-1]}' is not a key of {where}; expected one of {keys}"
    if error["type"] == "value_error.missing":
        return (f"has no '{place[-1]}'; expected a list of them" if len(place) == 1 else
                f"{where} has no '{place[-1]}'; expected the workload's file")
    if "expected" in error["msg"]:
        return error["msg"]
    keys = ", ".join(field.alias for field in model.__fields__.values())
    return f"{where}: {error['msg']}; expected keys, of {keys}"


def read(path: str | os.PathLike) -> tuple[SweepFile, Lines]:
    """@return the SweepFile, and its Lines @raise InputError naming file and line"""
    lines = Lines(path)
    try:
        root = yaml_file.compose(path, "a sweep file (YAML)", InputError)
        values = None if root is None else lines.plain(root)
    except RecursionError:
        raise InputError(f"{path}:1: is nested too deeply; expected a grid as sweep.py --help shows") from None
    if values is None:
        raise InputError(f"{path}:1: is empty; expected {', '.join(SweepFile.__fields__)}")
    if not isinstance(values, dict):
        raise lines.error((), f"a sweep is {_kind(values)}; expected keys, of {', '.join(SweepFile.__fields__)}")
    try:
        return SweepFile.parse_obj(values), lines
    except pydantic.ValidationError as failure:
        # A key that is not known says more than one that is missing for it.
        first = min(failure.errors(), key=lambda error: (error["type"].endswith("missing"), lines.line(error["loc"])))
        raise lines.error(first["loc"], _describe(first)) from None
