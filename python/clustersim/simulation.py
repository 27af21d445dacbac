# SPDX-License-Identifier: GPL-2.0-only
"""Runs SimAI_simulator and returns its results.

    from clustersim import simulate
    run = simulate("workloads/microAllReduce_16g.txt", "Spectrum-X_16g_8gps_400Gbps_H100",
                   conf="conf/SimAI.conf", output="results/api", network="flow")
    print(run.collectives["busbw"].max())
"""
from __future__ import annotations

import math
import os
import pathlib
import shutil
import subprocess
import time
import typing
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clustersim import notices, progress

if TYPE_CHECKING:
    from clustersim.results import Run

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]


WARNING = "warning: "


class SimulationError(Exception):
    """The simulator refused an input (status 2) or did not finish; the text is what it printed, but for warnings."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class SimulationWarning(UserWarning):
    """A warning of the simulator, such as a variable that has no effect."""


def environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """@return this environment, where none but the given variables choose how things are simulated"""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AS_", "NCCL_"))}
    return clean | dict(variables or {})


def find_program(name: str = "SimAI_simulator", directory: os.PathLike | str | None = None) -> pathlib.Path:
    """Finds a program: in the directory given, else in the one PROGRAM_DIR names, else in bin/ of this checkout or on
    the PATH.

    @raise FileNotFoundError if it is not there; one that somebody named is not replaced by another
    """
    expected = "expected the program that scripts/build.sh -c all builds"
    if not (CHECKOUT / "scripts/build.sh").is_file():  # installed by pip, which brings no programs
        expected += " in a checkout, whose bin/ the variable PROGRAM_DIR names; or the Debian package cluster-sim"
    named = directory or os.environ.get("PROGRAM_DIR")
    program = pathlib.Path(named or CHECKOUT / "bin") / name
    if program.is_file() and os.access(program, os.X_OK):
        return program
    if named:
        raise FileNotFoundError(f"{program}: no such program; {expected}")
    if found := shutil.which(name):
        return pathlib.Path(found)
    raise FileNotFoundError(f"{name}: not in bin/ and not on the PATH; {expected}")


def command_line(workload: os.PathLike | str, topology: os.PathLike | str, *, output: os.PathLike | str,
                 conf: os.PathLike | str | None = None, program: os.PathLike | str | None = None,
                 **flags: object) -> list[str]:
    """@return the words of the command that simulate() runs; see there"""
    words = [str(program or find_program()), "-w", os.fspath(workload), "-n", os.fspath(topology), "-o",
             os.fspath(output), "-q"]
    if conf is not None:
        words += ["-c", str(conf)]
    return words + flag_words({name.replace("_", "-"): value for name, value in flags.items()})


def flag_words(flags: Mapping[str, object]) -> list[str]:
    """@return the words of flags by name: True is the flag alone; None and False leave it out; a list is many"""
    words = []
    for name, value in flags.items():
        if value is True:
            words.append(f"--{name}")
        elif isinstance(value, (list, tuple)):
            words += [f"--{name}", *map(str, value)]
        elif isinstance(value, os.PathLike):
            words += [f"--{name}", os.fspath(value)]
        elif value is not None and value is not False:
            words += [f"--{name}", str(value)]
    return words


def run_program(words: Sequence[os.PathLike | str], environment: Mapping[str, str] | None = None,
                timeout: float | None = None) -> list[str]:
    """Runs a program of this project to its end. Each minute, standard error gets a line with its progress.

    @param environment variables in addition to those of this process
    @param timeout seconds after which it is ended, with subprocess.TimeoutExpired
    @return what it warned of, a line each, without "warning: "
    @raise SimulationError if it ends with another status than 0
    """
    with subprocess.Popen(words, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            lines = _watched(process, timeout).strip().splitlines()
        except BaseException:  # also a signal
            process.kill()
            raise
    if process.returncode != 0:
        said = [line for line in lines if not line.startswith(WARNING)]
        raise SimulationError("\n".join(said) or f"{words[0]} ended with status {process.returncode}",
                              process.returncode)
    return [line.removeprefix(WARNING) for line in lines if line.startswith(WARNING)]


def _watched(process: subprocess.Popen[str], timeout: float | None) -> str:
    """Says each minute how far a program is. @return standard error, once it has ended @raise TimeoutExpired"""
    words = [os.fspath(word) for word in typing.cast(Sequence[str | os.PathLike[str]], process.args)]
    output = next((words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-o", "-r_f")), None)
    minutes, end = progress.Minutes(), math.inf if timeout is None else time.monotonic() + timeout
    while True:
        left = end - time.monotonic()
        try:
            return process.communicate(timeout=max(0.0, min(left, minutes.left())))[1]
        except subprocess.TimeoutExpired:
            if time.monotonic() >= end:
                raise subprocess.TimeoutExpired(process.args, timeout or 0) from None
        if minutes.is_over():
            said = progress.of_run(output) if output else ""
            notices.remark(f"{pathlib.Path(words[0]).name}{f' {output}' if output else ''}: {said or 'under way'}")


def simulate(workload: os.PathLike | str, topology: os.PathLike | str, *, output: os.PathLike | str,
             conf: os.PathLike | str | None = None, program: os.PathLike | str | None = None,
             environment: Mapping[str, str] | None = None, **flags: object) -> Run:
    """Simulates a workload on a topology and opens the results.

    @param workload, topology, conf files, as for the program's -w, -n and -c
    @param output directory of the results, as for -o
    @param program the program; else find_program()
    @param environment variables in addition to those of this process, such as {"NCCL_ALGO": "Ring"}
    @param flags further flags by name: network="flow" is --network flow, seed=7 is --seed 7; True is the flag
        alone; None and False leave it out
    @return the run, as clustersim.results.open_run() gives it
    @raise SimulationError if the program ends with another status than 0. What it warns of is a SimulationWarning each.
    """
    from clustersim.results import open_run

    words = command_line(workload, topology, output=output, conf=conf, program=program, **flags)
    for warning in run_program(words, environment):
        warnings.warn(warning, SimulationWarning, stacklevel=2)
    return open_run(output)
