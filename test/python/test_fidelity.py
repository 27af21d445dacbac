# SPDX-License-Identifier: GPL-2.0-only
"""--fidelity auto: flows where packets cannot differ by more than an error, packets elsewhere."""
import json
import os
import pathlib
import subprocess

import pytest
from repeating_job import CONF, MIB, backends, congested_all_to_alls, job_of_two_servers, random_job
from waiting import HANGS

PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"


def run(out, *arguments):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    return subprocess.run([str(PROGRAM), "-c", str(CONF), "-o", str(out), *map(str, arguments)], env=clean,
                          capture_output=True, text=True, timeout=HANGS, check=False)


def record(out):
    return json.loads((out / "run.json").read_text())


def both(directory, arguments, *flags):
    """@return records of a run whose patterns packets simulate, and of one with --fidelity auto"""
    for name, more in (("packets", ("--fast-forward",)), ("auto", ("--fidelity", "auto", *flags))):
        result = run(directory / name, *arguments, *more)
        assert result.returncode == 0, result.stderr
    return record(directory / "packets"), record(directory / "auto")


@pytest.mark.parametrize("seed", range(int(os.environ.get("FIDELITY_JOBS", "6"))))
def test_a_random_job_is_off_by_no_more_than_it_says(tmp_path, seed):
    packets, auto = both(tmp_path, random_job(tmp_path, seed))
    forward = auto["fast_forward"]
    assert 0 <= forward["largest_difference"] <= 0.01
    # Reuse itself takes starts as equal that differ by half a percent of an operation.
    assert auto["simulated_ns"] == pytest.approx(packets["simulated_ns"], rel=forward["largest_difference"] + 0.002)
    assert forward["patterns_by_flows"] <= forward["patterns_simulated"]
    assert auto["collectives"] == packets["collectives"]


def test_traffic_that_meets_nowhere_needs_no_packets(tmp_path):
    """Rings over four servers, a GPU and a NIC in each."""
    backends.servers(tmp_path / "topology", 4, gpus=1)
    (tmp_path / "w.txt").write_text(f"1 ALLREDUCE {MIB} DP\n1 ALLGATHER {3 * MIB} DP\n" * 3)
    job = ("-w", tmp_path / "w.txt", "--tp", "1", "-n", tmp_path / "topology")
    packets, auto = both(tmp_path, job, "--max-error", "0")
    forward = auto["fast_forward"]
    assert forward["patterns_by_flows"] == forward["patterns_simulated"] > 0
    assert forward["simulated"] == 0
    assert forward["by_flows"] + forward["reused"] == auto["packet_hops"]
    assert auto["packet_hops"] == pytest.approx(packets["packet_hops"], rel=0.02)
    assert forward["largest_difference"] == 0
    assert auto["simulated_ns"] == pytest.approx(packets["simulated_ns"], rel=1e-3)


def test_queues_that_mark_packets_are_left_to_packets(tmp_path):
    packets, auto = both(tmp_path, congested_all_to_alls(tmp_path, 2), "--max-error", "100%")
    assert auto.get("fast_forward", {}).get("patterns_by_flows", 0) == 0
    assert auto["simulated_ns"] == packets["simulated_ns"]
    assert (tmp_path / "auto" / "EndToEnd.csv").read_text() == (tmp_path / "packets" / "EndToEnd.csv").read_text()


@pytest.mark.parametrize("flags, reason", [
    (("--set", "CC_MODE=3"), "HPCC"),
    (("--set", "CC_MODE=7"), "TIMELY"),
    (("--set", "ROUTING=spray"), "switches choose paths frame by frame"),
    (("--set", "L2_ACK_INTERVAL=64000"), "windows wait for acknowledgements of several frames"),
    (("--set", "ERROR_RATE_PER_LINK=0.000001"), "lose packets"),
])
def test_inputs_that_slow_lone_packets_down_are_named(tmp_path, flags, reason):
    result = run(tmp_path / "out", *job_of_two_servers(tmp_path), "--fidelity", "auto", *flags)
    assert result.returncode == 0, result.stderr
    lines = [line for line in result.stderr.splitlines() if "--fidelity auto takes packets throughout" in line]
    assert len(lines) == 1 and reason in lines[0], result.stderr
    assert "patterns_by_flows" not in record(tmp_path / "out")["fast_forward"]


@pytest.mark.parametrize("flags, told", [
    (("--network", "flow"), "--fidelity auto with --network flow; expected --network packet"),
    (("--fast-forward=off",), "--fidelity auto with --fast-forward=off; expected one of the two"),
    (("--max-error", "2"), "--max-error is 2; expected a share such as 1% or 0.01"),
    (("--max-error", "little"), "--max-error is 'little'; expected a share such as 1% or 0.01"),
])
def test_what_contradicts_it_is_refused(tmp_path, flags, told):
    result = run(tmp_path / "out", *job_of_two_servers(tmp_path), "--fidelity", "auto", *flags)
    assert result.returncode == 2
    assert told in result.stderr and result.stderr.count("\n") == 1


def test_an_error_without_the_choice_has_no_effect(tmp_path):
    result = run(tmp_path / "out", *job_of_two_servers(tmp_path), "--max-error", "1%")
    assert result.returncode == 0
    assert "--max-error" in result.stderr and "no effect" in result.stderr


def test_flows_tell_how_long_packets_may_differ(tmp_path):
    """Two servers of one GPU send to a third one, each through its own NIC, for the time that both messages take."""
    backends.servers(tmp_path / "topology", 3, gpus=1)
    (tmp_path / "w.txt").write_text(f"1 ALLTOALL {3 * MIB} DP\n")
    (tmp_path / "ring.txt").write_text(f"1 ALLGATHER {3 * MIB} DP\n")
    shares = {}
    for name in ("w", "ring"):
        result = run(tmp_path / name, "-w", tmp_path / f"{name}.txt", "--tp", "1", "-n", tmp_path / "topology",
                     "--network", "flow")
        assert result.returncode == 0, result.stderr
        shares[name] = record(tmp_path / name)["uncertain_ns"] / record(tmp_path / name)["simulated_ns"]
        assert "packets may differ for" in result.stdout
    assert shares["ring"] == 0 <= shares["w"] <= 1
