# SPDX-License-Identifier: GPL-2.0-only
"""The critical path: worked out by hand, without gaps in real runs, and what-ifs that runs confirm."""
import csv
import json
import os
import pathlib
import subprocess
import sys

import pytest
from script_process import run_script

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.why import path, records  # noqa: E402
from clustersim.why.what_if import Runner  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", REPOSITORY / "bin"))
HEADER = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: {ep} pp: {pp} vpp: 1 ga: {ga} all_gpus: "
          "16 "
          "checkpoints: 0 checkpoint_initiates: 0 pp_comm: {bytes}\n")


def run(*arguments, status=0):
    words = [str(word) for word in arguments]
    done = run_script(words) if words[0].endswith(".py") else subprocess.run(words, capture_output=True, text=True,
        check=False)
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture(scope="module")
def topology(tmp_path_factory):
    """Two servers of eight H100, a NIC each, one switch."""
    file = tmp_path_factory.mktemp("topology") / "star"
    lines = [f"{gpu} {16 + gpu // 8} 2880Gbps 25ns 0\n{gpu} 18 400Gbps 500ns 0\n" for gpu in range(16)]
    file.write_text("19 8 2 1 32 H100\n16 17 18\n" + "".join(lines))
    return file


@pytest.fixture
def simulate(topology, tmp_path):
    def simulated(layers, network="flow", ranks=0, **sizes):
        sizes = {"tp": 1, "ep": 1, "pp": 1, "ga": 1, "bytes": 0, **sizes}
        (tmp_path / "w.txt").write_text(HEADER.format(**sizes) + f"{len(layers)}\n" + "\n".join(layers) + "\n")
        run(PROGRAMS / "SimAI_simulator", "-w", tmp_path / "w.txt", "-n", topology, "-c",
            REPOSITORY / "conf/SimAI.conf", "-o",
            tmp_path / "run", "--network", network, "--quiet", "--timeline-ranks", ranks, "--timeline-limit", 10 ** 8)
        return tmp_path / "run"
    return simulated


def why(directory, *arguments, status=0):
    return run(REPOSITORY / "scripts/why.py", directory, "--program", PROGRAMS / "SimAI_simulator", *arguments,
               status=status)


def event(rank, start, end, category, name="x", **arguments):
    return {"ph": "X", "pid": rank, "tid": 0, "name": name, "cat": category, "ts": start, "dur": end - start,
            "args": arguments}


def followed(events, directory):
    (directory / "timeline.json").write_text("[\n" + ",\n".join(map(json.dumps, events)) + "\n]\n")
    return path.critical_path(records.read(directory))


def test_the_path_goes_through_the_rank_that_joins_last(tmp_path):
    # Rank 0 computes 10 and waits; rank 1 computes 30; the AllReduce takes 5 from then on; rank 0 computes 7 more.
    events = [event(0, 0, 10, "compute", "a", phase="fwd"), event(1, 0, 30, "compute", "a", phase="fwd"),
              event(0, 10, 35, "wait", "exposed communication", layer="a", group="TP"),
              event(1, 30, 35, "wait", "exposed communication", layer="a", group="TP"),
              event(0, 10, 35, "stream", "AllReduce", layer="a", collective=1, chunk=0, phase=0, bytes=8),
              event(1, 30, 35, "stream", "AllReduce", layer="a", collective=1, chunk=0, phase=0, bytes=8),
              event(0, 35, 42, "compute", "b", phase="fwd"), event(1, 35, 40, "compute", "b", phase="fwd")]
    parts = followed(events, tmp_path)
    assert [(p.kind, p.rank, p.start, p.end) for p in parts] == [
        ("compute", 1, 0, 30), ("communication", 1, 30, 35), ("compute", 0, 35, 42)]


def test_the_path_goes_to_the_sender_of_a_message(tmp_path):
    # Rank 1 idles until rank 0 sends at 20; the message takes 4, its acknowledgement 1 more.
    events = [event(0, 0, 20, "compute", "a", phase="fwd"),
              event(1, 0, 20, "wait", "bubble", layer="a", group="PP"),
              event(1, 20, 24, "wait", "exposed communication", layer="a", group="PP"),
              {"ph": "b", "pid": 0, "tid": 0, "id": 1, "name": "to 1", "cat": "flow", "ts": 20,
               "args": {"bytes": 100, "channel": 0, "collective": 0}},
              {"ph": "e", "pid": 0, "tid": 0, "id": 1, "name": "to 1", "cat": "flow", "ts": 25},
              event(1, 24, 30, "compute", "a", phase="fwd")]
    parts = followed(events, tmp_path)
    assert [(p.kind, p.rank, p.start, p.end) for p in parts] == [
        ("compute", 0, 0, 20), ("message", 0, 20, 24), ("compute", 1, 24, 30)]
    assert parts[1].flow.bytes == 100


def test_the_path_follows_collectives_that_wait_for_one_another(tmp_path):
    # The second collective is in the queue behind the first while its rank computes.
    events = [event(0, 0, 10, "compute", "a", phase="wg"), event(0, 10, 20, "compute", "b", phase="wg"),
              event(0, 10, 50, "stream", "AllReduce", layer="a", collective=1, chunk=0, phase=0, bytes=8),
              event(0, 50, 70, "stream", "AllReduce", layer="b", collective=2, chunk=0, phase=0, bytes=8),
              event(0, 20, 60, "compute", "c", phase="wg"),
              event(0, 60, 70, "wait", "exposed communication", layer="b", group="DP")]
    parts = followed(events, tmp_path)
    assert [(p.kind, p.layer, p.start, p.end) for p in parts] == [
        ("compute", "a", 0, 10), ("communication", "a", 10, 50), ("communication", "b", 50, 70)]


def test_a_trace_waits_for_what_ended(tmp_path):
    # Rank 1 sends at 8 what takes 12; rank 0 computes after that, although a collective of both has ended before.
    events = [event(1, 0, 8, "compute", "a", phase="fwd"), event(0, 0, 5, "compute", "a", phase="fwd"),
              event(0, 5, 20, "wait", "exposed communication", layer="communication", group="PP"),
              event(0, 5, 15, "stream", "AllReduce", layer="AllReduce", collective=1, chunk=0, phase=0, bytes=8),
              event(1, 5, 15, "stream", "AllReduce", layer="AllReduce", collective=1, chunk=0, phase=0, bytes=8),
              {"ph": "b", "pid": 1, "tid": 0, "id": 1, "name": "to 0", "cat": "flow", "ts": 8,
               "args": {"bytes": 100, "channel": 0, "collective": 0}},
              {"ph": "e", "pid": 1, "tid": 0, "id": 1, "name": "to 0", "cat": "flow", "ts": 21},
              event(0, 20, 30, "compute", "b", phase="fwd")]
    parts = followed(events, tmp_path)
    assert [(p.kind, p.rank, p.start, p.end) for p in parts] == [
        ("compute", 1, 0, 8), ("message", 1, 8, 20), ("compute", 0, 20, 30)]


PIPELINE = ["a_0 -1 50000 ALLGATHER 4194304 60000 REDUCESCATTER 4194304 40000 REDUCESCATTER 8388608 1000",
            "b_0 -1 90000 REDUCESCATTER 4194304 20000 ALLGATHER 4194304 70000 NONE 0 0"]
MOE = ["a_0 -1 50000 ALLTOALL_EP 4194304 60000 ALLTOALL_EP 4194304 40000 ALLREDUCE 33554432 1000",
       "e_0 -1 90000 ALLREDUCE 1048576 20000 NONE 0 70000 ALLREDUCE_DP_EP 8388608 0"]


@pytest.mark.parametrize("layers, sizes", [(PIPELINE, dict(tp=4, pp=2, ga=6, bytes=1048576)), (MOE, dict(tp=2, ep=4)),
                                           (PIPELINE * 3, dict(tp=8))])
@pytest.mark.parametrize("network", ["flow", "packet", "analytical"])
def test_the_path_of_a_run_has_no_gaps_and_lasts_as_long_as_the_run(layers, sizes, network, simulate):
    directory = simulate(layers, network, 16, **sizes)
    parts = path.critical_path(records.read(directory))
    total_us = json.loads((directory / "run.json").read_text())["simulated_ns"] / 1000
    assert parts[0].start == pytest.approx(0, abs=1e-5)
    for before, after in zip(parts, parts[1:]):
        assert after.start == pytest.approx(before.end, abs=1e-5)
    # Acknowledgements of the last messages may come after the last rank's end.
    assert parts[-1].end == pytest.approx(total_us, rel=2e-3)
    assert "other" not in {part.kind for part in parts}


def test_computation_alone_is_won_in_full(simulate):
    directory = simulate(["a_0 -1 1000000 NONE 0 2000000 NONE 0 3000000 NONE 0 0"])
    why(directory)
    facts = json.loads((directory / "why/why.json").read_text())
    assert facts["worked_out"]["GPUs"] == pytest.approx(1 / 1.1 - 1)
    assert facts["run"]["GPUs"] == pytest.approx(1 / 1.1 - 1, abs=1e-5)
    assert facts["worked_out"]["NIC rate"] == 0


def test_what_a_faster_nic_brings_is_what_a_run_says(simulate):
    # Messages of 64 MiB between two stages take 1.35 ms of line rate each; nothing else uses the NICs.
    directory = simulate(["a_0 -1 200000 NONE 0 200000 NONE 0 0 NONE 0 0"], tp=8, pp=2, bytes=67108864)
    done = why(directory)
    facts = json.loads((directory / "why/why.json").read_text())
    assert facts["worked_out"]["NIC rate"] < -0.05
    assert facts["run"]["NIC rate"] == pytest.approx(facts["worked_out"]["NIC rate"], abs=0.003)
    assert facts["worked_out"]["GPUs"] + facts["worked_out"]["NIC rate"] == pytest.approx(1 / 1.1 - 1, abs=0.005)
    assert "communication over NIC" in done.stdout
    rows = list(csv.DictReader(open(directory / "why/path.csv")))
    messages = [row for row in rows if row["kind"] == "message"]
    assert messages and all(row["last_flow"].startswith(("0>8 67108864 bytes at ", "8>0 67108864 bytes at "))
                            for row in messages)
    assert sum(float(row["duration_us"]) for row in rows) == pytest.approx(facts["total_us"])


def test_the_tuner_that_chose_is_named_by_the_run_and_its_explanation(simulate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tuner.conf").write_text("# one row\nallreduce,0,-1,ring,ll,2,-1,-1\n")
    monkeypatch.setenv("NCCL_TUNER_CONFIG_FILE", "tuner.conf")
    directory = simulate(["a_0 -1 1000 NONE 0 2000 NONE 0 3000 ALLREDUCE 8388608 0"])
    monkeypatch.delenv("NCCL_TUNER_CONFIG_FILE")
    record = json.loads((directory / "run.json").read_text())
    assert record["options"]["tuner"] == "tuner.conf"
    assert "tuner table" in {entry["role"] for entry in record["inputs"]}
    choices = {(row["algorithm"], row["protocol"], row["channels"])
               for row in csv.DictReader(open(directory / "collectives.csv"))}
    assert choices == {("Ring", "LL", "2")}
    monkeypatch.chdir("/")  # what-ifs run elsewhere, with the same table
    assert "by the tuner tuner.conf where it has a row" in why(directory).stdout
    assert json.loads((directory / "why/why.json").read_text())["tuner"] == "tuner.conf"
    assert {(row["algorithm"], row["channels"]) for row in csv.DictReader(open(directory
        / "why/GPUs/collectives.csv"))} == {
        ("Ring", "2")}


TRACES = {"experts": ["mixtral_8x7b", "--num_layers", 2, "--tp", 2, "--sp", "--ep", 4],
          "pipeline": ["llama2_7b", "--num_layers", 4, "--tp", 2, "--sp", "--pp", 4, "--global_batch", 8]}


@pytest.mark.parametrize("name", TRACES)
def test_a_run_of_chakra_traces_is_explained(name, topology, tmp_path):
    run(REPOSITORY / "scripts/workload.py", "--model_name", *TRACES[name], "--world_size", 16, "--seq_length", 1024,
        "--format",
        "chakra", "-o", tmp_path, "--name", "job")
    (tmp_path / "network.txt").write_text(f"TOPOLOGY_FILE {topology}\nPACKET_PAYLOAD_SIZE 9000\n")
    (tmp_path / "system.json").write_text("{}")
    directory = tmp_path / "job"  # has the traces' prefix for a name
    for _ in range(2):
        run(PROGRAMS / "SimAI_simulator", "--workload-configuration", directory, "--system-configuration",
            tmp_path / "system.json",
            "--network-configuration", tmp_path / "network.txt", "-o", directory, "--network", "flow", "--quiet")
    done = why(directory, "--factor", 1.25)
    facts = json.loads((directory / "why/why.json").read_text())
    rows = list(csv.DictReader(open(directory / "why/path.csv")))
    assert sum(float(row["duration_us"]) for row in rows) == pytest.approx(facts["total_us"])
    assert {"compute", "communication"} <= {row["kind"] for row in rows} <= {"compute", "communication", "message"}
    assert ("message to another pipeline stage" in done.stdout) == (name == "pipeline")
    assert facts["worked_out"]["GPUs"] < -0.02
    for change, measured in facts["run"].items():
        # Another path may become the longest: what is worked out is the most that a run can win, but for messages that
        # meet others on their links at other times.
        assert facts["worked_out"][change] - 0.01 < measured < 0.005, change
    assert facts["run"]["GPUs"] == pytest.approx(facts["worked_out"]["GPUs"], abs=0.02)


def test_a_run_with_a_timeline_is_not_repeated(simulate):
    directory = simulate(PIPELINE, ranks=16, tp=8)
    why(directory, "--no-confirm")
    again = (directory / "why/timeline").exists()
    listed = {entry.name for entry in (directory / "why").iterdir()}
    assert not again and listed == {"path.csv", "why.json"}


@pytest.mark.parametrize("change, message", [
    (lambda record: record.update(status="stuck"), "the run is stuck"),
    (lambda record: record.update(network="busbw"), "expected one of SimAI_simulator"),
    (lambda record: record["inputs"].append({"role": "workload", "path": "b.txt"}), "expected one job"),
    (lambda record: record["inputs"].pop(0), "expected the run of a SimAI text workload"),
])
def test_a_run_that_cannot_be_followed_is_refused_in_one_line(change, message, simulate):
    directory = simulate(PIPELINE, tp=8)
    record = json.loads((directory / "run.json").read_text())
    change(record)
    (directory / "run.json").write_text(json.dumps(record))
    done = why(directory, status=2)
    assert message in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--factor", "0"], ["--factor", "nan"], ["--top", "0"], ["--speed", "2"]])
def test_flags_that_make_no_sense_are_refused(arguments, tmp_path):
    done = why(tmp_path, *arguments, status=2)
    assert "; expected " in done.stderr and done.stderr.count("\n") == 1


def test_a_directory_without_a_run_is_refused(tmp_path):
    done = why(tmp_path, status=2)
    assert "no readable run.json; expected" in done.stderr and done.stderr.count("\n") == 1


def test_the_run_is_looked_at_before_the_program(tmp_path, monkeypatch):
    monkeypatch.setenv("PROGRAM_DIR", str(tmp_path))
    with pytest.raises(InputError, match="no readable run.json; expected"):
        Runner(tmp_path, None)
