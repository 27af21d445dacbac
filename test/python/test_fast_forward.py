# SPDX-License-Identifier: GPL-2.0-only
"""--fast-forward from the outside: results beside those of whole runs, what run.json says, and what is refused."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import compare_backends as backends  # noqa: E402

PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
CONF = ROOT / "conf" / "SimAI.conf"
MIB = 1 << 20


def run(out, *arguments):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    return subprocess.run([str(PROGRAM), "-c", str(CONF), "-o", str(out), *map(str, arguments)], env=clean,
                          capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module", name="job")
def job_of_two_servers(tmp_path_factory):
    """Arguments: the same layer three times, on groups within servers and on groups across them."""
    directory = tmp_path_factory.mktemp("job")
    backends.servers(directory / "topology", 2, gpus=4)
    layers = [(name, 5000, "ALLGATHER", 4 * MIB, "ALLREDUCE", MIB) for name in "abc"]
    backends.layers(directory / "w.txt", 8, layers, tp=4)
    return "-w", directory / "w.txt", "-n", directory / "topology"


def times(out):
    return (out / "EndToEnd.csv").read_text().splitlines()


def record(out):
    return json.loads((out / "run.json").read_text())


@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
def test_what_repeats_is_simulated_once_and_takes_as_long(tmp_path, job, network):
    for name, flags in (("whole", ()), ("exact", ("--fast-forward", "exact")), ("on", ("--fast-forward",))):
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


def test_verifying_reports_the_errors(tmp_path, job):
    result = run(tmp_path, *job, "--fast-forward=verify")
    assert result.returncode == 0, result.stderr
    forward = record(tmp_path)["fast_forward"]
    assert forward["verified_ends"] > 0
    assert 0 <= forward["mean_error"] <= forward["largest_error"] < 0.01
    assert f"of {forward['verified_ends']} ends simulated again the largest error is" in result.stdout


@pytest.mark.parametrize("flags, message", [
    (("--fast-forward", "fast"), "--fast-forward fast"),
    (("--fast-forward-memory", "0"), "--fast-forward-memory is 0"),
    (("--fast-forward", "--rendezvous-protocol", "1"), "messages wait for their receives"),
    (("--fast-forward", "--pcap", "0:0"), "cannot be captured or traced"),
    (("--fast-forward", "--set", "LINK_DOWN=10 0 8"), "times of their own"),
])
def test_what_does_not_go_together_is_refused(tmp_path, job, flags, message):
    result = run(tmp_path, *job, *flags)
    assert result.returncode == 2, result.stderr
    assert message in result.stderr and "expected" in result.stderr


def test_files_of_the_network_are_said_to_be_empty(tmp_path, job):
    result = run(tmp_path, *job, "--fast-forward")
    assert "fct.txt, links.csv, monitors" in result.stderr
