# SPDX-License-Identifier: GPL-2.0-only
"""The same workload with packets, with flows, with formulas and as real traffic: times side by side."""
import csv
import dataclasses
import json
import os
import pathlib
import subprocess
from collections.abc import Callable, Sequence

from clustersim.physical import launch
from clustersim.simulation import environment, find_program
from clustersim.topology import reader
from clustersim.whole_file import whole_file
from clustersim_lab.box import ranks
from clustersim_lab.box.namespaces import NamespaceCluster

NETWORKS = ("packet", "flow", "analytical")
# Real traffic has no kernels; protocols of GPUs only cost bytes.
VARIABLES = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_NVLS_ENABLE": "0", "AS_SEND_LAT": "0"}
# A full segment of TCP over Ethernet, as token buckets count it.
SEGMENT_FLAGS = ("--set", "PACKET_PAYLOAD_SIZE=1448", "--ns3::RdmaHw::DataOverhead=66")
BOUND = 0.15


def simulate(workload: str | os.PathLike, topology: str | os.PathLike, output: str | os.PathLike, network: str,
             flags: Sequence[str] = ()) -> int:
    """@return nanoseconds until the last rank was done"""
    words = [str(find_program()), "-w", str(workload), "-n", str(topology), "--network", network, "-q", "-o",
             str(output), *flags]
    result = subprocess.run(words, env=environment(VARIABLES), capture_output=True, text=True, check=False)
    if result.returncode:
        raise launch.PhysicalError(result.stderr.strip(), result.returncode)
    return json.loads((pathlib.Path(output) / "run.json").read_text())["simulated_ns"]


def write_scaled(topology: reader.Topology, scale: float, path: pathlib.Path) -> pathlib.Path:
    """Writes a topology with all rates divided by the scale."""
    lines = [f"{topology.nodes} {len(topology.switches)} {len(topology.links)}", " ".join(map(str, topology.switches))]
    lines += [f"{link.a} {link.b} {round(link.rate_bps / scale)}bps {round(link.delay_ps)}ps {link.error_rate:g}"
              for link in topology.links]
    path.write_text("\n".join(lines) + "\n")
    return path


def star(hosts: int, rate: str = "100Gbps") -> str:
    """@return the text of a topology: hosts at one switch"""
    return "\n".join([f"{hosts + 1} 1 {hosts}", str(hosts),
                      *(f"{host} {hosts} {rate} 1us 0" for host in range(hosts))]) + "\n"


def leaves(hosts: int, spines: int, uplink: str, rate: str = "100Gbps") -> str:
    """Two leaves with half of the hosts each, and spines above them."""
    first, second = hosts, hosts + 1
    lines = [f"{host} {first if host < hosts // 2 else second} {rate} 1us 0" for host in range(hosts)]
    above = range(hosts + 2, hosts + 2 + spines)
    lines += [f"{leaf} {spine} {uplink} 1us 0" for leaf in (first, second) for spine in above]
    switches = [first, second, *above]
    return "\n".join([f"{hosts + len(switches)} {len(switches)} {len(lines)}", " ".join(map(str, switches)),
                      *lines]) + "\n"


STEP = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: {hosts} "
        "checkpoints: 0 checkpoint_initiates: 0\n2\n"
        + "".join(f"layer{i}\t-1\t20000000\tALLREDUCE\t524288\t20000000\tNONE\t0\t20000000\tALLREDUCE\t2097152\t1000\n"
                  for i in range(2)))

WORKLOADS = {
    "AllReduce 4 MiB": "1 ALLREDUCE 4194304 TP\n",
    "AllToAll 4 MiB": "1 ALLTOALL 4194304 TP\n",
    "Incast (Gather) 4 MiB": "1 GATHER 4194304 TP\n",
    "Training step, TP 2": STEP,
}
LAYOUTS = {"one switch": lambda hosts: star(hosts),
           "two leaves, uplink of two hosts": lambda hosts: leaves(hosts, 1, f"{100 * 2}Gbps"),
           "two leaves, uplink of one host": lambda hosts: leaves(hosts, 1, "100Gbps")}


@dataclasses.dataclass
class Result:
    """Times of a workload in one layout: of real traffic, and simulated."""
    workload: str
    layout: str
    physical_ns: float
    spread: float  # (longest - shortest iteration) / median
    simulated_ns: float

    @property
    def error(self) -> float:
        """The relative error of the simulated time"""
        return self.simulated_ns / self.physical_ns - 1


def compare_in_a_box(output: str | os.PathLike, hosts: int = 8, scale: float = 2500, iterations: int = 3,
                     workloads: Sequence[str] = tuple(WORKLOADS), layouts: Sequence[str] = tuple(LAYOUTS),
                     report: Callable[[Result], None] | None = None) -> list[Result]:
    """Runs the cases in namespaces and in the flow-level simulation. @return a Result for each"""
    output = pathlib.Path(output)
    results = []
    for number, layout in enumerate(layouts):
        directory = output / f"layout{number}"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "topology").write_text(LAYOUTS[layout](hosts))
        topology = reader.read(directory / "topology")
        scaled = write_scaled(topology, scale, directory / "scaled-topology")
        with NamespaceCluster(topology, scale) as cluster:
            for place, name in enumerate(workloads):
                workload = directory / f"workload{place}.txt"
                workload.write_text(WORKLOADS[name].format(hosts=hosts))
                tp = None if name.startswith("Training") else hosts
                physical = directory / f"physical{place}"
                ranks.run(cluster, hosts, workload, scaled, physical, VARIABLES, iterations=iterations, tp=tp)
                times = json.loads((physical / "run.json").read_text())["iterations_ns"]
                simulated = simulate(workload, scaled, directory / f"flow{place}", "flow",
                                     (*SEGMENT_FLAGS, "--tp", str(hosts)) if tp else SEGMENT_FLAGS)
                results.append(Result(name, layout, times["median"], (times["max"] - times["min"]) / times["median"],
                                      simulated))
                if report:
                    report(results[-1])
    with whole_file(output / "comparison.csv") as part, part.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["workload", "layout", "physical_ns", "spread", "simulated_ns", "error"])
        for each in results:
            table.writerow([each.workload, each.layout, f"{each.physical_ns:.0f}", f"{each.spread:.4f}",
                            f"{each.simulated_ns:.0f}", f"{each.error:.4f}"])
    return results


def ranking_differs(results: Sequence[Result], tie: float = 0.1) -> list[tuple[str, str, str]]:
    """@return pairs of layouts that reality and simulation put in opposite orders, each by more than a tie"""
    wrong = []
    for one in results:
        for two in results:
            if one.workload == two.workload and one.physical_ns > two.physical_ns * (1 + tie) and \
                    two.simulated_ns > one.simulated_ns * (1 + tie):
                wrong.append((one.workload, one.layout, two.layout))
    return wrong


def read_times(directory: str | os.PathLike) -> list[tuple[str, float]]:
    """@return (collective, microseconds) for each row of collectives.csv"""
    with (pathlib.Path(directory) / "collectives.csv").open(newline="") as file:
        return [(f"{row['op']} {row['bytes']} {row['group']}", (float(row["end_ns"]) - float(row["start_ns"])) / 1000)
                for row in csv.DictReader(file)]


def side_by_side(workload: str | os.PathLike, topology: str | os.PathLike, output: str | os.PathLike,
                 physical: str | os.PathLike, flags: Sequence[str] = ()) -> tuple[list[str], dict[str, list[float]]]:
    """Simulates what a physical run has measured, in every way. @return columns by name: microseconds of each
    collective"""
    output = pathlib.Path(output)
    columns = {"physical": read_times(physical)}
    for network in NETWORKS:
        simulate(workload, topology, output / network, network, flags)
        columns[network] = read_times(output / network)
        if [name for name, _ in columns[network]] != [name for name, _ in columns["physical"]]:
            columns[network] = sorted(columns[network])
            columns["physical"] = sorted(columns["physical"])
    names = [name for name, _ in columns["physical"]]
    return names, {column: [time for _, time in rows] for column, rows in columns.items()}
