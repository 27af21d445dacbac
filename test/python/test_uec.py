# SPDX-License-Identifier: GPL-2.0-only
"""Ultra Ethernet: one key, and every kind of run works on it: flows, collectives, failed links, several threads."""
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "build/release/bin"))
CONF = ROOT / "conf/SimAI.conf"  # chooses DCQCN, which the key replaces
PAYLOAD, OVERHEAD, GBPS = 9000, 122, 400
FRAME_NS = (PAYLOAD + OVERHEAD) * 8 / GBPS


def clos(leaves: int, hosts: int, spines: int) -> str:
    """Leaf and spine switches, 1:1 if there are as many spines as hosts of a leaf."""
    first = leaves * hosts
    links = [(host, first + host // hosts) for host in range(first)]
    links += [(first + leaf, first + leaves + spine) for leaf in range(leaves) for spine in range(spines)]
    switches = range(first, first + leaves + spines)
    return (f"{first + leaves + spines} 1 0 {leaves + spines} {len(links)} H100\n{' '.join(map(str, switches))}\n"
            + "".join(f"{a} {b} {GBPS}Gbps 0.0005ms 0\n" for a, b in links))


def run(folder: pathlib.Path, program: str, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAMS / program, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def flows(folder: pathlib.Path, topology: str, pairs: list[tuple[int, int, int]], *arguments: str) -> list[list[str]]:
    """Runs flows of (source, destination, bytes), all from the start. Returns the lines of fct.txt."""
    folder.mkdir()
    (folder / "topology").write_text(topology)
    (folder / "flows").write_text(f"{len(pairs)}\n" + "".join(f"{a} {b} 3 100 {size} 0\n" for a, b, size in pairs))
    done = run(folder, "qbb-flows", str(CONF), "-n", "topology", "-f", "flows", "-o", "out", *arguments)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in (folder / "out/fct.txt").read_text().splitlines()]
    assert len(lines) == len(pairs)
    return lines


def micro(folder: pathlib.Path, topology: str, *arguments: str) -> tuple[float, dict]:
    """Runs an AllReduce and an AllToAll. Returns their time in ns and the run's record."""
    folder.mkdir()
    (folder / "topology").write_text(topology)
    (folder / "micro.txt").write_text("1 ALLREDUCE 4000000 DP\n1 ALLTOALL 4000000 DP\n")
    done = run(folder, "SimAI_simulator", "-c", str(CONF), "-n", "topology", "-w", "micro.txt", "--tp", "1",
               "-o", "out", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((folder / "out/run.json").read_text())
    return record["simulated_ns"], record


def test_a_message_on_an_idle_fabric_takes_its_closed_form(tmp_path):
    (line,) = flows(tmp_path / "run", clos(2, 4, 4), [(0, 4, 900_000)], "--set", "TRANSPORT=UEC", "--check")
    answer_ns = 110 * 8 / GBPS
    assert int(line[6]) == pytest.approx(99 * FRAME_NS + 4 * (FRAME_NS + 500) + 4 * (answer_ns + 500), abs=1)


def test_a_permutation_takes_all_paths_where_ecmp_collides(tmp_path):
    pairs = [(host, (host + 8) % 64, 4_000_000) for host in range(64)]
    last = {}
    for name, arguments in {"uec": ("--set", "TRANSPORT=UEC", "--check"), "ecmp": ()}.items():
        last[name] = max(int(line[6]) for line in flows(tmp_path / name, clos(8, 8, 8), pairs, *arguments))
    closed = 4_000_000 / PAYLOAD * FRAME_NS
    assert last["ecmp"] > 2 * closed
    assert last["uec"] < 1.25 * closed


def test_an_incast_loses_nothing_but_payloads(tmp_path):
    flows(tmp_path / "run", clos(1, 33, 0), [(host, 32, 900_000) for host in range(32)],
          "--set", "TRANSPORT=UEC", "--check")
    record = json.loads((tmp_path / "run/out/run.json").read_text())
    assert record["drops"] == record["timeouts"] == 0
    assert record["trimmed_packets"] == record["nacks"] > 0
    assert record["retransmitted_bytes"] == PAYLOAD * record["trimmed_packets"]


def test_collectives_run_on_it(tmp_path):
    roce, _ = micro(tmp_path / "roce", clos(2, 4, 4), "--set", "ROUTING=spray")
    uec, record = micro(tmp_path / "uec", clos(2, 4, 4), "--set", "TRANSPORT=UEC", "--check")
    assert uec < 1.1 * roce
    assert record["timeouts"] == 0


def test_credits_give_an_incast_the_rate_of_the_link(tmp_path):
    senders = 64
    lines = flows(tmp_path / "run", clos(1, senders + 1, 0), [(host, senders, 900_000) for host in range(senders)],
                  "--set", "TRANSPORT=UEC", "--set", "UEC_CC=rccc", "--check")
    record = json.loads((tmp_path / "run/out/run.json").read_text())
    ends = [int(line[6]) for line in lines]
    closed = senders * 100 * FRAME_NS + record["trimmed_packets"] * 84 * 8 / GBPS
    assert closed < max(ends) < 1.005 * closed
    assert min(ends) > 0.85 * max(ends)  # the first window of one is before all others, and not trimmed
    assert record["drops"] == record["timeouts"] == 0


def test_credits_of_256_senders_and_of_two_messages_of_one(tmp_path):
    ends = [int(line[6]) for line in flows(
        tmp_path / "many", clos(1, 257, 0), [(host, 256, 450_000) for host in range(256)],
        "--set", "TRANSPORT=UEC", "--set", "UEC_CC=rccc", "--check")]
    assert max(ends) < 1.03 * 256 * 50 * FRAME_NS
    for mode in ("per_flow", "persistent"):
        ends = [int(line[6]) for line in flows(
            tmp_path / mode, clos(1, 3, 0), [(0, 2, 900_000), (0, 2, 900_000), (1, 2, 900_000)],
            "--set", "TRANSPORT=UEC", "--set", "UEC_CC=rccc", "--set", f"QP_MODE={mode}", "--check")]
        assert max(ends) == pytest.approx(300 * FRAME_NS + 4 * 500 + FRAME_NS, rel=0.02)


@pytest.mark.parametrize("more", [(), ("--set", "UEC_CC=rccc"), ("--set", "UEC_CC=both"),
                                  ("--set", "UEC_DELIVERY=rod"), ("--set", "UEC_SPREADING=reps"),
                                  ("--set", "ENABLE_PFC=1")])
def test_collectives_survive_a_failed_link(tmp_path, more):
    micro(tmp_path / "run", clos(2, 4, 4), "--set", "TRANSPORT=UEC", "--set", "LINK_DOWN=50 8 10", "--check", *more)


@pytest.mark.parametrize("control", ["nscc", "rccc"])
def test_threads_change_nothing(tmp_path, control):
    pairs = [(host, (host * 5 + 3) % 16, 500_000) for host in range(16)]
    results = [flows(tmp_path / number, clos(4, 4, 4), pairs, "--set", "TRANSPORT=UEC", "--set", f"UEC_CC={control}",
                     "-t", number)
               for number in ("1", "2")]
    assert sorted(results[0]) == sorted(results[1])


def test_keys_that_it_replaces_are_said_to_have_no_effect(tmp_path):
    (tmp_path / "topology").write_text(clos(1, 2, 0))
    (tmp_path / "flows").write_text("1\n0 1 3 100 9000 0\n")
    done = run(tmp_path, "qbb-flows", str(CONF), "-n", "topology", "-f", "flows", "-o", "out", "--set", "TRANSPORT=UEC",
               "--set", "CC_MODE=3", "--set", "LOSS_RECOVERY=irn")
    assert done.returncode == 0
    for key in ("CC_MODE", "LOSS_RECOVERY"):
        assert f": {key} has no effect with TRANSPORT UEC" in done.stderr


def test_its_delivery_without_it_is_refused(tmp_path):
    (tmp_path / "topology").write_text(clos(1, 2, 0))
    (tmp_path / "flows").write_text("1\n0 1 3 100 9000 0\n")
    done = run(tmp_path, "qbb-flows", str(CONF), "-n", "topology", "-f", "flows", "-o", "out", "--set",
               "LOSS_RECOVERY=ns3::UecDelivery")
    assert done.returncode == 2
    assert "ns3::UecDelivery needs the packet numbers of ns3::UecTransport; expected TRANSPORT UEC" in done.stderr
