# SPDX-License-Identifier: GPL-2.0-only
"""Runs random scenarios and checks what must hold of every run.

    lab/scenarios.py --seed 1 --count 200
    lab/scenarios.py --seed 1 --count 200 --compare ways

Clusters, configurations, flows, workloads and failures are drawn at random, the same for the same seed. Every
run is made with --check (conservation of bytes and packets, PFC, windows and rates, collectives on symbolic
data). Of every run is checked besides: it ends and finishes; a repetition writes the same bytes; every flow
and collective that was asked for took place once, and nothing else; no flow is faster than alone; no link is
busy or paused for longer than the run, nor carries more than its rate; lossless networks lose nothing; pauses
and resumes alternate; clocks run forward; packets take as long as flows where nothing is congested; a lone
flow is not slower over faster links.

With --compare ways, scenarios are drawn on every architecture of the topology generator, with more of NCCL's
algorithms, keys, monitors and failures, and each runs without -t, with --check, on one thread and two, in
two partitions and three, in two or three processes where mpirun is installed, and, where nothing is congested, with
--fast-forward=exact. All numbers of threads and processes must end alike, say the same and write the same bytes.
What is asked for takes place once; bytes that go into a lossless network come out.

With --compare reuse, jobs whose traffic repeats run without --fast-forward, with it, and with --fast-forward=exact:
the iteration takes as long within 1% (0.1% with exact), or the run says why it may not; a run that gives up reuse
leaves the same bytes as one without it; and none takes more than twice the CPU time and 0.5 s.

A scenario that fails is made as small as it gets, and left in the output directory with the command that
repeats it.

Exit status: 0 all hold, 1 some do not, 2 an argument is wrong.
"""
import argparse
import concurrent.futures
import json
import pathlib
import shlex
import tempfile
import time

from clustersim import command
from clustersim.simulation import find_program
from clustersim.whole_file import write_text
from clustersim_lab.scenarios import Drawn, Failure, KINDS, Refused, shrink
from clustersim_lab.scenarios.checks import write_inputs


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = command.Parser(description=__doc__, allow_abbrev=False,
                            formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", choices=KINDS, default="networks",
                        help="networks with each other, ways to simulate "
                        "one network, or runs with and without reuse (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the drawing (%(default)s)")
    parser.add_argument("--count", type=int, default=200, help="scenarios (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first one (%(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="scenarios at a time (%(default)s)")
    parser.add_argument("--programs", type=pathlib.Path, help="directory of the programs (bin/, or the PATH)")
    parser.add_argument("--record", type=pathlib.Path, metavar="FILE", help="also write the outcome, as JSON")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/scenarios"),
                        help="directory of failing scenarios (%(default)s)")
    options = parser.parse_args(arguments)
    options.kind = KINDS[options.compare]
    for name in ("SimAI_simulator", "qbb-flows"):
        try:
            options.programs = find_program(name, options.programs).parent
        except FileNotFoundError as error:
            parser.error(str(error))
    for name in ("count", "jobs"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is {getattr(options, name)}; expected 1 or more")
    return options


def report(failing: Drawn, failure: Failure, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="shrinking-", dir=options.output) as scratch:
        smallest = shrink(failing, failure.check, options.programs, scratch, kind=options.kind)
    directory: pathlib.Path = options.output / failing.name
    again = options.kind.check(smallest, options.programs, directory) or failure
    write_inputs(smallest, directory)
    line = shlex.join(again.command or options.kind.command(smallest, options.programs.resolve(), "out"))
    write_text(directory / "scenario.txt", f"{again.check}: {again.text}\n{smallest}\n{line}\n")
    print(f"{failing.name}: {failure.check}: {failure.text}\n  smallest in {directory}: {again.text}\n  {line}",
          flush=True)


def run_one(number: int, options: argparse.Namespace) -> str:
    """@return "held", "refused" or "failed" """
    drawn = options.kind.draw(options.seed, number)
    with tempfile.TemporaryDirectory(prefix="running-", dir=options.output) as directory:
        try:
            failure = options.kind.check(drawn, options.programs, directory)
        except Refused:
            return "refused"
    if failure:
        report(drawn, failure, options)
        return "failed"
    return "held"


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    begin = time.monotonic()
    options.output.mkdir(parents=True, exist_ok=True)
    numbers = range(options.first, options.first + options.count)
    count = dict.fromkeys(("held", "refused", "failed"), 0)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda number: run_one(number, options), numbers):
            count[result] += 1
    if options.record:
        write_text(options.record, json.dumps({"compare": options.compare, "seed": options.seed, "first": options.first,
                                               "scenarios": options.count,
                                               **count, "wall_s": round(time.monotonic() - begin)}, indent=1) + "\n")
    print(f"{options.count} scenarios of seed {options.seed}: {count['held']} hold, {count['failed']} failed, "
          f"{count['refused']} are refused by the programs")
    return 1 if count["failed"] else 0


def run() -> None:
    command.run(command.name(), main)
