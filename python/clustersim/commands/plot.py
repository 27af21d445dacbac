# SPDX-License-Identifier: GPL-2.0-only
"""Draws the results of runs, as PNG and SVG.

Exit status: 0 drawn, or there was nothing of a kind to draw; 1 a file is missing or cut off, so that a
plot is missing or incomplete (the message says which; the others are made); 2 a wrong argument.
"""
from __future__ import annotations

import argparse
import pathlib
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from clustersim.required_modules import require

require("numpy", "pandas", "matplotlib", "yaml")

from clustersim import command
from clustersim.results import ResultsError
from clustersim.results.plots import KINDS, THEMES

if TYPE_CHECKING:
    from clustersim.results.run import Run


def parse(arguments: list[str]) -> argparse.Namespace:
    kinds = "\n".join(f"  {name:12} {kind.summary}{'; compares runs' if kind.compares else ''}"
                      for name, kind in KINDS.items())
    parser = command.Parser(formatter_class=command.HelpFormatter,
                            description=f"{__doc__}\nkinds of plots:\n  all          every kind\n{kinds}",
                            allow_abbrev=False)
    parser.add_argument("kind", choices=[*KINDS, "all"], metavar="KIND", help="kind of plot, see above")
    parser.add_argument("runs", nargs="+", metavar="RUN",
                        help="output directory of a run, or the PREFIXEndToEnd.csv of "
                        "one whose files have a prefix (SimAI_analytical -r)")
    parser.add_argument("-o", "--output", type=pathlib.Path,
                        help="directory for the files (default: plots/ in the directory of the run, for several "
                             "runs results/plots)")
    parser.add_argument("--format", default="png,svg",
                        help="formats of the files, of png, svg, pdf (default: %(default)s)")
    parser.add_argument("--theme", choices=THEMES, default="light", help="colours of the plots (default: light)")
    parser.add_argument("--topology", metavar="FILE", help="topology of the runs, if its file has been moved")
    parser.add_argument("--published", metavar="FILE",
                        help="busbw: file with measurements to compare with (CSV), or none (default: measurements that "
                        "the project brings)")
    options = parser.parse_args(arguments)
    options.formats = options.format.split(",")
    wrong = set(options.formats) - {"png", "svg", "pdf"}
    if wrong:
        parser.error(f"--format has '{min(wrong)}'; expected png, svg or pdf")
    return options


def pictures(kind_names: Iterable[str], runs: list[Run]) -> Iterator[tuple[str, list[Run], str]]:
    """Yields kind, the runs of each picture, and the picture's name."""
    for name in kind_names:
        if KINDS[name].compares:
            yield name, runs, (runs[0].prefix if len(runs) == 1 else "") + name
        else:
            for run in runs:
                if len(runs) == 1:
                    yield name, [run], run.prefix + name
                else:
                    yield name, [run], f"{name}-" + re.sub(r"[^\w.,=@+-]+", "_", run.name)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    from clustersim.results import open_runs  # loads pandas
    from clustersim.results.plots import style  # loads matplotlib
    try:
        runs = open_runs(options.runs, topology=options.topology)
    except ResultsError as error:
        print(f"{command.name()}: {error}", file=sys.stderr)
        return 2
    output = options.output or (runs[0].directory / "plots" if len(runs) == 1 else pathlib.Path("results/plots"))
    published = {} if options.published is None else {
        "published": None if options.published == "none" else options.published}
    status = 0
    with style.theme(options.theme):
        for kind, of_runs, name in pictures(KINDS if options.kind == "all" else [options.kind], runs):
            try:
                figure = KINDS[kind].draw(of_runs, **(published if kind == "busbw" else {}))
            except style.NothingToDraw as error:
                print(f"{command.name()}: {kind}: nothing to draw: {error}", file=sys.stderr)
                continue
            except ResultsError as error:
                print(f"{command.name()}: {kind}: {error}", file=sys.stderr)
                status = 1
                continue
            for suffix in options.formats:
                try:
                    output.mkdir(parents=True, exist_ok=True)
                    style.save(figure, output / f"{name}.{suffix}")
                except OSError as error:
                    print(f"{command.name()}: {output / f'{name}.{suffix}'}: cannot be written: {error.strerror}; "
                          f"expected a directory that can be (-o)", file=sys.stderr)
                    return 2
                print(output / f"{name}.{suffix}")
    for problem in (problem for run in runs for problem in run.problems):
        print(f"{command.name()}: {problem}", file=sys.stderr)
        status = 1
    return status


def run() -> None:
    command.run(command.name(), main)
