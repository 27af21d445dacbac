# SPDX-License-Identifier: GPL-2.0-only
"""Runs a configuration of the HPCC simulator through that simulator and through qbb-flows, and compares flow by flow.

Both programs get the same files: the configuration's keys, with its inputs found and its outputs in --output. The
table has completion times by flow size; flows.csv has every flow, with both times and their ratio. Flows are
paired by source, destination, destination port and size, in the order of their start.

PATH is a program that takes a configuration as its only argument, such as build/scratch/third of the HPCC simulator, or
a script of your own that sets up its libraries.

Example: against_hpcc.py --simulator ~/hpcc/simulation/third mix/config.txt -o results/against-hpcc
"""
import argparse
import collections
import csv
import dataclasses
import pathlib
import subprocess
import sys
from collections.abc import Collection, Iterator

from clustersim import command, input_file
from clustersim.errors import InputError
from clustersim.simulation import find_program
from clustersim.whole_file import whole_file, write_text

INPUTS = ("TOPOLOGY_FILE", "FLOW_FILE", "TRACE_FILE")
OUTPUTS = {"TRACE_OUTPUT_FILE": "mix.tr", "FCT_OUTPUT_FILE": "fct.txt", "PFC_OUTPUT_FILE": "pfc.txt",
           "QLEN_MON_FILE": "qlen.txt"}
SIZES = ((10_000, "up to 10 KB"), (100_000, "10 to 100 KB"), (1_000_000, "100 KB to 1 MB"),
         (float("inf"), "above 1 MB"))
PERCENTILES = (50, 95, 99)
COLUMNS = ("src", "dst", "dport", "bytes", "start_ns", "theirs_ns", "ours_ns", "ratio")


@dataclasses.dataclass(frozen=True)
class Flow:
    """A line of fct.txt."""

    pair: tuple[int, int, int, int]  # source and destination address, destination port, bytes
    start_ns: int
    fct_ns: int


Pair = tuple[Flow, Flow]  # in the HPCC simulator, and here


def found(path: str, conf: pathlib.Path) -> pathlib.Path | None:
    """@return where an input of a configuration is: beside it, or below the directory that its program ran in"""
    folders = (pathlib.Path(), conf.parent, *conf.resolve().parents)
    places = [folder / path for folder in folders] + [conf.parent / pathlib.Path(path).name]
    return next((place.resolve() for place in places if place.is_file()), None)


def configuration_for(conf: pathlib.Path, directory: pathlib.Path) -> str:
    """@return the text of a configuration with its inputs as absolute paths and its outputs in a directory"""
    lines = []
    for number, line in enumerate(input_file.read_input(conf, "a configuration of the HPCC simulator").splitlines(), 1):
        fields = line.split("#")[0].split()
        if len(fields) > 1 and fields[0] in INPUTS:
            place = found(fields[1], conf)
            if place is None:
                raise InputError(f"{conf}:{number}: {fields[0]} {fields[1]} is not there; expected a file")
            line = f"{fields[0]} {place}"
        elif fields and fields[0] in OUTPUTS:
            continue
        lines.append(line)
    return "\n".join(lines + [f"{key} {directory / name}" for key, name in OUTPUTS.items()]) + "\n"


def read_flows(path: pathlib.Path) -> list[Flow]:
    """@return the flows of an fct.txt"""
    flows = []
    for number, line in enumerate(input_file.read_input(path, "the completion times of flows").splitlines(), 1):
        fields = line.split()
        try:
            source, destination = (int(field, 16) for field in fields[:2])
            _, port, size, start, fct, _ = map(int, fields[2:])
        except ValueError:
            raise InputError(f"{path}:{number}: is no flow; expected "
                             "sip dip sport dport bytes start_ns fct_ns ideal_ns") from None
        flows.append(Flow((source, destination, port, size), start, fct))
    return flows


def run_one(program: pathlib.Path, arguments: list[str], conf: pathlib.Path, directory: pathlib.Path,
            log: pathlib.Path) -> tuple[list[Flow], int]:
    """Runs one of the two programs on a configuration of its own. @return its flows, and how often a port was paused"""
    directory.mkdir(parents=True, exist_ok=True)
    directory = directory.resolve()
    text = configuration_for(conf, directory)
    write_text(directory / "config.txt", text)
    fct = directory / OUTPUTS["FCT_OUTPUT_FILE"]
    fct.unlink(missing_ok=True)
    try:
        with open(log, "w", encoding="utf-8") as output:
            done = subprocess.run([program.resolve(), *arguments, directory / "config.txt"], cwd=directory,
                                  stdout=output, stderr=subprocess.STDOUT, check=False)
    except OSError as error:
        raise InputError(f"{program}: {error.strerror}; expected a program") from None
    if done.returncode or not fct.is_file():
        raise InputError(f"{program}: ended with status {done.returncode} and {'an' if fct.is_file() else 'no'} "
                         f"fct.txt; "
                         f"expected the completion times of all flows ({log} has its messages)")
    pfc = directory / OUTPUTS["PFC_OUTPUT_FILE"]
    pauses = sum(line.split()[4:5] == ["1"] for line in input_file.read_input(pfc,
        "pauses").splitlines()) if pfc.is_file() else 0
    return read_flows(fct), pauses


def paired(theirs: list[Flow], ours: list[Flow]) -> tuple[list[Pair], list[int]]:
    """@return (flow there, flow here) of all that both have, and the numbers of those that only one has"""
    groups: dict[tuple[int, int, int, int], tuple[list[Flow], list[Flow]]] = collections.defaultdict(lambda: ([], []))
    for side, flows in enumerate((theirs, ours)):
        for flow in sorted(flows, key=lambda flow: flow.start_ns):
            groups[flow.pair][side].append(flow)
    pairs = [pair for group in groups.values() for pair in zip(group[0], group[1])]
    alone = [sum(max(0, len(group[side]) - len(group[1 - side])) for group in groups.values()) for side in (0, 1)]
    return sorted(pairs, key=lambda pair: (pair[0].start_ns, pair[0].pair)), alone


def percentile(values: Collection[float], share: int) -> float:
    """@return the smallest of the values that is at least as large as that share of them"""
    return sorted(values)[max(0, -(-len(values) * share // 100) - 1)]


def host(address: int) -> int:
    """@return the number of the host that has an address of the HPCC simulator"""
    return (address >> 16 & 0xFF) << 8 | address >> 8 & 0xFF


def table_lines(pairs: list[Pair]) -> Iterator[str]:
    """Yields the lines of the table: completion times by size there and here, and their ratio flow by flow."""
    yield (f"{'flows':<16}{'number':>8}" + "".join(f"{f'p{share} us':>22}" for share in PERCENTILES)
           + f"{'here / there, flow by flow':>30}")
    yield " " * 24 + f"{'there':>11}{'here':>11}" * len(PERCENTILES) + f"{'p5':>10}{'median':>10}{'p95':>10}"
    lowest = 0.0
    for highest, name in (*SIZES, (float("inf"), "all")):
        lowest = 0 if name == "all" else lowest
        group = [pair for pair in pairs if lowest < pair[0].pair[3] <= highest]
        lowest = highest
        if group:
            times = [[flow.fct_ns / 1000 for flow in side] for side in zip(*group)]
            ratios = [here / there if there else float("inf") for there, here in zip(*times)]
            yield (f"{name:<16}{len(group):>8}"
                   + "".join(f"{percentile(side, share):>11.1f}" for share in PERCENTILES for side in times)
                   + "".join(f"{percentile(ratios, share):>10.3f}" for share in (5, 50, 95)))


def write_pairs(path: pathlib.Path, pairs: list[Pair]) -> None:
    """Writes a row for each pair of flows, with both completion times in ns and their ratio."""
    with whole_file(path) as part, open(part, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for there, here in pairs:
            source, destination, port, size = there.pair
            writer.writerow((host(source), host(destination), port, size, there.start_ns, there.fct_ns, here.fct_ns,
                             f"{here.fct_ns / there.fct_ns:.6f}" if there.fct_ns else ""))


def main(arguments: list[str]) -> int:
    parser = command.Parser(prog=command.name(), description=__doc__,
                            formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conf", type=pathlib.Path, help="configuration of the HPCC simulator, as its run.py writes it")
    parser.add_argument("--simulator", type=pathlib.Path, required=True, metavar="PATH", help="the HPCC simulator")
    parser.add_argument("--program", type=pathlib.Path, help="qbb-flows (bin/, or the PATH)")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/against-hpcc"))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="for qbb-flows alone; may be repeated")
    options = parser.parse_args(arguments)
    try:
        theirs, their_pauses = run_one(options.simulator, [], options.conf, options.output / "theirs",
                                   options.output / "theirs.log")
        program = options.program or find_program("qbb-flows")
        flags = ["-o", ".", *(word for setting in options.set for word in ("--set", setting)), "-c"]
        ours, our_pauses = run_one(program, flags, options.conf, options.output / "ours", options.output / "ours.log")
    except (InputError, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 2
    pairs, alone = paired(theirs, ours)
    if not pairs:
        print(f"{options.conf}: no flow ended in both programs; expected flows to compare", file=sys.stderr)
        return 2
    write_pairs(options.output / "flows.csv", pairs)
    print("\n".join(table_lines(pairs)))
    last = [max(flow.start_ns + flow.fct_ns for flow in side) / 1000 for side in zip(*pairs)]
    print(f"last end: {last[0]:.1f} us there, {last[1]:.1f} us here; pauses: {their_pauses} there, {our_pauses} here")
    print(f"{len(pairs)} flows in {options.output / 'flows.csv'}")
    if any(alone):
        print(f"warning: {alone[0]} flows ended only there, {alone[1]} only here", file=sys.stderr)
        return 1
    return 0


def run() -> None:
    command.run(command.name(), main)
