# SPDX-License-Identifier: GPL-2.0-only
"""Switches and planes of a dual-plane AlibabaHPN that go down while a collective runs."""
import csv
import json
import os
import pathlib
import re
import subprocess

import pytest
from script_process import run_script
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", "bin")) / "SimAI_simulator"
CONF = ROOT / "conf/SimAI.conf"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="SimAI_simulator is not built")

# 64 GPUs in two segments of four servers: NVSwitches 64..71, then eight ASWs per segment and plane.
PLANE_1, PLANE_2 = range(72, 88), range(88, 104)
SPINES_1, SPINES_2 = range(104, 112), range(112, 120)
NETWORKS = ("packet", "flow")
WORKLOAD = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 "
            "all_gpus: 64 checkpoints: 0 checkpoint_initiates: 0\n1\n"
            "layer\t-1\t1000\tNONE\t0\t1\tNONE\t0\t1\tALLREDUCE\t8388608\t1\n")


@pytest.fixture(scope="module")
def topology(tmp_path_factory):
    folder = tmp_path_factory.mktemp("topology")
    run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "AlibabaHPN", "--dp",
                "-g", "64", "-asn", "32", "-psn", "16", "-npa", "4"], cwd=folder, check=True)
    [path] = folder.iterdir()
    kinds = {}
    lines = path.read_text().splitlines()
    assert lines[0].split()[0] == "120"
    for line in lines[2:]:
        a, b = map(int, line.split()[:2])
        kinds.setdefault(b, set()).add(a)
    assert kinds[PLANE_1[0]] == {0, 8, 16, 24} and kinds[PLANE_2[0]] == {0, 8, 16, 24}
    assert kinds[SPINES_1[0]] == set(PLANE_1) and kinds[SPINES_2[0]] == set(PLANE_2)
    return path


def run(folder, topology, down=(), up=(), at=120, again=600, sets=(), network="packet"):
    conf = CONF.read_text() + "".join(f"\nNODE_DOWN {at} {node}" for node in down)
    conf += "".join(f"\nNODE_UP {again} {node}" for node in up) + "\n"
    (folder / "run.conf").write_text(conf)
    (folder / "w.txt").write_text(WORKLOAD)
    result = subprocess.run([str(PROGRAM), "-w", "w.txt", "-n", str(topology), "-c", "run.conf", "-o", "out",
                             "--network", network,
                             *(flag for key in sets for flag in ("--set", key))],
                            cwd=folder, capture_output=True, text=True, timeout=HANGS, check=False)
    record = json.loads((folder / "out/run.json").read_text())
    with (folder / "out/links.csv").open(newline="") as file:
        links = list(csv.DictReader(file))
    return result, record, links


def bytes_of(links, nodes):
    return sum(int(row["tx_bytes"]) for row in links if int(row["node"]) in nodes)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, topology):
    """By network, run.json and links.csv of the run without failures."""
    return {network: run(tmp_path_factory.mktemp(network), topology, network=network)[1:] for network in NETWORKS}


@pytest.mark.parametrize("network, recovery", [("packet", "gbn"), ("packet", "irn"), ("flow", "gbn")])
def test_a_whole_access_switch_goes_down_and_the_run_finishes(tmp_path, topology, undisturbed, network, recovery):
    result, record, links = run(tmp_path, topology, down=PLANE_1[:1], sets=[f"LOSS_RECOVERY={recovery}"],
                                network=network)
    assert result.returncode == 0, result.stderr
    assert record["status"] == "finished"
    assert network == "flow" or record["drops"] > 0, "what was on its wires is lost"
    # Its rail goes on by the other plane's switch.
    before = undisturbed[network][1]
    assert bytes_of(links, {PLANE_1[0]}) < bytes_of(before, {PLANE_1[0]})
    assert bytes_of(links, {PLANE_2[0]}) > bytes_of(before, {PLANE_2[0]})


@pytest.mark.parametrize("network", NETWORKS)
def test_a_whole_plane_goes_down_and_the_run_finishes(tmp_path, topology, undisturbed, network):
    result, record, links = run(tmp_path, topology, down=[*PLANE_1, *SPINES_1], network=network)
    assert result.returncode == 0, result.stderr
    assert record["status"] == "finished"
    was, before = undisturbed[network]
    assert record["simulated_ns"] > was["simulated_ns"], "half of the bandwidth is gone"
    assert bytes_of(links, set(PLANE_1)) < bytes_of(before, set(PLANE_1))
    assert bytes_of(links, set(PLANE_2)) > bytes_of(before, set(PLANE_2))


@pytest.mark.parametrize("network", NETWORKS)
def test_a_plane_that_was_down_from_the_start_carries_nothing(tmp_path, topology, network):
    result, record, links = run(tmp_path, topology, down=[*PLANE_1, *SPINES_1], at=0,
                                sets=["RTO=300"], network=network)
    assert result.returncode == 0, result.stderr
    assert record["status"] == "finished"
    assert bytes_of(links, set(PLANE_1) | set(SPINES_1)) == 0


@pytest.mark.parametrize("network", NETWORKS)
def test_both_planes_of_a_rail_down_ends_with_the_flows_that_have_no_path(tmp_path, topology, network):
    result, record, _ = run(tmp_path, topology, down=[PLANE_1[0], PLANE_2[0]], network=network)
    assert result.returncode == 1
    assert record["status"] == "stuck"
    assert "cannot finish" in result.stderr
    cut_off = {0, 8, 16, 24}
    # Of packets: "queue pair 8->16 10000:100 has 1 bytes left and no path"; of flows:
    what = (r"queue pair (\d+)->(\d+) .* no path" if network == "packet" else
            r"rank (\d+) has \d+ bytes for rank (\d+) (and no path|on their way, over a link that is down)")
    named = re.findall(what, result.stderr)
    assert named
    for source, destination, *_ in named:
        assert cut_off & {int(source), int(destination)}, result.stderr


@pytest.mark.parametrize("network", NETWORKS)
def test_switches_that_come_back_let_a_cut_off_rail_finish(tmp_path, topology, network):
    switches = [PLANE_1[0], PLANE_2[0]]
    result, record, _ = run(tmp_path, topology, down=switches, up=switches, network=network)
    assert result.returncode == 0, result.stderr
    assert record["status"] == "finished" and record["simulated_ns"] > 600_000
    assert network == "flow" or record["timeouts"] > 0


@pytest.mark.parametrize("line, expected", [
    ("NODE_DOWN 5", "NODE_DOWN has 1 values; expected 2: microseconds and a node id"),
    ("NODE_DOWN soon 72", "NODE_DOWN cannot be 'soon'"),
    ("NODE_UP 5 900", "NODE_UP names 900, which no link joins"),
])
def test_bad_node_events_are_refused(tmp_path, topology, line, expected):
    (tmp_path / "run.conf").write_text(line + "\n")
    (tmp_path / "w.txt").write_text(WORKLOAD)
    result = subprocess.run([str(PROGRAM), "-w", "w.txt", "-n", str(topology), "-c", "run.conf", "-o", "out"],
                            cwd=tmp_path, capture_output=True, text=True, timeout=HANGS, check=False)
    assert result.returncode == 2 and expected in result.stderr and "run.conf:1:" in result.stderr


@pytest.mark.parametrize("network", NETWORKS)
def test_a_time_in_another_unit_that_never_falls_due_is_told(tmp_path, topology, network):
    # SimAI's page writes nanoseconds: 1 ms, which is 1 s here.
    result, record, _ = run(tmp_path, topology, sets=[f"LINK_DOWN=1000000 0 {PLANE_1[0]}"], network=network)
    assert result.returncode == 0
    ended = record["simulated_ns"] / 1000
    [warning] = record["warnings"]
    assert warning.startswith(
        f"LINK_DOWN of 0 {PLANE_1[0]} at 1000000 us never fell due: the run ended at {int(ended)}"
    )
    assert f"warning: {warning}" in result.stderr
