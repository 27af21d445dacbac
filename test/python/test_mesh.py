# SPDX-License-Identifier: GPL-2.0-only
"""Servers whose GPUs are linked to each other: what the generator makes, and collectives on it against closed forms and
between networks."""
import csv
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


def generate(path, *flags):
    result = run_script([ROOT / "topologies/gen_Topo_Template.py", "-o", path, "--force", *flags])
    assert result.returncode == 0, result.stderr
    return path


def microseconds(test, topology, size, network="packet", **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AS_", "NCCL_"))}
    result = subprocess.run([PROGRAMS / test, "-b", str(size), "-e", str(size), "-n", "1", "-w", "0", "--network",
                             network,
                             "--network-topo", topology], env=clean | environment, capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, result.stderr
    return float(ROW.search(result.stdout)[2])


@pytest.fixture(scope="module", name="mesh")
def one_mesh(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("mesh") / "mesh", "-topo", "Clos2", "-g", "8", "-gt", "MI300X")


@pytest.fixture(scope="module", name="meshes")
def two_meshes(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("mesh") / "meshes", "-topo", "Clos2", "-g", "16", "-gt", "MI300X")


@pytest.mark.parametrize("topology", ["FatTree", "Clos2", "Clos3 -g 256", "Dragonfly", "Torus", "RailOnly",
                                      "DCN+ -g 64", "AlibabaHPN -g 64"])
def test_every_two_gpus_of_a_server_are_linked_once_on_every_architecture(tmp_path, topology):
    lines = generate(tmp_path / "t", "-topo", *topology.split(), "-gt", "MI355X").read_text().splitlines()
    nodes, per_server, nvswitches, switches = map(int, lines[0].split()[:4])
    gpus = nodes - switches
    assert nvswitches == 0
    direct = [tuple(sorted(map(int, line.split()[:2]))) for line in lines[2:] if max(map(int, line.split()[:2])) < gpus]
    expected = [(a, b) for a in range(gpus) for b in range(a + 1, (a // per_server + 1) * per_server)]
    assert sorted(direct) == expected
    assert run_script([ROOT / "topologies/gen_Topo_Template.py", "--check", tmp_path / "t"]).returncode == 0


@pytest.fixture(scope="module", name="dies")
def one_server_of_dies(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("dies") / "dies", "-topo", "Clos2", "-g", "8", "--preset", "MI250X-4NIC")


@pytest.mark.parametrize("topology", ["FatTree", "Clos2", "Clos3 -g 256", "Dragonfly", "Torus", "RailOnly",
                                      "DCN+ -g 64", "AlibabaHPN -g 64"])
def test_dies_have_their_routers_and_lanes_on_every_architecture(tmp_path, topology):
    path = generate(tmp_path / "t", "-topo", *topology.split(), "-gt", "MI250X")
    lines = path.read_text().splitlines()
    nodes, per_server, nvswitches, switches = map(int, lines[0].split()[:4])
    gpus = nodes - switches - nvswitches
    assert nvswitches == gpus and per_server == 8
    lanes = dict.fromkeys(range(gpus), 0)
    for a, b, rate, *_ in (line.split() for line in lines[2:]):
        a, b = int(a) - gpus, int(b) - gpus
        if 0 <= a < gpus and 0 <= b < gpus:
            assert a // 8 == b // 8
            for die in (a, b):
                lanes[die] += float(rate.removesuffix("Gbps")) / 288
    assert set(lanes.values()) == {6, 7}
    check = run_script([ROOT / "topologies/gen_Topo_Template.py", "--check", path])
    assert check.returncode == 0 and ("rail-only" in check.stdout) == (topology == "RailOnly")
    described = run_script([ROOT / "topologies/gen_Topo_Template.py", "--describe", path]).stdout
    # 12 of a server's 28 pairs of dies have a link: three hops with those to the routers, and four for the others.
    if topology == "Clos2":
        assert f"  3: {gpus // 8 * 12} pairs" in described


def test_servers_of_other_numbers_of_dies_are_refused_and_a_switch_in_their_place_is_not(tmp_path):
    few = run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Clos2", "-g", "8", "-gps", "4", "-gt",
                      "MI250X"])
    assert few.returncode == 2 and "servers of 4 MI250X are not known; expected 8 GPUs (dies) per server" in few.stderr
    star = generate(tmp_path / "star", "-topo", "Clos2", "-g", "8", "-gps", "4", "-gt", "MI250X", "-nsps",
                    "1").read_text().splitlines()
    assert star[0].split()[2] == "2" and star[2].split()[2] == "2016Gbps"  # 7 lanes


def test_a_long_ring_of_dies_has_four_lanes(dies):
    # Each of four rings has a lane of 36 GB/s to itself somewhere.
    for test, steps in (("all_reduce_perf", 14), ("all_gather_perf", 7), ("reduce_scatter_perf", 7)):
        ideal = steps / 8 * 1024 * MIB / (4 * 36e9) * 1e6
        assert microseconds(test, dies, 1024 * MIB) == pytest.approx(1.06 * ideal, rel=0.03)


def test_pairs_of_dies_fill_the_busiest_lane_and_never_wait_in_a_circle(dies):
    # Shortest paths, evenly shared, bring the data of four pairs through a lane (of 32 pairs that have no link of their
    # own); ECMP shares less evenly, and pauses between routers once left packets waiting for each other for ever.
    ideal = 4 * 128 * MIB / 36e9 * 1e6
    assert 0.9 * ideal < microseconds("alltoall_perf", dies, 1024 * MIB) < 1.5 * ideal


@pytest.mark.parametrize("size", [64 << 10, 8 * MIB, 256 * MIB])
@pytest.mark.parametrize("test", ["all_reduce_perf", "all_gather_perf", "alltoall_perf", "broadcast_perf",
                                  "sendrecv_perf"])
def test_flows_and_formulas_agree_with_packets_between_dies(dies, test, size):
    packets = microseconds(test, dies, size)
    assert microseconds(test, dies, size, "flow") == pytest.approx(packets, rel=0.07)
    # Of several lanes on a path formulas count the slowest.
    assert microseconds(test, dies, size, "analytical") == pytest.approx(packets,
        rel=0.15 if test == "alltoall_perf" else 0.05)


@pytest.fixture(scope="module", name="tiers")
def one_server_of_two_tiers(tmp_path_factory):
    """Two NVSwitches with four GPUs each, and two above both with all that these have."""
    links = [(gpu, 8 + gpu // 4, "2880Gbps") for gpu in range(8)] + [(lower, upper, "5760Gbps") for lower in (8, 9)
        for upper in (10, 11)]
    path = tmp_path_factory.mktemp("tiers") / "tiers"
    path.write_text(f"12 8 4 0 {len(links)} H100\n8 9 10 11\n"
                    + "".join(f"{a} {b} {rate} 25ns 0\n" for a, b, rate in links))
    return path


@pytest.mark.parametrize("test", ["all_reduce_perf", "all_gather_perf", "broadcast_perf", "sendrecv_perf"])
@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
def test_two_tiers_of_nvswitches_are_as_fast_as_one(tmp_path, tiers, test, network):
    one = tmp_path / "one"
    one.write_text("9 8 1 0 8 H100\n8\n" + "".join(f"{gpu} 8 2880Gbps 25ns 0\n" for gpu in range(8)))
    # No NVSwitch is linked to all GPUs, so none reduces.
    expected = microseconds(test, one, 256 * MIB, network, NCCL_NVLS_ENABLE="0")
    assert microseconds(test, tiers, 256 * MIB, network) == pytest.approx(expected, rel=0.01)


def test_nvls_over_two_tiers_is_refused(tiers):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("AS_", "NCCL_"))} | {"NCCL_NVLS_ENABLE": "1"}
    result = subprocess.run([PROGRAMS / "all_reduce_perf", "-b", "1M", "-e", "1M", "--network-topo", tiers],
                            env=environment, capture_output=True,
                            text=True, check=False)
    assert (
        result.returncode == 2
        and "the NVSwitches of this machine do not reduce" in result.stderr
        and len(result.stderr.splitlines()) == 1
    )


@pytest.mark.parametrize("network", ["packet", "flow"])
def test_data_of_dies_finds_its_way_where_a_link_between_routers_is_down(tmp_path, dies, network):
    workload = tmp_path / "workload"
    workload.write_text(f"1 ALLREDUCE {64 * MIB} DP\n")
    times = []
    for down in ((), ("--set", "LINK_DOWN 100 8 9")):
        out = tmp_path / f"out{len(down)}"
        result = subprocess.run([PROGRAMS / "SimAI_simulator", "-w", workload, "-n", dies, "-c",
                                 ROOT / "conf/SimAI.conf", "--tp", "1",
                                 "--network", network, "-o", out, *down], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        with (out / "collectives.csv").open(newline="") as file:
            row = next(csv.DictReader(file))
        times.append(float(row["end_ns"]) - float(row["start_ns"]))
    # The data of four lanes take two links, through a third die, that other rings use too. Packets lost there wait for
    # a timeout of 4 ms.
    assert 2 * times[0] < times[1] < 4 * times[0] + (4e6 if network == "packet" else 0)


def test_flags_choose_between_a_mesh_and_nvswitches(tmp_path):
    star = generate(tmp_path / "star", "-topo", "Clos2", "-g", "8", "-gt", "MI300X", "-nsps",
                    "1").read_text().splitlines()
    assert star[0].split()[2] == "1" and star[2].split()[2] == "2688Gbps"  # 7 x 384
    own = generate(tmp_path / "own", "-topo", "Clos2", "-g", "8", "-gt", "H100", "--mesh", "-nvbw",
                   "200Gbps").read_text().splitlines()
    assert own[2].split()[:3] == ["0", "1", "200Gbps"]
    both = run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Clos2", "-g", "8", "--mesh", "-nsps", "1"])
    assert both.returncode == 2 and "contradict each other" in both.stderr


def test_a_long_ring_uses_all_links_of_a_mesh(mesh):
    # Each rank sends 14/8 of the data over 7 links of 48 GB/s, but for what packets' headers and latencies take.
    ideal = 14 / 8 * 1024 * MIB / (7 * 48e9) * 1e6
    assert microseconds("all_reduce_perf", mesh, 1024 * MIB) == pytest.approx(1.03 * ideal, rel=0.03)


def test_pairs_of_a_mesh_have_a_link_each(mesh):
    # 64 MiB for each pair, at 0.85 of the 48 GB/s of a link.
    assert microseconds("alltoall_perf", mesh, 512 * MIB) == pytest.approx(64 * MIB / (0.85 * 48e9) * 1e6, rel=0.05)


@pytest.mark.parametrize("size", [64 << 10, 8 * MIB, 256 * MIB])
@pytest.mark.parametrize("test", ["all_reduce_perf", "all_gather_perf", "alltoall_perf", "broadcast_perf",
                                  "sendrecv_perf"])
def test_flows_and_formulas_agree_with_packets_on_a_mesh(mesh, test, size):
    packets = microseconds(test, mesh, size)
    assert microseconds(test, mesh, size, "flow") == pytest.approx(packets, rel=0.03)
    assert microseconds(test, mesh, size, "analytical") == pytest.approx(packets, rel=0.05)


@pytest.mark.parametrize("test", ["all_reduce_perf", "all_gather_perf", "alltoall_perf"])
def test_flows_and_formulas_agree_with_packets_between_meshes(meshes, test):
    packets = microseconds(test, meshes, 64 * MIB)
    assert microseconds(test, meshes, 64 * MIB, "flow") == pytest.approx(packets, rel=0.03)
    assert microseconds(test, meshes, 64 * MIB, "analytical") == pytest.approx(packets, rel=0.1)


@pytest.mark.parametrize("test", ["all_reduce_perf", "sendrecv_perf", "alltoall_perf"])
def test_a_formula_counts_a_direct_link_once(tmp_path, test):
    """It counted the link twice, at both of its ends: messages took twice as long."""
    pair = tmp_path / "pair"
    pair.write_text("3 2 0 1 3 MI300X\n2\n0 1 384Gbps 25ns 0\n0 2 400Gbps 500ns 0\n1 2 400Gbps 500ns 0\n")
    assert microseconds(test, pair, 64 * MIB, "analytical") == pytest.approx(microseconds(test, pair, 64 * MIB),
        rel=0.01)
