# SPDX-License-Identifier: GPL-2.0-only
"""topologies/gen_Topo_Template.py: its files against other people's, and counts worked out by hand."""
import collections
import os
import pathlib
import re
import subprocess

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "topologies/gen_Topo_Template.py"
PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin")) / "SimAI_simulator"
SAMPLES = pathlib.Path(os.environ.get("SHARED_DATA_DIR", ROOT / "../shared/data")) / "simai/topo"


def generate(directory, *flags):
    return run_script([GENERATOR, *flags], cwd=directory)


class Topology:
    def __init__(self, path):
        with open(path) as file:
            header = file.readline().split()
            self.nodes, self.gpus_per_server, self.nvswitches, self.switches, self.links = map(
                int, header[:5])
            self.switch_ids = [int(field) for field in file.readline().split()]
            self.lines = [line.split() for line in file]
        self.neighbours = collections.defaultdict(list)
        for a, b, *_ in self.lines:
            self.neighbours[int(a)].append(int(b))
            self.neighbours[int(b)].append(int(a))


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not beside this checkout")
@pytest.mark.parametrize("flags, name", [
    ("-topo Spectrum-X -g 128 -gt A100 -bw 100Gbps -nvbw 2400Gbps", "Spectrum-X_128g_8gps_100Gbps_A100"),
    ("-topo Spectrum-X -g 16 -gt H100 -bw 400Gbps", "Spectrum-X_16g_8gps_400Gbps_H100"),
    ("-topo AlibabaHPN --dp -g 64 -asn 16 -psn 16", "AlibabaHPN_64g_8gps_DualToR_DualPlane_200Gbps_H100"),
])
def test_files_are_byte_identical_to_the_samples(tmp_path, flags, name):
    result = generate(tmp_path, *flags.split())
    assert result.returncode == 0 and result.stdout.strip() == name and not result.stderr
    assert (tmp_path / name).read_bytes() == (SAMPLES / name).read_bytes()


def test_names_of_flags_may_be_cut_as_for_simais_generator(tmp_path):
    for flag in ("--topo", "-topo", "--topology"):
        result = generate(tmp_path, flag, "Spectrum-X", "--gpu", "16", "--bandw", "400Gbps")
        assert result.stdout.strip() == "Spectrum-X_16g_8gps_400Gbps_H100", result.stderr
    result = generate(tmp_path, "--nv", "2")
    assert result.returncode == 2 and "ambiguous option: --nv" in result.stderr


def test_a_gpu_type_that_the_simulator_does_not_know_is_refused(tmp_path):
    result = generate(tmp_path, "-topo", "Spectrum-X", "-g", "16", "-gt", "X99")
    assert result.returncode == 2 and not list(tmp_path.iterdir())
    assert "-gt 'X99' is not a known GPU type; expected one of A100, " in result.stderr and "--gpu_table" in result.stderr
    (tmp_path / "gpus.txt").write_text("# ours\nX99 Ampere 20 120\n")
    result = generate(tmp_path, "-topo", "Spectrum-X", "-g", "16", "-gt", "X99", "--gpu_table", "gpus.txt")
    assert result.returncode == 0 and (tmp_path / "Spectrum-X_16g_8gps_400Gbps_X99").is_file(), result.stderr


@pytest.mark.skipif(not PROGRAM.is_file(), reason="SimAI_simulator is not built here")
def test_the_generator_knows_the_gpu_types_of_the_simulator(tmp_path):
    refused = generate(tmp_path, "-gt", "X99").stderr
    (tmp_path / "w").write_text("1 ALLREDUCE 1024 TP\n")
    (tmp_path / "n").write_text("3 1 0 1 2 X99\n2 \n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n")
    simulated = subprocess.run([PROGRAM, "-w", "w", "-n", "n", "--tp", "2"], cwd=tmp_path, capture_output=True, text=True).stderr
    types = [set(re.search(r"one of (.*), or a type", text).group(1).split(", ")) for text in (refused, simulated)]
    assert types[0] == types[1]


def test_folders_of_the_file_are_made(tmp_path):
    result = generate(tmp_path, "-topo", "Spectrum-X", "-g", "16", "-o", "new/sub/x")
    assert result.returncode == 0 and (tmp_path / "new/sub/x").is_file(), result.stderr


# GPUs, NVSwitches, access and aggregation switches; links = GPU-NVSwitch + GPU-ASW + ASW-PSW.
@pytest.mark.parametrize("flags, name, nvswitches, switches, links", [
    ("-topo Spectrum-X", "Spectrum-X_4096g_8gps_400Gbps_H100",
     512, 64 + 64, 4096 + 4096 + 64 * 64),
    ("-topo AlibabaHPN", "AlibabaHPN_15360g_8gps_DualToR_SinglePlane_200Gbps_H100",
     1920, 240 + 120, 15360 + 2 * 15360 + 240 * 120),
    ("-topo AlibabaHPN --dp", "AlibabaHPN_15360g_8gps_DualToR_DualPlane_200Gbps_H100",
     1920, 240 + 120, 15360 + 2 * 15360 + 240 * 60),
    # Asked for by a name that says all, a topology is written under that name.
    ("-topo AlibabaHPN-SinglePlane -g 1024 -bw 400Gbps", "AlibabaHPN-SinglePlane_1024g_8gps_400Gbps_H100",
     128, 16 + 120, 1024 + 2 * 1024 + 16 * 120),
    ("-topo AlibabaHPN-DualPlane", "AlibabaHPN-DualPlane_15360g_8gps_200Gbps_H100",
     1920, 240 + 120, 15360 + 2 * 15360 + 240 * 60),
    ("-topo DCN+", "DCN+SingleToR_512g_8gps_400Gbps_H100", 64, 8 + 8, 512 + 512 + 8 * 8),
    ("-topo DCN-DualToR", "DCN-DualToR_512g_8gps_200Gbps_H100", 64, 8 + 8, 512 + 2 * 512 + 8 * 8),
    ("--ro", "Rail_Opti_SingleToR_32g_8gps_400Gbps_H100", 4, 8 + 64, 32 + 32 + 8 * 64),
    ("--ro --dt -asn 16", "Rail_Opti_32g_8gps_DualToR_SinglePlane_400Gbps_H100",
     4, 16 + 64, 32 + 64 + 16 * 64),
    ("-asn 1", "No_Rail_Opti_32g_8gps_SingleToR_400Gbps_H100", 4, 1 + 64, 32 + 32 + 64),
])
def test_templates_have_the_counts_of_their_architecture(tmp_path, flags, name, nvswitches, switches,
                                                          links):
    result = generate(tmp_path, *flags.split())
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == name
    topology = Topology(tmp_path / name)
    assert (topology.nvswitches, topology.switches, topology.links) == (nvswitches, switches, links)
    assert len(topology.lines) == links
    gpus = topology.nodes - nvswitches - switches
    assert topology.switch_ids == list(range(gpus, topology.nodes))
    assert len({frozenset(line[:2]) for line in topology.lines}) == links, "a link occurs twice"


def test_rails_share_an_access_switch_and_nothing_else(tmp_path):
    generate(tmp_path, "-topo", "Spectrum-X", "-g", "32")
    topology = Topology(tmp_path / "Spectrum-X_32g_8gps_400Gbps_H100")
    first_asw = 32 + 4
    for gpu in range(32):
        assert topology.neighbours[gpu] == [32 + gpu // 8, first_asw + gpu % 8]


def test_planes_meet_in_no_switch(tmp_path):
    generate(tmp_path, "-topo", "AlibabaHPN", "--dp", "-g", "64", "-asn", "16", "-psn", "16")
    topology = Topology(tmp_path / "AlibabaHPN_64g_8gps_DualToR_DualPlane_200Gbps_H100")
    asws = range(64 + 8, 64 + 8 + 16)
    uplinks = [{n for n in topology.neighbours[asw] if n >= 88} for asw in asws]
    assert all(uplink == set(range(88, 96)) for uplink in uplinks[:8])
    assert all(uplink == set(range(96, 104)) for uplink in uplinks[8:])


def test_a_wrong_count_of_access_switches_is_corrected_with_a_warning(tmp_path):
    result = generate(tmp_path, "--ro", "-asn", "3")
    assert result.returncode == 0
    assert "32 GPUs need 8 access switches, not 3; 8 are used" in result.stderr


@pytest.mark.parametrize("flags, message", [
    ("--dp", "needs --ro and --dt"),
    ("-g 12", "12 GPUs do not fill servers of 8"),
    ("-g 0", "expected 1 or more"),
    ("-topo Spectrum-X -g 8192", "8192 GPUs need 16 segments and a pod holds 8"),
    ("-topo AlibabaHPN --dp -psn 15", "15 PSWs cannot be split"),
    ("-bw fast", "'fast' is not a rate"),
    ("-l 5", "'5' is not a time"),
    ("-er 2", "'2' is not a probability"),
    ("-topo Torus9", "invalid choice"),
])
def test_what_cannot_be_built_is_refused(tmp_path, flags, message):
    result = generate(tmp_path, *flags.split())
    assert result.returncode == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_file_of_another_topology_is_not_overwritten(tmp_path):
    name = "Spectrum-X_16g_8gps_400Gbps_H100"
    assert generate(tmp_path, "-topo", "Spectrum-X", "-g", "16", "-psn", "8").returncode == 0
    before = (tmp_path / name).read_bytes()
    assert generate(tmp_path, "-topo", "Spectrum-X", "-g", "16", "-psn", "8").returncode == 0, "the same again"
    refused = generate(tmp_path, "-topo", "Spectrum-X", "-g", "16", "-psn", "4")
    assert refused.returncode == 2
    assert f"{name}: exists and holds another topology" in refused.stderr and "expected another name" in refused.stderr
    assert (tmp_path / name).read_bytes() == before
    other = generate(tmp_path, "-topo", "Spectrum-X", "-g", "16", "-psn", "4", "-o", "four")
    assert other.stdout.strip() == "four"
    inside = generate(tmp_path, "-topo", "Spectrum-X", "-g", "16", "-o", "made/here/")
    assert inside.stdout.strip() == f"made/here/{name}" and (tmp_path / "made/here" / name).is_file()
    assert generate(tmp_path, "-topo", "Spectrum-X", "-g", "16", "-psn", "4", "--force").returncode == 0
    assert (tmp_path / name).read_bytes() == (tmp_path / "four").read_bytes() != before
