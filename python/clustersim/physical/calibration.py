# SPDX-License-Identifier: GPL-2.0-only
"""Measures collectives on machines, and makes a simulation of these machines.

The model is a star: hosts with a rate R and a latency a of every message, both the same for all. The time that the
flow-level simulation takes for a collective is linear in a and 1/R, so two simulations give its coefficients, and
least squares of the relative errors give both numbers.
"""
import csv
import dataclasses
import os
import pathlib
import subprocess

import numpy

from clustersim.physical import launch
from clustersim.simulation import find_program
from clustersim.whole_file import whole_file, write_text

OPS = {"ALLREDUCE": "allreduce", "ALLGATHER": "allgather", "REDUCESCATTER": "reducescatter", "ALLTOALL": "alltoall"}
# What a host has not: protocols of GPUs, switches that add, and the latencies of kernels.
VARIABLES = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_NVLS_ENABLE": "0", "AS_SEND_LAT": "0"}
PROBE_BPS = 1e9
PROBE_PS = 1_000_000
FASTEST_BPS = 1e15
ROUNDS = 100  # of least squares
SMALL_ERROR = 1e-3  # relative; below it all errors weigh the same
DISTURBED = 2  # a median above so many minima says what else the machines did


@dataclasses.dataclass
class Row:
    op: str
    size: int
    role: str  # "fit" or "check"
    least_us: float
    median_us: float
    most_us: float
    busbw: float
    simulated_us: float = float("nan")

    @property
    def disturbed(self):
        return self.median_us > DISTURBED * self.least_us

    @property
    def typical_us(self):
        """The median, or the minimum where most iterations waited for something else."""
        return self.least_us if self.disturbed else self.median_us

    @property
    def error(self):
        return self.simulated_us / self.typical_us - 1


def write_star(path, hosts, rate_bps, latency_ps):
    """Hosts at one switch, a message's latency on its two links."""
    delay = max(1, round(latency_ps / 2))
    lines = [f"{hosts + 1} 1 0 1 {hosts} Host", str(hosts)]
    lines += [f"{host} {hosts} {round(rate_bps)}bps {delay}ps 0" for host in range(hosts)]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_hosts(path, rate_bps):
    path.write_text("# name generation GB/s-of-a-channel GB/s-of-NVLinks: a host, whose ranks have no NVLink\n"
                    f"Host Hopper {rate_bps / 8e9:.6f} {rate_bps / 8e9:.6f}\n")
    return path


def write_workload(path, op, sizes):
    # The first one shows how ranks begin, not how fast they are.
    path.write_text("".join(f"1 {op} {size} TP\n" for size in [sizes[0], *sizes]))
    return path


def sizes_between(smallest, largest):
    """@return powers of two, every other one to be fitted, the others to be checked"""
    sizes = [smallest]
    while sizes[-1] * 2 <= largest:
        sizes.append(sizes[-1] * 2)
    return sizes


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class Calibration:
    def __init__(self, ranks, output, mpirun=(), **flags):
        """@param mpirun further words for it, such as a file of hosts @param flags of SimAI_phynet"""
        self.ranks, self.output, self.mpirun, self.flags = ranks, pathlib.Path(output), mpirun, flags
        self.output.mkdir(parents=True, exist_ok=True)
        self.rate_bps, self.latency_ps = PROBE_BPS, PROBE_PS
        self.rows = []

    def measure(self, op, sizes, iterations):
        """@return a row for each size, in their order"""
        directory = self.output / f"measured-{op.lower()}"
        topology = write_star(self.output / "probe-topology", self.ranks, PROBE_BPS, PROBE_PS)
        hosts = write_hosts(self.output / "hosts.txt", PROBE_BPS)
        workload = write_workload(self.output / f"{op.lower()}.txt", op, sizes)
        launch.run(self.ranks, workload, topology, directory, VARIABLES, mpirun=self.mpirun, gpu_table=os.path.abspath(hosts),
                   tp=self.ranks, warmup=2, iterations=iterations, **self.flags)
        return [Row(op, int(row["bytes"]), "fit" if number % 2 == 0 else "check", float(row["min_us"]),
                    float(row["median_us"]), float(row["max_us"]), float(row["median_busbw"]))
                for number, row in enumerate(read_csv(directory / "iterations.csv")[1:])]

    def simulate(self, op, sizes, rate_bps, latency_ps, name):
        """@return microseconds of each size"""
        topology = write_star(self.output / f"{name}-topology", self.ranks, rate_bps, latency_ps)
        hosts = write_hosts(self.output / "hosts.txt", rate_bps)
        workload = write_workload(self.output / f"{op.lower()}.txt", op, sizes)
        directory = self.output / f"simulated-{name}"
        words = [str(find_program()), "-w", str(workload), "-n", str(topology), "--gpu-table", str(hosts), "--tp", str(self.ranks),
                 "--network", "flow", "-q", "-o", str(directory)]
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
        result = subprocess.run(words, env=clean | VARIABLES, capture_output=True, text=True, check=False)
        if result.returncode:
            raise launch.PhysicalError(result.stderr.strip(), result.returncode)
        return numpy.array([(float(row["end_ns"]) - float(row["start_ns"])) / 1000
                            for row in read_csv(directory / "collectives.csv")[1:]])

    def fit(self, rows):
        """Sets rate and latency by those rows that are to be fitted."""
        op, sizes = rows[0].op, [row.size for row in rows]
        per_latency = self.simulate(op, sizes, FASTEST_BPS, PROBE_PS, "latency") / PROBE_PS
        per_rate = self.simulate(op, sizes, PROBE_BPS, 1, "rate") * PROBE_BPS
        self.latency_ps, self.rate_bps = solve(per_latency, per_rate, numpy.array([row.typical_us for row in rows]),
                                               numpy.array([row.role == "fit" for row in rows]))

    def predict(self, rows):
        """Simulates the machines as they have been found to be."""
        times = self.simulate(rows[0].op, [row.size for row in rows], self.rate_bps, self.latency_ps, "calibrated")
        for row, time in zip(rows, times):
            row.simulated_us = float(time)

    def run(self, smallest, largest, iterations, ops=tuple(OPS)):
        sizes = sizes_between(smallest, largest)
        self.rows = self.measure("ALLREDUCE", sizes, iterations)
        self.fit(self.rows)
        self.predict(self.rows)
        bandwidths = {"ALLREDUCE": self.rows[-1].busbw}
        for op in ops:
            if op != "ALLREDUCE":
                bandwidths[op] = self.measure(op, sizes[-1:], iterations)[0].busbw
        self.write(bandwidths)

    def write(self, bandwidths):
        write_star(self.output / "topology", self.ranks, self.rate_bps, self.latency_ps)
        write_hosts(self.output / "hosts.txt", self.rate_bps)
        lines = ["measured"]
        for group in ("TP", "DP", "EP"):
            lines += [f"{group}:"] + [f"{OPS[op]},: {value:.6g}" for op, value in bandwidths.items()]
        write_text(self.output / "busbw.yaml", "\n".join([*lines, "PP:", f"busbw: {self.rate_bps / 8e9:.6g}"]) + "\n")
        with whole_file(self.output / "calibration.csv") as part, part.open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["op", "bytes", "role", "min_us", "median_us", "max_us", "simulated_us", "error"])
            for row in self.rows:
                table.writerow([row.op, row.size, row.role, f"{row.least_us:.3f}", f"{row.median_us:.3f}", f"{row.most_us:.3f}",
                                f"{row.simulated_us:.3f}", f"{row.error:.4f}"])

    def check_error(self):
        """@return the median of the relative errors' sizes, over what was not fitted"""
        return float(numpy.median([abs(row.error) for row in self.rows if row.role == "check"]))


def solve(per_latency, per_rate, measured, chosen):
    """Least absolute relative errors (by weights that follow the errors), both numbers not negative.

    @param per_latency microseconds per picosecond of a message's latency @param per_rate microseconds times bit/s
    @return latency in ps, rate in bit/s
    """
    rows = numpy.stack([per_latency, per_rate], axis=1)[chosen] / measured[chosen, None]
    scale = rows.max(axis=0)
    rows = rows / scale
    weights = numpy.ones(len(rows))
    for _ in range(ROUNDS):
        solution = _least_squares(rows, weights)
        weights = 1 / numpy.sqrt(numpy.maximum(abs(rows @ solution - 1), SMALL_ERROR))
    latency, slowness = solution / scale
    return float(latency), float(1 / slowness) if slowness > 0 else FASTEST_BPS


def _least_squares(rows, weights):
    """@return the weighted solution of rows * x = 1 with no negative number"""
    ones = weights
    solution = numpy.linalg.lstsq(rows * weights[:, None], ones, rcond=None)[0]
    if (solution >= 0).all():
        return solution
    other = int(numpy.argmax(solution))
    column = rows[:, other] * weights
    solution = numpy.zeros(2)
    solution[other] = column @ ones / (column @ column)
    return solution
