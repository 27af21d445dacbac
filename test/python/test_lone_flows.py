# SPDX-License-Identifier: GPL-2.0-only
"""A flow alone on its paths: whatever routing, loss recovery, congestion control and window, it takes the time of its
frames (or what its control's law says), nothing is sent twice and nobody is paused, from 1 Gb/s to 1.6 Tb/s and from
100 ns to 10 ms.

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
        return (frames - 1) * wire * 8 / gbps + max(crossing(wire, path) for path in paths) + max(crossing(ack, path)
            for path in paths)


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
CONTROLS = {"none": ("0", 0), "DCQCN": ("1", 0), "HPCC": ("3", 42), "TIMELY": ("7", 0), "DCTCP": ("8", 0),
            "PINT": ("10", 1),
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


def run(directory, keys, check=True, flags=()):
    (directory / "conf").write_text("\n".join([f"PACKET_PAYLOAD_SIZE {PAYLOAD}", "BUFFER_SIZE 100000000000", *keys])
                                    + "\n")
    result = subprocess.run([PROGRAM, "conf", "-n", "topology", "-f", "flows", "-o", "out", *flags], cwd=directory,
                            capture_output=True,
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
        back = sorted(island.paths, key=lambda path: path[1] + ack * 8 / path[0])
        return (island.alone_ns(gbps, paths, wire, ack) - island.alone_ns(gbps, paths, 0, ack)
                + island.alone_ns(gbps, back[:1], 0, ack),
                island.alone_ns(gbps, paths, wire, ack) - island.alone_ns(gbps, paths, 0, ack)
                + island.alone_ns(gbps, back[-1:], 0, ack))
    # All paths together; in turn, each gets as many frames as the slowest.
    together = len(island.paths) * min(rate for rate, _ in island.paths) if "spray" in routing else sum(rate for rate,
        _ in island.paths)
    gbps = min(island.gbps, together)

    def frame_ns(path):
        return path[1] + wire * 8 / path[0]
    fastest, slowest = min(island.paths, key=frame_ns), max(island.paths, key=frame_ns)
    # The last frames of as many links may be done at once, or one after the other.
    return (island.alone_ns(gbps, [fastest], wire, ack) - (len(island.paths) - 1) * wire * 8 / gbps,
            island.alone_ns(gbps, [slowest], wire, ack) + len(island.paths) * wire * 8 / gbps)


def round_trip_ns(island, path, wire, ack):
    return dataclasses.replace(island, size=PAYLOAD).alone_ns(island.gbps, [path], wire, ack)


def timely_climbs_ns(island, wire, rtt):
    """At most: TIMELY's first cut takes all of the rate (MaxDecrease 1 of CC_MODE 7). From MinRate, each round trip
    adds RateAi, or RateHai from the sixth rise in a row on."""
    frames, rate, rises, ns = island.size / PAYLOAD, 0.1, 0, 2 * rtt
    while frames > 0:
        took = wire * 8 / rate + rtt
        frames -= took * rate / (wire * 8)
        ns += took
        rises += 1
        rate = min(island.gbps, rate + (0.05 if rises < 6 else 0.1))
    return ns


def timely_falls_ns(island, wire, rtt, sample):
    """On a path whose round trip is above THigh, 500 us, every update multiplies the rate; the first sample of two
    changes nothing."""
    frames, rate, ns = island.size / PAYLOAD, island.gbps, rtt
    factor = 1 - 0.8 * (1 - 500 * US / sample)
    took = rtt  # until the first sample; then until a frame that left after the update is acknowledged
    for update in itertools.count():
        sent = took * rate / (wire * 8)
        if sent >= frames:
            return ns + frames * wire * 8 / rate
        frames -= sent
        ns += took
        rate = max(0.1, rate * (factor if update else 1))
        took = rtt + wire * 8 / rate


def share_at_random(target, frames):
    """The load at which a link of a random spray seems used to a target: HPCC counts queues as use, U = load + queue /
    (B T), and a queue of random arrivals is load^2 / (2 (1 - load)) frames long (M/D/1). Samples differ by as much as
    their mean, both links of a path have a queue, and the busiest sample counts. @param frames of a round trip, on one
    link"""
    low, high = 0.0, 1.0
    for _ in range(50):
        load = (low + high) / 2
        low, high = (load, high) if load + 2 * load**2 / (1 - load) / frames < target else (low, load)
    return low


def at_random(island, routing):
    return routing == "random-spray" and len(island.paths) > 1


def random_walk(island, wire, rtt):
    """How much longer frames take that choose one of K links at random, near full load. The frames of a link are a
    random walk about its share: of n frames, four standard deviations, 4 sqrt((K - 1) / n). Bounded in flight by N
    frames, a network of 2K links is busy for N / (N + 2K - 1) of the time at least (balanced job bounds, Zahorjan et
    al. 1982)."""
    links, frames = len(island.paths), island.size / PAYLOAD
    if island.gbps < 0.8 * links * min(rate for rate, _ in island.paths):
        return 1.1
    in_flight = max(1, island.gbps * rtt / 8 / wire)
    return (1 + 4 * ((links - 1) / frames) ** 0.5) * (in_flight + 2 * links - 1) / in_flight


def is_narrow(island, routing):
    """@return whether a flow's path is slower than its NIC: a queue is made, and the control decides"""
    return routing in PER_FLOW and min(rate for rate, _ in island.paths) < island.gbps


def by_law(island, control, routing, bounded, most, cnps, wire, ack):
    """@return the longest time that a control's law allows, where paths alone take so long at most @param bounded in
    flight"""
    rtts = [round_trip_ns(island, path, wire, ack) for path in island.paths]
    by_chance = at_random(island, routing)
    if by_chance:
        most *= random_walk(island, wire, max(rtts))
    if control in ("HPCC", "PINT"):
        # PINT rounds to a factor of 1.05. A flow starts at its NIC's rate; the queue of that takes a round trip to
        # drain.
        target, rounding = ETA, 1.05 if control == "PINT" else 1.01
        most = most / ETA * rounding + (max(rtts) if is_narrow(island, routing) else 0)
        if by_chance:
            link = island.gbps / len(island.paths) * max(rtts) / 8 / wire
            most = max(most, most * ETA / share_at_random(target / rounding, link))
        return most
    if control == "TIMELY":
        if max(rtts) > 500 * US:
            most = max(most, timely_falls_ns(island, wire, min(rtts), max(rtts)))
        # A window, too, makes a queue on a path slower than the NIC: the frames that ACKs may wait for.
        if by_chance or is_narrow(island, routing):
            most = max(most, timely_climbs_ns(island, wire, max(rtts)))
    if control == "DCQCN" and (by_chance or (is_narrow(island, routing) and not bounded)):
        # A notification halves the rate at most, and nothing halves it but notifications; the rest of the time it
        # rises.
        most *= 2 ** cnps
    return most * (1.005 if bounded else 1.002)


def notifications(directory):
    """@return the most that each flow has been told of, by the address of its source"""
    counts = {}
    for line in (directory / "out/cnp.txt").read_text().splitlines()[1:]:
        fields = line.split(",")
        counts[int(fields[1])] = int(fields[6])
    return counts


@pytest.mark.parametrize("routing", PER_FLOW + PER_FRAME)
@pytest.mark.parametrize("control", CONTROLS)
def test_a_lone_flow_takes_the_time_of_its_frames(control, routing, tmp_path):
    """On every island: the time of its frames, or what by_law() says."""
    mode, telemetry = CONTROLS[control]
    wire, ack = PAYLOAD + OVERHEAD + telemetry, ACK + telemetry
    write_islands(tmp_path, ISLANDS.values())
    wrong = []
    for recovery, window in itertools.product(("gbn", "irn"), (0, 1)):
        fct, sent, record, errors = run(tmp_path, (f"CC_MODE {mode}", f"ROUTING {routing}", f"LOSS_RECOVERY {recovery}",
                                                   f"HAS_WIN {window}", "QP_MON_INTERVAL 20", "MON_END 1000000"))
        way = f"{recovery}, HAS_WIN {window}"
        for figure in ("pauses", "drops", "timeouts", "retransmitted_bytes", "nacks"):
            if record[figure]:
                wrong.append(f"{way}: {record[figure]} {figure}")
        above = [line for line in record["warnings"] if "THigh" not in line or control != "TIMELY"]
        assert above == [] or wrong, record["warnings"]
        cnps = notifications(tmp_path) if control == "DCQCN" else {}
        first = host = 0
        for name, island in ISLANDS.items():
            took, ideal = fct[address(first)]
            used = [sent[first + 2, first + 4 + i] for i in range(len(island.paths))]
            least, most = expected(island, routing, used, telemetry)
            most = by_law(island, control, routing, window or recovery == "irn", most, 1 + cnps.get(host, 0), wire, ack)
            if not least - 2 <= took <= most + 2:
                wrong.append(f"{way}: {name} took {took} ns; expected {least:.0f} to {most:.0f}")
            if ideal > took:
                wrong.append(f"{way}: {name} took {took} ns, less than its ideal {ideal}")
            first += island.nodes()
            host += 2
    assert not wrong, "\n".join(wrong)


def test_timely_above_thigh_falls_as_its_law_says(tmp_path):
    island = Island(10, ((10, 5 * MS),), 12000 * PAYLOAD)
    write_islands(tmp_path, [island])
    fct, _, record, errors = run(tmp_path, ("CC_MODE 7", "HAS_WIN 0"))
    rtt = round_trip_ns(island, island.paths[0], PAYLOAD + OVERHEAD, ACK)
    law = timely_falls_ns(island, PAYLOAD + OVERHEAD, rtt, rtt)
    assert law > 20 * island.size * 8 / 10
    assert fct[address(0)][0] == pytest.approx(law, rel=0.02)


LONG = Island(10, ((10, 10 * MS),), 100 * PAYLOAD)


@pytest.mark.parametrize("keys, warning", [
    (("CC_MODE 7",), "ns3::RdmaTimelyHpccArtifact::THigh of 500 us is below the idle round trip of a path, 20029.7 us"),
    (("CC_MODE 0", "RTO 15000"), "RTO (ns3::RdmaGoBackN::Timeout) of 15000 us is not above the idle round trip"),
    (("CC_MODE 0",), None),
    (("CC_MODE 0", "LOSS_RECOVERY irn", "RTO 15000"), None),
    (("CC_MODE ns3::RdmaSwift",), None),
])
def test_a_constant_that_does_not_fit_a_path_is_named(keys, warning, tmp_path):
    # A full frame crosses four links of 10 Gb/s in 4 x 7.2656 us, its acknowledgement in 4 x 0.0672 us; delays are 2 x
    # 10.0002 ms.
    island = dataclasses.replace(LONG, paths=((10, 5 * MS),))
    write_islands(tmp_path, [island])
    _, _, record, errors = run(tmp_path, keys)
    if warning is None:
        assert record["warnings"] == [] and record["retransmitted_bytes"] == 0
    else:
        assert any(warning in line for line in record["warnings"]), record["warnings"]
        assert f"warning: {warning}" in errors


# A path of 1 ms and one of 10 ms: delays differ by 18 ms, and the time of a full frame on four links by that of the
# shortest one.
APART = Island(10, ((10, 1 * MS), (10, 10 * MS)), 4000 * PAYLOAD)
APART_US = 18000 + 4 * (PAYLOAD + OVERHEAD - ACK) * 8 / 10 / 1000


@pytest.mark.parametrize("keys, flags, warning", [
    (("ROUTING spray", "REORDER_TIME 18000"), (), "REORDER_TIME (ns3::RdmaLossRecovery::ReorderTime) of 18000 us is "
     "not above the "
     f"difference of paths' delays, {APART_US:g} us"),
    (("ROUTING spray", "REORDER_TIME 18000", "LOSS_RECOVERY irn"), (),
     "REORDER_TIME (ns3::RdmaLossRecovery::ReorderTime) of 18000 us"),
    # Half of the frames of the 18 ms, and some, are on the slow path.
    (("ROUTING spray", "REORDER_FRAMES 2000"), (), "REORDER_FRAMES (ns3::RdmaLossRecovery::ReorderFrames) of 2000 is "
     "below the "),
    (("ROUTING spray", "REORDER_TIME 18030"), (), None),
    (("ROUTING flowlet",), ("--ns3::FlowletRouting::Gap=18ms",),
     "ns3::FlowletRouting::Gap of 18000 us is below the difference of "
     f"paths' delays, {APART_US:g} us"),
    (("ROUTING flowlet",), ("--ns3::FlowletRouting::Gap=18030us",), None),
    (("ROUTING ecmp",), ("--ns3::RdmaGoBackN::NackInterval=1ms",),
     "ns3::RdmaGoBackN::NackInterval of 1000 us is not above the idle "
     "round trip of a path"),
    (("ROUTING ecmp",), ("--ns3::RdmaGoBackN::NackInterval=41ms",), None),
    (("ROUTING spray",), (), None), (("ROUTING flowlet",), (), None),
])
def test_a_time_given_is_compared_with_the_paths(keys, flags, warning, tmp_path):
    write_islands(tmp_path, [dataclasses.replace(APART, size=100 * PAYLOAD)])
    _, _, record, errors = run(tmp_path, ("CC_MODE 0", "ERROR_RATE_PER_LINK 1e-12", *keys), flags=flags)
    said = [line for line in errors.splitlines() if line.startswith("warning: ")]
    assert (said == [] if warning is None else len(said) == 1 and said[0].startswith(f"warning: {warning}")), errors


@pytest.mark.parametrize("recovery", ["gbn", "irn"])
def test_a_receiver_waits_as_long_as_paths_differ(recovery, tmp_path):
    """Where frames may be lost, it asks for those that are late; not while they are on a slower path."""
    write_islands(tmp_path, [APART])
    _, sent, record, _ = run(tmp_path, ("CC_MODE 0", "ROUTING spray", "ERROR_RATE_PER_LINK 1e-12",
                                        f"LOSS_RECOVERY {recovery}"))
    assert min(sent[2, 4], sent[2, 5]) > APART.size / 3 and record["out_of_order_packets"] > 1000
    assert record["nacks"] == record["retransmitted_bytes"] == 0, record


def test_go_back_n_goes_back_once_for_a_loss(tmp_path):
    """A receiver asks again for a gap when the answer is overdue, which on a long path takes longer than 500 us."""
    island = Island(10, ((10, 10 * MS),), 10000 * PAYLOAD)
    write_islands(tmp_path, [island])
    # A link is down for 20 us, less than routes take to change, and loses what is on it: frames of 10 ms and those of
    # 20 us.
    fct, _, record, _ = run(tmp_path, ("CC_MODE 0", "HAS_WIN 0", "LINK_DOWN 20000 2 4", "LINK_UP 20020 2 4"))
    rtt = round_trip_ns(island, island.paths[0], PAYLOAD + OVERHEAD, ACK)
    assert record["drops"] > 0 and record["nacks"] == 1
    # All that was sent until the NACK came is sent again.
    sent_again = rtt + 10 * MS + 20 * US
    assert record["retransmitted_bytes"] == pytest.approx(sent_again * 10 / 8 * PAYLOAD / (PAYLOAD + OVERHEAD),
                                                          rel=0.01)
    wire = (PAYLOAD + OVERHEAD) * 8 / 10
    assert fct[address(0)][0] <= island.alone_ns(10, island.paths, PAYLOAD + OVERHEAD, ACK) + sent_again + 3 * wire


def test_timeouts_without_a_loss_are_told(tmp_path):
    write_islands(tmp_path, [LONG])
    _, _, record, errors = run(tmp_path, ("CC_MODE 0", "HAS_WIN 0", "RTO 15000"))
    assert record["timeouts"] > 0 and record["drops"] == 0
    assert f"warning: {record['timeouts']} retransmission timeouts although the network lost nothing" in errors


@pytest.mark.parametrize("rate_ai, warning", [
    # A full frame and its acknowledgement there and back over four links of 100 Gb/s and 100 ns: 3.74 us. 8% of a frame
    # are 720 bytes.
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
    (tmp_path / "topology").write_text(f"{hosts + 1} 1 {hosts}\n{hosts}\n"
                                       + "".join(f"{host} {hosts} {gbps}Gbps 1us 0\n" for host in
                                                                                   range(hosts)))
    size = 400 * payload
    flows = [f"{host} 0 3 100 {size} 0" for host in range(1, hosts)] + [f"0 {host} 3 101 {size} 0"
        for host in range(1, hosts)]
    (tmp_path / "flows").write_text(f"{len(flows)}\n" + "\n".join(flows) + "\n")
    _, _, record, errors = run(tmp_path, ("CC_MODE 0", "HAS_WIN 0", f"PACKET_PAYLOAD_SIZE {payload}", "BUFFER_SIZE 4",
                                          *keys))
    assert record["pauses"] > 0 and record["drops"] == record["lossless_drops"] == 0
    # Two frames, and the PFC frames of eight priorities.
    lasts_us = 2 * (payload + OVERHEAD + 8 * ACK) * 8 / gbps / 1000
    assert (f"pauses last {lasts_us:.4g} us there" in errors) == bool(keys and lasts_us > 1), errors


def test_frames_lost_in_a_protected_priority_are_told(tmp_path):
    # The watchdog has queues send in spite of pauses.
    (tmp_path / "topology").write_text("5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1us 0\n" for host in range(4)))
    (tmp_path / "flows").write_text("3\n" + "".join(f"{host} 0 3 100 900000 0\n" for host in (1, 2, 3)))
    _, _, record, errors = run(tmp_path, ("CC_MODE 0", "HAS_WIN 0", "BUFFER_SIZE 1", "PFC_WATCHDOG 1",
                                          "PFC_WATCHDOG_ACTION forward"))
    assert record["lossless_drops"] > 0
    assert f"warning: {record['lossless_drops']} frames of lossless priorities were dropped" in errors


def test_a_failure_after_the_end_is_told(tmp_path):
    write_islands(tmp_path, [Island(100, ((100, 1 * US),) * 2, 10 * PAYLOAD)])
    _, _, record, errors = run(tmp_path, ("CC_MODE 0", "LINK_DOWN 1 4 2", "LINK_DOWN 400000 5 2", "NODE_UP 500000.5 4"))
    assert [line.split(" never")[0] for line in record["warnings"]] == ["LINK_DOWN of 5 2 at 400000 us",
        "NODE_UP of 4 at 500000.5 us"]
    assert "warning: LINK_DOWN of 5 2 at 400000 us never fell due: the run ended at" in errors


def test_the_ideal_time_over_nvlink_has_no_telemetry(tmp_path):
    # HPCC's telemetry is on frames of the network alone.
    (tmp_path / "topology").write_text("3 2 1 0 2 H100\n2\n0 2 2880Gbps 25ns 0\n1 2 2880Gbps 25ns 0\n")
    (tmp_path / "flows").write_text("1\n0 1 3 100 900000 0\n")
    fct, _, _, _ = run(tmp_path, ("CC_MODE 3",))
    took, ideal = fct[address(0)]
    assert took == ideal
