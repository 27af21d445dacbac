# SPDX-License-Identifier: GPL-2.0-only
"""A fault of a run directory, in the words that a user sees."""
import dataclasses
import pathlib


class ResultsError(Exception):
    """There is nothing to go on with; its text is the line that the user sees."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """Something that could not be read. Line 0 means the file as a whole."""
    path: str
    line: int
    what: str
    expected: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.what}; expected {self.expected}"


class Problems(list[Problem]):
    """Collects problems, each once."""

    def add(self, path: str | pathlib.Path, line: int, what: str, expected: str) -> None:
        problem = Problem(str(path), line, what, expected)
        if problem not in self:
            self.append(problem)
