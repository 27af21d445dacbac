# SPDX-License-Identifier: GPL-2.0-only
"""Computes the share of the time in which a job trains, with failures, restarts and checkpoints (its goodput).

    scripts/goodput.py --part GPU=1024:50000 --part NIC=1024:300000 --part switch=96:150000 \\
      --checkpoint 60 --restart 600 --run results/first

A part is NAME=COUNT:HOURS, with the hours that one of them runs on average before it fails. Prints the effective
training time ratio by Daly's closed form and over simulated histories, and with --run how many iterations
that is.

Exit status: 0 done, 2 an input is wrong.
"""
import argparse
import math
import pathlib
import re
import sys
from collections.abc import Iterator

from clustersim.required_modules import require

require("numpy", "pandas", "yaml")

import numpy as np

from clustersim import command, goodput
from clustersim.results import ResultsError

HOUR = 3600.0
LARGEST = 1e12
MOST_FAILURES = 1e7  # of all histories together; they take some ten seconds


def part(text: str) -> goodput.Part:
    """@return the Part of NAME=COUNT:HOURS @raise ArgumentTypeError"""
    found = re.fullmatch(r"([\w. -]+)=(\d{1,12}):(\d{1,12}(?:\.\d{1,12})?)", text)
    if not found or int(found[2]) == 0 or float(found[3]) <= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a valid part; expected NAME=COUNT:HOURS, such as "
                                         f"GPU=1024:50000")
    return goodput.Part(found[1], int(found[2]), float(found[3]))


def above_zero(text: str) -> float:
    """@return the number @raise ArgumentTypeError unless it is above 0 and at most LARGEST"""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= LARGEST:
        raise argparse.ArgumentTypeError(f"'{text}' is not valid; expected a number above 0, at most {LARGEST:g}")
    return value


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = command.Parser(description=__doc__, allow_abbrev=False,
                            formatter_class=command.HelpFormatter)
    add = parser.add_argument
    add("--part", type=part, action="append", required=True, metavar="NAME=COUNT:HOURS",
        help="kind of part, number of such parts, and hours until one fails; may repeat")
    add("--checkpoint", type=above_zero, required=True, metavar="S", help="seconds that a checkpoint stops the job")
    add("--restart", type=above_zero, required=True, metavar="S", help="seconds from a failure until the job trains")
    add("--interval", type=above_zero, metavar="S",
        help="seconds of work between checkpoints (default: Daly's optimum)")
    add("--days", type=above_zero, default=7.0, metavar="N", help="days of a history (default: %(default)g)")
    add("--histories", type=int, default=1000, metavar="N", help="histories to simulate (default: %(default)s)")
    add("--seed", type=int, default=1, metavar="N", help="seed of the random numbers (default: %(default)s)")
    add("--run", type=pathlib.Path, metavar="RUN",
        help="directory of a run of one iteration; the number of such iterations is printed")
    given = parser.parse_args(arguments)
    if given.histories < 1 or not 0 <= given.seed < 1 << 64:
        parser.error("--histories or --seed is out of range; expected 1 or more, and 0 to 2^64 - 1")
    failures = 24 * given.days / goodput.system_mtbf(given.part) * given.histories
    if failures + given.histories > MOST_FAILURES:
        parser.error(f"{given.histories} histories of {given.days:g} days have {failures:.3g} failures; expected at "
                     f"most "
                     f"{MOST_FAILURES:g} of both together (--histories, --days)")
    return given


def iteration_s(run: pathlib.Path) -> float:
    """@return seconds of a run's longest job @raise ResultsError if it has no time"""
    from clustersim.results import open_run  # loads pandas
    opened = open_run(run)
    summary = opened.summary
    for problem in opened.problems:
        print(f"warning: {problem}", file=sys.stderr)
    if summary is None or not len(summary) or not summary["total"].max() > 0:
        raise ResultsError(f"{run}: has no total time; expected EndToEnd.csv of an iteration")
    return float(summary["total"].max()) / 1e6


def report(given: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the report."""
    mtbf = goodput.system_mtbf(given.part)
    checkpoint, restart, hours = given.checkpoint / HOUR, given.restart / HOUR, 24 * given.days
    best = goodput.daly_interval(mtbf, checkpoint)
    interval = given.interval / HOUR if given.interval else best
    ratios, failures = goodput.simulate_many(mtbf, interval, checkpoint, restart, hours, given.histories, given.seed)
    rate = sum(each.count / each.mtbf for each in given.part)
    yield f"{'part':<20} {'count':>8} {'MTBF h':>12} {'of all failures':>16}"
    for each in sorted(given.part, key=lambda each: -each.count / each.mtbf):
        yield f"{each.name:<20} {each.count:>8} {each.mtbf:>12g} {100 * each.count / each.mtbf / rate:>15.1f}%"
    yield f"a failure each {mtbf:.3g} h; {failures.mean():.1f} in {given.days:g} days"
    yield (f"a checkpoint each {interval * HOUR:.0f} s of work (best: {best * HOUR:.0f} s by Daly, "
           f"{goodput.young_interval(mtbf, checkpoint) * HOUR:.0f} s by Young)")
    closed = goodput.effective_ratio(mtbf, interval, checkpoint, restart)
    yield f"effective training time ratio {100 * closed:.2f}% in the long run (closed form)"
    low, middle, high = np.percentile(ratios, (5, 50, 95))
    yield (f"in {given.histories} histories of {given.days:g} days: mean {100 * ratios.mean():.2f}%, median "
           f"{100 * middle:.2f}%, 5% to 95% {100 * low:.2f}% to {100 * high:.2f}%")
    if given.run:
        seconds = iteration_s(given.run)
        yield (f"iterations of {seconds:.6g} s: {ratios.mean() * hours * HOUR / seconds:,.0f} of "
               f"{hours * HOUR / seconds:,.0f} without failures")


def main(arguments: list[str]) -> None:
    print("\n".join(report(parse(arguments))))


def run() -> None:
    command.run(command.name(), main, ResultsError)
