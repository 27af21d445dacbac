# SPDX-License-Identifier: GPL-2.0-only
"""topologies/gen_Topo_Template.py: its files against other people's, and counts worked out by hand."""
import collections
import hashlib
import os
import pathlib
import re
import subprocess

import pytest
from others_files import OTHERS_FILES
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "topologies/gen_Topo_Template.py"
PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin")) / "SimAI_simulator"


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


@pytest.mark.others_files
@pytest.mark.parametrize("flags, name", [
    ("-topo Spectrum-X -g 128 -gt A100 -bw 100Gbps -nvbw 2400Gbps", "Spectrum-X_128g_8gps_100Gbps_A100"),
    ("-topo Spectrum-X -g 16 -gt H100 -bw 400Gbps", "Spectrum-X_16g_8gps_400Gbps_H100"),
    ("-topo AlibabaHPN --dp -g 64 -asn 16 -psn 16", "AlibabaHPN_64g_8gps_DualToR_DualPlane_200Gbps_H100"),
])
def test_files_are_byte_identical_to_the_samples(tmp_path, flags, name):
    result = generate(tmp_path, *flags.split())
    assert result.returncode == 0 and result.stdout.strip() == name, result.stderr
    assert (tmp_path / name).read_bytes() == (OTHERS_FILES / "simai/topo" / name).read_bytes()


# First digits of the SHA-256 of what SimAI's own generator writes
# (astra-sim-alibabacloud/inputs/topo/gen_Topo_Template.py of aliyun/SimAI at 9ecad45f, Feb 2025, its latest): all
# structures that its flags choose, each with its own size and with others.
SIMAIS = (
    ("", "No_Rail_Opti_32g_8gps_SingleToR_400Gbps_H100", "5fee84c6aefe7690"),
    ("-g 128", "No_Rail_Opti_128g_8gps_SingleToR_400Gbps_H100", "c163e8e646af944c"),
    ("--dt", "No_Rail_Opti_32g_8gps_DualToR_400Gbps_H100", "b4063e61039b1cdf"),
    ("--dt -g 128", "No_Rail_Opti_128g_8gps_DualToR_400Gbps_H100", "069e62b809d9c447"),
    ("--ro", "Rail_Opti_SingleToR_32g_8gps_400Gbps_H100", "6b3aa58cfd30fc22"),
    ("--ro -g 128", "Rail_Opti_SingleToR_128g_8gps_400Gbps_H100", "1d13cdcbd6bf4677"),
    ("--ro --dt", "Rail_Opti_32g_8gps_DualToR_SinglePlane_400Gbps_H100", "7f7e65688146b7be"),
    ("--ro --dt -g 128", "Rail_Opti_128g_8gps_DualToR_SinglePlane_400Gbps_H100", "b3367f02b4498acb"),
    ("--ro --dt --dp", "Rail_Opti_32g_8gps_DualToR_DualPlane_400Gbps_H100", "b541f68334a511b7"),
    ("--ro --dt --dp -g 128", "Rail_Opti_128g_8gps_DualToR_DualPlane_400Gbps_H100", "adcae940c22f257e"),
    ("-topo Spectrum-X", "Spectrum-X_4096g_8gps_400Gbps_H100", "fc20cf2e5053fc7d"),
    ("-topo Spectrum-X -g 128", "Spectrum-X_128g_8gps_400Gbps_H100", "1d13cdcbd6bf4677"),
    ("-topo AlibabaHPN", "AlibabaHPN_15360g_8gps_DualToR_SinglePlane_200Gbps_H100", "750e2fe9f0de2536"),
    ("-topo AlibabaHPN -g 128", "AlibabaHPN_128g_8gps_DualToR_SinglePlane_200Gbps_H100", "83a103f0ea082072"),
    ("-topo AlibabaHPN --dp", "AlibabaHPN_15360g_8gps_DualToR_DualPlane_200Gbps_H100", "e016d09968f39bfc"),
    ("-topo AlibabaHPN --dp -g 128", "AlibabaHPN_128g_8gps_DualToR_DualPlane_200Gbps_H100", "d6ea9a094c5d7f78"),
    ("-topo DCN+", "DCN+SingleToR_512g_8gps_400Gbps_H100", "6da18aac960df439"),
    ("-topo DCN+ -g 128", "DCN+SingleToR_128g_8gps_400Gbps_H100", "67d447c6096a7c6b"),
    ("-topo DCN+ --dt", "DCN+DualToR_512g_8gps_200Gbps_H100", "4b7716575b82ad82"),
    ("-topo DCN+ --dt -g 128", "DCN+DualToR_128g_8gps_200Gbps_H100", "f025d2b4fbee4a40"),
    ("-topo Spectrum-X -g 128 -gt A100 -bw 100Gbps -nvbw 2400Gbps", "Spectrum-X_128g_8gps_100Gbps_A100",
     "db2114fe21ffb509"),
    ("-g 1032", "No_Rail_Opti_1032g_8gps_SingleToR_400Gbps_H100", "55a805250d488683"),
    ("--dt -g 1032", "No_Rail_Opti_1032g_8gps_DualToR_400Gbps_H100", "8dd341231c83bdd5"),
    ("--ro -g 1032", "Rail_Opti_SingleToR_1032g_8gps_400Gbps_H100", "5c8724f60cb61143"),
    ("--ro --dt -g 1032", "Rail_Opti_1032g_8gps_DualToR_SinglePlane_400Gbps_H100", "4cf5d837814f1b49"),
    ("--ro --dt --dp -g 1032", "Rail_Opti_1032g_8gps_DualToR_DualPlane_400Gbps_H100", "d151823322183f24"),
    ("-topo Spectrum-X -g 1032", "Spectrum-X_1032g_8gps_400Gbps_H100", "5c8724f60cb61143"),
    ("-topo AlibabaHPN -g 1032", "AlibabaHPN_1032g_8gps_DualToR_SinglePlane_200Gbps_H100", "f2af5c145084616d"),
    ("-topo AlibabaHPN --dp -g 1032", "AlibabaHPN_1032g_8gps_DualToR_DualPlane_200Gbps_H100", "bfafe73870da683d"),
)


@pytest.mark.parametrize("flags, name, digits", SIMAIS, ids=[flags or "none" for flags, *_ in SIMAIS])
def test_files_are_byte_identical_to_those_of_simais_generator(tmp_path, flags, name, digits):
    result = generate(tmp_path, *flags.split())
    assert result.returncode == 0 and result.stdout.strip() == name, result.stderr
    assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest().startswith(digits)


def test_names_of_flags_may_be_cut_as_for_simais_generator(tmp_path):
    for flag in ("--topo", "-topo", "--topology"):
        result = generate(tmp_path, flag, "Spectrum-X", "--gpu", "16", "--bandw", "400Gbps")
        assert result.stdout.strip() == "Spectrum-X_16g_8gps_400Gbps_H100", result.stderr
    result = generate(tmp_path, "--nv", "2")
    assert result.returncode == 2 and "ambiguous option: --nv" in result.stderr


def test_a_gpu_type_that_the_simulator_does_not_know_is_refused(tmp_path):
    result = generate(tmp_path, "-topo", "Spectrum-X", "-g", "16", "-gt", "X99")
    assert result.returncode == 2 and not list(tmp_path.iterdir())
    assert (
        "-gt 'X99' is not a known GPU type; expected one of A100, " in result.stderr and "--gpu_table" in result.stderr
    )
    (tmp_path / "gpus.yaml").write_bytes(b"X99: \xff\n")
    result = generate(tmp_path, "-gt", "X99", "--gpu_table", "gpus.yaml")
    assert (
        result.returncode == 2
        and "gpus.yaml:1: is not text; expected" in result.stderr
        and "Traceback" not in result.stderr
    )
    (tmp_path / "gpus.yaml").write_bytes(b"\xef\xbb\xbfX99: {generation: Ampere}\n")
    result = generate(tmp_path, "-topo", "Spectrum-X", "-g", "16", "-gt", "X99", "--gpu_table", "gpus.yaml")
    assert result.returncode == 0 and (tmp_path / "Spectrum-X_16g_8gps_400Gbps_X99").is_file(), result.stderr


@pytest.mark.skipif(not PROGRAM.is_file(), reason="SimAI_simulator is not built here")
def test_the_generator_knows_the_gpu_types_of_the_simulator(tmp_path):
    refused = generate(tmp_path, "-gt", "X99").stderr
    (tmp_path / "w").write_text("1 ALLREDUCE 1024 TP\n")
    (tmp_path / "n").write_text("3 1 0 1 2 X99\n2 \n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n")
    simulated = subprocess.run([PROGRAM, "-w", "w", "-n", "n", "--tp", "2"], cwd=tmp_path, capture_output=True,
                               text=True).stderr
    types = [set(re.search(r"one of (.*), or a row", text).group(1).split(", ")) for text in (refused, simulated)]
    assert types[0] == types[1]


def test_a_value_that_a_later_one_replaces_is_told(tmp_path):
    result = generate(tmp_path, "-topo", "Clos2", "-g", "64", "--gpu", "32", "-o", "x")
    assert result.returncode == 0 and "warning: --gpu replaces the -g before it\n" in result.stderr
    result = generate(tmp_path, "-g", "64", "-topo", "Clos2", "--topo", "Spectrum-X", "-o",
                      "z")  # a flag's first letters
    assert result.returncode == 0 and "warning: --topo replaces the -topo before it\n" in result.stderr
    for words, told in ((["-topo", "Clos2", "-top", "Spectrum-X", "-g", "64"], "-top replaces the -topo"),
                        (["-topo", "Clos2", "-g", "32", "-g64"], "-g64 replaces the -g")):
        result = generate(tmp_path, *words, "-o", "w" + words[-1])
        assert result.returncode == 0 and f"warning: {told} before it\n" in result.stderr
    assert (tmp_path / "x").read_text().split()[1] == "8" and "warning" not in generate(tmp_path, "-topo", "Clos2",
        "-g", "64", "-o", "y").stderr


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


def oversubscription(result):
    """@return the ratio of each tier, as the generator prints it; its warnings of them"""
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("oversubscription")]
    return ({int(tier): float(ratio) for tier, ratio in re.findall(r"tier (\d) ([\d.e-]+):1", line)},
            re.findall(r"warning: the switches of tier (\d) have", result.stderr))


@pytest.mark.parametrize("gpus", [8, 64, 256, 1000, 2048])
@pytest.mark.parametrize("template, simais", [("Spectrum-X", 64), ("AlibabaHPN", 120), ("AlibabaHPN --dp", 120),
                                              ("AlibabaHPN-SinglePlane -bw 400Gbps", 120),
                                              ("DCN+", 8), ("DCN+ --dt", 8), ("DCN-SingleToR -apbw 800Gbps", 8)])
def test_aggregation_switches_are_simais_or_as_many_as_the_gpus_need(tmp_path, template, simais, gpus):
    gpus = min(gpus, 440) if template.startswith("DCN") else gpus  # a pod holds 512
    flags = ("-topo", *template.split(), "-g", str(gpus))
    result = generate(tmp_path, *flags, "--fit", "-o", "fit")
    ratios, warned = oversubscription(result)
    # A link is 200 to 800 Gb/s, so the last uplink of a small switch may be half idle.
    assert result.returncode == 0 and 0.5 <= ratios[1] <= 1 and not warned, result.stderr
    assert "access switches, not" not in result.stderr
    result = generate(tmp_path, *flags, "-o", "simai")
    ratios, warned = oversubscription(result)
    topology = Topology(tmp_path / "simai")
    uplinks = {len([n for n in topology.neighbours[asw] if n > asw])
               for asw in topology.switch_ids[topology.nvswitches:-simais]}
    assert uplinks == {simais // 2 if "--dp" in template else simais}, "each access switch is on every one of its plane"
    assert ("--fit or -psn" in result.stderr) == bool(warned) == (not 0.5 <= ratios[1] <= 2)


@pytest.mark.parametrize("flags, psws", [
    ("-topo AlibabaHPN -g 16384", 64),  # 15,360 GPUs are the template's size; 128 NICs of 200 Gb/s
    ("-topo DCN+ -g 576 -app 9", 64),  # 64 NICs of a switch; 512 GPUs are the template's size
    ("-topo Spectrum-X -g 4608 -app 72", 64),
    ("--ro -g 4608 -app 72 -bw 200Gbps", 32)])
def test_above_a_templates_size_there_are_as_many_aggregation_switches_as_needed(tmp_path, flags, psws):
    result = generate(tmp_path, *flags.split(), "-o", "t")
    assert result.returncode == 0 and oversubscription(result) == ({1: 1}, []), result.stderr
    topology = Topology(tmp_path / "t")
    assert len({int(b) for a, b, *_ in topology.lines if int(a) in topology.switch_ids}) == psws


@pytest.mark.parametrize("flags, ratios, warned", [
    ("-topo Spectrum-X -g 256 -psn 64", {1: 32 / 64}, False),
    ("-topo Spectrum-X -g 256 -psn 65", {1: 32 / 65}, True),
    ("-topo Spectrum-X -g 256 -psn 16", {1: 2}, False),
    ("-topo Spectrum-X -g 256 -psn 15", {1: 32 / 15}, True),
    ("-topo Spectrum-X -g 16", {1: 2 / 64}, True),  # SimAI's file
    ("-topo DCN+", {1: 64 / 8}, True),  # a template's own size
    ("-topo Spectrum-X -g 1024 -app 8 -psn 64 -csn 64", {1: 1, 2: 8}, True),  # 8 switches below, a core switch above
    ("-topo Clos2 -g 64 --oversubscription 4", {1: 4}, False),  # as asked for
    ("-topo Clos2 -g 64 -apbw 100Gbps --nics_per_leaf 16", {1: 1}, False),
    ("-topo FatTree", {1: 1, 2: 1}, False),
    ("-topo Torus", {}, False),
])
def test_oversubscription_is_told_and_warned_of(tmp_path, flags, ratios, warned):
    result = generate(tmp_path, *flags.split(), "-o", "t")
    found, warnings = oversubscription(result)
    assert result.returncode == 0 and found == pytest.approx(ratios, rel=5e-3), result.stderr
    assert bool(warnings) == warned, result.stderr
    # The description of the file has the same ratios.
    described = generate(tmp_path, "--describe", "t").stdout
    assert {int(t): float(r) for t, r in re.findall(r"  tier (\d): ([\d.e-]+):1", described)} == pytest.approx(ratios,
        rel=5e-3)


def test_a_warning_of_oversubscription_says_how_to_have_none(tmp_path):
    result = generate(tmp_path, "-topo", "Spectrum-X", "-g", "128", "-bw", "100Gbps")
    hint = re.search(r"expected (--fit) or (-psn \d+) for 1:1", result.stderr)
    for flags in hint.groups():
        again = generate(tmp_path, "-topo", "Spectrum-X", "-g", "128", "-bw", "100Gbps", "--force", *flags.split())
        assert oversubscription(again) == ({1: 1}, [])


# Of one GPU in one direction, in Gb/s: what NVIDIA gives for both directions in GB/s x 8 / 2, from Hopper on 80% of it.
OWN = {"A100": 600 * 4, "A800": 400 * 4, "H100": 900 * 4 * 0.8, "H800": 400 * 4 * 0.8, "H20": 900 * 4 * 0.8,
       "H200": 900 * 4 * 0.8,
       "GH200": 900 * 4 * 0.8, "B200": 1800 * 4 * 0.8, "B300": 1800 * 4 * 0.8, "GB200": 1800 * 4 * 0.8,
       "GB300": 1800 * 4 * 0.8}
SIMAIS = ("A100", "A800", "H100", "H800",
          "H20")  # the types that its generator was written for; it writes 2880Gbps for all


def nvlink_of(directory, *flags):
    """@return the sum of a GPU's NVLinks in Gb/s, and whether they brought a warning"""
    result = generate(directory, "-topo", "Spectrum-X", "-g", "64", "-o", "t", "--force", *flags)
    assert result.returncode == 0, result.stderr
    topology = Topology(directory / "t")
    first = topology.nodes - topology.nvswitches - topology.switches
    rates = [float(rate.removesuffix("Gbps")) for a, b, rate, *_ in topology.lines
             if a == "0" and first <= int(b) < first + topology.nvswitches]
    return sum(rates), "NVLink" in result.stderr


@pytest.mark.parametrize("nvswitches", [1, 4])
@pytest.mark.parametrize("gpu", OWN)
def test_gpus_have_their_own_nvlinks_or_a_warning(tmp_path, gpu, nvswitches):
    flags = ("-nsps", str(nvswitches))
    written = 2880 * nvswitches if gpu in SIMAIS else OWN[gpu]
    assert nvlink_of(tmp_path, "-gt", gpu, *flags) == (pytest.approx(written), written != pytest.approx(OWN[gpu]))
    assert nvlink_of(tmp_path, "--preset", gpu, *flags) == (pytest.approx(OWN[gpu]), False)
    assert nvlink_of(tmp_path, "-gt", gpu, "-nvbw", "100Gbps", *flags) == (100 * nvswitches, False)


def test_nvlinks_follow_the_gpu_type_on_every_architecture(tmp_path):
    for number, topo in enumerate(("FatTree", "Clos2", "Clos3 -g 512", "Dragonfly", "Torus", "RailOnly", "NVL72",
                                   "DCN+", "AlibabaHPN -g 64")):
        result = generate(tmp_path, "-topo", *topo.split(), "-gt", "B300", "-o", f"t{number}")
        assert result.returncode == 0, result.stderr
        topology = Topology(tmp_path / f"t{number}")
        assert topology.lines[0][2] == "5760Gbps", topo
    (tmp_path / "gpus.yaml").write_text("X99: {generation: Ampere}\n")
    assert "the NVLink rate of X99 is not known" in generate(tmp_path, "-gt", "X99", "--gpu_table", "gpus.yaml").stderr


@pytest.mark.parametrize("topo", ("Spectrum-X", "DCN+", "Clos2"))
@pytest.mark.parametrize("preset", ("GB200-NVL72", "GB300-NVL36", "Ascend-A3", "GH200-quad"))
def test_templates_hold_servers_of_any_size(tmp_path, topo, preset):
    """Of 64 access switches, the templates' aggregation switches had none for a rack of 72 GPUs."""
    result = generate(tmp_path, "-topo", topo, "-g", "144", "--preset", preset, "-o", "t")
    assert result.returncode == 0, result.stderr
    assert generate(tmp_path, "--check", "t").returncode == 0


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
    ("-topo DCN+ -psn 8 --fit", "--fit and --psw_switch_num are both given; expected one of them"),
    ("-topo Clos2 --fit", "--fit means nothing for Clos2"),
    ("-g 12", "12 GPUs do not fill servers of 8"),
    ("-g 0", "expected 1 or more"),
    ("-topo Spectrum-X -g 8192", "8192 GPUs need 16 segments and a pod holds 8"),
    ("-topo Spectrum-X -g 144 -gps 72 --asw_per_psw 64", "--asw_per_psw 64 holds no segment, of which an aggregation "
     "switch has 72 access switches"),
    ("-topo AlibabaHPN -g 128 --asw_per_psw 7 -csn 120", "has 8 access switches; expected 8 or more"),
    ("-topo AlibabaHPN --dp -psn 15", "15 PSWs cannot be split"),
    ("-bw fast", "'fast' is not a rate"),
    ("-l 5", "'5' is not a time"),
    ("-er 2", "'2' is not a probability"),
    ("-topo Torus9", "; the nearest is Torus"),
    ("-topo Clos2 --oversubscription nan", "invalid float value: 'nan'"),
    ("-g 16 --rails 4", "--rails is for rail-optimised networks; expected --ro"),
    ("-g 16 -gt h100", "a row of --gpu_table; the nearest is H100"),
    ("-g 16 --preset h100", "; the nearest is H100"),
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
