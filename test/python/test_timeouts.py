# SPDX-License-Identifier: GPL-2.0-only
"""Retransmission timers: they allow for the queues that buffers on the path can hold, and for nothing else."""
import json
import os
import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", "bin")).resolve() / "qbb-flows"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="qbb-flows is not built")

OVERHEAD, ACK = 82, 84
LEAST_MS = 4
LEAST_NS = {"gbn": LEAST_MS * 1e6, "irn": 100e3}  # of one frame in flight
MIB = 1 << 20


def star(hosts, gbps):
    return f"{hosts + 1} 1 {hosts}\n{hosts}\n" + "".join(f"{host} {hosts} {gbps}Gbps 1us 0\n" for host in range(hosts))


def two_tiers(leaves, hosts, gbps):
    """@return a topology in which each leaf has so many hosts and one link to each of four spines"""
    first = leaves * hosts
    links = [f"{host} {first + host // hosts} {gbps}Gbps 1us 0" for host in range(first)]
    links += [f"{first + leaf} {first + leaves + spine} {4 * gbps}Gbps 1us 0" for leaf in range(leaves)
              for spine in range(4)]
    nodes = first + leaves + 4
    return f"{nodes} {leaves + 4} {len(links)}\n{' '.join(map(str, range(first, nodes)))}\n" + "\n".join(links) + "\n"


def run(directory, topology, flows, keys=(), flags=()):
    (directory / "topology").write_text(topology)
    (directory / "flows").write_text(f"{len(flows)}\n" + "\n".join(flows) + "\n")
    (directory / "conf").write_text("\n".join(["PACKET_PAYLOAD_SIZE 1000", "MON_END 0", *keys]) + "\n")
    result = subprocess.run([PROGRAM, "conf", "-n", "topology", "-f", "flows", "-o", "out", "-q", *flags],
                            cwd=directory,
                            capture_output=True, text=True, timeout=300, check=False)
    record = json.loads((directory / "out/run.json").read_text())
    assert result.returncode == 0, result.stderr
    return record, [line.split() for line in (directory / "out/fct.txt").read_text().splitlines()], result.stderr


@pytest.mark.parametrize("keys", [("CC_MODE 0",), ("CC_MODE 1", "HAS_WIN 0"), ("CC_MODE 1", "BUFFER_SIZE 32")])
@pytest.mark.parametrize("flows, frames", [(4000, 8), (500, 80), (4000, 1)])
@pytest.mark.parametrize("shape", ["few hosts", "many hosts", "two tiers"])
@pytest.mark.parametrize("recovery", LEAST_NS)
def test_no_timer_expires_in_a_queue(recovery, shape, flows, frames, keys, tmp_path):
    topology, hosts = {"few hosts": (star(5, 10), 5), "many hosts": (star(65, 10), 65),
                       "two tiers": (two_tiers(8, 8, 10), 64)}[shape]
    lines = [f"{1 + i % (hosts - 1)} 0 3 {100 + i // (hosts - 1)} {1000 * frames} 0" for i in range(flows)]
    record, done, errors = run(tmp_path, topology, lines, (*keys, f"LOSS_RECOVERY {recovery}"))
    # All frames leave by one port of 10 Gb/s: the queue lasts longer than the timer of an idle path.
    assert max(int(each[6]) for each in done) >= flows * frames * (1000
        + OVERHEAD) * 8 / 10 >= 4 * LEAST_MS * 1e6 or frames == 1
    assert record["drops"] == record["timeouts"] == record["retransmitted_bytes"] == 0
    assert "timeouts" not in errors


def test_a_host_whose_frames_wait_for_each_other_loses_none(tmp_path):
    """A frame is not lost while the NIC has not sent it, and just after it has."""
    record, _, _ = run(tmp_path, star(2, 1), [f"0 1 3 {100 + i} 20000 0" for i in range(500)],
                       ("CC_MODE 0", "RTO 2000"))
    assert record["timeouts"] == 0


@pytest.mark.parametrize("gbps, mib", [(400, 16), (100, 16), (100, 64), (10, 16), (10, 1)])
@pytest.mark.parametrize("recovery, pfc", [("gbn", 1), ("irn", 1), ("irn", 0)])
def test_a_lost_last_frame_is_sent_again_when_buffers_have_had_time_to_drain(recovery, pfc, gbps, mib, tmp_path):
    # Of a message of one frame nobody hears if it is lost: the sink's link is down for 1 us when it comes.
    frame = (1000 + OVERHEAD) * 8 / gbps
    arrives_us = (2 * frame + 2000) / 1000
    keys = (f"LOSS_RECOVERY {recovery}", f"ENABLE_PFC {pfc}", "CC_MODE 0", f"BUFFER_SIZE {mib * MIB}",
            f"LINK_DOWN {arrives_us - 0.6:.3f} 1 2", f"LINK_UP {arrives_us - 0.1:.3f} 1 2")
    record, [[*_, took, alone]], _ = run(tmp_path, star(2, gbps), ["0 1 3 100 1000 0"], keys)
    drain = mib * MIB * 8 / gbps if pfc else 0  # IRN's timer of few frames expects drops where there is no PFC
    rtt = 2 * (frame + ACK * 8 / gbps) + 4000
    assert record["timeouts"] == 1 and record["drops"] == 1
    assert int(took) == pytest.approx(max(LEAST_NS[recovery], 2 * rtt + drain) + int(alone), abs=2)


def test_no_buffer_counts_for_more_than_a_nics_usual_timeout(tmp_path):
    # InfiniBand's timeout 14 is 4.096 us x 2^14.
    keys = ("CC_MODE 0", "BUFFER_SIZE 1000000000000", "LINK_DOWN 2 1 2", "LINK_UP 2.5 1 2")
    _, [[*_, took, alone]], _ = run(tmp_path, star(2, 100), ["0 1 3 100 1000 0"], keys)
    rtt = 2 * ((1000 + OVERHEAD + ACK) * 8 / 100) + 4000
    assert int(took) == pytest.approx(4096 * 2**14 + 2 * rtt + int(alone), abs=2)


@pytest.mark.parametrize("recovery, rto, least", [("gbn", 50, 50), ("irn", 50, 50), ("irn", 100, 100),
                                                  ("irn", 500, 100)])
def test_a_lost_last_frame_is_sent_again_after_the_timeout_that_a_user_sets(recovery, rto, least, tmp_path):
    keys = ("CC_MODE 0", f"LOSS_RECOVERY {recovery}", f"RTO {rto}", "LINK_DOWN 2 1 2", "LINK_UP 2.5 1 2")
    _, [[*_, took, alone]], _ = run(tmp_path, star(2, 100), ["0 1 3 100 1000 0"], keys)
    assert int(took) == pytest.approx(1000 * least + int(alone), abs=2)


def test_a_timeout_that_a_user_sets_is_taken_at_its_word(tmp_path):
    lines = [f"{1 + i % 63} 0 3 {100 + i // 63} 8000 0" for i in range(4000)]
    record, _, errors = run(tmp_path, two_tiers(8, 8, 10), lines, ("CC_MODE 0", "RTO 4000"))
    assert record["timeouts"] > 0 and "retransmission timeouts although the network lost nothing" in errors
