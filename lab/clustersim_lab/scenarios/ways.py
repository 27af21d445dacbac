# SPDX-License-Identifier: GPL-2.0-only
"""Every way to simulate a scenario comes to the same results."""
import csv
import functools
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from clustersim.simulation import environment
from clustersim_lab.scenarios.checks import Failed, Refused, checking_options, in_its_folder, require
from clustersim_lab.scenarios.wide import WideScenario

TIME_LIMIT_S = 120
MPIRUN = ("mpirun", "--oversubscribe", "--bind-to", "none", "-np")
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Keys of run.json about the simulated world.
FIGURES = ("status", "simulated_ns", "packets", "packet_hops", "drops", "pauses", "paused_ns", "cnps", "timeouts",
           "retransmitted_bytes", "collectives", "flows", "background_flows")
# With --check; what ties do is chance.
SIMULATED_TIME = 1.25
EXACT = 0.001


def command(scenario: WideScenario, programs: pathlib.Path, output: str, flags: Sequence[str] = (),
            processes: int = 0) -> list[str]:
    """@return the command that runs a scenario in its directory, with env for its environment"""
    words = ["env", *(f"{name}={value}" for name, value in scenario.environment)] if scenario.environment else []
    words += [*MPIRUN, str(processes)] if processes else []
    common = ["-n", "topology", "-c", "conf", "-o", output, "--max-sim-time", "100ms", *flags]
    if not scenario.has_workload:
        return [*words, str(programs / "qbb-flows"), "-f", "flows", "--set", f"SEED={scenario.seed}", *common]
    words += [str(programs / "SimAI_simulator"), "-w", "workload", "--seed", str(scenario.seed)]
    if scenario.flows:
        words += ["--background-flows", "flows"]
    for flag, value in scenario.flags:
        words += [flag] if value is None else [flag, str(value)]
    return [*words, *common]


def _of_program(text: str) -> list[str]:
    """@return what the programs say on stderr, without what mpirun and the sanitizers add"""
    without_boxes = re.sub(r"-{60,}\n.*?-{60,}\n", "", text, flags=re.DOTALL)
    return [line for line in without_boxes.splitlines() if line
            and not re.match(r"mpirun|\[[^ ]+:\d+\]|warning: ", line)]


class Outcome:
    """Results and messages of a run."""

    def __init__(self, directory: pathlib.Path, status: int, said: list[str], told: str, cpu_s: float) -> None:
        self.status = status
        self.cpu_s = cpu_s
        self.said = said
        self.stays_on_one_thread = "runs on one thread, as" in told
        self.files: dict[str, bytes] = {}
        self.figures: dict[str, dict[str, Any]] = {}
        for path in sorted(directory.rglob("*")):
            if path.name == "passes.json":  # names the command that made them
                continue
            if path.is_file() and path.name != "run.json":
                self.files[str(path.relative_to(directory))] = path.read_bytes()
            elif path.is_file():
                record = json.loads(path.read_text(encoding="utf-8"))
                self.figures[str(path.relative_to(directory))] = {name: record.get(name) for name in FIGURES}

    def rows(self, name: str) -> list[dict[str, str]]:
        """@return the rows of a CSV file by column @raise KeyError if the run wrote no such file"""
        return list(csv.DictReader(io.StringIO(self.files[name].decode())))

    def figure(self, name: str) -> Any:
        """@return a key of run.json, of FIGURES; None without a record or such a key"""
        return self.figures.get("run.json", {}).get(name)


def _wait(process: subprocess.Popen[str], command_line: str) -> float:
    """@return the CPU seconds that a process and those that it waited for have used"""
    end = time.monotonic() + TIME_LIMIT_S
    while time.monotonic() < end:
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
        if ended:
            process.returncode = os.waitstatus_to_exitcode(status)
            return used.ru_utime + used.ru_stime
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)  # with the processes that mpirun has started
    raise Failed("ends", f"{command_line}: not done after {TIME_LIMIT_S} s")


def execute(scenario: WideScenario, programs: pathlib.Path, directory: pathlib.Path, flags: Sequence[str],
            processes: int = 0) -> Outcome:
    """Runs a scenario. @param processes of mpirun; 0: without it @raise Failed if it hangs or crashes"""
    output = "out"
    shutil.rmtree(directory / output, ignore_errors=True)
    arguments = command(scenario, programs, output, flags, processes)
    with tempfile.TemporaryFile("w+") as told, tempfile.TemporaryFile("w+") as said:
        with subprocess.Popen(arguments, cwd=directory, stdout=told, stderr=said, text=True, start_new_session=True,
                              env=environment(MPI_ENVIRONMENT | checking_options(is_first=False))) as process:
            cpu_s = _wait(process, shlex.join(arguments))
        for file in (told, said):
            file.seek(0)
        texts = told.read(), said.read()
    require(process.returncode in (0, 1, 2), "ends",
            f"{shlex.join(arguments)}: exit status {process.returncode}: {texts[1][-500:]}")
    return Outcome(directory / output, process.returncode, _of_program(texts[1]), texts[0], cpu_s)


def _require_same(first: Outcome, second: Outcome, ways: str) -> None:
    require(second.status == first.status, "same status",
            f"{ways}: {first.status} {first.said[:2]} and {second.status} {second.said[:2]}")
    require(second.said == first.said, "same messages", f"{ways}: {first.said[:3]} and {second.said[:3]}")
    require(second.figures == first.figures, "same figures", f"{ways}: " + "; ".join(
        f"{name} {key}: {value} and {second.figures.get(name, {}).get(key)}" for name, figures in first.figures.items()
        for key, value in figures.items() if second.figures.get(name, {}).get(key) != value))
    names = sorted(name for name in first.files.keys() | second.files.keys()
                   if first.files.get(name) != second.files.get(name))
    require(not names, "same bytes", f"{ways}: {', '.join(names)}")


def _check_flows(scenario: WideScenario, outcome: Outcome) -> None:
    """All data that was asked for has arrived, once."""
    if scenario.has_workload or outcome.status:
        return
    done: dict[tuple[int, int], int] = {}
    for line in outcome.files["fct.txt"].decode().splitlines():
        source, destination, *_, size, _, _, _ = line.split()
        pair = (int(source, 16) >> 8 & 0xffff, int(destination, 16) >> 8 & 0xffff)
        done[pair] = done.get(pair, 0) + int(size)
    asked: dict[tuple[int, int], int] = {}
    for sender, receiver, _, wanted, _ in scenario.flows:
        asked[sender, receiver] = asked.get((sender, receiver), 0) + wanted
    require(done == asked, "every flow once", f"{done} and not {asked}")


def _check_links(scenario: WideScenario, outcome: Outcome) -> None:
    """Checks that hosts receive as many bytes as they send. Skips networks that lose or add bytes, and workloads, which
    end while acknowledgements are under way."""
    if (scenario.has_workload or outcome.status or not scenario.is_lossless or outcome.figure("pauses")
        or outcome.figure("timeouts") or outcome.figure("drops")
            or dict(scenario.conf).get("IN_NETWORK_REDUCTION") or dict(scenario.conf).get("CC_MODE", 1) in (3, 10)
            or {"NIC_TOTAL_PAUSE_TIME", "LINK_CREDITS", "LINK_RETRY"} & dict(scenario.conf).keys()
            or "links.csv" not in outcome.files):
        return  # telemetry grows on its way, and links have answers of their own
    gpus = scenario.gpus
    special = {*scenario.nvswitches()}
    sent = sum(int(row["tx_bytes"]) for row in outcome.rows("links.csv") if int(row["node"]) < gpus
               and int(row["peer"]) not in special)
    came = sum(int(row["tx_bytes"]) for row in outcome.rows("links.csv") if int(row["peer"]) < gpus
               and int(row["node"]) not in special)
    require(sent == came, "bytes are conserved", f"hosts have sent {sent} bytes, and {came} have come to hosts")


def _rows(outcome: Outcome, name: str, columns: Sequence[str]) -> list[tuple[str, ...]]:
    if name not in outcome.files:
        return []
    return sorted(tuple(row[column] for column in columns) for row in outcome.rows(name))


def require_same_work(one: Outcome, other: Outcome, way: str) -> None:
    """@raise Failed unless both runs have the same collectives @param way the words for the second run"""
    columns = ("layer", "pass", "phase", "group", "ranks", "op", "bytes", "algorithm", "protocol", "channels", "flows")
    require(_rows(one, "collectives.csv", columns) == _rows(other, "collectives.csv", columns),
            f"{way} has the same collectives", "collectives.csv")


def _require_similar(one: Outcome, other: Outcome, way: str) -> None:
    """Events of the same picosecond come in another order: symmetric traffic has other rows first, and other frames
    where two meet."""
    require(one.status == other.status, f"{way} ends as without it",
            f"{one.status} {one.said[:2]} and {other.status} {other.said[:2]}")
    if one.status:
        return
    require_same_work(one, other, way)
    flows = [sorted((row.split()[0], row.split()[1], row.split()[4])
                    for row in outcome.files.get("fct.txt", b"").decode().splitlines())
             for outcome in (one, other)]
    require(flows[0] == flows[1], f"{way} has the same flows", "fct.txt")
    if "run.json" in one.figures and not any(outcome.figure(name) for name in ("drops", "timeouts", "cnps", "pauses")
                                             for outcome in (one, other)):
        ratio = other.figure("simulated_ns") / max(one.figure("simulated_ns"), 1)
        require(1 / SIMULATED_TIME <= ratio <= SIMULATED_TIME, f"{way} takes about as long",
                f"{one.figure('simulated_ns')} and {other.figure('simulated_ns')} ns")


def _paths_do_not_matter(scenario: WideScenario) -> bool:
    """@return whether there is one path only between two hosts, so that a connection's number does not choose"""
    words = scenario.cluster
    kind = words[words.index("-topo") + 1]
    if "-nsps" in words or "--nics_per_gpu" in words or "-csn" in words:
        return False
    return kind == "RailOnly" or (kind in ("Spectrum-X", "DCN-SingleToR", "NVL36")
                                  and words[words.index("-psn") + 1] == "1")


def _repeats_exactly(scenario: WideScenario, outcome: Outcome) -> bool:
    """@return whether --fast-forward=exact is documented to give the results of the whole run"""
    conf = dict(scenario.conf)
    return (scenario.has_workload and not outcome.status and scenario.is_lossless and not scenario.flows
            and not scenario.flags
            and not any(outcome.figure(name) for name in ("drops", "timeouts", "cnps", "pauses"))
            and conf.get("CC_MODE", 1) in (0, 1) and conf.get("ROUTING", "ecmp") == "ecmp"
            and not {"IN_NETWORK_REDUCTION", "NIC_TOTAL_PAUSE_TIME"} & conf.keys() and _paths_do_not_matter(scenario))


def _check_exact(one: Outcome, forward: Outcome) -> None:
    """Times are those of the whole run but for what fast-forward.rst says: acknowledgements, and events in one
    picosecond."""
    require(forward.status == 0, "--fast-forward=exact is exact", f"status {forward.status}: {forward.said[:2]}")
    require_same_work(one, forward, "--fast-forward=exact")
    times = one.figure("simulated_ns"), forward.figure("simulated_ns")
    require(abs(times[1] / times[0] - 1) < EXACT, "--fast-forward=exact is exact", f"{times[0]} and {times[1]} ns")


def _check_ways(scenario: WideScenario, run: Callable[..., Outcome], has_mpi: bool) -> None:
    one = run(())
    if one.status == 2:
        raise Refused(one.said[0])
    _require_similar(one, run(("--check",)), "--check")
    _check_flows(scenario, one)
    _check_links(scenario, one)
    _require_same(one, run(("-t", "1")), "without -t, -t 1")
    two = run(("-t", "2"))
    _require_same(one, two, "without -t, -t 2")
    if not two.stays_on_one_thread:
        _require_same(one, run(("-t", "2", "--ns3::RdmaFabric::Partitions=3")), "without -t, 3 partitions")
    if has_mpi:
        count = 2 + scenario.seed % 2
        several = run(("-t", str(4 - count)), processes=count)
        if several.status == 2:
            is_of_one_process = "in one process" in several.said[0] and (
                two.stays_on_one_thread or "--separate-passes" in several.said[0])
            # Both ends of a link forget at once what they have sent when it fails.
            forgets = {"LINK_RETRY", "LINK_CREDITS"} & dict(scenario.conf).keys() and scenario.events
            require(is_of_one_process or (forgets and "a link that fails cannot be in different" in several.said[0]),
                    "several processes are possible where threads are", str(several.said))
        else:
            _require_same(one, several, f"without -t, {count} processes")
    if _repeats_exactly(scenario, one):
        _check_exact(one, run(("--fast-forward=exact",)))


@in_its_folder
def check(scenario: WideScenario, programs: pathlib.Path, directory: pathlib.Path) -> None:
    """Runs a scenario in every way. @raise Refused if it cannot be run"""
    has_mpi = bool(shutil.which("mpirun")) and (programs / "simai-mpi.so").exists()
    _check_ways(scenario, functools.partial(execute, scenario, programs, directory), has_mpi)
