# SPDX-License-Identifier: GPL-2.0-only
"""Runs the same cases with packets and with flows (--network flow), and compares time and speed.

Usage: lab/compare_backends.py [-o DIRECTORY] [--case NAME]... [--rst FILE]

Every case is a topology, a workload and a configuration, written into DIRECTORY. Its time is when the
workload ends, or when the last flow of its flow file does. Kinds of cases:

idle     flows of different senders never meet at a link: within 5%
shared   they do, and the congestion control keeps what they share busy: within 15%
beyond   what only packets show: capacity that a congestion control leaves unused, and timeouts after
         losses; the difference is their price

Nothing of the flow-level model is fitted to a case. Exits with status 1 if a case is beyond its bound.
With --speed other, longer runs are made, and CPU seconds of the whole programs are compared.

    lab/compare_backends.py --workload W --topology N --ranks 4 [--provider P] [-o DIRECTORY]

puts real traffic (SimAI_phynet on this machine, or what --physical DIR has measured), packets, flows and formulas side
by side: the time of each collective of one workload, as a table, side-by-side.csv and a plot.
"""
import argparse
import csv
import json
import pathlib
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from clustersim.required_modules import require

require("matplotlib", "networkx", "yaml")

from clustersim import command  # noqa: E402
from clustersim.physical import launch  # noqa: E402
from clustersim.rst import list_table  # noqa: E402
from clustersim.simulation import environment, find_program, flag_words  # noqa: E402
from clustersim.whole_file import write_text  # noqa: E402
from clustersim_lab import ROOT  # noqa: E402
from clustersim_lab.box import comparison  # noqa: E402

MIB = 1 << 20
BOUND = {"idle": 0.05, "shared": 0.15, "beyond": float("inf")}

Layer = tuple[str, int, str, int, str, int]  # name, compute ns, forward op, bytes, weight gradient op, bytes
Flow = tuple[int, int, int, float]  # source, destination, bytes, start in seconds
HEADER = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: {ep} pp: 1 vpp: 1 ga: 1 "
          "all_gpus: {gpus} checkpoints: 0 checkpoint_initiates: 0\n")


def star(path: pathlib.Path, hosts: int, rate: str = "100Gbps", delay: str = "1us") -> None:
    """Hosts around one switch."""
    lines = [f"{hosts + 1} 1 {hosts}", str(hosts)]
    lines += [f"{hosts} {h} {rate} {delay} 0" for h in range(hosts)]
    write_text(path, "\n".join(lines) + "\n")


def servers(path: pathlib.Path, count: int, leaves: int = 0, spines: int = 1, uplink: str = "400Gbps", gpus: int = 8,
            nvlink: str = "2880Gbps", nic: str = "400Gbps", gpu_type: str = "H100") -> None:
    """Servers with an NVSwitch each; leaf k serves GPU k of every server, or, with fewer leaves than
    GPUs, servers in turn; every leaf has one uplink to every spine."""
    total = count * gpus
    leaves = leaves or gpus
    first_leaf = total + count
    first_spine = first_leaf + leaves
    last = first_spine + spines
    lines = []
    for g in range(total):
        leaf = first_leaf + (g % gpus if leaves == gpus else g // gpus * leaves // count)
        lines += [f"{g} {total + g // gpus} {nvlink} 0.000025ms 0", f"{g} {leaf} {nic} 0.0005ms 0"]
    lines += [f"{leaf} {spine} {uplink} 0.0005ms 0"
              for leaf in range(first_leaf, first_spine) for spine in range(first_spine, last)]
    switches = " ".join(str(n) for n in range(total, last))
    write_text(path, f"{last} {gpus} {count} {leaves + spines} {len(lines)} {gpu_type}\n{switches}\n"
                    + "\n".join(lines) + "\n")


def layers(path: pathlib.Path, gpus: int, rows: Sequence[Layer], tp: int = 1, ep: int = 1) -> None:
    """Writes a workload in SimAI's format."""
    write_text(path, HEADER.format(tp=tp, ep=ep, gpus=gpus) + f"{len(rows)}\n" + "".join(
        f"{name}\t-1\t{ns}\t{fwd}\t{fb}\t{ns}\tNONE\t0\t{ns}\t{wg}\t{wb}\t1\n"
        for name, ns, fwd, fb, wg, wb in rows))


def flows(path: pathlib.Path, rows: Sequence[Flow]) -> None:
    """Writes a flow file, priority 3."""
    write_text(path, f"{len(rows)}\n" + "".join(f"{s} {d} 3 {b} {t:.9f}\n" for s, d, b, t in rows))


def lone_gpus(path: pathlib.Path, count: int) -> None:
    """Servers of one GPU around one switch."""
    servers(path, count, gpus=1)


@dataclass
class Case:
    """make(directory) writes topology, workload.txt and possibly flows.txt."""
    name: str
    kind: str
    make: Callable[[pathlib.Path], None]
    environment: dict[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()


def one(op: str, size: int, topology: Callable[..., None], gpus: int, tp: int = 1, ep: int = 1,
        **shape: int | str) -> Callable[[pathlib.Path], None]:
    """@return a function that writes one collective of so many bytes @param shape of the topology"""
    def make(directory: pathlib.Path) -> None:
        topology(directory / "topology", **shape)
        layers(directory / "workload.txt", gpus, [("layer", 1000, "NONE", 0, op, size)]
               if tp == 1 and ep == 1 else [("layer", 1000, op, size, "NONE", 0)], tp=tp, ep=ep)
    return make


def incast(directory: pathlib.Path) -> None:
    star(directory / "topology", 9)
    layers(directory / "workload.txt", 9, [("wait", 20_000_000, "NONE", 0, "NONE", 0)])
    flows(directory / "flows.txt", [(s, 8, 2 * MIB, 0) for s in range(8)])


def staggered(directory: pathlib.Path) -> None:
    star(directory / "topology", 9)
    layers(directory / "workload.txt", 9, [("wait", 20_000_000, "NONE", 0, "NONE", 0)])
    flows(directory / "flows.txt", [(s, 8, (1 + s) * MIB, s * 50e-6) for s in range(8)])


def permutation(directory: pathlib.Path) -> None:
    servers(directory / "topology", 4, leaves=2, spines=4, gpus=4, uplink="400Gbps")
    layers(directory / "workload.txt", 16, [("wait", 20_000_000, "NONE", 0, "NONE", 0)])
    flows(directory / "flows.txt", [(s, (s + 8) % 16, 4 * MIB, 0) for s in range(16)])


def iteration(directory: pathlib.Path) -> None:
    servers(directory / "topology", 4, gpus=8)
    layers(directory / "workload.txt", 32,
           [(f"layer{i}", 100_000, "ALLREDUCE", 8 * MIB, "ALLREDUCE", 16 * MIB) for i in range(3)],
           tp=8)


def experts(directory: pathlib.Path) -> None:
    servers(directory / "topology", 4, leaves=2, spines=2, gpus=8, uplink="1600Gbps")
    layers(directory / "workload.txt", 32,
           [(f"layer{i}", 50_000, "ALLTOALL_EP", 4 * MIB, "ALLREDUCE_DP_EP", 8 * MIB) for i in range(2)],
           tp=1, ep=16)


def neighbours(directory: pathlib.Path) -> None:
    servers(directory / "topology", 4, leaves=4, spines=2, gpus=4, uplink="400Gbps", nic="400Gbps")
    layers(directory / "workload.txt", 8, [("a", 1000, "NONE", 0, "ALLREDUCE", 16 * MIB)])
    layers(directory / "second.txt", 4, [("b", 20_000, "NONE", 0, "ALLTOALL", 8 * MIB)])
    write_text(directory / "jobs", "workload.txt@0-7 second.txt@8,9,12,13")
    flows(directory / "flows.txt", [(10, 2, 2 * MIB, 0), (11, 3, 2 * MIB, 30e-6)])


oversubscribed = one("ALLTOALL", 16 * MIB, servers, 32, count=4, leaves=2, spines=4, uplink="400Gbps")

SIMPLE_RING = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}
SIMPLE_TREE = {"NCCL_ALGO": "Tree", "NCCL_PROTO": "Simple"}

CASES = [
    Case("Ring AllReduce 16 MiB, 8 GPUs of a server", "idle",
         one("ALLREDUCE", 16 * MIB, servers, 8, tp=8, count=1), SIMPLE_RING),
    Case("Ring AllReduce 16 MiB, 8 hosts at a switch", "idle",
         one("ALLREDUCE", 16 * MIB, star, 8, hosts=8), SIMPLE_RING),
    Case("Ring AllReduce 64 MiB, 4 servers, rails", "idle",
         one("ALLREDUCE", 64 * MIB, servers, 32, count=4), SIMPLE_RING),
    Case("Ring AllGather 16 MiB, 4 servers, rails", "idle",
         one("ALLGATHER", 16 * MIB, servers, 32, count=4), SIMPLE_RING),
    Case("Ring AllReduce 16 MiB, 8 hosts, frames of 1000 B", "idle",
         one("ALLREDUCE", 16 * MIB, star, 8, hosts=8), SIMPLE_RING, ("PACKET_PAYLOAD_SIZE=1000",)),
    Case("Tree AllReduce 16 MiB, 4 servers, rails", "idle",
         one("ALLREDUCE", 16 * MIB, servers, 32, count=4), SIMPLE_TREE),
    Case("NVLS AllReduce 16 MiB, 8 GPUs of a server", "idle",
         one("ALLREDUCE", 16 * MIB, servers, 8, tp=8, count=1), {"AS_NVLS_ENABLE": "1"}),
    Case("Ring AllReduce 64 MiB by LL128, 32 hosts at a switch", "idle",
         one("ALLREDUCE", 64 * MIB, lone_gpus, 32, count=32), {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL128"}),
    Case("Ring AllReduce 16 MiB by LL, 32 hosts at a switch", "idle",
         one("ALLREDUCE", 16 * MIB, lone_gpus, 32, count=32), {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}),
    Case("Tree AllReduce 16 MiB by LL128, 32 hosts at a switch", "idle",
         one("ALLREDUCE", 16 * MIB, lone_gpus, 32, count=32), {"NCCL_ALGO": "Tree", "NCCL_PROTO": "LL128"}),
    Case("LL AllReduce 64 KiB, 4 servers, rails", "idle",
         one("ALLREDUCE", 65536, servers, 32, count=4), {"NCCL_PROTO": "LL"}),
    Case("AllToAll 16 MiB, 8 hosts at a switch", "shared",
         one("ALLTOALL", 16 * MIB, star, 8, hosts=8)),
    Case("Ring AllReduce 32 MiB, 4 servers, ECMP over 4 spines", "shared",
         one("ALLREDUCE", 32 * MIB, servers, 32, count=4, leaves=2, spines=4), SIMPLE_RING),
    Case("Incast, 8 flows of 2 MiB", "shared", incast),
    Case("Incast, 8 flows of 1 to 8 MiB, one after the other", "shared", staggered),
    Case("Permutation of 16 flows of 4 MiB over 4 spines", "shared", permutation),
    Case("The same, sprayed", "shared", permutation, {}, ("ROUTING=spray",)),
    Case("The same, one link to a spine fails after 50 us", "beyond", permutation, {},
         ("LINK_DOWN=50 20 22",)),
    Case("Iteration, TP 8 and DP 4, overlapping", "shared", iteration),
    Case("Iteration, EP 16 and DP, overlapping", "shared", experts),
    Case("Two jobs and background flows, spines 4:1", "shared", neighbours),
    Case("AllToAll 16 MiB, 4 servers, spines 4:1, PFC alone", "shared", oversubscribed, {},
         ("CC_MODE=0",)),
    Case("The same, TIMELY", "shared", oversubscribed, {}, ("CC_MODE=RdmaTimely",)),
    Case("The same, DCTCP", "shared", oversubscribed, {}, ("CC_MODE=8",)),
    Case("The same, Swift", "shared", oversubscribed, {}, ("CC_MODE=ns3::RdmaSwift",)),
    Case("The same, HPCC", "beyond", oversubscribed, {}, ("CC_MODE=3",)),
    Case("The same, HPCC-PINT", "beyond", oversubscribed, {}, ("CC_MODE=10",)),
    Case("The same, DCQCN", "beyond", oversubscribed),
]


def exchange(directory: pathlib.Path) -> None:
    """Flows of 128 MiB across a fabric that is not oversubscribed."""
    servers(directory / "topology", 8, leaves=8, spines=8, gpus=8, uplink="400Gbps")
    layers(directory / "workload.txt", 64, [("wait", 20_000_000, "NONE", 0, "NONE", 0)])
    flows(directory / "flows.txt", [(s, (s + 8 * (1 + s % 7)) % 64, 128 * MIB, 0) for s in range(64)])


SPEED = [
    Case("AllReduce 64 MiB, 128 GPUs", "", one("ALLREDUCE", 64 * MIB, servers, 128, count=16)),
    Case("AllReduce 1 GiB, 128 GPUs", "", one("ALLREDUCE", 1024 * MIB, servers, 128, count=16)),
    Case("AllToAll 1 GiB, 64 GPUs", "", one("ALLTOALL", 1024 * MIB, servers, 64, count=8)),
    Case("AllToAll 128 MiB, 64 GPUs, frames of 1000 B", "",
         one("ALLTOALL", 128 * MIB, servers, 64, count=8), {}, ("PACKET_PAYLOAD_SIZE=1000",)),
    Case("64 flows of 128 MiB over 8 spines", "", exchange),
    Case("64 flows of 128 MiB over 8 spines, frames of 1000 B", "", exchange, {},
         ("PACKET_PAYLOAD_SIZE=1000",)),
]


def cpu_seconds() -> float:
    """@return user and system seconds of all programs that have ended"""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure_speed(program: pathlib.Path, output: pathlib.Path, wanted: list[str] | None) -> None:
    """Prints the CPU seconds of each case of SPEED, with packets and with flows. @param wanted parts of their names;
    None: all"""
    print(f"{'case':52}{'packets, CPU s':>15}{'flows, CPU s':>14}{'ratio':>8}")
    for number, case in enumerate(SPEED):
        if wanted and not any(part in case.name for part in wanted):
            continue
        directory = output / f"speed{number}"
        directory.mkdir(parents=True, exist_ok=True)
        case.make(directory)
        seconds = {}
        for network, runs in (("packet", 1), ("flow", 3)):
            times = []
            for _ in range(runs):
                before = cpu_seconds()
                simulate(program, directory, case, network)
                times.append(cpu_seconds() - before)
            seconds[network] = sorted(times)[len(times) // 2]
        print(f"{case.name:52}{seconds['packet']:15.2f}{seconds['flow']:14.3f}"
              f"{seconds['packet'] / seconds['flow']:8.0f}", flush=True)


def simulate(program: pathlib.Path, directory: pathlib.Path, case: Case, network: str) -> tuple[float, float]:
    """@return (time in ns, wall seconds of the simulation)"""
    out = directory / network
    jobs = directory / "jobs"
    command = [str(program), "-n", str(directory / "topology"), "-c", str(ROOT / "conf" / "SimAI.conf"),
               "-o", str(out), "--network", network, "--quiet"]
    for job in jobs.read_text().split() if jobs.exists() else ["workload.txt"]:
        command += ["-w", str(directory / job)]
    flow_file = directory / "flows.txt"
    if flow_file.exists():
        command += ["--background-flows", str(flow_file)]
    for setting in case.settings:
        command += ["--set", setting]
    result = subprocess.run(command, env=environment(case.environment), capture_output=True, text=True,
                            check=False)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{result.stderr}")
    record = json.loads((out / "run.json").read_text())
    time = record["simulated_ns"]
    if flow_file.exists() and not jobs.exists():
        lines = [line.split() for line in (out / "fct.txt").read_text().splitlines()]
        time = max(int(line[5]) + int(line[6]) for line in lines)
    wall = record["simulation_wall_s"]
    return time, wall


def compare(program: pathlib.Path, directory: pathlib.Path, case: Case) -> tuple[float, float, float, float]:
    """@return time with packets, with flows (ns), and the wall seconds of both"""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("flows.txt", "jobs"):
        (directory / name).unlink(missing_ok=True)  # of another case
    case.make(directory)
    packet, packet_wall = simulate(program, directory, case, "packet")
    flow, flow_wall = simulate(program, directory, case, "flow")
    return packet, flow, packet_wall, flow_wall


def with_real_traffic(given: argparse.Namespace) -> int:
    given.output.mkdir(parents=True, exist_ok=True)
    words = flag_words({"gpu-table": given.gpu_table, "tp": given.tp or None})
    physical = given.physical or given.output / "physical"
    try:
        if given.ranks:
            launch.run(given.ranks, given.workload, given.topology, physical, comparison.VARIABLES,
                       provider=given.provider, iterations=5, gpu_table=given.gpu_table, tp=given.tp or None)
        names, columns = comparison.side_by_side(given.workload, given.topology, given.output, physical, words)
    except launch.PhysicalError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{'collective':32}" + "".join(f"{name + ' us':>15}" for name in columns))
    with (given.output / "side-by-side.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["collective", *(f"{name}_us" for name in columns)])
        for number, name in enumerate(names):
            times = [column[number] for column in columns.values()]
            table.writerow([name, *(f"{time:.3f}" for time in times)])
            print(f"{name:32}" + "".join(f"{time:15.1f}" for time in times))
    draw(names, columns, given.output / "side-by-side.svg")
    print(f"results in {given.output}")
    return 0


def draw(names: list[str], columns: dict[str, list[float]], path: pathlib.Path) -> None:
    """A group of bars for each collective, the first forty of them."""
    from matplotlib.ticker import LogFormatter  # takes a second to load
    from clustersim.results.plots import style
    names = names[:40]
    width = 0.8 / len(columns)
    with style.theme():
        figure, axes = style.new_figure(max(6, 0.6 * len(names) + 3), 4)
        for place, (name, times) in enumerate(columns.items()):
            axes.bar([number + place * width for number in range(len(names))], times[:len(names)], width, label=name)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(LogFormatter())
        axes.set_ylabel("us")
        axes.set_xticks([number + 0.4 - width / 2 for number in range(len(names))],
                        [style.shorten(name) for name in names], rotation=45, ha="right")
        axes.legend()
        style.save(figure, path)


def main(arguments: list[str]) -> int:
    parser = command.Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/backends"))
    parser.add_argument("--case", action="append", help="run only cases whose name contains this")
    parser.add_argument("--rst", type=pathlib.Path, help="write the table there, for the documentation")
    parser.add_argument("--speed", action="store_true", help="compare CPU seconds of longer runs")
    parser.add_argument("--workload", type=pathlib.Path, help="compare this one with real traffic")
    parser.add_argument("--topology", type=pathlib.Path, help="topology of --workload")
    parser.add_argument("--ranks", type=int, default=0, help="processes of --workload on this machine")
    parser.add_argument("--provider", default="auto", help="libfabric's provider of --workload")
    parser.add_argument("--physical", type=pathlib.Path, help="results of SimAI_phynet, in place of --ranks")
    parser.add_argument("--gpu-table", type=pathlib.Path, help="as for SimAI_simulator, with --workload")
    parser.add_argument("--tp", type=int, help="as for SimAI_simulator, with --workload")
    options = parser.parse_args(arguments)
    if options.workload:
        if not options.topology or bool(options.ranks) == bool(options.physical):
            parser.error("--workload needs --topology, and either --ranks or --physical")
        return with_real_traffic(options)
    program = find_program()
    if options.speed:
        measure_speed(program, options.output, options.case)
        return 0
    rows = []
    print(f"{'case':58}{'packets us':>12}{'flows us':>12}{'error':>8}{'speed-up':>10}")
    bad = 0
    for number, case in enumerate(CASES):
        if options.case and not any(part in case.name for part in options.case):
            continue
        packet, flow, packet_wall, flow_wall = compare(program, options.output / str(number), case)
        error = flow / packet - 1
        within = abs(error) <= BOUND[case.kind]
        bad += not within
        rows.append((case, packet, flow, error, packet_wall / flow_wall))
        print(f"{case.name:58}{packet / 1000:12.1f}{flow / 1000:12.1f}{error:8.1%}"
              f"{packet_wall / flow_wall:10.0f}{'' if within else '  OUT OF BOUND'}", flush=True)
    if options.rst:
        cells = [(case.name, case.kind, f"{packet / 1000:.1f}", f"{flow / 1000:.1f}", f"{error:+.1%}") for case, packet,
                 flow, error, _ in rows]
        write_text(options.rst, list_table(("Case", "Kind", "Packets (us)", "Flows (us)", "Difference"), cells).rstrip()
                   + "\n")
    return 1 if bad else 0


def run() -> None:
    command.run(command.name(), main)
