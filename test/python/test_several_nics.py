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


def measured_us(topology, test, size, network, *flags, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    result = subprocess.run([PROGRAM, test, "-b", size, "-e", size, "-n", "1", "-w", "0", "--network", network,
                             "--network-topo", topology, *flags], env=clean | environment, capture_output=True,
                            text=True,
                            timeout=HANGS, check=False)
    assert result.returncode == 0, result.stderr
    return next(float(line.split()[5]) for line in result.stdout.splitlines() if line[:1] == " ")


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("nics")


def equal_nics(directory, servers):
    """@return topologies with 1, 2 and 4 NICs for each GPU, 400 Gb/s in all"""
    paths = []
    for nics in (1, 2, 4):
        paths.append(directory / f"{servers}x{nics}")
        if not paths[-1].exists():
            run_script([GENERATOR, *f"-topo Spectrum-X -g {8 * servers} --preset H100 -bw {400 // nics}Gbps "
                        f"--nics_per_gpu {nics} "
                        f"-o {paths[-1].name}".split()], cwd=directory, check=True)
    return paths


# NCCL opens more channels for more NICs, and a block's work takes less time on more blocks. Its choice of a protocol
# follows from the channels that it finds, too.
CHANNELS = {"NCCL_MIN_NCHANNELS": "32", "NCCL_MAX_NCHANNELS": "32", "NCCL_PROTO": "Simple"}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("network, servers", (("flow", 2), ("flow", 4), ("flow", 8), ("analytical", 2),
                                              ("analytical", 4),
                                              ("analytical", 8), ("packet", 2)))
def test_nics_take_as_long_as_one_of_their_bandwidth(directory, network, servers, algorithm):
    if algorithm in ("neighbours", "pairs") and network == "flow" and servers > 2:
        pytest.skip("messages from rail to rail collide in the spine, as the hashes of their queue pairs have it")
    test, environment = ALGORITHMS[algorithm]
    size = "32M" if network == "packet" else "128M"
    one, *others = [measured_us(topology, test, size, network, **environment, **CHANNELS)
                    for topology in equal_nics(directory, servers)]
    assert others == pytest.approx([one] * 2, rel=0.03)


@pytest.mark.parametrize("network", ("flow", "analytical"))
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_queue_pairs_of_a_connection_take_as_long_as_one(directory, network, algorithm):
    test, environment = ALGORITHMS[algorithm]
    (conf := directory / "two.conf").write_text((ROOT / "conf/SimAI.conf").read_text() + "QPS_PER_CONNECTION 2\n")
    for topology in equal_nics(directory, 2)[:2]:
        one, two = (measured_us(topology, test, "64M", network, "--network-conf", file, **environment)
                    for file in (ROOT / "conf/SimAI.conf", conf))
        assert two == pytest.approx(one, rel=0.03)


IN_A_SERVER = {
    "ring": ("all_reduce_perf", {"NCCL_ALGO": "Ring"}),
    "tree": ("all_reduce_perf", {"NCCL_ALGO": "Tree"}),
    "NVLS": ("all_reduce_perf", {"NCCL_ALGO": "NVLS"}),
    "ring AllGather": ("all_gather_perf", {"NCCL_ALGO": "Ring"}),
    "NVLS AllGather": ("all_gather_perf", {"NCCL_ALGO": "NVLS"}),
    "NVLS ReduceScatter": ("reduce_scatter_perf", {"NCCL_ALGO": "NVLS"}),
    "chain Broadcast": ("broadcast_perf", {}),
    "neighbours": ("sendrecv_perf", {}),
    "pairs": ("alltoall_perf", {}),
}


@pytest.mark.parametrize("network", ("flow", "analytical", "packet"))
@pytest.mark.parametrize("algorithm", IN_A_SERVER)
def test_uneven_nvlinks_lose_nothing(directory, network, algorithm):
    """A GPU of a DGX H100 has 5, 4, 4 and 5 of its 18 NVLinks on the four NVSwitches of its server."""
    even, uneven = directory / "even", directory / "uneven"
    if not uneven.exists():
        run_script([GENERATOR, *"-topo Spectrum-X -g 8 --preset H100 -nsps 4 -o even".split()], cwd=directory,
                   check=True)
        lines = []
        for line in even.read_text().splitlines():
            fields = line.split()
            if len(fields) == 5 and fields[2] == "720Gbps":  # GPUs are 0 to 7, NVSwitches 8 to 11
                fields[2] = ("800Gbps", "640Gbps", "640Gbps", "800Gbps")[int(fields[1]) - 8]
            lines.append(" ".join(fields))
        uneven.write_text("\n".join(lines) + "\n")
        assert "640Gbps" in uneven.read_text()
    test, environment = IN_A_SERVER[algorithm]
    size = "16M" if network == "packet" else "64M"
    times = [measured_us(topology, test, size, network, **environment) for topology in (even, uneven)]
    # Messages are cut over uneven NVLinks and stay whole on even ones, where the first chunk takes four times as long.
    assert 0.85 * times[0] <= times[1] <= 1.03 * times[0]


def test_trees_of_switches_of_all_groups_share_the_spines(tmp_path):
    """Eight groups, of one GPU of each server, reduce in the network at once: 16 spines have room for a tree each."""
    run_script([GENERATOR, *"-topo Clos2 -g 64 -gt H100 -bw 400Gbps -apbw 400Gbps --nics_per_leaf 16 -o n".split()],
               cwd=tmp_path,
               check=True)
    (tmp_path / "w").write_text("1 ALLREDUCE 1048576 DP\n")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    result = subprocess.run([PROGRAM.parent / "SimAI_simulator", "-w", "w", "-n", "n", "--tp", "8", "--set",
                             "IN_NETWORK_REDUCTION=1",
                             "-o", "out"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
                            env={**clean, "NCCL_COLLNET_ENABLE": "1", "NCCL_ALGO": "CollNetDirect"})
    assert result.returncode == 0, result.stderr
    first_leaf, first_spine = 64 + 8, 64 + 8 + 4
    with (tmp_path / "out/links.csv").open(newline="") as file:
        spines = [int(row["peer"]) for row in csv.DictReader(file, skipinitialspace=True)
                  if first_leaf <= int(row["node"]) < first_spine <= int(row["peer"])
                  and int(row["tx_bytes"]) > 100_000]
    assert len(set(spines)) == 8


def test_a_rail_only_network_names_the_missing_path_in_one_line(tmp_path):
    run_script([GENERATOR, *"-topo RailOnly -g 16 -o n".split()], cwd=tmp_path, check=True)
    check = run_script([GENERATOR, "--check", "n"], cwd=tmp_path, check=True)
    assert "GPU 0 and GPU 9 meet only in another GPU's NVLink (rail-only)" in check.stdout
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    for network in ("flow", "packet"):
        result = subprocess.run([PROGRAM, "alltoall_perf", "-b", "1M", "-e", "1M", "--network", network,
                                 "--network-topo",
                                 "n"], cwd=tmp_path, env={**clean, "NCCL_PXN_DISABLE": "1"}, capture_output=True,
                                text=True, timeout=HANGS, check=False)
        assert result.returncode == 1
        lines = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
        assert len(lines) == 1
        assert lines[0].startswith("n: a message has no path: rank 0 and rank 9, for one, meet only in another GPU's "
                                   "NVLink")
