# SPDX-License-Identifier: GPL-2.0-only
"""Explains a run: the critical path of its iteration, what is on it, and what would shorten it.

    scripts/why.py RUN

The path goes from the last rank's end back to the start, through computations, collectives (to the rank that joined
last) and messages (to their senders). What-ifs are estimated on the path, then run: each repeats the run with one
kind of part faster. If RUN has no timeline of all ranks, it is repeated once with one. Results are in RUN/why.
"""
from clustersim.required_modules import require

require("pydantic", "yaml", "numpy", "pandas")

import argparse
from typing import NoReturn

from clustersim import command
from clustersim.errors import InputError
from clustersim.results import ResultsError
from clustersim.simulation import SimulationError


class Parser(argparse.ArgumentParser):
    """@raise InputError where argparse would exit, so that the message has this project's form."""
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; expected the flags of --help")


def make_parser(description: str) -> Parser:
    parser = Parser(prog="why.py", description=description, allow_abbrev=False,
                    formatter_class=command.HelpFormatter)
    parser.add_argument("run", metavar="RUN", help="directory of a run of SimAI_simulator")
    parser.add_argument("-o", "--output", metavar="DIR",
                        help="directory for path.csv, why.json and the runs (default: RUN/why)")
    parser.add_argument("--factor", type=float, default=1.1, metavar="X",
                        help="factor on rates in what-ifs (default: 1.1)")
    parser.add_argument("--no-confirm", action="store_true",
                        help="estimate the what-ifs on the path, but do not run them")
    parser.add_argument("--top", type=int, default=10, metavar="N",
                        help="number of the longest parts of the path to show (default: 10)")
    parser.add_argument("--program", metavar="FILE",
                        help="program that simulates (default: bin/SimAI_simulator, or the PATH)")
    return parser


def main(arguments: list[str]) -> None:
    parser = make_parser(__doc__)
    given = parser.parse_args(arguments)
    command.tell_idle(parser, given, ((not given.no_confirm, "nothing is run", ("program",)),))
    if not 0 < given.factor < float("inf"):
        raise InputError(f"--factor is {given.factor}; expected more than 0")
    if given.top < 1:
        raise InputError(f"--top is {given.top}; expected at least 1")
    from clustersim.why import command as explanation  # loads pandas, which refused arguments need not wait for
    explanation.run(given)


def run() -> None:
    command.run(command.name(), main, (InputError, SimulationError, ResultsError))
