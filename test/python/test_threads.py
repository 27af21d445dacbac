# SPDX-License-Identifier: GPL-2.0-only
"""-t: several threads, one result."""
import json
import os
import random
import subprocess

import pytest
from divided_jobs import JOBS, PROGRAMS, cluster, experts, record, results, simulate, training, write_inputs
from waiting import HANGS

PROGRAM = PROGRAMS / "qbb-flows"
HOSTS = 8
CORES = len(os.sched_getaffinity(0))
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


def run(tmp_path, *flags, output="out", launcher=(), env=None):
    for name, text in (("topology.txt", TOPOLOGY), ("flow.txt", flow_file()), ("run.conf", CONF)):
        (tmp_path / name).write_text(text)
    return subprocess.run([*launcher, PROGRAM, "run.conf", "-n", "topology.txt", "-f", "flow.txt", "-o", output,
                           *flags],
                          cwd=tmp_path, env={**os.environ, **(env or {})}, capture_output=True, text=True,
                          timeout=HANGS)


@pytest.mark.parametrize("keys", [[], ["BUFFER_SIZE=1"], ["CC_MODE=3"], ["QP_MODE=persistent"],
                                  ["LINK_DOWN=60 8 10", "LINK_UP=250 8 10"]])
def test_every_number_of_threads_gives_the_same_bytes(tmp_path, keys):
    flags = [word for key in keys for word in ("--set", key)]
    runs = [("1", ["-t", "1"]), ("none", []), ("2", ["-t", "2"]), ("5", ["--thread", "5"]),
            ("nodes", ["-t", "3", "--ns3::RdmaFabric::PartitionPerNode=true"])]
    checked = NEEDS_ONE in run(tmp_path, "-t", "2").stdout
    if checked:
        refused = run(tmp_path, *runs.pop()[1])
        assert refused.returncode == 2
        assert refused.stderr.strip() == ("command line: --check looks at several nodes at once, and "
                                          "ns3::RdmaFabric::PartitionPerNode "
                                          "keeps -t from it; expected one of the two")
    for name, threads in runs:
        result = run(tmp_path, *flags, *threads, output=name)
        assert result.returncode == 0, result.stderr
    one = results(tmp_path / "1")
    assert len(one["fct.txt"].splitlines()) == 200
    for needed in ("queue.txt", "rate.txt", "bandwidth.txt", "links.csv"):
        assert len(one[needed].splitlines()) > 1, needed
    for name, _ in runs[1:]:
        other = results(tmp_path / name)
        assert other.keys() == one.keys()
        assert [file for file in one if other[file] != one[file]] == [], name
    for name, threads in (("1", 1), ("none", 1), ("2", 2), ("5", 5), ("nodes", 3))[:len(runs)]:
        assert record(tmp_path, name)["threads"] == (1 if checked else min(threads, CORES))
    assert record(tmp_path, "2")["packet_hops"] == record(tmp_path, "1")["packet_hops"]


# Delays of whole microseconds make events of the same picosecond: acknowledgements, ends of transmissions, changes of
# rates.
@pytest.mark.parametrize("seed", range(20))
def test_what_happens_in_the_same_picosecond_has_one_order(tmp_path, seed):
    draw = random.Random(seed)
    (tmp_path / "topology.txt").write_text("7 1 6\n6\n" + "".join(
        f"{host} 6 25Gbps {draw.choice(['500ns', '1us', '2us', '5us'])} 0\n" for host in range(6)))
    (tmp_path / "run.conf").write_text(
        f"CC_MODE {draw.choice([1, 3, 7, 8, 10])}\nRATE_BOUND {draw.randint(0, 1)}\n"
        f"QPS_PER_CONNECTION {draw.choice([1, 1, 2])}\n"
        f"HAS_WIN {draw.randint(0, 1)}\n")
    flows = sorted((draw.choice([0, 1e-6, 1e-4]), *draw.sample(range(6), 2),
                    draw.choice([1_000_000, 100_000, 2_122_501])) for _ in range(6))
    (tmp_path / "flow.txt").write_text("6\n" + "".join(
        f"{src} {dst} {draw.choice([1, 3])} {100 + number} {size} {start}\n" for number,
        (start, src, dst, size) in enumerate(flows)))
    found = {}
    for way in ("", "-t 2", "--check", "--ns3::RdmaFabric::PartitionPerNode=1", "--ns3::LinkEngine::SendEvents=1"):
        result = subprocess.run([PROGRAM, "-q", "run.conf", "-n", "topology.txt", "-f", "flow.txt", "-o", "out",
                                 *way.split()],
                                cwd=tmp_path, capture_output=True, text=True, timeout=HANGS)
        assert result.returncode == 0, result.stderr
        found[way] = (tmp_path / "out/fct.txt").read_text()
    assert [way for way, text in found.items() if text != found[""]] == []


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


def test_switches_that_reduce_keep_flows_on_one_thread(tmp_path):
    flags = ["--set", "IN_NETWORK_REDUCTION=1"]
    assert run(tmp_path, *flags).returncode == 0
    result = run(tmp_path, *flags, "-t", "2", output="two")
    assert result.returncode == 0, result.stderr
    assert "runs on one thread, as IN_NETWORK_REDUCTION needs\n" in result.stdout
    assert results(tmp_path / "two") == results(tmp_path / "out")


def test_flows_have_a_thread_for_each_core_at_most(tmp_path):
    for threads in (CORES, CORES + 1):
        result = run(tmp_path, "-t", str(threads))
        assert result.returncode == 0 and not result.stderr
        if NEEDS_ONE not in result.stdout:
            assert (f"-t {threads}: runs on {CORES} thread" in result.stdout) == (threads > CORES)
            assert record(tmp_path, "out")["threads"] == min(CORES, HOSTS)


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


# --- workloads

@pytest.mark.parametrize("job", JOBS)
def test_workloads_give_the_same_bytes_with_every_number_of_threads(tmp_path, job):
    write_inputs(tmp_path)
    flags, env = JOBS[job]
    runs = {"1": ["-t", 1], "2": ["-t", 2],
            "3": ["-t", 2, "--ns3::RdmaFabric::Partitions=3"], "8": ["-t", 2, "--ns3::RdmaFabric::Partitions=8"]}
    for name, threads in runs.items():
        result = simulate(tmp_path, name, *flags, *threads, env=env)
        assert result.returncode == 0, result.stderr
    one = results(tmp_path / "1")
    assert len(one["collectives.csv"].splitlines()) > 1 and len(one["fct.txt"].splitlines()) > 1
    if "--timeline-ranks" in flags:
        flows = [event for event in json.loads(one["timeline.json"]) if event.get("cat") == "flow"]
        assert {event["args"]["collective"] for event in flows if "args" in event} > {0}
    for name in runs:
        other = results(tmp_path / name)
        assert other.keys() == one.keys()
        assert [file for file in one if other[file] != one[file]] == [], name
        assert record(tmp_path, name)["packet_hops"] == record(tmp_path, "1")["packet_hops"]
        # Wires between partitions cost no events of their own.
        assert record(tmp_path, name)["events"] == pytest.approx(record(tmp_path, "1")["events"], rel=0.01)


@pytest.mark.parametrize("job", ["experts", "pipeline"])
def test_a_checked_run_on_threads_gives_the_same_bytes(tmp_path, job):
    training(tmp_path / "pipeline.txt", 32, tp=2, pp=4)
    experts(tmp_path / "experts.txt", 32)
    cluster(tmp_path / "a100.txt")
    assert simulate(tmp_path, "plain", *JOBS[job][0], "-t", 2).returncode == 0
    checked = simulate(tmp_path, "checked", *JOBS[job][0], "-t", 2, "--check")
    assert checked.returncode == 0, checked.stderr
    assert NEEDS_ONE in checked.stdout
    assert results(tmp_path / "checked") == results(tmp_path / "plain")


# Which packets the experts' oversubscribed leaves mark at random follows from what comes a little later.
@pytest.mark.parametrize("job, share", [("data-parallel", 0.01), ("pipeline", 0.01), ("experts", 0.05)])
def test_threads_change_times_by_no_more_than_what_receivers_tell_senders(tmp_path, job, share):
    training(tmp_path / "data.txt", 32, tp=4)
    training(tmp_path / "pipeline.txt", 32, tp=2, pp=4)
    experts(tmp_path / "experts.txt", 32)
    cluster(tmp_path / "a100.txt")
    flags, _ = JOBS[job]
    for name, threads in (("without", []), ("with", ["-t", 1])):
        assert simulate(tmp_path, name, *flags, *threads).returncode == 0
    without, with_threads = (record(tmp_path, name) for name in ("without", "with"))
    assert with_threads["simulated_ns"] == pytest.approx(without["simulated_ns"], rel=share)
    for same in ("collectives", "flows", "drops"):
        assert with_threads[same] == without[same], same


def test_a_workload_says_how_well_its_threads_were_used(tmp_path):
    training(tmp_path / "data.txt", 32, tp=4)
    cluster(tmp_path / "a100.txt")
    result = simulate(tmp_path, "out", *JOBS["data-parallel"][0], env={"AS_SIM_THREADS": "2"})
    assert result.returncode == 0, result.stderr
    if NEEDS_ONE in result.stdout or len(os.sched_getaffinity(0)) == 1:
        assert record(tmp_path, "out")["threads"] == 1
        return
    assert "2 threads, efficiency " in result.stdout
    assert record(tmp_path, "out")["threads"] == 2
    assert 0 < record(tmp_path, "out")["thread_efficiency"] <= 1


def test_threads_beyond_the_cores_are_not_started(tmp_path):
    training(tmp_path / "small.txt", 16, tp=4)
    cluster(tmp_path / "a100.txt")
    result = simulate(tmp_path, "out", "-w", "small.txt@0-15", "-n", "a100.txt", "-t", 64)
    assert result.returncode == 0, result.stderr
    if NEEDS_ONE not in result.stdout:
        assert f"-t 64: runs on {CORES} thread" in result.stdout
        assert record(tmp_path, "out")["threads"] == min(CORES, 8)


@pytest.mark.parametrize("flags, reason", [
    (["--network", "flow"], "--network flow"),
    (["--rendezvous-protocol", "true"], "--rendezvous-protocol"),
    (["--system-configuration", "system.json"], "system.json, whose ranks agree on an order,"),
    (["--set", "COLLECTIVE_ENGINE=ACCL"], "COLLECTIVE_ENGINE"),
    (["--set", "IN_NETWORK_REDUCTION=1"], "IN_NETWORK_REDUCTION"),
])
def test_what_cannot_be_divided_runs_as_without_threads(tmp_path, flags, reason):
    training(tmp_path / "small.txt", 16, tp=4)
    cluster(tmp_path / "a100.txt")
    (tmp_path / "system.json").write_text(json.dumps({"all-reduce-implementation": ["ring"]}))
    job = ["-w", "small.txt", "-n", "a100.txt", *flags]
    assert simulate(tmp_path, "without", *job).returncode == 0
    result = simulate(tmp_path, "with", *job, "-t", 2)
    assert result.returncode == 0, result.stderr
    assert f"runs on one thread, as {reason} needs\n" in result.stdout
    assert results(tmp_path / "with") == results(tmp_path / "without")


@pytest.mark.parametrize("up", [[], ["--set", "LINK_UP=400 0 32"]])
def test_ranks_of_one_server_meet_in_the_network_while_their_nvlink_is_down(tmp_path, up):
    """The first message leaves when routes know of the cut."""
    cluster(tmp_path / "a100.txt")
    training(tmp_path / "data.txt", 32, tp=4)
    (tmp_path / "late.txt").write_text((tmp_path / "data.txt").read_text().replace("\t2000\t", "\t300000\t"))
    for threads in ([], ["-t", 1], ["-t", 2]):
        result = simulate(tmp_path, "-".join(["out", *map(str, threads)]), "-w", "late.txt", "-n", "a100.txt", "--set",
                          "LINK_DOWN=1 0 32", *up, *threads)
        assert result.returncode == 0, result.stderr
    for several in ("-t-1", "-t-2"):
        assert record(tmp_path, f"out-{several}")["collectives"] == record(tmp_path, "out")["collectives"]
    assert results(tmp_path / "out--t-1") == results(tmp_path / "out--t-2")


def test_a_stuck_run_on_threads_says_who_waits_for_what(tmp_path):
    """A NIC that fails keeps a group of ranks of all servers from going on."""
    cluster(tmp_path / "a100.txt")
    training(tmp_path / "data.txt", 32, tp=4)
    result = simulate(tmp_path, "out", *JOBS["data-parallel"][0], "-t", 2, "--set", "LINK_DOWN=20 0 40")
    assert result.returncode == 1
    assert "the workload cannot finish: nothing is left to simulate, waiting at" in result.stderr
    assert "no path" in result.stderr
    assert "rank 0: " in result.stderr
    assert record(tmp_path, "out")["status"] == "stuck"
