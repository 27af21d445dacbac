# SPDX-License-Identifier: GPL-2.0-only
"""Links that slow down and recover during a run (LINK_RATE): closed forms, with packets and with flows."""
import json
import math
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "build/release/bin"))
CONF = "CC_MODE 0\nHAS_WIN 0\nENABLE_QCN 0\nPACKET_PAYLOAD_SIZE 1000\nMON_END 0\n"
FRAME_BITS, DELAY_NS, FRAMES = 1082 * 8, 1000, 4000
STAR = "3 1 0 1 2 H100\n2\n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n"


def flow_ns(folder: pathlib.Path, conf: str, *flags: str) -> int:
    """@return the time of a flow of FRAMES frames from host 0 to host 1"""
    folder.mkdir()
    (folder / "topology").write_text(STAR)
    (folder / "flows").write_text(f"1\n0 1 3 100 {FRAMES * 1000} 0\n")
    (folder / "conf").write_text(CONF + conf)
    done = subprocess.run([PROGRAMS / "qbb-flows", "conf", "-n", "topology", "-f", "flows", "-o", "out", "--check",
                           *flags], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int((folder / "out/fct.txt").read_text().split()[6])


def sent_by(rates: list[tuple[float, float]]) -> tuple[float, float]:
    """@param rates times in ns and Gb/s from then on @return when the last of the frames has left, and its own time"""
    now = 0.0
    frame = 0.0
    for _ in range(FRAMES):
        gbps = [rate for start, rate in rates if start <= now][-1]
        frame = FRAME_BITS / gbps
        now += frame
    return now, frame


@pytest.mark.parametrize("elided", [True, False])
@pytest.mark.parametrize("changes", [[(50, 25)], [(50, 25), (120, 100)], [(50, 25), (120, 10), (300, 50)]])
def test_a_flow_takes_the_frames_of_each_rate(tmp_path, changes, elided):
    conf = "".join(f"LINK_RATE {us} 2 0 {gbps}Gbps\n" for us, gbps in changes)
    took = flow_ns(tmp_path / "run", conf, *(() if elided else ("--ns3::LinkEngine::SendEvents=1",)))
    sent, _ = sent_by([(0, 100), *((us * 1000, gbps) for us, gbps in changes)])
    ack = 84 * 8
    expected = sent + FRAME_BITS / 100 + 2 * DELAY_NS + ack / 100 + ack / changes[-1][1] + 2 * DELAY_NS
    assert took == pytest.approx(expected, abs=2)


def test_a_bottleneck_inside_fills_its_queue_and_then_its_link(tmp_path):
    took = flow_ns(tmp_path / "run", "LINK_RATE 50 1 2 20Gbps\n")
    # 50 us at full rate, less the way to the switch; the link is never idle from then on.
    before = math.ceil((50_000 - FRAME_BITS / 100 - DELAY_NS) / (FRAME_BITS / 100))
    start = FRAME_BITS / 100 + DELAY_NS
    expected = start + before * FRAME_BITS / 100 + (FRAMES - before) * FRAME_BITS / 20 + DELAY_NS
    assert took == pytest.approx(expected + 84 * 8 / 20 + 84 * 8 / 100 + 2 * DELAY_NS, abs=2)


@pytest.mark.parametrize("transport", ["rud", "rod"])
def test_ultra_ethernet_follows_a_slowed_link(tmp_path, transport):
    took = flow_ns(tmp_path / "run", f"LINK_RATE 50 1 2 25Gbps\nTRANSPORT UEC\nUEC_DELIVERY {transport}\n")
    bits = 1122 * 8
    closed = 50_000 + (FRAMES * bits - 50_000 * 100) / 25
    assert closed < took < 1.06 * closed


def test_packets_and_flows_agree(tmp_path):
    (tmp_path / "topology").write_text(STAR)
    (tmp_path / "work").write_text("1 ALLREDUCE 8000000 DP\n")
    (tmp_path / "conf").write_text(CONF + "LINK_RATE 100 0 2 25Gbps\nLINK_RATE 900 0 2 50Gbps\n")
    ends = {}
    for network in ("packet", "flow"):
        done = subprocess.run([PROGRAMS / "SimAI_simulator", "-c", "conf", "-n", "topology", "-w", "work", "--tp", "1",
                               "--network", network, "-o", network], cwd=tmp_path, capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        ends[network] = json.loads((tmp_path / network / "run.json").read_text())["simulated_ns"]
    assert ends["flow"] == pytest.approx(ends["packet"], rel=0.03)


def test_a_change_after_the_end_is_said_to_be_late(tmp_path):
    folder = tmp_path / "run"
    flow_ns(folder, "LINK_RATE 900000 0 2 25Gbps\n")
    (line,) = json.loads((folder / "out/run.json").read_text())["warnings"]
    assert line.startswith("LINK_RATE of 0 2 25Gbps at 900000 us never fell due")
