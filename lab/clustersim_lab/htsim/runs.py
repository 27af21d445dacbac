# SPDX-License-Identifier: GPL-2.0-only
"""Runs a case in htsim and here, and reads when its flows end."""
import dataclasses
import os
import pathlib
import re
import statistics
import subprocess
from collections.abc import Callable, Sequence

from clustersim import input_file
from clustersim.errors import InputError
from clustersim.whole_file import write_text
from clustersim_lab.htsim.cases import MATRICES, SETTINGS, TREES, Case

FINISHED = re.compile(rb"^Flow .* finished at ([0-9.e+]+)", re.MULTILINE)
Words = Sequence[str | os.PathLike]


class NotThere(Exception):
    """Our program has no counterpart of a case."""


@dataclasses.dataclass(frozen=True)
class Ends:
    """When the flows of a case end, in us: means of its runs."""

    flows: int
    median_us: float
    last_us: float
    cpu_s: float  # of one run


def timed(words: Words, folder: pathlib.Path) -> tuple[int, bytes, float]:
    """Runs a program in a folder. @return its status, all that it printed, and its CPU seconds"""
    with open(folder / "log", "w+b") as log:
        try:
            process = subprocess.Popen(words, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
        except OSError as error:
            raise InputError(f"{words[0]}: {error.strerror}; expected a program") from None
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        return process.returncode, log.read(), usage.ru_utime + usage.ru_stime


def written(case: Case, folder: pathlib.Path) -> None:
    """Writes the inputs of a case into a folder, the same for both programs."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "tree.topo", TREES[case.tree])
    write_text(folder / "flows.cm", MATRICES[case.matrix])
    write_text(folder / "run.conf", SETTINGS[case.setting].conf or "")


def ends_of(case: Case, ends_us: list[float], program: str, log: pathlib.Path) -> list[float]:
    """@return the ends of all flows of a case @throw InputError if some have not ended"""
    flows = MATRICES[case.matrix].count("->")
    if len(ends_us) != flows:
        raise InputError(f"{program}: {len(ends_us)} flows of {flows} ended in {case.name}; expected all "
                         f"({log} has its messages)")
    return ends_us


def their_command(case: Case, seed: int) -> tuple[str, ...]:
    """@return the words that run a case in htsim"""
    setting = SETTINGS[case.setting]
    return (setting.program, "-topo", "tree.topo", "-tm", "flows.cm", "-end", str(case.end_us), "-seed", str(seed),
            *setting.arguments)


def theirs(case: Case, seed: int, programs: pathlib.Path, folder: pathlib.Path) -> tuple[list[float], float]:
    """@return the ends of flows in htsim in us, and its CPU seconds"""
    program, *arguments = their_command(case, seed)
    _, output, cpu_s = timed([programs.resolve() / program, *arguments], folder)
    ends_us = [float(match) for match in FINISHED.findall(output)]
    return ends_of(case, ends_us, program, folder / "log"), cpu_s


def ours(case: Case, seed: int, program: pathlib.Path, folder: pathlib.Path) -> tuple[list[float], float]:
    """@return the ends of flows in qbb-flows in us, and its CPU seconds @throw NotThere"""
    if SETTINGS[case.setting].conf is None:
        raise NotThere
    words: Words = [program.resolve(), "run.conf", "-n", "tree.topo", "-f", "flows.cm", "-o", "out", "-q",
                    f"--ns3::SwitchNode::EcmpSeed={seed}", *SETTINGS[case.setting].flags]
    status, output, cpu_s = timed(words, folder)
    if status:
        raise InputError(f"{program}: ended with status {status} in {case.name}: {output.decode(errors='replace')}")
    rows = [line.split() for line in input_file.read_input(folder / "out/fct.txt", "the ends of flows").splitlines()]
    ends_us = [(int(row[5]) + int(row[6])) / 1000 for row in rows]
    return ends_of(case, ends_us, program.name, folder / "log"), cpu_s


def mean(case: Case, run: Callable[[int], tuple[list[float], float]]) -> Ends:
    """@return the means over the runs of a case @param run of a seed: the ends of flows and CPU seconds"""
    found = [run(seed) for seed in case.seeds]
    return Ends(len(found[0][0]), statistics.mean(statistics.median(ends) for ends, _ in found),
                statistics.mean(max(ends) for ends, _ in found), statistics.mean(cpu_s for _, cpu_s in found))
