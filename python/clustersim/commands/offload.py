# SPDX-License-Identifier: GPL-2.0-only
"""NCCL, switches and engines in the NICs side by side: one AllReduce of many sizes, and one training step.

    scripts/offload.py -o results/offload
    scripts/offload.py --update              the documentation's table and plot

Writes offload-table.inc and offload.svg into the output directory.

Exit status: 0 done, 1 a simulation failed, 2 an input is wrong.
"""
import argparse
import pathlib

from clustersim.required_modules import require

require("numpy", "pandas", "matplotlib")

from clustersim import command, offload
from clustersim.simulation import CHECKOUT, SimulationError
from clustersim.whole_file import write_text

HOWTO = CHECKOUT / "docs" / "source" / "howto"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/offload"),
                        help="directory of the results (%(default)s)")
    parser.add_argument("--sizes", type=int, nargs="+", default=offload.SIZES, metavar="BYTES",
                        help="of the AllReduce (1 KiB to 64 MiB)")
    parser.add_argument("--no-step", action="store_true", help="without the training step")
    parser.add_argument("--update", action="store_true", help="renew the documentation's table and plot as well")
    given = parser.parse_args(arguments)
    if min(given.sizes) < 1:
        parser.error(f"--sizes has {min(given.sizes)}; expected sizes above 0")
    return given


def main(arguments: list[str]) -> int:
    given = parse(arguments)
    rows = offload.measure(given.output, given.sizes, not given.no_step)
    table = offload.table(rows)
    places = [(given.output, given.output)] + ([(HOWTO, HOWTO / "images")] if given.update else [])
    for place, images in places:
        write_text(place / "offload-table.inc", table)
        offload.draw(rows, images / "offload.svg")
    print(table, end="")
    return 0


def run() -> None:
    command.run(command.name(), main, (SimulationError, FileNotFoundError, ValueError))
