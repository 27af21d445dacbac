# SPDX-License-Identifier: GPL-2.0-only
"""GPUs with several NICs: whatever the algorithm and the topology, none idles."""
import csv
import os
import pathlib
import subprocess

import pytest
from script_process import run_script
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "topologies/gen_Topo_Template.py"
PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "collective-perf"
TOPOLOGIES = {
    "planes": "-topo Spectrum-X -g 16 -psn 2 -asn 8 --nics_per_gpu 2 -bw 200Gbps",
    "leaves": "-topo Clos2 -g 16 --nics_per_leaf 8 --nics_per_gpu 2 -bw 200Gbps -apbw 200Gbps",
    "three servers": "-topo Clos2 -g 24 --nics_per_leaf 8 --nics_per_gpu 2 -bw 200Gbps -apbw 200Gbps",
    "rails alone": "-topo RailOnly -g 16 --nics_per_gpu 2 -bw 200Gbps",
    "torus": "-topo Torus --dims 2x2 -gps 4 --nics_per_gpu 2 -bw 200Gbps",
    "HPN, two planes": "-topo AlibabaHPN --dp -g 16 -asn 16 -psn 4",
    "HPN, two ToRs": "-topo AlibabaHPN -g 16 -asn 16 -psn 4",
    "DCN, two ToRs": "-topo DCN-DualToR -g 16 -asn 2 -psn 2",
    "DCN": "-topo DCN-SingleToR --nics_per_gpu 2 -g 16 -asn 2 -psn 2 -bw 200Gbps",
    "fat tree": "-topo FatTree --radix 4 -g 16 --nics_per_gpu 2 -bw 200Gbps -apbw 200Gbps",
    "three tiers": "-topo Clos3 -g 16 --nics_per_leaf 4 --leaves_per_pod 2 --nics_per_gpu 2 -bw 200Gbps -apbw 200Gbps",
    "dragonfly": "-topo Dragonfly -g 24 --gpus_per_router 2 --routers_per_group 4 --global_links 2 --groups 3 "
                 "--nics_per_gpu 2 -bw 200Gbps",
    "racks": "-topo NVL36 -g 72 --nics_per_gpu 2 -bw 200Gbps",
}
# Where both ToRs of a NIC lead everywhere, switches choose by which a message arrives.
ARRIVES_ANYWHERE = {"HPN, two ToRs", "DCN, two ToRs"}
ALGORITHMS = {
    "ring": ("all_reduce_perf", {"NCCL_ALGO": "Ring"}),
    "tree": ("all_reduce_perf", {"NCCL_ALGO": "Tree"}),
    "NVLS tree": ("all_reduce_perf", {"NCCL_ALGO": "NVLSTree", "AS_NVLSTREE_ENABLE": "1"}),
    "ring AllGather": ("all_gather_perf", {"NCCL_ALGO": "Ring"}),
    "ring ReduceScatter": ("reduce_scatter_perf", {"NCCL_ALGO": "Ring"}),
    "chain Broadcast": ("broadcast_perf", {}),
    "chain Reduce": ("reduce_perf", {}),
    "neighbours": ("sendrecv_perf", {}),
    "pairs": ("alltoall_perf", {"AS_PXN_ENABLE": "0"}),
    "PXN": ("alltoall_perf", {"AS_PXN_ENABLE": "1"}),
}


@pytest.fixture(scope="module", params=TOPOLOGIES)
def topology(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("topology")
    run_script([GENERATOR, *TOPOLOGIES[request.param].split(), "-o", "n"], cwd=directory, check=True)
    return request.param, directory / "n"


def nic_bytes(topology, output):
    """@return bytes of each NIC, by whether the GPU sends them and the NIC's (GPU, port)"""
    header = topology.read_text().split()
    nodes, nvswitches, switches = int(header[0]), int(header[2]), int(header[3])
    gpus = nodes - nvswitches - switches
    first = gpus + nvswitches
    sent, received = {}, {}
    with (output / "links.csv").open(newline="") as file:
        for row in csv.DictReader(file, skipinitialspace=True):
            node, peer = int(row["node"]), int(row["peer"])
            if node < gpus and peer >= first:
                sent[node, peer] = int(row["tx_bytes"])
            elif peer < gpus and node >= first:
                received[peer, node] = int(row["tx_bytes"])
    return sent, received


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_nic_idles(topology, algorithm, tmp_path):
    name, file = topology
    test, environment = ALGORITHMS[algorithm]
    if name == "racks" and algorithm.startswith(("ring", "chain")):
        pytest.skip("the 72 NICs of a rack are more than a ring's 32 channels")
    if name == "rails alone" and algorithm in ("pairs", "neighbours"):
        pytest.skip("messages between rails have no path without PXN")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    result = subprocess.run([PROGRAM, test, "-b", "64M", "-e", "64M", "-n", "1", "-w", "0", "--network", "flow",
                             "--network-topo", file, "--output", tmp_path / "out"], env={**clean, **environment},
                            capture_output=True, text=True, timeout=HANGS, check=False)
    assert result.returncode == 0, result.stderr
    for direction, carried in zip(("sends", "receives"), nic_bytes(file, tmp_path / "out")):
        assert len(carried) == 2 * len({gpu for gpu, _ in carried})
        if direction == "receives" and name in ARRIVES_ANYWHERE:
            continue
        by_gpu = {}
        for (gpu, _), size in carried.items():
            by_gpu.setdefault(gpu, []).append(size)
        # A GPU that no channel crosses at may have nothing to do; one that works uses both NICs. Small frames
        # that only acknowledge do not count as work.
        most = max(carried.values())
        for gpu, (one, other) in by_gpu.items():
            if max(one, other) > most / 20:
                assert min(one, other) >= 0.25 * max(one, other), f"GPU {gpu} {direction}: {one} and {other} bytes"
        assert any(max(pair) > most / 20 for pair in by_gpu.values())


@pytest.mark.parametrize("gpus", (16, 32))
def test_nvls_tree_takes_as_long_with_several_nics_as_with_one_of_their_bandwidth(gpus, tmp_path):
    times = []
    for nics in (1, 2, 4):
        run_script([GENERATOR, *f"-topo Spectrum-X -g {gpus} --preset H100 -bw {400 // nics}Gbps --nics_per_gpu {nics} -o {nics}".split()],
                   cwd=tmp_path, check=True)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
        result = subprocess.run([PROGRAM, "all_reduce_perf", "-b", "256M", "-e", "256M", "-n", "1", "-w", "0", "--network", "flow",
                                 "--network-topo", str(nics)], cwd=tmp_path, env={**clean, "NCCL_ALGO": "NVLSTree"},
                                capture_output=True, text=True, timeout=120, check=False)
        assert result.returncode == 0, result.stderr
        times.append(next(float(line.split()[5]) for line in result.stdout.splitlines() if line[:1] == " "))
    assert times[1:] == pytest.approx([times[0]] * 2, rel=0.01)


def test_trees_of_switches_of_all_groups_share_the_spines(tmp_path):
    """Eight groups, of one GPU of each server, reduce in the network at once: 16 spines have room for a tree each."""
    run_script([GENERATOR, *"-topo Clos2 -g 64 -gt H100 -bw 400Gbps -apbw 400Gbps --nics_per_leaf 16 -o n".split()], cwd=tmp_path,
               check=True)
    (tmp_path / "w").write_text("1 ALLREDUCE 1048576 DP\n")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    result = subprocess.run([PROGRAM.parent / "SimAI_simulator", "-w", "w", "-n", "n", "--tp", "8", "--set", "IN_NETWORK_REDUCTION=1",
                             "-o", "out"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
                            env={**clean, "NCCL_COLLNET_ENABLE": "1", "NCCL_ALGO": "CollNetDirect"})
    assert result.returncode == 0, result.stderr
    first_leaf, first_spine = 64 + 8, 64 + 8 + 4
    with (tmp_path / "out/links.csv").open(newline="") as file:
        spines = [int(row["peer"]) for row in csv.DictReader(file, skipinitialspace=True)
                  if first_leaf <= int(row["node"]) < first_spine <= int(row["peer"]) and int(row["tx_bytes"]) > 100_000]
    assert len(set(spines)) == 8


def test_a_rail_only_network_names_the_missing_path_in_one_line(tmp_path):
    run_script([GENERATOR, *"-topo RailOnly -g 16 -o n".split()], cwd=tmp_path, check=True)
    check = run_script([GENERATOR, "--check", "n"], cwd=tmp_path, check=True)
    assert "GPU 0 and GPU 9 meet only in another GPU's NVLink (rail-only)" in check.stdout
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    for network in ("flow", "packet"):
        result = subprocess.run([PROGRAM, "alltoall_perf", "-b", "1M", "-e", "1M", "--network", network, "--network-topo",
                                 "n"], cwd=tmp_path, env={**clean, "NCCL_PXN_DISABLE": "1"}, capture_output=True,
                                text=True, timeout=HANGS, check=False)
        assert result.returncode == 1
        lines = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
        assert len(lines) == 1
        assert lines[0].startswith("n: a message has no path: rank 0 and rank 9, for one, meet only in another GPU's NVLink")
