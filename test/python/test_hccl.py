# SPDX-License-Identifier: GPL-2.0-only
"""Servers of Ascend's NPUs: what the generator makes, and HCCL's collectives on them against closed forms and between
networks."""
import os
import pathlib
import re
import subprocess

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin"))
ROW = re.compile(r"^ +(\d+) +\d+ +\w+ +\w* +-?\d+ +([\d.e+]+) ", re.MULTILINE)
MIB = 1 << 20
LINK = 18.3e9  # bytes/s of a copy between two 910B
COPY_US = 2.5  # before the bytes of a long one


def generate(path, *flags):
    result = run_script([ROOT / "topologies/gen_Topo_Template.py", "-o", path, "--force", "-topo", "Clos2", *flags])
    assert result.returncode == 0, result.stderr
    return path


def run(test, topology, size, network="packet", **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AS_", "NCCL_"))}
    return subprocess.run([PROGRAMS / test, "-b", str(size), "-e", str(size), "-n", "1", "-w", "0", "--network",
                           network,
                           "--network-topo", topology], env=clean | environment, capture_output=True, text=True,
                          check=False)


def microseconds(test, topology, size, network="packet"):
    result = run(test, topology, size, network)
    assert result.returncode == 0, result.stderr
    return float(ROW.search(result.stdout)[2])


@pytest.fixture(scope="module", name="server")
def one_server(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("hccl") / "server", "-g", "8", "--preset", "Ascend-A2")


@pytest.fixture(scope="module", name="servers")
def two_servers(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("hccl") / "servers", "-g", "16", "--preset", "Ascend-A2")


@pytest.fixture(scope="module", name="dies")
def one_server_of_dies(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("hccl") / "dies", "-g", "16", "--preset", "Ascend-A3")


def test_links_join_every_two_910b_of_a_server_and_a_switch_the_dies_of_910c(server, dies):
    lines = server.read_text().splitlines()
    direct = [line.split() for line in lines[2:] if max(map(int, line.split()[:2])) < 8]
    assert lines[0].split()[2] == "0" and lines[0].split()[5] == "Ascend910B"
    assert len(direct) == 28 and {link[2] for link in direct} == {"224Gbps"}
    lines = dies.read_text().splitlines()
    assert lines[0].split()[1:3] == ["16", "1"] and lines[2].split()[2] == "1568Gbps"


def test_an_all_gather_on_a_mesh_takes_a_block_over_a_link(server):
    ideal = 256 * MIB / 8 / LINK * 1e6 + COPY_US
    assert microseconds("all_gather_perf", server, 256 * MIB) == pytest.approx(ideal, rel=0.01)


def test_an_all_reduce_on_a_mesh_takes_two_blocks_over_a_link(server):
    ideal = 2 * (256 * MIB / 8 / LINK * 1e6 + COPY_US)
    assert microseconds("all_reduce_perf", server, 256 * MIB) == pytest.approx(ideal, rel=0.01)


def test_between_servers_a_pipeline_is_as_fast_as_the_slower_of_links_and_nics(servers):
    # Each NPU takes 8 blocks over a NIC of 25 GB/s, or 8 x 2 blocks over each of its links.
    block = 512 * MIB / 16
    ideal = 2 * block / LINK * 1e6
    assert ideal < microseconds("all_gather_perf", servers, 512 * MIB) < 1.1 * ideal


@pytest.mark.parametrize("size", [64 << 10, 8 * MIB, 256 * MIB])
@pytest.mark.parametrize("test", ["all_reduce_perf", "all_gather_perf", "reduce_scatter_perf", "alltoall_perf",
                                  "broadcast_perf", "reduce_perf", "gather_perf", "sendrecv_perf"])
def test_flows_and_formulas_agree_with_packets_in_a_server(server, test, size):
    packets = microseconds(test, server, size)
    assert microseconds(test, server, size, "flow") == pytest.approx(packets, rel=0.03)
    assert microseconds(test, server, size, "analytical") == pytest.approx(packets, rel=0.1)


@pytest.mark.parametrize("topology", ["servers", "dies"])
@pytest.mark.parametrize("test", ["all_reduce_perf", "all_gather_perf", "alltoall_perf"])
def test_flows_and_formulas_agree_with_packets_between_servers_and_behind_switches(request, topology, test):
    path = request.getfixturevalue(topology)
    packets = microseconds(test, path, 64 * MIB)
    assert microseconds(test, path, 64 * MIB, "flow") == pytest.approx(packets, rel=0.05)
    assert microseconds(test, path, 64 * MIB, "analytical") == pytest.approx(packets, rel=0.2)


def test_nccl_algo_of_nccls_alone_is_one_line(server):
    result = run("all_reduce_perf", server, MIB, NCCL_ALGO="Ring")
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].endswith("no algorithm that is left can carry out AllReduce on Ascend910B, "
                                                   "which NCCL does not "
                                                   "run on; expected NCCL_ALGO unset")
