# SPDX-License-Identifier: GPL-2.0-only
"""What limited each group, as figures; verdict.py says how they are worked out."""
from clustersim.results.tables.table import Table
from clustersim.results.verdict import findings_of, sentences_of


def verdict_table(runs):
    """@return one row per run, operation and kind of group"""
    rows, sentences = [], []
    for run in runs:
        found = findings_of(run, runs)
        rows += [(run.name, each.op, each.group, each.ranks, each.bound, each.link_name, 100 * each.busy,
                  100 * each.others, 100 * each.paused, 100 * each.idle, 100 * each.lost, 100 * each.above)
                 for each in found]
        label = f"{run.name}: " if len(runs) > 1 else ""
        sentences += [label + sentence for sentence in sentences_of(run, runs)]
    columns = ("busy %", "others %", "paused %", "idle %", "lost to CC %", "over spines %")
    return Table("verdict", "What limits each group",
                 ("run", "op", "group", "ranks", "bounded by", "busiest link", *columns), rows,
                 note="Shares of the time in which the group was active, on its busiest link. What is lost to congestion "
                      "control is an upper bound, unless a run of the same inputs with --network flow is compared.",
                 digits=dict.fromkeys(columns, 1), optional=("others %", "paused %"), sentences=sentences)
