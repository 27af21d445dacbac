# SPDX-License-Identifier: GPL-2.0-only
"""Marks in the sources of pages: which numbers, outputs and pictures come out of the commands above them.

A mark is a comment, which no reader of the page sees: in reStructuredText `.. printed: ...`, in Markdown
`<!-- printed: ... -->`. It stands below the sentence that it checks. There are three:

    printed: "2.2 times" is cell("results/table.csv", "vs best", topology="Clos-4to1")
    printed below: --tensor-model-parallel-size
    drawn: results/plots/fct.png

The first one quotes words of the text before it, which have a number, and says where that number comes from: a Python
expression with the functions of `Sources`. The number must be the value, rounded to as many digits as the page shows;
`within 20%` behind it allows more, as words for numbers (half, a sixth) always do. The second one stands before a block
of text. The block is the paragraph of the commands' output that begins with a line that matches the regular expression;
` to ` and a second one bring it to an end earlier.
The third one stands before a picture, which must look like the one that the commands drew.
"""
import csv
import dataclasses
import json
import pathlib
import re
import statistics

import matplotlib.image
import numpy as np
from PIL import Image

MARK = re.compile(r"^(?:\.\. |<!-- )(printed|printed below|drawn): (.*?(?:\n   +\S.*?)*?)(?: -->)?$(?!\n   +\S)",
                  re.MULTILINE)
SAID = re.compile(r'"(?P<words>[^"]+)"\s+is\s+(?P<value>.*?)(?:\s+within\s+(?P<tolerance>[\d.]+)%)?', re.DOTALL)
BLOCK = {".rst": re.compile(r"\.\. code-block:: text\n\n((?:(?:   .*)?\n)+?)(?=\S|\Z)"),
         ".md": re.compile(r"```(?:text)?\n(.*?)```\n", re.DOTALL)}
PICTURE = re.compile(r"(?:\.\. image:: (\S+)|!\[[^]]*\]\((\S+)\))")
FRACTIONS = {"twice": 2, "three times": 3, "half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fifth": 1 / 5,
             "sixth": 1 / 6, "eighth": 1 / 8, "tenth": 1 / 10}
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?|" + "|".join(FRACTIONS))
WORDS_TOLERANCE = 15  # per cent


class Sources:
    """Functions of expressions: they ask the output of the commands, and the files that these have left."""

    def __init__(self, directory: pathlib.Path, output: str):
        self._directory, self._output = directory, output

    def printed(self, pattern: str) -> float:
        """@return the first group of the last match in the output"""
        found = re.findall(pattern, self._output, re.MULTILINE)
        assert found, f"no output matches {pattern}"
        return float(found[-1].replace(",", ""))

    def cells(self, file: str, column: str, **where: str) -> list[float]:
        """@return a column of a CSV file, of the rows whose columns match those regular expressions"""
        with (self._directory / file).open(newline="", encoding="utf-8") as stream:
            rows = [row for row in csv.DictReader(stream)
                    if all(re.fullmatch(value, row[name]) for name, value in where.items())]
        return [float(row[column]) for row in rows if row[column]]

    def cell(self, file: str, column: str, **where: str) -> float:
        """@return the only such cell"""
        value, = self.cells(file, column, **where)
        return value

    def word(self, file: str, pattern: str, number: int) -> float:
        """@return a word, counted from 1, of the only line of a file that matches; bold words count as others"""
        line, = [line for line in (self._directory / file).read_text(encoding="utf-8").splitlines()
                 if re.search(pattern, line)]
        return float(line.split()[number - 1].strip("*"))

    def record(self, file: str, *path: str | int) -> float:
        """@return a number of a JSON file, by the names that lead to it"""
        value = json.loads((self._directory / file).read_text(encoding="utf-8"))
        for name in path:
            value = value[name]
        return value

    def value(self, expression: str) -> float:
        names = {name: getattr(self, name) for name in ("printed", "cells", "cell", "word", "record")}
        return eval(re.sub(r"\n\s+", " ", expression), names | {"median": statistics.median})  # our own pages


@dataclasses.dataclass
class Page:
    """A page, its marks checked one after another against a run of its commands; renewed holds the mended text."""
    path: pathlib.Path
    directory: pathlib.Path  # where its commands ran
    outputs: list[tuple[int, str]]  # where in the text blocks end, and what they printed
    faults: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.text = self.path.read_text(encoding="utf-8")
        self.edits: list[tuple[int, int, str]] = []
        self.pictures: list[tuple[pathlib.Path, pathlib.Path]] = []

    def check(self):
        checks = {"printed": self._check_number, "printed below": self._check_block, "drawn": self._check_picture}
        for mark in MARK.finditer(self.text):
            before = [output for end, output in self.outputs if end <= mark.start()]
            sources = Sources(self.directory, before[-1] if before else "")
            try:
                checks[mark[1]](mark, sources, "".join(before))
            except Exception as error:  # also of the expression
                self._fault(mark, f"{type(error).__name__}: {error}")

    def renew(self):
        """Writes the numbers, blocks and pictures that came out."""
        for start, end, words in sorted(self.edits, reverse=True):
            self.text = self.text[:start] + words + self.text[end:]
        if self.edits:
            self.path.write_text(self.text, encoding="utf-8")
        for kept, drawn in self.pictures:
            Image.open(drawn).convert("RGB").quantize(128).save(kept, optimize=True)  # a quarter of the bytes

    def _fault(self, mark, sentence):
        self.faults.append(f"{self.path.name}:{self.text.count(chr(10), 0, mark.start()) + 1}: {sentence}")

    def _check_number(self, mark, sources, _):
        said = SAID.fullmatch(mark[2])
        assert said, 'not of the form: "words" is EXPRESSION [within N%]'
        places = [*re.finditer(r"\s+".join(map(re.escape, said["words"].split())), self.text[:mark.start()])]
        assert places, f"the text above does not say \"{said['words']}\""
        shown = NUMBER.search(said["words"])
        assert shown, f"no number in \"{said['words']}\""
        value = sources.value(said["value"])
        if shown[0] in FRACTIONS or said["tolerance"]:
            expected = FRACTIONS.get(shown[0]) or float(shown[0].replace(",", ""))
            right = abs(value / expected - 1) <= float(said["tolerance"] or WORDS_TOLERANCE) / 100
        else:
            right = rounded(value, shown[0]) == shown[0]
        if not right:
            self._fault(mark, f"the page says {said['words']}, the commands {value:g}")
            if shown[0] not in FRACTIONS:
                for start, words in ((places[-1].start(), places[-1][0]), (mark.start(2) + 1, said["words"])):
                    number = NUMBER.search(words)
                    self.edits.append((start + number.start(), start + number.end(), rounded(value, shown[0])))

    def _check_block(self, mark, _, output):
        block = BLOCK[self.path.suffix].search(self.text, mark.end())
        first, _, last = mark[2].partition(" to ")
        end = rf"?\n.*{last}.*" if last else ""
        found = re.findall(rf"^(?=.*{first})(.+(?:\n.+)*{end})", output, re.MULTILINE)
        assert block and found, "no block of text follows" if found else f"no output matches {mark[2]}"
        indent = "   " if self.path.suffix == ".rst" else ""
        lines = "".join(f"{indent}{line.rstrip()}\n" for line in found[-1].splitlines())
        if block[1].strip("\n") != lines.strip("\n"):
            self._fault(mark, f"the commands print\n{lines}")
            self.edits.append((block.start(1), block.end(1), lines + ("\n" if indent else "")))

    def _check_picture(self, mark, *_):
        picture = PICTURE.search(self.text, mark.end())
        assert picture, "no picture follows"
        kept, drawn = self.path.parent / (picture[1] or picture[2]), self.directory / mark[2].strip()
        if not kept.is_file() or not alike(kept, drawn):
            self._fault(mark, f"{kept.name} does not look like {mark[2]}")
            self.pictures.append((kept, drawn))


def rounded(value: float, like: str) -> str:
    """@return the value with as many decimals as a number of the page, and commas if that has some"""
    decimals = len(like.partition(".")[2])
    return f"{value:{',' if ',' in like or value >= 1000 else ''}.{decimals}f}"


def alike(one: pathlib.Path, other: pathlib.Path) -> bool:
    """@return whether two pictures show the same: their fonts may differ, and so edges by some pixels"""
    first, second = (matplotlib.image.imread(path)[..., :3] for path in (one, other))
    if abs(np.divide(*first.shape[:2]) / np.divide(*second.shape[:2]) - 1) > 0.05:
        return False
    return float(np.sqrt(np.mean((coarse(first) - coarse(second)) ** 2))) < 0.02


def coarse(pixels: np.ndarray, cells: int = 48) -> np.ndarray:
    """@return the mean colours of cells x cells parts of a picture"""
    rows, columns = (np.linspace(0, length, cells + 1).astype(int)[:-1] for length in pixels.shape[:2])
    sums = np.add.reduceat(np.add.reduceat(pixels, rows, axis=0), columns, axis=1)
    sizes = np.add.reduceat(np.add.reduceat(np.ones(pixels.shape[:2]), rows, axis=0), columns, axis=1)
    return sums / sizes[..., None]
