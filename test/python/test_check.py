# SPDX-License-Identifier: GPL-2.0-only
"""--check: holds on every network, changes no result, and is refused where nothing could be checked."""
import json
import os
import pathlib
import subprocess
import sys

import pytest
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])
sys.path.insert(0, str(ROOT / "bench"))
import configurations  # noqa: E402

STAR = "5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1us 0\n" for host in range(4))


def simulate(directory, output, *flags, workload="1 ALLREDUCE 1000000 DP\n1 ALLTOALL 300000 DP\n1 ALLGATHER 70000 DP\n",
             **variables):
    (directory / "w").write_text(workload)
    (directory / "n").write_text(STAR)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AS_", "NCCL_"))}
    defaults = [word for flag, value in (("-n", "n"), ("--tp", "1")) if flag not in flags for word in (flag, value)]
    result = subprocess.run([PROGRAMS / "SimAI_simulator", "-w", "w", "-o", output, *defaults, *flags], cwd=directory,
                            env={**environment, **variables}, capture_output=True, text=True, timeout=HANGS)
    return result


@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
@pytest.mark.parametrize("variables", [{"NCCL_ALGO": "Ring"}, {"NCCL_ALGO": "Tree"}], ids=["ring", "tree"])
def test_all_collectives_are_checked_and_results_stay(tmp_path, network, variables):
    last = "ALLGATHER" if variables["NCCL_ALGO"] == "Ring" else "ALLREDUCE"
    lines = f"1 ALLREDUCE 1000000 DP\n1 ALLTOALL 300000 DP\n1 {last} 70000 DP\n"
    outputs = []
    for flags in ([], ["--check"]):
        result = simulate(tmp_path, "".join(["o", *flags]), "--network", network, *flags,
                          workload=lines, **variables)
        assert result.returncode == 0, result.stderr
        outputs.append(configurations.fingerprint(tmp_path / "".join(["o", *flags])))
    assert outputs[0] == outputs[1]
    record = json.loads((tmp_path / "o--check/run.json").read_text())
    assert record["checked_collectives"] == record["collectives"] == 3
    assert "checked_collectives" not in json.loads((tmp_path / "o/run.json").read_text())


@pytest.mark.parametrize("operation", ["ALLREDUCE", "ALLGATHER", "REDUCESCATTER"])
@pytest.mark.parametrize("size", [3122, 500_000])
def test_sums_and_copies_of_switches_are_checked(tmp_path, operation, size):
    """NVSwitches send less than they take in where they only add up, and more where they only copy."""
    (tmp_path / "server").write_text("9 8 1 0 8 H100\n8\n" + "".join(f"{gpu} 8 2880Gbps 25ns 0\n" for gpu in range(8)))
    result = simulate(tmp_path, "o", "--check", "-n", "server", "--tp", "8", workload=f"1 {operation} {size} TP\n",
                      NCCL_ALGO="NVLS")
    assert result.returncode == 0, result.stderr
    assert ",NVLS," in (tmp_path / "o/collectives.csv").read_text()


@pytest.mark.parametrize("network", ["packet", "flow"])
def test_what_a_protocol_adds_is_checked(tmp_path, network):
    """On NVLinks, bytes that NVLS-Tree reduces or multicasts count more."""
    (tmp_path / "servers").write_text("11 4 2 1 16 H100\n8 9 10\n" + "".join(
        f"{gpu} {8 + gpu // 4} 2880Gbps 25ns 0\n{gpu} 10 100Gbps 1us 0\n" for gpu in range(8)))
    result = simulate(tmp_path, "o", "--check", "-n", "servers", "--tp", "8", "--network", network,
                      workload="1 ALLREDUCE 4194304 TP\n")
    assert result.returncode == 0, result.stderr
    assert ",NVLSTree," in (tmp_path / "o/collectives.csv").read_text()


@pytest.mark.parametrize("algorithm", ["ring", "halvingDoubling", "doubleBinaryTree", "direct"])
def test_native_algorithms_are_checked(tmp_path, algorithm):
    (tmp_path / "system").write_text(json.dumps({"all-reduce-implementation": [algorithm],
                                                 "preferred-dataset-splits": 3}))
    result = simulate(tmp_path, "o", "--check", "--network", "flow", "--system-configuration", "system",
                      workload="1 ALLREDUCE 1000000 DP\n")
    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "o/run.json").read_text())["checked_collectives"] == 3  # a chunk is one


def test_what_is_not_simulated_is_not_checked(tmp_path):
    result = simulate(tmp_path, "o", "--check", "--fast-forward")
    assert result.returncode == 2
    assert "--check with --fast-forward" in result.stderr and not (tmp_path / "o").exists()


@pytest.mark.parametrize("name", ["pauses-star", "pauses-that-expire", "loss-go-back-n", "loss-irn", "cut-link",
                                  "hpcc-pint",
                                  "queue-pairs", "flowlets"])
def test_pauses_losses_and_cuts_hold_what_is_checked(tmp_path, name):
    configurations.prepare(tmp_path)
    configurations.run(PROGRAMS / "SimAI_simulator", name, tmp_path, tmp_path / "o", 1, ["--check"])


def test_flows_are_checked(tmp_path):
    (tmp_path / "n").write_text(STAR)
    (tmp_path / "c").write_text("CC_MODE 0\nHAS_WIN 0\nBUFFER_SIZE 400000\n")
    (tmp_path / "f").write_text("3\n0 3 3 100 300000 0\n1 3 3 100 300000 0\n2 3 3 100 300000 0\n")
    for output, flags in (("plain", []), ("checked", ["--check"])):
        result = subprocess.run([PROGRAMS / "qbb-flows", "-c", "c", "-n", "n", "-f", "f", "-o", output, *flags],
                                cwd=tmp_path,
                                capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
    assert (tmp_path / "plain/pfc.txt").read_text()
    for name in ("fct.txt", "pfc.txt", "links.csv"):
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "checked" / name).read_bytes()
