# SPDX-License-Identifier: GPL-2.0-only
"""Reads a sweep file: the YAML grid whose every combination is one run."""
import dataclasses
import itertools
import math
import pathlib
import re
import shlex

import yaml

from clustersim import input_file
from clustersim.sweep.errors import InputError

AXES = ("topologies", "conf", "workloads", "env", "network")
KEYS = (*AXES, "program", "flags", "memory_gb", "time_limit_s")
MOST_RUNS = 100_000
LONGEST_NAME = 200  # file systems take 255
ENTRY_KEYS = {
    "topologies": ("name", "file", "generate"),
    "conf": ("name", "file", "set"),
    "workloads": ("name", "file", "flags"),
    "env": ("name", "set"),
    "network": ("name", "flags"),
}


@dataclasses.dataclass(frozen=True)
class Choice:
    """One entry of an axis."""
    name: str
    file: pathlib.Path | None = None
    generate: tuple = ()  # the generator's flags, for a topology without a file
    settings: tuple = ()  # (key, value) of conf keys or of variables
    flags: tuple = ()


@dataclasses.dataclass(frozen=True)
class Case:
    """One combination: what a run is made of."""
    topology: Choice
    conf: Choice
    workload: Choice
    env: Choice
    network: Choice

    @property
    def name(self):
        """The name of the run's directory; axes that were left out are not in it."""
        parts = (self.topology, self.conf, self.workload, self.env, self.network)
        return "__".join(part.name for part in parts if part.name)


@dataclasses.dataclass(frozen=True)
class Grid:
    path: pathlib.Path
    program: pathlib.Path
    flags: tuple
    memory_gb: float | None
    time_limit_s: float | None
    cases: tuple


class _Reader:
    """Walks YAML nodes, which know their lines."""

    def __init__(self, path):
        self.path = path
        self.root = path.resolve().parent

    def error(self, node, what):
        return InputError(f"{self.path}:{node.start_mark.line + 1}: {what}")

    def mapping(self, node, allowed, where):
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, f"{where} is {_kind(node)}; expected keys, of {', '.join(allowed)}")
        found = {}
        for key, value in node.value:
            if key.value not in allowed:
                raise self.error(key, f"'{key.value}' is not a key of {where}; expected one of "
                                      f"{', '.join(allowed)}")
            if key.value in found:
                raise self.error(key, f"'{key.value}' occurs twice in {where}; expected it once")
            found[key.value] = value
        return found

    def text(self, node, where):
        if not isinstance(node, yaml.ScalarNode) or node.tag.endswith(":null"):
            raise self.error(node, f"{where} is {_kind(node)}; expected one value")
        # YAML's true and yes are 1 and 0 to programs.
        if node.tag.endswith(":bool"):
            return "1" if yaml.SafeLoader.bool_values[node.value.lower()] else "0"
        return node.value

    def positive(self, node, where):
        text = self.text(node, where)
        try:
            number = float(text)
        except ValueError:
            number = 0
        if not 0 < number < float("inf"):
            raise self.error(node, f"{where} is '{text}'; expected a number above 0")
        return number

    def file(self, node, where):
        path = self.root / self.text(node, where)
        if not path.is_file():
            raise self.error(node, f"{where} '{node.value}' is not a file; expected one, its name relative "
                                   f"to {self.root}")
        return path

    def settings(self, node, where):
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, f"{where} is {_kind(node)}; expected keys with values")
        pairs = []
        for key, value in node.value:
            name = self.text(key, f"a key of {where}")
            if isinstance(value, yaml.SequenceNode):
                text = " ".join(self.text(item, name) for item in value.value)
            else:
                text = self.text(value, name)
            pairs.append((name, text))
        return tuple(pairs)

    def flags(self, node, where):
        """Flags as on a command line, or as a list of words."""
        if isinstance(node, yaml.SequenceNode):
            return tuple(self.text(item, where) for item in node.value)
        try:
            return tuple(shlex.split(self.text(node, where)))
        except ValueError as error:
            raise self.error(node, f"{where}: {error}; expected flags as on a command line") from None

    def choice(self, axis, node):
        where = f"an entry of {axis}"
        if isinstance(node, yaml.ScalarNode) and axis != "env":
            if axis == "network":
                return Choice(self.text(node, where), flags=("--network", self.text(node, where)))
            path = self.file(node, where)
            return Choice(_stem(axis, path), file=path)
        entry = self.mapping(node, ENTRY_KEYS[axis], where)
        file = self.file(entry["file"], "file") if "file" in entry else None
        generate = self.flags(entry["generate"], "generate") if "generate" in entry else ()
        if axis == "topologies" and (file is None) == (not generate):
            raise self.error(node, "a topology needs a 'file', or 'generate' with the generator's flags; "
                                   "expected one of the two")
        if axis == "workloads" and file is None:
            raise self.error(node, f"{where} has no 'file'; expected the workload's file")
        settings = self.settings(entry["set"], "set") if "set" in entry else ()
        flags = self.flags(entry["flags"], "flags") if "flags" in entry else ()
        if "name" in entry:
            name = self.text(entry["name"], "name")
            if not re.fullmatch(r"[\w.,=@+-]+", name) or name.startswith("."):
                raise self.error(entry["name"], f"the name '{name}' cannot name a directory; expected "
                                                f"letters, digits and -_.,=@+")
        else:
            name = _default_name(axis, file, generate, settings, flags)
        return Choice(name, file, generate, settings, flags)

    def axis(self, axis, node):
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        if not nodes:
            raise self.error(node, f"{axis} is empty; expected at least one entry")
        choices = []
        for entry in nodes:
            choice = self.choice(axis, entry)
            if choice.name in {other.name for other in choices}:
                raise self.error(entry, f"two entries of {axis} are named '{choice.name}'; expected "
                                        f"different names (give one a 'name:')")
            choices.append(choice)
        return choices


def _kind(node):
    if isinstance(node, yaml.MappingNode):
        return "a set of keys"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return "empty" if node.tag.endswith(":null") else f"'{node.value}'"


def _stem(axis, path):
    # A topology's name has no suffix, but may have dots.
    return _clean(path.name if axis == "topologies" else path.stem)


def _clean(text):
    return re.sub(r"[^\w.,=@+-]+", "_", text).strip("_.") or "default"


def _default_name(axis, file, generate, settings, flags):
    base = _stem(axis, file) if file else ""
    if generate:
        base = "".join(generate).lstrip("-").removeprefix("topo")
    parts = [base, *(f"{key}={value}" for key, value in settings), "".join(flags).lstrip("-")]
    return _clean(",".join(part for part in parts if part))


def read(path, find_program):
    """@return the Grid of a file. Names of files in it are relative to its directory.

    @param find_program finds the program if the file names none
    """
    path = pathlib.Path(path)
    try:
        text = input_file.read_text(path)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected a sweep file (YAML)") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}:1: is not text; expected a sweep file (YAML)") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise InputError(f"{path}:{mark.line + 1 if mark else 1}: {error.problem or 'is not YAML'}; "
                         f"expected YAML") from None
    except RecursionError:
        raise InputError(f"{path}:1: is nested too deeply; expected a grid as sweep.py --help shows") from None
    except yaml.YAMLError as error:
        raise InputError(f"{path}:1: {' '.join(str(error).split())}; expected YAML") from None
    reader = _Reader(path)
    if root is None:
        raise InputError(f"{path}:1: is empty; expected {', '.join(KEYS)}")
    keys = reader.mapping(root, KEYS, "a sweep")
    for needed in ("topologies", "workloads"):
        if needed not in keys:
            raise reader.error(root, f"has no '{needed}'; expected a list of them")
    axes = [reader.axis(axis, keys[axis]) if axis in keys else [Choice("")] for axis in AXES]
    program = (reader.root / reader.text(keys["program"], "program") if "program" in keys
               else find_program())
    if not program.is_file():
        raise reader.error(keys["program"], f"program '{program}' is not a file; expected a program that is built")
    count = math.prod(map(len, axes))
    if count > MOST_RUNS:
        raise reader.error(root, f"makes {count} runs; expected at most {MOST_RUNS}")
    cases = tuple(Case(*combination) for combination in itertools.product(*axes))
    longest = max((case.name for case in cases), key=len)
    if len(longest) > LONGEST_NAME:
        raise reader.error(root, f"the run '{longest}' has a name of {len(longest)} letters; expected at "
                                 f"most {LONGEST_NAME} (give entries a short 'name:')")
    return Grid(path, program,
                reader.flags(keys["flags"], "flags") if "flags" in keys else (),
                reader.positive(keys["memory_gb"], "memory_gb") if "memory_gb" in keys else None,
                reader.positive(keys["time_limit_s"], "time_limit_s") if "time_limit_s" in keys else None,
                cases)
