# SPDX-License-Identifier: GPL-2.0-only
"""Laws that every run of a scenario obeys, whatever was drawn."""
import csv
import dataclasses
import functools
import json
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from clustersim_lab.scenarios.generate import Scenario

TIME_LIMIT_S = 120
NS_ROUNDING = 1.001  # times of fct.txt are whole nanoseconds
NETWORKS = ("packet", "flow", "analytical")
# Packets pay for whole frames, and for waits that fluids do not have.
PACKETS_TO_FLOWS = (0.9, 1.1)
# Where messages of several senders meet at a port, packets leave in the order in which they come: one sender's message
# is through before the other's, and its next step's latency passes behind the other's data. Fluids share the port and
# end together, and all wait for that latency. With n senders, messages that take T and a latency L, a step takes
# packets max(nT, T + L) and fluids nT + L: no less than n / (2n - 1), which is above a half.
PACKETS_TO_FLOWS_THAT_MEET = (0.5, 1.25)


@dataclasses.dataclass(frozen=True)
class Failure:
    """A check that does not hold."""
    check: str
    text: str
    command: tuple[str, ...] = ()  # that repeats it in the scenario's directory; none: the scenario's own


class Drawn(Protocol):
    """A scenario of any kind, with the files that it is made of."""
    @property
    def name(self) -> str: ...
    @property
    def flows(self) -> Sequence[object]: ...
    @property
    def has_workload(self) -> bool: ...
    def topology(self) -> str: ...
    def configuration(self) -> str: ...
    def flow_file(self) -> str: ...
    def workload(self) -> str: ...


S = TypeVar("S", bound=Drawn)
# Runs a scenario with the programs of one directory in another. Returns what fails, or None.
Check = Callable[[S, str | os.PathLike, str | os.PathLike], Failure | None]


class Refused(Exception):
    """The cluster drawn cannot be built: its buffers do not hold what its ports need."""


class Failed(Exception):
    """Ends the checks of a scenario."""

    def __init__(self, check: str, text: str) -> None:
        super().__init__(text)
        self.failure = Failure(check, text)


def require(condition: object, check: str, text: str) -> None:
    """@raise Failed unless the condition holds @param check the law's name @param text the evidence"""
    if not condition:
        raise Failed(check, text)


def write_inputs(scenario: Drawn, directory: pathlib.Path) -> None:
    """Writes the files that a scenario is made of."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "topology").write_text(scenario.topology(), encoding="utf-8")
    (directory / "conf").write_text(scenario.configuration(), encoding="utf-8")
    if scenario.flows:
        (directory / "flows").write_text(scenario.flow_file(), encoding="utf-8")
    if scenario.has_workload:
        (directory / "workload").write_text(scenario.workload(), encoding="utf-8")


def in_its_folder(body: Callable[[S, pathlib.Path, pathlib.Path], None]) -> Check[S]:
    """@return a check of a scenario: writes the inputs into an empty folder, and gives the Failure that ended `body`,
    or None"""
    @functools.wraps(body)
    def check(scenario: S, programs: str | os.PathLike, folder: str | os.PathLike) -> Failure | None:
        directory = pathlib.Path(folder)
        shutil.rmtree(directory, ignore_errors=True)
        write_inputs(scenario, directory)
        try:
            body(scenario, pathlib.Path(programs).resolve(), directory)
        except Failed as failed:
            return failed.failure
        return None
    return check


def command(scenario: Scenario, programs: pathlib.Path, output: str, network: str = "packet",
            extra: Sequence[str] = ()) -> list[str]:
    """@return the command that runs a scenario in its directory"""
    common = ["-n", "topology", "-c", "conf", "-q", "-o", output, "--check", *extra]
    if scenario.flows:
        return [str(programs / "qbb-flows"), "-f", "flows", "--set", f"SEED={scenario.seed}", *common]
    return [str(programs / "SimAI_simulator"), "-w", "workload", "--network", network, "--seed", str(scenario.seed),
            "--passes", str(scenario.passes), *common]


class Run:
    """Results of a run."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self.record = json.loads((directory / "run.json").read_text(encoding="utf-8"))
        self.end_ns = self.record["simulated_ns"]

    def rows(self, name: str) -> list[dict[str, str]]:
        """@return the rows of a CSV file by column"""
        with (self.directory / name).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def fields(self, name: str) -> list[list[str]]:
        """@return the words of each line of a file; no lines if there is no file"""
        path = self.directory / name
        return [line.split() for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def results(self) -> dict[str, bytes]:
        """@return the bytes of every result, by name"""
        return {path.name: path.read_bytes() for path in sorted(self.directory.iterdir())
                if path.name != "run.json"}


def checking_options(is_first: bool) -> dict[str, str]:
    """@return variables for programs of a checking build; the rest is as the user has it
    @param is_first whether this run of a scenario looks for leaks and adds to the counts of what is run: a
    repetition has no others, and both take long"""
    options = {"ASAN_OPTIONS": ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"),
                                                      f"detect_leaks={int(is_first)}")))}
    return options if is_first else options | {"GCOV_PREFIX": os.devnull, "GCOV_ERROR_FILE": os.devnull}


def _execute(scenario: Scenario, programs: pathlib.Path, directory: pathlib.Path, output: str, network: str = "packet",
             extra: Sequence[str] = ()) -> Run:
    shutil.rmtree(directory / output, ignore_errors=True)
    arguments = command(scenario, programs, output, network, extra)
    try:
        result = subprocess.run(arguments, cwd=directory, capture_output=True, text=True,
                                timeout=TIME_LIMIT_S, check=False,
                                env=os.environ | checking_options(output != "again"))
    except subprocess.TimeoutExpired:
        raise Failed("ends", f"{network}: not done after {TIME_LIMIT_S} s") from None
    said = result.stderr.strip().splitlines()
    if result.returncode == 2 and "BUFFER_SIZE of" in result.stderr:
        raise Refused(said[0])
    require(not said or not said[-1].startswith("check failed"), "--check", f"{network}: {said[-1] if said else ''}")
    require(result.returncode == 0, "finishes",
            f"{network}: exit status {result.returncode}: {said[0] if said else 'without a word'}")
    run = Run(directory / output)
    require(run.record["status"] == "finished", "finishes", f"{network}: {run.record['status']}")
    require(set(run.record["outputs"]) == set(run.results()), "outputs", f"{network}: other files than run.json lists")
    return run


def _check_flows(scenario: Scenario, run: Run, network: str) -> None:
    rows = run.fields("fct.txt")
    if scenario.flows:
        # A line for each queue pair that has a part of the flow.
        pairs = int(dict(scenario.conf).get("QPS_PER_CONNECTION", 1))
        require(len(scenario.flows) <= len(rows) <= pairs * len(scenario.flows), "every flow once",
                f"{len(rows)} lines of fct.txt for {len(scenario.flows)} flows")
        done, asked = sum(int(row[4]) for row in rows), sum(flow[2] for flow in scenario.flows)
        require(done == asked, "every flow once", f"{done} bytes and not {asked}")
    for row in rows:
        start, duration, ideal = map(int, row[5:8])
        require(start >= 0 and duration > 0, "times", f"fct.txt: {' '.join(row)}")
        # Fluids that share a link and meet again are estimates: a short message may be early.
        if not scenario.failures and network == "packet":
            require(duration * NS_ROUNDING + 1 >= ideal, "no flow is faster than alone", f"fct.txt: {' '.join(row)}")


def _check_links(scenario: Scenario, run: Run) -> None:
    rows = run.rows("links.csv")
    paused, total = sum(float(row["pause_ns"] or 0) for row in rows), run.record.get("paused_ns", 0)
    require(abs(paused - total) <= 1 + total * 1e-6, "pauses of ports are those of the run", f"{paused} and {total} ns")
    for row in rows:
        busy, rate = float(row["busy_ns"]), int(row["rate_bps"])
        place = f"node {row['node']} port {row['port']}"
        require(busy <= run.end_ns * NS_ROUNDING + 1, "no link is busy for longer than the run",
                f"{place}: {busy} of {run.end_ns} ns")
        require(abs(int(row["tx_bytes"]) * 8e9 / rate - busy) <= 1 + busy * 0.01, "busy time is bytes over rate",
                f"{place}: {row['tx_bytes']} bytes in {busy} ns at {rate} bit/s")
        if scenario.is_lossless:
            require(int(row["drops"] or 0) == 0, "nothing is lost", f"{place}: {row['drops']} drops")


def _check_pauses(run: Run) -> None:
    paused: set[tuple[str, ...]] = set()
    last = 0
    for time, node, _, port, kind, *priority in run.fields("pfc.txt"):  # the HPCC simulator's file has no priority
        require(int(time) >= last, "the clock runs forward", f"pfc.txt: {time} after {last}")
        last = int(time)
        queue = node, port, *priority
        require((kind == "1") == (queue not in paused), "pauses and resumes alternate",
                f"pfc.txt: {time} {' '.join(queue)} {kind}")
        paused ^= {queue}


def _check_collectives(scenario: Scenario, run: Run, network: str) -> None:
    rows = run.rows("collectives.csv")
    ids = [int(row["id"]) for row in rows]
    require(len(set(ids)) == len(ids), "every collective once", f"{network}: an id occurs twice")
    ends = [float(row["end_ns"]) for row in rows]
    require(ends == sorted(ends), "the clock runs forward", f"{network}: collectives.csv")
    for row in rows:
        require(0 <= float(row["start_ns"]) <= float(row["end_ns"]) <= run.end_ns * NS_ROUNDING + 1, "times",
                f"{network}: collective {row['id']}")
    asked: dict[tuple[str, str, int], int] = {}
    for operation, group, size, _ in scenario.layers:
        for name, kind in ((operation, group), ("ALLREDUCE", "DP")):
            ranks = scenario.tp if kind == "TP" else scenario.gpus // scenario.tp
            if ranks > 1 and size:
                key = (name, kind, size)
                asked[key] = asked.get(key, 0) + scenario.passes * scenario.gpus // ranks
    done: dict[tuple[str, str, int], int] = {}
    for row in rows:
        key = (row["op"].upper(), row["group"].rstrip("0123456789 []"), int(row["bytes"]))
        done[key] = done.get(key, 0) + 1
    require(done == asked, "every collective once", f"{network}: {done} and not {asked}")


def _waits_for_acknowledgements(scenario: Scenario) -> bool:
    """@return whether a window or a replay buffer may be used up before an answer is due, which only packets have"""
    conf = dict(scenario.conf)
    return (int(conf.get("L2_ACK_INTERVAL", 1)) > 1 and conf.get("HAS_WIN", 1) == 1
            or {"LINK_RETRY", "LINK_RETRY_BUFFER"} <= conf.keys() or "LINK_CREDITS" in conf)


def _senders_meet(run: Run) -> bool:
    """@return whether messages of two hosts go over one link"""
    return any(len({pair.split(">")[0] for pair in row["largest_flows"].split("; ")}) > 1
               for row in run.rows("links.csv"))


def _check_networks(scenario: Scenario, runs: Mapping[str, Run]) -> None:
    """Where nothing is congested, packets take as long as flows."""
    record = runs["packet"].record
    if (scenario.is_lossless and not any(record[name] for name in ("cnps", "pauses", "timeouts", "drops"))
            and not _waits_for_acknowledgements(scenario)):
        least, most = PACKETS_TO_FLOWS_THAT_MEET if _senders_meet(runs["flow"]) else PACKETS_TO_FLOWS
        ratio = runs["packet"].end_ns / runs["flow"].end_ns
        require(least <= ratio <= most, "packets agree with flows",
                f"{runs['packet'].end_ns} ns with packets, {runs['flow'].end_ns} ns with flows")


def _check_faster_links(scenario: Scenario, packets: Run, programs: pathlib.Path, directory: pathlib.Path) -> None:
    """One flow is not slower over faster links. @param packets the scenario's run"""
    if len(scenario.flows) != 1 or not scenario.is_lossless:
        return
    slow = packets.fields("fct.txt")[0]
    quick = dataclasses.replace(scenario, nic_gbps=2 * scenario.nic_gbps, spine_gbps=2 * scenario.spine_gbps)
    write_inputs(quick, directory)
    fast = _execute(quick, programs, directory, "fast").fields("fct.txt")[0]
    write_inputs(scenario, directory)
    require(int(fast[6]) <= int(slow[6]) + 1, "a faster link is not slower",
            f"{fast[6]} ns at twice the rate, {slow[6]} ns before")


@in_its_folder
def check(scenario: Scenario, programs: pathlib.Path, directory: pathlib.Path) -> None:
    """Runs a scenario and checks what it did. @raise Refused if it cannot be run"""
    network = NETWORKS[0]
    try:
        networks = NETWORKS[:1] if scenario.flows or scenario.failures or scenario.has_engines else NETWORKS
        runs = {}
        for network in networks:
            run = runs[network] = _execute(scenario, programs, directory, network, network)
            again = _execute(scenario, programs, directory, "again", network)
            require(run.results() == again.results(), "repeats are identical", network)
            if network != "analytical":
                _check_flows(scenario, run, network)
                _check_links(scenario, run)
            _check_pauses(run)
            if scenario.layers:
                _check_collectives(scenario, run, network)
        if len(runs) > 1:
            _check_networks(scenario, runs)
        network = NETWORKS[0]
        _check_faster_links(scenario, runs[network], programs, directory)
    except Failed as failed:
        repeats = command(scenario, programs, "out", network)
        failed.failure = dataclasses.replace(failed.failure, command=tuple(repeats))
        raise
