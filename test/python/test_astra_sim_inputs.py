# SPDX-License-Identifier: GPL-2.0-only
"""SimAI_simulator with the files of an ASTRA-sim user: systems, traces, what they leave behind."""
import csv
import json
import math
import os
import pathlib
import re
import subprocess

import pytest
from others_files import OTHERS_FILES
from waiting import HANGS

PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
CONF = pathlib.Path(__file__).resolve().parents[2] / "conf" / "SimAI.conf"
SHARED = OTHERS_FILES / "astra-sim"
RATE_GBPS, DELAY_NS, PAYLOAD, OVERHEAD = 400, 500, 9000, 82
RING = {"scheduling-policy": "LIFO", "endpoint-delay": 10, "active-chunks-per-dimension": 1,
        "preferred-dataset-splits": 4, "all-reduce-implementation": ["ring"],
        "all-gather-implementation": ["ring"], "reduce-scatter-implementation": ["ring"],
        "all-to-all-implementation": ["ring"], "collective-optimization": "localBWAware",
        "local-mem-bw": 1600, "boost-mode": 0, "roofline-enabled": 0, "peak-perf": 900}


def star(path, hosts):
    lines = [f"{hosts + 1} 1 {hosts}", str(hosts)]
    lines += [f"{hosts} {h} {RATE_GBPS}Gbps {DELAY_NS}ns 0" for h in range(hosts)]
    path.write_text("\n".join(lines) + "\n")
    return path


def system(path, **keys):
    path.write_text(json.dumps({**RING, **keys}))
    return path


def run(tmp_path, *arguments):
    arguments = [*map(str, arguments)]
    configured = any(argument == "-c" or argument.startswith("--network-configuration") for argument in arguments)
    return subprocess.run(
        [str(PROGRAM), *arguments, *(() if configured else ("-c", str(CONF))), "-o", str(tmp_path / "out")],
        env={k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))},
        capture_output=True, text=True, timeout=HANGS, check=False)


def one_collective(tmp_path):
    with (tmp_path / "out" / "collectives.csv").open(newline="") as file:
        row, = csv.DictReader(file)
    return float(row["end_ns"]) - float(row["start_ns"])


def record(tmp_path):
    return json.loads((tmp_path / "out" / "run.json").read_text())


@pytest.mark.parametrize("entries, dimensions, fits",
                         [(1, None, True), (3, None, False), (3, [2, 2], False), (2, [2, 2], True),
                                                       (1, [2, 2], True)])
def test_implementations_are_no_more_than_dimensions(entries, dimensions, fits, tmp_path):
    keys = {"all-reduce-implementation": ["ring"] * entries, "all-to-all-implementation": ["ring"] * entries}
    (tmp_path / "work").write_text("1 ALLREDUCE 100000 DP\n")
    arguments = ["-w", tmp_path / "work", "-n", star(tmp_path / "topology", 4),
                 "--system-configuration", system(tmp_path / "system.json", **keys)]
    if dimensions:
        (tmp_path / "dims.json").write_text(json.dumps({"logical-dims": list(map(str, dimensions))}))
        arguments += ["--logical-topology-configuration", tmp_path / "dims.json"]
    result = run(tmp_path, *arguments)
    assert result.returncode == (0 if fits else 2), result.stderr
    if not fits:
        count = len(dimensions or [1])
        assert result.stderr == (f"{tmp_path}/system.json:1: 'all-reduce-implementation' has 3 entries for {count} "
                                 f"dimension"
                                 f"{'s' if count > 1 else ''}; expected one entry per dimension "
                                 f"(--logical-topology-configuration), "
                                 "or one for all\n")


def message_ns(size):
    """From the call to the last byte, over two links with store and forward between them."""
    frames = math.ceil(size / PAYLOAD)
    first = min(size, PAYLOAD) + OVERHEAD
    return (size + frames * OVERHEAD + first) * 8 / RATE_GBPS + 2 * DELAY_NS


def ring_ns(ranks, size, chunks, back_ns=0):
    """2(n-1) messages one after the other, each with the end points' delay, and the reductions.

    back_ns is what passes between the last byte's arrival and the delivery of a message.
    """
    part = size / chunks / ranks
    steps = 2 * (ranks - 1)
    return chunks * (steps * (message_ns(math.ceil(part)) + back_ns) + (steps + 1) * RING["endpoint-delay"]
                     + (ranks - 1) * 3 * part / RING["local-mem-bw"])


@pytest.mark.parametrize("ranks", [4, 8, 16])
def test_a_native_ring_takes_its_closed_form_on_packets(tmp_path, ranks):
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 1048576 DP\n")
    result = run(tmp_path, "-w", tmp_path / "w.txt", "-n", star(tmp_path / "n.txt", ranks),
                 f"--system-configuration={system(tmp_path / 's.json')}")
    assert result.returncode == 0, result.stderr
    assert one_collective(tmp_path) == pytest.approx(ring_ns(ranks, 1 << 20, 4), rel=0.02)


@pytest.mark.parametrize("flags", [[], ["-t", "2"]])
def test_messages_may_be_delivered_when_their_sender_has_the_last_acknowledgement(tmp_path, flags):
    """As ASTRA-sim's ns-3 back end and SimAI do: each step of a ring takes the way back as well."""
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 1048576 DP\n")
    result = run(tmp_path, "-w", tmp_path / "w.txt", "-n", star(tmp_path / "n.txt", 8), *flags, "--check",
                 f"--system-configuration={system(tmp_path / 's.json')}", "--set", "MESSAGE_DELIVERY=acknowledged")
    assert result.returncode == 0, result.stderr
    back_ns = 2 * (84 * 8 / RATE_GBPS + DELAY_NS)
    assert one_collective(tmp_path) == pytest.approx(ring_ns(8, 1 << 20, 4, back_ns), rel=0.02)
    assert ring_ns(8, 1 << 20, 4, back_ns) > 1.4 * ring_ns(8, 1 << 20, 4)


def test_an_all_reduce_of_64_npus_takes_the_time_of_astra_sims_ns3_back_end(tmp_path):
    """Its example of 16 NPUs on each switch, cut to 64 NPUs: 13.10 ms there, with as many packet-hops as here."""
    npus, leaves, spines = 64, range(64, 68), range(68, 76)
    links = [f"{npu} {leaves[npu // 16]} 200Gbps 5us 0" for npu in range(npus)]
    links += [f"{leaf} {spine} 200Gbps 12.5us 0" for leaf in leaves for spine in spines]
    (tmp_path / "n.txt").write_text(f"76 12 {len(links)}\n{' '.join(map(str, (*leaves, *spines)))}\n" + "\n".join(links)
                                    + "\n")
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 16777216 DP\n")
    (tmp_path / "ns3.conf").write_text("PACKET_PAYLOAD_SIZE 1000\nCC_MODE 12\nHAS_WIN 1\nVAR_WIN 1\nENABLE_QCN 1\n"
                                       "MON_END 0\n")
    result = run(tmp_path, "-w", tmp_path / "w.txt", "-n", tmp_path / "n.txt", "-c", tmp_path / "ns3.conf",
                 f"--system-configuration={system(tmp_path / 's.json')}", "--set", "MESSAGE_DELIVERY=acknowledged")
    assert result.returncode == 0, result.stderr
    assert record(tmp_path)["packet_hops"] == 9_047_808
    assert one_collective(tmp_path) / 1e6 == pytest.approx(13.10, rel=0.03)


@pytest.mark.others_files
def test_a_trace_of_astra_sim_runs_unchanged_and_takes_its_closed_form(tmp_path):
    result = run(tmp_path,
                 f"--workload-configuration={SHARED / 'workload/all_reduce_8npus_1MB/all_reduce'}",
                 f"--system-configuration={SHARED / 'system/Ring_4chunks.json'}",
                 f"--remote-memory-configuration={SHARED / 'network/no_memory_expansion.json'}",
                 f"--logical-topology-configuration={SHARED / 'network/sample_8nodes_1D.json'}",
                 "--comm-group-configuration=empty",
                 "-n", SHARED / "network/8_nodes_1_switch_topology.txt")
    assert result.returncode == 0, result.stderr
    assert one_collective(tmp_path) == pytest.approx(ring_ns(8, 1 << 20, 4), rel=0.02)
    roles = {entry["role"] for entry in record(tmp_path)["inputs"]}
    assert {"workload", "topology", "system", "logical topology", "remote memory"} <= roles


def test_on_an_analytical_network_every_rank_says_when_it_finished(tmp_path):
    """ASTRA-sim's YAML and the line that its users' scripts read; a cycle is a nanosecond."""
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 1048576 DP\n")
    (tmp_path / "ring.yml").write_text("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]  # GB/s\n"
                                       "latency: [ 500.0 ]  # ns\n")
    done = run(tmp_path, f"--workload-configuration={tmp_path / 'w.txt'}",
               f"--system-configuration={system(tmp_path / 's.json')}",
               f"--network-configuration={tmp_path / 'ring.yml'}")
    assert done.returncode == 0, done.stderr
    said = re.findall(r"^sys\[(\d+)\] finished, (\d+) cycles, exposed communication (\d+) cycles\.$", done.stdout,
                      re.MULTILINE)
    assert sorted(int(rank) for rank, _, _ in said) == list(range(8))
    # Nothing is computed, and all ranks of a ring end together.
    assert {(int(cycles), int(exposed)) for _, cycles, exposed in said} == {(int(one_collective(tmp_path)),) * 2}


def test_communicators_need_a_workload_that_names_them(tmp_path):
    """Text workloads have the groups of their sizes, so a file of groups would have no effect."""
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 1048576 DP\n")
    (tmp_path / "groups.json").write_text('{"0": [0, 1], "1": [2, 3]}')
    arguments = ["-w", tmp_path / "w.txt", "-n", star(tmp_path / "n.txt", 4), "--comm-group-configuration"]
    assert run(tmp_path, *arguments, "empty").returncode == 0
    refused = run(tmp_path, *arguments, tmp_path / "groups.json")
    assert refused.returncode == 2
    assert refused.stderr == (f"command line: --comm-group-configuration with {tmp_path}/w.txt, which names no "
                              f"communicators; expected "
                              "Chakra traces, or neither: the groups of text workloads are those of --tp, --ep and "
                              "--pp\n")


@pytest.mark.parametrize("name, reason", [("", "is a directory"), ("missing", "cannot be read")])
def test_communicators_that_are_no_file_are_refused(tmp_path, name, reason):
    for rank in range(8):
        write_trace(tmp_path / f"t.{rank}.et", 1)
    result = run(tmp_path, "-w", tmp_path / "t", "-n", star(tmp_path / "n.txt", 8),
                 "--comm-group-configuration", tmp_path / name)
    assert result.returncode == 2 and reason in result.stderr and len(result.stderr.splitlines()) == 1


def test_rendezvous_adds_at_most_a_small_message_per_step(tmp_path):
    ranks = 4
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 1048576 DP\n")
    times = {}
    for protocol in ("false", "true"):
        result = run(tmp_path, "-w", tmp_path / "w.txt", "-n", star(tmp_path / "n.txt", ranks),
                     f"--system-configuration={system(tmp_path / 's.json')}",
                     f"--rendezvous-protocol={protocol}")
        assert result.returncode == 0, result.stderr
        assert record(tmp_path)["options"]["rendezvous"] is (protocol == "true")
        times[protocol] = one_collective(tmp_path)
    steps = 4 * 2 * (ranks - 1)
    assert times["false"] < times["true"] <= times["false"] + steps * (message_ns(64) + 2 * DELAY_NS)


def test_trace_enabled_writes_the_timeline_with_every_flow(tmp_path):
    ranks = 4
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 1048576 DP\n")
    arguments = ["-w", tmp_path / "w.txt", "-n", star(tmp_path / "n.txt", ranks)]
    result = run(tmp_path, *arguments,
                 f"--system-configuration={system(tmp_path / 's.json', **{'trace-enabled': 1})}")
    assert result.returncode == 0, result.stderr
    events = json.loads((tmp_path / "out" / "timeline.json").read_text())
    flows = {}
    for event in (e for e in events if e.get("cat") == "flow"):
        flows.setdefault(event["id"], {})[event["ph"]] = event
    assert len(flows) == ranks * 4 * 2 * (ranks - 1)
    phases = [e for e in events if e.get("cat") == "stream"]
    for flow in flows.values():
        assert flow["b"]["name"] == f"to {(flow['b']['pid'] + 1) % ranks}"
        assert flow["b"]["args"]["bytes"] == (1 << 20) // 4 // ranks
        # A flow starts during a phase of its own rank; its last acknowledgement may come later.
        assert any(p["pid"] == flow["b"]["pid"] and p["ts"] <= flow["b"]["ts"] <= p["ts"] + p["dur"]
                   for p in phases)
        assert flow["e"]["ts"] > flow["b"]["ts"]
    limited = run(tmp_path, *arguments, f"--system-configuration={tmp_path / 's.json'}",
                  "--timeline-ranks=1", "--timeline-limit=5")
    assert limited.returncode == 0, limited.stderr
    events = json.loads((tmp_path / "out" / "timeline.json").read_text())
    assert {e["pid"] for e in events} == {0}
    assert len({e.get("id", f"x{i}") for i, e in enumerate(events) if e["ph"] != "M"}) == 5


def test_boost_mode_says_that_it_has_no_effect(tmp_path):
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 1024 DP\n")
    result = run(tmp_path, "-w", tmp_path / "w.txt", "-n", star(tmp_path / "n.txt", 2),
                 f"--system-configuration={system(tmp_path / 's.json', **{'boost-mode': 1})}")
    assert result.returncode == 0
    assert result.stderr.count("boost-mode has no effect") == 1


def test_a_trace_that_breaks_during_the_run_leaves_the_status_failed(tmp_path):
    for rank in range(4):
        write_trace(tmp_path / f"t.{rank}.et", 100)
    damaged = tmp_path / "t.2.et"
    damaged.write_bytes(damaged.read_bytes()[:-3])
    result = run(tmp_path, f"--workload-configuration={tmp_path / 't'}",
                 "-n", star(tmp_path / "n.txt", 4))
    assert result.returncode == 2
    assert str(damaged) in result.stderr and len(result.stderr.strip().splitlines()) == 1
    assert record(tmp_path)["status"] in ("refused", "failed")
    assert not (tmp_path / "out" / "EndToEnd.csv").exists()


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_trace(path, nodes):
    """A chain of computations of 1 us: id (1), name (2), type COMP (3), data_deps (5), duration (7)."""
    name = b"a computation with a name as long as those that PyTorch gives"
    with path.open("wb") as file:
        file.write(b"\x07\x0a\x050.0.4")
        for node in range(1, nodes + 1):
            after = varint(node - 1)
            body = (b"\x08" + varint(node) + b"\x12" + varint(len(name)) + name + b"\x18\x04"
                    + (b"\x2a" + varint(len(after)) + after if node > 1 else b"") + b"\x38\x01")
            file.write(varint(len(body)) + body)


def test_memory_does_not_grow_with_the_length_of_a_trace(tmp_path):
    peaks = {}
    for nodes in (20_000, 200_000):
        for rank in range(2):
            write_trace(tmp_path / f"t.{rank}.et", nodes)
        result = run(tmp_path, f"--workload-configuration={tmp_path / 't'}", "-n", star(tmp_path / "n.txt", 2))
        assert result.returncode == 0, result.stderr
        assert record(tmp_path)["simulated_ns"] == nodes * 1000
        peaks[nodes] = record(tmp_path)["peak_memory_bytes"]
    # 14 MB more in each file.
    assert peaks[200_000] - peaks[20_000] < 2 << 20
