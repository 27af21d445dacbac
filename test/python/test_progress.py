# SPDX-License-Identifier: GPL-2.0-only
"""Every program that simulates says how far it is: in run.json, and off a terminal as lines on standard error."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
from test_simulator import star, workload
from waiting import HANGS, wait_until

PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])
MIB = 1 << 20


def inputs(tmp_path):
    return ["-w", workload(tmp_path / "w.txt", 4, [("layer", "NONE", 0, "ALLREDUCE", MIB)]),
            "-n", star(tmp_path / "n.txt", 4)]


def simulator(tmp_path):
    return ["SimAI_simulator", *inputs(tmp_path), "--passes", "1000000", "--network", "flow"]


def analytical(tmp_path):
    given = inputs(tmp_path)
    return ["SimAI_analytical", *given, "--passes", "1000000"]


def flows(tmp_path):
    lines = [f"0 1 3 100 1000000 {i / 1000}" for i in range(100000)]  # one after the other
    (tmp_path / "f.txt").write_text("\n".join([str(len(lines)), *lines, ""]))
    (tmp_path / "c.conf").write_text(f"TOPOLOGY_FILE {star(tmp_path / 'n.txt', 4)}\nFLOW_FILE {tmp_path}/f.txt\n")
    return ["qbb-flows", "-c", tmp_path / "c.conf"]


def collective_perf(tmp_path):
    return ["collective-perf", "all_reduce_perf", "--network-topo", star(tmp_path / "n.txt", 4), "-b", "1M", "-e", "8G",
            "-f", "2", "-n", "1000", "--network", "packet"]


def physical(tmp_path):
    return ["SimAI_phynet", *inputs(tmp_path), "--provider", "tcp", "--iterations", "1000000"]


@pytest.mark.parametrize("program, unit", [(simulator, "collectives"), (analytical, "collectives"), (flows, "flows"),
                                           (collective_perf, "rows"),
                                           pytest.param(physical, "iterations", marks=pytest.mark.real_time)])
def test_a_program_says_how_far_it_is(tmp_path, program, unit):
    name, *words = map(str, program(tmp_path))
    if not (PROGRAMS / name).exists():
        pytest.skip(f"{name} is not built")
    out = tmp_path / "out"
    output = {"SimAI_analytical": "-r_f", "collective-perf": "--output"}.get(name, "-o")
    command = [str(PROGRAMS / name), *words, output, str(out), "--progress-interval", "100ms"]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    if name == "SimAI_phynet":
        command = [shutil.which("mpirun") or "mpirun", "--oversubscribe", "-np", "4", *command]
        env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with (tmp_path / "said").open("w") as said:
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=said)

    def progress():
        assert process.poll() is None, (tmp_path / "said").read_text()
        try:
            found = json.loads((out / "run.json").read_text()).get("progress")
        except FileNotFoundError:
            return None
        return found if found and found["done"] > 0 else None

    try:
        found = wait_until(progress, "progress")
        pattern = rf"\d+ s: ([\d.]+ ms simulated, )?[1-9]\d*( of \d+)? {unit}"
        wait_until(lambda: re.search(pattern, (tmp_path / "said").read_text()), "a line")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(HANGS)
    assert found["unit"] == unit and found["wall_s"] > 0
    assert ("simulated_ns" in found) == (name != "SimAI_phynet")
    assert found["of"] == 0 or found["done"] <= found["of"]
