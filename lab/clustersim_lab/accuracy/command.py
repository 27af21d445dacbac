# SPDX-License-Identifier: GPL-2.0-only
"""Simulates the machines of published nccl-tests tables and says how far off the times are.

Reads the tables and machines.yaml of docs/source/data/measurements, runs collective-perf for each, and prints the
mean and the worst error of each table: up to 32 KiB, 64 to 512 KiB, and from 1 MiB. Writes OUTPUT/accuracy.csv
with every size, and OUTPUT/plots. With --update it also records the card, docs/source/data/accuracy.csv. --page
simulates nothing: it writes the documentation page of the recorded card with its plots, as `make -C docs html` does.
--leave-one-out derives each figure of the model that rests on several tables without each of these in turn, predicts
that table with it, compares with the recorded card, and writes docs/source/data/leave_one_out.csv, which the page
shows.

Examples:
  lab/accuracy.py --tables '*H100*' --rows
  lab/accuracy.py --update
  lab/accuracy.py --page docs/source/models
  lab/accuracy.py --leave-one-out
"""
from __future__ import annotations

import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import shutil
import sys
from typing import TYPE_CHECKING

from clustersim.required_modules import require

require("yaml", "pandas", "matplotlib")

from clustersim import command  # noqa: E402
from clustersim.simulation import find_program  # noqa: E402
from clustersim.whole_file import write_text  # noqa: E402
from clustersim_lab import ROOT  # noqa: E402
from clustersim_lab.accuracy import evidence, leave_out, networks, simulate, tables  # noqa: E402

if TYPE_CHECKING:
    import pandas as pd

DATA = ROOT / "docs" / "source" / "data"
CARD = DATA / "accuracy.csv"
LEFT_OUT = DATA / "leave_one_out.csv"
IMAGES = pathlib.Path("images") / "accuracy"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = command.Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/accuracy"), help="directory that is written")
    add("--tables", action="append", metavar="PATTERN", help="names of tables, such as '*H100*'; may repeat (all)")
    add("--measurements", type=pathlib.Path, default=DATA / "measurements", help="directory of tables")
    add("--max-bytes", type=int, default=1 << 60, help="leave larger sizes out")
    add("--network", default="flow", choices=("flow", "packet"), help="how the network is simulated (flow)")
    add("--without-held-out", action="store_true", help="leave out the tables that are held out for validation")
    add("--rows", action="store_true", help="print every size")
    add("--update", action="store_true", help="record the card; needs all tables")
    add("--page", type=pathlib.Path, metavar="DIR",
        help="write accuracy.rst and its parts of the recorded card there, and nothing else")
    add("--leave-one-out", action="store_true", help="predict tables with figures that they did not inform, and "
        "nothing else")
    add("-j", "--jobs", type=int, default=os.cpu_count(), help="tables that run side by side")
    options = parser.parse_args(arguments)
    partial = options.tables or options.max_bytes < 1 << 60 or options.without_held_out or options.network != "flow"
    if options.leave_one_out and (options.update or partial):
        parser.error("--leave-one-out goes with no --update, nor a flag that leaves tables or sizes out")
    if options.page and (options.update or options.leave_one_out or partial):
        parser.error("--page goes with no --update, --leave-one-out, nor a flag that leaves tables or sizes out")
    if options.update and partial:
        parser.error("--update goes with no flag that leaves tables or sizes out, nor another network")
    return options


def chosen(options: argparse.Namespace) -> list[tables.Table]:
    found = [table for table in tables.read_tables(options.measurements)
             if not options.tables or any(fnmatch.fnmatch(table.name, each) for each in options.tables)]
    if options.without_held_out:
        found = [table for table in found if not table.machine.held_out]
    if not found:
        raise tables.AccuracyError(f"no table matches {' '.join(options.tables or ())}; expected one of "
                                   f"{options.measurements}")
    return found


def leave_one_out(options: argparse.Namespace, found: list[tables.Table]) -> None:
    """Predict tables without figures of their own, print and record how well."""
    program, gpu_table = find_program("collective-perf"), options.measurements / "gpus.yaml"
    recorded = leave_out.recorded_errors(CARD)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda case: leave_out.leave_out(case[0], case[1], recorded[case[1].name],
            options.output / "left-out", program, gpu_table),
                             leave_out.cases(evidence.figures(), found)))
    for row in rows:
        print(f"{row.table:<46} {row.figure:<44} {row.value:>8} {row.without:>8}  {row.error * 100:>6.1f} %  "
              f"{row.error_without * 100:>6.1f} %")
    leave_out.write(rows, LEFT_OUT)


def run_case(options: argparse.Namespace, found: list[tables.Table]) -> pd.DataFrame:
    """@return the frame of all rows"""
    from clustersim_lab.accuracy import card  # loads pandas
    program = find_program("collective-perf")
    alphas = card.alphas_of(tables.read_tables(options.measurements))

    def one(table: tables.Table) -> list[tuple[object, ...]]:
        sizes = simulate.sizes_of(table, options.max_bytes)
        if not sizes:
            return []
        simulated = simulate.simulate(table, sizes, options.output / "runs", program,
                                      options.measurements / "gpus.yaml", options.network)
        return card.rows_of(table, simulated, alphas[table.name])

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return card.frame_of([row for rows in pool.map(one, found) for row in rows])


def write(frame: pd.DataFrame, path: pathlib.Path) -> None:
    """Writes the card's rows as CSV, times in us and bus bandwidths in GB/s."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.drop(columns="band").round({"measured us": 3, "simulated us": 3, "measured busbw": 3,
                                      "simulated busbw": 3}).to_csv(path, index=False)


def show(frame: pd.DataFrame, with_rows: bool) -> None:
    from clustersim_lab.accuracy import card, page, plots
    if with_rows:
        for name, rows in frame.groupby("table", sort=False):
            print(f"{name}{' (held out)' if rows['held out'].any() else ''}")
            for _, row in rows.iterrows():
                print(f"  {plots.size_name(row['size']):>8} {row['measured us']:>12.2f} {row['simulated us']:>12.2f} "
                      f"us "
                      f"{row['error'] * 100:>+7.1f} %  {row['algorithm']} {row['protocol']} {row['channels']}"
                      f"{'  (' + row['doubt'] + ')' if row['doubt'] else ''}")
    print(f"{'table':<46}" + "".join(f"{page.BAND_NAMES[band]:>22}" for band in card.BANDS))
    summary = card.summarize(frame)
    for name, rows in frame.groupby("table", sort=False):
        cells = [page.cell_of(summary, name, band) for band in card.BANDS]
        label = name + (" *" if rows["held out"].any() else "")
        print(f"{label:<46}" + "".join(f"{mean:>12}{worst:>10}" for mean, worst in cells))
    for held_out in (False, True):
        for _, row in card.overall(frame).iterrows():
            if row["held out"] == held_out:
                print(f"{'held out (*)' if held_out else 'all others'}, {page.BAND_NAMES[row['band']]}: "
                      f"{row['tables']} "
                      f"tables, {row['count']} sizes, mean {row['mean'] * 100:.1f} %, worst {row['max'] * 100:.1f} %")


def write_page(found: list[tables.Table], directory: pathlib.Path, network: str) -> None:
    """Writes the page of the recorded card, its plots, and the table of kinds of networks."""
    from clustersim_lab.accuracy import card, page, plots  # loads matplotlib
    frame = card.read(CARD)
    shutil.rmtree(directory / IMAGES, ignore_errors=True)
    (directory / IMAGES).mkdir(parents=True)
    for table in found:
        plots.draw(table, frame[frame["table"] == table.name], directory / IMAGES / f"{table.name}.svg")
    write_text(directory / "network-kinds.inc", networks.page_of(networks.read(ROOT)))
    # Last: make takes the page for all of this.
    write_text(directory / "accuracy.rst", page.render(found, frame, leave_out.read(LEFT_OUT), network,
                                                       lambda table: IMAGES / f"{table.name}.svg"))


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        found = chosen(options)
        if options.leave_one_out:
            leave_one_out(options, found)
            return 0
        if options.page:
            write_page(found, options.page, options.network)
            return 0
        frame = run_case(options, found)
    except (tables.AccuracyError, OSError) as error:
        print(f"accuracy.py: {error}", file=sys.stderr)
        return 2
    from clustersim_lab.accuracy import plots  # loads matplotlib
    write(frame, options.output / "accuracy.csv")
    images = options.output / "plots"
    images.mkdir(exist_ok=True)
    for table in found:
        if len(rows := frame[frame["table"] == table.name]):
            plots.draw(table, rows, images / f"{table.name}.svg")
    show(frame, options.rows)
    if options.update:
        write(frame, CARD)
    return 0


def run() -> None:
    command.run(command.name(), main)
