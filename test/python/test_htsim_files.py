# SPDX-License-Identifier: GPL-2.0-only
"""Connection matrices and topologies of htsim, run by bin/qbb-flows as they are."""
import csv
import os
import pathlib
import subprocess
import sys

import pytest
from waiting import HANGS

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.topology import reader  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", "bin")) / "qbb-flows"
CONF = "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\nL2_ACK_INTERVAL 1\n"
BYTES = 200_000
FRAME_PS = 86_560  # 1000 bytes and 82 of headers at 100 Gb/s
ACK_PS = 6_720  # 84 bytes
LINK_PS = 1_000_000
# 16 hosts, two of them on each of 8 ToRs, two ToRs in each of 4 pods, 4 cores
TREE = """# in htsim's own spelling
Nodes 16
Tiers 3
Podsize 4

Tier 0
Oversubscribed 1
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 0

Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Bundle 1

Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
Bundle 1"""

# The same with two links instead of one between switches, at half the rate of a host's
BUNDLES = """Nodes 16
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 4
Downlink_Latency_ns 1000
Bundle 2
Tier 2
Downlink_speed_Gbps 100
Radix_Down 8
Downlink_Latency_ns 1000
Bundle 2
"""

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="qbb-flows is not built")


def run(folder, matrix, topology=TREE, *flags):
    for name, text in (("tree.topo", topology), ("flows.cm", matrix), ("run.conf", CONF)):
        (folder / name).write_text(text)
    return subprocess.run([PROGRAM, "run.conf", "-n", "tree.topo", "-f", "flows.cm", "-o", "out", *flags],
                          cwd=folder, capture_output=True, text=True, timeout=HANGS)


def rows(folder):
    """@return of each flow in the order of its end: source, destination, bytes, start and duration in ns"""
    lines = [line.split() for line in (folder / "out/fct.txt").read_text().splitlines()]
    return [(int(line[0][2:6], 16), int(line[1][2:6], 16), *(int(line[i]) for i in (4, 5, 6))) for line in lines]


def header(connections, triggers=0):
    return f"Nodes 16\nConnections {connections}\n" + (f"Triggers {triggers}\n" if triggers else "")


def idle_ps(frames, hops):
    """Time of frames over idle links of 100 Gb/s, until the last one is acknowledged."""
    return (frames + hops - 1) * FRAME_PS + hops * (2 * LINK_PS + ACK_PS)


def test_a_permutation_ends_with_all_its_bytes(tmp_path):
    matrix = header(16) + "".join(f"{src}->{(src + 5) % 16} id {src + 1} start 0 size {BYTES}\n" for src in range(16))
    result = run(tmp_path, matrix, TREE, "--check")
    assert result.returncode == 0, result.stderr
    assert f"16 of 16 flows finished, {16 * BYTES} bytes" in result.stdout
    flows = rows(tmp_path)
    assert sorted(flow[2] for flow in flows) == [BYTES] * 16
    assert {(flow[0], flow[1]) for flow in flows} == {(src, (src + 5) % 16) for src in range(16)}
    assert all(idle_ps(BYTES // 1000, 2) / 1000 <= flow[4] for flow in flows)


def test_an_incast_takes_the_time_of_its_last_link(tmp_path):
    matrix = header(15) + "".join(f"{src}->15 start 0 size {BYTES}\n" for src in range(15))
    result = run(tmp_path, matrix)
    assert result.returncode == 0, result.stderr
    flows = rows(tmp_path)
    assert len(flows) == 15 and sum(flow[2] for flow in flows) == 15 * BYTES
    # The nearest host's first frame takes two links; from then on the last link is busy with 15 x 200 frames.
    # The last frame is of a host two or six links away.
    busy_ps = FRAME_PS + 2 * LINK_PS + 15 * (BYTES // 1000) * FRAME_PS
    last_ps = max(flow[3] + flow[4] for flow in flows) * 1000
    acknowledged = [busy_ps + hops * (LINK_PS + ACK_PS) for hops in (2, 6)]
    assert acknowledged[0] - 1000 <= last_ps <= acknowledged[1] + FRAME_PS + 1000


def test_triggers_start_flows_one_after_another(tmp_path):
    """Host 0 sends to three hosts of another pod in turn; a barrier waits for the last one and for another flow."""
    matrix = (header(5, 3)
              + f"0->4 id 1 start 0 size {BYTES} send_done_trigger 1\n"
              + f"0->5 id 2 trigger 1 size {BYTES} send_done_trigger 2\n"
              + f"0->6 id 3 trigger 2 size {BYTES} send_done_trigger 3\n"
              + f"8->12 id 4 start 5000000 size {BYTES} recv_done_trigger 3\n"
              + f"2->3 id 5 trigger 3 size {BYTES}\n"
              + "trigger id 1 oneshot\ntrigger id 2 multishot\ntrigger id 3 barrier count 2\n")
    result = run(tmp_path, matrix, TREE, "-t", "2")
    assert result.returncode == 0, result.stderr
    assert "runs on one thread, as a connection matrix with triggers needs" in result.stdout
    start_of = {(src, dst): start for src, dst, _, start, _ in rows(tmp_path)}
    one_ns = idle_ps(BYTES // 1000, 6) / 1000
    assert start_of[0, 5] == pytest.approx(one_ns, abs=1)
    assert start_of[0, 6] == pytest.approx(2 * one_ns, abs=1)
    assert start_of[8, 12] == 5000
    assert start_of[2, 3] == pytest.approx(3 * one_ns, abs=2)


def test_tools_give_the_tree_the_links_that_the_simulator_gives_it(tmp_path):
    result = run(tmp_path, header(1) + "0->15 start 0 size 1000\n", BUNDLES)
    assert result.returncode == 0, result.stderr
    with (tmp_path / "out/links.csv").open(newline="") as file:
        simulated = sorted((int(row["node"]), int(row["peer"])) for row in csv.DictReader(file))
    links = reader.read(tmp_path / "tree.topo").links
    assert len(links) == 16 + 8 * 4 + 8 * 4
    assert simulated == sorted(end for link in links for end in ((link.a, link.b), (link.b, link.a)))
    assert links[0].rate_bps == 200e9 and links[0].delay_ps == LINK_PS
    (tmp_path / "tree.topo").write_text(BUNDLES.replace("Nodes 16", "Nodes many"))
    with pytest.raises(InputError, match="tree.topo:1: 'Nodes many'"):
        reader.read(tmp_path / "tree.topo")


def test_workloads_run_on_the_tree_beside_flows_but_not_beside_triggers(tmp_path):
    program = PROGRAM.with_name("SimAI_simulator")
    if not program.exists():
        pytest.skip("SimAI_simulator is not built")
    (tmp_path / "tree.topo").write_text(TREE)
    (tmp_path / "run.conf").write_text(CONF)
    (tmp_path / "job.txt").write_text("MICRO\n1\nall_reduce -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 65536 1\n")

    def simulate(matrix):
        (tmp_path / "flows.cm").write_text(matrix)
        return subprocess.run([program.resolve(), "-w", "job.txt", "-n", "tree.topo", "-c", "run.conf", "-o", "out",
                               "--background-flows", "flows.cm"],
                              cwd=tmp_path, capture_output=True, text=True, timeout=HANGS)
    result = simulate(header(1) + "0->15 start 0 size 1000\n")
    assert result.returncode == 0, result.stderr
    result = simulate(header(1, 1) + "0->15 start 0 size 1000 send_done_trigger 1\ntrigger id 1 oneshot\n")
    assert result.returncode == 2
    assert "flows.cm: flows that triggers start do not run beside workloads; expected" in result.stderr


@pytest.mark.parametrize("matrix, topology, words", [
    (header(1) + "0->1 start 0 size 5 weight 2\n", TREE, "flows.cm:3: 'weight' is not a word of a flow; expected id,"),
    (header(1) + "0->1 start 0 size 0\n", TREE, "flows.cm:3: the flow has size 0"),
    (header(1) + "0->1 start 0 size 5\n", TREE.replace("Tier 0", "Tier 0\nQueue_Down 100"),
     "tree.topo:7: Queue_Down is not read"),
    (header(1) + "0->1 start 0 size 5\n", TREE.replace("Bundle 1", "Bundle 2"), "tree.topo:14: 2 switches of tier 0"),
])
def test_words_and_keys_without_a_counterpart_are_refused_by_name(tmp_path, matrix, topology, words):
    result = run(tmp_path, matrix, topology)
    assert result.returncode == 2
    assert words in result.stderr
