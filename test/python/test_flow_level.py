# SPDX-License-Identifier: GPL-2.0-only
"""--network flow from the outside: against packets, its output files, mistakes, and stuck runs."""
import csv
import json
import os
import pathlib
import subprocess
import sys

import pytest
from repeating_job import all_to_alls, clos
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "lab")]
from clustersim_lab.comparisons import compare_backends as backends  # noqa: E402

PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
CONF = ROOT / "conf" / "SimAI.conf"
MIB = 1 << 20


def run(out, *arguments):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    return subprocess.run([str(PROGRAM), "-c", str(CONF), "-o", str(out), *map(str, arguments)], env=clean,
                          capture_output=True, text=True, timeout=HANGS, check=False)


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file, skipinitialspace=True))


def test_ranks_of_equal_pairs_stay_in_step(tmp_path):
    """AllToAlls over 64 ranks and a fabric without oversubscription: none has reason to end long before the others. A
    message of 64 KiB takes 5.2 us at 100 Gb/s; messages under way may meet on an uplink."""
    workload = all_to_alls(tmp_path / "w.txt", 64, 16 * MIB, 6, 1)
    result = run(tmp_path / "out", "-w", workload, "-n", clos(tmp_path, 64), "--network", "flow")
    assert result.returncode == 0, result.stderr
    collectives = table(tmp_path / "out" / "collectives.csv")
    assert len(collectives) == 12
    for one in collectives:
        assert float(one["last_start_ns"]) - float(one["start_ns"]) < 5 * 65536 / 12.5


@pytest.mark.parametrize("case", backends.CASES, ids=lambda case: case.name)
def test_flows_take_as_long_as_packets(tmp_path, case):
    packet, flow, _, _ = backends.compare(PROGRAM, tmp_path, case)
    if case.kind == "beyond":
        # Fair shares of full links are the best that the packets can reach.
        assert flow <= 1.02 * packet
    else:
        assert abs(flow / packet - 1) <= backends.BOUND[case.kind]


@pytest.fixture(scope="module", name="both")
def both_runs(tmp_path_factory):
    """Output directories of one small run with packets and with flows."""
    directory = tmp_path_factory.mktemp("both")
    backends.servers(directory / "topology", 2, gpus=4)
    backends.layers(directory / "w.txt", 8, [("a", 5000, "ALLREDUCE", MIB, "ALLGATHER", MIB)], tp=4)
    backends.flows(directory / "flows.txt", [(0, 4, 100_000, 0), (1, 6, 50_000, 1e-5)])
    for network in ("packet", "flow"):
        result = run(directory / network, "-w", directory / "w.txt", "-n", directory / "topology",
                     "--background-flows", directory / "flows.txt", "--network", network,
                     "--timeline-ranks", 8)
        assert result.returncode == 0, result.stderr
    return directory / "packet", directory / "flow"


@pytest.mark.parametrize("network", ["packet", "flow"])
def test_a_collective_takes_as_long_whatever_ran_before(tmp_path, network):
    # A tree, which ends at different times on different hosts, and then a ring; and the ring alone. NCCL's messages of
    # a connection follow each other: if they shared its bandwidth, uneven starts would go on to the end.
    backends.servers(tmp_path / "topology", 32, gpus=1, leaves=1)
    times = {}
    for name, rows in {"alone": [("ring", 1, "ALLREDUCE", 64 * MIB, "NONE", 0)],
                       "after": [("tree", 1, "ALLREDUCE", 8 * MIB, "NONE", 0),
                                 ("ring", 1, "ALLREDUCE", 64 * MIB, "NONE", 0)]}.items():
        backends.layers(tmp_path / f"{name}.txt", 32, rows, tp=32)
        result = run(tmp_path / name, "-w", tmp_path / f"{name}.txt", "-n", tmp_path / "topology", "--network", network)
        assert result.returncode == 0, result.stderr
        collectives = table(tmp_path / name / "collectives.csv")
        assert [row["algorithm"] for row in collectives] == [{"tree": "Tree", "ring": "Ring"}[row[0]] for row in rows]
        times[name] = float(collectives[-1]["end_ns"]) - float(collectives[-1]["last_start_ns"])
    # Of channels that do not begin together, more send while others copy: packets gain 2% by it.
    assert times["after"] == pytest.approx(times["alone"], rel=0.03)


def test_flows_write_the_same_files(both):
    packet, flow = both
    assert {p.name for p in flow.iterdir()} == {"EndToEnd.csv", "collectives.csv", "fct.txt", "links.csv",
                                                "run.json", "timeline.json"}
    for name in ("EndToEnd.csv", "collectives.csv", "links.csv"):
        lines = [(d / name).read_text().splitlines() for d in both]
        assert len(lines[0]) == len(lines[1])
        assert lines[0][0] == lines[1][0]
    record = json.loads((flow / "run.json").read_text())
    assert record["network"] == "flow" and record["status"] == "finished"
    assert record["background_flows"] == 2 and record["packets"] == 0
    assert record["flows"] == json.loads((packet / "run.json").read_text())["flows"]
    assert json.loads((flow / "timeline.json").read_text())


def test_every_message_has_its_line_with_the_same_ports_and_ideal_time(both):
    # Addresses, ports, bytes and ideal time of all messages; only when they ran differs.
    packet, flow = ([line.split() for line in (d / "fct.txt").read_text().splitlines()] for d in both)
    key = lambda f: (f[0], f[1], f[2], f[3], f[4], f[7])
    assert sorted(map(key, packet)) == sorted(map(key, flow))


def test_links_carry_the_same_bytes(both):
    packet, flow = (table(d / "links.csv") for d in both)
    for p, f in zip(packet, flow):
        assert (p["node"], p["port"], p["peer"], p["rate_bps"]) == (f["node"], f["port"], f["peer"],
                                                                    f["rate_bps"])
        # Acknowledgements on NVLink, a few hundred bytes, are not counted.
        assert float(f["tx_bytes"]) == pytest.approx(float(p["tx_bytes"]), rel=0.01, abs=10_000)
        assert float(f["busy_ns"]) == pytest.approx(float(p["busy_ns"]), rel=0.01, abs=200)


def test_two_runs_are_byte_identical(both, tmp_path):
    directory = both[1].parent
    result = run(tmp_path, "-w", directory / "w.txt", "-n", directory / "topology", "--network", "flow",
                 "--background-flows", directory / "flows.txt", "--timeline-ranks", 8)
    assert result.returncode == 0, result.stderr
    for name in ("EndToEnd.csv", "collectives.csv", "fct.txt", "links.csv", "timeline.json"):
        assert (tmp_path / name).read_bytes() == (both[1] / name).read_bytes()


def test_a_cut_that_stays_leaves_a_run_stuck_and_names_who_waits(tmp_path):
    backends.star(tmp_path / "n", 2)
    backends.layers(tmp_path / "w.txt", 2, [("a", 1000, "NONE", 0, "ALLREDUCE", MIB)])
    result = run(tmp_path / "o", "-w", tmp_path / "w.txt", "-n", tmp_path / "n", "--network", "flow",
                 "--set", "LINK_DOWN=10 0 2")
    assert result.returncode == 1
    assert "over a link that is down" in result.stderr
    assert json.loads((tmp_path / "o" / "run.json").read_text())["status"] == "stuck"


def test_a_cut_that_ends_only_delays(tmp_path):
    backends.star(tmp_path / "n", 2)
    backends.layers(tmp_path / "w.txt", 2, [("a", 1000, "NONE", 0, "ALLREDUCE", 16 * MIB)])
    finish = []
    for events in ([], ["--set", "LINK_DOWN=100 0 2", "--set", "LINK_UP=400 0 2"]):
        result = run(tmp_path / "o", "-w", tmp_path / "w.txt", "-n", tmp_path / "n", "--network", "flow",
                     *events)
        assert result.returncode == 0, result.stderr
        finish.append(json.loads((tmp_path / "o" / "run.json").read_text())["simulated_ns"])
    # Down for 300 us; routes know of it 100 us later, and of its end as well. Meanwhile blocks go on with what has
    # come: a slice of 512 KiB takes one 23 us at 22.5 GB/s.
    assert 300_000 - 23_400 <= finish[1] - finish[0] <= 410_000


def test_a_stop_time_ends_a_run(tmp_path):
    backends.star(tmp_path / "n", 2)
    backends.layers(tmp_path / "w.txt", 2, [("a", 1000, "NONE", 0, "ALLREDUCE", 64 * MIB)])
    result = run(tmp_path / "o", "-w", tmp_path / "w.txt", "-n", tmp_path / "n", "--network", "flow",
                 "--set", "SIMULATOR_STOP_TIME=0.0001")
    assert result.returncode == 1
    assert "SIMULATOR_STOP_TIME" in result.stderr


def test_what_needs_packets_is_refused_or_warned_of(tmp_path):
    backends.star(tmp_path / "n", 2)
    backends.layers(tmp_path / "w.txt", 2, [("a", 1000, "NONE", 0, "ALLREDUCE", 1024)])
    common = ("-w", tmp_path / "w.txt", "-n", tmp_path / "n", "--network", "flow")
    result = run(tmp_path / "o", *common, "--pcap", "0:1")
    assert result.returncode == 2
    assert "--network flow: --pcap has no packets to capture" in result.stderr
    result = run(tmp_path / "o", *common, "--set", "ERROR_RATE_PER_LINK=0.1")
    assert result.returncode == 0
    assert "error rates have no effect" in result.stderr


@pytest.mark.parametrize("delays", [("1us", "1us"), ("1us", "20us"), ("1us", "2us", "3us", "4us")])
@pytest.mark.parametrize("routing", ["spray", "random-spray", "adaptive"])
def test_a_message_that_switches_spread_waits_for_the_slowest_path(tmp_path, delays, routing):
    """It had the delays of one path, and one frame was divided over several."""
    spines = [4 + place for place in range(len(delays))]
    links = [(0, 2, "400Gbps", "1us"), (1, 3, "400Gbps", "1us")]
    links += [link for spine, delay in zip(spines, delays)
              for link in ((2, spine, "100Gbps", "1us"), (spine, 3, "100Gbps", delay))]
    (tmp_path / "topology").write_text(f"{4 + len(spines)} {2 + len(spines)} {len(links)}\n"
                                       f"2 3 {' '.join(map(str, spines))}\n" +
                                       "".join(" ".join(map(str, link)) + " 0\n" for link in links))
    (tmp_path / "w").write_text("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 "
                                "all_gpus: 2 checkpoints: 0 "
                                "checkpoint_initiates: 0\n1\na -1 10000000 NONE 0 1000 NONE 0 1000 NONE 0 100\n")
    sizes = (3000, 9000, 40_960, 100_000, 1_000_000, 10_000_000)
    (tmp_path / "flows").write_text(f"{len(sizes)}\n"
                                    + "".join(f"0 1 3 100 {size} {place / 1000}\n" for place, size in enumerate(sizes)))
    times = {}
    for network in ("packet", "flow"):
        done = subprocess.run([PROGRAM, "-q", "-w", "w", "-n", "topology", "-c", CONF, "-o", network, "--network",
                               network, "--background-flows", "flows",
                               "--set", f"ROUTING={routing}", "--set", "CC_MODE=1", "--set",
                               "PACKET_PAYLOAD_SIZE=4096"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        rows = [line.split() for line in (tmp_path / network / "fct.txt").read_text().splitlines()]
        times[network] = {int(row[4]): int(row[6]) for row in rows}
        assert [row for row in rows if int(row[6]) < int(row[7])] == []
        # A single frame on paths that are alike takes what it takes on one of them.
        assert len(set(delays)) > 1 or [row[6] for row in rows if row[4] == "3000"] == [row[7] for row in rows
            if row[4] == "3000"]
    assert set(times["flow"]) == set(sizes)
    # Many frames take every path; the last acknowledgement comes back by any, and so does a single frame.
    slowest, fastest = (choose(float(delay[:-2]) for delay in delays) * 1000 for choose in (max, min))
    for size in sizes:
        single = size < 10 * 4096
        if not single:
            assert min(found[size] for found in times.values()) >= (3000 + slowest) + (3000 + fastest), size
        assert times["flow"][size] == pytest.approx(times["packet"][size], rel=0.08 if routing == "spray" else 0.15,
                                                    abs=1.1 * (slowest - fastest) * (2 if single else 1)), size
