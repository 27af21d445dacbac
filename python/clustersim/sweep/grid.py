# SPDX-License-Identifier: GPL-2.0-only
"""Reads a sweep file: the YAML grid whose every combination is one run."""
import dataclasses
import itertools
import math
import os
import pathlib
import re
from collections.abc import Callable, Sequence

from clustersim.sweep import grid_file
from clustersim.sweep.grid_file import AXES

MOST_RUNS = 100_000
Setting = tuple[str, str]  # a key and its value

LONGEST_NAME = 200  # file systems take 255


@dataclasses.dataclass(frozen=True)
class Choice:
    """One entry of an axis."""
    name: str
    file: pathlib.Path | None = None
    generate: tuple[str, ...] = ()  # the generator's flags, for a topology without a file
    settings: tuple[Setting, ...] = ()  # (key, value) of conf keys or of variables
    flags: tuple[str, ...] = ()
    line: int = 0  # in the sweep file


@dataclasses.dataclass(frozen=True)
class Case:
    """One combination: what a run is made of."""
    topology: Choice
    conf: Choice
    workload: Choice
    env: Choice
    network: Choice

    @property
    def name(self) -> str:
        """The name of the run's directory; axes that were left out are not in it."""
        parts = (self.topology, self.conf, self.workload, self.env, self.network)
        return "__".join(part.name for part in parts if part.name)


@dataclasses.dataclass(frozen=True)
class Grid:
    """A sweep file: the program and its flags, bounds of a run (None: no bound), and every combination of the axes."""
    path: pathlib.Path
    program: pathlib.Path
    flags: tuple[str, ...]
    memory_gb: float | None
    time_limit_s: float | None
    cases: tuple[Case, ...]


def _clean(text: str) -> str:
    return re.sub(r"[^\w.,=@+-]+", "_", text).strip("_.") or "default"


def _default_name(axis: str, file: pathlib.Path | None, generate: Sequence[str], settings: Sequence[Setting],
                  flags: Sequence[str]) -> str:
    # A topology's name has no suffix, but may have dots.
    base = _clean(file.name if axis == "topologies" else file.stem) if file else ""
    if generate:
        base = "".join(generate).lstrip("-").removeprefix("topo")
    parts = [base, *(f"{key}={value}" for key, value in settings), "".join(flags).lstrip("-")]
    return _clean(",".join(part for part in parts if part))


def _choice(axis: str, entry: grid_file.Entry, root: pathlib.Path, line: int) -> Choice:
    """@return the Choice of an entry, whose files may not be there"""
    text = getattr(entry, "file", None)
    file = None if text is None else root / text
    generate = getattr(entry, "generate", ())
    settings = tuple(getattr(entry, "settings", {}).items())
    flags = getattr(entry, "flags", ())
    return Choice(entry.name or _default_name(axis, file, generate, settings, flags), file, generate, settings, flags,
                  line)


def _axis(axis: str, entries: Sequence[grid_file.Entry], root: pathlib.Path, lines: grid_file.Lines) -> list[Choice]:
    choices: list[Choice] = []
    for i, entry in enumerate(entries):
        choice = _choice(axis, entry, root, lines.line((axis, i)))
        if choice.file is not None and not choice.file.is_file():
            where = "file" if lines.holds((axis, i, "file")) else f"an entry of {axis}"
            raise lines.error((axis, i, "file"), f"{where} '{getattr(entry, 'file', None)}' is not a file; expected "
                              f"one, its name relative to "
                                                 f"{root}")
        if choice.name in {other.name for other in choices}:
            raise lines.error((axis, i), f"two entries of {axis} are named '{choice.name}'; expected different names "
                                         f"(give one a 'name:')")
        choices.append(choice)
    return choices


def read(path: str | os.PathLike, find_program: Callable[[], pathlib.Path]) -> Grid:
    """@return the Grid of a file. Names of files in it are relative to its directory.

    @param find_program finds the program if the file names none
    @raise InputError naming file and line
    """
    path = pathlib.Path(path)
    sweep, lines = grid_file.read(path)
    root = path.resolve().parent
    axes = [_axis(axis, getattr(sweep, axis), root, lines) if getattr(sweep, axis) else [Choice("")] for axis in AXES]
    program = root / sweep.program if sweep.program else find_program()
    if not program.is_file():
        raise lines.error(("program",), f"program '{program}' is not a file; expected a program that is built")
    count = math.prod(map(len, axes))
    if count > MOST_RUNS:
        raise lines.error((), f"makes {count} runs; expected at most {MOST_RUNS}")
    cases = tuple(Case(*combination) for combination in itertools.product(*axes))
    longest = max((case.name for case in cases), key=len)
    if len(longest) > LONGEST_NAME:
        raise lines.error((), f"the run '{longest}' has a name of {len(longest)} letters; expected at most "
                          f"{LONGEST_NAME} "
                              f"(give entries a short 'name:')")
    return Grid(path, program, sweep.flags, sweep.memory_gb, sweep.time_limit_s, cases)
