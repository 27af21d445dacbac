# SPDX-License-Identifier: GPL-2.0-only
"""Every flag that programs share has the same spellings in all of them."""
import os
import pathlib
import re
import subprocess

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])
MICRO = "1 ALLREDUCE 65536 TP\n"
# Flags that make each program do its least; TOPOLOGY and OUT are replaced. SimAI_phynet needs mpirun for that.
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
    run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "16", "-gt", "H100", "-psn", "8",
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


@pytest.mark.parametrize("program, flags, reason", [
    ("qbb-flows", ["DCTCP_GAIN=0.5"], "DCTCP_GAIN has no effect with CC_MODE ns3::RdmaDcqcn"),
    ("qbb-flows", ["CC_MODE=8", "U_TARGET=0.5"], "U_TARGET has no effect with CC_MODE ns3::RdmaDctcp"),
    ("qbb-flows", ["CC_MODE=7", "EWMA_GAIN=0.5"], "EWMA_GAIN has no effect with CC_MODE ns3::RdmaTimelyHpccArtifact"),
    ("qbb-flows", ["CC_MODE=3", "PINT_LOG_BASE=1.3"], "PINT_LOG_BASE has no effect with CC_MODE ns3::RdmaHpcc"),
    ("qbb-flows", ["LOSS_RECOVERY=irn", "L2_BACK_TO_ZERO=1"],
     "L2_BACK_TO_ZERO has no effect with LOSS_RECOVERY ns3::RdmaIrn"),
    ("qbb-flows", ["L2_CHUNK_SIZE=9000"], "L2_CHUNK_SIZE has no effect without L2_BACK_TO_ZERO"),
    ("qbb-flows", ["KMIN=5000"], "KMIN has no effect with KMIN_MAP"),
    ("qbb-flows", ["ENABLE_QCN=0", "PMAX=0.5"], "PMAX has no effect without ENABLE_QCN"),
    ("qbb-flows", ["HAS_WIN=0", "VAR_WIN=1"], "VAR_WIN has no effect without HAS_WIN"),
    ("qbb-flows", ["PFC_WATCHDOG=0", "PFC_WATCHDOG_ACTION=drop"],
     "PFC_WATCHDOG_ACTION has no effect without PFC_WATCHDOG"),
    ("qbb-flows", ["REORDER_FRAMES=4"], "REORDER_FRAMES has no effect where no switch routes frame by frame"),
    ("qbb-flows", ["ROUTING=flowlet", "REORDER_TIME=4"],
     "REORDER_TIME has no effect where no switch routes frame by frame"),
    ("qbb-flows", ["ENABLE_TRACE=1"], "ENABLE_TRACE has no effect without TRACE_FILE"),
    ("qbb-flows", ["LINK_RETRY_BUFFER=90000"], "LINK_RETRY_BUFFER has no effect without LINK_RETRY"),
    ("qbb-flows", ["LINK_CREDITS=90000", "PAUSE_TIME=9"],
     "PAUSE_TIME has no effect with LINK_CREDITS but at NVSwitches"),
    ("qbb-flows", ["TRANSPORT=UEC", "LINK_CREDITS=90000"],
     "LINK_CREDITS has no effect where no priority is lossless (ENABLE_PFC)"),
    ("qbb-flows", ["INT_MULTI=8"], "INT_MULTI has no effect as telemetry is exact here"),
    ("qbb-flows", ["PLANE=DP 0"], "PLANE has no effect without a workload"),
    ("qbb-flows", ["TOPOLOGY_FILE=other"], "TOPOLOGY_FILE has no effect with -n topology"),
    ("qbb-flows", ["FLOW_FILE=other"], "FLOW_FILE has no effect with -f flows"),
    ("SimAI_simulator", ["TOPOLOGY_FILE=other"], "TOPOLOGY_FILE has no effect with -n topology"),
    ("SimAI_simulator", ["BUFFER_SIZE=9"], "BUFFER_SIZE has no effect with --network flow"),
    ("SimAI_simulator", ["LINK_RETRY=1"], "LINK_RETRY has no effect with --network flow"),
    ("SimAI_simulator", ["LINK_CREDITS=90000"], "LINK_CREDITS has no effect with --network flow"),
    ("SimAI_simulator", ["QLEN_MON_INTERVAL=9"], "QLEN_MON_INTERVAL has no effect with --network flow"),
])
def test_a_key_that_changes_nothing_brings_a_warning(inputs, tmp_path, program, flags, reason):
    least = [tmp_path / "o" if word == "OUT" else word for word in LEAST[program]]
    done = run(inputs, program, *least, "-n", "topology", "-q", *(word for flag in flags for word in ("--set", flag)))
    assert done.returncode == 0 and done.stderr == f"warning: --set {flags[-1]}: {reason}\n"


@pytest.mark.parametrize("program, flags", [
    ("qbb-flows", ["RP_TIMER=100", "EWMA_GAIN=0.5", "RATE_AI=1Gb/s", "SEED=3", "L2_ACK_INTERVAL=1", "RTO=900"]),
    ("qbb-flows", ["CC_MODE=8", "DCTCP_GAIN=0.5", "EWMA_GAIN=0.25", "MIN_RATE=1Gb/s"]),
    ("qbb-flows", ["CC_MODE=10", "PINT_LOG_BASE=1.3", "U_TARGET=0.5", "PINT_PROB=0.5"]),
    ("qbb-flows", ["ROUTING=spray", "REORDER_FRAMES=4", "REORDER_TIME=9"]),
    ("qbb-flows", ["ROUTING_AT=spray asw", "REORDER_FRAMES=4", "PFC_WATCHDOG_ACTION=drop"]),
    ("qbb-flows", ["LOSS_RECOVERY=irn", "RTO=900"]),
    ("qbb-flows", ["LINK_RETRY=1", "LINK_RETRY_BUFFER=90000", "LINK_RETRY_TIMEOUT=9", "LINK_CREDITS=90000"]),
    ("SimAI_simulator", ["PACKET_PAYLOAD_SIZE=4000", "L2_ACK_INTERVAL=9000", "CC_MODE=3", "ROUTING=spray",
                         "QP_MODE=persistent",
                         "FCT_OUTPUT_FILE=flows.txt", "PLANE=TP 0"]),
])
def test_keys_that_change_something_bring_none(inputs, tmp_path, program, flags):
    least = [tmp_path / "o" if word == "OUT" else word for word in LEAST[program]]
    done = run(inputs, program, *least, "-n", "topology", "-q", *(word for flag in flags for word in ("--set", flag)))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("program", ["qbb-flows", "SimAI_simulator", "all_reduce_perf"])
@pytest.mark.parametrize("flags, error", [
    (["--set", "RATE_AI=1Gb/s", "--set", "RATE_AI=2Gb/s"],
     "--set RATE_AI=2Gb/s: --set RATE_AI=1Gb/s sets the same key"),
    (["--set", "RATE_AI=1Gb/s", "--set", "RATE_AI=1Gb/s"],
     "--set RATE_AI=1Gb/s: --set RATE_AI=1Gb/s sets the same key"),
    (["--set", "ENABLE_QCN=1", "--set", "ECN_ENABLED=0"], "--set ECN_ENABLED=0: --set ENABLE_QCN=1 sets the same key"),
    (["--ns3::RdmaHw::Mtu=500", "--ns3::RdmaHw::Mtu=900"],
     "command line: --ns3::RdmaHw::Mtu=500 and --ns3::RdmaHw::Mtu=900"),
    (["--RngRun=2", "--RngRun=3"], "command line: --RngRun=2 and --RngRun=3"),
    (["--ns3::RdmaHw::Mtu=500", "--set", "PACKET_PAYLOAD_SIZE=900"],
     "--ns3::RdmaHw::Mtu=500: --set PACKET_PAYLOAD_SIZE=900 sets the same attribute"),
])
def test_a_key_or_an_attribute_is_set_once(inputs, program, flags, error):
    if program == "all_reduce_perf" and "--RngRun=2" in flags:
        pytest.skip(f"{program} takes no global values")
    done = run(inputs, program, *LEAST[program], "--topology", "topology", *flags)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith((f"{error}; expected each ",
                                   f"{error}; expected one ")) and done.stderr.count("\n") == 1


def test_keys_that_may_be_repeated_are_repeated(inputs, tmp_path):
    done = run(inputs, "qbb-flows", "-c", "conf", "-f", "flows", "-n", "topology", "-q", "-o", tmp_path / "o", "--set",
               "QUEUE_WEIGHT=3 1",
               "--set", "QUEUE_WEIGHT=4 2", "--set", "NODE_UP=0 1", "--set", "NODE_UP=0 2")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("flag, what", [
    ("--ns3::RdmaHw::CongestionOps=3", "CongestionOps holds objects"),
    ("--ns3::SwitchNode::Mmu=ns3::SwitchMmu", "Mmu holds objects"),
    ("--ns3::Node::DeviceList=3", "DeviceList holds objects"),
    ("--ns3::Node::Id=3", "Id cannot be set"),
])
def test_an_attribute_that_no_text_can_set_is_refused(inputs, flag, what):
    done = run(inputs, "SimAI_simulator", *LEAST["SimAI_simulator"], "-n", "topology", flag)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == f"command line: {flag}: {what}; expected an attribute that holds a number, a time, a rate or a name\n"
    )


@pytest.mark.parametrize("program, flag, reason", [
    ("SimAI_simulator", "--ns3::SwitchMmu::BufferBytes=9000000", "with --network flow"),
    ("SimAI_simulator", "--ns3::RdmaDcqcn::RateAi=1Gbps", "with --network flow"),
    ("SimAI_simulator", "--ns3::RdmaHw::MaxRetries=3", "with --network flow"),
    ("SimAI_simulator", "--ns3::UdpSocket::RcvBufSize=3", "with --network flow"),
    ("SimAI_simulator", "--ns3::RdmaHw::Mtu=3000", None),
    ("qbb-flows", "--ns3::RdmaDctcp::RateAi=1Gbps", "with CC_MODE ns3::RdmaDcqcn"),
    ("qbb-flows", "--ns3::RdmaGoBackN::ChunkBytes=9000", "without L2_BACK_TO_ZERO"),
    ("qbb-flows", "--ns3::RdmaDcqcn::RateAi=1Gbps", None),
    ("qbb-flows", "--ns3::SwitchMmu::EcnKmin=5000", None),
])
def test_an_attribute_that_changes_nothing_brings_a_warning(inputs, tmp_path, program, flag, reason):
    least = [tmp_path / "o" if word == "OUT" else word for word in LEAST[program]]
    done = run(inputs, program, *least, "-n", "topology", "-q", flag)
    assert (done.returncode, done.stderr) == (0, f"warning: {flag} has no effect {reason}\n" if reason else "")
    name, value = flag[2:].split("=")
    environment = {**os.environ, "NS_ATTRIBUTE_DEFAULT": f"{name}={value}"}
    done = subprocess.run([PROGRAMS / program, *map(str, least), "-n", "topology", "-q"], cwd=inputs,
                          capture_output=True, text=True,
                          env=environment)
    said = f"warning: environment: NS_ATTRIBUTE_DEFAULT: {name} has no effect {reason}\n"
    assert (done.returncode, done.stderr) == (0, said if reason else "")


def test_a_configuration_may_have_the_parameters_of_all_algorithms(inputs, tmp_path):
    done = run(inputs, "qbb-flows", "-c", ROOT / "conf/SimAI.conf", "-f", "flows", "-n", "topology", "-q", "-o",
               tmp_path / "o",
               "--set", "CC_MODE=3")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("flags, warning", [
    (["--timeline-limit", "10"], "--timeline-limit has no effect without --timeline-ranks"),
    (["--fast-forward-memory", "10"], "--fast-forward-memory has no effect without --fast-forward"),
    (["--fast-forward-store-size", "10"], "--fast-forward-store-size has no effect without --fast-forward-store"),
    (["--tp", "4"], "--tp 4 has no effect: sized says 8"),
    (["--pp", "2"], "--pp 2 has no effect: sized says 1"),
    (["--tp", "8"], None),
])
def test_a_flag_that_changes_nothing_brings_a_warning(inputs, tmp_path, flags, warning):
    (inputs / "sized").write_text("HYBRID_TRANSFORMER model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: "
                                  "16\n1\n"
                                  "layer -1 10 ALLREDUCE 65536 1 NONE 0 1 NONE 0 1\n")
    done = run(inputs, "SimAI_simulator", "-w", "sized", "--network", "flow", "-n", "topology", "-q", "-o",
               tmp_path / "o", *flags)
    assert (done.returncode, done.stderr) == (0, f"warning: {warning}\n" if warning else "")


@pytest.mark.parametrize("key", ["CC_MODE=3", "PACKET_PAYLOAD_SIZE=100", "QPS_PER_CONNECTION=2", "GPUS_PER_SERVER=2",
                                 "TOPOLOGY_FILE=topology"])
def test_a_network_of_astra_sim_leaves_nothing_to_keys_of_topologies_and_frames(inputs, tmp_path, key):
    (inputs / "ring.yml").write_text("topology: [ Ring ]\nnpus_count: [ 16 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n")
    done = run(inputs, "SimAI_simulator", "-w", "micro", "-c", "ring.yml", "-q", "-o", tmp_path / "o", "--set", key)
    assert (done.returncode, done.stderr) == (0, f"warning: --set {key}: {key.split('=')[0]} has no effect with "
                                              f"ring.yml\n")


COMMON = {"--help", "--help-conf", "--version", "--quiet",
          "--PrintAttributes"}  # the page says once what they mean everywhere


def spellings(line):
    """The names that a line of --help gives a flag: a word of several letters with _ as with -, and short ones."""
    names = re.match(r"  ((?:-\w+, )*)--([\w-]+)", line)
    if not names:
        return set()
    return {f"--{names[2]}", f"--{names[2].replace('-', '_')}", f"--{names[2].replace('_', '-')}",
            *names[1].split(", ")} - {""}


@pytest.mark.parametrize("program, section", [("SimAI_simulator", "SimAI_simulator"), ("SimAI_phynet", "SimAI_phynet"),
                                              ("all_reduce_perf", "collective-perf"),
                                              ("SimAI_analytical", "SimAI_analytical")])
def test_the_page_of_programs_has_every_flag(inputs, program, section):
    page = (ROOT / "docs/source/reference/programs.rst").read_text()
    text = re.search(rf"^{section}\n-+\n(.*?)(?=^[^\n]+\n---+\n|\Z)", page, re.MULTILINE | re.DOTALL)[1]
    for name in re.findall("literalinclude:: (.*)", text):
        text += (ROOT / "docs/source/reference" / name).read_text()
    written = set(re.findall(r"(?<![\w-])--?\w[\w-]*", text))
    help_lines = run(inputs, program, "--help").stdout.splitlines()
    flags = [names for names in map(spellings, help_lines) if names and not names & COMMON]
    assert len(flags) > 15
    assert [names for names in flags if not names & written] == []
