# SPDX-License-Identifier: GPL-2.0-only
"""How far simulated times are from measured ones: by size, by table, and over all tables."""
import dataclasses
import pathlib
import statistics
from collections.abc import Mapping, Sequence

import pandas as pd

from clustersim_lab.accuracy.simulate import Simulated
from clustersim_lab.accuracy.tables import Table

SMALL = 32 << 10  # largest of the small sizes
LARGE = 1 << 20   # smallest of the large sizes
BAND_NAMES = {"small": "to 32 KiB", "middle": "64 to 512 KiB", "large": "from 1 MiB"}
BANDS = tuple(BAND_NAMES)


@dataclasses.dataclass(frozen=True)
class Goal:
    """Bounds for the errors of a table's sizes."""
    mean: float
    worst: float = float("inf")


GOALS = {"small": Goal(0.15), "large": Goal(0.05, 0.15)}  # of a band; those between have none
Row = tuple[object, ...]  # a cell for each of ROW_COLUMNS
ROW_COLUMNS = ("table", "held out", "size", "measured us", "simulated us", "measured busbw", "simulated busbw", "error",
               "algorithm", "protocol", "channels", "links busbw", "alpha-beta us", "NCCL us", "doubt")
ERROR_DECIMALS = 4


def band_of(size: int) -> str:
    """@return the band of a size in bytes: small, middle or large"""
    return "small" if size <= SMALL else "large" if size >= LARGE else "middle"


def alphas_of(tables: Sequence[Table]) -> dict[str, float]:
    """@return by table, the median of the times that the smallest sizes of the other tables take: those of one server,
    or of several. Only tables that begin with few bytes show a latency"""
    first = {table.name: min(table.rows, key=lambda row: row.size) for table in tables}
    shows = {table.name: table.machine.servers > 1 for table in tables if first[table.name].size <= SMALL}
    return {table.name: statistics.median([first[name].microseconds for name, several in shows.items()
                                           if name != table.name and several == (table.machine.servers > 1)] or [0.0])
            for table in tables}


def rows_of(table: Table, simulated: Mapping[int, Simulated], alpha: float) -> list[Row]:
    """@param alpha microseconds that the alpha-beta baseline adds to what links take
    @return the rows of ROW_COLUMNS; the error is that of the bus bandwidth, as a fraction of the measured one"""
    rows: list[Row] = []
    for row in table.rows:
        if row.size not in simulated:
            continue
        ours = simulated[row.size]
        busbw = row.busbw * row.microseconds / ours.microseconds
        links = row.busbw * row.microseconds / table.machine.links_us(row.size)
        rows.append((table.name, table.machine.held_out, row.size, row.microseconds, ours.microseconds, row.busbw,
                     busbw, row.microseconds / ours.microseconds - 1, ours.algorithm, ours.protocol, ours.channels,
                     round(links, 3), round(alpha + table.machine.links_us(row.size), 3), ours.estimate, row.doubt))
    return rows


def frame_of(rows: Sequence[Row]) -> pd.DataFrame:
    """@return a frame whose errors are those that accuracy.csv records, so that the page says what they come to"""
    frame = pd.DataFrame(rows, columns=ROW_COLUMNS).round({"error": ERROR_DECIMALS})
    frame["band"] = frame["size"].map(band_of)
    return frame


def read(path: pathlib.Path) -> pd.DataFrame:
    """@return the frame of a recorded card"""
    frame = pd.read_csv(path, keep_default_na=False)
    frame["band"] = frame["size"].map(band_of)
    return frame


def summarize(frame: pd.DataFrame) -> pd.DataFrame:
    """@return per table and band of sizes: how many sizes, the mean and the largest size of the error, its mean with
    its sign, and the mean size of the error of each baseline"""
    counted = frame[frame["doubt"] == ""].assign(
        magnitude=lambda rows: rows["error"].abs(),
        links=lambda rows: (rows["links busbw"] / rows["measured busbw"] - 1).abs(),
        alpha=lambda rows: (rows["measured us"] / rows["alpha-beta us"] - 1).abs(),
        nccl=lambda rows: (rows["measured us"] / pd.to_numeric(rows["NCCL us"], errors="coerce") - 1).abs())
    grouped = counted.groupby(["table", "held out", "band"], sort=False)
    return grouped.agg(count=("magnitude", "count"), mean=("magnitude", "mean"), max=("magnitude", "max"),
                       bias=("error", "mean"),
                       links=("links", "mean"), alpha=("alpha", "mean"), nccl=("nccl", "mean")).reset_index()


def overall(frame: pd.DataFrame) -> pd.DataFrame:
    """@return the same over all tables that may be looked at, and over those that are held out; each table counts
    the same, however many sizes it has"""
    by_table = summarize(frame)
    grouped = by_table.groupby(["held out", "band"], sort=False)
    return grouped.agg(tables=("table", "count"), count=("count", "sum"), mean=("mean", "mean"),
                       max=("max", "max")).reset_index()
