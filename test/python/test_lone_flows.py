# SPDX-License-Identifier: GPL-2.0-only
"""A flow alone on its paths: whatever routing, loss recovery, congestion control and window, it takes the time of its frames (or
what its control's law says), nothing is sent twice and nobody is paused, from 1 Gb/s to 1.6 Tb/s and from 100 ns to 10 ms.

One run has an island for each kind of path, so that all of its flows are alone and a run costs a tenth of a second."""
import csv
import dataclasses
import itertools
import json
import os
import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", "bin")).resolve() / "qbb-flows"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="qbb-flows is not built")

PAYLOAD = 9000
OVERHEAD = 82
ACK = 84
NS, US, MS = 1, 1_000, 1_000_000
ETA = 0.95  # HPCC's target utilisation


@dataclasses.dataclass(frozen=True)
class Island:
    """Two hosts, each with an access switch of its own; between these a switch for each path."""
    gbps: float  # of both hosts' links
    paths: tuple  # (Gb/s, delay in ns of each of its two links)
    size: int  # bytes of the flow
    host_delay: int = 100 * NS

    def links(self, first):
        a, b = first + 2, first + 3
        yield first, a, self.gbps, self.host_delay
        yield first + 1, b, self.gbps, self.host_delay
        for i, (gbps, delay) in enumerate(self.paths):
            yield a, first + 4 + i, gbps, delay
            yield first + 4 + i, b, gbps, delay

    def nodes(self):
        return 4 + len(self.paths)

    def alone_ns(self, gbps, paths, wire, ack):
        """Frames follow each other at a rate over the slowest of some paths; then one acknowledgement's way back."""
        def crossing(size, path):
            return sum(size * 8 / rate + delay for rate, delay in
                       ((self.gbps, self.host_delay), path, path, (self.gbps, self.host_delay)))
        frames = self.size // PAYLOAD
        return (frames - 1) * wire * 8 / gbps + max(crossing(wire, path) for path in paths) + max(crossing(ack, path) for path in paths)


ISLANDS = {
    "1G": Island(1, ((1, 100 * NS),), 100 * PAYLOAD),
    "1.6T": Island(1600, ((1600, 100 * NS),), 1000 * PAYLOAD),
    "four quarters": Island(400, ((100, 1 * US),) * 4, 400 * PAYLOAD),
    "three, uneven share": Island(25, ((10, 1 * US),) * 3, 300 * PAYLOAD),
    "delays": Island(400, tuple((400, i * US) for i in (1, 2, 3, 4)), 1000 * PAYLOAD),
    "rates": Island(100, ((50, 1 * US), (100, 1 * US)), 300 * PAYLOAD),
    "twice the rate": Island(100, ((50, 10 * US),) * 4, 600 * PAYLOAD),
    "10 ms": Island(10, ((10, 10 * MS),), 8000 * PAYLOAD),
    "10 ms, fast": Island(1600, ((1600, 10 * MS),), 20 * PAYLOAD),
    "up to 10 ms": Island(10, tuple((10, i * MS) for i in (1, 2, 10)), 4000 * PAYLOAD),
}

PER_FLOW = ("ecmp", "flowlet", "adaptive-flowlet")
PER_FRAME = ("adaptive", "spray", "random-spray")
# name: value of CC_MODE, bytes of its telemetry on each frame
CONTROLS = {"none": ("0", 0), "DCQCN": ("1", 0), "HPCC": ("3", 42), "TIMELY": ("7", 0), "DCTCP": ("8", 0), "PINT": ("10", 1),
            "Swift": ("ns3::RdmaSwift", 0)}


def write_islands(directory, islands):
    lines, hosts, switches, flows, first = [], 0, [], [], 0
    for island in islands:
        lines += [f"{a} {b} {gbps}Gbps {delay}ns 0" for a, b, gbps, delay in island.links(first)]
        if first:
            lines.append(f"{first - 1} {first + 2} 100Gbps 1us 0")  # a causeway, as all hosts must reach each other
        switches += range(first + 2, first + island.nodes())
        flows.append(f"{first} {first + 1} 3 100 {island.size} 0")
        hosts += 2
        first += island.nodes()
    (directory / "topology").write_text(f"{first} {len(switches)} {len(lines)}\n{' '.join(map(str, switches))}\n"
                                        + "\n".join(lines) + "\n")
    (directory / "flows").write_text(f"{len(flows)}\n" + "\n".join(flows) + "\n")


def run(directory, keys, check=True):
    (directory / "conf").write_text("\n".join([f"PACKET_PAYLOAD_SIZE {PAYLOAD}", "BUFFER_SIZE 100000000000", *keys]) + "\n")
    result = subprocess.run([PROGRAM, "conf", "-n", "topology", "-f", "flows", "-o", "out"], cwd=directory, capture_output=True,
                            text=True, timeout=120, check=False)
    assert result.returncode == 0 or not check, result.stderr
    fct = {}
    for line in (directory / "out/fct.txt").read_text().splitlines():
        fields = line.split()
        fct[int(fields[0], 16)] = int(fields[6]), int(fields[7])
    with (directory / "out/links.csv").open(newline="") as file:
        sent = {(int(row["node"]), int(row["peer"])): int(row["tx_bytes"]) for row in csv.DictReader(file)}
    return fct, sent, json.loads((directory / "out/run.json").read_text()), result.stderr


def address(node):
    """Addresses of flows, as the HPCC simulator has them."""
    return 0x0b000001 + (node // 256) * 0x10000 + node % 256 * 0x100


def expected(island, routing, used, telemetry):
    """Time of the flow by the law of its routing, the least and the most."""
    wire, ack = PAYLOAD + OVERHEAD + telemetry, ACK + telemetry
    if routing in PER_FLOW:
        paths = [path for path, carried in zip(island.paths, used) if carried > PAYLOAD]
        assert len(paths) == 1 or routing != "ecmp"
        gbps = min(island.gbps, *(rate for rate, _ in paths))
        back = island.paths
        return (island.alone_ns(gbps, paths, wire, ack) - island.alone_ns(gbps, paths, 0, ack)
                + island.alone_ns(gbps, [min(back, key=lambda path: path[1])], 0, ack),
                island.alone_ns(gbps, paths, wire, ack) - island.alone_ns(gbps, paths, 0, ack)
                + island.alone_ns(gbps, [max(back, key=lambda path: path[1])], 0, ack))
    # All paths together; in turn, each gets as many frames as the slowest.
    together = len(island.paths) * min(rate for rate, _ in island.paths) if "spray" in routing else sum(rate for rate, _ in island.paths)
    gbps = min(island.gbps, together)

    def frame_ns(path):
        return path[1] + wire * 8 / path[0]
    fastest, slowest = min(island.paths, key=frame_ns), max(island.paths, key=frame_ns)
    # The last frames of as many links may be done at once, or one after the other.
    return (island.alone_ns(gbps, [fastest], wire, ack) - (len(island.paths) - 1) * wire * 8 / gbps,
            island.alone_ns(gbps, [slowest], wire, ack) + len(island.paths) * wire * 8 / gbps)


def slowest_law(control, window):
    """How much longer than on idle links a flow may take that its control governs."""
    if control in ("HPCC", "PINT"):
        return 1 / ETA * (1.05 if control == "PINT" else 1.01)  # PINT rounds to a factor of 1.05
    return 1.005 if window else 1.002


def names_for(control, routing):
    """Islands on which nothing but the law holds a flow back."""
    for name, island in ISLANDS.items():
        narrow = min(rate for rate, _ in island.paths) < island.gbps
        if control == "TIMELY" and "10 ms" in name:
            continue  # THigh: see below
        if routing in PER_FLOW and narrow:
            continue  # one path is slower than the NIC: queues, and control, decide
        if routing == "random-spray" and name in ("four quarters", "rates", "three, uneven share"):
            continue  # at full load, or near it, queues of random arrivals grow without bound
        if control in ("HPCC", "PINT") and routing in PER_FRAME and len(island.paths) > 1:
            continue  # their telemetry is of one path
        yield name


@pytest.mark.parametrize("routing", PER_FLOW + PER_FRAME)
@pytest.mark.parametrize("control", CONTROLS)
def test_a_lone_flow_takes_the_time_of_its_frames(control, routing, tmp_path):
    mode, telemetry = CONTROLS[control]
    names = list(names_for(control, routing))
    islands = [ISLANDS[name] for name in names]
    write_islands(tmp_path, islands)
    wrong = []
    for recovery, window in itertools.product(("gbn", "irn"), (0, 1)):
        fct, sent, record, errors = run(tmp_path, (f"CC_MODE {mode}", f"ROUTING {routing}", f"LOSS_RECOVERY {recovery}",
                                                   f"HAS_WIN {window}"))
        way = f"{recovery}, HAS_WIN {window}"
        for figure in ("pauses", "drops", "timeouts", "retransmitted_bytes", "nacks"):
            if record[figure]:
                wrong.append(f"{way}: {record[figure]} {figure}")
        assert record["warnings"] == [] or wrong, record["warnings"]
        first = 0
        for name, island in zip(names, islands):
            took, ideal = fct[address(first)]
            used = [sent[first + 2, first + 4 + i] for i in range(len(island.paths))]
            least, most = expected(island, routing, used, telemetry)
            most = most * (1.1 if routing == "random-spray" and len(island.paths) > 1 else slowest_law(control, window or recovery == "irn"))
            if not least - 2 <= took <= most + 2:
                wrong.append(f"{way}: {name} took {took} ns; expected {least:.0f} to {most:.0f}")
            if ideal > took:
                wrong.append(f"{way}: {name} took {took} ns, less than its ideal {ideal}")
            first += island.nodes()
    assert not wrong, "\n".join(wrong)


LONG = Island(10, ((10, 10 * MS),), 100 * PAYLOAD)


@pytest.mark.parametrize("keys, warning", [
    (("CC_MODE 7",), "ns3::RdmaTimelyHpccArtifact::THigh of 500 us is below the idle round trip of a path, 20029.7 us"),
    (("CC_MODE 0", "RTO 15000"), "RTO (ns3::RdmaGoBackN::Timeout) of 15000 us is not above the idle round trip"),
    (("CC_MODE 0",), None),
    (("CC_MODE 0", "LOSS_RECOVERY irn", "RTO 15000"), None),
    (("CC_MODE ns3::RdmaSwift",), None),
])
def test_a_constant_that_does_not_fit_a_path_is_named(keys, warning, tmp_path):
    # A full frame crosses four links of 10 Gb/s in 4 x 7.2656 us, its acknowledgement in 4 x 0.0672 us; delays are 2 x 10.0002 ms.
    island = dataclasses.replace(LONG, paths=((10, 5 * MS),))
    write_islands(tmp_path, [island])
    _, _, record, errors = run(tmp_path, keys)
    if warning is None:
        assert record["warnings"] == [] and record["retransmitted_bytes"] == 0
    else:
        assert any(warning in line for line in record["warnings"]), record["warnings"]
        assert f"warning: {warning}" in errors


def test_timeouts_without_a_loss_are_told(tmp_path):
    write_islands(tmp_path, [LONG])
    _, _, record, errors = run(tmp_path, ("CC_MODE 0", "HAS_WIN 0", "RTO 15000"))
    assert record["timeouts"] > 0 and record["drops"] == 0
    assert f"warning: {record['timeouts']} retransmission timeouts although the network lost nothing" in errors


@pytest.mark.parametrize("rate_ai, warning", [
    # A full frame and its acknowledgement there and back over four links of 100 Gb/s and 100 ns: 3.74 us. 8% of a frame are 720 bytes.
    ("50Mb/s", "RATE_AI of 50 Mb/s adds 23.5 bytes in HPCC's round trip"),
    ("1540Mb/s", None),
    ("6Gb/s", "RATE_AI of 6000 Mb/s is more than the share of 100 Gb/s that HPCC leaves free"),
])
def test_hpcc_names_a_step_that_does_not_fit(rate_ai, warning, tmp_path):
    write_islands(tmp_path, [Island(100, ((100, 100 * NS),), 10 * PAYLOAD)])
    _, _, record, errors = run(tmp_path, ("CC_MODE 3", f"RATE_AI {rate_ai}"))
    assert (warning is None and record["warnings"] == []) or warning in errors


@pytest.mark.parametrize("gbps, payload", [(10, 9000), (25, 9000), (10, 4096), (100, 64000)])
@pytest.mark.parametrize("keys", [(), ("PAUSE_TIME 1",)])
def test_pfc_loses_nothing_however_long_a_frame_takes(gbps, payload, keys, tmp_path):
    """An incast of seven hosts with data in the other direction, which a pause's renewal has to wait for."""
    hosts = 8
    (tmp_path / "topology").write_text(f"{hosts + 1} 1 {hosts}\n{hosts}\n" + "".join(f"{host} {hosts} {gbps}Gbps 1us 0\n" for host in
                                                                                   range(hosts)))
    size = 400 * payload
    flows = [f"{host} 0 3 100 {size} 0" for host in range(1, hosts)] + [f"0 {host} 3 101 {size} 0" for host in range(1, hosts)]
    (tmp_path / "flows").write_text(f"{len(flows)}\n" + "\n".join(flows) + "\n")
    _, _, record, errors = run(tmp_path, ("CC_MODE 0", "HAS_WIN 0", f"PACKET_PAYLOAD_SIZE {payload}", "BUFFER_SIZE 4", *keys))
    assert record["pauses"] > 0 and record["drops"] == record["lossless_drops"] == 0
    # Two frames, and the PFC frames of eight priorities.
    lasts_us = 2 * (payload + OVERHEAD + 8 * ACK) * 8 / gbps / 1000
    assert (f"pauses last {lasts_us:.4g} us there" in errors) == bool(keys and lasts_us > 1), errors


def test_frames_lost_in_a_protected_priority_are_told(tmp_path):
    # The watchdog has queues send in spite of pauses.
    (tmp_path / "topology").write_text("5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1us 0\n" for host in range(4)))
    (tmp_path / "flows").write_text("3\n" + "".join(f"{host} 0 3 100 900000 0\n" for host in (1, 2, 3)))
    _, _, record, errors = run(tmp_path, ("CC_MODE 0", "HAS_WIN 0", "BUFFER_SIZE 1", "PFC_WATCHDOG 1", "PFC_WATCHDOG_ACTION forward"))
    assert record["lossless_drops"] > 0
    assert f"warning: {record['lossless_drops']} frames of lossless priorities were dropped" in errors


def test_a_failure_after_the_end_is_told(tmp_path):
    write_islands(tmp_path, [Island(100, ((100, 1 * US),) * 2, 10 * PAYLOAD)])
    _, _, record, errors = run(tmp_path, ("CC_MODE 0", "LINK_DOWN 1 4 2", "LINK_DOWN 40000 5 2", "NODE_UP 50000.5 4"))
    assert [line.split(" never")[0] for line in record["warnings"]] == ["LINK_DOWN of 5 2 at 40000 us", "NODE_UP of 4 at 50000.5 us"]
    assert "warning: LINK_DOWN of 5 2 at 40000 us never fell due: the run ended at" in errors


def test_the_ideal_time_over_nvlink_has_no_telemetry(tmp_path):
    # HPCC's telemetry is on frames of the network alone.
    (tmp_path / "topology").write_text("3 2 1 0 2 H100\n2\n0 2 2880Gbps 25ns 0\n1 2 2880Gbps 25ns 0\n")
    (tmp_path / "flows").write_text("1\n0 1 3 100 900000 0\n")
    fct, _, _, _ = run(tmp_path, ("CC_MODE 3",))
    took, ideal = fct[address(0)]
    assert took == ideal
