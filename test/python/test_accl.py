# SPDX-License-Identifier: GPL-2.0-only
"""SimAI_simulator with collectives left to ACCL's engines in the NICs."""
import csv
import json
import os
import pathlib
import random
import subprocess
import sys

import pytest
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
CONF = ROOT / "conf" / "SimAI.conf"
RATE_GBPS, DELAY_NS = 100, 500
ENGINE_GBYTES = 16  # 64 bytes per cycle of 4 ns


@pytest.fixture(name="star")
def make_star(tmp_path):
    def star(hosts):
        lines = [f"{hosts + 1} 1 {hosts}", str(hosts)]
        lines += [f"{hosts} {h} {RATE_GBPS}Gbps {DELAY_NS}ns 0" for h in range(hosts)]
        path = tmp_path / "star.txt"
        path.write_text("\n".join(lines) + "\n")
        return path
    return star


def run(tmp_path, topology, ranks, step, *more, implementation=("accl",), conf=CONF, limit_kib="unlimited"):
    workload = tmp_path / "work.txt"
    workload.write_text(f"HYBRID_TRANSFORMER model_parallel_NPU_group: {ranks} ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: "
                        f"{ranks} "
                        f"checkpoints: 0 checkpoint_initiates: 0\n1\n"
                        f"layer\t-1\t1000\t{step}\t1\tNONE\t0\t1\tNONE\t0\t1\n")
    system = tmp_path / "system.json"
    system.write_text(json.dumps({f"{op}-implementation": list(implementation)
                                  for op in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
                                  if implementation}))
    return subprocess.run(
        ["bash", "-c", f'ulimit -v {limit_kib}; exec "$@"', "bash", str(PROGRAM), "-w", str(workload), "-n",
         str(topology), "--system-configuration", str(system), "-c", str(conf), "-o",
         str(tmp_path / "out"), *more],
        env={k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))},
        capture_output=True, text=True, timeout=HANGS, check=False)


def collective(tmp_path):
    with (tmp_path / "out" / "collectives.csv").open(newline="") as file:
        row, = csv.DictReader(file)
    return row["algorithm"], float(row["end_ns"]) - float(row["start_ns"])


@pytest.mark.parametrize("ranks,size", [(8, 1 << 20), (8, 8 << 20), (16, 1 << 20)])
def test_an_all_reduce_is_a_tree_up_and_a_tree_down(tmp_path, star, ranks, size):
    """Each of 2 log2(n) rounds takes the operand over a link once, one after the other; the last sum of the root comes
    between."""
    result = run(tmp_path, star(ranks), ranks, f"ALLREDUCE\t{size}")
    assert result.returncode == 0, result.stderr
    algorithm, nanoseconds = collective(tmp_path)
    assert algorithm == "ACCL"
    rounds = 2 * (ranks.bit_length() - 1)
    payload = 9000
    wire_ns = size * (payload + 82) / payload * 8 / RATE_GBPS
    data_ns = rounds * wire_ns + size / ENGINE_GBYTES
    assert data_ns < nanoseconds < data_ns + 3000 + rounds * 6000


@pytest.mark.parametrize("step", ["ALLGATHER\t1048576", "REDUCESCATTER\t1048576", "ALLTOALL\t1048576"])
def test_other_collectives_run_in_the_engines_too(tmp_path, star, step):
    result = run(tmp_path, star(4), 4, step)
    assert result.returncode == 0, result.stderr
    algorithm, nanoseconds = collective(tmp_path)
    assert algorithm == "ACCL"
    assert nanoseconds > 3 / 4 * (1 << 20) * 8 / RATE_GBPS  # what each rank sends or receives at least


def test_other_networks_have_no_engines(tmp_path, star):
    result = run(tmp_path, star(4), 4, "ALLREDUCE\t1024", "--network=flow")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "a collective is left to ACCL's engines, which this network does not have" in result.stderr


def with_key(tmp_path, *values):
    conf = tmp_path / "run.conf"
    conf.write_text("".join(f"COLLECTIVE_ENGINE {value}\n" for value in values) + CONF.read_text())
    return conf


@pytest.mark.parametrize("value,step,expected", [
    ("ACCL", "ALLREDUCE_TP", True), ("ACCL TP", "ALLREDUCE_TP", True), ("ACCL DP EP", "ALLREDUCE_TP", False),
    ("NCCL", "ALLREDUCE_TP", False), ("ACCL", "ALLTOALL", True)])
def test_a_conf_leaves_classes_of_traffic_to_engines(tmp_path, star, value, step, expected):
    result = run(tmp_path, star(4), 4, f"{step}\t65536", "--check", implementation=(), conf=with_key(tmp_path, value))
    assert result.returncode == 0, result.stderr
    assert (collective(tmp_path)[0] == "ACCL") == expected
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["options"]["COLLECTIVE_ENGINE"] == value
    assert record["checked_collectives"] == 1


def test_a_system_file_goes_before_the_conf(tmp_path, star):
    result = run(tmp_path, star(4), 4, "ALLREDUCE\t65536", implementation=("ring",), conf=with_key(tmp_path, "ACCL"))
    assert result.returncode == 0, result.stderr
    assert collective(tmp_path)[0] == "Ring"


@pytest.mark.parametrize("value,more,expected", [
    ("ACCL DP DP", (), "COLLECTIVE_ENGINE cannot be 'ACCL DP DP'"),
    ("ACCL XP", (), "COLLECTIVE_ENGINE cannot be 'ACCL XP'"), ("FPGA", (), "COLLECTIVE_ENGINE cannot be 'FPGA'"),
    ("NCCL TP", (), "COLLECTIVE_ENGINE cannot be 'NCCL TP'"),
    ("ACCL", ("--network=flow",), "COLLECTIVE_ENGINE is ACCL, whose engines this network does not have")])
def test_what_the_conf_cannot_say_is_refused_where_it_says_it(tmp_path, star, value, more, expected):
    conf = with_key(tmp_path, value)
    result = run(tmp_path, star(4), 4, "ALLREDUCE\t65536", *more, implementation=(), conf=conf)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert f"{conf}:1: {expected}" in result.stderr


@pytest.mark.parametrize("op", ["ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL"])
@pytest.mark.parametrize("ranks", [3, 8])
def test_results_in_engines_are_checked_and_times_stay(tmp_path, star, op, ranks):
    times = []
    for more in ((), ("--check",)):
        result = run(tmp_path, star(ranks), ranks, f"{op}\t70000", *more)
        assert result.returncode == 0, result.stderr
        times.append(collective(tmp_path))
    assert times[0] == times[1]
    assert json.loads((tmp_path / "out" / "run.json").read_text())["checked_collectives"] == 1


@pytest.mark.parametrize("attributes,expected", [
    (["RxBufferSize=65536"], "ns3::CcloDriver::MaxEagerSize is 1024; expected RxBufferSize, which is 65536, or more"),
    (["MaxEagerSize=4294967295"], "ns3::CcloDriver::MaxEagerSize is 4294967295; expected less than MaxRendezvousSize, "
     "which is "),
])
def test_thresholds_that_no_engine_takes_are_refused(tmp_path, star, attributes, expected):
    result = run(tmp_path, star(4), 4, "ALLREDUCE\t1000",
                 *(f"--ns3::CcloDriver::{attribute}" for attribute in attributes))
    assert result.returncode == 2
    assert result.stderr.startswith(f"collective engine: {expected}") and result.stderr.count("\n") == 1


@pytest.mark.parametrize("op", ["ALLREDUCE", "ALLGATHER", "REDUCESCATTER"])
def test_over_tcp_large_segments_carry_what_small_ones_cannot(tmp_path, star, op):
    """More segments than rx buffers wait for each other in a ring, as the documentation of offload says."""
    tcp = "--ns3::CcloEngine::Protocol=ns3::CcloTcpEngine"
    assert run(tmp_path, star(4), 4, f"{op}\t4194304", tcp, "--ns3::CcloDriver::RxBufferSize=262144",
               "--ns3::CcloDriver::MaxEagerSize=33554432").returncode == 0
    if op != "ALLREDUCE":
        result = run(tmp_path, star(4), 4, f"{op}\t4194304", tcp)
        assert result.returncode == 1 and "all 16 of which are full" in result.stderr


def test_messages_wait_for_a_path(tmp_path, star):
    """A link that is down from before the first message until 300 us puts the collective off until then, and breaks
    nothing."""
    def took(*more):
        result = run(tmp_path, star(4), 4, "ALLREDUCE\t100000", *more)
        assert result.returncode == 0, result.stderr
        return collective(tmp_path)[1]

    always = took()
    later = took("--set", "LINK_DOWN=0.1 2 4", "--set", "LINK_UP=300 2 4", "--ns3::RdmaFabric::RouteUpdateDelay=0ns")
    assert 299_000 < later <= 300_000 + always


def test_a_message_without_a_path_is_named(tmp_path):
    servers = tmp_path / "rail-only"
    servers.write_text("8 2 2 2 8 A100\n4 5 6 7\n" + "".join(
        f"{gpu} {4 + gpu // 2} 2400Gbps 25ns 0\n{gpu} {6 + gpu % 2} 100Gbps 1us 0\n" for gpu in range(4)))
    result = run(tmp_path, servers, 4, "ALLGATHER\t1000")
    assert result.returncode == 1
    assert "a message has no path: rank 0 and rank 3, for one" in result.stderr and "aborted" not in result.stderr


@pytest.mark.parametrize("protocol", ["Udp", "Tcp"])
def test_an_attribute_chooses_the_protocol(tmp_path, star, protocol):
    flag = f"--ns3::CcloEngine::Protocol=ns3::Cclo{protocol}Engine"
    result = run(tmp_path, star(4), 4, "ALLREDUCE\t20000", flag, "--check")
    assert result.returncode == 0, result.stderr
    result = run(tmp_path, star(4), 4, "ALLTOALL\t20000", flag)
    assert result.returncode == 2
    assert "AllToAll ends with COLLECTIVE_NOT_IMPLEMENTED" in result.stderr


def test_what_is_no_protocol_is_refused(tmp_path, star):
    result = run(tmp_path, star(4), 4, "ALLREDUCE\t20000", "--ns3::CcloEngine::Protocol=ns3::RdmaHpcc")
    assert result.returncode == 2
    assert "ns3::RdmaHpcc is not a protocol engine; expected ns3::CcloRdmaEngine" in result.stderr


def test_the_documentation_s_comparison_is_what_the_command_prints(tmp_path):
    sizes = [1024, 65536]
    command = [sys.executable, str(ROOT / "lab/offload.py"), "-o", str(tmp_path / "offload"), "--no-step", "--sizes",
               *map(str, sizes)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False)
    assert result.returncode == 0, result.stderr
    documented = (ROOT / "docs" / "source" / "howto" / "offload-table.inc").read_text().splitlines()
    printed = result.stdout.splitlines()
    assert len(printed) == 4 + len(sizes)
    assert set(printed) <= set(documented)
    assert (tmp_path / "offload" / "offload.svg").stat().st_size > 1000


def two_servers(path, gpus, chance):
    """Two servers of GPUs that each have a NIC, with delays from 500 ns to 20 us."""
    hosts = 2 * gpus
    lines = [f"{hosts + 3} {gpus} 2 1 {2 * hosts} H100", f"{hosts} {hosts + 1} {hosts + 2}"]
    for host in range(hosts):
        lines.append(f"{host} {hosts + host // gpus} 2880Gbps 25ns 0")
        lines.append(f"{host} {hosts + 2} 100Gbps {chance.choice(['500ns', '500ns', '3us', '20us'])} 0")
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("seed", range(24))
def test_communicators_that_are_under_way_at_a_time_do_not_mix(tmp_path, seed):
    """A random mix of collectives within servers and between them, which ranks come to at different times."""
    chance = random.Random(seed)
    two_servers(tmp_path / "topology", chance.choice([2, 3, 4]), chance)
    ops = ["ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL", "BROADCAST", "REDUCE", "GATHER", "SCATTER"]
    (tmp_path / "work").write_text("".join(
        f"{chance.choice([1, 2, 3])} {chance.choice(ops)} {chance.choice([100, 1000, 20000, 100000])} "
        f"{chance.choice(['TP', 'DP'])}\n"
        for _ in range(8)))
    result = subprocess.run([str(PROGRAM), "-w", "work", "-n", "topology", "-c", str(CONF), "--set",
                             "COLLECTIVE_ENGINE=ACCL", "--check",
                             "-q", "-o", "out"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("ranks", [4, 16])
def test_memory_of_engines_follows_their_operands(tmp_path, star, ranks):
    """A spare buffer may be as large as an operand of 1 GiB, and takes what a small one needs."""
    result = run(tmp_path, star(ranks), ranks, "ALLREDUCE\t100000", "--check", limit_kib=1 << 20)
    assert result.returncode == 0, result.stderr


def test_memory_that_there_is_not_is_told_in_a_line(tmp_path, star):
    result = run(tmp_path, star(4), 4, f"ALLREDUCE\t{400 << 20}", "--check", limit_kib=1 << 20)
    assert result.returncode == 1
    assert "out of memory: " in result.stderr and "aborted" not in result.stderr
    assert "the limit (ulimit -v) is 1024 MiB of address space" in result.stderr
