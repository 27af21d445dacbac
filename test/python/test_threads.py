# SPDX-License-Identifier: GPL-2.0-only
"""-t of qbb-flows: several threads, one result."""
import json
import os
import pathlib
import random
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", "bin")) / "qbb-flows"
HOSTS = 8
# Two leaves (8, 9) of four hosts, two spines (10, 11).
LINKS = ([f"{host} {8 + host // 4} 100Gbps 1us 0" for host in range(HOSTS)] +
         [f"{leaf} {spine} 100Gbps 1us 0" for leaf in (8, 9) for spine in (10, 11)])
TOPOLOGY = f"12 4 {len(LINKS)}\n8 9 10 11\n" + "\n".join(LINKS) + "\n"
CONF = ("CC_MODE 1\nPACKET_PAYLOAD_SIZE 1000\nMON_START 0\nMON_END 3000\n"
        "QP_MON_INTERVAL 5\nBW_MON_INTERVAL 5\nQLEN_MON_INTERVAL 2\n")

NEEDS_ONE = "runs on one thread, as --check needs"  # in the checking build, which checks every run

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="qbb-flows is not built")


def flow_file():
    draw = random.Random(5)
    flows = []
    for number in range(200):
        src = draw.randrange(1, HOSTS)
        dst = 0 if number % 2 else draw.choice([host for host in range(HOSTS) if host != src])
        # Every tenth one starts together with the one before.
        start = flows[-1][0] if number % 10 == 9 else draw.randrange(50_000) + 1000 * number
        flows.append((start, f"{src} {dst} 3 100 {draw.choice([1, 999, 30_000, 200_000])}"))
    flows.sort(key=lambda flow: flow[0])
    return f"{len(flows)}\n" + "".join(f"{text} {start / 1e9:.9f}\n" for start, text in flows)


def run(tmp_path, *flags, output="out"):
    for name, text in (("topology.txt", TOPOLOGY), ("flow.txt", flow_file()), ("run.conf", CONF)):
        (tmp_path / name).write_text(text)
    return subprocess.run([PROGRAM, "run.conf", "-n", "topology.txt", "-f", "flow.txt", "-o", output, *flags],
                          cwd=tmp_path, capture_output=True, text=True, timeout=300)


def results(directory):
    # run.json tells of the threads and of the time they took
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "run.json"}


def record(tmp_path, output):
    return json.loads((tmp_path / output / "run.json").read_text())


@pytest.mark.parametrize("keys", [[], ["BUFFER_SIZE=1"], ["CC_MODE=3"], ["QP_MODE=persistent"],
                                  ["LINK_DOWN=60 8 10", "LINK_UP=250 8 10"]])
def test_every_number_of_threads_gives_the_same_bytes(tmp_path, keys):
    flags = [word for key in keys for word in ("--set", key)]
    runs = [("1", ["-t", "1"]), ("2", ["-t", "2"]), ("5", ["--thread", "5"]),
            ("nodes", ["-t", "3", "--ns3::RdmaFabric::PartitionPerNode=true"])]
    for name, threads in runs:
        result = run(tmp_path, *flags, *threads, output=name)
        assert result.returncode == 0, result.stderr
        checked = NEEDS_ONE in result.stdout
    one = results(tmp_path / "1")
    assert len(one["fct.txt"].splitlines()) == 200
    for needed in ("qlen.txt", "rate.txt", "bandwidth.txt", "links.csv"):
        assert len(one[needed].splitlines()) > 1, needed
    for name, _ in runs[1:]:
        other = results(tmp_path / name)
        assert other.keys() == one.keys()
        assert [file for file in one if other[file] != one[file]] == [], name
    for name, threads in (("1", 1), ("2", 2), ("5", 5), ("nodes", 3)):
        assert record(tmp_path, name)["threads"] == (1 if checked else threads)
    assert record(tmp_path, "2")["packet_hops"] == record(tmp_path, "1")["packet_hops"]


def test_pauses_are_told_in_the_order_of_time(tmp_path):
    assert run(tmp_path, "--set", "BUFFER_SIZE=1", "-t", "4").returncode == 0
    times = [int(line.split()[0]) for line in (tmp_path / "out/pfc.txt").read_text().splitlines()]
    assert len(times) > 10
    assert times == sorted(times)


def test_a_run_says_how_well_it_used_its_threads(tmp_path):
    result = run(tmp_path, "-t", "2")
    if NEEDS_ONE in result.stdout:
        pytest.skip("the checking build runs on one thread")
    assert "2 threads, efficiency " in result.stdout
    assert 0 < record(tmp_path, "out")["thread_efficiency"] <= 1
    assert "threads" not in run(tmp_path).stdout


def test_what_looks_at_several_nodes_at_once_runs_on_one_thread(tmp_path):
    result = run(tmp_path, "-t", "2", "--pcap", "0:0")
    assert result.returncode == 0, result.stderr
    assert "runs on one thread, as --" in result.stdout
    assert record(tmp_path, "out")["threads"] == 1
    with_one = results(tmp_path / "out")
    assert run(tmp_path, "-t", "2", output="two").returncode == 0
    assert results(tmp_path / "two")["fct.txt"] == with_one["fct.txt"]


def test_more_threads_than_cores_are_warned_of(tmp_path):
    cores = len(os.sched_getaffinity(0))
    for threads, warns in ((cores, False), (cores + 1, True)):
        result = run(tmp_path, "-t", str(threads))
        assert result.returncode == 0, result.stderr
        if NEEDS_ONE not in result.stdout:
            assert (f"warning: -t {threads}: there are {cores} cores" in result.stderr) == warns


@pytest.mark.parametrize("flags, message", [
    (["-t", "0"], "command line: -t is 0; expected 1 or more threads"),
    (["-t", "2", "--SimulatorImplementationType=ns3::DefaultSimulatorImpl"],
     "command line: -t and SimulatorImplementationType exclude each other; expected one of them: "
     "only ns3::QbbSimulatorImpl has threads"),
])
def test_what_cannot_be_is_refused(tmp_path, flags, message):
    result = run(tmp_path, *flags)
    assert result.returncode == 2
    assert result.stderr.strip() == message
