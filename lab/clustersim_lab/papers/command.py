# SPDX-License-Identifier: GPL-2.0-only
"""Runs the networks of a paper and prints its published figures beside ours.

The published figures are in docs/source/models/data/published.csv, each with its figure or section and the text that it
was read from. --update records ours in reproduced.csv beside it, and writes docs/source/models/published-figures.rst.

Example:
  lab/reproduce.py DCQCN
  lab/reproduce.py all --update
  lab/reproduce.py HPCC --whole --jobs 2
"""
import argparse
import pathlib
import sys
import textwrap
from collections.abc import Mapping, Sequence

from clustersim import command
from clustersim.errors import InputError, nearest
from clustersim.required_modules import require
from clustersim.rst import list_table
from clustersim.simulation import find_program
from clustersim.whole_file import write_text
from clustersim_lab import ROOT
from clustersim_lab.papers import conweave, dcqcn, figure_11, hpcc, irn, ndp, paper, reps, timely
from clustersim_lab.papers.paper import Figure, Paper
from clustersim_lab.papers.runs import Bench

PAPERS = {module.PAPER.name: module.PAPER for module in (dcqcn, timely, ndp, irn, hpcc, conweave, reps)}
EVERY = "all"
PAGE = ROOT / "docs" / "source" / "models" / "published-figures.rst"
TEXT = pathlib.Path(__file__).with_name("page.rst")
HEADER = ("where", "figure", "published", "ours", "unit", "agrees")
COLUMNS = 140  # of the page's text
WIDTHS = (14, 42, 14, 10, 12, 8)


def chosen(name: str) -> Sequence[Paper]:
    """@return the paper of a name in any case, or all of them @throw InputError"""
    if name.lower() == EVERY:
        return tuple(PAPERS.values())
    known = {of.lower(): of for of in PAPERS}
    if name.lower() not in known:
        raise InputError(f"'{name}' is not a paper{nearest(name.lower(), known)}; "
                         f"expected {', '.join(PAPERS)} or {EVERY}")
    return (PAPERS[known[name.lower()]],)


def row_of(figure: Figure, ours: float) -> tuple[str, ...]:
    """@return a row of the table"""
    return (figure.where, figure.what, figure.published(), f"{ours:.4g}", figure.unit,
            "yes" if figure.agrees(ours) else "no")


def section(of: Paper, figures: Sequence[Figure], ours: Mapping[str, float]) -> str:
    """@return a paper's part of the page: its table, the differences, and the texts that figures were read from"""
    mine = [figure for figure in figures if figure.paper == of.name and figure.key in ours]
    table = list_table(HEADER, [row_of(figure, ours[figure.key]) for figure in mine], WIDTHS)
    reasons: dict[str, list[str]] = {}
    for figure in mine:
        if figure.key in of.why:
            reasons.setdefault(of.why[figure.key], []).append(figure.where)
    notes = [f"{', '.join(dict.fromkeys(where))}: {why}" for why, where in reasons.items()]
    notes.append(f"Published figures are read from {'; '.join(dict.fromkeys(figure.source for figure in mine))}.")
    listed = "".join(textwrap.fill(f"- {note}", COLUMNS, subsequent_indent="  ") + "\n" for note in notes)
    about = textwrap.fill(f"{of.title}. {of.setting}", COLUMNS)
    return f"{of.name}\n{'-' * len(of.name)}\n\n{about}\n\n{table}{listed}\n"


def page_of(ours: Mapping[str, float]) -> str:
    """@return the documentation page"""
    figures = paper.read_published()
    parts = "".join(section(of, figures, ours) for of in PAPERS.values())
    return TEXT.read_text(encoding="utf-8").replace("@PAPERS@", parts.rstrip()).rstrip() + "\n"


def show(of: Paper, figures: Sequence[Figure], ours: Mapping[str, float]) -> None:
    """Prints a paper's figures, and why some differ."""
    print(of.title)
    for figure in figures:
        if figure.paper == of.name:
            where, what, published, value, unit, agrees = row_of(figure, ours[figure.key])
            verdict = "" if agrees == "yes" else "differs"
            print(f"  {where:<22}{what:<92}{published:>14}{value:>8} {unit:<6}{verdict}".rstrip())
            if agrees == "no":
                print(f"    {of.why.get(figure.key, 'Open.')}")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = command.Parser(prog=command.name(), description=__doc__, formatter_class=command.HelpFormatter)
    parser.add_argument("paper", metavar="PAPER", help=f"{', '.join(PAPERS)}, or {EVERY}")
    parser.add_argument("--data", type=pathlib.Path, metavar="DIR", default=ROOT.parent / "shared/data/hpcc",
                        help="directory with fat.txt of HPCC's artifact and the distributions of flow sizes")
    parser.add_argument("--program", type=pathlib.Path, help="qbb-flows (bin/, or the PATH)")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/papers"))
    parser.add_argument("--update", action="store_true", help="record our figures and write the documentation page")
    parser.add_argument("--whole", action="store_true",
                        help="HPCC: figure 11 with all schemes and its plot, which takes ten minutes")
    parser.add_argument("--jobs", type=int, default=1, help="simulations of --whole at the same time (1)")
    options = parser.parse_args(arguments)
    if options.whole and options.paper.lower() != hpcc.PAPER.name.lower():
        parser.error(f"--whole is for {hpcc.PAPER.name}")
    if options.whole:
        require("matplotlib")
    return options


def reproduced(of: Paper, options: argparse.Namespace, program: pathlib.Path) -> Mapping[str, float]:
    """Runs a paper's networks. @return our figures"""
    if of.needs_data and not options.data.is_dir():
        raise InputError(f"--data {options.data}: is not there; {of.name} needs the distributions of HPCC's artifact")
    return of.reproduce(Bench(program, options.output / of.name.lower(), options.data))


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        papers = chosen(options.paper)
        program = options.program or find_program("qbb-flows")
        if options.whole:
            figure_11.reproduce(Bench(program, options.output / "hpcc-whole", options.data), options.jobs)
            return 0
        figures, ours = paper.read_published(), paper.read_ours()
        for of in papers:
            found = reproduced(of, options, program)
            ours |= found
            show(of, figures, found)
    except (OSError, InputError) as error:
        print(f"{command.name()}: {error}", file=sys.stderr)
        return 2
    if options.update:
        paper.write_ours(ours)
        write_text(PAGE, page_of(paper.read_ours()))
    return 0


def run() -> None:
    command.run(command.name(), main)
