# SPDX-License-Identifier: GPL-2.0-only
"""Caches outside the GPUs: from sizes to blocks, over a simulated network, with fast-forward."""
import csv
import pathlib
import sys

import pytest
from script_process import run_script
from test_formula_reuse import simulate

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.workload.command import inference_command as inference  # noqa: E402

MODEL = ["--inference", "--model_name", "llama3_8b", "--engine", "none", "--world_size", "2", "--tp", "2"]
AGENTS = [*MODEL, "--num_layers", "4", "--requests", "30", "--max_concurrency", "6", "--turns", "3",
          "--prompt_tokens", "1500", "--output_tokens", "10", "--turn_tokens", "200", "--num_gpu_blocks", "300"]


def write(folder, *flags, of=AGENTS):
    inference.run([*of, *flags, "-o", str(folder), "--name", "serve"])
    return (folder / "serve.txt").read_text().splitlines()


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_sizes_are_blocks(tmp_path):
    # 32 layers, 8 heads of 128 numbers, keys and values of 2 bytes: half of them on each of two ranks.
    token = 32 * 8 * 128 * 2 * 2
    lines = write(tmp_path, "--host_cache_gb", "20", "--nvme_cache_gb", "300", "--block_size", "32",
                  "--remote_cache_gpus", "3", "--remote_cache_gb", "500", "--remote_cache_latency_ns", "5000",
                  of=[*MODEL, "--requests", "1", "--rate", "1", "--prompt_tokens", "9", "--output_tokens", "9"])
    assert f"host_cache_blocks {int(20e9 // (32 * token / 2))}" in lines
    assert f"nvme_cache_blocks {int(300e9 // (32 * token / 2))}" in lines
    assert "remote_cache 2-4" in lines and f"remote_cache_blocks {int(500e9 // (32 * token))}" in lines
    assert "remote_cache_latency_ns 5000" in lines


@pytest.mark.parametrize("flags, expected", [
    (["--host_cache_gbps", "5"], "--host_cache_gbps has no effect without --host_cache_gb"),
    (["--cache_load", "whole"], "--cache_load has no effect without"),
    (["--remote_cache_gpus", "2"], "--remote_cache_gpus needs --remote_cache_gb"),
    (["--remote_cache_gb", "2"], "--remote_cache_gb has no effect without --remote_cache_gpus"),
    (["--host_cache_gb", "1e-8"], "has room for 0 blocks"),
    (["--host_cache_gb", "x"], '--host_cache_gb "x" is not valid'),
    (["--host_cache_gb", "2", "--enable_prefix_caching", "0"], "expected --enable_prefix_caching 1")])
def test_says_what_is_wrong(tmp_path, flags, expected):
    with pytest.raises(InputError, match=expected):
        write(tmp_path, *flags)


def test_layers_that_forget_have_no_such_cache(tmp_path):
    with pytest.raises(InputError, match="not modelled; expected no --host_cache_gb"):
        write(tmp_path, "--model_name", "gpt_oss_20b", "--host_cache_gb", "2")


def test_the_pool_shares_the_network_and_fast_forward_changes_nothing(tmp_path):
    """Slower NICs make a user wait longer; the same bytes are read."""
    write(tmp_path, "--host_cache_gb", "0.02", "--remote_cache_gpus", "2", "--remote_cache_gb", "50")
    first, read = [], []
    for rate in ("200Gbps", "10Gbps"):
        found = []
        for name, flags in (("plain", []), ("forward", ["--fast-forward"])):
            topology = tmp_path / f"topology-{rate}"
            if not topology.exists():
                run_script([REPOSITORY / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "4", "-gps",
                            "2", "-gt", "H100", "-bw", rate, "--fit", "-o", topology], check=True)
            out = tmp_path / f"{rate}-{name}"
            run = simulate(out, "-w", tmp_path / "serve.txt", "-n", topology, "--network", "flow", *flags)
            assert run.returncode == 0, run.stderr
            found.append((out / "requests.csv").read_text())
        assert found[0] == found[1]
        times = {row["metric"]: row for row in rows(out / "inference.csv")}
        first.append(float(times["ttft_us"]["mean"]))
        caches = rows(out / "caches.csv")
        read.append([row for row in caches if row["memory"] == "remote"][0])
        assert sum(int(row["hit_blocks"] or 0) for row in caches) == sum(
            (int(row["prompt_tokens"]) - 1) // 16 for row in rows(out / "requests.csv"))
    assert first[1] > 1.2 * first[0]
    assert all(int(row["read_bytes"]) == int(row["hit_blocks"]) * 16 * 4 * 8 * 128 * 2 * 2 for row in read)
    assert all(int(row["hit_blocks"]) > 0 for row in read)
