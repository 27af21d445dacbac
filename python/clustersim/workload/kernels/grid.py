# SPDX-License-Identifier: GPL-2.0-only
"""Tables of shares on a grid, interpolated in log space; beyond the grid the nearest share is carried on."""
import bisect
import csv
import functools
import gzip
import itertools
import math
import os
import pathlib
from collections.abc import Sequence

HERE = pathlib.Path(__file__).parent


def rows(name: str | os.PathLike[str]) -> tuple[list[str], list[list[str]]]:
    """@return header and rows of a table, all of them text; a name without a directory is one of this package"""
    written = (HERE / name).read_bytes()
    text = (gzip.decompress(written) if os.fspath(name).endswith(".gz") else written).decode("ascii")
    header, *found = csv.reader(line for line in text.splitlines() if not line.startswith("#"))
    return header, found


class Grid:
    """Positive numbers by three coordinates, of which a table has two per row and one per column."""

    def __init__(self, header: Sequence[str], table: Sequence[Sequence[str]]) -> None:
        """@param header, table cells of the first line and of the others, all of them text"""
        self.values: dict[tuple[int, int, int], float] = {}
        columns = [int(cell) for cell in header[2:]]
        for row in table:
            first, second = int(row[0]), int(row[1])
            self.values.update(((first, second, column), math.log(float(cell))) for column,
                               cell in zip(columns, row[2:]))
        self.axes = [sorted({key[axis] for key in self.values}) for axis in range(3)]

    def _neighbours(self, axis: int, coordinate: float) -> list[tuple[int, float]]:
        """@return the neighbours on an axis, each with its weight"""
        grid = self.axes[axis]
        place = bisect.bisect_left(grid, coordinate)
        if place == len(grid) or (place == 0 and coordinate <= grid[0]):
            return [(grid[min(place, len(grid) - 1)], 1.0)]
        low, high = grid[place - 1], grid[place]
        weight = math.log(coordinate / low) / math.log(high / low)
        return [(low, 1 - weight), (high, weight)]

    def at(self, *point: float) -> float:
        """@return the number at a point"""
        total = 0.0
        for (i, x), (j, y), (k, z) in itertools.product(*map(self._neighbours, range(3), point)):
            total += x * y * z * self.values[i, j, k]
        return math.exp(total)


@functools.lru_cache(None)
def load(name: str) -> "Grid":
    """@return the grid of a table, read once @param name as of rows()"""
    return Grid(*rows(name))
