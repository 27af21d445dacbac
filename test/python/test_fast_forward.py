# SPDX-License-Identifier: GPL-2.0-only
"""--fast-forward from the outside: results beside those of whole runs, what run.json says, and what is refused."""
import csv
import json
import os
import pathlib
import re
import subprocess

import pytest
from repeating_job import (CONF, MIB, all_to_alls, backends, clos, congested_all_to_alls, job_of_two_servers,
                           random_job)
from waiting import HANGS

PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(out, *arguments):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    return subprocess.run([str(PROGRAM), "-c", str(CONF), "-o", str(out), *map(str, arguments)], env=clean,
                          capture_output=True, text=True, timeout=HANGS, check=False)


@pytest.fixture(scope="module", name="job")
def arguments_of_the_job(tmp_path_factory):
    return job_of_two_servers(tmp_path_factory.mktemp("job"))


def times(out):
    return (out / "EndToEnd.csv").read_text().splitlines()


def record(out):
    return json.loads((out / "run.json").read_text())


@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
def test_what_repeats_is_simulated_once_and_takes_as_long(tmp_path, job, network):
    for name, flags in (("whole", ("--fast-forward", "off")), ("exact", ("--fast-forward", "exact")),
                        ("on", ("--fast-forward",))):
        result = run(tmp_path / name, *job, "--network", network, *flags)
        assert result.returncode == 0, result.stderr
    assert times(tmp_path / "exact") == times(tmp_path / "whole")
    whole, exact = record(tmp_path / "whole"), record(tmp_path / "exact")
    assert abs(record(tmp_path / "on")["simulated_ns"] / whole["simulated_ns"] - 1) < 1e-3
    for key in ("flows", "packets", "packet_hops", "collectives"):
        assert exact[key] == whole[key]
    forward = exact["fast_forward"]
    unit = "packet_hops" if network == "packet" else "flows"
    assert forward["unit"] == unit
    assert forward["simulated"] - forward["of_which_again"] + forward["reused"] == whole[unit]
    assert forward["reused"] > whole[unit] / 2
    assert forward["late_ends"] == 0
    assert "fast_forward" not in whole


def job_of_collectives(directory, *sizes):
    """Arguments of a job in which eight ranks carry out AllReduces and AllToAlls of these sizes, one after the
    other."""
    backends.servers(directory / "topology", 2, gpus=4)
    (directory / "w.txt").write_text("".join(f"1 ALLREDUCE {size} DP\n1 ALLTOALL {size} DP\n" for size in sizes))
    return "-w", directory / "w.txt", "--tp", "1", "-n", directory / "topology"


def test_reductions_in_switches_count_as_work_that_reuse_saves(tmp_path):
    """On a network of flows they are no messages. Eight sizes, each of which occurs 30 times: reuse pays."""
    topology = tmp_path / "topology"
    subprocess.run([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "8", "-gt", "H100",
                    "-psn", "1", "-o", str(topology)], check=True, capture_output=True)
    (tmp_path / "w.txt").write_text("".join(f"30 ALLREDUCE {(16 + size) * MIB} TP\n" for size in range(8)))
    for name, flags in (("whole", ("--fast-forward", "off")), ("on", ("--fast-forward",))):
        result = run(tmp_path / name, "-w", tmp_path / "w.txt", "--tp", "8", "-n", topology, "--network", "flow",
                     *flags)
        assert result.returncode == 0, result.stderr
    assert "NVLS" in (tmp_path / "on/collectives.csv").read_text()
    assert record(tmp_path / "on")["fast_forward"]["patterns_reused"] == 8 * 29
    assert times(tmp_path / "on") == times(tmp_path / "whole")


def test_layers_that_repeat_after_others_are_reused(tmp_path):
    job = job_of_collectives(tmp_path, MIB, 2 * MIB, *[3 * MIB] * 30)
    for name, flags in (("whole", ()), ("on", ("--fast-forward",))):
        result = run(tmp_path / name, *job, *flags)
        assert result.returncode == 0, result.stderr
    forward, whole = record(tmp_path / "on")["fast_forward"], record(tmp_path / "whole")
    assert forward["patterns_reused"] >= 6
    assert forward["simulated"] - forward["of_which_again"] + forward["reused"] == whole["packet_hops"]
    # Messages of an AllToAll meet at NICs, where queues mark packets at random.
    assert record(tmp_path / "on")["simulated_ns"] == pytest.approx(whole["simulated_ns"], rel=0.01)


def durations(out):
    """By group, layer and phase in the order of time: how long collectives take."""
    with (out / "collectives.csv").open(newline="") as file:
        rows = sorted(csv.DictReader(file),
                      key=lambda row: (row["group"], row["layer"], row["phase"], float(row["start_ns"])))
    return [(row["group"], row["layer"], float(row["end_ns"]) - float(row["start_ns"])) for row in rows]


# FAST_FORWARD_JOBS=100 runs as many as the goal is about.
@pytest.mark.parametrize("seed", range(int(os.environ.get("FAST_FORWARD_JOBS", "8"))))
def test_no_collective_of_a_random_job_is_off_by_more_than_one_percent(tmp_path, seed):
    arguments = random_job(tmp_path, seed)
    for name, flags in (("whole", ()), ("fast", ("--fast-forward",))):
        result = run(tmp_path / name, *arguments, *flags)
        assert result.returncode == 0, result.stderr
    whole, fast = durations(tmp_path / "whole"), durations(tmp_path / "fast")
    assert [row[:2] for row in fast] == [row[:2] for row in whole]
    for (*where, expected), (*_, found) in zip(whole, fast):
        assert abs(found / expected - 1) < 0.01, where


def test_verifying_reports_the_errors(tmp_path, job):
    result = run(tmp_path, *job, "--fast-forward=verify")
    assert result.returncode == 0, result.stderr
    forward = record(tmp_path)["fast_forward"]
    assert forward["verified_ends"] > 0
    assert 0 <= forward["mean_error"] <= forward["largest_error"] < 0.01
    assert (
        f"{forward['verified_ends']} reused ends differ by {100 * forward['largest_error']:.4f}% at most"
        in result.stdout
    )
    # It says what it compared with, as that may be another error than the one that a user fears.
    assert "from another simulation of their patterns, which a run without --fast-forward may not have" in result.stdout


APPROXIMATE = "--fast-forward is approximate here ("


def lossy(directory):
    """Arguments of the same AllReduces again and again, over links that lose packets"""
    _, workload, _, tp, _, topology = arguments = job_of_collectives(directory, *[MIB] * 6)
    lines = topology.read_text().splitlines()
    topology.write_text("\n".join(lines[:2] + [line.rsplit(" ", 1)[0] + " 0.00001" for line in lines[2:]]) + "\n")
    return arguments


def congested_small(directory):
    """Arguments of 100 AllToAlls over 4 to 1 that are marked, each as the second: marks are few, and slow nobody down
    for long"""
    (directory / "w.txt").write_text(f"1 ALLTOALL {MIB} DP\n" * 100)
    return "-w", directory / "w.txt", "--tp", "1", "-n", clos(directory, 16, "--nics_per_leaf", "4",
        "--oversubscription", "4")


def congested_overlaps(directory):
    """Arguments of a job whose collectives overlap and are marked, each time with others: nothing of it is reused"""
    rows = ("1000 ALLREDUCE_EP 7 1 ALLTOALL_EP 4096 1 REDUCESCATTER_DP 3000001 1",
            "1000 ALLGATHER_EP 65537 777 NONE 0 333 REDUCESCATTER_EP 7 1",
            "1000 ALLREDUCE_DP 1000 0 REDUCESCATTER_DP 300001 1 REDUCESCATTER_DP 1000 100",
            "1 ALLGATHER_EP 1 1 ALLREDUCE_DP 1048576 1 REDUCESCATTER_EP 1048576 1",
            "1 NONE 0 0 ALLGATHER_EP 4096 0 NONE 0 1",
            "100000 ALLGATHER_DP 300001 777 ALLREDUCE_EP 1048576 0 ALLREDUCE_DP 1048576 0")
    (directory / "w.txt").write_text(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 7 pp: 3 vpp: 2 ga: 3 all_gpus: 21 "
        f"checkpoints: 0 checkpoint_initiates: 0 pp_comm: 300001\n{len(rows)}\n"
        + "".join(f"l{i} -1 {row}\n" for i, row in enumerate(rows)))
    return "-w", directory / "w.txt", "-n", clos(directory, 21, "-gps", "1", "--nics_per_leaf", "4",
                                                 "--oversubscription", "4")


def lossy_overlaps(directory):
    """Arguments of congested_overlaps() over links that lose packets"""
    _, _, _, topology = arguments = congested_overlaps(directory)
    lines = topology.read_text().splitlines()
    topology.write_text("\n".join(lines[:2] + [line.rsplit(" ", 1)[0] + " 0.00001" for line in lines[2:]]) + "\n")
    return arguments


@pytest.mark.parametrize("name, make, flags, reason", [
    ("marks", congested_small, (), r"\d+ congestion notifications"),
    ("losses", lossy, (), r"\d+ links lose packets at random"),
    ("losses of all links", lambda place: job_of_collectives(place, *[MIB] * 6),
     ("--set", "ERROR_RATE_PER_LINK=0.000001"), r"\d+ links lose packets at random"),
    ("telemetry", lambda place: job_of_collectives(place, *[MIB] * 6), ("--set", "CC_MODE=3"), "HPCC keeps no rate"),
    ("delays", lambda place: job_of_collectives(place, *[MIB] * 6), ("--set", "CC_MODE=7"),
     "TIMELY-hpcc-artifact keeps no rate"),
    ("quiet", lambda place: job_of_collectives(place, *[MIB] * 6), ("--set", "CC_MODE=0"), ""),
    ("flows", lambda place: job_of_collectives(place, *[MIB] * 6), ("--network", "flow", "--set", "CC_MODE=3"), "")])
def test_what_makes_it_approximate_is_told(tmp_path, name, make, flags, reason):
    result = run(tmp_path / "out", *make(tmp_path), "--fast-forward", *flags)
    assert result.returncode == 0, result.stderr
    forward = record(tmp_path / "out")["fast_forward"]
    said = [line for line in result.stdout.splitlines() if line.startswith(APPROXIMATE)]
    assert forward["simulated"], "else there is nothing that may be wrong"
    if not reason:
        assert not said and forward["approximate"] == [], name
    else:
        assert len(said) == 1 and re.search(reason, said[0]), result.stdout
        assert said[0].startswith(APPROXIMATE + "; ".join(forward["approximate"]) + ")")


@pytest.mark.parametrize("flags, message", [
    (("--fast-forward", "fast"), "--fast-forward is 'fast'; expected off"),
    (("--fast-forward-memory", "0"), "--fast-forward-memory is 0"),
    (("--fast-forward", "--rendezvous-protocol", "1"), "messages wait for their receives"),
    (("--fast-forward", "--pcap", "0:0"), "cannot be captured or traced"),
    (("--fast-forward", "--set", "LINK_DOWN=10 0 8"), "LINK_DOWN changes the network at times of its own"),
])
def test_what_does_not_go_together_is_refused(tmp_path, job, flags, message):
    result = run(tmp_path, *job, *flags)
    assert result.returncode == 2, result.stderr
    assert message in result.stderr and "expected" in result.stderr


def test_files_of_the_network_are_said_to_be_empty(tmp_path, job):
    result = run(tmp_path, *job, "--fast-forward")
    assert "fct.txt, links.csv, monitors" in result.stderr


@pytest.mark.parametrize("mode", ["on", "exact"])
def test_threads_simulate_patterns_with_the_same_bytes(tmp_path, job, mode):
    runs = {"1": ["-t", 1], "2": ["-t", 2], "3": ["-t", 2, "--ns3::RdmaFabric::Partitions=3"]}
    for name, flags in {**runs, "whole": ["-t", 2]}.items():
        result = run(tmp_path / name, *job, *flags, *(() if name == "whole" else (f"--fast-forward={mode}",)))
        assert result.returncode == 0, result.stderr
    for name in runs:
        assert record(tmp_path / name)["threads"] == min(int(name), 2, os.cpu_count())
        for file in ("EndToEnd.csv", "collectives.csv"):
            assert (tmp_path / name / file).read_bytes() == (tmp_path / "1" / file).read_bytes(), (name, file)
        assert record(tmp_path / name)["fast_forward"] == record(tmp_path / "1")["fast_forward"]
    if mode == "exact":
        assert times(tmp_path / "2") == times(tmp_path / "whole")
        assert record(tmp_path / "2")["packet_hops"] == record(tmp_path / "whole")["packet_hops"]


def assert_little_was_in_vain(given_up, whole):
    """All that was of use before, a tenth of the whole, and what takes 60 ms; a copy counts as 10 ms."""
    unit = given_up["unit"]
    ms = {"packet_hops": 20_000, "flows": 1_000}[unit]
    assert given_up["simulated"] + 10 * ms * given_up["patterns_simulated"] < 1.1 * whole[unit] + 60 * ms


def assert_begun_anew(out, whole):
    """A run leaves the bytes of a run without the flag, and the work in vain is bounded, as are copies of the
    process."""
    expected = record(whole)
    given_up = record(out)["fast_forward_given_up"]
    assert "fast_forward" not in record(out)
    assert {name for name in expected["outputs"] if (out / name).read_bytes() != (whole / name).read_bytes()} == set()
    for key in ("outputs", "simulated_ns", "packet_hops", "flows", "collectives", "cnps", "drops"):
        assert record(out)[key] == expected[key], key
    assert_little_was_in_vain(given_up, expected)


@pytest.mark.parametrize("name, make, flags", [
    ("marks", lambda place: congested_all_to_alls(place, 4), ()),
    ("overlaps", congested_overlaps, ()),
    ("flows", congested_overlaps, ("--network", "flow")),
    ("threads", lambda place: congested_all_to_alls(place, 4), ("-t", 2)),
    ("one list of events", congested_overlaps, ("--ns3::RdmaFabric::Partitions=1",)),
    ("never the same", lambda place: job_of_collectives(place, *(MIB + 4096 * i for i in range(4))), ()),
    ("never the same flows", lambda place: job_of_collectives(place, *(MIB + 4096 * i for i in range(4))),
     ("--network", "flow")),
    ("losses", lambda place: lossy_overlaps(place), ()),
    ("TIMELY", congested_overlaps, ("--set", "CC_MODE=7")),
    ("HPCC", congested_overlaps, ("--set", "CC_MODE=3")),
    ("DCTCP and flowlets", congested_overlaps, ("--set", "CC_MODE=8", "--set", "ROUTING=flowlet")),
    ("spray", congested_overlaps, ("--set", "ROUTING=spray"))])
def test_a_run_begins_anew_where_reuse_does_not_pay(tmp_path, name, make, flags):
    """Marks at random, or collectives that overlap, make ranks end at ever other times, so nothing repeats."""
    job = make(tmp_path)
    whole = run(tmp_path / "whole", *job, *flags)
    assert whole.returncode == 0, whole.stderr
    for mode in ("on", "exact"):
        result = run(tmp_path / mode, *job, *flags, f"--fast-forward={mode}")
        assert result.returncode == 0, result.stderr
        assert "reuse does not pay: the run begins anew" in result.stdout and "approximate" not in result.stdout
        assert result.stderr == whole.stderr, "each warning once, and none of reuse"
        assert_begun_anew(tmp_path / mode, tmp_path / "whole")


@pytest.mark.parametrize("program, sweep", [("alltoall_perf", "-b 1M -e 16M -f 4 -n 12"),
                                            ("all_reduce_perf", "-b 8 -e 4M -f 2 -n 6")])
def test_the_table_of_collective_perf_is_that_of_a_run_without_reuse_where_it_does_not_pay(program, sweep, tmp_path):
    topology = clos(tmp_path, 16, "--nics_per_leaf", "4", "--oversubscription", "4")
    rows = {}
    for mode in ("off", "on"):
        words = [*sweep.split(), "-g", "16", "--all-iterations", "--network-topo", topology, "--conf", CONF,
                 "--output", tmp_path / mode, f"--fast-forward={mode}"]
        result = subprocess.run([PROGRAM.with_name(program), *map(str, words)], capture_output=True, text=True,
                                timeout=HANGS, check=False)
        assert result.returncode == 0, result.stderr
        rows[mode] = result.stdout
    assert_little_was_in_vain(record(tmp_path / "on")["fast_forward_given_up"], record(tmp_path / "off"))
    assert rows["on"] == rows["off"], "each row once"
