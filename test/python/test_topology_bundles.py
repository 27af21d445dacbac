# SPDX-License-Identifier: GPL-2.0-only
"""Several links between two switches, and switches with so many ports: counts of switches and cables against textbook
formulas and against bills of material that vendors publish."""
import collections
import pathlib
import re

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "topologies/gen_Topo_Template.py"


def run(directory, *flags):
    return run_script([GENERATOR, *flags], cwd=directory)


class Fabric:
    """The switches of a file by tier, and the links between two nodes."""

    def __init__(self, path):
        first, ids, *links = path.read_text().splitlines()
        self.nodes, _, nvswitches, switches, *_ = (int(field) for field in first.split()[:5])
        self.gpus = self.nodes - nvswitches - switches
        self.between = collections.Counter(tuple(map(int, line.split()[:2])) for line in links)
        self.ports = collections.Counter()
        below = {*range(self.gpus)}
        self.tiers = []
        while below := {b for a, b in self.between if a in below and b >= self.gpus + nvswitches}:
            self.tiers.append(sorted(below))
        for (a, b), count in self.between.items():
            self.ports[a] += count
            self.ports[b] += count

    def counts(self):
        """@return the switches of each tier, then the cables below each"""
        cables = [sum(count for (_, b), count in self.between.items() if b in set(tier)) for tier in self.tiers]
        return [len(tier) for tier in self.tiers], cables

    def fullest(self):
        return max(self.ports[switch] for tier in self.tiers for switch in tier)


def made(directory, flags):
    result = run(directory, *flags.split(), "-o", "fabric", "--force")
    assert result.returncode == 0, result.stderr
    assert run(directory, "--check", "fabric").returncode == 0
    return Fabric(directory / "fabric"), result.stderr


@pytest.mark.parametrize("ports", [8, 16, 32, 64])
def test_two_tiers_of_equal_switches_join_half_the_square_of_their_ports(tmp_path, ports):
    """A leaf has half of its ports below and half above; so k leaves on k / 2 spines."""
    hosts = ports * ports // 2
    fabric, said = made(tmp_path, f"-topo Clos2 -g {hosts} -gps 4 --switch_ports {ports}")
    assert fabric.counts() == ([ports, ports // 2], [hosts, hosts])
    assert "tier 1 1:1" in said and fabric.fullest() == ports
    assert set(fabric.between[leaf, spine] for leaf in fabric.tiers[0] for spine in fabric.tiers[1]) == {1}
    refused = run(tmp_path, *f"-topo Clos2 -g {hosts + 4} -gps 4 --switch_ports {ports}".split())
    assert refused.returncode == 2 and f"expected at most {hosts} GPUs, Clos3" in refused.stderr


@pytest.mark.parametrize("ports", [4, 8, 16])
def test_three_tiers_of_equal_switches_are_a_fat_tree(tmp_path, ports):
    """Al-Fares, Loukissas, Vahdat, SIGCOMM 2008: k^3 / 4 hosts on 5 k^2 / 4 switches, in k pods."""
    hosts, half = ports**3 // 4, ports // 2
    clos, _ = made(tmp_path, f"-topo Clos3 -g {hosts} -gps 4 --switch_ports {ports}")
    assert clos.counts() == ([ports * half, ports * half, half * half], [hosts] * 3) and clos.fullest() == ports
    tree, _ = made(tmp_path, f"-topo FatTree --radix {ports} -gps 4 --switch_ports {ports}")
    assert tree.between == clos.between


def test_65536_hosts_on_switches_of_64_ports_need_5120(tmp_path):
    fabric, _ = made(tmp_path, "-topo Clos3 -g 65536 --switch_ports 64")
    assert fabric.counts() == ([2048, 2048, 1024], [65536] * 3)


@pytest.mark.parametrize("ports, hosts", [(8, 16), (32, 128), (64, 64), (64, 512), (64, 1024), (128, 2048)])
def test_below_full_size_bundles_leave_no_port_idle(tmp_path, ports, hosts):
    """Uplinks are as many as hosts, and each spine takes as many as it has ports."""
    fabric, _ = made(tmp_path, f"-topo Clos2 -g {hosts} --switch_ports {ports}")
    leaves = hosts // (ports // 2)
    assert fabric.counts() == ([leaves, hosts // ports], [hosts, hosts])
    assert {fabric.ports[spine] for spine in fabric.tiers[1]} == {ports}
    assert {fabric.between[pair] for pair in fabric.between if pair[0] in fabric.tiers[0]} == {ports // leaves}


# NVIDIA, DGX SuperPOD reference architecture, DGX B200 (docs.nvidia.com/dgx-superpod), component counts of larger
# SuperPODs: GPUs; leaf, spine and core switches of 64 ports. The cables between two tiers are as many as the GPUs.
B200 = [(512, [16, 8]), (1024, [32, 16]), (2048, [64, 32]), (4096, [128, 128, 64]), (8192, [256, 256, 128]),
        (16384, [512, 512, 256])]
# The same of DGX B300 on switches of 144 ports. Its last row has the cables of 10,368 GPUs.
B300 = [(576, [8, 4]), (1152, [16, 8]), (2304, [32, 18]), (4608, [64, 36]), (10368, [144, 72])]


@pytest.mark.parametrize("ports, gpus, switches", [*((64, *row) for row in B200), *((144, *row) for row in B300)])
def test_switches_and_cables_are_those_of_published_bills_of_material(tmp_path, ports, gpus, switches):
    fabric, _ = made(tmp_path, f"-topo Clos{len(switches)} -g {gpus} --switch_ports {ports}")
    assert fabric.counts() == (switches, [gpus] * len(switches))


@pytest.mark.parametrize("gpus, switches", [(248, [8, 4]), (256, [8, 4]), *B200[:3]])
def test_rails_have_the_published_switches_too(tmp_path, gpus, switches):
    """NVIDIA leaves one server of each pod out for its management, and wires the switches of all 32."""
    fabric, _ = made(tmp_path, f"-topo Spectrum-X -g {gpus} --nics_per_aswitch 32 --fit --switch_ports 64")
    rails = fabric.tiers[0]
    assert [len(tier) for tier in fabric.tiers] == switches and fabric.fullest() == 64
    uplinks = {sum(fabric.between[rail, spine] for spine in fabric.tiers[1]) for rail in rails}
    assert uplinks == {32}


@pytest.mark.parametrize("flags, above, links", [
    ("-topo Clos2 -g 64 --psw_switch_num 4", 4, 8),
    ("-topo Clos2 -g 64 -lpp 4", 8, 4),
    ("-topo Clos2 -g 64 -psn 16 -lpp 2", 16, 2),
    ("-topo Clos2 -g 64 --oversubscription 2 -sp 64", 1, 21),  # 42 below and 21 above
    ("-topo Spectrum-X -g 64 -psn 4 -lpp 2", 4, 2),
    ("-topo DCN+ -g 64 --fit -lpp 8", 8, 8)])
def test_flags_choose_the_switches_above_or_the_links_to_each(tmp_path, flags, above, links):
    fabric, said = made(tmp_path, flags)
    leaves, spines = fabric.tiers
    assert len(spines) == above and {fabric.between[leaf, spine] for leaf in leaves for spine in spines} == {links}
    below = fabric.ports[leaves[0]] - above * links
    assert f"tier 1 {below / (above * links):.3g}:1" in said or below * len(leaves) != fabric.gpus


def test_the_core_has_bundles_of_its_own(tmp_path):
    # 2 pods of 2 leaves; 4 spines a pod with 4 links to each leaf, so 8 uplinks, 4 to each of 2 cores.
    fabric, said = made(tmp_path, "-topo Clos3 -g 64 --nics_per_leaf 16 --leaves_per_pod 2 -lpp 4 -lpc 4")
    assert fabric.counts() == ([4, 8, 8], [64, 64, 64]) and "tier 1 1:1, tier 2 1:1" in said
    assert {fabric.between[spine, core] for spine in fabric.tiers[1] for core in fabric.tiers[2]} == {0, 4}
    same, _ = made(tmp_path, "-topo Clos3 -g 64 --nics_per_leaf 16 --leaves_per_pod 2 -psn 4 -csn 8")
    assert same.between == fabric.between
    pods, _ = made(tmp_path, "-topo Spectrum-X -g 128 -npa 4 -app 16 -psn 4 -csn 4 -lpp 2 -lpc 8")
    assert [len(tier) for tier in pods.tiers] == [32, 8, 4]
    assert {pods.between[psw, core] for psw in pods.tiers[1] for core in pods.tiers[2]} == {0, 8}


def test_a_fabric_of_512_has_an_eighth_of_the_switches_that_single_links_need(tmp_path):
    single, _ = made(tmp_path, "-topo Clos3 -g 512")
    assert [len(tier) for tier in single.tiers] == [16, 64, 256]
    bundled, _ = made(tmp_path, "-topo Clos3 -g 512 --switch_ports 64")
    assert [len(tier) for tier in bundled.tiers] == [16, 16, 8] and bundled.fullest() == 64


@pytest.mark.parametrize("flags, message", [
    ("-topo Clos2 -g 64 -psn 3", "--psw_switch_num 3 does not share out the 32 uplinks of a switch; expected"),
    ("-topo Clos2 -g 64 -lpp 5", "--links_per_psw 5 does not share out the 32 uplinks"),
    ("-topo Clos2 -g 64 -psn 2 -lpp 4", "makes 8 uplinks of a switch; expected 32"),
    ("-topo Clos2 -g 512 -psn 1 -sp 64", "aggregation switch 592 needs 512 ports, and --switch_ports is 64; expected"),
    ("-topo Clos2 -g 512 --nics_per_leaf 64 -sp 64", "access switch 576 needs 128 ports, and --switch_ports is 64"),
    ("-topo Clos3 -g 2048 -sp 16", "core switch 2816 needs 32 ports, and --switch_ports is 16"),
    ("-topo Clos3 -g 64 -csn 3", "3 core switches cannot be shared out to the 32 spines of a pod; expected"),
    ("-topo Spectrum-X -g 1024 --fit -sp 64", "access switch 1152 needs 128 ports, and --switch_ports is 64"),
    ("-topo Spectrum-X -g 64 -sp 71", "access switch 72 needs 72 ports, and --switch_ports is 71"),
    ("-topo Spectrum-X -g 64 -lpc 2", "--links_per_core 2 is for several pods; expected --core_switch_num too"),
    ("-topo Torus -sp 11", "access switch 144 needs 12 ports, and --switch_ports is 11"),
    ("-topo RailOnly -g 64 -sp 7", "needs 8 ports, and --switch_ports is 7"),
    ("-topo Clos2 -g 64 -sp 0", "--switch_ports 0 is not possible; expected 1 or more"),
    ("-topo Clos2 -g 64 -lpp 0", "--links_per_psw 0 is not possible; expected 1 or more"),
    ("-topo Clos2 -g 64 -lpc 2", "--links_per_core means nothing for Clos2"),
    ("-topo FatTree -lpp 2", "--links_per_psw means nothing for FatTree"),
])
def test_a_fabric_that_cannot_be_built_is_refused_by_name(tmp_path, flags, message):
    result = run(tmp_path, *flags.split())
    assert result.returncode == 2 and message in result.stderr, result.stderr
    assert result.stderr.count("\n") == 1 and not list(tmp_path.iterdir())


def test_a_shared_nic_is_no_switch_and_has_no_limit(tmp_path):
    # A leaf has one NIC below and 64 x 400 / 1600 uplinks, that NIC 64 GPUs and an uplink.
    flags = "-topo Clos2 -g 128 -gps 64 --gpus_per_nic 64 --nics_per_leaf 64 -apbw 1600Gbps -lpp 1"
    fabric, _ = made(tmp_path, f"{flags} --switch_ports 17")
    assert max(fabric.ports[node] for node in range(fabric.gpus, fabric.nodes)) == 65
    assert "needs 17 ports" in run(tmp_path, *f"{flags} --switch_ports 16".split()).stderr


@pytest.mark.parametrize("flags, said, warned", [
    ("-topo Spectrum-X -g 64 -bw 400Gbps", "network of each GPU: 400 Gb/s\n", False),
    ("-topo AlibabaHPN -g 64 -bw 400Gbps", "network of each GPU: 2 x 400 Gb/s = 800 Gb/s\n", True),
    ("-topo AlibabaHPN --dp -g 64", "network of each GPU: 2 x 200 Gb/s = 400 Gb/s\n", False),
    ("--ro --dt -g 64 -bw 200Gbps", "network of each GPU: 2 x 200 Gb/s = 400 Gb/s\n", False),
    ("-topo Clos2 -g 64 --nics_per_gpu 2 -bw 200Gbps", "network of each GPU: 2 x 200 Gb/s = 400 Gb/s\n", False),
    ("-topo Clos2 -g 64 --gpus_per_nic 4", "network of each GPU: 400 Gb/s, shared by 4 GPUs\n", False),
    ("-topo Dragonfly", "network of each GPU: 400 Gb/s\n", False)])
def test_the_rate_of_a_gpu_is_said_whatever_bw_means(tmp_path, flags, said, warned):
    _, stderr = made(tmp_path, flags)
    assert said in stderr
    assert ("a GPU has 800 Gb/s; expected -bw 200Gbps for 400 Gb/s" in stderr) == warned


def test_descriptions_name_nodes_and_bundles(tmp_path):
    # 64 GPUs, 8 NVSwitches, 2 leaves, 4 spines.
    made(tmp_path, "-topo Clos2 -g 64 -psn 4")
    described = run(tmp_path, "--describe", "fabric").stdout
    for line in (r"GPUs +64 H100 in 8 servers of 8: nodes 0-63", r"NVSwitches +8: nodes 64-71",
                 r"switch tier 1 +2 switches, 64 ports used: nodes 72-73",
                 r"switch tier 2 +4 switches, 16 ports used: nodes 74-77", r"each GPU +400 Gb/s",
                 r"  tier 1 - tier 2: 64 x 400 Gb/s, 8 between two switches", r"  GPU - tier 1: 64 x 400 Gb/s"):
        assert re.search(f"^{line}$", described, re.MULTILINE), described
    made(tmp_path, "-topo AlibabaHPN --dp -g 64")
    assert "each GPU        2 x 200 Gb/s = 400 Gb/s\n" in run(tmp_path, "--describe", "fabric").stdout
    made(tmp_path, "-topo Clos2 -g 64 --gpus_per_nic 4")
    assert "each GPU        400 Gb/s, shared by 4 GPUs\n" in run(tmp_path, "--describe", "fabric").stdout
