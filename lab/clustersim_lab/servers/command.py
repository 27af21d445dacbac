# SPDX-License-Identifier: GPL-2.0-only
"""Compares published times and rates of servers with the same servers simulated as a user would: the published flags,
the profile of the engine, and its defaults.

Prints the ratios of simulated to published time to the first token (TTFT), time per further token (TPOT) and output
tokens per second, by users, kind of model, engine, GPU and precision: median, extremes, and the shares within 15% and
20%. Rows that inform a constant of a profile are marked, and not scored. Writes OUTPUT/servers.csv with every row. With
--update it also writes docs/source/data/servers.csv, and the tables of the page docs/source/models/outcomes.rst.

Examples:
  lab/servers.py
  lab/servers.py --only qwen3-8b --rows
  lab/servers.py --only dsr1-h200x8-vllm-c4 --steps
  lab/servers.py --update
"""
from __future__ import annotations

import argparse
import pathlib
from typing import TYPE_CHECKING

from clustersim.required_modules import require

require("yaml", "pandas", "numpy", "pydantic")

from clustersim import command  # noqa: E402
from clustersim.errors import InputError  # noqa: E402
from clustersim.simulation import SimulationError  # noqa: E402
from clustersim_lab import ROOT  # noqa: E402

if TYPE_CHECKING:
    import pandas as pd

PUBLISHED = ROOT.parent / "shared" / "data" / "serving" / "published.csv"
RECORD = ROOT / "docs" / "source" / "data" / "servers.csv"
TABLES = ROOT / "docs" / "source" / "models" / "servers-table.inc"
STEPS = ROOT / "docs" / "source" / "models" / "servers-steps.inc"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = command.Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", type=pathlib.Path, default=PUBLISHED, metavar="FILE",
        help="published rows (../shared/data/serving/published.csv)")
    add("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/servers"), help="directory that is written")
    add("--only", default="", metavar="TEXT", help="simulate the rows whose id contains this text")
    add("--network", default="analytical", choices=("analytical", "flow", "packet"),
        help="network that carries the collectives (analytical)")
    add("--rows", action="store_true", help="print every row when it is simulated")
    add("--steps", action="store_true", help="simulate nothing, and print the operators of a step that decodes and of one "
        "that computes a prompt, of rows with users and fixed lengths")
    add("--update", action="store_true", help="write the record and the tables of the documentation")
    options = parser.parse_args(arguments)
    if options.update and (options.only or options.steps):
        parser.error("--update goes without --only and --steps")
    return options


def _ratio(value: object) -> str:
    return f"{value:>7.2f}" if isinstance(value, float) else f"{'-':>7}"


def _print(row: dict[str, object]) -> None:
    print(f"{row['id']:<42}{row['standing']:<9}" + "  ".join(
        f"{measure.upper()}{_ratio(row[f'{measure}_ratio'])}" for measure in ("ttft", "tpot", "rate")), flush=True)


def show(frame: pd.DataFrame) -> None:
    from clustersim_lab.servers import card
    print(f"{'group':<17}{'':<17}{'measure':<9}{'rows':>5}{'median':>8}{'least':>7}{'most':>7}{'within 15%':>12}"
          f"{'20%':>6}")
    for each in card.summaries(frame):
        print(f"{each['group']:<17}{each['value']:<17}{each['measure']:<9}{each['rows']:>5}{each['median']:>8.2f}"
              f"{each['least']:>7.2f}{each['most']:>7.2f}{each['within']:>12.0%}{each['within 20%']:>6.0%}")


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    from clustersim_lab.servers import card, page, rows  # loads pandas
    every = rows.read(options.data)
    chosen = [row for row in every if options.only in row.id]
    if not chosen:
        raise InputError(f'{options.data}: no row has "{options.only}" in its id; expected at least one')
    if options.steps:
        from clustersim_lab.servers import breakdown
        for row in chosen:
            print("\n".join(breakdown.text(row)) if row.has_steps else f"{row.id}: no users, or lengths that are drawn")
        return 0
    frame = card.frame_of(chosen, options.output, rows.standings(every), options.network,
                          _print if options.rows else lambda row: None).round(4)
    show(frame)
    written = frame.to_csv(index=False)
    (options.output / "servers.csv").write_text(written, encoding="utf-8")
    if options.update:
        RECORD.write_text(written, encoding="utf-8")
        TABLES.write_text(page.tables(frame), encoding="utf-8")
        from clustersim_lab.servers import breakdown
        STEPS.write_text(breakdown.table([row for row in every if row.id in breakdown.SHOWN]), encoding="utf-8")
    return 0


def run() -> None:
    command.run(command.name(), main, (InputError, SimulationError))
