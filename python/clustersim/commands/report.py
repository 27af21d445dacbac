# SPDX-License-Identifier: GPL-2.0-only
"""Writes one HTML page about one run or several: summary, tables, plots, parameters and warnings.

    scripts/report.py results/a results/b -o results/report.html

The page is self-contained: it opens from disk, without a network, on a phone too. It compares the other
runs with the first one.
"""
import pathlib
import sys

from clustersim.required_modules import require

require("numpy", "pandas", "matplotlib", "jinja2", "yaml")

from clustersim import command
from clustersim.results import ResultsError
from clustersim.whole_file import write_text


def main(arguments: list[str]) -> int:
    parser = command.Parser(description=__doc__, allow_abbrev=False,
                            formatter_class=command.HelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="directory of a run")
    parser.add_argument("-o", "--output", type=pathlib.Path, metavar="FILE",
                        help="file for the page (default: report.html in the run, for several runs "
                        "results/report.html)")
    parser.add_argument("--title", help="heading of the page (default: from the runs)")
    parser.add_argument("--topology", metavar="FILE",
                        help="topology of all runs, where directories have no run.json")
    parser.add_argument("--plots-of-each", action="store_true",
                        help="draw queues, pauses, rates, ... of each run also for more than four runs, which is slow")
    parser.add_argument("--no-plots", action="store_true", help="write tables only, which is faster and smaller")
    given = parser.parse_args(arguments)
    command.tell_idle(parser, given, ((not given.no_plots, "nothing is drawn", ("plots_of_each",)),))
    from clustersim.results import open_runs  # these load pandas and matplotlib
    from clustersim.results.page import render
    runs = open_runs(given.runs, given.topology)
    page = render(runs, given.title, not given.no_plots, given.plots_of_each or None)
    output = given.output or (runs[0].directory / "report.html" if len(runs) == 1 else
                              pathlib.Path("results/report.html"))
    output.parent.mkdir(parents=True, exist_ok=True)
    write_text(output, page)
    for problem in (problem for run in runs for problem in run.problems):
        print(f"warning: {problem}", file=sys.stderr)
    print(output)
    return 0


def run() -> None:
    command.run(command.name(), main, ResultsError)
