# SPDX-License-Identifier: GPL-2.0-only
"""Paths that are longer or hold more than the fields of a frame are wide: at the limit, one below, one above, and far
above."""
import json
import os
import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", "bin")).resolve() / "qbb-flows"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="qbb-flows is not built")


def run(folder, links, hosts, flows, keys, flags=()):
    """Run flows (source, destination, bytes) between hosts. Return the times in us in the order of ends, run.json, and
    messages."""
    nodes = {node for link in links for node in link[:2]}
    switches = sorted(nodes - set(range(hosts)))
    (folder / "topology").write_text(
        f"{len(nodes)} {len(switches)} {len(links)}\n{' '.join(map(str, switches))}\n"
        + "".join(f"{a} {b} {rate} {delay} 0\n" for a, b, rate, delay in links))
    (folder / "flows").write_text(f"{len(flows)}\n" + "".join(f"{a} {b} 3 100 {size} 0\n" for a, b, size in flows))
    (folder / "conf").write_text("MON_END 0\n" + "".join(f"{key}\n" for key in keys))
    done = subprocess.run([PROGRAM, "-c", "conf", "-n", "topology", "-f", "flows", "-o", "out", "-q", "--check",
                           *flags], cwd=folder,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ends = [int(line.split()[6]) / 1000 for line in (folder / "out" / "fct.txt").read_text().splitlines()]
    return ends, json.loads((folder / "out" / "run.json").read_text()), done.stderr


def chain(switches):
    """Host 0 before a chain of switches; hosts 1 and 2 at its last one."""
    first, last = 3, 3 + switches - 1
    return [(0, first, "100Gbps", "1us"), (1, last, "100Gbps", "1us"), (2, last, "100Gbps", "1us"),
            *((at, at + 1, "400Gbps", "100ns") for at in range(first, last))]


SIZE = 5_000_000


@pytest.mark.parametrize("control", ["3", "10"])  # HPCC, HPCC-PINT
@pytest.mark.parametrize("switches", [9, 10, 11, 20, 21, 40])
def test_flows_share_a_link_however_many_switches_one_has_passed(tmp_path, control, switches):
    """The link takes both in no less than their bytes' time, and each has its part of it until near the end."""
    ends, _, _ = run(tmp_path, chain(switches), 3, [(0, 1, SIZE), (2, 1, SIZE)],
                     [f"CC_MODE {control}", "PACKET_PAYLOAD_SIZE 1000"])
    both = 2 * SIZE * 8 / 100e3
    assert both < ends[-1] < 1.3 * both, ends
    assert ends[0] > 0.7 * ends[-1], ends


@pytest.mark.parametrize("switches", [10, 11, 21])
def test_threads_hand_over_the_records_of_all_switches(tmp_path, switches):
    flows = [(0, 1, SIZE // 5), (2, 1, SIZE // 5)]
    alone, together = (run(tmp_path, chain(switches), 3, flows, ["CC_MODE 3"], ["-t", threads])[0] for threads in "13")
    assert alone == together


def span(*delays):
    """Two hosts, each at a switch; between these one switch for each delay."""
    return [(0, 2, "400Gbps", "1us"), (1, 3, "400Gbps", "1us"),
            *((end, 4 + i, "400Gbps", delay) for i, delay in enumerate(delays) for end in (2, 3))]


@pytest.mark.parametrize("frames", [65_534, 65_535, 65_536, 65_537, 131_072])
def test_irn_sends_a_lost_frame_again_once_however_many_are_under_way(tmp_path, frames):
    """A frame that comes right after a lost one that began the flight is named by as many frames as are under way."""
    payload = 256
    _, record, _ = run(tmp_path, span("500us"), 2, [(0, 1, 3 * frames * payload)],
                       ["CC_MODE 0", f"PACKET_PAYLOAD_SIZE {payload}", "LOSS_RECOVERY irn", "ERROR_RATE_PER_LINK 2e-5",
                        "BUFFER_SIZE 2000000000"], [f"--ns3::RdmaIrn::BdpCap={frames * payload}"])
    assert record["drops"] > 0 and record["timeouts"] == 0
    # A lost acknowledgement needs nothing; so no more than the frames that were lost.
    assert 0 < record["retransmitted_bytes"] <= record["drops"] * payload, record


@pytest.mark.parametrize("recovery", ["gbn", "irn"])
def test_a_receiver_keeps_all_that_gets_ahead_on_a_shorter_path(tmp_path, recovery):
    """400 Gb/s in turn over paths of which one is 3 ms longer: 75,000 frames of 1,000 bytes and more come before an
    earlier one."""
    size = 150_000_000
    ends, record, messages = run(tmp_path, span("1us", "1500us"), 2, [(0, 1, size)],
                                 ["CC_MODE 0", "PACKET_PAYLOAD_SIZE 1000", f"LOSS_RECOVERY {recovery}", "ROUTING spray",
                                  "BUFFER_SIZE 2000000000"])
    assert record["out_of_order_packets"] > 60_000 and record["reorder_bytes"] > 65_536_000
    assert record["nacks"] == record["retransmitted_bytes"] == record["timeouts"] == 0 and messages == ""
    frames_us = size / 1000 * 1082 * 8 / 400e3
    assert ends[0] < frames_us + 2 * 3003, "all frames, and an acknowledgement, cross the longer path"


def test_irn_repairs_losses_among_frames_that_overtake(tmp_path):
    """While a gap lasts the sender fills its window: none of that is dropped for coming early, so none is sent
    again."""
    _, record, _ = run(tmp_path, span("1us", "1500us"), 2, [(0, 1, 150_000_000)],
                       ["CC_MODE 0", "PACKET_PAYLOAD_SIZE 1000", "LOSS_RECOVERY irn", "ROUTING spray",
                        "ERROR_RATE_PER_LINK 1e-5",
                        "BUFFER_SIZE 2000000000"])
    assert record["drops"] > 0
    assert record["retransmitted_bytes"] <= record["drops"] * 1000, record


@pytest.mark.parametrize("dynamic, threshold", [(1, 0), (0, 0), (0, 100_000), (0, 2_000_000), (0, 20_000_000)])
@pytest.mark.parametrize("lossless", [True, False])
def test_a_switch_never_holds_more_than_its_buffer(tmp_path, dynamic, threshold, lossless):
    """Sixteen hosts send 64 MB to one, through a buffer of 8 MiB: --check counts the bytes that it holds."""
    links = [(host, 17, "100Gbps", "1us") for host in range(17)]
    mask = [] if lossless else ["--ns3::SwitchMmu::LosslessMask=0"]
    _, record, messages = run(tmp_path, links, 17, [(host, 16, 4_000_000) for host in range(16)],
                              ["CC_MODE 0", "HAS_WIN 0", "BUFFER_SIZE 8", f"USE_DYNAMIC_PFC_THRESHOLD {dynamic}"],
                              [f"--ns3::SwitchMmu::StaticThreshold={threshold}", *mask])
    assert (record["drops"] == 0) == lossless and (record["pauses"] > 0) == lossless
    assert ("StaticThreshold of 20000000 bytes is more than the" in messages) == (threshold == 20_000_000)
