# SPDX-License-Identifier: GPL-2.0-only
"""Measures collectives on the machines at hand by SimAI_phynet, and makes a simulation of these machines.

    scripts/calibrate.py -np 4 --provider tcp -o results/calibration
    scripts/calibrate.py -np 16 --mpirun '--hostfile hosts' --largest 1G -o results/calibration

It measures AllReduces of sizes from --smallest to --largest, and fits a model of the hosts to every other size: the
rate and the latency of their links, and, as far as the errors tell, the CPU's time for a message. The sizes between
check the model. Writes into the directory:

topology         a star of hosts with the fitted rate and latency, for -n of all programs
hosts.yaml       the type of these hosts with the costs of messages, for --gpu-table
busbw.yaml       bus bandwidths of the largest size, for SimAI_analytical -busbw
calibration.csv  each size, measured and simulated

Simulate with AS_SEND_LAT=0 NCCL_ALGO=Ring NCCL_PROTO=Simple, as it was measured. Exits with status 1 if the median
error of the sizes that were not fitted is above --bound or a rank failed, with 2 if an input is wrong.
"""
import argparse
import math
import shlex
import sys

from clustersim.required_modules import require

require("numpy", "yaml")

from clustersim import command  # noqa: E402
from clustersim.physical import launch  # noqa: E402
from clustersim.physical.calibration import Calibration  # noqa: E402

LARGEST = 1 << 40
MOST_ITERATIONS = 1_000_000
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def size(text: str) -> int:
    """@return bytes of a size such as 64M @raise ValueError if it is none, or out of range"""
    factor = UNITS.get(text[-1:].upper(), 1)
    number = int(text[:-1] if factor > 1 else text) * factor
    if not 4 <= number <= LARGEST:
        raise ValueError
    return number


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = command.Parser(description=__doc__, formatter_class=command.HelpFormatter)
    parser.add_argument("-np", type=int, required=True, help="number of ranks, one process each")
    parser.add_argument("--provider", default="auto", help="libfabric's provider, as for SimAI_phynet (default: auto)")
    parser.add_argument("--nic", help="RDMA devices, as for SimAI_phynet (default: libfabric's choice)")
    parser.add_argument("--interface", help="network interfaces, as for SimAI_phynet (default: libfabric's choice)")
    parser.add_argument("--mpirun", default="", help="further arguments of mpirun, such as '--hostfile F'")
    parser.add_argument("--smallest", type=size, default=1 << 10, help="smallest size to measure (default: 1K)")
    parser.add_argument("--largest", type=size, default=1 << 26,
                        help="largest size to measure, such as 1G (default: 64M)")
    parser.add_argument("--iterations", type=int, default=7, help="measurements of each size (default: 7)")
    parser.add_argument("--bound", type=float, default=0.15,
                        help="largest median error for exit status 0 (default: 0.15)")
    parser.add_argument("-o", "--output", default="results/calibration",
                        help="directory for the results (default: results/calibration)")
    given = parser.parse_args(arguments)
    if given.np < 2:
        parser.error(f"-np is {given.np}; expected 2 or more")
    if given.largest < 8 * given.smallest:
        parser.error("--largest is below 8 times --smallest; expected four sizes or more")
    if not 1 <= given.iterations <= MOST_ITERATIONS:
        parser.error(f"--iterations is {given.iterations}; expected 1 to {MOST_ITERATIONS}")
    if not 0 <= given.bound < math.inf:
        parser.error(f"--bound is {given.bound}; expected a number, 0 or more")
    try:
        given.mpirun = shlex.split(given.mpirun)
    except ValueError as error:
        parser.error(f"--mpirun is '{given.mpirun}': {error}; expected arguments as on a command line")
    return given


def main(arguments: list[str]) -> int:
    given = parse(arguments)
    calibration = Calibration(given.np, given.output, given.mpirun, given.provider, given.nic or None,
                              given.interface or None)
    try:
        calibration.run(given.smallest, given.largest, given.iterations)
    except launch.PhysicalError as error:
        print(error, file=sys.stderr)
        return error.status
    print(f"{'bytes':>12}{'role':>7}{'min us':>12}{'median us':>12}{'max us':>12}{'simulated':>12}{'error':>8}")
    for row in calibration.rows:
        print(f"{row.size:12}{row.role:>7}{row.least_us:12.1f}{row.median_us:12.1f}{row.most_us:12.1f}"
              f"{row.simulated_us:12.1f}"
              f"{row.error:8.1%}")
    disturbed = sum(row.disturbed for row in calibration.rows)
    if disturbed:
        print(f"{disturbed} of {len(calibration.rows)} sizes were disturbed (a median above twice the minimum): of "
              f"these the "
              "minimum counts")
    found = calibration.check_error()
    host = calibration.host
    costs = "".join(f"; {us:.1f} us of a CPU for a message" + (f" above {above} bytes" if above else "") for above,
                    us in host.costs)
    print(f"{given.np} hosts of {host.rate_bps / 1e9:.3f} Gb/s and {host.latency_us:.1f} us{costs}\n"
          f"median error of the sizes that were not fitted {found:.1%}\nresults in {given.output}")
    return 0 if found <= given.bound else 1


def run() -> None:
    command.run(command.name(), main)
