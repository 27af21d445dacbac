# SPDX-License-Identifier: GPL-2.0-only
"""Reads published nccl-tests tables and the descriptions of their machines."""
import csv
import dataclasses
import os
import pathlib
import statistics
from collections.abc import Callable, Sequence

import yaml

from clustersim import gpu_rows
from clustersim.topology.presets import mesh
from clustersim_lab.accuracy import evidence

FACTORS: dict[str, Callable[[int], float]] = {  # busbw over algbw, as nccl-tests counts
    "all_reduce_perf": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather_perf": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter_perf": lambda ranks: (ranks - 1) / ranks,
    "alltoall_perf": lambda ranks: (ranks - 1) / ranks,
    "sendrecv_perf": lambda ranks: 1.0,
    "broadcast_perf": lambda ranks: 1.0,
}
OTHERS_OF_A_MESH = 7  # GPUs that nvlink_gbps leads to
DISTURBED = 0.9  # a size is, if a larger one took less than this part of its time


class AccuracyError(Exception):
    """A mistake in the data; its text is the line that the user sees."""


def nvlink_gbps(gpu: str) -> float:
    """@return Gb/s of all NVLinks of a GPU in one direction, as the vendor gives them; 0: it has none"""
    return 8 * gpu_rows.of("nvlink_gbps").get(gpu, 0)


@dataclasses.dataclass(frozen=True)
class Machine:
    """A table's entry in machines.yaml."""
    gpu: str
    nvlink_gbps: float  # as nvlink_gbps() has it
    test: str = "all_reduce_perf"
    servers: int = 1
    gpus_per_server: int = 8
    nics_per_gpu: int = 1
    gpus_per_nic: int = 1
    nic_gbps: float = 400
    network: str = "none"
    gpus_per_thread: int = 1
    launch_us: float = 0
    launch_channel_us: float = 0
    nccl: str = ""
    environment: dict[str, object] = dataclasses.field(default_factory=dict)
    batch: int = 1  # tables that came together; a tenth of each is held out
    held_out: bool = False
    bad: Sequence[int] = ()
    disputed_from: float = float("inf")
    note: str = ""
    informs: str = ""    # which figures and rules of the model come from this table; read_tables() finds out
    proved: str = ""     # why it is off, as far as something shows it
    suspected: str = ""  # why it may be off, where nothing does

    @property
    def ranks(self) -> int:
        """GPUs of all servers"""
        return self.servers * self.gpus_per_server

    @property
    def kind(self) -> tuple[str, str, bool, str]:
        """type of machine x collective: what a table that may be looked at tells of others"""
        return self.gpu, self.network, self.servers > 1, self.test

    def links_us(self, size: int) -> float:
        """@return what the vendors' rates of links alone make a size take: the baseline that knows nothing of NCCL"""
        nic = self.nic_gbps / 8 * self.nics_per_gpu / self.gpus_per_nic  # GB/s of a GPU
        nvlink = self.nvlink_gbps / 8 or nic
        if self.gpu in mesh():  # a link for each of the others
            nvlink *= (self.gpus_per_server - 1) / OTHERS_OF_A_MESH
        near, far = (self.gpus_per_server - 1) / self.ranks, (self.ranks - self.gpus_per_server) / self.ranks
        if self.test == "alltoall_perf":
            return max(near * size / nvlink, far * size / nic) / 1e3
        if self.servers == 1:
            rate = nvlink
        elif self.test == "sendrecv_perf" or self.gpus_per_server == 1:
            rate = nic
        else:  # all NICs of a server carry a ring's data
            rate = min(nvlink, nic * self.gpus_per_server)
        return FACTORS[self.test](self.ranks) * size / rate / 1e3


@dataclasses.dataclass(frozen=True)
class Row:
    """A measured size."""
    size: int
    microseconds: float
    busbw: float
    doubt: str = ""  # why it does not count


@dataclasses.dataclass(frozen=True)
class Table:
    """A published table: its machine, its comments by key, and its sizes."""
    name: str
    machine: Machine
    header: dict[str, str]  # "machine", "network", "settings", "source" of the comments
    rows: tuple[Row, ...]


def read_machines(path: pathlib.Path) -> dict[str, Machine]:
    """@return machine by table name"""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise AccuracyError(f"{path}: cannot be read ({reason}); expected descriptions of machines") from None
    machines = {}
    for name, fields in data["tables"].items():
        merged = data["defaults"] | fields
        try:
            machine = Machine(nvlink_gbps=nvlink_gbps(merged["gpu"]), **merged)
        except (KeyError, TypeError) as error:
            raise AccuracyError(f"{path}: {name}: {error}; expected the fields that its comments name") from None
        if not isinstance(machine.nccl, str):
            raise AccuracyError(f"{path}: {name}: nccl is {machine.nccl!r}; expected a version in quotes")
        if machine.test not in FACTORS:
            raise AccuracyError(f"{path}: {name}: unknown test {machine.test}; expected {', '.join(FACTORS)}")
        machines[name] = machine
    return machines


def with_launches_of_others(machines: dict[str, Machine]) -> dict[str, Machine]:
    """@return the machines, with what a thread's launches take by all tables but the own, of CUDA or of HIP: none is
    scored with a figure of its own"""
    several = {name: machine for name, machine in machines.items() if machine.gpus_per_thread > 1}

    def median(own: str, field: str) -> float:
        others = [getattr(machine, field) for name, machine in several.items()
                  if name != own and (machine.gpu in mesh()) == (machines[own].gpu in mesh())]
        return statistics.median(others) if others else 0.0
    return machines | {name: dataclasses.replace(machine, launch_us=median(name, "launch_us"),
                                                 launch_channel_us=median(name, "launch_channel_us"))
                       for name, machine in several.items()}


def read_table(path: pathlib.Path, machine: Machine) -> Table:
    """@return the table of a CSV file @raise AccuracyError if a column is missing or a cell is not a number"""
    header, lines = {}, []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            key, _, value = line[1:].partition(":")
            header[key.strip()] = value.strip()
        else:
            lines.append(line)
    try:
        raw = [(int(row["size_bytes"]), float(row["time_us"] or 0), float(row["busbw_GBps"] or 0))
               for row in csv.DictReader(lines)]
    except (KeyError, ValueError) as error:
        raise AccuracyError(f"{path}: {error}; expected the columns size_bytes, time_us, busbw_GBps") from None
    factor = FACTORS[machine.test](machine.ranks)
    # A source gives the time, the bus bandwidth or both; the time has more digits.
    times = [time or factor * size / busbw / 1e3 for size, time, busbw in raw]
    rows = []
    for i, (size, _, _) in enumerate(raw):
        doubt = ""
        if size in machine.bad:
            doubt = "bad by its source"
        elif size >= machine.disputed_from:
            doubt = "another table of its source says otherwise"
        elif min(times[i:]) < DISTURBED * times[i]:
            doubt = "a larger size was faster"
        rows.append(Row(size, times[i], factor * size / times[i] / 1e3, doubt))
    return Table(path.stem, machine, header, tuple(rows))


def of_kinds_not_seen(tables: Sequence[Table]) -> set[str]:
    """@return the held-out tables of whose kind none may be looked at"""
    seen = {table.machine.kind for table in tables if not table.machine.held_out}
    return {table.name for table in tables if table.machine.held_out and table.machine.kind not in seen}


def read_tables(directory: str | os.PathLike) -> list[Table]:
    """@return every table of a directory, in the order of machines.yaml"""
    directory = pathlib.Path(directory)
    machines = read_machines(directory / "machines.yaml")
    informed = evidence.informed(machines)
    machines = {name: dataclasses.replace(machine, informs="; ".join(informed.get(name, ())))
                for name, machine in with_launches_of_others(machines).items()}
    described, present = set(machines), {path.stem for path in directory.glob("*.csv")}
    if described != present:
        odd = sorted(described ^ present)[0]
        raise AccuracyError(f"{directory}: {odd} has no {'table' if odd in described else 'machine in machines.yaml'}; "
                            f"expected both of each")
    return [read_table(directory / f"{name}.csv", machine) for name, machine in machines.items()]
