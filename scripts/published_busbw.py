#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares the simulated AllReduce of one server with published nccl-tests measurements.

Usage: scripts/published_busbw.py [-o DIRECTORY] [--rst FILE] [--max-bytes N]

Runs bin/SimAI_simulator at packet level for 8 x A100 (rings) and 8 x H100 (NVLS), one run per server
type with all sizes one after the other, and prints ours, measured, and the error. The measurements
are those of Azure ND A100 v4 and ND H100 v5, NCCL 2.18.5, so NCCL's constants of that time are
chosen (NCCL_TUNING=2.20). Nothing is fitted to a point: rates are those of the machines' NVLinks,
latencies and channel speeds are NCCL's tables.
"""
import argparse
import csv
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MIB = 1 << 20

# nccl-tests AllReduce busbw in GB/s by size in MiB.
MEASURED = {
    "A100": {1: 36.22, 4: 71.43, 16: 109.22, 64: 166.63, 256: 213.87, 1024: 228.10},
    "H100": {1: 43.70, 4: 128.73, 16: 234.45, 64: 361.78, 256: 423.38, 1024: 466.35},
}
# NVLink of a GPU in one direction: 12 and 18 links of 25 GB/s.
NVLINK = {"A100": "2400Gbps", "H100": "3600Gbps"}
ENVIRONMENT = {
    "A100": {"NCCL_TUNING": "2.20"},
    "H100": {"NCCL_TUNING": "2.20", "AS_NVLS_ENABLE": "1"},
}


def write_topology(path, gpu):
    lines = [f"10 8 1 1 16 {gpu}", "8 9 "]
    for rank in range(8):
        lines += [f"{rank} 8 {NVLINK[gpu]} 0.000025ms 0", f"{rank} 9 400Gbps 0.0005ms 0"]
    path.write_text("\n".join(lines) + "\n")


def simulate(directory, gpu, sizes):
    """@return simulated busbw in GB/s, algorithm and protocol by size in MiB"""
    directory.mkdir(parents=True, exist_ok=True)
    topology = directory / f"8x{gpu}"
    workload = directory / f"allreduce_{gpu}.txt"
    write_topology(topology, gpu)
    workload.write_text("".join(f"1 ALLREDUCE {size * MIB} TP\n" for size in sizes))
    program = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin")) / "SimAI_simulator"
    subprocess.run([program, "-w", workload, "-n", topology, "-c", ROOT / "conf" / "SimAI.conf",
                    "-o", directory / gpu, "--quiet"],
                   check=True, env={**os.environ, **ENVIRONMENT[gpu]})
    result = {}
    with (directory / gpu / "collectives.csv").open(newline="") as file:
        for row in csv.DictReader(file, skipinitialspace=True):
            result[int(row["bytes"]) // MIB] = (float(row["busbw"]), row["algorithm"],
                                                row["protocol"])
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", default="results/published-busbw")
    parser.add_argument("--rst", help="also write the table as reStructuredText")
    parser.add_argument("--max-bytes", type=int, default=1 << 30, help="leave larger sizes out")
    arguments = parser.parse_args()
    header = ("GPUs", "MiB", "choice", "ours GB/s", "measured GB/s", "error")
    rows = []
    for gpu, measured in MEASURED.items():
        sizes = [size for size in measured if size * MIB <= arguments.max_bytes]
        ours = simulate(pathlib.Path(arguments.output), gpu, sizes)
        for size in sizes:
            busbw, algorithm, protocol = ours[size]
            rows.append((f"8 x {gpu}", str(size), f"{algorithm} {protocol}", f"{busbw:.2f}",
                         f"{measured[size]:.2f}", f"{(busbw / measured[size] - 1) * 100:+.1f}%"))
    widths = [max(map(len, column)) for column in zip(header, *rows)]
    rule = "  ".join("=" * width for width in widths)
    table = [rule, "  ".join(map(str.ljust, header, widths)), rule]
    table += ["  ".join(map(str.ljust, row, widths)) for row in rows] + [rule]
    text = "\n".join(line.rstrip() for line in table) + "\n"
    print(text, end="")
    if arguments.rst:
        pathlib.Path(arguments.rst).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
