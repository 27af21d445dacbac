# SPDX-License-Identifier: GPL-2.0-only
"""NCCL's environment variables, as SimCCL shows their effect."""
import csv
import os
import pathlib
import re
import subprocess

import pytest
from script_process import run_script
from waiting import HANGS

PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimCCL"


def simccl(tmp_path, op="AllReduce", size=1 << 22, nodes=2, gpu_type="H100", **env):
    """@return the choice (algorithm, protocol, channels) and the flows"""
    result = subprocess.run([PROGRAM, "--op", op, "--size", str(size), "--nRanks", str(8 * nodes),
                             "--nNodes", str(nodes), "--gpus_per_node", "8", "--gpu_type", gpu_type,
                             "-o", tmp_path],
                            capture_output=True, text=True, env={**os.environ, **env})
    assert result.returncode == 0, result.stderr
    choice = re.search(r"choice +(\w+), (\w+), (\d+) channels", result.stdout)
    with (tmp_path / "ncclFlowModel_detailed_flows.csv").open(newline="") as file:
        return choice.groups(), list(csv.DictReader(file))


@pytest.mark.parametrize("env, choice", [
    ({"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}, ("Ring", "Simple", "16")),
    ({"NCCL_ALGO": "Tree", "NCCL_PROTO": "LL128"}, ("Tree", "LL128", "16")),
    ({}, ("NVLSTree", "Simple", "16")),
    ({"NCCL_NVLS_ENABLE": "0"}, ("Tree", "LL128", "16")),
    ({"AS_NVLSTREE_ENABLE": "0"}, ("Tree", "LL128", "16")),
    ({"NCCL_ALGO": "^Tree,NVLSTree", "NCCL_PROTO": "^LL,LL128"}, ("Ring", "Simple", "16")),
    ({"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_MAX_NCHANNELS": "4"}, ("Ring", "Simple", "4")),
    ({"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_MIN_NCHANNELS": "24"}, ("Ring", "Simple", "24")),
    ({"NCCL_SELECT": "rules"}, ("Ring", "Simple", "16")),
])
def test_choices_follow_the_environment(tmp_path, env, choice):
    assert simccl(tmp_path, **env)[0] == choice


def test_flows_are_those_of_the_channels_that_remain(tmp_path):
    _, flows = simccl(tmp_path, NCCL_ALGO="Ring", NCCL_MAX_NCHANNELS="3")
    assert {flow["channel_id"] for flow in flows} == {"0", "1", "2"}


def hops_between_nodes(flows):
    return {(int(flow["src"]), int(flow["dest"])) for flow in flows
            if int(flow["src"]) // 8 != int(flow["dest"]) // 8}


def test_cross_nic_decides_where_rings_leave_a_node(tmp_path):
    ring = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}
    _, flows = simccl(tmp_path, **ring, NCCL_CROSS_NIC="1")
    assert all(src % 8 == dst % 8 for src, dst in hops_between_nodes(flows))
    _, flows = simccl(tmp_path, **ring, NCCL_CROSS_NIC="0")
    # Every node is walked alike: in at one GPU, out at the next.
    assert all(src % 8 == (dst + 1) % 8 for src, dst in hops_between_nodes(flows))


@pytest.mark.parametrize("cross_nic, stays_on_rails", [("0", False), ("1", True), ("2", True), (None, True)])
def test_rings_pass_a_rail_only_network_unless_cross_nic_is_0(tmp_path, cross_nic, stays_on_rails):
    root = pathlib.Path(__file__).resolve().parents[2]
    run_script([root / "topologies/gen_Topo_Template.py", "-topo", "RailOnly", "-g", "16", "-gt", "H100",
                "-bw", "400Gbps", "-o", tmp_path], check=True)
    topology, = tmp_path.glob("RailOnly_*")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AS_", "NCCL_"))}
    clean |= {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"} | ({"NCCL_CROSS_NIC": cross_nic} if cross_nic else {})
    result = subprocess.run([PROGRAM.parent / "collective-perf", "all_reduce_perf", "-b", "1M", "-e", "1M", "-n", "1",
                             "-w",
                             "0", "--network", "flow", "--network-topo", topology], env=clean, capture_output=True,
                            text=True, timeout=HANGS, check=False)
    assert (result.returncode == 0) == stays_on_rails, result.stderr
    assert stays_on_rails or "meet only in another GPU's NVLink" in result.stderr


def test_a_topology_of_an_unknown_gpu_type_is_refused(tmp_path):
    (tmp_path / "n.txt").write_text("# two of a kind\n3 1 0 1 2 V100\n2 \n0 2 100Gbps 0.001ms 0\n"
                                    "1 2 100Gbps 0.001ms 0\n")
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 1024 TP\n")
    command = [PROGRAM.parent / "SimAI_simulator", "-w", "w.txt", "-n", "n.txt", "-c",
               pathlib.Path(__file__).resolve().parents[2] / "conf/SimAI.conf", "--tp", "2", "-o", "out"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("n.txt:2: 'V100' is not a known GPU type; expected one of A100, ")
    assert "--gpu-table" in result.stderr and result.stderr.count("\n") == 1
    (tmp_path / "gpus.yaml").write_text("V100: {generation: Ampere, channel_gbps: 20, usable_gbps: 120}\n")
    result = subprocess.run([*command, "--gpu-table", "gpus.yaml"], cwd=tmp_path, capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, result.stderr


def test_nvls_must_be_there_where_it_is_required(tmp_path):
    def ask(**env):
        return subprocess.run([PROGRAM, "--op", "AllReduce", "--size", "1024", "--nRanks", "8", "--nNodes", "1",
                               "--gpus_per_node", "8", "--gpu_type", "A100", "-o", tmp_path], capture_output=True,
                              text=True, check=False, env={**os.environ, **env})
    assert ask(NCCL_NVLS_ENABLE="2").returncode == 0
    result = ask(NCCL_NVLS_ENABLE="1")
    assert result.returncode == 2 and "NCCL_NVLS_ENABLE is '1'" in result.stderr
    assert ask(NCCL_NVLS_ENABLE="3").returncode == 2


def test_the_kind_of_network_sets_latency_and_rate(tmp_path):
    lines = [f"{gpu} {16 + gpu // 8} 2880Gbps 0.000025ms 0\n{gpu} 18 200Gbps 0.0005ms 0\n" for gpu in range(16)]
    (tmp_path / "n.txt").write_text("19 8 2 1 32 H100\n16 17 18 \n" + "".join(lines))
    (tmp_path / "w.txt").write_text("1 ALLGATHER 1024 TP\n1 ALLGATHER 268435456 TP\n")

    def times(*flags, **env):
        result = subprocess.run([PROGRAM.parent / "SimAI_simulator", "-w", "w.txt", "-n", "n.txt", "--tp", "16", "-o",
                                 "out", "--network", "flow", *flags], cwd=tmp_path, capture_output=True, text=True,
                                check=False, env={**os.environ, "NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", **env})
        assert result.returncode == 0, result.stderr
        with (tmp_path / "out/collectives.csv").open(newline="") as file:
            return [float(row["end_ns"]) - float(row["start_ns"]) for row in csv.DictReader(file)]
    plain, kind = times(), times("--network-kind", "tcpxo")
    # Data cross the network twice on their way round. A rank passes 15 chunks on, of which Simple's buffers let 4 be
    # under way at once: the last waits for 3 others, one after the other.
    assert 2 * 20000 <= kind[0] - plain[0] <= 4 * 20000
    # 15/16 of the data leave a server by 8 NICs that reach 0.95 of 25 GB/s, headers and acknowledgements not counted.
    alone = 268435456 * 15 / 16 / (8 * 25 * 0.95)
    assert alone < kind[1] < 1.1 * alone
    assert times(AS_NETWORK_KIND="TCPXO") == kind
    assert times("--network-kind", "none", AS_NETWORK_KIND="TCPXO") == plain, "a flag wins"
    result = subprocess.run([PROGRAM.parent / "SimAI_simulator", "-w", "w.txt", "-n", "n.txt", "--network-kind", "x"],
                            cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 2 and "--network-kind is 'x'; expected one of none, InfiniBand" in result.stderr
    (tmp_path / "kinds.yaml").write_text("- {name: Mine, like: TCPXO, efficiency: 0.475}\n")
    own = times("--network-kind", "mine", "--network-table", "kinds.yaml")
    assert 2 * alone < own[1] < 2.2 * alone, "half of TCPXO's rate"
    assert times(AS_NETWORK_KIND="Mine", AS_NETWORK_TABLE="kinds.yaml") == own


@pytest.mark.parametrize("rows, flags, message", [
    ("- {name: Mine, step_us: fast}\n", ("--network-kind", "Mine"),
     "kinds.yaml:1: step_us is 'fast'; expected a number from 0"),
    ("- {name: Mine}\n", ("--network-kind", "Yours"), "--network-kind is 'Yours'; expected one of none"),
    ("- {name: Mine}\n", (), "--network-table kinds.yaml; expected --network-kind with the name of a row"),
])
def test_a_wrong_table_of_kinds_is_refused_in_one_line(tmp_path, rows, flags, message):
    (tmp_path / "kinds.yaml").write_text(rows)
    result = subprocess.run([PROGRAM.parent / "SimAI_simulator", "-w", "w.txt", "-n", "n.txt", "--network-table",
                             "kinds.yaml", *flags],
                            cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 2 and message in result.stderr and result.stderr.count("\n") == 1
