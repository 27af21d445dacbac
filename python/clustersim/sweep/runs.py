# SPDX-License-Identifier: GPL-2.0-only
"""The runs of a grid: their commands, and which of them are already complete."""
import contextlib
import dataclasses
import functools
import hashlib
import io
import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from clustersim import command
from clustersim.errors import InputError
from clustersim.required_modules import require
from clustersim.sweep.grid import Case, Grid
from clustersim.sweep.supervisor import Job, Request

PACKAGES = pathlib.Path(__file__).resolve().parents[2]
RECORD = "sweep.json"  # in each run's directory: what the sweep asked for


@dataclasses.dataclass
class Run:
    """A run of a sweep: its command, and the request that its results must fit to count as complete."""
    case: Case
    directory: pathlib.Path
    command: list[str]
    request: Request

    @property
    def name(self) -> str:
        """The name of the run's directory"""
        return self.case.name


def generate_topologies(grid: Grid, output: pathlib.Path) -> dict[str, pathlib.Path]:
    """Writes the topologies that the grid wants generated. @return the file of each by its name"""
    files = {}
    for choice in {case.topology: None for case in grid.cases}:
        if choice.file:
            files[choice.name] = choice.file
            continue
        # A directory for each: names of generated files do not tell all that flags may change.
        directory = output / "topologies" / choice.name
        directory.mkdir(parents=True, exist_ok=True)
        for file in filter(pathlib.Path.is_file, directory.iterdir()):
            file.unlink()  # of an earlier sweep, maybe of other flags
        try:
            files[choice.name] = directory / _generate(choice.generate, directory)
        except InputError as error:
            raise InputError(f"{grid.path}:{choice.line}: topology '{choice.name}', {' '.join(choice.generate)}: "
                             f"{error}") from None
    return files


def _generate(flags: Sequence[str], directory: pathlib.Path) -> str:
    """Runs the generator in this process: to start Python costs a hundred times as much as a topology.
    @return the name of the file @raise InputError"""
    require("networkx", "yaml")  # only here: sweeps of files need neither
    from clustersim.topology.generator import command_line

    printed, complaint = io.StringIO(), io.StringIO()
    with contextlib.chdir(directory), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaint):
        try:
            status: object = command_line.main(list(flags), "")
        except SystemExit as ended:
            status = ended.code
    if status or not printed.getvalue().strip():
        raise InputError(complaint.getvalue().strip().removeprefix(f"{command.name()}: ") or
                         "makes no topology; expected flags of one")
    return printed.getvalue().strip().splitlines()[-1]


@functools.lru_cache(maxsize=None)
def sha256(path: str | os.PathLike) -> str:
    """@return the checksum of a file in hexadecimal digits, computed once @raise OSError"""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def make_runs(grid: Grid, output: pathlib.Path, topologies: Mapping[str, pathlib.Path]) -> list[Run]:
    """@return the Runs of a grid, in its order"""
    runs = []
    for case in grid.cases:
        directory = output / "runs" / case.name
        inputs = {"workload": case.workload.file, "topology": topologies[case.topology.name]}
        arguments = ["-w", inputs["workload"], "-n", inputs["topology"]]
        if case.conf.file:
            inputs["configuration"] = case.conf.file
            arguments += ["-c", case.conf.file]
        options = [word for key, value in case.conf.settings for word in ("--set", f"{key}={value}")]
        options += [*case.workload.flags, *case.network.flags, *grid.flags]
        request: Request = {"program": sha256(grid.program), "options": options, "environment": dict(case.env.settings),
                            "inputs": {role: sha256(path) for role, path in inputs.items()}}
        command = [grid.program.resolve(), *arguments, *options, "--progress", "never", "-o", directory]
        runs.append(Run(case, directory, [str(word) for word in command], request))
    return runs


def why_incomplete(run: Run, any_build: bool = False) -> str:
    """@return why the run has to be done (again), or an empty string when it is complete"""
    try:
        request = json.loads((run.directory / RECORD).read_text(encoding="utf-8"))
        record = json.loads((run.directory / "run.json").read_text(encoding="utf-8"))
        status, inputs = record["status"], [(i["path"], i["sha256"]) for i in record["inputs"]]
    except FileNotFoundError:
        return "not run yet"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "its record is cut off"
    if status != "finished":
        return f"its status is '{status}'"
    for key, value in run.request.items():
        if request.get(key) != value and not (key == "program" and any_build):
            return f"its {key} changed"
    # The record also lists what a conf names, such as a file of background flows.
    for path, digest in inputs:
        if not pathlib.Path(path).is_file() or sha256(path) != digest:
            return f"its input {path} changed"
    return why_results_are_not_whole(run.directory, record)


def why_results_are_not_whole(directory: pathlib.Path, record: Mapping[str, Any]) -> str:
    """@return what is wrong with the files that a finished run has left, or an empty string"""
    for name in record.get("outputs", []):
        if not (directory / name).is_file():
            return f"its result {name} is missing"
    for path in directory.glob("EndToEnd*.csv"):
        lines = path.read_bytes().splitlines(keepends=True)
        if not lines or not (lines[-1].startswith(b"total exposed comm,") and lines[-1].endswith(b"\n")):
            return f"its result {path.name} is cut off"
    return ""


def make_job(run: Run, output: pathlib.Path, memory_bytes: float, time_limit_s: float) -> Job:
    """@return all that clustersim.sweep.supervisor needs to do the run, wherever it does it"""
    return {"directory": str(run.directory), "command": run.command, "environment": run.request["environment"],
            "request": run.request, "memory_bytes": memory_bytes, "time_limit_s": time_limit_s,
            "outcome": str(output / "outcomes" / f"{run.name}.json")}
