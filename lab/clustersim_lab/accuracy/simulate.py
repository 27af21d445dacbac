# SPDX-License-Identifier: GPL-2.0-only
"""Simulates the machine of a table with collective-perf."""
import dataclasses
import pathlib
import re
import subprocess
from collections.abc import Mapping, Sequence

from clustersim import gpu_rows
from clustersim.simulation import environment
from clustersim.topology.cluster import PCIE_DELAY
from clustersim.topology.presets import mesh as meshes
from clustersim.whole_file import write_text
from clustersim_lab.accuracy.tables import AccuracyError, Machine, Table

# Cost models that NCCL_TUNING knows, with the first release that each stands for. The first also stands for older ones.
RELEASES = {"2.18": (2, 18), "2.20": (2, 20), "2.23": (2, 23), "2.28": (2, 28), "2.29.2": (2, 29), "2.29": (2, 29, 7),
            "2.30": (2, 30)}
ROW = re.compile(r"^ +(\d+) +\d+ +\w+ +\w* +-?\d+ +([\d.e+]+) ")
CHOICE = re.compile(r"^# .*: (\d+) Bytes -> Algo (\w+) proto (\S+) channel\{Lo\.\.Hi\}=\{0\.\.(\d+)\}(?: time "
                    r"([\d.]+))?")
MANY_RANKS = 65  # carry out one iteration of each size
NV_DELAY = "0.000025ms"
DELAY = "0.0005ms"


@dataclasses.dataclass(frozen=True)
class Simulated:
    """A simulated size."""
    microseconds: float
    algorithm: str
    protocol: str
    channels: int
    estimate: float = float(
        "nan"
    )  # microseconds that NCCL's cost model expects; NaN where it has none, or another library chose


def sizes_of(table: Table, max_bytes: int) -> list[int]:
    """@return the sizes of a table that are simulated"""
    return [row.size for row in table.rows if row.size <= max_bytes]


def ranges_of(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """@return first and last size of runs in which sizes double: one run, unless sizes lie between"""
    first, last = min(sizes), max(sizes)
    doubled = {first << step for step in range((last // first).bit_length())}
    return [(first, last)] if doubled >= set(sizes) else [(size, size) for size in sizes]


def write_topology(path: pathlib.Path, machine: Machine) -> None:
    """A switch that joins the k-th NICs of all GPUs, for each k; an NVSwitch in each server, or links between all its
    GPUs. A NIC that GPUs share is a node between them and the switch."""
    gpus, mesh = machine.ranks, machine.gpu in meshes()
    nvswitches = machine.servers if machine.nvlink_gbps and not mesh else 0
    first = gpus + nvswitches
    shared = gpus // machine.gpus_per_nic if machine.gpus_per_nic > 1 else 0
    switches = machine.nics_per_gpu + shared
    links = []
    for gpu in range(gpus):
        if mesh:
            end = (gpu // machine.gpus_per_server + 1) * machine.gpus_per_server
            links += [f"{gpu} {peer} {meshes()[machine.gpu]} {NV_DELAY} 0" for peer in range(gpu + 1, end)]
        if nvswitches:
            links.append(f"{gpu} {gpus + gpu // machine.gpus_per_server} {machine.nvlink_gbps}Gbps {NV_DELAY} 0")
        if shared:
            nic = first + 1 + gpu // machine.gpus_per_nic
            links.append(f"{gpu} {nic} {machine.nic_gbps}Gbps {PCIE_DELAY} 0")
            if gpu % machine.gpus_per_nic == 0:
                links.append(f"{nic} {first} {machine.nic_gbps}Gbps {DELAY} 0")
        else:
            links += [f"{gpu} {first + k} {machine.nic_gbps}Gbps {DELAY} 0" for k in range(switches)]
    nodes = range(gpus, first + switches)
    write_text(path, f"{first + switches} {machine.gpus_per_server} {nvswitches} {switches} {len(links)} "
               f"{machine.gpu}\n"
                    f"{' '.join(map(str, nodes))}\n" + "\n".join(links) + "\n")


def environment_of(machine: Machine) -> dict[str, str]:
    """The kind of network, what the source says was set, and the release; no other variable of NCCL's or ours."""
    settings = {"AS_NETWORK_KIND": machine.network}
    settings |= {name: str(value) for name, value in machine.environment.items()}
    if machine.nccl:
        version = tuple(map(int, machine.nccl.split(".")))
        older = [release for release, first in RELEASES.items() if first <= version]
        settings["NCCL_TUNING"] = older[-1] if older else next(iter(RELEASES))
    return environment(settings)


def simulate(table: Table, sizes: Sequence[int], directory: pathlib.Path, program: pathlib.Path,
             gpu_table: pathlib.Path, network: str, settings: Mapping[str, str] | None = None) -> dict[int, Simulated]:
    """@param settings environment variables besides those of the machine
    @return what each of the sizes takes, by size; its topology and output stay in the directory"""
    directory.mkdir(parents=True, exist_ok=True)
    topology = directory / f"{table.name}.topology"
    write_topology(topology, table.machine)
    command = [str(program), table.machine.test, "--network", network, "--network-topo", str(topology)]
    command += [] if table.machine.gpu in gpu_rows.rows() else ["--gpu-table", str(gpu_table)]
    command += ["-g", str(table.machine.gpus_per_thread), "--launch-us", str(table.machine.launch_us),
                "--launch-channel-us", str(table.machine.launch_channel_us)]
    command += ["-n", "1", "-w", "0"] if table.machine.ranks >= MANY_RANKS else []
    output = ""
    for first, last in ranges_of(sizes):
        run = [*command, "-b", str(first), "-e", str(last), "-f", "2"]
        result = subprocess.run(run, env=environment_of(table.machine) | dict(settings or {}), capture_output=True,
                                text=True, check=False)
        if result.returncode != 0:
            raise AccuracyError(f"{table.name}: {' '.join(run)}: {result.stderr.strip() or result.returncode}")
        output += result.stdout
    write_text(directory / f"{table.name}.txt", output)
    times, choices = {}, {}
    for line in output.splitlines():
        if match := ROW.match(line):
            times[int(match[1])] = float(match[2])
        elif match := CHOICE.match(line):
            is_nccls = match[3] != "-"
            choices[int(match[1])] = (match[2], match[3], int(match[4]) + 1, float(is_nccls and match[5] or "nan"))
    missing = [size for size in sizes if size not in times or size not in choices]
    if missing:
        raise AccuracyError(f"{table.name}: collective-perf printed no row for {missing[0]} bytes")
    return {size: Simulated(times[size], *choices[size]) for size in sizes}
