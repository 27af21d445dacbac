# SPDX-License-Identifier: GPL-2.0-only
"""Measures collectives on machines, and makes a simulation of these machines.

The model is a star of equal hosts (host_model.py), whose numbers are fitted to every other size by flow-level
simulations.
"""
import csv
import dataclasses
import json
import os
import pathlib
import subprocess
from collections.abc import Iterable, Mapping, Sequence

import numpy

from clustersim.physical import launch
from clustersim.physical.host_model import Host, HostFit
from clustersim.simulation import environment, find_program
from clustersim.whole_file import whole_file, write_text

OPS = {"ALLREDUCE": "allreduce", "ALLGATHER": "allgather", "REDUCESCATTER": "reducescatter", "ALLTOALL": "alltoall"}
# Features that a host lacks: protocols of GPUs, switches that add, and the latencies of kernels.
VARIABLES = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_NVLS_ENABLE": "0", "AS_SEND_LAT": "0"}
PROBE = Host(1, 1e9)
HEADER_BYTES = 64  # that SimAI_phynet sends before each payload
# libfabric's RxM sends messages of up to this variable at once, and announces longer ones (fi_rxm(7)).
RXM_LIMIT, RXM_DEFAULT = "FI_OFI_RXM_BUFFER_SIZE", 16384
COPYING_PROVIDERS = ("tcp", "sockets", "udp", "shm")  # whose data the CPU moves
SEARCHED_LIMITS = tuple(1 << power for power in range(11, 20))
FIRST_BYTES = 1024
DISTURBED = 2  # a median above so many minima shows that the machines were busy with something else


@dataclasses.dataclass
class Row:
    """A size of a collective: measured and simulated times, and the measured bus bandwidth in GB/s."""
    op: str
    size: int
    role: str  # "fit" or "check"
    least_us: float
    median_us: float
    most_us: float
    busbw: float
    simulated_us: float = float("nan")

    @property
    def disturbed(self) -> bool:
        """Whether the median is so far above the minimum that something else must have run"""
        return self.median_us > DISTURBED * self.least_us

    @property
    def typical_us(self) -> float:
        """The median, or the minimum where most iterations waited for something else."""
        return self.least_us if self.disturbed else self.median_us

    @property
    def error(self) -> float:
        """The relative error of the simulated time; NaN before it is simulated"""
        return self.simulated_us / self.typical_us - 1


def write_star(path: pathlib.Path, ranks: int, host: Host) -> pathlib.Path:
    """Hosts at one switch, a message's latency on its two links."""
    delay = max(1, round(host.latency_us * 1e6 / 2))
    lines = [f"{ranks + 1} 1 0 1 {ranks} Host", str(ranks)]
    lines += [f"{rank} {ranks} {round(host.rate_bps)}bps {delay}ps 0" for rank in range(ranks)]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_hosts(path: pathlib.Path, host: Host) -> pathlib.Path:
    """Writes a --gpu-table with one type, Host. @return the path"""
    path.write_text(f"# A host, whose ranks have no NVLink, and the costs of its messages.\n{host.row('Host')}\n")
    return path


def write_workload(path: pathlib.Path, op: str, sizes: Sequence[int]) -> pathlib.Path:
    """Writes a workload with two collectives of each size in bytes, after two that start the ranks. @return the path"""
    # The very first show how ranks begin. The first of a size finds its buffers out of the caches, and training repeats
    # its collectives: the second of each size counts (rows_that_count()).
    path.write_text("".join(f"1 {op} {size} TP\n" * 2 for size in [FIRST_BYTES, *sizes]))
    return path


def rows_that_count(path: pathlib.Path) -> list[dict[str, str]]:
    """@return rows of a table of the collectives of write_workload(), one for each size"""
    return read_csv(path)[3::2]


def provider_limits(provider: str, inject_bytes: int, environment: Mapping[str, str]) -> list[int]:
    """@return bytes of the longest payloads before a provider changes its protocol, as far as it tells"""
    limits = [inject_bytes]
    if "ofi_rxm" in provider:
        limits.append(int(environment.get(RXM_LIMIT, RXM_DEFAULT)))
    return sorted({limit - HEADER_BYTES for limit in limits if limit > HEADER_BYTES})


def sizes_between(smallest: int, largest: int) -> list[int]:
    """@return powers of two, every other one to be fitted, the others to be checked"""
    sizes = [smallest]
    while sizes[-1] * 2 <= largest:
        sizes.append(sizes[-1] * 2)
    return sizes


def read_csv(path: pathlib.Path) -> list[dict[str, str]]:
    """@return the rows by column"""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class Calibration:
    """Measures collectives with so many ranks, and keeps the host that explains them. Files go into the output
    directory."""
    def __init__(self, ranks: int, output: str | os.PathLike, mpirun: Sequence[str] = (), provider: str = "auto",
                 nic: str | None = None, interface: str | None = None) -> None:
        """@param mpirun further words for it, such as a file of hosts @param provider, nic, interface as for
        SimAI_phynet"""
        self.ranks, self.output, self.mpirun = ranks, pathlib.Path(output), mpirun
        self.provider, self.nic, self.interface = provider, nic, interface
        self.output.mkdir(parents=True, exist_ok=True)
        self.host = PROBE
        self.rows: list[Row] = []

    def measure(self, op: str, sizes: Sequence[int], iterations: int) -> list[Row]:
        """@return a row for each size, in their order"""
        directory = self.output / f"measured-{op.lower()}"
        topology = write_star(self.output / "probe-topology", self.ranks, PROBE)
        hosts = write_hosts(self.output / "hosts.yaml", PROBE)
        workload = write_workload(self.output / f"{op.lower()}.txt", op, sizes)
        launch.run(self.ranks, workload, topology, directory, VARIABLES, mpirun=self.mpirun,
                   gpu_table=os.path.abspath(hosts),
                   tp=self.ranks, warmup=2, iterations=iterations, provider=self.provider, nic=self.nic,
                   interface=self.interface)
        return [Row(op, int(row["bytes"]), "fit" if number % 2 == 0 else "check", float(row["min_us"]),
                    float(row["median_us"]), float(row["max_us"]), float(row["median_busbw"]))
                for number, row in enumerate(rows_that_count(directory / "iterations.csv"))]

    def simulate(self, op: str, sizes: Sequence[int], host: Host, name: str) -> numpy.ndarray:
        """@return microseconds of each size"""
        topology = write_star(self.output / f"{name}-topology", self.ranks, host)
        hosts = write_hosts(self.output / "hosts.yaml", host)
        workload = write_workload(self.output / f"{op.lower()}.txt", op, sizes)
        directory = self.output / f"simulated-{name}"
        words = [str(find_program()), "-w", str(workload), "-n", str(topology), "--gpu-table", str(hosts), "--tp",
                 str(self.ranks), "--network", "flow", "-q", "-o", str(directory)]
        result = subprocess.run(words, env=environment(VARIABLES), capture_output=True, text=True, check=False)
        if result.returncode:
            raise launch.PhysicalError(result.stderr.strip(), result.returncode)
        return numpy.array([(float(row["end_ns"]) - float(row["start_ns"])) / 1000
                            for row in rows_that_count(directory / "collectives.csv")])

    def fit(self, rows: list[Row], known: Iterable[int] = (), copies: bool = True) -> None:
        """Sets the host by those rows that are to be fitted. @param known, copies see HostFit"""
        op, sizes = rows[0].op, [row.size for row in rows]
        fit = HostFit(lambda host: self.simulate(op, sizes, host, "fitted"), [row.typical_us for row in rows],
                      [row.role == "fit" for row in rows], copies)
        self.host = fit.best(known, SEARCHED_LIMITS)

    def predict(self, rows: list[Row]) -> None:
        """Simulates the machines as they have been found to be."""
        times = self.simulate(rows[0].op, [row.size for row in rows], self.host, "calibrated")
        for row, time in zip(rows, times):
            row.simulated_us = float(time)

    def run(self, smallest: int, largest: int, iterations: int, ops: Sequence[str] = tuple(OPS)) -> None:
        sizes = sizes_between(smallest, largest)
        self.rows = self.measure("ALLREDUCE", sizes, iterations)
        record = json.loads((self.output / "measured-allreduce" / "run.json").read_text())
        provider = record["provider"]
        self.fit(self.rows, provider_limits(provider, record["inject_bytes"], launch.environment()),
                 provider.startswith(COPYING_PROVIDERS))
        self.predict(self.rows)
        bandwidths = {"ALLREDUCE": self.rows[-1].busbw}
        for op in ops:
            if op != "ALLREDUCE":
                bandwidths[op] = self.measure(op, sizes[-1:], iterations)[0].busbw
        self.write(bandwidths)

    def write(self, bandwidths: Mapping[str, float]) -> None:
        """Writes topology, hosts.yaml, busbw.yaml and calibration.csv. @param bandwidths GB/s by operation"""
        write_star(self.output / "topology", self.ranks, self.host)
        write_hosts(self.output / "hosts.yaml", self.host)
        lines = ["measured"]
        for group in ("TP", "DP", "EP"):
            lines += [f"{group}:"] + [f"{OPS[op]},: {value:.6g}" for op, value in bandwidths.items()]
        write_text(self.output / "busbw.yaml", "\n".join([*lines, "PP:", f"busbw: {self.host.rate_bps / 8e9:.6g}"])
                   + "\n")
        with whole_file(self.output / "calibration.csv") as part, part.open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["op", "bytes", "role", "min_us", "median_us", "max_us", "simulated_us", "error"])
            for row in self.rows:
                table.writerow([row.op, row.size, row.role, f"{row.least_us:.3f}", f"{row.median_us:.3f}",
                                f"{row.most_us:.3f}", f"{row.simulated_us:.3f}", f"{row.error:.4f}"])

    def check_error(self) -> float:
        """@return the median of the relative errors' sizes, over what was not fitted"""
        return float(numpy.median([abs(row.error) for row in self.rows if row.role == "check"]))
