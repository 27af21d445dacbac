# SPDX-License-Identifier: GPL-2.0-only
"""How long collectives of a plan take on an idle machine, by SimAI_analytical."""
import csv
import dataclasses
import functools
import os
import pathlib
import tempfile
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from clustersim import gpu_rows
from clustersim.simulation import find_program, run_program
from clustersim.workload.contention.demand import NO_CONTENTION, Contention
from clustersim.workload.estimate import plans
from clustersim.workload.plan import pipeline
from clustersim.workload.plan.parallel import Parallelism
from clustersim.workload.training.rows import Collective, Row
from clustersim.workload.write import simai_text

if TYPE_CHECKING:
    from clustersim.workload.training.megatron import Iteration

NAMES = {"ALLREDUCE": "AllReduce", "ALLGATHER": "AllGather", "REDUCESCATTER": "ReduceScatter", "ALLTOALL": "AllToAll"}
PIPELINE = Collective("SENDRECV", "PP", 1)


@dataclasses.dataclass(frozen=True)
class Machine:
    """The machine of collectives. Rates are those of one direction, in GB/s."""
    gpu_type: str
    gpus_per_server: int = 8
    nic_gbps: float = 50  # of a NIC
    nics_per_server: int = 0  # 0: one for each GPU
    nvlink_gbps: float = 0  # of a GPU; 0: that of the type
    topology: str | None = None  # whose links collectives take, and whose GPUs these are
    contention: Contention | None = None  # of groups that send at once
    hidden: tuple[tuple[str, float], ...] = ()  # shares of the times of kinds of groups that nothing waits for

    def line_rates(self) -> plans.Machine:
        """@return the plans.Machine whose bandwidths are the links'"""
        return plans.Machine(self.gpus_per_server, self.nvlink_gbps
                             or gpu_rows.need(self.gpu_type, "nvlink_gbps")["nvlink_gbps"],
                             self.nic_gbps * (self.nics_per_server or self.gpus_per_server) / self.gpus_per_server)

    def flags(self) -> list[str | float]:
        """@return the flags of SimAI_analytical that mean the same"""
        if self.topology:
            return ["-n", self.topology]
        found: list[str | float] = ["--gpu-type", self.gpu_type, "--gpus-per-server", self.gpus_per_server,
                                    "--nic-busbw", self.nic_gbps]
        found += ["--nic-per-server", self.nics_per_server] if self.nics_per_server else []
        return found + (["--nvlink", self.nvlink_gbps] if self.nvlink_gbps else [])


def _variables(engine: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """@return the variables on which the times depend, besides the machine: the program reads them"""
    given = {**os.environ, **engine}
    return tuple(sorted(item for item in given.items() if item[0].startswith(("AS_", "NCCL_", "PROGRAM_DIR"))))


@functools.lru_cache(4096)
def _times(sizes: tuple[tuple[str, int], ...], pipeline_bytes: int, collectives: tuple[Collective, ...],
           world_size: int, machine: Machine, variables: tuple[tuple[str, str], ...]) -> dict[Collective, float]:
    header = [*sizes, ("vpp", 1), ("ga", 1), ("all_gpus", world_size), ("pp_comm", pipeline_bytes)]
    text = simai_text.text(header, [Row(f"c{number}", forward=collective) for number,
                                    collective in enumerate(collectives)])
    found: dict[Collective, float] = {}
    with tempfile.TemporaryDirectory(prefix="collectives-") as directory:
        path = pathlib.Path(directory, "collectives.txt")
        path.write_text(text, encoding="utf-8")
        run_program([find_program("SimAI_analytical"), *map(str, ("-w", path, "-g", world_size, "-r_f", directory,
            "--quiet", "-pp_o", 0, *machine.flags()))], dict(variables))
        with open(pathlib.Path(directory, "collectives.csv"), newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                key = PIPELINE if row["op"] == "SendRecv" else collectives[int(row["layer"][1:])]
                found[key] = max(found.get(key, 0.0), float(row["end_ns"]) - float(row["start_ns"]))
    return found


def of_groups(plan: Parallelism, pipeline_bytes: int, collectives: Iterable[Collective], machine: Machine,
              engine: Mapping[str, str] = {}) -> dict[Collective, float]:
    """@param engine variables of an engine that serves @return nanoseconds of collectives and the pipeline's message"""
    # Without a collective there is still the pipeline's message.
    asked = tuple(sorted(collectives, key=dataclasses.astuple)) or (Collective("ALLREDUCE", "TP", 1),)
    return _times(tuple(simai_text.sizes(plan)), pipeline_bytes, asked, plan.world_size, machine, _variables(engine))


def _of_copies(plan: Parallelism, collectives: Iterable[Collective], machine: Machine) -> dict[Collective, float]:
    """@return nanoseconds of hybrid sharding's collectives: those of ranks that hold one copy together, and those
    between copies"""
    copy = dataclasses.replace(plan, world_size=plan.tp * plan.shards, pp=1, virtual=1, split=pipeline.Split(),
                               copies=1)
    found = of_groups(copy, 0, [each for each in collectives if each.group in ("DP", "DP_EP")], machine)
    # Ranks at the same place of all copies are as far apart as a copy has ranks.
    between = Parallelism(plan.world_size // plan.pp, tp=plan.tp * plan.shards)
    renamed = {dataclasses.replace(each, group="DP"): each for each in collectives if each.group == "DP_COPIES"}
    times = of_groups(between, 0, renamed, machine)
    return {**found, **{theirs: times[ours] for ours, theirs in renamed.items()}}


class CollectiveTimes:
    """Nanoseconds of an iteration's collectives on a machine, from runs of SimAI_analytical."""

    def __init__(self, iteration: "Iteration", machine: Machine, collectives: Iterable[Collective]) -> None:
        """@param collectives Collectives that will be asked for"""
        wanted = {c for c in collectives if c.op != "NONE" and c.bytes > 0}
        apart = {c for c in wanted if c.group.startswith("DP")} if iteration.plan.copies > 1 else set()
        self.found = dict(of_groups(dataclasses.replace(iteration.plan, copies=1), iteration.pipeline_bytes,
                                    wanted - apart, machine))
        self.found.update(_of_copies(iteration.plan, apart, machine) if apart else {})
        tied, exposed = iteration.tied_bytes, {group: 1 - share for group, share in machine.hidden}
        shared = machine.contention or NO_CONTENTION
        # The ends of a pipeline exchange gradients.
        self.tied_ns = (of_groups(iteration.plan, tied, (), machine).get(PIPELINE, 0.0)
                        + shared.extra_ns(iteration.plan, PIPELINE, tied)) if tied else 0.0
        for each, alone in self.found.items():
            more = shared.extra_ns(iteration.plan, each, iteration.pipeline_bytes if each == PIPELINE else each.bytes)
            self.found[each] = (alone + more) * exposed.get(each.group, 1.0)

    def __call__(self, collective: Collective) -> float:
        return self.found.get(collective, 0.0) if collective.op != "NONE" else 0.0

    @property
    def pipeline_ns(self) -> float:
        """Time of a stage's message to the next for a micro-batch."""
        return self.found.get(PIPELINE, 0.0)
