# SPDX-License-Identifier: GPL-2.0-only
"""links.csv of whole runs: what each link was used for."""
import csv
import json
import os
import pathlib
import subprocess
import sys

import pytest
from script_process import run_script
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import run_directory  # noqa: E402


def links(directory):
    with (directory / "links.csv").open(newline="") as file:
        return {(int(row["node"]), int(row["peer"])): row for row in csv.DictReader(file)}


def run(program, *arguments, environment=None):
    result = subprocess.run([PROGRAMS / program, *map(str, arguments)], capture_output=True, text=True,
                            timeout=HANGS, env={**os.environ, **(environment or {})})
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("network", ["packet", "flow"])
def test_links_name_the_collectives_that_used_them(tmp_path, network):
    # TP inside the servers of two over NVLink, DP between GPUs 0 and 2, and 1 and 3, over the switch.
    topology = tmp_path / "topology"
    topology.write_text(run_directory.TOPOLOGY)
    workload = tmp_path / "job.txt"
    workload.write_text(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4 "
        "checkpoints: 0 checkpoint_initiates: 0\n1\n"
        "layer\t-1\t1000\tALLREDUCE_TP\t1048576\t1\tNONE\t0\t1\tALLREDUCE_DP\t1048576\t1\n")
    run("SimAI_simulator", "-w", workload, "-n", topology, "-c", ROOT / "conf/SimAI.conf",
        "-o", tmp_path / "out", "--network", network)
    rows = links(tmp_path / "out")
    assert (rows[0, 4]["used_by"], rows[0, 4]["largest_flows"]) == ("AllReduce TP 100%", "0>1 100%")
    assert (rows[0, 6]["used_by"], rows[0, 6]["largest_flows"]) == ("AllReduce DP 100%", "0>2 100%")
    assert (rows[6, 3]["used_by"], rows[6, 3]["largest_flows"]) == ("AllReduce DP 100%", "1>3 100%")


def test_flows_of_a_file_are_counted_too(tmp_path):
    (tmp_path / "topology").write_text("4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n")
    (tmp_path / "flows").write_text("2\n0 2 3 100 30000 0\n1 2 3 101 10000 0\n")
    run("qbb-flows", "-c", ROOT / "conf/SimAI.conf", "-n", tmp_path / "topology",
        "-f", tmp_path / "flows", "-o", tmp_path / "out")
    row = links(tmp_path / "out")[3, 2]
    assert (row["messages"], row["used_by"]) == ("2", "flows 100%")
    assert row["largest_flows"] == "0>2 75%; 1>2 25%"


def test_packets_and_flows_use_the_same_links(tmp_path):
    # ECMP over four spines, and NVLS inside the servers.
    topology, workload = tmp_path / "topology", tmp_path / "job.txt"
    run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "DCN+", "-g", "16", "-asn", "2",
                "-psn", "4", "-npa", "8"], cwd=tmp_path, check=True)
    (tmp_path / "DCN+SingleToR_16g_8gps_400Gbps_H100").rename(topology)
    workload.write_text(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 16 "
        "checkpoints: 0 checkpoint_initiates: 0\n1\n"
        "layer\t-1\t1000\tALLREDUCE_TP\t4194304\t1\tNONE\t0\t1\tALLREDUCE_DP\t1048576\t1\n")
    found = []
    for network in ("packet", "flow"):
        run("SimAI_simulator", "-w", workload, "-n", topology, "-c", ROOT / "conf/SimAI.conf",
            "-o", tmp_path / network, "--network", network, environment={"AS_NVLS_ENABLE": "1"})
        found.append({link: (row["messages"], row["used_by"], row["largest_flows"])
                      for link, row in links(tmp_path / network).items()})
    assert found[0] == found[1]
    assert found[0][0, 16][1] == "AllReduce TP 100%"  # NVLS: GPU 0 to its NVSwitch
    assert sum(use[1] == "AllReduce DP 100%" for use in found[0].values()) > 2 * 16


def test_spread_messages_are_counted_evenly_by_both_networks(tmp_path):
    # Leaves 4 and 5 with two hosts each, spines 6 to 8; host 0 sends ten frames to host 2.
    links_of = [(0, 4), (1, 4), (2, 5), (3, 5), *((leaf, spine) for leaf in (4, 5) for spine in (6, 7, 8))]
    (tmp_path / "topology").write_text(
        f"9 1 0 5 {len(links_of)} H100\n4 5 6 7 8 \n" +
        "".join(f"{a} {b} 100Gbps 0.001ms 0\n" for a, b in links_of))
    (tmp_path / "flows").write_text("1\n0 2 3 100 90000 0\n")
    (tmp_path / "micro").write_text("1 ALLREDUCE 1 DP\n")
    for network in ("packet", "flow"):
        run("SimAI_simulator", "-w", tmp_path / "micro", "-n", tmp_path / "topology",
            "-c", ROOT / "conf/SimAI.conf", "--set", "ROUTING=spray", "--network", network,
            "--background-flows", tmp_path / "flows", "-o", tmp_path / network)
        rows = links(tmp_path / network)
        for spine in (6, 7, 8):
            assert "background flows" in rows[4, spine]["used_by"], network
            assert "0>2" in rows[spine, 5]["largest_flows"], network


def test_packets_and_flows_split_a_flow_over_the_same_queue_pairs(tmp_path):
    """No part of a flow is shorter than a frame, so that its source ports, by which ECMP chooses, are the same."""
    (tmp_path / "topology").write_text("4 2 3\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n")
    (tmp_path / "w").write_text("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 "
                                "all_gpus: 2 checkpoints: 0 "
                                "checkpoint_initiates: 0\n1\na -1 1000000 NONE 0 1000 NONE 0 1000 NONE 0 100\n")
    (tmp_path / "flows").write_text("3\n0 1 3 100 9000 0\n0 1 3 100 100 0\n1 0 3 100 100003 0\n")
    rows, sent = {}, {}
    for network in ("packet", "flow"):
        run("SimAI_simulator", "-q", "-w", tmp_path / "w", "-n", tmp_path / "topology", "-c", ROOT / "conf/SimAI.conf",
            "-o", tmp_path / network, "--network",
            network, "--background-flows", tmp_path / "flows", "--set", "QPS_PER_CONNECTION=5", "--set",
            "PACKET_PAYLOAD_SIZE=4096")
        rows[network] = sorted(line.split()[:5] for line in (tmp_path / network / "fct.txt").read_text().splitlines())
        sent[network] = {link: (row["messages"], row["tx_bytes"]) for link, row in links(tmp_path / network).items()}
    assert rows["packet"] == rows["flow"] and len(rows["flow"]) == 3 + 1 + 5
    assert sent["packet"] == sent["flow"]


def test_totals_of_ports_are_those_of_the_run(tmp_path):
    """Marks, losses and pauses after the end of the last flow count, too."""
    (tmp_path / "topology").write_text("10 1 9\n9\n"
                                       + "".join(f"{host} 9 100Gbps {1 + host % 3}us 0\n" for host in range(9)))
    (tmp_path / "flows").write_text("8\n" + "".join(f"{host} 0 3 100 {500_000 + 1000 * host} 0\n"
                                                    for host in range(1, 9)))
    (tmp_path / "conf").write_text("CC_MODE 1\nENABLE_QCN 1\nKMIN_MAP 1 100000000000 5\nKMAX_MAP 1 100000000000 20\n"
                                   "PMAX_MAP 1 100000000000 1\n"
                                   "BUFFER_SIZE 2\nNIC_TOTAL_PAUSE_TIME 10\n")
    run("qbb-flows", "-q", tmp_path / "conf", "-n", tmp_path / "topology", "-f", tmp_path / "flows", "-o",
        tmp_path / "out")
    record = json.loads((tmp_path / "out/run.json").read_text())
    rows = links(tmp_path / "out").values()
    assert record["ecn_marks"] > 0 and sum(int(row["ecn_marks"]) for row in rows) == record["ecn_marks"]
    assert record["paused_ns"] > 0 and sum(float(row["pause_ns"]) for row in rows) == pytest.approx(record["paused_ns"])
