# SPDX-License-Identifier: GPL-2.0-only
"""Flags of scripts/why.py."""
import argparse

from clustersim import command
from clustersim.errors import InputError


def make_parser(description: str) -> command.Parser:
    parser = command.Parser(prog="why.py", description=description, allow_abbrev=False,
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


def parse(arguments: list[str], description: str = "") -> argparse.Namespace:
    """@return the flags, checked @raise InputError one of them is wrong"""
    parser = make_parser(description)
    given = parser.parse_args(arguments)
    command.tell_idle(parser, given, ((not given.no_confirm, "nothing is run", ("program",)),))
    if not 0 < given.factor < float("inf"):
        raise InputError(f"--factor is {given.factor}; expected more than 0")
    if given.top < 1:
        raise InputError(f"--top is {given.top}; expected at least 1")
    return given
