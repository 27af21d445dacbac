# SPDX-License-Identifier: GPL-2.0-only
"""Makes a cluster of network namespaces from a topology file, and runs a workload or a command in it.

    lab/netns_cluster.py TOPOLOGY --scale 500 -w workload.txt -o results/box
    lab/netns_cluster.py TOPOLOGY --scale 500 -- ip route
    lab/netns_cluster.py --compare -o results/box
    lab/netns_cluster.py --clean

A host per GPU (one GPU per server), a switch per switch, a veth pair per link, rates by token buckets: the link's rate
divided by --scale. With -w, SimAI_phynet runs on all hosts over tcp. With a command, it runs on every host in turn.
With --compare, collectives, an incast and a training step run on 8 hosts in several layouts, and in the flow-level
simulation of the same file; status 1 if a time differs by more than 15%, or the order of layouts differs. In the end,
also after an error or a signal, everything is removed; --clean removes what a killed run left. Needs root. Status 3:
namespaces are not permitted here.
"""
import argparse
import pathlib
import sys

from clustersim.required_modules import require

require("networkx", "yaml")

from clustersim import command, input_file  # noqa: E402
from clustersim.physical import launch  # noqa: E402
from clustersim.topology import reader  # noqa: E402
from clustersim.topology.cluster import InputError  # noqa: E402
from clustersim_lab.box import comparison, ranks  # noqa: E402
from clustersim_lab.box.namespaces import NamespaceCluster, NotPermitted, Unsuitable, remove_orphans  # noqa: E402

NOT_PERMITTED = 3
MOST_HOSTS = 256
MOST_ITERATIONS = 1_000_000
# Below a millionth, rates of links are more than any machine knows.
LEAST_SCALE, MOST_SCALE = 1e-6, 1e12


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = command.Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topology", nargs="?", type=pathlib.Path, help="topology file, one GPU per server")
    parser.add_argument("--scale", type=float, default=1, help="what the file's rates are divided by (1)")
    parser.add_argument("-w", "--workload", type=pathlib.Path, help="workload that SimAI_phynet runs on the hosts")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/netns"),
                        help="results of the workload")
    parser.add_argument("--iterations", type=int, default=3, help="iterations of the workload (3)")
    parser.add_argument("--compare", action="store_true", help="compare with simulations, and exit")
    parser.add_argument("--hosts", type=int, default=8, help="hosts of --compare, an even number (8)")
    parser.add_argument("--clean", action="store_true", help="remove what killed runs have left, and exit")
    end = arguments.index("--") if "--" in arguments else len(arguments)
    given = parser.parse_args(arguments[:end])
    given.command = arguments[end + 1:]
    if not 1 <= given.iterations <= MOST_ITERATIONS:
        parser.error(f"--iterations is {given.iterations}; expected 1 to {MOST_ITERATIONS}")
    if given.compare or given.clean:
        if not 4 <= given.hosts <= MOST_HOSTS or given.hosts % 2:
            parser.error(f"--hosts is {given.hosts}; expected an even number, 4 to {MOST_HOSTS}")
        return given
    if (given.topology is None or bool(given.workload) == bool(given.command)):
        parser.error("expected a topology with either -w WORKLOAD or -- COMMAND, or --compare or --clean")
    if not LEAST_SCALE <= given.scale <= MOST_SCALE:
        parser.error(f"--scale is {given.scale}; expected a number from {LEAST_SCALE:g} to {MOST_SCALE:g}")
    if given.workload:
        input_file.check(given.workload)  # before a cluster is made for it
    return given


def compare(given: argparse.Namespace) -> int:
    print(f"{'workload':24}{'layout':34}{'real ms':>10}{'spread':>8}{'flows ms':>10}{'error':>8}")

    def show(row: comparison.Result) -> None:
        print(f"{row.workload:24}{row.layout:34}{row.physical_ns / 1e6:10.1f}{row.spread:8.1%}"
              f"{row.simulated_ns / 1e6:10.1f}"
              f"{row.error:8.1%}", flush=True)

    results = comparison.compare_in_a_box(given.output, hosts=given.hosts, iterations=given.iterations, report=show)
    wrong = comparison.ranking_differs(results)
    for workload, slower, faster in wrong:
        print(f"{workload}: {slower} is slower than {faster}, but not in the simulation")
    return 1 if wrong or any(abs(row.error) > comparison.BOUND for row in results) else 0


def main(arguments: list[str]) -> int:
    given = parse(arguments)
    try:
        if given.clean:
            print(f"{remove_orphans()} namespaces removed")
            return 0
        if given.compare:
            return compare(given)
        topology = reader.read(given.topology)
        with NamespaceCluster(topology, given.scale) as cluster:
            if given.workload:
                ranks.run(cluster, len(topology.gpus), given.workload, given.topology, given.output,
                              iterations=given.iterations)
                print(f"results in {given.output}")
                return 0
            status = 0
            for host in topology.gpus:
                print(f"host {host} ({cluster.address(host)})", flush=True)
                status = max(status, cluster.execute(host, given.command).returncode)
            return status
    except NotPermitted as error:
        print(f"netns_cluster.py: network namespaces are not permitted here: {error}", file=sys.stderr)
        return NOT_PERMITTED
    except (InputError, Unsuitable) as error:
        print(error, file=sys.stderr)
        return 2
    except launch.PhysicalError as error:
        print(error, file=sys.stderr)
        return error.status


def run() -> None:
    command.run(command.name(), main)
