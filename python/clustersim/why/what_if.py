# SPDX-License-Identifier: GPL-2.0-only
"""What if something were faster? Worked out on the critical path, and confirmed by a run.

A part of the path that is bound by a rate r takes r / (r x factor) of its time if that is higher. The path may then
become another, so what is worked out is an estimate, mostly too high; the run tells.
"""
import dataclasses
import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.results.reading import run_json
from clustersim.results.reading.problem import Problems
from clustersim.simulation import find_program, run_program
from clustersim.why import traces

if TYPE_CHECKING:
    from clustersim.why.machine import Machine
    from clustersim.why.path import Segment
    from clustersim.why.records import Records

RATE_COLUMN = 2
COMPUTE_COLUMNS = (2, 5, 8, 11)
# Roles and options of run.json, and their flags.
INPUT_FLAGS = {"system": "--system-configuration", "communicators": "--comm-group-configuration",
               "logical topology": "--logical-topology-configuration", "remote memory": "--remote-memory-configuration",
               "GPU table": "--gpu-table", "network table": "--network-table", "background flows": "--background-flows"}
OPTION_FLAGS = {"tp": "--tp", "ep": "--ep", "pp": "--pp", "queues_per_dimension": "--num-queues-per-dim",
                "comm_scale": "--comm-scale",
                "injection_scale": "--injection-scale", "gpu_spread": "--gpu-spread", "network_kind": "--network-kind"}


@dataclasses.dataclass(frozen=True)
class Change:
    name: str
    resource: str  # computation, or a carrier


CHANGES = (Change("GPUs", "computation"), Change("NVLink rate", "NVLink"), Change("NIC rate", "NIC"),
           Change("fabric link rate", "fabric"))


def bound_us(segments: "Sequence[Segment]", records: "Records", machine: "Machine") -> dict[str, float]:
    """@return microseconds of the path that each resource is to blame for, and of the rest"""
    bound = {change.resource: 0.0 for change in CHANGES} | {"latency": 0.0}
    for segment in segments:
        if segment.kind in ("compute", "update"):
            bound["computation"] += segment.duration
        elif segment.kind in ("communication", "message"):
            carrier, share = machine.blame(segment, records)
            bound[carrier] += share * segment.duration
            bound["latency"] += (1 - share) * segment.duration
    return bound


def worked_out(bound: Mapping[str, float], total_us: float, factor: float) -> dict[str, float]:
    """@return the relative change of the iteration for each Change"""
    return {change.name: -bound[change.resource] * (1 - 1 / factor) / total_us for change in CHANGES}


def _serves_requests(workload: pathlib.Path) -> bool:
    """@return whether a workload's first word says that it serves requests"""
    with open(workload, encoding="utf-8", errors="replace") as file:
        lines = (line.partition("#")[0].split() for line in file)
        return next((words[0] for words in lines if words), "") in ("INFERENCE", "KV_CACHE")


def _is_replayable(options: Mapping[str, Any]) -> bool:
    """@return whether options of run.json have the types of which command lines are made"""
    texts = [options.get(name, []) for name in ("set", "ns3")]
    return isinstance(options.get("passes"), int) and all(
        isinstance(words, list) and all(isinstance(word, str) for word in words) for words in texts)


class Runner:
    """Repeats a run of SimAI_simulator from its run.json, as it was or changed."""

    def __init__(self, directory: str | os.PathLike, program: str | os.PathLike | None) -> None:
        """@param program None: the one that is found"""
        self.directory = pathlib.Path(directory)
        if not (self.directory / "run.json").is_file():
            raise InputError(f"{directory}: no readable run.json; expected the directory of a run of SimAI_simulator")
        problems = Problems()
        self.record = run_json.read_run_json(self.directory / "run.json", problems)
        if problems:
            raise InputError(str(problems[0]))
        self.program = pathlib.Path(program or find_program())
        if not self.program.is_file():
            raise InputError(f"{program}: no such file; expected SimAI_simulator, which scripts/build.sh -c all builds")
        self.inputs: dict[str, pathlib.Path] = {}
        self.traces: list[pathlib.Path] = []
        for entry in self.record.get("inputs", []):
            places = run_json.places_of(entry["path"], self.record)
            path = next((place for place in places if place.is_file()), places[-1])
            if entry["role"] == "workload" and path.suffix == ".et":
                self._add_trace(path)
                continue
            if entry["role"] in self.inputs:
                raise InputError(f"{directory}: the run had several inputs called {entry['role']}; expected one job")
            self.inputs[entry["role"]] = path
        for role in ("workload", "topology"):
            given = self.inputs.get(role)
            if not given or not given.is_file():
                raise InputError(f"{directory}: its {role} {given or ''} is not a file; expected the run of a SimAI "
                                 f"text workload "
                                 "or of Chakra traces, whose inputs are still there")
        if self.inputs["topology"].suffix in (".yml", ".yaml"):
            raise InputError(f"{directory}: ASTRA-sim's analytical network has no links to explain; expected the run "
                             f"of a topology file")
        if not self.traces and _serves_requests(self.inputs["workload"]):
            raise InputError(f"{directory}: the run served requests, and has no iteration to explain; expected the "
                             f"run of a training "
                             "workload (scripts/analyze_results.py --tables phases says where requests spend their "
                             "time)")
        if self.record.get("status") != "finished":
            raise InputError(f"{directory}: the run is {self.record.get('status')}; expected a finished one")
        missing = [name for name in ("network", "seed", "options", "simulated_ns") if name not in self.record]
        if missing or not _is_replayable(self.record["options"]):
            raise InputError(f"{self.directory / 'run.json'}: {missing[0] if missing else 'options'} cannot be read; "
                             f"expected the record "
                             "of a finished run")
        if self.record.get("network") == "busbw":
            raise InputError(f"{directory}: a run of SimAI_analytical has no ranks to follow; expected one of "
                             f"SimAI_simulator "
                             "(--network analytical is as fast)")

    def _add_trace(self, path: pathlib.Path) -> None:
        """Traces are PREFIX.0.et, PREFIX.1.et, ..., recorded in this order"""
        if not path.name.endswith(f".{len(self.traces)}.et"):
            raise InputError(f"{self.directory}: the run had several workloads; expected one job")
        self.inputs.setdefault("workload", path)
        self.traces.append(path)

    def ranks(self) -> int:
        if self.traces:
            return len(self.traces)
        with open(self.inputs["workload"]) as file:
            header = file.readline().replace(":", " ").split()
        return int(header[header.index("all_gpus") + 1]) if "all_gpus" in header else 1 << 20

    def run(self, output: pathlib.Path, changes: Mapping[str, pathlib.Path] | None = None,
            timeline: bool = False) -> float:
        """Runs into `output` with inputs of `changes` (role: file)"""
        inputs = {**self.inputs, **(changes or {})}
        options = self.record["options"]
        workload = str(inputs["workload"]).removesuffix(".0.et") if self.traces else inputs["workload"]
        command = [self.program, "-w", workload, "-n", inputs["topology"], "-o", output, "--quiet", "--progress",
                   "never", "--network", self.record["network"], "--seed", str(self.record["seed"]), "--passes",
                   str(options["passes"])]
        if "configuration" in inputs:
            command += ["-c", inputs["configuration"]]
        for role, flag in INPUT_FLAGS.items():
            if role in inputs:
                command += [flag, inputs[role]]
        for option, flag in OPTION_FLAGS.items():
            if options.get(option):
                command += [flag, str(options[option])]
        if options.get("rendezvous"):
            command += ["--rendezvous-protocol", "1"]
        for setting in options.get("set", []):
            command += ["--set", setting]
        command += options.get("ns3", [])
        if timeline:
            command += ["--timeline-ranks", str(self.ranks()), "--timeline-limit", str(10 ** 9)]
        environment = {k: str(v) for k, v in options.get("nccl_environment", {}).items()}
        for variable, option in (("AS_NVLS_ENABLE", "nvls"), ("AS_NVLSTREE_ENABLE", "nvls_tree")):
            if not options.get(option, True):
                environment[variable] = "0"
        for variable, role in (("NCCL_TUNER_CONFIG_FILE", "tuner table"), ("AS_MEASURED_FIGURES", "measured figures")):
            if role in inputs:
                environment[variable] = str(inputs[role])
        run_program(command, environment)
        return json.loads((pathlib.Path(output) / "run.json").read_text())["simulated_ns"] / 1000

    def changed(self, change: Change, factor: float, machine: "Machine", directory: pathlib.Path) -> dict[str,
        pathlib.Path]:
        """@return the inputs that `change` by `factor` replaces, written to `directory`: files by role"""
        if change.resource == "computation" and self.traces:
            return self._faster_traces(factor, directory)
        if change.resource == "computation":
            path = directory / "workload.txt"
            path.write_text(_faster_workload(self.inputs["workload"].read_text(), factor))
            return {"workload": path}
        path = directory / "topology"
        path.write_text(_faster_links(self.inputs["topology"].read_text(), factor, change.resource, machine))
        return {"topology": path}

    def _faster_traces(self, factor: float, directory: pathlib.Path) -> dict[str, pathlib.Path]:
        for rank, trace in enumerate(self.traces):
            traces.write_faster(trace, directory / f"faster.{rank}.et", factor)
        changed = {"workload": directory / "faster.0.et"}
        if "system" in self.inputs:
            traces.write_faster_system(self.inputs["system"], directory / "system.json", factor)
            changed["system"] = directory / "system.json"
        return changed


def _faster_workload(text: str, factor: float) -> str:
    lines = text.splitlines()
    result = lines[:2]
    for line in lines[2:]:
        cells = line.split()
        for column in COMPUTE_COLUMNS:
            if len(cells) == 12:
                cells[column] = str(round(float(cells[column]) / factor))
        result.append("\t".join(cells))
    return "\n".join(result) + "\n"


def _faster_links(text: str, factor: float, carrier: str, machine: "Machine") -> str:
    """Multiplies the rates of the links of a kind; the lines of links have five fields, the first two of which are
    nodes."""
    result, header = [], 0
    rates = {(link.a, link.b): link.rate_bps for link in machine.topology.links}
    for line in text.splitlines():
        cells = line.split("#", 1)[0].split()
        header += bool(cells) or header == 1
        if header > 2 and len(cells) == 5 and machine.carrier_of_link(int(cells[0]), int(cells[1])) == carrier:
            cells[RATE_COLUMN] = f"{round(rates[int(cells[0]), int(cells[1])] * factor)}bps"
            line = " ".join(cells)
        result.append(line)
    return "\n".join(result) + "\n"
