# SPDX-License-Identifier: GPL-2.0-only
"""The runs of a grid: their commands, and which of them are already complete."""
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import subprocess

from clustersim.sweep.errors import InputError
from clustersim.sweep.processes import Task
from clustersim.whole_file import write_text

GENERATOR = pathlib.Path(__file__).resolve().parents[3] / "topologies/gen_Topo_Template.py"
RECORD = "sweep.json"  # in each run's directory: what the sweep asked for


@dataclasses.dataclass
class Run:
    case: object
    directory: pathlib.Path
    task: Task
    request: dict  # what decides the result: arguments, variables, checksums


def generate_topologies(grid, output):
    """Writes the topologies that the grid wants generated. @return the file of each by its name"""
    files = {}
    for choice in {case.topology for case in grid.cases}:
        if choice.file:
            files[choice.name] = choice.file
            continue
        # A directory for each: names of generated files do not tell all that flags may change.
        directory = output / "topologies" / choice.name
        directory.mkdir(parents=True, exist_ok=True)
        for file in filter(pathlib.Path.is_file, directory.iterdir()):
            file.unlink()  # of an earlier sweep, maybe of other flags
        made = subprocess.run([GENERATOR, *choice.generate], cwd=directory, capture_output=True, text=True)
        if made.returncode:
            message = made.stderr.strip().removeprefix("gen_Topo_Template.py: ")
            raise InputError(f"{grid.path}: topology '{choice.name}', {' '.join(choice.generate)}: {message}")
        files[choice.name] = directory / made.stdout.strip().splitlines()[-1]
    return files


@functools.lru_cache(maxsize=None)
def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def make_runs(grid, output, topologies):
    """@return the Runs of a grid, in its order"""
    # Variables that choose how things are simulated come from the grid, not from who happens to start it.
    inherited = {name: value for name, value in os.environ.items()
                 if not name.startswith(("AS_", "NCCL_"))}
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
        variables = dict(case.env.settings)
        request = {"program": sha256(grid.program), "options": options, "environment": variables,
                   "inputs": {role: sha256(path) for role, path in inputs.items()}}
        task = Task(case.name,
                    [grid.program.resolve(), *arguments, *options, "--progress", "never", "-o", directory],
                    inherited | variables, directory / "output.txt")
        runs.append(Run(case, directory, task, request))
    return runs


def why_incomplete(run, any_build=False):
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


def why_results_are_not_whole(directory, record):
    """@return what is wrong with the files that a finished run has left, or an empty string"""
    for name in record.get("outputs", []):
        if not (directory / name).is_file():
            return f"its result {name} is missing"
    for path in directory.glob("EndToEnd*.csv"):
        lines = path.read_bytes().splitlines()
        if not lines or not lines[-1].startswith(b"total exposed comm,"):
            return f"its result {path.name} is cut off"
    return ""


def prepare(run):
    """Makes the run's directory, without what an earlier attempt left in it."""
    run.directory.mkdir(parents=True, exist_ok=True)
    for file in run.directory.iterdir():
        if file.is_file():
            file.unlink()
    write_text(run.directory / RECORD, json.dumps(run.request, indent=2) + "\n")
