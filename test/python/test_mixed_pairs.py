# SPDX-License-Identifier: GPL-2.0-only
"""Prompts computed on one kind of GPU and output on another, in servers of two kinds, simulated end to end."""
import csv
import os
import pathlib
import re
import subprocess

import pytest
from script_process import run_script

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SIMULATOR = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
REQUESTS = 4


@pytest.fixture(scope="module")
def fabrics(tmp_path_factory):
    """Two servers on a fabric, and the same with NICs of 100 Gb/s in the second one."""
    folder = tmp_path_factory.mktemp("fabrics")
    done = run_script([REPOSITORY / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "16", "-gt", "H100",
                       "-bw", "400Gbps", "--fit", "-o", str(folder / "alike")])
    assert done.returncode == 0, done.stderr
    text = (folder / "alike").read_text()
    (folder / "mixed").write_text(re.sub(r"^((?:8|9|1[0-5]) \d+) 400Gbps", r"\1 100Gbps", text, flags=re.M))
    return folder


@pytest.fixture(scope="module")
def served(fabrics, tmp_path_factory):
    """@return a function of the GPUs that prefill and decode, and of the fabric: the times of requests one by one"""
    folder = tmp_path_factory.mktemp("served")

    def serve(prefill, decode, fabric):
        name = f"{prefill}-{decode}-{fabric}"
        done = run_script([
            REPOSITORY / "scripts/workload.py", "--inference", "--model_name", "llama3_70b", "--num_layers", "8",
            "--prefill_gpus", "8", "--decode_gpus", "8", "--tp", "8", "--prefill_gpu_type", prefill,
            "--decode_gpu_type", decode, "--kv_transfer", "whole", "--requests", str(REQUESTS), "--rate", "0.5",
            "--prompt_tokens", "4000", "--output_tokens", "20", "-o", str(folder), "--name", name])
        assert done.returncode == 0, done.stderr
        subprocess.run([SIMULATOR, "-w", folder / f"{name}.txt", "-n", fabrics / fabric,
                        "-c", REPOSITORY / "conf/SimAI.conf", "--network", "flow", "--quiet", "-o", folder / name],
                       check=True)
        with (folder / name / "requests.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == REQUESTS
        return {key: [float(row[f"{key}_us"]) for row in rows] for key in ("prefill", "transfer", "decode")}

    return serve


def test_each_side_takes_the_time_of_its_own_gpus(served):
    mixed, h100, h20 = served("H100", "H20", "alike"), served("H100", "H100", "alike"), served("H20", "H20", "alike")
    assert mixed["prefill"] == h100["prefill"]
    assert mixed["decode"] == h20["decode"]
    # An H20 has 148 of an H100's 989 TFLOP/s, and 4.0 of its 3.35 TB/s.
    assert h20["prefill"][0] > 3 * mixed["prefill"][0]
    assert mixed["decode"][0] < h100["decode"][0]


def test_caches_take_the_time_of_the_slower_nics(served):
    # Keys and values of 4,000 tokens, 8 layers and 8 heads of 128 numbers; a head each goes from rank to rank.
    bits = 8 * 4000 * 8 * 2 * 128 * 2
    for fabric, rate in (("alike", 400e9), ("mixed", 100e9)):
        for transfer in served("H100", "H20", fabric)["transfer"]:
            assert transfer == pytest.approx(bits / rate * 1e6, rel=0.05)
