# SPDX-License-Identifier: GPL-2.0-only
"""The accuracy card as a documentation page."""
import pathlib
from collections.abc import Callable, Sequence

import pandas as pd

from clustersim.rst import escape, list_table, percent, signed, table_link
from clustersim_lab.accuracy.card import BAND_NAMES, BANDS, GOALS, overall, summarize
from clustersim_lab.accuracy.leave_out import LeftOut
from clustersim_lab.accuracy.plots import size_name
from clustersim_lab.accuracy.reviewer import reviewer_section
from clustersim_lab.accuracy.tables import Machine, Table, of_kinds_not_seen

BASELINES = (  # columns of summarize(), and the bands in which they say anything
    ("links", "rates of links alone", ("large",)),
    ("alpha", "these and a latency (alpha-beta)", BANDS),
    ("nccl", "NCCL's own estimate", BANDS))
WORST = 5  # tables that the first section names
INTRODUCTION = """\
.. Written by lab/accuracy.py --page of docs/source/data/accuracy.csv; do not edit.

Accuracy card
=============

Published nccl-tests tables, and the same machines simulated: error by size, mean and worst of each table.
``lab/accuracy.py --update`` runs everything anew, in about ten minutes, and records it in
``docs/source/data/accuracy.csv``, of which this page is made.

@SHORT@Comparison
----------

- The **error** is that of the bus bandwidth: simulated over measured, minus one. Means are of its magnitude.
- Sizes are reported apart: up to 32 KiB, where latencies count; 64 to 512 KiB; and from 1 MiB, where bandwidths do.
- A tenth of the tables, @HELD_OUT@, chosen by the SHA-256 of their names, are **held out**: no model may be changed by
  looking at them, and they are reported apart. Those of a **kind** (type of machine and collective) of which there is no
  development table are the estimate of the error on a machine that is not here. From the sixth batch on, whole kinds
  are held out, by the SHA-256 of GPU, network, number of servers and test. Tables came
  in batches; each batch's tenth was chosen before any of it was simulated, but the third's, of AMD's GPUs: the same
  rule chose it afterwards. The fourth's, of clouds' networks, and the fifth's, of Ascend's NPUs, were chosen before
  these were simulated, but after their sources had been read.
- Tables that a measured figure of the model comes from, or a rule that is inferred (for a generation of GPUs or a kind
  of network, never for a size), are apart from the others, too.
- A size does not count (grey crosses) where its source calls it bad, where a larger size was measured to take less than
  nine tenths of its time (no model of a quiet machine makes a message slower by making it shorter), or where its source
  has two tables of one test on one machine that differ by more than a tenth, and does not say by which setting: then
  the faster one counts.
- More than 64 ranks carry out one iteration of each size.
- Every variable has its default, but for what the source says was set; the release of NCCL is that of the source, where
  it names one. The network is @NETWORK@.

Tables and model
----------------

- *Tables*: NCCL's own tuning constants (latencies, channel and tree bandwidths, thresholds), by release and GPU
  generation, and HCCL's; rates of links, from vendors' sheets; latency and efficiency of kinds of networks
  (:doc:`nccl`).
- *Model*: which algorithm, protocol and number of channels is taken, the flows, their dependencies and chunks, sharing
  of links, queues and congestion. No figure is fitted per table or per size.
- *Measured*: figures and rules that tables gave, which `Figures from tables`_ counts and names.
- *Launches*: where one thread launches on all GPUs of a server, as eight sources do, each launch takes the median of
  what the **other** such tables of CUDA, or of HIP, show, so no table is scored with a figure of its own
  (``machines.yaml`` has what each shows).
- *Not modelled*: other launches of kernels, how busy CPU proxies are
  (but in AllToAll and with libfabric), tuner plugins of clouds other than AWS, other tenants of a cloud's
  network, firmware.
- Sources round: where one prints bus bandwidths of 0.04 GB/s only, its times are known to an eighth.

"""
CLAIMS = """\
Other simulators' claims, on machines and sizes of their choice: `ASTRA-sim
<https://astra-sim.github.io/astra-sim-docs/validation/hardware/gpu-validation-hgx-h100.html>`__ gives geometric means
of 20.6%, 12.0% and 9.7% for AllReduce on 2, 4 and 8 H100 of one server; `SimAI
<https://www.usenix.org/conference/nsdi25/presentation/wang-xizheng-simai>`__ an "alignment" of 98.1% on average, in
various tests. :doc:`simai-comparison` has the tables of SimAI's tutorial beside ours.

"""
MISSED_INTRODUCTION = """\
Tables that miss the goal
-------------------------

The goal is a mean error of 5% and no size above 15% from 1 MiB up, and a mean of 15% up to 32 KiB. These tables miss
it. Proved causes follow from the source, from NCCL's code or from arithmetic on the table; suspected causes do not.

"""


def cell_of(summary: pd.DataFrame, name: str, band: str) -> list[str]:
    """@return mean and worst error of a table in a band, as text; empty where it has no such size"""
    found = summary[(summary["table"] == name) & (summary["band"] == band)]
    return [percent(found["mean"].iloc[0]), percent(found["max"].iloc[0])] if len(found) else ["", ""]


def short_section(tables: Sequence[Table], frame: pd.DataFrame) -> str:
    """Summary of the page: means and medians of the tables, and the worst of them."""
    summary = summarize(frame)
    held_out = summary["held out"].astype(bool)
    not_seen = summary["table"].isin(of_kinds_not_seen(tables))
    rows = []
    for label, which in (("development tables", ~held_out), ("those held out", held_out),
                         ("those held out, of kinds not seen", not_seen)):
        chosen = {band: summary[(summary["band"] == band) & which] for band in BANDS}
        rows.append([f"number of {label}", *(str(len(chosen[band])) for band in BANDS)])
        for name, column, measure, form in (("mean", "mean", "mean", percent), ("median", "mean", "median", percent),
                                            ("mean with its sign (bias)", "bias", "mean", signed)):
            cells = [getattr(chosen[band][column], measure)() for band in BANDS]
            rows.append([f"{name} of {label}", *("" if cell != cell else form(cell) for cell in cells)])
        for column, name, bands in BASELINES:
            cells = [chosen[band][column].mean() if band in bands else float("nan") for band in BANDS]
            rows.append([f"for comparison, {name}: mean of {label}",
                         *("" if cell != cell else percent(cell) for cell in cells)])
    text = "In short\n--------\n\nErrors of the bus bandwidth, each table counted once by the mean of its sizes:\n\n"
    text += list_table(["tables", *(BAND_NAMES[band] for band in BANDS)], rows, (40, 20, 20, 20))
    text += ("Alpha-beta adds to the links' time a latency: the median of what the other tables of one server, or of "
             "several, take for their\n"
             "smallest size. NCCL's estimate is what its cost model expects of its choice; it has none for sends and "
             "receives.\n\n")
    text += outlier_of(summary, "small")
    text += goals_met(summary[~summary["held out"].astype(bool)])
    worst = summary[summary["band"] == "large"].nlargest(WORST, "mean")
    text += "The worst tables from 1 MiB up; `Tables that miss the goal`_ says why, as far as it is known:\n\n"
    text += "".join(f"- {table_link(row['table'])}: {percent(row['mean'])}\n"
                    for _, row in worst.iterrows()) + "\n"
    return text + CLAIMS + ("NCCL's constants, rates of links, and latencies of kinds of networks are tables; "
                            "choices, flows, their order "
                   "and congestion\nare a model, and no figure is fitted per table or per size: `Tables and model`_.\n"
                   "\n")


def outlier_of(summary: pd.DataFrame, band: str) -> str:
    """@return which held-out table makes the mean of a band, where one does: more than half of it"""
    rows = summary[(summary["band"] == band) & summary["held out"].astype(bool)]
    if len(rows) < 2:
        return ""
    worst = rows.loc[rows["mean"].idxmax()]
    others = rows[rows["table"] != worst["table"]]["mean"].mean()
    if worst["mean"] < rows["mean"].sum() / 2:
        return ""
    return (f"Of the tables held out, one makes the mean {BAND_NAMES[band]}: {table_link(worst['table'])}, "
            f"{percent(worst['mean'])};\nwithout it the mean is {percent(others)}.\n\n")


def goals_met(summary: pd.DataFrame) -> str:
    """@return which goals the mean of tables reaches, and how many of the tables do by themselves"""
    text = "Against the goals, of the development tables:\n\n"
    for band, goal in GOALS.items():
        rows = summary[summary["band"] == band]
        if not len(rows):
            continue
        mean = rows["mean"].mean()
        within = ((rows["mean"] <= goal.mean) & (rows["max"] <= goal.worst)).sum()
        text += (f"- {BAND_NAMES[band]}: a mean of {percent(goal.mean)} is "
                 f"{'reached' if mean <= goal.mean else 'not reached'}, "
                 f"at {percent(mean)}; {(rows['mean'] <= goal.mean).sum()} of {len(rows)} tables have it")
        text += (
            f", and {within} of these no size above {percent(goal.worst)}.\n" if goal.worst < float("inf") else ".\n"
        )
    return text + "\n"


def summary_section(tables: Sequence[Table], frame: pd.DataFrame) -> str:
    text = "All tables\n----------\n\n"
    rows = []
    for label, chosen in (("mean of tables, but those held out", lambda machine: not machine.held_out),
                          ("of these, tables that inform the model", lambda machine: machine.informs),
                          ("of these, the others", lambda machine: not machine.informs and not machine.held_out),
                          ("held out: mean of tables", lambda machine: machine.held_out)):
        names = [table.name for table in tables if chosen(table.machine)]
        totals = overall(frame[frame["table"].isin(names)])
        row = [label]
        for band in BANDS:
            found = totals[totals["band"] == band]
            row += [percent(found["mean"].iloc[0]), percent(found["max"].iloc[0])] if len(found) else ["", ""]
        rows.append(row)
    summary = summarize(frame)
    for table in tables:
        cells = [cell for band in BANDS for cell in cell_of(summary, table.name, band)]
        rows.append([table_link(table.name) + (" (held out)" if table.machine.held_out else ""), *cells])
    header = ["table"]
    for band in BANDS:
        header += [f"{BAND_NAMES[band]}: mean", "worst"]
    return text + list_table(header, rows, (40, 10, 10, 10, 10, 10, 10))


def reasons(machine: Machine) -> list[str]:
    """@return why a table is off: what something shows, and what is only suspected"""
    found = []
    if machine.proved:
        found.append(f"why it is off, as far as it is proved: {machine.proved}")
    if machine.suspected:
        found.append(f"why it may be off, suspected only: {machine.suspected}")
    return found


def missed_section(tables: Sequence[Table], frame: pd.DataFrame) -> str:
    """The tables outside the goal, by how far, and why."""
    text = MISSED_INTRODUCTION
    summary = summarize(frame)
    for table in tables:
        if not (figures := missed_bands(summary, table.name)):
            continue
        text += f"{table_link(table.name)}: {'; '.join(figures)}\n\n"
        why = reasons(table.machine)
        if table.machine.held_out:
            why.append("held out, so its sizes have not been looked into")
        text += "".join(f"- {reason}\n" for reason in why) + "\n"
    return text


def missed_bands(summary: pd.DataFrame, name: str) -> list[str]:
    """@return where a table is outside the goal, in words; nothing where it is within"""
    figures = []
    for band, goal in GOALS.items():
        found = summary[(summary["table"] == name) & (summary["band"] == band)]
        if len(found) and (found["mean"].iloc[0] > goal.mean or found["max"].iloc[0] > goal.worst):
            figures.append(f"{BAND_NAMES[band]} mean {percent(found['mean'].iloc[0])}, "
                           f"worst {percent(found['max'].iloc[0])}")
    return figures


def table_section(table: Table, frame: pd.DataFrame, image: pathlib.Path) -> str:
    title = table.name
    text = f".. _accuracy-{title.lower()}:\n\n{title}\n{'~' * len(title)}\n\n"
    for key in ("machine", "network", "settings", "source"):
        if key in table.header:
            text += f"- {key}: {escape(table.header[key])}\n"
    if table.machine.note:
        text += f"- note: {table.machine.note}\n"
    if table.machine.held_out:
        text += "- held out\n"
    if table.machine.informs:
        text += f"- from it the model has: {escape(table.machine.informs)}\n"
    text += "".join(f"- {reason}\n" for reason in reasons(table.machine))
    text += f"\n.. image:: {image}\n   :alt: time and bus bandwidth by size, measured and simulated\n\n"
    rows = [(size_name(row["size"]), f"{row['measured us']:.2f}", f"{row['simulated us']:.2f}", signed(row["error"]),
             f"{row['algorithm']} {row['protocol']}, {row['channels']}", row["doubt"]) for _, row in frame.iterrows()]
    return text + list_table(("size", "measured us", "simulated us", "error", "choice, channels", "not counted"), rows,
                             (12, 14, 14, 12, 28, 20))


def render(tables: Sequence[Table], frame: pd.DataFrame, left_out: Sequence[LeftOut], network: str,
           image_of: Callable[[Table], pathlib.Path]) -> str:
    """@param left_out predictions of tables without figures of their own
    @return the page's text; image_of(table) is the path of its plot, seen from the page"""
    held_out = sum(table.machine.held_out for table in tables)
    text = INTRODUCTION.replace("@NETWORK@", f"``--network {network}``").replace("@HELD_OUT@", f"{held_out} in all")
    text = text.replace("@SHORT@", short_section(tables, frame))
    text += summary_section(tables, frame) + reviewer_section(tables, summarize(frame),
        left_out) + missed_section(tables, frame)
    text += "Table by table\n--------------\n\n"
    for table in tables:
        text += table_section(table, frame[frame["table"] == table.name], image_of(table))
    return text.rstrip() + "\n"
