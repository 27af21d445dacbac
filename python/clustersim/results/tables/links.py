# SPDX-License-Identifier: GPL-2.0-only
"""How busy links were, and the busiest of them."""
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clustersim.evenness import spread
from clustersim.results.nodes import LINK_KINDS, links_with_kinds
from clustersim.results.tables.percentiles import percentiles
from clustersim.results.tables.table import Table

if TYPE_CHECKING:
    from clustersim.results.run import Run


# Columns that the newer files have, and their names in tables.
EXTRAS = {"trims": "trimmed packets", "replays": "replays"}


def utilisation_table(runs: "Sequence[Run]") -> Table:
    """@return one row per run and kind of link"""
    rows = []
    for run in runs:
        links = links_with_kinds(run)
        for kind, group in () if links is None else links.groupby("kind"):
            busy = 100 * group["utilisation"]
            mean = float(busy.mean())
            even = spread(group["tx_bytes"].tolist())
            rows.append((run.name, kind, len(group), int((group["tx_bytes"] > 0).sum()), mean,
                         *percentiles(busy, (50, 99)), float(busy.max()),
                         float(busy.max()) / mean if mean else None, None if even is None else 100 * even,
                         float(group["pause_ns"].sum()) / 1e3, int(group["drops"].sum()),
                         *(int(group[name].sum()) if name in group else 0 for name in EXTRAS)))
    rows.sort(key=lambda row: LINK_KINDS.index(row[1]))  # stable: runs stay in their order
    return Table("utilisation", "Utilisation of links",
                 ("run", "links", "count", "used", "mean %", "p50 %", "p99 %", "max %", "max / mean",
                  "spread %", "paused us", "drops", *EXTRAS.values()), rows,
                 note="Share of the run in which a link was sending, each direction counted; max / mean "
                      "far above 1 means that routing or the job uses few of the links. Spread is 100% if all "
                      "links carry the same bytes, and 100% / count if one carries all (by their entropy).",
                 optional=("paused us", "drops", *EXTRAS.values()),
                 digits={"mean %": 2, "p50 %": 2, "p99 %": 2, "max %": 2, "max / mean": 2, "spread %": 1})


def hottest_table(runs: "Sequence[Run]", count: int | None = None) -> Table:
    """@param count links per run (default: 10, or 5 of several runs)

    @return the busiest network links of each run and what used them
    """
    rows, count = [], count or (10 if len(runs) == 1 else 5)
    for run in runs:
        links = links_with_kinds(run)
        if links is None:
            continue
        network = links[links["kind"] != "NVLink"]
        chosen = network[network["tx_bytes"] > 0].sort_values(
            ["utilisation", "node", "port"], ascending=[False, True, True]).head(count)
        for row in chosen.to_dict("records"):
            rows.append((run.name, run.nodes.name(row["node"]), row["port"], run.nodes.name(row["peer"]),
                         row["rate_bps"] / 1e9, 100 * row["utilisation"], row["tx_bytes"] / 1e6,
                         row["pause_ns"] / 1e3, row["drops"], *(row.get(name, 0) for name in EXTRAS),
                         row.get("used_by", ""),
                         row.get("largest_flows", "")))
    columns = ["run", "from", "port", "to", "Gb/s", "busy %", "MB", "paused us", "drops", *EXTRAS.values(),
               "used by", "largest flows"]
    keep = [i for i in range(len(columns)) if i < 9 + len(EXTRAS) or any(row[i] for row in rows)]
    return Table("hottest", "Hottest network links", tuple(columns[i] for i in keep),
                 [tuple(row[i] for i in keep) for row in rows],
                 note="Largest flows: source > destination, numbers of GPUs, and their share of the link's "
                      "bytes." if len(keep) == len(columns) else "",
                 digits={"Gb/s": 0, "busy %": 2}, optional=("paused us", "drops", *EXTRAS.values()))
