# SPDX-License-Identifier: GPL-2.0-only
"""Compares flows with htsim's: the same connection matrices on the same trees of 128 hosts.

htsim's times are recorded in docs/source/models/data/htsim.csv, each with its command and htsim's commit. This program
runs qbb-flows on the same files and prints both. --htsim DIR runs htsim's programs in DIR too and replaces the recorded
rows. --update also writes docs/source/models/htsim-comparison.rst.

Example:
  lab/against_htsim.py --only permutation
  lab/against_htsim.py --htsim ~/uet-htsim/build/datacenter --commit 40ccb05 --update
"""
import argparse
import csv
import dataclasses
import pathlib
import shlex
import sys

from clustersim import command
from clustersim.errors import InputError
from clustersim.rst import list_table, signed
from clustersim.simulation import find_program
from clustersim.whole_file import whole_file, write_text
from clustersim_lab import ROOT
from clustersim_lab.htsim import runs
from clustersim_lab.htsim.cases import CASES, SETTINGS, Case

MODELS = ROOT / "docs" / "source" / "models"
FACTS = MODELS / "data" / "htsim.csv"
PAGE = MODELS / "htsim-comparison.rst"
TEXT = pathlib.Path(__file__).with_name("page.rst")
COLUMNS = ("case", "flows", "median_us", "last_us", "cpu_s", "commit", "command")
HEADER = ("tree and flows", "number", "median, htsim", "median, ours", "last, htsim", "last, ours", "difference",
          "CPU s, htsim", "CPU s, ours")


@dataclasses.dataclass(frozen=True)
class Fact:
    """A case in htsim, as recorded."""

    ends: runs.Ends
    commit: str
    command: str


def read_facts(path: pathlib.Path) -> dict[str, Fact]:
    """@return the recorded rows by the names of cases; none where there is no file yet"""
    if not path.exists():
        return {}
    with open(path, newline="", encoding="utf-8") as file:
        return {row["case"]: Fact(runs.Ends(int(row["flows"]), float(row["median_us"]), float(row["last_us"]),
                                            float(row["cpu_s"])), row["commit"], row["command"])
                for row in csv.DictReader(file)}


def write_facts(path: pathlib.Path, facts: dict[str, Fact]) -> None:
    with whole_file(path) as part, open(part, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for case in CASES:
            if fact := facts.get(case.name):
                ends = fact.ends
                writer.writerow((case.name, ends.flows, f"{ends.median_us:.3f}", f"{ends.last_us:.3f}",
                                 f"{ends.cpu_s:.2f}", fact.commit, fact.command))


def recorded(case: Case, options: argparse.Namespace, folder: pathlib.Path) -> Fact:
    """Runs a case in htsim. @return its row"""
    found = runs.mean(case, lambda seed: runs.theirs(case, seed, options.htsim, folder))
    words = list(runs.their_command(case, case.seeds.start))
    if len(case.seeds) > 1:
        words[words.index("-seed") + 1] = f"{case.seeds.start}..{case.seeds.stop - 1}"
    return Fact(found, options.commit, shlex.join(words))


def our_ends(case: Case, program: pathlib.Path, folder: pathlib.Path) -> runs.Ends | None:
    """@return a case here, or nothing where its protocol is not modelled here"""
    try:
        return runs.mean(case, lambda seed: runs.ours(case, seed, program, folder))
    except runs.NotThere:
        return None


def row_of(case: Case, theirs: runs.Ends, ours: runs.Ends | None) -> tuple[str, ...]:
    """@return a row of the page's table"""
    def times(of: str, digits: int = 1) -> tuple[str, str]:
        return (f"{getattr(theirs, of):.{digits}f}", f"{getattr(ours, of):.{digits}f}" if ours else "open")
    difference = signed(ours.last_us / theirs.last_us - 1) if ours else "open"
    return (f"{case.tree}, {case.matrix}", str(theirs.flows), *times("median_us"), *times("last_us"), difference,
            *times("cpu_s", 2))


def page_of(rows: dict[Case, tuple[str, ...]], commits: str) -> str:
    """@return the documentation page"""
    tables = ""
    for setting in SETTINGS.values():
        mine = [row for case, row in rows.items() if case.setting == setting.name]
        if mine:
            tables += (f"{setting.name}\n{'-' * len(setting.name)}\n\n{setting.about}\n\n"
                       + list_table(HEADER, mine, (28, 8, 10, 10, 10, 10, 10, 8, 8)))
    text = TEXT.read_text(encoding="utf-8").replace("@TABLES@", tables.rstrip()).replace("@COMMIT@", commits)
    return text.rstrip() + "\n"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = command.Parser(prog=command.name(), description=__doc__,
                            formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--htsim", type=pathlib.Path, metavar="DIR",
                        help="folder of htsim's programs, which are run and recorded")
    parser.add_argument("--commit", default="", metavar="ID", help="htsim's commit, recorded with its times")
    parser.add_argument("--facts", type=pathlib.Path, default=FACTS, help="table of htsim's times")
    parser.add_argument("--program", type=pathlib.Path, help="qbb-flows (bin/, or the PATH)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases with this text in their names")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/against-htsim"))
    parser.add_argument("--update", action="store_true", help="write the documentation page")
    options = parser.parse_args(arguments)
    if options.htsim and not options.commit:
        parser.error("--htsim needs --commit: times are recorded with htsim's commit")
    if options.update and options.only:
        parser.error("--update and --only exclude each other: the page has all cases")
    return options


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    rows = {}
    try:
        facts = read_facts(options.facts)
        program = options.program or find_program("qbb-flows")
        for number, case in enumerate(CASES):
            if options.only not in case.name:
                continue
            folder = options.output / str(number)
            runs.written(case, folder)
            if options.htsim:
                facts[case.name] = recorded(case, options, folder)
                write_facts(options.facts, facts)
            if case.name in facts:
                rows[case] = row_of(case, facts[case.name].ends, our_ends(case, program, folder))
                print(f"{case.name:<44}", *(f"{cell:>10}" for cell in rows[case][1:]), flush=True)
    except (OSError, InputError) as error:
        print(f"{command.name()}: {error}", file=sys.stderr)
        return 2
    if not rows:
        print(f"{command.name()}: no case is named '{options.only}'; expected part of a name such as {CASES[0].name}",
              file=sys.stderr)
        return 2
    if options.update:
        write_text(PAGE, page_of(rows, ", ".join(sorted({fact.commit for fact in facts.values()}))))
    return 0


def run() -> None:
    command.run(command.name(), main)
