# SPDX-License-Identifier: GPL-2.0-only
"""NCCL's algorithms on the packet-level network: who sends how many bytes over which links."""
import csv
import json

import pytest

from repeating_job import clos
from test_simulator import CONF, collectives, run, servers, workload


def sent_bytes(tmp_path, out="out"):
    """Bytes that each (node, port) sent, headers included."""
    with (tmp_path / out / "links.csv").open(newline="") as file:
        return {(int(r["node"]), r["port"]): int(r["tx_bytes"]) for r in csv.DictReader(file)}


def test_nvls_tree_crosses_nodes_with_each_heads_share_only(tmp_path):
    size, nodes, gpus = 32 << 20, 2, 8
    w = workload(tmp_path / "w.txt", 16, [("l", "ALLREDUCE", size, "NONE", 0)], tp=16)
    n = servers(tmp_path / "n.txt", nodes, gpus)
    result = run(tmp_path, "-w", w, "-n", n, "-c", CONF,
                 env={"AS_NVLSTREE_ENABLE": "1", "NCCL_ALGO": "NVLSTree"})
    assert result.returncode == 0, result.stderr
    row, = collectives(tmp_path)
    assert (row["algorithm"], row["protocol"]) == ("NVLSTree", "Simple")
    sent = sent_bytes(tmp_path)
    for gpu in range(nodes * gpus):
        # Up to the NVSwitch: all data once, and the share of whose sum it is the head. Such bytes reach 0.92 of what
        # the links carry, so each counts for more.
        assert sent[gpu, "1"] == pytest.approx(size * (1 + 1 / gpus) / 0.92, rel=0.02)
        # On its rail: the head's share, one half up a tree and the other down the other tree.
        assert sent[gpu, "2"] == pytest.approx(size / gpus, rel=0.02)


def test_nvls_tree_needs_an_nvswitch(tmp_path):
    w = workload(tmp_path / "w.txt", 16, [("l", "ALLREDUCE", 1 << 20, "NONE", 0)], tp=16)
    n = servers(tmp_path / "n.txt", 2, gpu_type="A100")
    result = run(tmp_path, "-w", w, "-n", n, "-c", CONF,
                 env={"AS_NVLSTREE_ENABLE": "1", "NCCL_ALGO": "NVLSTree"})
    assert result.returncode == 2 and "NCCL_ALGO" in result.stderr


def test_pairs_leave_each_receiver_to_one_sender(tmp_path):
    """Where all ranks of a server turn to the next server's first rank first, its NIC is the bottleneck, and packets
    are marked."""
    size, ranks, gpus, servers_apart = 16 << 20, 64, 8, 7 / 8
    w = tmp_path / "w.txt"
    w.write_text(f"3 ALLTOALL {size} TP\n")
    result = run(tmp_path, "-w", w, "-n", clos(tmp_path, ranks), "-c", CONF, "--tp", ranks)
    assert result.returncode == 0, result.stderr
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["cnps"] == 0
    headers = 1.01  # of frames of 9,000 bytes
    wire_ns = size * servers_apart * headers / 12.5
    waits_ns = (ranks - gpus) * 3300  # the CPU's thread begins one message after the other
    assert 3 * wire_ns < record["simulated_ns"] < 3 * (wire_ns + waits_ns)


def test_pxn_keeps_alltoall_on_rails(tmp_path):
    size, nodes, gpus = 16 << 20, 2, 8
    ranks = nodes * gpus
    w = workload(tmp_path / "w.txt", ranks, [("l", "ALLTOALL", size, "NONE", 0)], tp=ranks)
    n = servers(tmp_path / "n.txt", nodes, gpus)
    spine_ports = [(ranks + nodes + gpus, str(rail)) for rail in range(1, gpus + 1)]
    spine = {}
    for pxn, env in (("0", {}), ("1", {"AS_PXN_ENABLE": "1"}),
                     ("off", {"AS_PXN_ENABLE": "1", "NCCL_PXN_DISABLE": "1"})):
        result = run(tmp_path, "-w", w, "-n", n, "-c", CONF, env=env, out=pxn)
        assert result.returncode == 0, result.stderr
        row, = collectives(tmp_path, pxn)
        assert row["algorithm"] == ("PXN" if pxn == "1" else "Direct")
        sent = sent_bytes(tmp_path, pxn)
        spine[pxn] = sum(sent.get(port, 0) for port in spine_ports)
        share = size / ranks
        for gpu in range(ranks):
            # NVLink: 7 local peers, and with PXN for 7 of the 8 ranks elsewhere the GPU on their rail.
            assert sent[gpu, "1"] == pytest.approx(share * (14 if pxn == "1" else 7), rel=0.03)
            assert sent[gpu, "2"] == pytest.approx(share * 8, rel=0.03)
    assert spine["0"] == spine["off"] > 0.9 * size * 7 / 16 * ranks
    assert spine["1"] < 0.01 * spine["0"], "only acknowledgements of nothing cross the spine"


@pytest.mark.parametrize("network", ["packet", "flow"])
@pytest.mark.parametrize("algorithm", ["CollNetDirect", "CollNetChain"])
def test_collnet_sends_each_nodes_sum_once_and_gets_the_total_once(tmp_path, algorithm, network):
    size, nodes, gpus = 16 << 20, 4, 8
    ranks = nodes * gpus
    w = workload(tmp_path / "w.txt", ranks, [("l", "ALLREDUCE", size, "NONE", 0)], tp=ranks)
    n = servers(tmp_path / "n.txt", nodes, gpus)
    result = run(tmp_path, "-w", w, "-n", n, "-c", CONF, "--set", "IN_NETWORK_REDUCTION=1",
                 "--network", network, env={"NCCL_COLLNET_ENABLE": "1", "NCCL_ALGO": algorithm})
    assert result.returncode == 0, result.stderr
    row, = collectives(tmp_path)
    assert row["algorithm"] == algorithm
    sent = sent_bytes(tmp_path)
    # A node's NICs send all data once together, whatever the number of nodes; a ring sends 2 (n-1)/n.
    for node in range(nodes):
        nics = sum(sent[node * gpus + gpu, "2"] for gpu in range(gpus))
        assert nics == pytest.approx(size, rel=0.05)
    # Each rail's switch is the top of its tree: it sends its rail's sum to each node.
    rails = range(ranks + nodes, ranks + nodes + gpus)
    down = sum(sent[rail, str(port)] for rail in rails for port in range(1, nodes + 1))
    assert down == pytest.approx(nodes * size, rel=0.05)


def collnet(tmp_path, network, *keys, algorithm="CollNetDirect", flags=()):
    """Results of an AllReduce by each of eight groups, of one GPU of each of eight servers, on a Clos: those of the
    program, and the bytes on each link."""
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 4194304 DP\n")
    out = "-".join([network, *keys])
    sets = [word for key in ("IN_NETWORK_REDUCTION=1", *keys) for word in ("--set", key)]
    n = clos(tmp_path, 64, "--nics_per_leaf", "16")
    result = run(tmp_path, "-w", tmp_path / "w.txt", "-n", n, "-c", CONF, "--tp", 8, "--network", network, *sets,
                 *flags, env={"NCCL_COLLNET_ENABLE": "1", "NCCL_ALGO": algorithm}, out=out)
    assert result.returncode == 0, result.stderr
    record = json.loads((tmp_path / out / "run.json").read_text())
    assert not [warning for warning in record["warnings"] if "has no effect" in warning]
    return record, [row["algorithm"] for row in collectives(tmp_path, out)], sent_bytes(tmp_path, out)


@pytest.mark.parametrize("algorithm", ["CollNetDirect", "CollNetChain"])
def test_flows_and_packets_agree_on_trees_of_switches(tmp_path, algorithm):
    (packets, _, sent), (flows, _, carried) = [collnet(tmp_path, network, algorithm=algorithm)
                                               for network in ("packet", "flow")]
    assert flows["simulated_ns"] == pytest.approx(packets["simulated_ns"], rel=0.02)
    for port in sent.keys() | carried.keys():
        assert carried.get(port, 0) == pytest.approx(sent.get(port, 0), rel=0.02, abs=1e5)


def test_flows_and_packets_agree_on_trees_that_share_links_with_other_traffic(tmp_path):
    (tmp_path / "flows").write_text("8\n" + "".join(f"{host} {(host + 16) % 64} 3 100 8000000 0\n"
                                                    for host in range(1, 64, 8)))
    flags = ["--background-flows", tmp_path / "flows"]
    idle, packets, flows = [collnet(tmp_path, network, flags=more)[0]["simulated_ns"]
                            for network, more in (("flow", ()), ("packet", flags), ("flow", flags))]
    assert packets > 1.1 * idle
    assert flows == pytest.approx(packets, rel=0.05)


@pytest.mark.parametrize("network", ["packet", "flow"])
def test_groups_without_room_at_their_switches_go_on_without_collnet(tmp_path, network):
    """Each leaf is part of the trees of all eight groups."""
    record, algorithms, _ = collnet(tmp_path, network, "IN_NETWORK_TREES=3")
    assert algorithms.count("CollNetDirect") == 3 and algorithms.count("Ring") + algorithms.count("Tree") == 5
    assert any("IN_NETWORK_TREES 3): 5" in warning for warning in record["warnings"])
    assert collnet(tmp_path, network, "IN_NETWORK_TREES=8")[1] == 8 * ["CollNetDirect"]


def test_operations_that_wait_for_places_at_switches_take_turns(tmp_path):
    times = {(network, places): collnet(tmp_path, network, f"IN_NETWORK_OPERATIONS={places}")[0]["simulated_ns"]
             for network in ("packet", "flow") for places in (1, 64)}
    for places in (1, 64):
        assert times["flow", places] == pytest.approx(times["packet", places], rel=0.05)
    # A leaf carries out the operations of eight groups, which have links of their own, one after the other.
    assert times["packet", 1] > 3 * times["packet", 64]


def test_collnet_on_switches_that_do_not_reduce_is_refused(tmp_path):
    w = workload(tmp_path / "w.txt", 16, [("l", "ALLREDUCE", 1 << 20, "NONE", 0)], tp=16)
    result = run(tmp_path, "-w", w, "-n", servers(tmp_path / "n.txt", 2), "-c", CONF,
                 env={"NCCL_COLLNET_ENABLE": "1", "NCCL_ALGO": "CollNetDirect"})
    assert result.returncode == 2
    assert "NCCL_COLLNET_ENABLE" in result.stderr and "IN_NETWORK_REDUCTION" in result.stderr


@pytest.mark.parametrize("algorithm", ["NVLS", "Ring"])
def test_a_domain_of_72_gpus_behind_one_nvswitch(tmp_path, algorithm):
    size, gpus = 32 << 16, 72
    w = workload(tmp_path / "w.txt", gpus, [("l", "ALLREDUCE", size, "NONE", 0)], tp=gpus)
    n = servers(tmp_path / "n.txt", 1, gpus, nvlink="7200Gbps", gpu_type="GB200")
    result = run(tmp_path, "-w", w, "-n", n, "-c", CONF, env={"AS_NVLS_ENABLE": "1", "NCCL_ALGO": algorithm})
    assert result.returncode == 0, result.stderr
    row, = collectives(tmp_path)
    assert (row["algorithm"], row["ranks"]) == (algorithm, str(gpus))
    sent = sent_bytes(tmp_path)
    for gpu in range(gpus):
        data = size * (1 + (1 / 32 if gpu < 32 else 0)) if algorithm == "NVLS" else 2 * (gpus - 1) / gpus * size
        wire = 1 if algorithm == "NVLS" else {"LL": 2, "LL128": 128 / 120, "Simple": 1}[row["protocol"]]
        assert sent[gpu, "1"] == pytest.approx(data * wire, rel=0.06)
        assert (gpu, "2") not in sent or sent[gpu, "2"] == 0
