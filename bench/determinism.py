#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks that results do not depend on how they are computed, byte by byte.

    bench/determinism.py
    bench/determinism.py --build O1=build/O1 --build checking=build/debug

Each configuration runs with the programs' own simulator and scheduler, then with every other scheduler of ns-3,
twice, on two threads, and with --check; and with the programs of other builds (--build), such as other optimisation
levels and sanitizers. All outputs must be the same bytes. In ns-3's own simulator implementation, with every
scheduler, they must be those of this one's without partitions.

Exit status: 0 they are, 1 some are not, 2 an argument is wrong.
"""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile

import configurations

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from clustersim import command  # noqa: E402
from clustersim.simulation import find_program  # noqa: E402

SCHEDULERS = ("TimingWheelScheduler", "MapScheduler", "HeapScheduler", "CalendarScheduler", "PriorityQueueScheduler")
WHOLE = ["--ns3::RdmaFabric::PartitionPerNode=true"]  # on one list of events
NS3_OWN = "--SimulatorImplementationType=ns3::DefaultSimulatorImpl"  # has no partitions


def ways():
    """@return the flags of each way to compute the same, by its name"""
    found = {"again": [], "two threads": ["-t", "2"], "--check": ["--check"]}
    for scheduler in SCHEDULERS:
        found[scheduler] = [f"--SchedulerType=ns3::{scheduler}"]
        found[f"{scheduler}, ns-3's implementation"] = [*found[scheduler], NS3_OWN]
    return found


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="append", default=[], metavar="NAME=DIR", help="a further build; may repeat")
    parser.add_argument("--only", action="append", metavar="NAME", choices=configurations.CONFIGURATIONS,
                        help="a configuration of bench/configurations.py (all); may repeat")
    options = parser.parse_args(arguments)
    options.programs = {}
    for text in options.build:
        name, _, path = text.partition("=")
        program = pathlib.Path(path) / "bin/SimAI_simulator"
        if not name or not os.access(program, os.X_OK):
            parser.error(f"--build {text}: {program} is not a program; expected NAME=DIRECTORY of a build")
        options.programs[f"build {name}"] = program.resolve()
    return options


def differences(program, name, seed, flags, inputs, expected):
    """@return the outputs that differ from what is expected"""
    output = inputs / "output"
    shutil.rmtree(output, ignore_errors=True)
    configurations.run(program, name, inputs, output, seed, flags)
    sums = configurations.fingerprint(output)
    return sorted(key for key in sums.keys() | expected.keys() if sums.get(key) != expected.get(key))


def main(arguments):
    options = parse(arguments)
    program = find_program().resolve()
    further = options.programs
    runs = different = 0
    with tempfile.TemporaryDirectory() as directory:
        inputs = pathlib.Path(directory)
        configurations.prepare(inputs)
        for seed, name in enumerate(options.only or configurations.CONFIGURATIONS, 1):
            expected = {}
            for is_whole in (False, True):
                configurations.run(program, name, inputs, inputs / "first", seed, WHOLE if is_whole else [])
                expected[is_whole] = configurations.fingerprint(inputs / "first")
                shutil.rmtree(inputs / "first")
            each = [(way, program, flags) for way, flags in ways().items()]
            each += [(way, other, []) for way, other in further.items()]
            for way, other, flags in each:
                try:
                    files = differences(other, name, seed, flags, inputs, expected[NS3_OWN in flags])
                except RuntimeError as error:  # it did not end well
                    files = [f"{error}; all"]
                runs += 1
                different += bool(files)
                if files:
                    print(f"{name}, {way}: {', '.join(files)} differ", flush=True)
    print(f"{runs} runs in {len(ways()) + len(further)} ways, {different} differ")
    return 1 if different else 0


if __name__ == "__main__":
    command.run("determinism.py", main)
