# SPDX-License-Identifier: GPL-2.0-only
"""Starts SimAI_phynet by mpirun."""
import os
import re
import subprocess
from collections.abc import Mapping, Sequence

from clustersim import simulation
from clustersim.simulation import command_line, find_program

# tcp sends messages as large as NCCL's steps at once. With a rendezvous, data would wait for a request and an answer
# behind the data that the same connection carries in the other direction.
TCP_VARIABLES = {"FI_OFI_RXM_BUFFER_SIZE": "600000", "FI_OFI_RXM_MSG_RX_SIZE": "64", "FI_OFI_RXM_MSG_TX_SIZE": "64"}


class PhysicalError(Exception):
    """SimAI_phynet failed (status 1) or refused an input (2); the text is what it printed, without mpirun's words."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """@return this environment, with which mpirun starts also for root, without settings of NCCL"""
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    return TCP_VARIABLES | simulation.environment(as_root) | dict(changes or {})


def phynet_words(workload: str | os.PathLike, topology: str | os.PathLike, output: str | os.PathLike,
                 **flags: object) -> list[str]:
    """@return the words that run SimAI_phynet @param flags of it, by name as for simulate()"""
    # Not resolve(), which fails on a link that leads to itself.
    workload, topology, output = (os.path.abspath(path) for path in (workload, topology, output))
    return command_line(workload, topology, output=output, conf=None, program=find_program("SimAI_phynet"), **flags)


def words_of_ranks(stderr: str) -> str:
    """@return what ranks printed, each line once. mpirun's words stand between rules: its first words if there are no
    others"""
    ranks, *mpirun = re.split(r"^-{20,}\n", stderr, flags=re.MULTILINE)
    lines = "\n".join([ranks, *mpirun[1::2]]).splitlines()
    said = "\n".join(dict.fromkeys(line for line in lines if line.strip()))
    return said or (f"mpirun: {' '.join(mpirun[0].split())}" if mpirun else "")


def require_success(result: subprocess.CompletedProcess[str], words: Sequence[str]) -> None:
    """@param result of a process @param words that started it @raise PhysicalError if it failed"""
    if result.returncode:
        status = 2 if result.returncode == 2 else 1
        raise PhysicalError(words_of_ranks(result.stderr) or f"{' '.join(words)}: status {result.returncode}", status)


def run(ranks: int, workload: str | os.PathLike, topology: str | os.PathLike, output: str | os.PathLike,
        variables: Mapping[str, str] | None = None, timeout: float = 1800, mpirun: Sequence[str] = (),
        **flags: object) -> None:
    """Runs ranks where mpirun puts them: on this machine. @param mpirun further words for it @raise PhysicalError"""
    words = ["mpirun", "--oversubscribe", "--bind-to", "none", *mpirun, "-np", str(ranks),
             *(word for name in variables or {} if mpirun for word in ("-x", name)),
             *phynet_words(workload, topology, output, **flags)]
    require_success(subprocess.run(words, env=environment(variables), capture_output=True, text=True, timeout=timeout,
                                   check=False), words)
