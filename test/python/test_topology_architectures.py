# SPDX-License-Identifier: GPL-2.0-only
"""The architectures beyond SimAI's templates: what --describe finds against textbook formulas."""
import pathlib
import re

import pytest
from script_process import run_script


ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "topologies/gen_Topo_Template.py"


def run(directory, *arguments):
    return run_script([GENERATOR, *arguments], cwd=directory)


def described(directory, flags):
    made = run(directory, *flags.split())
    assert made.returncode == 0, made.stderr
    name = made.stdout.strip()
    checked = run(directory, "--check", name)
    assert checked.returncode == 0, checked.stderr
    text = run(directory, "--describe", name).stdout
    return dict(
        switches=int(re.search(r"parts\s+(\d+) switches", text)[1]),
        cables=int(re.search(r"(\d+) cables", text)[1]),
        ratios=[float(x) for x in re.findall(r"tier \d: ([\d.]+):1", text)],
        lengths={int(a): int(b) for a, b in re.findall(r"  (\d+): (\d+) pairs", text)},
        bisection=float(re.search(r"bisection +(\S+) Gb/s", text)[1]))


def test_fat_tree_has_full_bisection_and_the_counts_of_its_formula(tmp_path):
    k = 8
    found = described(tmp_path, f"-topo FatTree --radix {k}")
    gpus = k**3 // 4
    assert found["switches"] == 5 * k * k // 4
    assert found["cables"] == 3 * gpus
    assert found["ratios"] == [1, 1]
    assert found["bisection"] == gpus / 2 * 400
    # By server (8 GPUs over two edge switches, NVSwitch), edge switch and pod of 16.
    same_server = gpus // 8 * 28
    same_pod = k * (16 * 15 // 2) - same_server
    assert found["lengths"] == {2: same_server, 4: same_pod,
                                6: gpus * (gpus - 1) // 2 - same_server - same_pod}


@pytest.mark.parametrize("ratio", [1, 2, 4])
def test_two_tier_clos_has_the_oversubscription_asked_for(tmp_path, ratio):
    found = described(tmp_path, f"-topo Clos2 -g 256 --nics_per_leaf 32 --oversubscription {ratio}")
    spines = 32 // ratio
    assert found["switches"] == 8 + spines
    assert found["cables"] == 256 + 8 * spines
    assert found["ratios"] == [ratio]
    assert found["bisection"] == 128 * 400 / ratio


def test_three_tier_clos_is_oversubscribed_at_both_tiers(tmp_path):
    found = described(tmp_path, "-topo Clos3 -g 512 --nics_per_leaf 16 --leaves_per_pod 8 "
                                "--oversubscription 2")
    # 32 leaves in 4 pods of 8; 8 spines a pod; each spine 4 uplinks; 8 x 4 cores.
    assert found["switches"] == 32 + 4 * 8 + 8 * 4
    assert found["cables"] == 512 + 32 * 8 + 32 * 4
    assert found["ratios"] == [2, 2]
    assert found["bisection"] == 256 * 400 / 4


def test_dragonfly_reaches_every_group_over_one_global_link(tmp_path):
    a, p, h = 4, 2, 2
    groups = a * h + 1
    found = described(tmp_path, f"-topo Dragonfly --routers_per_group {a} --gpus_per_router {p} "
                                f"--global_links {h}")
    assert found["switches"] == groups * a
    assert found["cables"] == groups * a * p + groups * a * (a - 1) // 2 + groups * (groups - 1) // 2
    # At most local, global, local between routers, and the two NIC links.
    assert max(found["lengths"]) == 5


def test_torus_wraps_around(tmp_path):
    found = described(tmp_path, "-topo Torus --dims 4x2x3 -gps 1 -nsps 0")
    assert found["switches"] == 24
    # Rings of 4 and 3 have as many cables as routers, rings of 2 half as many.
    assert found["cables"] == 24 + 24 + 12 + 24
    # From any router: distances 0 1 1 2 in the ring of 4, 0 1 in that of 2, 0 1 1 in that of 3.
    ring4, ring2, ring3 = (0, 1, 1, 2), (0, 1), (0, 1, 1)
    expected = {}
    for x in ring4:
        for y in ring2:
            for z in ring3:
                if x + y + z:
                    expected[x + y + z + 2] = expected.get(x + y + z + 2, 0) + 12
    assert found["lengths"] == expected


def test_a_rack_is_one_nvlink_domain_on_four_rails(tmp_path):
    found = described(tmp_path, "-topo NVL72")
    assert found["switches"] == 8 + 64  # two segments of 4 rails x 72 NICs
    # 8 racks; on a rail, 4 racks of a segment x 18 GPUs share a switch.
    in_rack = 8 * (72 * 71 // 2)
    on_rail = 2 * 4 * (72 * 71 // 2 - 4 * (18 * 17 // 2))
    assert found["lengths"][2] == in_rack + on_rail


def test_pods_meet_in_the_core_and_planes_do_not(tmp_path):
    found = described(tmp_path, "-topo Spectrum-X -g 128 -npa 4 -app 16 -asn 32 -psn 4 -csn 8")
    # Segments of 32 GPUs on 8 ASWs, two to a pod: 2 pods of 4 PSWs, 2 cores each.
    assert found["switches"] == 32 + 8 + 8
    assert found["cables"] == 128 + 32 * 4 + 8 * 2
    assert max(found["lengths"]) == 6
    assert found["bisection"] == 8 * 400  # the links of the 4 PSWs of one pod to their cores
    made = run(tmp_path, *"-topo AlibabaHPN --dp -g 64 -asn 64 -psn 16 -npa 2 -app 16 -csn 16".split())
    assert "planes          2" in run(tmp_path, "--describe", made.stdout.strip()).stdout


@pytest.mark.parametrize("gpu, rate", [("A100", 2400), ("A800", 1600), ("H100", 2880), ("H800", 1280),
                                       ("H20", 2880), ("H200", 2880), ("B200", 5760),
                                       ("GB200", 5760), ("GH200", 2880), ("B300", 5760), ("GB300", 5760)])
def test_presets_set_type_and_nvlink_rate_and_flags_win(tmp_path, gpu, rate):
    name = run(tmp_path, "-topo", "Spectrum-X", "-g", "16", "--preset", gpu).stdout.strip()
    lines = (tmp_path / name).read_text().splitlines()
    assert lines[0].endswith(gpu) and lines[2] == f"0 16 {rate}Gbps 0.000025ms 0"
    (tmp_path / "gpus.yaml").write_text("X: {generation: Ampere}\n")
    name = run(tmp_path, "-topo", "Spectrum-X", "-g", "16", "--preset", gpu, "-nvbw", "1Gbps",
               "-gt", "X", "--gpu_table", "gpus.yaml").stdout.strip()
    lines = (tmp_path / name).read_text().splitlines()
    assert lines[0].endswith("X") and lines[2].split()[2] == "1Gbps"


# GPUs of a server, NVSwitches, NICs of GPU 0 and their rate.
@pytest.mark.parametrize("preset, per_server, nvswitches, nics, rate", [
    ("GH200-quad", 4, 36, 1, "200Gbps"), ("GB200-NVL36", 36, 4, 1, "400Gbps"), ("GB200-NVL72", 72, 2, 1, "400Gbps"),
    ("GB300-NVL36", 36, 4, 1, "800Gbps"), ("GB300-NVL72", 72, 2, 1, "800Gbps"), ("B300-HGX", 8, 18, 1, "800Gbps"),
    ("A100-2NIC", 8, 18, 2, "100Gbps"), ("H100-2NIC", 8, 18, 2, "200Gbps"), ("A100-4NIC", 8, 18, 1, "100Gbps"),
    ("H100-4NIC", 8, 18, 1, "400Gbps"), ("H100-1NIC", 8, 18, 1, "400Gbps")])
def test_presets_of_machines_set_servers_and_nics(tmp_path, preset, per_server, nvswitches, nics, rate):
    name = run(tmp_path, "-topo", "Clos2", "-g", "144", "--preset", preset, "--nics_per_leaf", "36",
               "-apbw", "400Gbps").stdout.strip()
    lines = (tmp_path / name).read_text().splitlines()
    header = lines[0].split()
    assert header[1:3] == [str(per_server), str(nvswitches)] and header[5] == preset.split("-")[0]
    of_gpu_0 = [line.split() for line in lines[2:] if line.startswith("0 ")]
    wires = [line for line in of_gpu_0 if int(line[1]) >= 144 + nvswitches]
    assert len(wires) == nics and {line[2] for line in wires} == {rate}
    assert run(tmp_path, "--check", name).returncode == 0


@pytest.mark.parametrize("flags", [
    "-topo Spectrum-X -g 32", "-topo AlibabaHPN -g 32", "-topo AlibabaHPN --dp -g 32", "-topo DCN+ -g 32",
    "-topo Clos2 -g 32", "-topo Clos3 -g 32", "-topo RailOnly -g 32", "-topo FatTree", "-topo Torus -gps 4",
    "-topo Dragonfly -gps 2"])
def test_every_architecture_has_a_plane_for_each_nic_of_a_gpu(tmp_path, flags):
    one = run(tmp_path, *flags.split(), "-o", "one")
    two = run(tmp_path, *flags.split(), "--nics_per_gpu", "2", "-o", "two")
    assert one.returncode == two.returncode == 0, two.stderr
    assert run(tmp_path, "--check", "two").returncode == 0
    count = [dict(zip(("nodes", "server", "nvswitches", "switches", "links"),
                      map(int, (tmp_path / name).read_text().split()[:5]))) for name in ("one", "two")]
    gpus = count[0]["nodes"] - count[0]["nvswitches"] - count[0]["switches"]
    assert count[1]["switches"] == 2 * count[0]["switches"] and count[1]["nvswitches"] == count[0]["nvswitches"]
    per_server = count[0]["nvswitches"] * count[0]["server"] // gpus
    nvlinks = gpus * per_server
    assert count[1]["links"] - nvlinks == 2 * (count[0]["links"] - nvlinks)


def test_gpus_that_share_a_nic_meet_in_it(tmp_path):
    name = run(tmp_path, *"-topo Clos2 -g 16 --gpus_per_nic 4 --nics_per_leaf 16".split()).stdout.strip()
    links = [line.split() for line in (tmp_path / name).read_text().splitlines()[2:]]
    nodes = int((tmp_path / name).read_text().split()[0])
    nics = range(nodes - 4, nodes)
    for nic in nics:
        gpus = [int(a) for a, b, *_ in links if int(b) == nic]
        assert gpus == list(range(4 * (nic - nics[0]), 4 * (nic - nics[0]) + 4))
        assert len([link for link in links if int(link[0]) == nic]) == 1  # to its access switch


def test_15360_gpus_take_less_than_5_seconds(tmp_path):
    assert run(tmp_path, "-topo", "AlibabaHPN").returncode == 0


@pytest.mark.parametrize("flags, message", [
    ("-topo FatTree --radix 5", "expected an even number"),
    ("-topo Clos2 -g 16 --nics_per_gpu 2 --gpus_per_nic 2", "contradict each other"),
    ("-topo Clos2 -g 16 --gpus_per_nic 3", "does not divide the 8 GPUs"),
    ("-topo Clos2 -g 16 --nics_per_gpu 0", "--nics_per_gpu 0 is not possible"),
    ("-topo Clos2 -g 0", "--gpu 0 is not possible; expected 1 or more"),
    ("-topo RailOnly -g 0", "--gpu 0 is not possible; expected 1 or more"),
    ("-topo Clos2 -g 1000000000", "1000000000 GPUs are more than a simulation holds; expected at most 1048576"),
    ("-topo FatTree --radix 1000", "250000000 GPUs are more than a simulation holds"),
    ("-topo Torus --dims 1000x1000x1000 -gps 1", "1000000000 GPUs are more than a simulation holds"),
    ("-topo AlibabaHPN -g 64 -asn 16 --gpus_per_nic 2", "expected a single ToR"),
    ("-topo FatTree -g 100", "has 128 GPUs, not 100"),
    ("-topo Clos2 --oversubscription 3", "expected a whole number"),
    ("-topo Clos2 --oversubscription 0", "expected more than 0"),
    ("-topo Dragonfly --groups 10", "expected 2 to 9"),
    ("-topo Torus --dims 4by4", "expected one such as 4x4x4"),
    ("-topo Torus --dims 1x4", "expected 2 or more"),
    ("-topo Torus --radix 8", "--radix means nothing for Torus"),
    ("-topo Spectrum-X -csn 3", "3 core switches cannot be shared out to 64 PSWs"),
    ("--check a --describe b", "expected one of them"),
])
def test_what_cannot_be_built_is_refused(tmp_path, flags, message):
    result = run(tmp_path, *flags.split())
    assert result.returncode == 2 and message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
