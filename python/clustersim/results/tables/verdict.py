# SPDX-License-Identifier: GPL-2.0-only
"""The limits of each group, as figures; verdict.py says how they are worked out."""
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clustersim.results.tables.table import Table
from clustersim.results.verdict import Finding, findings_of, sentences_of

if TYPE_CHECKING:
    from clustersim.results.run import Run


def _row(run: "Run", each: Finding) -> tuple[object, ...]:
    is_known = each.fair_ns or not each.lost
    return (run.name, each.op, each.group, each.ranks, each.bound, each.link_name, 100 * each.busy, 100 * each.others,
            100 * each.paused, 100 * each.idle, 100 * each.lost if is_known else None,
            None if is_known else 100 * each.lost, 100 * each.above)


def verdict_table(runs: "Sequence[Run]") -> Table:
    """@return one row per run, operation and kind of group"""
    rows, sentences = [], []
    for run in runs:
        rows += [_row(run, each) for each in findings_of(run, runs)]
        label = f"{run.name}: " if len(runs) > 1 else ""
        sentences += [label + sentence for sentence in sentences_of(run, runs)]
    columns = ("busy %", "others %", "paused %", "idle %", "lost to CC %", "lost to CC at most %", "over spines %")
    return Table("verdict", "What limits each group",
                 ("run", "op", "group", "ranks", "bounded by", "busiest link", *columns), rows,
                 note="Shares of the time in which the group was active, on its busiest link. What is lost to "
                 "congestion "
                      "control (CC) is known where a run of the same inputs with --network flow is compared; else it "
                 "is at "
                      "most the idle time.",
                 digits=dict.fromkeys(columns, 1), optional=("others %", "paused %", "lost to CC at most %"),
                 sentences=sentences)
