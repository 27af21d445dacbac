# SPDX-License-Identifier: GPL-2.0-only
"""Compares runs: completion, exposed communication, busbw, slowdown, pauses, queues, links.

    scripts/analyze_results.py results/a results/b -o results/comparison

It compares the other runs with the first one. A directory of runs counts as its runs. It prints tables, with
sentences that say what limits each group; -o writes each table as CSV with all digits, and all of them
as comparison.md. --dirs may precede the runs, as for SimAI's script. Directories that SimAI or the HPCC simulator wrote
are read, too.
"""
import pathlib
import sys

from clustersim.required_modules import require

require("numpy", "pandas", "yaml")

from clustersim import command
from clustersim.results import Problem, ResultsError
from clustersim.results.tables import MAKER_OF, Table, all_tables, as_markdown, as_text, write_csv
from clustersim.whole_file import write_text


def write(tables: list[Table], problems: list[Problem], directory: pathlib.Path) -> pathlib.Path:
    """@return the file that holds all tables"""
    directory.mkdir(parents=True, exist_ok=True)
    for table in tables:
        write_csv(table, directory / f"{table.key}.csv")
    parts = ["# Comparison of runs\n", *map(as_markdown, tables)]
    if problems:
        parts.append("\n".join(["## Warnings", "", *(f"- {problem}" for problem in problems), ""]))
    write_text(directory / "comparison.md", "\n".join(parts))
    return directory / "comparison.md"


def main(arguments: list[str]) -> None:
    parser = command.Parser(description=__doc__, allow_abbrev=False,
                            formatter_class=command.HelpFormatter)
    parser.add_argument("runs", nargs="*", metavar="RUN", help="directory of a run")
    parser.add_argument("--dirs", nargs="+", default=[], metavar="RUN",
                        help="directories of runs, as SimAI's script takes them")
    parser.add_argument("-o", "--output", metavar="DIR",
                        help="directory for the tables as CSV and Markdown (default: they are only printed)")
    parser.add_argument("--topology", metavar="FILE",
                        help="topology of all runs, where directories have no run.json")
    parser.add_argument("--tables", nargs="+", metavar="TABLE", choices=[*MAKER_OF],
                        help=f"print only these: {' '.join(MAKER_OF)}")
    given = parser.parse_args(arguments)
    directories = [*given.runs, *given.dirs]
    if not directories:
        parser.error("no run; expected the directories of one or more")
    from clustersim.results import open_runs  # loads pandas
    runs = open_runs(directories, given.topology)
    tables = all_tables(runs, () if given.output else given.tables or ())
    problems = [problem for run in runs for problem in run.problems]
    for problem in problems:
        print(f"warning: {problem}", file=sys.stderr)
    shown = [table for table in tables if not given.tables or table.key in given.tables]
    print("\n\n".join(map(as_text, shown)))
    if given.output:
        written = write(tables, problems, pathlib.Path(given.output))
        print(f"\n{written}, and each table as CSV beside it")


def run() -> None:
    command.run(command.name(), main, ResultsError)
