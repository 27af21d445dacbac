# SPDX-License-Identifier: GPL-2.0-only
"""How much longer flows took than they would have alone."""
from collections.abc import Iterator, Sequence

from typing import TYPE_CHECKING

import numpy as np

from clustersim.results.tables.percentiles import percentiles
from clustersim.results.tables.table import Row, Table

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.run import Run

LIMITS = (1e4, 1e5, 1e6, 1e7)  # bytes; a range is below its limit
RANGES = ("< 10 KB", "10 - 100 KB", "100 KB - 1 MB", "1 - 10 MB", ">= 10 MB")


PATHS = ("network", "all", "NVLink")  # in the order of tables


def path_kinds(run: "Run") -> "pd.Categorical":
    """@return for each flow "NVLink" or "network", or "all" where the topology is unknown, as a Categorical: flows are
    many"""
    topology = run.topology
    assert run.flows is not None
    if topology is None or not topology.nvswitches:
        kind = "all" if topology is None else "network"
        codes: np.ndarray = np.full(len(run.flows), PATHS.index(kind), dtype=np.int8)
    else:
        per_server = topology.gpus_per_server
        same = (run.flows["src"] // per_server == run.flows["dst"] // per_server).to_numpy()
        codes = np.where(same, np.int8(PATHS.index("NVLink")), np.int8(PATHS.index("network")))
    import pandas as pd  # only where there are flows: it takes most of a command's start
    return pd.Categorical.from_codes(codes, categories=PATHS)


def slowdowns_by_size(run: "Run") -> Iterator[tuple[str, str, np.ndarray]]:
    """Yields path, range of sizes, and the slowdowns of its flows, for all that have any."""
    if run.flows is None:
        return
    paths, slowdowns = path_kinds(run).codes, run.flows["slowdown"].to_numpy()
    known = ~np.isnan(slowdowns)
    for code, path in enumerate(PATHS):
        mine = known & (paths == code)
        values = slowdowns[mine]
        ranges = np.digitize(run.flows["bytes"].to_numpy()[mine], LIMITS)
        for number, name in enumerate((*RANGES, "all")):
            chosen = values if name == "all" else values[ranges == number]
            if len(chosen):
                yield path, name, chosen


def slowdown_table(runs: "Sequence[Run]") -> Table:
    """@return one row per run, path and range of sizes"""
    rows: list[Row] = []
    for run in runs:
        for path, name, values in slowdowns_by_size(run):
            rows.append((run.name, path, name, len(values), *percentiles(values, (50, 95, 99, 99.9)),
                         float(values.max())))
    order = {name: i for i, name in enumerate((*RANGES, "all"))}
    rows.sort(key=lambda row: (row[1] == "NVLink", order[row[2]]))  # stable: runs stay in their order
    return Table("slowdown", "Slowdown of flows by size",
                 ("run", "path", "flow size", "flows", "p50", "p95", "p99", "p99.9", "max"), rows,
                 note="Slowdown is a flow's duration divided by what it would be alone (1 is ideal).")
