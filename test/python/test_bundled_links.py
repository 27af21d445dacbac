# SPDX-License-Identifier: GPL-2.0-only
"""Several links between two switches carry what each of them does: packets and flows against closed forms."""
import csv
import json
import os
import pathlib
import subprocess
import sys

import pytest
from repeating_job import CONF, all_to_alls, clos
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin")).resolve()
sys.path.insert(0, str(ROOT / "python"))

from clustersim.results.plots.links import utilisations  # noqa: E402
from clustersim.results.reading.links import read_links  # noqa: E402

PAYLOAD, WIRE = 1000, 1082  # bytes of a frame
FRAMES = 2000  # of a flow
FLOWS = 64
RATE = 200e9  # bit/s of a link of the bundle
PASSES = 2  # AllToAlls of a layer


def topology(links):
    """Two hosts on switch 4, two on switch 5, with so many links between the switches."""
    return (f"6 2 {4 + links}\n4 5\n" + "".join(f"{host} {4 + host // 2} 400Gbps 1us 0\n" for host in range(4))
            + "4 5 200Gbps 1us 0\n" * links)


def run(directory, links, *keys):
    """64 flows from the left to the right at once. @return rows of links.csv of the bundle, and when the last flow ends
    in us"""
    directory.mkdir(exist_ok=True)
    (directory / "topology").write_text(topology(links))
    (directory / "conf").write_text("\n".join(["CC_MODE 0", "HAS_WIN 0", f"PACKET_PAYLOAD_SIZE {PAYLOAD}", "MON_END 0",
                                               "BUFFER_SIZE 1000000000", *keys]) + "\n")
    (directory / "flows").write_text(f"{FLOWS}\n" + "".join(f"{i % 2} {2 + i % 2} 3 {1000 + i} {FRAMES * PAYLOAD} 0\n"
                                                            for i in range(FLOWS)))
    done = subprocess.run([PROGRAMS / "qbb-flows", "conf", "-n", "topology", "-f", "flows", "-o", "out", "-q"],
                          cwd=directory, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0, done.stderr
    ends = [sum(map(int, line.split()[5:7])) / 1000 for line in (directory / "out/fct.txt").read_text().splitlines()]
    assert len(ends) == FLOWS
    with open(directory / "out/links.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["node"], row["peer"]) == ("4", "5")]
    assert len(rows) == links
    return rows, max(ends)


def on_the_wire_us(frames, links=1):
    return frames * WIRE * 8 / (links * RATE) * 1e6


@pytest.mark.parametrize("links", [1, 2, 4])
def test_packets_of_a_bundle_take_as_long_as_on_a_link_of_its_rate(tmp_path, links):
    """Where packets are spread, k links need a k-th of the time of one, but for the delay of a path and two NICs."""
    rows, last = run(tmp_path / "run", links, "ROUTING spray", "LOSS_RECOVERY irn")
    data = FLOWS * FRAMES
    assert sum(int(row["tx_bytes"]) for row in rows) == pytest.approx(data * WIRE, rel=1e-3)
    # Two NICs of 400 Gb/s feed at most 800.
    assert last == pytest.approx(on_the_wire_us(data, links), rel=0.01)
    for row in rows:
        assert int(row["tx_bytes"]) == pytest.approx(data * WIRE / links, rel=0.01)


def test_ecmp_spreads_flows_over_a_bundle_and_each_link_has_its_rows(tmp_path):
    rows, last = run(tmp_path / "run", 2)
    flows = [int(row["messages"]) for row in rows]
    assert sum(flows) == FLOWS and min(flows) > FLOWS / 4
    for row, count in zip(rows, flows):
        assert int(row["tx_bytes"]) == count * FRAMES * WIRE
        assert float(row["busy_ns"]) / 1000 == pytest.approx(on_the_wire_us(count * FRAMES))
    # The fuller link is never idle; then its last frame has three delays and another link before it.
    assert 3 < last - on_the_wire_us(max(flows) * FRAMES) < 10
    frame = read_links(tmp_path / "run/out/links.csv", 1000 * last, [])
    assert utilisations(frame)[4, 5] == pytest.approx(100, abs=1), "the picture has the busiest of the bundle"


def test_one_link_of_a_bundle_fails_and_the_other_carries_the_rest(tmp_path):
    both, _ = run(tmp_path / "both", 2)
    rows, last = run(tmp_path / "one", 2, "LINK_DOWN 100 5 4 1", "RTO 300")
    cut, whole = (int(row["tx_bytes"]) for row in rows)
    frame_ns = WIRE * 8 / RATE * 1e9
    assert 0 < cut <= 100_000 / frame_ns * WIRE, "until 100 us"
    assert cut + whole >= FLOWS * FRAMES * WIRE
    lost = sum(int(row["tx_bytes"]) for row in both) - FLOWS * FRAMES * WIRE
    assert lost == 0, "nothing is sent again if nothing fails"
    assert last > on_the_wire_us(FLOWS * FRAMES - cut / WIRE), "one link carries what the two have not"


@pytest.mark.parametrize("network", ["packet", "flow"])
def test_a_bundle_whose_link_is_missing_from_the_start_is_one_of_fewer_links(tmp_path, network):
    expected, _ = all_to_all(tmp_path, 1, network)
    keys = [key for leaf in (18, 19) for key in ("--set", f"LINK_DOWN=0 {leaf} 20 2")]
    # Routes know of it at once: nothing is lost.
    found, rows = all_to_all(tmp_path, 2, network, *keys, "--ns3::RdmaFabric::RouteUpdateDelay=0ns")
    assert [int(row["tx_bytes"]) > 0 for row in rows] == [True, False, True, False]
    assert found == pytest.approx(expected, rel=0.03)


def all_to_all(directory, links, network, *flags):
    """An AllToAll between two servers on leaves of their own under one spine, with so many links to each leaf.

    @return when it ends in ns, and the rows of the links from a leaf to the spine"""
    topology = clos(directory, 16, "--nics_per_leaf", "8", "--oversubscription", str(8 / links), "-psn", "1", "--force")
    out = directory / f"{network}-{links}"
    workload = all_to_alls(directory / "w.txt", 16, 16 << 20, 1, 1)
    done = subprocess.run([PROGRAMS / "SimAI_simulator", "-c", CONF, "-w", workload, "-n", topology, "-o", out,
                           "--network", network, *flags], capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0, done.stderr
    with open(out / "links.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["node"], row["peer"]) in (("18", "20"), ("19", "20"))]
    assert len(rows) == 2 * links
    return json.loads((out / "run.json").read_text())["simulated_ns"], rows


@pytest.mark.parametrize("links", [1, 2, 8])
def test_flows_take_the_same_links_of_a_bundle_as_packets(tmp_path, links):
    packets, of_packets = all_to_all(tmp_path, links, "packet")
    flows, of_flows = all_to_all(tmp_path, links, "flow")
    assert [row["messages"] for row in of_packets] == [row["messages"] for row in of_flows]
    assert all(int(row["messages"]) > 0 for row in of_packets)
    # Fair shares of full links are the best that congestion control can reach.
    assert flows <= 1.02 * packets and packets <= 1.15 * flows
    # Half of each rank's 16 MiB goes to the other server, twice in each direction of the training step.
    assert sum(int(row["tx_bytes"]) for row in of_flows) == pytest.approx(PASSES * 16 * 8 * (1 << 20), rel=0.12)
    busiest = max(int(row["tx_bytes"]) for row in of_flows) * 8 / 100e9 * 1e9
    assert busiest < flows < 1.3 * busiest + 1e6  # a ms of computation, launches and latencies
