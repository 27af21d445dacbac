# SPDX-License-Identifier: GPL-2.0-only
"""The examples of rdma-qbb: what they print, against closed forms."""
import os
import pathlib
import re
import runpy
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", SOURCE / "build/release/bin"))
EXAMPLES = runpy.run_path(str(SOURCE / "contrib/rdma-qbb/test/examples-to-run.py"))["cpp_examples"]


def run(*command):
    return subprocess.run([PROGRAMS / command[0], *command[1:]], capture_output=True, text=True, check=True).stdout


def completion_us(payload, overhead=82, message=1 << 20, gbps=400, delay_ns=500):
    """@return the time until the last acknowledgement over two equal links and a switch"""
    full, rest = divmod(message, payload)
    frames = [payload + overhead] * full + ([rest + overhead] if rest else [])
    # The frames follow each other at the sender; the switch sends the last two one after the other.
    wire_bytes = sum(frames) + (frames[-2] - frames[-1]) + frames[-1] + 2 * 84
    return (wire_bytes * 8 / gbps + 4 * delay_ns) / 1000


@pytest.mark.parametrize("payload", [1000, 4096])
def test_first_rdma_takes_the_time_of_an_idle_path(payload):
    printed = run("first-rdma", f"--ns3::RdmaHw::Mtu={payload}", "--ns3::RdmaDriver::HasWindow=false")
    bytes_, time = re.fullmatch(r"(\d+) bytes in \+?([\d.]+)us\n", printed).groups()
    assert int(bytes_) == 1 << 20
    assert float(time) == pytest.approx(completion_us(payload), abs=1e-4)


def test_first_rdma_is_short():
    assert len((SOURCE / "contrib/rdma-qbb/examples/first-rdma.cc").read_text().splitlines()) <= 45


def test_second_rdma_shares_the_link_and_pauses():
    printed = run("second-rdma", "--senders=4", "--bytes=1000000", "--ns3::SwitchMmu::BufferBytes=2000000")
    times = {int(host): float(us) for host, us in re.findall(r"host (\d+): 1000000 bytes in \+?([\d.]+)us", printed)}
    assert sorted(times) == [1, 2, 3, 4]
    # All bytes pass one link of 100 Gb/s, and TCP takes some of it.
    assert max(times.values()) > 4 * 1000 * 1082 * 8 / 100 / 1000
    pauses, drops = re.search(r"PFC: (\d+) pauses, .* (\d+) frames dropped", printed).groups()
    assert int(pauses) > 0
    assert int(re.search(r"TCP: (\d+) bytes", printed).group(1)) > 100_000


@pytest.mark.parametrize("example", [name for name, *_ in EXAMPLES])
def test_examples_run(example):
    assert run(*example.split())


@pytest.mark.parametrize("command,expected", [
    (["second-rdma", "--senders=0"], "expected 1 to 64"),
    (["background-traffic", "--gbps=0"], "expected 0.001 to 1000 Gb/s"),
    (["background-traffic", "--gbps=-5"], "expected 0.001 to 1000 Gb/s"),
    (["background-traffic", "--gbps=1e9"], "expected 0.001 to 1000 Gb/s"),
    (["accl-allreduce", "--ranks=0"], "expected --ranks from 1 to 300"),
    (["accl-allreduce", "--bytes=6"], "--bytes a multiple of 4")])
def test_a_number_out_of_range_is_one_line(command, expected):
    result = subprocess.run([PROGRAMS / command[0], *command[1:]], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert expected in result.stderr and result.stderr.count("\n") == 1
