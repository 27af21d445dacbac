# SPDX-License-Identifier: GPL-2.0-only
"""Compares simulated times with times worked out by hand, for cases that have a closed form.

Every expectation is computed here from sizes, rates and delays, not by the simulator. Cases of collectives
run on all kinds of network that can represent them. Exit status: 0 every error is within its bound, 1 not.

Example: lab/validate.py -o results/validation --csv results/validation/table.csv
"""
import argparse
import csv
import dataclasses
import json
import math
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

from clustersim import command
from clustersim.simulation import environment, find_program
from clustersim.whole_file import whole_file, write_text
from clustersim_lab import ROOT

HEADERS = 82  # Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, preamble and gap 20
ACK = 84
MIB = 1 << 20
COLUMNS = ("case", "by hand us", "packet us", "packet error", "flow us", "flow error", "analytical us",
           "analytical error")


@dataclasses.dataclass
class Case:
    """One comparison. simulate(network, directory) gives nanoseconds."""
    name: str
    by_hand_ns: float
    simulate: Callable[[str, pathlib.Path], float]
    bounds: dict[str, float]  # on the error, as a share, by network
    lower_bound: bool = False  # what is worked out by hand is the best possible


def time_ns(size_bytes: float, gbps: float) -> float:
    """@return nanoseconds of bytes at a rate in Gb/s"""
    return size_bytes * 8 / gbps


def star(path: pathlib.Path, hosts: int, gbps: float = 100, delay_ns: float = 1000) -> pathlib.Path:
    """Writes hosts at one switch. @return the path"""
    lines = [f"{hosts + 1} 1 {hosts}", str(hosts)]
    lines += [f"{host} {hosts} {gbps}Gbps {delay_ns}ns 0" for host in range(hosts)]
    write_text(path, "\n".join(lines) + "\n")
    return path


def chain(path: pathlib.Path, switches: int, gbps: float = 100, delay_ns: float = 1000) -> pathlib.Path:
    """Two hosts with switches in a row between them."""
    nodes = [0, *range(2, 2 + switches), 1]
    lines = [f"{2 + switches} {switches} {switches + 1}", " ".join(map(str, nodes[1:-1]))]
    lines += [f"{a} {b} {gbps}Gbps {delay_ns}ns 0" for a, b in zip(nodes, nodes[1:])]
    write_text(path, "\n".join(lines) + "\n")
    return path


class Simulator:
    """The programs of one directory, or those of bin/ or the PATH."""
    def __init__(self, programs: pathlib.Path | None) -> None:
        self.programs = programs

    def run(self, program: str, *arguments: object, **variables: str) -> None:
        subprocess.run([find_program(program, self.programs), *map(str, arguments)], check=True,
                       stdout=subprocess.DEVNULL, env=environment(variables))

    def flows(self, directory: pathlib.Path, topology: pathlib.Path, flows: Sequence[tuple[int, int, int]],
              conf: str = "none.conf") -> int:
        """@return the longest duration of the flows (src, dst, bytes), which start at once, in ns"""
        write_text(directory / "flows.txt", f"{len(flows)}\n"
                   + "".join(f"{a} {b} 3 100 {size} 0\n" for a, b, size in flows))
        self.run("qbb-flows", "-q", "-c", ROOT / "conf" / conf, "-n", topology, "-f", directory / "flows.txt",
                 "-o", directory, "--set", "PACKET_PAYLOAD_SIZE=1000")
        lines = (directory / "fct.txt").read_text(encoding="utf-8").splitlines()
        return max(int(line.split()[6]) for line in lines)

    def collective(self, directory: pathlib.Path, network: str, topology: pathlib.Path, line: str, ranks: int,
                   system: dict[str, object] | None = None) -> float:
        """@return how long the collective of a micro line takes whose DP group is all ranks, in ns"""
        write_text(directory / "workload.txt", f"1 {line}\n")
        more = []
        if system:
            write_text(directory / "system.json", json.dumps(system))
            more = ["--system-configuration", directory / "system.json"]
        self.run("SimAI_simulator", "-q", "-w", directory / "workload.txt", "-n", topology, "-c",
                 ROOT / "conf/SimAI.conf", "-o", directory, "--network", network, "--tp", "1", *more,
                 AS_SEND_LAT="0", NCCL_PROTO="Simple", NCCL_ALGO="Ring")
        with (directory / "collectives.csv").open(newline="", encoding="utf-8") as file:
            (row,) = csv.DictReader(file)
        assert int(row["ranks"]) == ranks
        return float(row["end_ns"]) - float(row["start_ns"])


def flow_cases(simulator: Simulator, place: pathlib.Path) -> Iterator[Case]:
    def alone(switches: int) -> Callable[[str, pathlib.Path], float]:
        return lambda network, directory: simulator.flows(
            directory, chain(place / f"chain{switches}", switches), [(0, 1, 1000000)])

    for switches in (1, 4):
        links, frames = switches + 1, 1000
        data = frames * time_ns(1000 + HEADERS, 100) + switches * time_ns(1000 + HEADERS, 100) + links * 1000
        ack = links * (time_ns(ACK, 100) + 1000)
        yield Case(f"a flow of 1 MB alone, {links} links", data + ack,
                   alone(switches), {"packet": 1e-5})
    senders = 16
    by_hand = (senders * 1000 + 1) * time_ns(1000 + HEADERS, 100) + 2000 + 2 * (time_ns(ACK, 100) + 1000)
    yield Case(f"{senders} flows of 1 MB to one host, PFC only", by_hand,
               lambda network, directory: simulator.flows(directory, star(place / "star17", senders + 1),
                                                          [(host, senders, 1000000) for host in range(senders)]),
               {"packet": 1e-3})


def collective_cases(simulator: Simulator, place: pathlib.Path) -> Iterator[Case]:
    def case(name: str, by_hand: float, topology: pathlib.Path, line: str, ranks: int, bounds: dict[str, float],
             system: dict[str, object] | None = None, lower_bound: bool = False) -> Case:
        return Case(name, by_hand,
                    lambda network, directory: simulator.collective(directory, network, topology, line, ranks, system),
                    bounds, lower_bound)

    # NICs send without a gap, for each frame also the acknowledgement of one that they received. The last
    # frame then crosses two links and the switch.
    frame, tail = 9000 + HEADERS, time_ns(9000 + HEADERS, 100) + 2000
    for op, share in (("ALLREDUCE", 2), ("ALLGATHER", 1), ("ALLTOALL", 1)):
        for ranks in (4, 16):
            sent = share * (ranks - 1) / ranks * 64 * MIB
            yield case(f"{op}, {ranks} ranks, 64 MiB", time_ns(sent * (frame + ACK) / 9000, 100) + tail,
                       star(place / f"star{ranks}", ranks), f"{op} {64 * MIB} DP", ranks,
                       # The formula of the analytical network counts no acknowledgements.
                       {"packet": 0.003, "flow": 0.003, "analytical": 0.01})
    # ASTRA-sim's ring: 2(n-1) messages one after the other, end points' delays, three accesses of memory.
    ranks, chunks, delay, memory = 8, 4, 10, 1600
    part = MIB / chunks / ranks
    message = time_ns(part + math.ceil(part / 9000) * HEADERS + frame, 400) + 1000
    by_hand = chunks * (2 * (ranks - 1) * message + (2 * ranks - 1) * delay + (ranks - 1) * 3 * part / memory)
    yield case("ASTRA-sim's ring, 8 ranks, 1 MiB, 4 chunks", by_hand, star(place / "fast", ranks, 400, 500),
               f"ALLREDUCE {MIB} DP", ranks, {"packet": 1e-4, "flow": 0.01, "analytical": 1e-4},
               system={"all-reduce-implementation": ["ring"], "preferred-dataset-splits": chunks,
                       "active-chunks-per-dimension": 1, "endpoint-delay": delay, "local-mem-bw": memory})
    # 48 of 64 parts of 16 GPUs leave each leaf by four links of 400 Gb/s. Hashing is not that even.
    subprocess.run([ROOT / "topologies/gen_Topo_Template.py", *"-topo Clos2 -g 64 --nics_per_leaf 16 "
                    "--oversubscription 4".split()], cwd=place, check=True, stdout=subprocess.DEVNULL)
    yield case("ALLTOALL, 64 ranks, 16 MiB, uplinks 4:1",
               time_ns(16 * 48 / 64 * 16 * MIB * (frame + ACK) / 9000, 4 * 400),
               place / "Clos2_64g_8gps_4to1_400Gbps_H100", f"ALLTOALL {16 * MIB} DP", 64,
               {"packet": 0.25, "flow": 0.25}, lower_bound=True)


def evaluate(case: Case, place: pathlib.Path) -> tuple[dict[str, str], bool]:
    """@return the row of a case, and whether every error is within the bound"""
    row = {"case": case.name + (" (at least)" if case.lower_bound else ""),
           "by hand us": f"{case.by_hand_ns / 1000:.3f}"}
    good = True
    for network, bound in case.bounds.items():
        directory = place / "-".join("".join(c if c.isalnum() else " " for c in f"{case.name} {network}").split())
        directory.mkdir(parents=True, exist_ok=True)
        simulated = case.simulate(network, directory)
        error = simulated / case.by_hand_ns - 1
        row[f"{network} us"] = f"{simulated / 1000:.3f}"
        row[f"{network} error"] = f"{100 * error:+.2f}%"
        good &= abs(error) <= bound and not (case.lower_bound and error < 0)
    return row, good


def main(arguments: list[str]) -> int:
    parser = command.Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/validation"))
    parser.add_argument("--programs", type=pathlib.Path, help="directory of the programs (bin/, or the PATH)")
    parser.add_argument("--csv", type=pathlib.Path, help="write the table there, too")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    simulator, rows, all_good = Simulator(options.programs), [], True
    for case in (*flow_cases(simulator, options.output), *collective_cases(simulator, options.output)):
        row, good = evaluate(case, options.output)
        rows.append(row)
        all_good &= good
    widths = [max(len(name), *(len(row.get(name, "")) for row in rows)) for name in COLUMNS]
    for row in ({name: name for name in COLUMNS}, *rows):
        cells = [row.get(name, "").ljust(w) if name == "case" else row.get(name, "").rjust(w)
                 for name, w in zip(COLUMNS, widths)]
        print("  ".join(cells).rstrip())
    if options.csv:
        with whole_file(options.csv) as part, open(part, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    if not all_good:
        print("validate.py: an error is beyond its bound", file=sys.stderr)
    return 0 if all_good else 1


def run() -> None:
    command.run(command.name(), main)
