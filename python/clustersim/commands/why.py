# SPDX-License-Identifier: GPL-2.0-only
"""Explains a run: the critical path of its iteration, what is on it, and what would shorten it.

    scripts/why.py RUN

The path goes from the last rank's end back to the start, through computations, collectives (to the rank that joined
last) and messages (to their senders). What-ifs are estimated on the path, then run: each repeats the run with one
kind of part faster. If RUN has no timeline of all ranks, it is repeated once with one. Results are in RUN/why.
"""
from clustersim.required_modules import require

require("pydantic", "yaml", "numpy", "pandas")

from clustersim import command
from clustersim.errors import InputError
from clustersim.results import ResultsError
from clustersim.simulation import SimulationError
from clustersim.why.flags import parse


def main(arguments: list[str]) -> None:
    given = parse(arguments, __doc__)
    from clustersim.why.explanation import explain  # loads pandas, which refused arguments need not wait for
    for line in explain(given).lines():
        print(line)


def run() -> None:
    command.run(command.name(), main, (InputError, SimulationError, ResultsError))
