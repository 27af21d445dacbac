# SPDX-License-Identifier: GPL-2.0-only
"""Bandwidth of collectives by size, and transfers of a KV-cache workload."""
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clustersim.results.tables.percentiles import percentiles
from clustersim.results.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.run import Run

KEY = ["op", "kind", "ranks", "bytes"]


def busbw_by_size(run: "Run") -> "pd.DataFrame | None":
    """@return one row per operation, kind of group, ranks and size

    Index: KEY. Columns: count, algorithm (such as "Ring LL128", several joined by "/"), time_us (the
    slowest group's), algbw and busbw (GB/s, medians over groups and passes; from the first rank's start to
    the last one's end), busbw_last_start (from the last rank's start; the same where a run does not say).
    """
    frame = run.collectives
    if frame is None or frame.empty:
        return None
    frame = frame.assign(choice=(frame["algorithm"] + " " + frame["protocol"]).str.strip(),
                         time_us=frame["duration_ns"] / 1e3)
    if "busbw_last_start" not in frame:
        frame["busbw_last_start"] = frame["busbw"]
    groups = frame.groupby(KEY, sort=True)
    return groups.agg(count=("id", "size"), algorithm=("choice", lambda c: "/".join(sorted(set(c)))),
                      time_us=("time_us", "max"), algbw=("algbw", "median"), busbw=("busbw", "median"),
                      busbw_last_start=("busbw_last_start", "median"))


def busbw_table(runs: "Sequence[Run]") -> Table:
    """@return one row per kind of collective, a column per run, and one from the last start where it differs"""
    found = {run.name: frame for run in runs if (frame := busbw_by_size(run)) is not None}
    keys = sorted(set().union(*(frame.index for frame in found.values())))

    def values(key: tuple[object, ...], column: str) -> list[float | None]:
        return [float(found[run.name].loc[key, column])
                if run.name in found and key in found[run.name].index else None for run in runs]

    late = any(frame["busbw_last_start"].gt(1.01 * frame["busbw"]).any() for frame in found.values())
    rows = []
    for key in keys:
        chosen = [frame.loc[key, "algorithm"] for frame in found.values() if key in frame.index]
        rows.append((*key, "/".join(dict.fromkeys(chosen)), *values(key, "busbw"),
                     *(values(key, "busbw_last_start") if late else ())))
    names = [f"{run.name} GB/s" for run in runs] if len(runs) > 1 else ["busbw GB/s"]
    if late:
        names += ([f"{run.name} from last start GB/s" for run in runs] if len(runs) > 1 else
                  ["from last start GB/s"])
    return Table("busbw", "Bus bandwidth of collectives by size",
                 ("op", "group", "ranks", "bytes", "algorithm", *names), rows,
                 note="Median over the groups of a kind and over passes, from the first rank's start to the "
                      "last rank's end" + ("; \"from last start\" begins when the last rank has started, so that "
                                           "a straggler before the collective does not count." if late else "."),
                 digits=dict.fromkeys(names, 2))


def requests_table(runs: "Sequence[Run]") -> Table:
    """@return one row per job with a KV-cache workload"""
    rows = []
    for run in runs:
        if run.requests is None:
            continue
        for job, frame in run.requests.groupby("job"):
            times = frame["transfer_us"]
            rows.append((run.name, job, len(frame), float(frame["bytes"].sum()) / 1e6,
                         *percentiles(times, (50, 90, 95, 99)), times.max() if len(times) else None))
    return Table("requests", "KV-cache transfers",
                 ("run", "job", "requests", "MB", "p50 us", "p90 us", "p95 us", "p99 us", "max us"), rows)
