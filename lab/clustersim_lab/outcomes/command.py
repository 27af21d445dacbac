# SPDX-License-Identifier: GPL-2.0-only
"""Compares published step times of training runs with the same runs written down and estimated.

Reads rows (CSV) of models, GPUs, plans and step times with their sources, estimates each with the profile of its
framework, and prints the ratio of predicted to published by family. Each family is predicted with the constants fitted
without it; --shipped takes those of frameworks.yaml. Writes OUTPUT/outcomes.csv with every row. With --update it also
writes docs/source/data/outcomes.csv and the documentation page docs/source/models/outcomes.rst with its plots. With
--serve it also simulates published inference servers.

Examples:
  lab/outcomes.py
  lab/outcomes.py --data docs/source/data/outcomes_short.csv --shipped --rows
  lab/outcomes.py --why E645
  lab/outcomes.py --serve
  lab/outcomes.py --update
"""
from __future__ import annotations

import argparse
import pathlib
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clustersim.required_modules import require

require("yaml", "pandas", "matplotlib", "numpy", "pydantic")

from clustersim import command  # noqa: E402
from clustersim.errors import InputError  # noqa: E402
from clustersim.simulation import SimulationError  # noqa: E402
from clustersim_lab import ROOT  # noqa: E402

if TYPE_CHECKING:
    import pandas as pd
    from clustersim_lab.outcomes.card import Refused
    from clustersim_lab.outcomes.runs import Run
    from clustersim_lab.outcomes.facts import Fact
    from clustersim_lab.outcomes.scaling import Point
    from clustersim.workload.kernels.frameworks import Constants

DATA = ROOT / "docs" / "source" / "data"
SHORT = DATA / "outcomes_short.csv"
WHOLE = ROOT.parent / "shared" / "data" / "outcomes" / "end_to_end.csv"
PAGE = ROOT / "docs" / "source" / "models" / "outcomes.rst"
SERVING = DATA / "serving.csv"
IMAGES = pathlib.Path("images") / "outcomes"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = command.Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", type=pathlib.Path, default=WHOLE if WHOLE.is_file() else SHORT, metavar="FILE",
        help="published rows (../shared/data/outcomes/end_to_end.csv, or else docs/source/data/outcomes_short.csv)")
    add("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/outcomes"), help="directory that is written")
    add("--shipped", action="store_true", help="predict with the constants of frameworks.yaml, not with those fitted "
        "without a family")
    add("--fit", action="store_true", help="print the constants fitted to all families, and to all but each")
    add("--rows", action="store_true", help="print every row")
    add("--refused", action="store_true", help="print every row that cannot be written down, with the reason")
    add("--why", metavar="ID", help="print what the step of one row goes into")
    add("--serve", action="store_true", help="simulate published servers, too, which takes minutes")
    add("--update", action="store_true", help="write the documentation page; its table of servers only with --serve")
    options = parser.parse_args(arguments)
    if options.update and (options.shipped or options.why):
        parser.error("--update goes without --shipped and --why")
    return options


def explain(written: list[Run], wanted: str) -> None:
    from clustersim_lab.outcomes import card
    found = [run for run in written if run.fact.id == wanted]
    if not found:
        raise InputError(f'"{wanted}" is not a row that can be written down; expected one of '
                         f'{", ".join(r.fact.id for r in written[:5])}, ...')
    run = found[0]
    estimate = card.estimate_run(run)
    print(f"{run.fact.model} on {run.fact.gpus} {run.fact.gpu}, {run.fact.precision}: {run.plan.describe()}; "
          f"{run.plan.micro_batches} x {run.plan.micro_batch} x {run.plan.sequence} tokens; {run.framework}")
    print(f"published {run.step_s:g} s ({run.fact.source})")
    print(f"predicted {estimate.total_ns / 1e9:.4g} s, of stage {estimate.stage}:")
    for name, value in estimate.shares.items():
        if value:
            print(f"  {name:<15}{value / 1e9:>10.4f} s {100 * value / estimate.total_ns:>6.1f}%")


def show(frame: pd.DataFrame, written: list[Run], refused: list[Refused], tuned: pd.DataFrame,
         options: argparse.Namespace) -> None:
    from clustersim_lab.outcomes import card
    if options.rows:
        for _, row in [*frame.iterrows(), *tuned.iterrows()]:
            print(f"{row['id']:<6}{row['family']:<22}{row['model'][:26]:<27}{row['gpus']:>6} {row['gpu'][:10]:<11}"
                  f"{row['published_s']:>9.3f}{row['predicted_s']:>9.3f} s {row['ratio']:>6.2f}")
    if options.refused:
        for each in refused:
            print(f"{each.fact.id:<6}{each.group}: {each.reason}")
    print(f"written down: {len(written)} of {len(written) + len(refused)} training rows, "
          f"{card.share_written(written, refused):.1%} of those "
          "with a full layout")
    print(f"{'family':<22}{'rows':>6}{'median':>8}{'p10':>7}{'p90':>7}{'within 15%':>12}{'mean error':>12}")
    for _, row in card.by_family(frame).iterrows():
        print(f"{row['family']:<22}{row['rows']:>6}{row['median']:>8.2f}{row['p10']:>7.2f}{row['p90']:>7.2f}"
              f"{row['within']:>12.0%}"
              f"{row['bias']:>+12.1%}")
    if len(tuned):
        total = card.summarize(tuned["ratio"])
        print(f"{'fine-tuning, apart':<22}{total['rows']:>6}{total['median']:>8.2f}{total['p10']:>7.2f}"
              f"{total['p90']:>7.2f}{total['within']:>12.0%}"
              f"{total['bias']:>+12.1%}")


def serve(found: list[Fact], options: argparse.Namespace) -> None:
    """Simulates the servers, prints them and writes their table."""
    from clustersim_lab.outcomes import serving
    servers, refused = serving.write_all_down(found)
    if not servers:
        raise InputError(f"{options.data}: no server can be written down; expected at least one")
    frame = serving.frame_of(servers, options.output / "serving")
    for _, row in frame.iterrows():
        print(f"{row['id']:<6}{row['model'][:26]:<27}{row['gpus']:>6} {row['gpu'][:10]:<11}{row['prompt_tokens']:>6} "
              f"/ {row['output_tokens']:<6}"
              f"{row['published']:>9.0f}{row['simulated']:>9.0f} tokens/s/GPU {row['ratio']:>6.2f}")
    if options.refused:
        for each in refused:
            print(f"{each.fact.id:<6}{each.group}: {each.reason}")
    write([frame], options.output / "serving.csv")
    if options.update:
        write([frame], SERVING)


def write(frames: Sequence[pd.DataFrame], path: pathlib.Path) -> None:
    """Writes the rows of frames, but for empty frames, as one CSV file."""
    import pandas
    path.parent.mkdir(parents=True, exist_ok=True)
    pandas.concat([frame for frame in frames if len(frame)]).round(4).to_csv(path, index=False)


def update(found: list[Fact], frame: pd.DataFrame, written: list[Run], refused: list[Refused], tuned: pd.DataFrame,
           untold: list[Refused], points: list[Point], constants: Constants) -> None:
    import pandas

    from clustersim_lab.outcomes import page, plots, serving
    write([frame, tuned], DATA / "outcomes.csv")
    shutil.rmtree(PAGE.parent / IMAGES, ignore_errors=True)
    plots.write_all(frame, points, PAGE.parent / IMAGES)
    text = page.render(frame, written, refused, tuned, untold, points, constants, IMAGES)
    text += page.serving(pandas.read_csv(SERVING), serving.write_all_down(found)[1])
    PAGE.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    from clustersim_lab.outcomes import card, facts, fit, runs, scaling  # loads pandas
    from clustersim.workload.kernels import frameworks
    found = facts.read(options.data)
    written, refused = card.write_down(found)
    tuning, untold = card.write_down(found, runs.TUNING)
    if not written:
        raise InputError(f"{options.data}: no training row can be written down; expected at least one")
    if options.why:
        explain(written + tuning, options.why)
        return 0
    constants = frameworks.fitted()
    left_out: dict[str, Constants] = {}
    if not options.shipped:
        constants, left_out = fit.fit(written)
    if options.fit:
        for label, each in (("all", constants), *(("without " + family, found) for family,
                                                  found in sorted(left_out.items()))):
            print(f"{label:<28}" + " ".join(f"{name} {value:.3f}" for name, value in each.dict().items()))
    frame = card.frame_of(written, lambda run: left_out.get(run.family))
    tuned = card.frame_of(tuning)  # with the constants of training: no row of fine-tuning informs them
    write([frame, tuned], options.output / "outcomes.csv")
    show(frame, written, refused, tuned, options)
    points = scaling.points(frame)
    for point in points:
        if point.published != 1:
            print(f"scaling {point.curve}: {point.gpus} GPUs {point.published:.3f}, predicted {point.predicted:.3f} "
                  f"({point.error:+.1%})")
    if options.serve:
        serve(found, options)
    if options.update:
        update(found, frame, written, refused, tuned, untold, points, constants)
    return 0


def run() -> None:
    command.run(command.name(), main, (InputError, SimulationError))
