# SPDX-License-Identifier: GPL-2.0-only
"""The part of the card for who doubts it: constants counted, tables left out one at a time, and measurements that were
repeated."""
from collections.abc import Sequence

import pandas as pd

from clustersim.rst import list_table, percent, signed, table_link
from clustersim_lab.accuracy import evidence, repeats
from clustersim_lab.accuracy.card import BAND_NAMES, BANDS
from clustersim_lab.accuracy.leave_out import LeftOut
from clustersim_lab.accuracy.tables import Table


def constants_section(tables: Sequence[Table]) -> str:
    figures = evidence.figures()
    measured = [figure for figure in figures if figure.shown]
    several = [figure for figure in measured if len(figure.shown) > 1]
    launches = sum(1 for table in tables if table.machine.gpus_per_thread > 1)
    informing = sum(1 for table in tables if table.machine.informs)
    text = "Figures from tables\n-------------------\n\n"
    text += (
        f"- NCCL's, RCCL's and HCCL's own constants, in the model as their sources have them: "
        f"{evidence.library_constants()} numbers.\n"
        f"- Figures of networks and GPUs that a vendor or a library's source gives: "
        f"{len(figures) - len(measured)}.\n"
        f"- Figures that measurements gave: {len(measured)}, of which {len(several)} rest on several tables.\n"
        f"- Launches by one thread for several GPUs: {launches} tables, each simulated with the median of the "
        f"others.\n"
        f"- Rules that are inferred from tables, not proved by NCCL's code: {len(evidence.rules())}.\n"
        f"- {informing} of the {len(tables)} tables inform any of these; `All tables`_ has their errors apart.\n\n"
    )
    rows = [[figure.name, figure.value, figure.by,
             ", ".join(table_link(name) if name in {table.name for table in tables} else name
                       for name in figure.tables)]
            for figure in measured]
    text += list_table(("figure", "value", "by", "from"), rows, (25, 10, 35, 30))
    text += "The rules:\n\n" + "".join(f"- {rule['rule']}: {', '.join(map(table_link, rule['tables']))}\n"
                                       for rule in evidence.rules())
    return text + "\n"


def left_out_section(left_out: Sequence[LeftOut]) -> str:
    text = "One table left out\n------------------\n\n"
    text += ("Figures that rest on several tables are derived once more without each of these, as the mean of what "
             "the others show, and the table is\n"
             "predicted with that: tables of up to 64 GPUs, as larger ones take long. ``lab/accuracy.py "
             "--leave-one-out`` does so. A figure that rests on one table cannot be derived without it: the\n"
             "tables that inform the model are apart from the others in `All tables`_.\n\n")
    rows = [[row.figure, row.value, table_link(row.table), row.without, percent(row.error), percent(row.error_without)]
            for row in left_out]
    return text + list_table(("figure", "value", "table left out", "value without it", "its error",
                              "its error without"), rows,
                             (25, 10, 30, 15, 10, 10))


def repeats_section(tables: Sequence[Table]) -> str:
    text = "Measurements that were repeated\n-------------------------------\n\n"
    text += ("By how much tables of the same test on machines of one description are apart, on average over their "
             "common sizes. They differ in\n"
             "release, settings or site, so this is how close a model can come that knows no more of a machine than "
             "its description.\n\n")
    rows = []
    means: dict[str, list[float]] = {band: [] for band in BANDS}
    for first, second in repeats.pairs_of(tables):
        found = repeats.apart(first, second)
        if found:
            rows.append([table_link(first.name), table_link(second.name),
                         *(percent(found[band]) if band in found else "" for band in BANDS)])
            for band, value in found.items():
                means[band].append(value)
    rows.append(["mean of the pairs", "", *(percent(sum(means[band]) / len(means[band])) if means[band] else ""
                                            for band in BANDS)])
    return text + list_table(("table", "another", *BAND_NAMES.values()), rows, (30, 30, 12, 12, 12))


def scale_section(tables: Sequence[Table], summary: pd.DataFrame) -> str:
    text = "Errors by scale\n---------------\n\n"
    text += (
        "Tables of each number of servers, from 1 MiB up: the mean error, and the mean with its sign. Servers are racks"
        " where NVLinks join these.\n\n"
    )
    servers = {table.name: table.machine.servers for table in tables}
    large = summary[summary["band"] == "large"].assign(servers=lambda rows: rows["table"].map(servers))
    rows = [[count, len(group), percent(group["mean"].mean()), signed(group["bias"].mean())] for count,
            group in large.groupby("servers")]
    return text + list_table(("servers", "tables", "mean", "mean with its sign"), rows, (15, 15, 15, 20))


def reviewer_section(tables: Sequence[Table], summary: pd.DataFrame, left_out: Sequence[LeftOut]) -> str:
    return constants_section(tables) + left_out_section(left_out) + repeats_section(tables) + scale_section(tables,
        summary)
