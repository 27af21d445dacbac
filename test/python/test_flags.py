# SPDX-License-Identifier: GPL-2.0-only
"""Every flag that programs share has the same spellings in all of them."""
import os
import pathlib
import subprocess

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])
MICRO = "1 ALLREDUCE 65536 TP\n"
# What makes each program do its least; TOPOLOGY and OUT are replaced. SimAI_phynet needs mpirun for that.
LEAST = {
    "SimAI_simulator": ["-w", "micro", "--network", "flow", "-o", "OUT"],
    "SimAI_analytical": ["-w", "micro", "--result-folder", "OUT"],
    "qbb-flows": ["-c", "conf", "-f", "flows", "-o", "OUT"],
    "SimCCL": ["-o", "OUT"],
    "all_reduce_perf": ["-b", "64K", "-e", "64K", "--network", "flow", "--output", "OUT"],
}
WITH_CONF = ("SimAI_simulator", "SimAI_phynet", "qbb-flows", "all_reduce_perf")


def run(folder, program, *arguments):
    if not (PROGRAMS / program).exists():
        pytest.skip(f"{program} is not built here")
    return subprocess.run([PROGRAMS / program, *arguments], cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flags")
    run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "16", "-gt", "A100", "-psn", "8",
                "-o", folder / "topology"], check=True)
    (folder / "micro").write_text(MICRO)
    (folder / "conf").write_text((ROOT / "conf/DCQCN.conf").read_text())
    (folder / "flows").write_text("1\n0 1 3 100 65536 0\n")
    return folder


@pytest.mark.parametrize("program", [*LEAST, "SimAI_phynet"])
@pytest.mark.parametrize("flag", ["--help", "-h", "--version"])
def test_help_and_version_are_printed(inputs, program, flag):
    done = run(inputs, program, flag)
    assert done.returncode == 0 and done.stdout and not done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines()), "a terminal has 80 columns"


@pytest.mark.parametrize("program", WITH_CONF)
@pytest.mark.parametrize("flag", ["--help-conf", "-help-conf", "--help_conf"])
def test_programs_that_read_a_configuration_print_its_keys(inputs, program, flag):
    done = run(inputs, program, flag)
    assert done.returncode == 0 and "CC_MODE" in done.stdout and not done.stderr
    assert done.stdout == run(inputs, "SimAI_simulator", "--help-conf").stdout


@pytest.mark.parametrize("program", LEAST)
@pytest.mark.parametrize("topology", ["--network-topo", "--topology", "-network-topo", "--network_topo"])
def test_a_quiet_run_prints_nothing(inputs, program, topology, tmp_path):
    for quiet in ("-q", "--quiet"):
        out = tmp_path / quiet
        arguments = [str(out) if word == "OUT" else word for word in LEAST[program]]
        done = run(inputs, program, *arguments, topology, "topology", quiet)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert any(out.iterdir())


@pytest.mark.parametrize("program", [name for name in WITH_CONF if name in LEAST])
@pytest.mark.parametrize("conf", ["--network-conf", "--conf", "--config"])
def test_a_configuration_has_the_same_names(inputs, program, conf, tmp_path):
    arguments = [str(tmp_path / "out") if word == "OUT" else word for word in LEAST[program]]
    if "-c" in arguments:
        at = arguments.index("-c")
        del arguments[at:at + 2]
    done = run(inputs, program, *arguments, "--network-topo", "topology", "-q", conf, "conf")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


INCAST = {
    "qbb-flows": ["-c", "conf", "-f", "incast"],
    "SimAI_simulator": ["-c", "conf", "-w", "micro", "--background-flows", "incast"],
}


def paused_priorities(folder, program, *flags, **environment):
    """Which priorities PFC pauses in an incast of priority 5."""
    (folder / "incast").write_text("15\n" + "".join(f"{src} 0 5 100 2000000 0\n" for src in range(1, 16)))
    done = subprocess.run([PROGRAMS / program, *INCAST[program], "-n", "topology", "-o", "paused", "-q",
                           "--set", "BUFFER_SIZE=4", "--set", "CC_MODE=0", *flags],
                          cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    rows = (folder / "paused/pauses.csv").read_text().splitlines()[1:]
    return {int(row.split(",")[2]) for row in rows}


@pytest.mark.parametrize("program", ["qbb-flows", "SimAI_simulator"])
def test_what_pfc_protects_follows_the_flows_unless_a_flag_says_it(inputs, program):
    if not (PROGRAMS / program).exists():
        pytest.skip(f"{program} is not built here")
    assert paused_priorities(inputs, program) >= {5}
    for mask in (0, 8, 16):
        assert 5 not in paused_priorities(inputs, program, f"--ns3::SwitchMmu::LosslessMask={mask}")
    assert paused_priorities(inputs, program, "--ns3::SwitchMmu::LosslessMask=32") >= {5}
    assert 5 not in paused_priorities(inputs, program, NS_ATTRIBUTE_DEFAULT="ns3::SwitchMmu::LosslessMask=8")


@pytest.mark.parametrize("program", ["qbb-flows", "SimAI_simulator", "all_reduce_perf"])
@pytest.mark.parametrize("flag", ["--ns3::QbbChannel::Delay=5us", "--ns3::QbbNetDevice::DataRate=10Gb/s",
                                  "--ns3::QbbChannel::ErrorRate=0.5"])
def test_flags_that_the_topology_file_overrides_are_refused(inputs, program, flag):
    done = run(inputs, program, *LEAST[program], "--topology", "topology", flag)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"command line: {flag} changes nothing: the topology says ")
    assert "; expected " in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("flag", ["ns3::NVSwitchNode::BufferBytes", "ns3::SwitchMmu::BufferBytes"])
def test_a_buffer_that_is_too_small_is_refused_by_the_name_of_the_flag(inputs, flag):
    done = run(inputs, "SimAI_simulator", "-w", "micro", "-n", "topology", "-o", "small", f"--{flag}=100")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"{flag}: 100 bytes cannot hold the reserves and PFC headroom")
