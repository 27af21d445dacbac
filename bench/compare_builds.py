#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares the outputs of two builds of SimAI_simulator, byte by byte, over twenty configurations.

    bench/compare_builds.py OLD/SimAI_simulator build/release/bin/SimAI_simulator [--seeds 1]

An optimisation must leave them identical. Exit status: 0 they are, 1 they are not."""
import argparse
import pathlib
import shutil
import sys
import tempfile

import configurations


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=1, help="seeds per configuration (%(default)s)")
    parser.add_argument("--only", action="append", help="name of a configuration; may repeat")
    parser.add_argument("--flag", action="append", default=[], help="for both programs; may repeat")
    parser.add_argument("--new-flag", action="append", default=[], help="for NEW only; may repeat")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the outputs here")
    arguments = parser.parse_args()
    names = arguments.only or list(configurations.CONFIGURATIONS)
    directory = arguments.keep or pathlib.Path(tempfile.mkdtemp(prefix="compare-builds-"))
    directory.mkdir(parents=True, exist_ok=True)
    configurations.prepare(directory)
    different = 0
    for number, name in enumerate(names):
        for seed in range(number + 1, number + 1 + arguments.seeds):
            sums = []
            for side, program in (("old", arguments.old), ("new", arguments.new)):
                output = directory / f"{name}-{seed}-{side}"
                shutil.rmtree(output, ignore_errors=True)
                flags = arguments.flag + (arguments.new_flag if side == "new" else [])
                configurations.run(program.resolve(), name, directory, output, seed, flags)
                sums.append(configurations.fingerprint(output))
            files = sorted(key for key in sums[0].keys() | sums[1].keys() if sums[0].get(key) != sums[1].get(key))
            different += bool(files)
            print(f"{name}, seed {seed}: " + (f"differs in {', '.join(files)}" if files else
                                              f"identical ({len(sums[0])} files)"), flush=True)
    if not arguments.keep:
        shutil.rmtree(directory)
    print(f"{different} of {len(names) * arguments.seeds} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
