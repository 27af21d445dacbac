#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes a cluster of network namespaces from a topology file, and runs a workload or a command in it.

    scripts/netns_cluster.py TOPOLOGY --scale 500 -w workload.txt -o results/box
    scripts/netns_cluster.py TOPOLOGY --scale 500 -- ip route
    scripts/netns_cluster.py --clean

A host per GPU (one GPU per server), a switch per switch, a veth pair per link, rates by token buckets: the link's rate
divided by --scale. With -w, SimAI_phynet runs on all hosts over tcp. With a command, it runs on every host in turn. In
the end, also after an error or a signal, everything is removed; --clean removes what a killed run left. Needs root.
Status 3: namespaces are not permitted here.
"""
import argparse
import pathlib
import sys

import checkout  # noqa: F401

checkout.require_modules("networkx")

from clustersim import command
from clustersim.physical import launch
from clustersim.physical.namespaces import NamespaceCluster, NotPermitted, Unsuitable, remove_orphans
from clustersim.topology import reader
from clustersim.topology.cluster import InputError

NOT_PERMITTED = 3


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topology", nargs="?", type=pathlib.Path, help="topology file, one GPU per server")
    parser.add_argument("--scale", type=float, default=1, help="what the file's rates are divided by (1)")
    parser.add_argument("-w", "--workload", type=pathlib.Path, help="workload that SimAI_phynet runs on the hosts")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/netns"), help="results of the workload")
    parser.add_argument("--iterations", type=int, default=3, help="iterations of the workload (3)")
    parser.add_argument("--clean", action="store_true", help="remove what killed runs have left, and exit")
    end = arguments.index("--") if "--" in arguments else len(arguments)
    given = parser.parse_args(arguments[:end])
    given.command = arguments[end + 1:]
    if not given.clean and (given.topology is None or bool(given.workload) == bool(given.command)):
        parser.error("expected a topology with either -w WORKLOAD or -- COMMAND, or --clean")
    if not given.scale > 0:
        parser.error(f"--scale is {given.scale}; expected a number above 0")
    return given


def main(arguments):
    given = parse(arguments)
    try:
        if given.clean:
            print(f"{remove_orphans()} namespaces removed")
            return 0
        topology = reader.read(given.topology)
        with NamespaceCluster(topology, given.scale) as cluster:
            if given.workload:
                launch.run_in(cluster, len(topology.gpus), given.workload, given.topology, given.output,
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
        return 1


if __name__ == "__main__":
    command.run("netns_cluster.py", main)
