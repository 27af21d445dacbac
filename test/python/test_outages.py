# SPDX-License-Identifier: GPL-2.0-only
"""Links that flap, NICs and NVLinks that die: what the run says of them, against closed forms."""
import json
import os
import pathlib
import re
import subprocess

import pytest
from script_process import run_script
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin")).resolve()
CONF = ROOT / "conf/SimAI.conf"

pytestmark = pytest.mark.skipif(not (PROGRAMS / "SimAI_simulator").exists(), reason="SimAI_simulator is not built")

RTO_US = 4000
ROUTES_US = 100  # until they follow a change of links
PATIENCE_S = 4.096e-6 * 2 ** 20 * 8  # NCCL_IB_TIMEOUT 20, and 7 more times


def lone_flow(directory, *keys):
    """A flow of 10 MB from host 0 to host 1 at 100 Gb/s. @return when it ends in us, run.json, what is printed"""
    directory.mkdir()
    (directory / "topology").write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    (directory / "flows").write_text("1\n0 1 3 100 10000000 0\n")
    (directory / "conf").write_text("\n".join(["CC_MODE 0", "HAS_WIN 1", "PACKET_PAYLOAD_SIZE 1000", "MON_END 0",
                                               f"RTO {RTO_US}", *keys]) + "\n")
    done = subprocess.run([PROGRAMS / "qbb-flows", "conf", "-n", "topology", "-f", "flows", "-o", "out"],
                          cwd=directory, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0, done.stderr
    record = json.loads((directory / "out/run.json").read_text())
    return int((directory / "out/fct.txt").read_text().split()[6]) / 1000, record, done.stdout


def test_a_nic_down_for_2_ms_costs_that_and_the_rest_of_the_timer(tmp_path):
    alone, record, printed = lone_flow(tmp_path / "alone")
    assert "outages" not in record and "was down" not in printed
    flapped, record, printed = lone_flow(tmp_path / "flapped", "LINK_DOWN 100 0 2", "LINK_UP 2100 2 0")
    # The window is full of lost frames, so nothing moves until the timer, which began at the last acknowledgement
    # before the cut. Then a window (less than 10 us) is sent again.
    assert RTO_US - 10 < flapped - alone < RTO_US + 10
    outage, = record["outages"]
    assert (outage["nodes"], outage["links"]) == ("0 2", 1)
    assert (outage["from_ns"], outage["to_ns"]) == (100_000, 2_100_000)
    assert 0 < outage["drops"] <= record["drops"] and outage["timeouts"] == record["timeouts"] == 1
    assert outage["timer_ns"] / 1000 == pytest.approx(RTO_US - 2000 - ROUTES_US, abs=10), "the rest of the timer"
    assert (f"link 0 2 was down from 100 to 2100 us and lost {outage['drops']} frames; retransmission timers still ran "
            f"then (1), the last for {outage['timer_ns'] / 1000:.1f} us\n") in printed


def test_an_outage_that_ends_after_the_timer_costs_the_rest_of_the_next_one(tmp_path):
    """A timeout 4 ms after the cut doubles the timer. It begins when the link takes frames again; their
    acknowledgements find no route yet, and so it runs out."""
    alone, _, _ = lone_flow(tmp_path / "alone")
    flapped, record, _ = lone_flow(tmp_path / "flapped", "LINK_DOWN 100 0 2", "LINK_UP 7100 0 2")
    assert flapped - alone == pytest.approx(7000 + 2 * RTO_US, abs=10)
    outage, = record["outages"]
    assert outage["timer_ns"] / 1000 == pytest.approx(2 * RTO_US - ROUTES_US, abs=10)
    assert outage["timeouts"] == 1, "the other one ran out while the link was down"


def test_links_that_come_back_by_themselves_are_outages_of_their_own(tmp_path):
    _, record, _ = lone_flow(tmp_path / "run", "NODE_DOWN 100 2", "LINK_UP 200 0 2", "NODE_UP 300 2")
    assert [(each["nodes"], each["links"], each["from_ns"], each["to_ns"]) for each in record["outages"]] == [
        ("2", 1, 100_000, 300_000), ("0 2", 1, 100_000, 200_000)]


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Two servers of 8 H100. NVSwitches are nodes 16 and 17, access switches follow, one for each rail."""
    directory = tmp_path_factory.mktemp("servers")
    run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "16", "-gt", "H100", "-bw",
                "400Gbps", "--fit", "-o", "topology"], cwd=directory, check=True)
    return directory / "topology"


def all_reduces(directory, servers, tp, size, *flags, environment=None, compute_ns=1000):
    """Two AllReduces of a layer, the second after some computation."""
    row = f"a\t-1\t{compute_ns}\tALLREDUCE\t{size}\t1\tNONE\t0\t1\t"
    row += "NONE\t0\t1\n" if tp > 1 else f"ALLREDUCE\t{size}\t1\n"
    if tp == 1:
        row = row.replace(f"\tALLREDUCE\t{size}\t1\tNONE", "\tNONE\t0\t1\tNONE", 1)
    (directory / "w.txt").write_text(f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: 1 pp: 1 vpp: "
                                     f"1 ga: 1 all_gpus: 16 checkpoints: 0 checkpoint_initiates: 0\n2\n{row}{row}")
    done = subprocess.run([PROGRAMS / "SimAI_simulator", "-w", "w.txt", "-n", servers, "-c", CONF, "-o", "out", *flags],
                          cwd=directory, capture_output=True, text=True, timeout=HANGS, check=False,
                          env={**os.environ, **(environment or {})})
    return done, json.loads((directory / "out/run.json").read_text())


def sets(*keys):
    return [word for key in keys for word in ("--set", key)]


def nic(servers):
    """@return the access switch of GPU 0's NIC"""
    return next(int(b) for a, b, *_ in map(str.split, servers.read_text().splitlines()[2:]) if a == "0" and b != "16")


@pytest.mark.parametrize("network", ["packet", "flow"])
def test_a_run_says_which_link_was_down_when_and_what_it_lost(tmp_path, servers, network):
    flags = sets(f"LINK_DOWN=200 0 {nic(servers)}", f"LINK_UP=2200 0 {nic(servers)}")
    done, record = all_reduces(tmp_path, servers, 1, 64 << 20, "--network", network, *flags)
    assert done.returncode == 0, done.stderr
    outage, = record["outages"]
    assert (outage["from_ns"], outage["to_ns"]) == (200_000, 2_200_000)
    line, = [line for line in done.stdout.splitlines() if line.startswith("link 0 ")]
    if network == "flow":
        assert "drops" not in outage and line.endswith("; flows lose nothing and wait for no retransmission timer")
        return
    assert 0 < outage["drops"] <= record["drops"] and record["timeouts"] >= outage["timeouts"] > 0
    assert 0 < outage["timer_ns"] <= 4_000_000 - 1_900_000, "the timer began after the cut, but for a round trip"
    assert f"from 200 to 2200 us and lost {outage['drops']} frames; retransmission timers still ran then (" in line


@pytest.mark.parametrize("network", ["packet", "flow"])
@pytest.mark.parametrize("exponent", [None, 14])
def test_a_nic_that_dies_ends_the_run_with_the_time_of_nccls_error(tmp_path, servers, network, exponent):
    environment = {"NCCL_IB_TIMEOUT": str(exponent), "NCCL_IB_RETRY_CNT": "3"} if exponent else {}
    done, record = all_reduces(tmp_path, servers, 1, 64 << 20, "--network", network,
                               *sets(f"LINK_DOWN=200 0 {nic(servers)}"), environment=environment)
    patience = 4.096e-6 * 2 ** 14 * 4 if exponent else PATIENCE_S
    assert done.returncode == 1 and record["status"] == "stuck"
    assert record["nccl_error_ns"] == pytest.approx(200_000 + 1e9 * patience)
    assert f"link 0 {nic(servers)} was down from 200 us on" in done.stderr
    assert (f"NCCL ends with an error at {200e-6 + patience:.2f} s: its NICs give up {patience:.2f} s after link 0 "
            f"{nic(servers)} has failed (NCCL_IB_TIMEOUT {exponent or 20}, NCCL_IB_RETRY_CNT {3 if exponent else 7})"
            ) in done.stderr


def test_nics_send_again_as_long_as_nccl_waits(tmp_path, servers):
    """Ten timeouts, after which queue pairs would give up by themselves, are over after 1.6 s."""
    flags = sets(f"LINK_DOWN=200 0 {nic(servers)}", f"LINK_UP=5000000 0 {nic(servers)}")
    done, record = all_reduces(tmp_path, servers, 1, 8 << 20, *flags)
    assert done.returncode == 0, done.stderr
    longest = 64 * RTO_US * 1000  # timeouts double six times
    assert 5e9 < record["simulated_ns"] < 5e9 + longest + 1e7
    assert record["outages"][0]["timer_ns"] <= longest
    done, record = all_reduces(tmp_path, servers, 1, 8 << 20, *flags, environment={"NCCL_IB_TIMEOUT": "14"})
    assert done.returncode == 1 and record["nccl_error_ns"] == pytest.approx(200_000 + 1e9 * 4.096e-6 * 2 ** 17)


@pytest.mark.parametrize("network", ["packet", "flow"])
def test_an_nvlink_that_fails_before_a_group_uses_nvls_ends_the_run_then(tmp_path, servers, network):
    done, record = all_reduces(tmp_path, servers, 8, 64 << 20, "--network", network, *sets("LINK_DOWN=1500 0 16"),
                               compute_ns=2_000_000)
    assert done.returncode == 1 and record["status"] == "stuck", done.stderr
    lost, line = done.stderr.splitlines()[:2]
    [(group, at)] = re.findall(r"^the workload cannot finish: group (\w+) lost its NVSwitch at ([\d.]+) us, and NCCL ends "
                               r"with an error there:$", lost)
    assert group == "TP0" and float(at) * 1000 == pytest.approx(record["nccl_error_ns"]) and float(at) >= 1500
    assert line.startswith("  link 0 16 was down from 1500 us on")
    assert record["reason"] == lost[:-1] and "AS_NVLS_ENABLE" not in done.stderr


@pytest.mark.parametrize("network", ["packet", "flow"])
def test_an_nvlink_that_fails_while_a_group_uses_nvls_ends_the_run_with_its_reason(tmp_path, servers, network):
    done, record = all_reduces(tmp_path, servers, 8, 64 << 20, "--network", network, *sets("LINK_DOWN=300 0 16"))
    assert done.returncode == 1 and record["status"] == "stuck", done.stderr
    _, link, end = done.stderr.splitlines()[:3]
    assert link.startswith("  link 0 16 was down from 300 us on")
    assert end == "  NCCL ends with an error at 300.000 us: operations by NVLS end when a link of theirs fails"
    assert record["nccl_error_ns"] == 300_000


def test_without_nvls_a_gpu_that_loses_its_nvlink_goes_on_by_its_nic(tmp_path, servers):
    done, record = all_reduces(tmp_path, servers, 8, 16 << 20, "--network", "flow", *sets("LINK_DOWN=100 0 16"),
                               environment={"NCCL_NVLS_ENABLE": "0"})
    assert done.returncode == 0, done.stderr
    assert record["outages"][0]["to_ns"] is None
