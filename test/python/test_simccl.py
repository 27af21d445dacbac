# SPDX-License-Identifier: GPL-2.0-only
"""SimCCL from the outside: its transcript, its table of flows, its picture, its errors."""
import csv
import json
import os
import pathlib
import re
import subprocess

import pytest

from test_simulator import servers, workload

from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimCCL"


def simccl(tmp_path, *arguments, env=None):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    return subprocess.run([str(PROGRAM), *map(str, arguments), "-o", str(tmp_path / "out")],
                          env={**clean, **(env or {})}, capture_output=True, text=True, timeout=HANGS, check=False)


def flows(tmp_path):
    with (tmp_path / "out" / "ncclFlowModel_detailed_flows.csv").open(newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def summary(text, label):
    return re.search(rf"^ +{label} +(.*)$", text, re.MULTILINE).group(1)


ONE_RING = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_MAX_NCHANNELS": "1"}


def test_figures_by_which_rccl_chooses_are_no_times(tmp_path):
    """A tree of LL on two servers has 4.2 ms there, and takes a fiftieth."""
    result = simccl(tmp_path, "--op", "AllReduce", "--size", 4 << 20, "--nNodes", 2, "--gpus_per_node", 8, "--gpu_type",
                    "MI300X")
    assert result.returncode == 0 and "RCCL's rating" in result.stdout and "estimate" not in result.stdout


def test_a_ring_on_a_topology_in_full(tmp_path):
    n = servers(tmp_path / "n.txt", 2, gpus=4)
    result = simccl(tmp_path, "--op", "AllReduce", "--size", 65536, "-n", n, env=ONE_RING)
    assert result.returncode == 0, result.stderr
    # 8 ranks send a chunk of 8 KiB in each of 14 steps; 2 of the ring's 8 edges join the nodes.
    text = re.sub(r"\d+\.\d{3} us", "T us", result.stdout)
    assert text == (
        "AllReduce of 65536 bytes, group all: 8 ranks on 2 nodes\n"
        "  choice         Ring, Simple, 1 channels\n"
        "  NCCL's estimate T us\n"
        "  flows          112\n"
        f"  NVLink bytes   {6 * 14 * 8192}\n"
        f"  network bytes  {2 * 14 * 8192}, 0 across rails\n"
        f"    RING         112 flows, {112 * 8192} bytes\n"
        "  steps          14\n"
        "  time           T us on an idle network\n"
        f"written: {tmp_path}/out/ncclFlowModel_detailed_flows.csv and {tmp_path}/out/ncclFlowModel_flows.dot\n")
    rows = flows(tmp_path)
    assert list(rows[0]) == ["flow_id", "src", "dest", "flow_size", "prev", "parallel_deps", "child_flow_id",
                             "channel_id", "chunk_id", "chunk_count", "conn_type"]
    assert len(rows) == 112
    for number, row in enumerate(rows):
        assert int(row["flow_id"]) == number
        assert (row["channel_id"], row["chunk_count"], row["conn_type"]) == ("0", "14", "RING")
        assert int(row["flow_size"]) == 8192
        parents = [rows[int(parent)] for parent in row["parallel_deps"].split()]
        # The first chunk of a rank waits for nobody, each other one for what arrived before it.
        assert len(parents) == (0 if row["chunk_id"] == "0" else 1)
        assert [parent["src"] for parent in parents] == row["prev"].split()
        assert all(parent["dest"] == row["src"] and row["flow_id"] in parent["child_flow_id"].split()
                   for parent in parents)
    dot = (tmp_path / "out" / "ncclFlowModel_flows.dot").read_text()
    assert dot.startswith("digraph") and dot.count("[label=") == 112
    assert dot.count(" -> f") == sum(len(row["child_flow_id"].split()) for row in rows) == 8 * 13


@pytest.mark.parametrize("op, size", [("AllReduce", 65536), ("AllReduce", 4 << 20), ("AllToAll", 1 << 20)])
def test_the_time_is_that_of_a_simulation_with_flows(tmp_path, op, size):
    n = servers(tmp_path / "n.txt", 2, gpus=4)
    result = simccl(tmp_path, "--op", op, "--size", size, "-n", n)
    assert result.returncode == 0, result.stderr
    (tmp_path / "w").write_text(f"1 {op.upper()} {size} DP\n")
    done = subprocess.run([PROGRAM.parent / "SimAI_simulator", "-w", "w", "-n", n, "-c", ROOT / "conf/SimAI.conf",
                           "--network", "flow", "-q", "--tp", "1",
                           "-o", "run"], cwd=tmp_path, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0, done.stderr
    simulated = json.loads((tmp_path / "run/run.json").read_text())["simulated_ns"] / 1e3
    assert summary(result.stdout, "time") == f"{simulated:.3f} us on an idle network"


def test_a_workloads_collectives_one_after_the_other(tmp_path):
    w = workload(tmp_path / "w.txt", 16, [("a", "ALLREDUCE", 65536, "ALLGATHER", 32768),
                                          ("b", "ALLREDUCE", 65536, "NONE", 0)], tp=8)
    result = simccl(tmp_path, "-w", w, "-n", servers(tmp_path / "n.txt", 2), env=ONE_RING)
    assert result.returncode == 0, result.stderr
    titles = [line for line in result.stdout.splitlines() if not line.startswith(" ")]
    assert titles == ["AllReduce of 65536 bytes, group TP0: 8 ranks on 1 nodes",
                      "AllGather of 32768 bytes, group DP0: 2 ranks on 2 nodes",
                      f"written: {tmp_path}/out/ncclFlowModel_detailed_flows.csv"]
    table = (tmp_path / "out" / "ncclFlowModel_detailed_flows.csv").read_text()
    assert "# AllReduce 65536 TP0\n" in table and "# AllGather 32768 DP0\n" in table
    # Two ranks exchange their halves over the network.
    assert result.stdout.count("network bytes  32768, 0 across rails") == 1
    assert not (tmp_path / "out" / "ncclFlowModel_flows.dot").exists()


@pytest.mark.parametrize("arguments, env, types", [
    (("--op", "AllReduce", "--nNodes", 2), {"NCCL_ALGO": "Ring"}, {"RING"}),
    (("--op", "AllReduce", "--nNodes", 2), {"NCCL_ALGO": "Tree"}, {"TREE"}),
    (("--op", "AllReduce"), {"NCCL_ALGO": "NVLS", "AS_NVLS_ENABLE": "1"}, {"NVLS"}),
    (("--op", "AllReduce", "--nNodes", 2), {"NCCL_ALGO": "NVLSTree", "AS_NVLSTREE_ENABLE": "1"}, {"NVLS", "TREE"}),
    (("--op", "AllReduce", "--nNodes", 2), {"NCCL_ALGO": "CollNetDirect", "NCCL_COLLNET_ENABLE": "1"}, {"COLLNET"}),
    (("--op", "AllReduce", "--nNodes", 2), {"NCCL_ALGO": "CollNetChain", "NCCL_COLLNET_ENABLE": "1"}, {"COLLNET"}),
    (("--op", "AllToAll", "--nNodes", 2, "--nRanks", 12), {"NCCL_PXN_DISABLE": "0"},
     {"PXN_INIT", "NET", "PXN_FINAL", "P2P"}),
    (("--op", "AllGather", "--nNodes", 4, "--gpus_per_node", 1), {"NCCL_ALGO": "PAT"}, {"NET"}),
    (("--op", "Gather", "--root", 3), {}, {"P2P"}),
    (("--op", "Scatter", "--root", 3), {}, {"P2P"}),
    (("--op", "Barrier", "--nNodes", 2), {"NCCL_ALGO": "Ring"}, {"RING"}),
])
def test_connections_are_of_the_kinds_that_the_algorithm_makes(tmp_path, arguments, env, types):
    result = simccl(tmp_path, "--size", 1 << 20, *arguments, env=env)
    assert result.returncode == 0, result.stderr
    rows = flows(tmp_path)
    assert {row["conn_type"] for row in rows} == types
    size = {name: int(s) for name, s in re.findall(r"^    (\w+) +\d+ flows, (\d+) bytes$", result.stdout, re.MULTILINE)}
    assert set(size) == types
    assert sum(size.values()) == sum(int(row["flow_size"]) for row in rows)


@pytest.mark.parametrize("words, message", [
    (["--nNodes", 10**8], "--nNodes 100000000 with 8 GPUs each; expected at most 10000000 GPUs"),
    (["--op", "AllReduc"], "unknown --op AllReduc; expected a collective that --help lists; the nearest is AllReduce"),
    (["--gpu_type", "h100"], "; the nearest is H100"),
    (["--nic", "1e300"], "--nic is 1e300; expected Gb/s, from 0.000001 to 10000000"),
])
def test_what_no_machine_has_is_refused(tmp_path, words, message):
    result = simccl(tmp_path, *words)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1) and message in result.stderr


@pytest.mark.parametrize("words, flag", [(["--root", 3], "--root"), (["--op", "Barrier", "--size", 8], "--size")])
def test_flags_without_effect_are_told(tmp_path, words, flag):
    result = simccl(tmp_path, *words)
    assert result.returncode == 0 and result.stderr.startswith(f"warning: {flag} has no effect: ")
    assert simccl(tmp_path, "--op", "Broadcast", "--root", 3).stderr == ""


def test_more_ranks_than_gpus_are_refused(tmp_path):
    n = servers(tmp_path / "n.txt", 1, gpus=4)
    result = simccl(tmp_path, "-n", n, "--nRanks", 5)
    assert result.returncode == 2 and "5 ranks on 4 GPUs" in result.stderr
    w = workload(tmp_path / "w.txt", 8, [("a", "ALLREDUCE", 65536, "NONE", 0)], tp=8)
    result = simccl(tmp_path, "-n", n, "-w", w)
    assert result.returncode == 2 and "8 ranks on 4 GPUs" in result.stderr


def test_gather_brings_the_root_every_other_ranks_part(tmp_path):
    assert simccl(tmp_path, "--op", "Gather", "--size", 8000, "--root", 3).returncode == 0
    rows = flows(tmp_path)
    assert {row["dest"] for row in rows} == {"3"}
    assert sorted(int(row["src"]) for row in rows) == [0, 1, 2, 4, 5, 6, 7]
    assert {row["flow_size"] for row in rows} == {"1000"}


def test_alltoallv_takes_its_bytes_from_a_file(tmp_path):
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("0 5 0\n7 0 0\n0 9 1\n")
    result = simccl(tmp_path, "--op", "AllToAllV", "--nRanks", 3, "--pairs", pairs)
    assert result.returncode == 0, result.stderr
    assert {(r["src"], r["dest"], r["flow_size"]) for r in flows(tmp_path)} == \
        {("0", "1", "5"), ("1", "0", "7"), ("2", "1", "9")}
    pairs.write_text("0 5 0\n7 0\n")
    result = simccl(tmp_path, "--op", "AllToAllV", "--nRanks", 3, "--pairs", pairs)
    assert result.returncode == 2 and "pairs.txt:2" in result.stderr


def test_gpu_types_come_from_a_table(tmp_path):
    table = tmp_path / "gpus.yaml"
    table.write_text("MyGpu: {generation: Blackwell, channel_gbps: 45, usable_gbps: 720}\n")
    ask = ("--gpu_type", "MyGpu", "--size", 1 << 20)
    result = simccl(tmp_path, *ask)
    assert result.returncode == 2 and "unknown --gpu_type MyGpu" in result.stderr and "GB200" in result.stderr
    assert simccl(tmp_path, *ask, "--gpu-table", table).returncode == 0
    assert simccl(tmp_path, *ask, env={"AS_GPU_TABLE": str(table)}).returncode == 0
    table.write_text("# types\nMyGpu: {generation: Blackwell, channel_gbps: 45}\n")
    result = simccl(tmp_path, *ask, "--gpu-table", table)
    assert result.returncode == 2 and "gpus.yaml:2" in result.stderr


@pytest.mark.parametrize("gpus", [36, 72])
def test_nvlink_domains_of_36_and_72_gpus(tmp_path, gpus):
    size = 32 * 65536
    result = simccl(tmp_path, "--op", "AllReduce", "--size", size, "--gpus_per_node", gpus, "--gpu_type", "GB200",
                    env={"NCCL_ALGO": "NVLS", "AS_NVLS_ENABLE": "1"})
    assert result.returncode == 0, result.stderr
    # All data up once from each GPU; 32 heads share the sums; all data down to each GPU.
    assert summary(result.stdout, "NVLink bytes") == str(size * (gpus + 1 + 1 + gpus))
    assert summary(result.stdout, "network bytes") == "0, 0 across rails"
    result = simccl(tmp_path, "--op", "AllReduce", "--size", size, "--gpus_per_node", gpus, "--gpu_type", "GB200",
                    env=ONE_RING)
    assert summary(result.stdout, "steps") == str(2 * (gpus - 1))
    assert summary(result.stdout, "NVLink bytes") == str(2 * (gpus - 1) * size)
