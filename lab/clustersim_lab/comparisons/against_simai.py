# SPDX-License-Identifier: GPL-2.0-only
"""Compares simulated AllReduces with the tables of SimAI's tutorial.

Makes the topologies and workloads of SimAI's docs/Tutorial.md (RING VS NVLS on 32 GPUs; Spectrum-X and DCN+ with
256 GPUs), runs SimAI_simulator with SimAI's rules for choosing (NCCL_SELECT=rules) and the tutorial's variables, and
prints both bus bandwidths in GiB/s, as the tutorial has them. With --update it also writes
docs/source/models/simai-comparison.rst.

Example:
  lab/against_simai.py --update
"""
import argparse
import csv
import dataclasses
import pathlib
import subprocess
import sys

from clustersim import command
from clustersim.rst import list_table, signed
from clustersim.simulation import environment, find_program
from clustersim.whole_file import write_text
from clustersim_lab import ROOT

PAGE = ROOT / "docs" / "source" / "models" / "simai-comparison.rst"
SIZES_MIB = (16, 32, 64, 128, 256, 512)
GIB = 1 << 30
PAGE_TEXT = """\
.. Written by lab/against_simai.py --update; do not edit.

Compared with SimAI
===================

The two tables of SimAI's tutorial (``docs/Tutorial.md`` of `SimAI <https://github.com/aliyun/SimAI>`__, commit 2b2aaa3), simulated by its
own rules (``NCCL_SELECT=rules``), with the tutorial's topologies, workloads and variables, and ``@NETWORK@``: bus bandwidth of an AllReduce in
GiB/s. This is a simulator beside a simulator; :doc:`accuracy` has measurements.

From 128 MiB up the first three cases agree within 6 %. Below that, SimAI's times have more that does not depend on the size. On DCN+ with one
ToR its flows may meet on uplinks: both choose a flow's uplink by a hash, but not by the same one.

@TABLE@
"""


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    topology: tuple[str, ...]  # flags of the generator
    gpus: int
    ranks: int  # that take part in a collective
    phase: str  # of the workload: "forward" of TP groups, or "weight" of DP groups
    variables: dict[str, str]
    theirs: tuple[float, ...]  # GiB/s by size


CASES = (
    Case("Ring, 8 of 32 H100", ("-g", "32", "-gt", "H100", "-bw", "400Gbps", "-nvbw", "1440Gbps"), 32, 8, "forward",
         {"AS_SEND_LAT": "2", "AS_PXN_ENABLE": "1"}, (141.84, 153.68, 160.60, 163.85, 165.72, 166.68)),
    Case("NVLS, 8 of 32 H100", ("-g", "32", "-gt", "H100", "-bw", "400Gbps", "-nvbw", "1360Gbps"), 32, 8, "forward",
         {"AS_SEND_LAT": "12", "AS_NVLS_ENABLE": "1"}, (148.88, 178.04, 197.38, 208.70, 214.87, 218.09)),
    Case("Spectrum-X, DP of 256 H100", ("-topo", "Spectrum-X", "-g", "256"), 256, 32, "weight",
         {"AS_SEND_LAT": "2"}, (33.095585, 38.572166, 42.049648, 44.036110, 45.101425, 45.653648)),
    Case("DCN+ with one ToR, DP of 256 H100", ("-topo", "DCN-SingleToR", "-g", "256", "-psn", "64", "-bw", "400Gbps",
                                               "-gt", "H100"), 256, 32,
         "weight", {"AS_SEND_LAT": "2"}, (23.332048, 25.762846, 23.677116, 35.209461, 36.205692, 36.242008)),
)


def workload_of(case: Case, mib: int) -> str:
    """@return a layer with one AllReduce, in SimAI's format"""
    collective = f"ALLREDUCE {mib << 20} 1"
    phases = f"{collective} NONE 0 1 NONE 0 1" if case.phase == "forward" else f"NONE 0 1 NONE 0 1 {collective}"
    return (f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 8 ga: 1 all_gpus: "
            f"{case.gpus} "
            f"checkpoints: 0 checkpoint_initiates: 0\n1\nembedding_layer -1 556000 {phases}\n")


def busbw_of(path: pathlib.Path, ranks: int) -> float:
    """@return GiB/s of the slowest group's AllReduce"""
    with path.open(encoding="utf-8", newline="") as file:
        return min(2 * (ranks - 1) / ranks * float(row["bytes"]) / (float(row["end_ns"]) - float(row["start_ns"])) * 1e9
                   / GIB
                   for row in csv.DictReader(file))


def simulate(case: Case, directory: pathlib.Path, network: str) -> list[float]:
    """@return GiB/s by size"""
    directory.mkdir(parents=True, exist_ok=True)
    topology = directory / "topology"
    subprocess.run([sys.executable, ROOT / "topologies" / "gen_Topo_Template.py", *case.topology, "-o", topology],
                   check=True, capture_output=True)
    found = []
    for mib in SIZES_MIB:
        workload = directory / f"allreduce_{mib}.txt"
        write_text(workload, workload_of(case, mib))
        subprocess.run([find_program(), "-w", workload, "-n", topology, "-c", ROOT / "conf" / "SimAI.conf", "--network",
                        network, "-o", directory / str(mib), "--quiet"], check=True,
                       env=environment({"NCCL_SELECT": "rules"} | case.variables))
        found.append(busbw_of(directory / str(mib) / "collectives.csv", case.ranks))
    return found


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = command.Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/against-simai"),
                        help="directory that is written")
    parser.add_argument("--network", default="flow", choices=("flow", "packet"),
                        help="how the network is simulated (flow)")
    parser.add_argument("--update", action="store_true", help="write the documentation page")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    rows = []
    try:
        for i, case in enumerate(CASES):
            for mib, theirs, ours in zip(SIZES_MIB, case.theirs,
                                         simulate(case, options.output / str(i), options.network), strict=True):
                rows.append((case.name, f"{mib} MiB", f"{theirs:.2f}", f"{ours:.2f}", signed(ours / theirs - 1)))
                print("  ".join(f"{cell:>34}" if cell == case.name else f"{cell:>8}" for cell in rows[-1]))
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"against_simai.py: {error}", file=sys.stderr)
        return 2
    if options.update:
        table = list_table(("case", "size", "SimAI", "ours", "difference"), rows, (40, 15, 15, 15, 15))
        write_text(PAGE, PAGE_TEXT.replace("@NETWORK@", f"--network {options.network}").replace("@TABLE@",
            table).rstrip() + "\n")
    return 0


def run() -> None:
    command.run(command.name(), main)
