#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs random scenarios and checks what must hold of every run.

    scripts/scenarios.py --seed 1 --count 200

Clusters, configurations, flows, workloads and failures are drawn at random, the same for the same seed. Of
every run is checked: it ends and finishes; a repetition writes the same bytes; every flow and collective
that was asked for took place once, and nothing else; no flow is faster than alone; no link is busy or paused
for longer than the run, nor carries more than its rate; lossless networks lose nothing; pauses and resumes
alternate; clocks run forward; a lone flow is not slower over faster links. A scenario that fails is made as
small as it gets, and left in the output directory with the command that repeats it.

Exit status: 0 all hold, 1 some do not, 2 an argument is wrong.
"""
import argparse
import pathlib
import shlex

import checkout  # noqa: F401

from clustersim import command
from clustersim.scenarios import check, scenario, shrink
from clustersim.scenarios.checks import command as command_of
from clustersim.scenarios.checks import write_inputs

ROOT = pathlib.Path(__file__).resolve().parent.parent


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of the drawing (%(default)s)")
    parser.add_argument("--count", type=int, default=200, help="scenarios (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first one (%(default)s)")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "bin", help="directory of the programs")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/scenarios"),
                        help="directory of failing scenarios (%(default)s)")
    options = parser.parse_args(arguments)
    for name in ("SimAI_simulator", "qbb-flows"):
        if not (options.programs / name).is_file():
            parser.error(f"{options.programs / name} is no file; expected programs that scripts/build.sh -c all builds")
    if options.count < 1:
        parser.error(f"--count is {options.count}; expected 1 or more")
    return options


def report(failing, failure, options):
    smallest = shrink(failing, failure.check, options.programs, options.output / "shrinking")
    directory = options.output / failing.name
    again = check(smallest, options.programs, directory) or failure
    write_inputs(smallest, directory)
    line = shlex.join(map(str, command_of(smallest, options.programs.resolve(), "out")))
    (directory / "scenario.txt").write_text(f"{again.check}: {again.text}\n{smallest}\n{line}\n", encoding="utf-8")
    print(f"{failing.name}: {failure.check}: {failure.text}\n  smallest in {directory}: {again.text}\n  {line}",
          flush=True)


def main(arguments):
    options = parse(arguments)
    failures = 0
    for number in range(options.first, options.first + options.count):
        drawn = scenario(options.seed, number)
        failure = check(drawn, options.programs, options.output / "running")
        if failure:
            failures += 1
            report(drawn, failure, options)
    print(f"{options.count} scenarios of seed {options.seed}, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    command.run("scenarios.py", main)
