# SPDX-License-Identifier: GPL-2.0-only
"""Compares the simulated AllReduce of one server with published nccl-tests measurements.

Usage: lab/published_busbw.py [-o DIRECTORY] [--update FILE] [--max-bytes N]

Runs SimAI_simulator at packet level for 8 x A100 (rings) and 8 x H100 (NVLS), one run per server
type with all sizes one after the other, and prints ours, measured, and the error. The measurements
are those of Azure ND A100 v4 and ND H100 v5, NCCL 2.18.5, so that release's choices are taken
(NCCL_TUNING=2.18). Nothing is fitted: rates are those of the machines' NVLinks, latencies and
channel speeds are NCCL's tables, see contrib/collectives/doc/nccl.rst.
"""
import csv
import pathlib
import subprocess
from collections.abc import Sequence

from clustersim import command
from clustersim.simulation import environment, find_program
from clustersim.whole_file import write_text
from clustersim_lab import ROOT
from clustersim_lab.accuracy.tables import nvlink_gbps

MIB = 1 << 20

# nccl-tests AllReduce busbw in GB/s by size in MiB.
MEASURED = {
    "A100": {1: 36.22, 4: 71.43, 16: 109.22, 64: 166.63, 256: 213.87, 1024: 228.10},
    "H100": {1: 43.70, 4: 128.73, 16: 234.45, 64: 361.78, 256: 423.38, 1024: 466.35},
}
# The machines by their GPUs, and what a GPU's NIC carries there.
MACHINES = {"A100": "ND A100 v4", "H100": "ND H100 v5"}
NIC_GBPS = {"ND A100 v4": 200, "ND H100 v5": 400}
ENVIRONMENT = {
    "A100": {"NCCL_TUNING": "2.18"},
    "H100": {"NCCL_TUNING": "2.18"},
}
Row = tuple[str, int, str, float, float, float]  # of HEADER's columns; the error is a fraction
HEADER = ("GPUs", "MiB", "choice", "ours GB/s", "measured GB/s", "error")
# Comments around the table in a documentation page.
BEGIN = ".. published_busbw.py begin"
END = ".. published_busbw.py end"


def write_topology(path: pathlib.Path, gpu: str) -> None:
    """Writes a server of 8 GPUs of this type at an NVSwitch."""
    lines = [f"10 8 1 1 16 {gpu}", "8 9 "]
    for rank in range(8):
        lines += [f"{rank} 8 {nvlink_gbps(gpu)}Gbps 0.000025ms 0",
                  f"{rank} 9 {NIC_GBPS[MACHINES[gpu]]}Gbps 0.0005ms 0"]
    write_text(path, "\n".join(lines) + "\n")


def simulate(directory: pathlib.Path, gpu: str, sizes: Sequence[int]) -> dict[int, tuple[float, str, str]]:
    """@return simulated busbw in GB/s, algorithm and protocol by size in MiB"""
    directory.mkdir(parents=True, exist_ok=True)
    topology = directory / f"8x{gpu}"
    workload = directory / f"allreduce_{gpu}.txt"
    write_topology(topology, gpu)
    write_text(workload, "".join(f"1 ALLREDUCE {size * MIB} TP\n" for size in sizes))
    subprocess.run([find_program(), "-w", workload, "-n", topology, "-c", ROOT / "conf" / "SimAI.conf",
                    "-o", directory / gpu, "--quiet"],
                   check=True, env=environment(ENVIRONMENT[gpu]))
    result = {}
    with (directory / gpu / "collectives.csv").open(newline="") as file:
        for row in csv.DictReader(file, skipinitialspace=True):
            result[int(row["bytes"]) // MIB] = (float(row["busbw"]), row["algorithm"],
                                                row["protocol"])
    return result


def compare(directory: pathlib.Path, max_bytes: int = 1 << 30) -> list[Row]:
    """@return a row per server type and size"""
    rows: list[Row] = []
    for gpu, measured in MEASURED.items():
        sizes = [size for size in measured if size * MIB <= max_bytes]
        ours = simulate(directory, gpu, sizes)
        for size in sizes:
            busbw, algorithm, protocol = ours[size]
            rows.append((f"8 x {gpu}", size, f"{algorithm} {protocol}", busbw, measured[size],
                         busbw / measured[size] - 1))
    return rows


def table(rows: Sequence[Row]) -> str:
    """@return the rows as a reStructuredText table"""
    cells = [(gpus, str(size), choice, f"{ours:.2f}", f"{measured:.2f}", f"{error * 100:+.1f}%")
             for gpus, size, choice, ours, measured, error in rows]
    widths = [max(map(len, column)) for column in zip(HEADER, *cells)]
    rule = "  ".join("=" * width for width in widths)
    lines = [rule, "  ".join(map(str.ljust, HEADER, widths)), rule]
    lines += ["  ".join(map(str.ljust, row, widths)) for row in cells] + [rule]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def update(page: pathlib.Path, text: str) -> None:
    """Put a table between the marks of a page."""
    head, rest = page.read_text().split(BEGIN + "\n")
    write_text(page, f"{head}{BEGIN}\n\n{text}\n{END}\n" + rest.split(END + "\n")[1])


def main(arguments: list[str]) -> int:
    parser = command.Parser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", default="results/published-busbw")
    parser.add_argument("--update", metavar="FILE",
                        help="also replace the table in a documentation page")
    parser.add_argument("--max-bytes", type=int, default=1 << 30, help="leave larger sizes out")
    options = parser.parse_args(arguments)
    text = table(compare(pathlib.Path(options.output), options.max_bytes))
    print(text, end="")
    if options.update:
        update(pathlib.Path(options.update), text)
    return 0


def run() -> None:
    command.run(command.name(), main)
