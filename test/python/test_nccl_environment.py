# SPDX-License-Identifier: GPL-2.0-only
"""NCCL's environment variables, as SimCCL shows their effect."""
import csv
import os
import pathlib
import re
import subprocess

import pytest

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
    ({"NCCL_ALGO": "^Tree", "NCCL_PROTO": "^LL,LL128"}, ("Ring", "Simple", "16")),
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
