# SPDX-License-Identifier: GPL-2.0-only
"""Writes a flow file with the traffic of HPCC's evaluation (SIGCOMM 2019, section 5.3).

Background: every host sends flows to other hosts chosen evenly. Their sizes follow a distribution
(lines of `bytes cumulative_percent`, straight between the lines), their starts are a Poisson process,
and their sum loads the hosts' links by --load. Incast on top: --incast-senders hosts send
--incast-bytes each to one host at the same time; these events are a Poisson process whose traffic is
--incast-load of all the hosts' capacity.

Example: hpcc_traffic.py --topology fat.txt --sizes FbHdp_distribution.txt --load 0.3 \\
             --incast-load 0.02 --duration 0.005 -o flow.txt
"""
import argparse
import heapq
import math
import pathlib
import random
import sys
from collections.abc import Iterator

from clustersim import command, input_file
from clustersim.errors import InputError
from clustersim.topology import reader
from clustersim.whole_file import write_text

Flow = tuple[float, int, int, int, int]  # start in seconds, source, destination, bytes, port
# Destination ports tell the two kinds of traffic apart in fct.txt, as the HPCC simulator's tools do.
BACKGROUND_PORT = 100
INCAST_PORT = 200


def data_lines(path: str, expected: str) -> Iterator[tuple[int, list[str]]]:
    """Yields (line number, fields) of the lines that have any."""
    for number, line in enumerate(input_file.read_input(path, expected).splitlines(), 1):
        fields = line.split("#")[0].split()
        if fields:
            yield number, fields


class SizeDistribution:
    """Flow sizes drawn from a piecewise linear distribution function."""

    def __init__(self, path: str) -> None:
        self.points: list[tuple[float, float]] = []
        for number, fields in data_lines(path, "a distribution of flow sizes"):
            try:
                size, percent = map(float, fields)
            except ValueError:
                size = percent = math.nan
            if not (0 <= size < math.inf and 0 <= percent <= 100):
                raise InputError(f'{path}:{number}: "{" ".join(fields):.40}" is no point of a distribution; expected '
                                 f"bytes and the per cent of flows up to that size")
            if self.points and (size < self.points[-1][0] or percent < self.points[-1][1]):
                raise InputError(f"{path}:{number}: the distribution falls; expected sizes and per cent that grow")
            self.points.append((size, percent))
        if len(self.points) < 2 or self.points[0][1] != 0 or self.points[-1][1] != 100:
            raise InputError(f"{path}: the distribution is not whole; expected points from 0 to 100 per cent")

    def mean(self) -> float:
        """@return the mean size in bytes"""
        return sum((s0 + s1) / 2 * (p1 - p0) / 100
                   for (s0, p0), (s1, p1) in zip(self.points, self.points[1:]))

    def draw(self, uniform: float) -> int:
        """@return the size in bytes at that quantile, 1 or more"""
        percent = uniform * 100
        for (s0, p0), (s1, p1) in zip(self.points, self.points[1:]):
            if percent <= p1 and p1 > p0:
                return max(1, int(s0 + (s1 - s0) * (percent - p0) / (p1 - p0)))
        return int(self.points[-1][0])


def hosts_of(path: str) -> dict[int, float]:
    """@return {host id: sum of its network links' rates in bit/s} of a topology file @raise InputError it is wrong"""
    topology = reader.read(path)
    rates = dict.fromkeys(topology.gpus, 0.0)
    inside = set(topology.nvswitches)
    for link in topology.links:
        for end in (link.a, link.b):
            if end in rates and not inside & {link.a, link.b}:
                rates[end] += link.rate_bps
    return rates


def background(random_source: random.Random, rates: dict[int, float], sizes: SizeDistribution, load: float,
               duration: float) -> Iterator[Flow]:
    """Yields (start in seconds, source, destination, bytes, port), in order."""
    mean_bits = sizes.mean() * 8
    hosts = sorted(rates)
    next_start = []
    for host in hosts:
        rate = rates[host] * load / mean_bits
        if rate > 0:
            next_start.append((random_source.expovariate(rate), host, rate))
    heapq.heapify(next_start)
    while next_start:
        start, host, rate = next_start[0]
        if start >= duration:
            return
        destination = random_source.choice(hosts)
        while destination == host:
            destination = random_source.choice(hosts)
        yield start, host, destination, sizes.draw(random_source.random()), BACKGROUND_PORT
        heapq.heapreplace(next_start, (start + random_source.expovariate(rate), host, rate))


def incast(random_source: random.Random, rates: dict[int, float], senders: int, size: int, load: float,
           duration: float) -> Iterator[Flow]:
    """Yields (start in seconds, source, destination, bytes, port), in order."""
    hosts = sorted(rates)
    events_per_second = sum(rates.values()) * load / (senders * size * 8)
    start = random_source.expovariate(events_per_second)
    while start < duration:
        receiver, *chosen = random_source.sample(hosts, senders + 1)
        for sender in chosen:
            yield start, sender, receiver, size, INCAST_PORT
        start += random_source.expovariate(events_per_second)


def make_flows(rates: dict[int, float], sizes: SizeDistribution, options: argparse.Namespace) -> list[Flow]:
    """@return all flows in the order of their starts"""
    flows = list(background(random.Random(f"background {options.seed}"), rates, sizes,
                            options.load, options.duration))
    if options.incast_load > 0:
        if options.incast_senders >= len(rates):
            raise InputError(f"--incast-senders is {options.incast_senders}; "
                             f"expected fewer than the {len(rates)} hosts")
        flows += incast(random.Random(f"incast {options.seed}"), rates, options.incast_senders,
                        options.incast_bytes, options.incast_load, options.duration)
    return sorted(flows, key=lambda flow: flow[0])


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = command.Parser(description=__doc__.split("\n\n")[0],
                            epilog=__doc__.split("\n\n")[1],
                            formatter_class=command.HelpFormatter)
    parser.add_argument("--topology", required=True, help="file with the hosts and their links")
    parser.add_argument("--sizes", required=True, help="file with the distribution of flow sizes")
    parser.add_argument("--load", type=float, default=0.5,
                        help="share of each host's rate that background flows take (default: 0.5)")
    parser.add_argument("--duration", type=float, default=0.005,
                        help="seconds within which flows start (default: 0.005)")
    parser.add_argument("--incast-load", type=float, default=0.0,
                        help="share of all hosts' rates that incast takes (default: 0)")
    parser.add_argument("--incast-senders", type=int, default=60, help="hosts that send at once (default: 60)")
    parser.add_argument("--incast-bytes", type=int, default=500_000,
                        help="bytes that each of these hosts sends (default: 500000)")
    parser.add_argument("--priority", type=int, default=3, help="priority group of all flows (default: 3)")
    parser.add_argument("--seed", type=int, default=1,
                        help="seed of the random numbers; another one gives other flows (default: 1)")
    parser.add_argument("-o", "--output", default="-", help="flow file to write (default: standard output)")
    options = parser.parse_args(arguments)
    for name, value, low, high in (("--load", options.load, 0, 1),
                                   ("--incast-load", options.incast_load, 0, 1),
                                   ("--duration", options.duration, 1e-9, 1e6),
                                   ("--incast-senders", options.incast_senders, 1, 1e9),
                                   ("--incast-bytes", options.incast_bytes, 1, 1e15),
                                   ("--priority", options.priority, 1, 7)):
        if not low <= value <= high:
            raise InputError(f"{name} is {value:g}; expected {low:g} to {high:g}")
    command.tell_idle(parser, options, ((options.incast_load, "it is for --incast-load",
                                         ("incast_senders", "incast_bytes")),))
    return options


def main(arguments: list[str]) -> int:
    options = parse_arguments(arguments)
    if pathlib.Path(options.output).is_dir():  # before the minutes that many flows take
        raise InputError(f"{options.output}: is a directory; expected a flow file to write")
    flows = make_flows(hosts_of(options.topology), SizeDistribution(options.sizes), options)
    text = f"{len(flows)}\n" + "".join(
        f"{source} {destination} {options.priority} {port} {size} {start:.12f}\n"
        for start, source, destination, size, port in flows)
    if options.output == "-":
        sys.stdout.write(text)
    else:
        write_text(options.output, text)
    return 0


def run() -> None:
    command.run(command.name(), main)
