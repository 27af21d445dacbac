# SPDX-License-Identifier: GPL-2.0-only
"""NCCL, switches and engines in the NICs side by side: one AllReduce of many sizes, and one training step.

    lab/offload.py -o results/offload
    lab/offload.py --update              the documentation's table and plot

Writes offload-table.inc and offload.svg into the output directory.

Exit status: 0 done, 1 a simulation failed, 2 an input is wrong.
"""
from __future__ import annotations

import argparse
import os
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clustersim.required_modules import require

require("numpy", "pandas", "matplotlib")

from clustersim import command  # noqa: E402
from clustersim.simulation import SimulationError, simulate  # noqa: E402
from clustersim.whole_file import write_text  # noqa: E402
from clustersim_lab import ROOT  # noqa: E402
from clustersim_lab.accuracy.simulate import write_topology  # noqa: E402
from clustersim_lab.accuracy.tables import Machine, nvlink_gbps  # noqa: E402

if TYPE_CHECKING:
    from clustersim.results.run import Run

Times = dict[int | str, dict[str, float]]  # microseconds by size, or STEP, and by way
GPUS = 16
# Two servers with an NVSwitch each; a NIC per GPU, all at one switch.
SERVERS = Machine("H100", nvlink_gbps("H100"), servers=2, gpus_per_server=GPUS // 2, nic_gbps=100)
SIZES = [1 << shift for shift in range(10, 27, 2)]
STEP = "training step"
HOWTO = ROOT / "docs" / "source" / "howto"


@dataclass(frozen=True)
class Way:
    """The carrier of collectives: GPUs or NICs."""
    name: str
    environment: dict[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()


WAYS = (
    Way("NCCL ring", {"NCCL_ALGO": "Ring"}),
    Way("NVLS tree", {"NCCL_ALGO": "NVLSTree"}),
    Way("CollNet", {"NCCL_COLLNET_ENABLE": "1", "NCCL_ALGO": "CollnetDirect"}, ("IN_NETWORK_REDUCTION 1",)),
    Way("ACCL", {}, ("COLLECTIVE_ENGINE ACCL",)),
)


def write_all_reduce(path: pathlib.Path, size: int) -> pathlib.Path:
    """Writes a workload with one AllReduce of so many bytes. @return the path"""
    path.write_text(f"HYBRID_TRANSFORMER model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: {GPUS} "
                    f"checkpoints: 0 checkpoint_initiates: 0\n1\n"
                    f"reduce\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLREDUCE\t{size}\t1\n")
    return path


def write_conf(path: pathlib.Path, keys: Sequence[str]) -> pathlib.Path:
    """SimAI.conf with these keys."""
    conf = (ROOT / "conf" / "SimAI.conf").read_text()
    path.write_text(conf + "".join(f"{key}\n" for key in keys))
    return path


def measure(output: pathlib.Path, sizes: Sequence[int] = SIZES, with_step: bool = True,
            program: str | os.PathLike | None = None) -> Times:
    """@return for each size, and for the training step, the microseconds of each way by its name"""
    output.mkdir(parents=True, exist_ok=True)
    topology = output / "topology.txt"
    write_topology(topology, SERVERS)
    workloads: dict[int | str, pathlib.Path] = {size: write_all_reduce(output / f"all-reduce-{size}.txt", size)
                                                for size in sizes}
    if with_step:
        workloads[STEP] = ROOT / "workloads" / "training_DP16.txt"
    rows: dict[int | str, dict[str, float]] = {}
    for what, workload in workloads.items():
        rows[what] = {}
        for way in WAYS:
            folder = output / f"{what}-{way.name}".replace(" ", "-")
            folder.mkdir(parents=True, exist_ok=True)
            run = simulate(workload, topology, output=folder / "run", conf=write_conf(folder / "run.conf", way.keys),
                           program=program, environment=way.environment)
            assert run.simulated_ns is not None  # a run that ended says it
            rows[what][way.name] = run.simulated_ns / 1000 if what == STEP else _all_reduce_us(run, way)
    return rows


def _all_reduce_us(run: Run, way: Way) -> float:
    assert run.collectives is not None
    collective = run.collectives.iloc[0]
    if (collective["algorithm"] == "ACCL") != (way.name == "ACCL"):
        raise ValueError(f"{way.name} was asked for, and {collective['algorithm']} carried out the AllReduce")
    return (collective["end_ns"] - collective["start_ns"]) / 1000


def size_name(size: int | str) -> str:
    """@return bytes with a binary prefix; STEP as it is"""
    if isinstance(size, str):
        return size
    return f"{size >> 20} Mi" if size >= 1 << 20 else f"{size >> 10} Ki"


def table(rows: Times) -> str:
    """@return a reStructuredText table, the fastest of each row in bold"""
    names = [way.name for way in WAYS]
    width = 16
    rule = " ".join(["=" * width] * (len(names) + 1))
    lines = [rule, " ".join(f"{name:{width}}" for name in ["Bytes", *names]).rstrip(), rule]
    for what, times in rows.items():
        fastest = min(times.values())
        cells = [f"**{times[name]:.1f}**" if times[name] == fastest else f"{times[name]:.1f}" for name in names]
        lines.append(f"{size_name(what):{width}} " + " ".join(f"{cell:>{width}}" for cell in cells))
    return "\n".join([*lines, rule]) + "\n"


def draw(rows: Times, path: pathlib.Path) -> None:
    """Times by size, and beside them the training step."""
    from matplotlib.ticker import LogFormatter  # takes a second to load
    from clustersim.results.plots import style
    with style.theme():
        figure, (curves, bars) = style.new_figure(9.0, 4.0, columns=2, width_ratios=(3, 1))
        sizes = [size for size in rows if size != STEP]
        for number, way in enumerate(WAYS):
            curves.plot(sizes, [rows[size][way.name] for size in sizes], marker="o", label=way.name,
                        **style.line(number))
            if STEP in rows:
                bars.bar(number, rows[STEP][way.name] / 1000, color=style.colour(number))
        curves.set_xscale("log", base=2)
        curves.set_yscale("log")
        curves.yaxis.set_major_formatter("{x:g}")
        curves.yaxis.set_minor_formatter(LogFormatter())
        curves.set_xticks(sizes, [size_name(size) for size in sizes])
        curves.set_xlabel("bytes")
        curves.set_ylabel("µs")
        curves.set_title(f"AllReduce of {GPUS} GPUs")
        curves.legend()
        bars.set_xticks(range(len(WAYS)), [way.name for way in WAYS], rotation=45, ha="right")
        bars.set_ylabel("ms")
        bars.set_title("Training step")
        style.save(figure, path)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = command.Parser(description=__doc__, allow_abbrev=False,
                            formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/offload"),
                        help="directory of the results (%(default)s)")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="BYTES",
                        help="of the AllReduce (1 KiB to 64 MiB)")
    parser.add_argument("--no-step", action="store_true", help="without the training step")
    parser.add_argument("--update", action="store_true", help="renew the documentation's table and plot as well")
    given = parser.parse_args(arguments)
    if min(given.sizes) < 1:
        parser.error(f"--sizes has {min(given.sizes)}; expected sizes above 0")
    return given


def main(arguments: list[str]) -> int:
    given = parse(arguments)
    rows = measure(given.output, given.sizes, not given.no_step)
    text = table(rows)
    places = [(given.output, given.output)] + ([(HOWTO, HOWTO / "images")] if given.update else [])
    for place, images in places:
        write_text(place / "offload-table.inc", text)
        draw(rows, images / "offload.svg")
    print(text, end="")
    return 0


def run() -> None:
    command.run(command.name(), main, (SimulationError, FileNotFoundError, ValueError))
