# SPDX-License-Identifier: GPL-2.0-only
"""Plans as their framework carries them out, simulated on a topology."""
import dataclasses
import os
import pathlib
from collections.abc import Sequence

from clustersim.simulation import find_program, run_program
from clustersim.workload.estimate import overlapped, plans
from clustersim.workload.estimate.collective_times import Machine
from clustersim.workload.kernels import gpus
from clustersim.workload.kernels.frameworks import Framework
from clustersim.workload.planning import search
from clustersim.workload.training import megatron
from clustersim.workload.write import simai_text

# How a network of a kind simulates an iteration, which repeats itself; formulas do so by themselves.
REUSE = {"packet": ("--fidelity", "auto"), "flow": ("--fast-forward",), "analytical": ()}


def collective_machine(machine: plans.Machine, gpu: gpus.Gpu) -> Machine:
    """@return the machine of collectives whose links are those of a plan's"""
    return Machine(gpu.name, machine.gpus_per_server, machine.nic, nvlink_gbps=machine.nvlink)


def write(iteration: megatron.Iteration, machine: plans.Machine, framework: Framework | None,
          path: os.PathLike) -> None:
    """Writes an iteration's workload, with what the framework overlaps if there is one."""
    written: simai_text.Written = iteration
    if framework:
        written = overlapped.Iteration(iteration, collective_machine(machine, iteration.gpu), framework)
    simai_text.write(written, path)


@dataclasses.dataclass(frozen=True)
class Simulator:
    """How workloads are simulated."""
    network: str
    conf: str | None
    programs: str | None  # their directory
    time_limit: float  # seconds

    def run(self, workload: os.PathLike, topology: os.PathLike | str, result: pathlib.Path,
            flags: Sequence[str] | None = None) -> float:
        """
        @param flags instead of those that reuse what repeats
        @return nanoseconds of the workload
        @raise subprocess.TimeoutExpired beyond the limit
        """
        words: list[str | os.PathLike] = [find_program("SimAI_simulator", self.programs), "-w", workload, "-n",
                                          os.fspath(topology), *(["-c", self.conf] if self.conf else []), "-o", result,
                                          "--network", self.network, "--quiet", "--progress", "never"]
        run_program([*words, *(REUSE[self.network] if flags is None else flags)], timeout=self.time_limit)
        return search.read_summary(result / "EndToEnd.csv")[0]
