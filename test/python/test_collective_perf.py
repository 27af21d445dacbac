# SPDX-License-Identifier: GPL-2.0-only
"""collective-perf from the outside, read as scripts read nccl-tests."""
import csv
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

from test_simulator import servers

from waiting import HANGS

PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])
# Such scripts look for a row of thirteen fields, the first two of which are numbers.
ROW = re.compile(r"^\s+(\d+)\s+(\d+)\s+(\w+)\s+(\w*)\s+(-?\d+)"
                 r"\s+([\d.e+]+)\s+([\d.]+)\s+([\d.]+)\s+(\S+)\s+([\d.e+]+)\s+([\d.]+)\s+([\d.]+)\s+(\S+)\s*$")
TESTS = ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv", "broadcast", "reduce", "gather",
         "scatter", "hypercube")


def run(*arguments, program="collective-perf", env=None):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    return subprocess.run([str(PROGRAMS / program), *map(str, arguments)], env={**clean, **(env or {})},
                          capture_output=True, text=True, timeout=HANGS, check=False)


def table(*arguments, **options):
    """@return the rows as tuples: size, count, type, redop, root, time, algbw, busbw, wrong, and in place again"""
    result = run(*arguments, **options)
    assert result.returncode == 0, result.stderr
    rows = []
    for line in result.stdout.splitlines():
        if line.startswith("#"):
            continue
        match = ROW.match(line)
        assert match, line
        fields = match.groups()
        rows.append((int(fields[0]), int(fields[1]), *fields[2:4], int(fields[4]), *map(float, fields[5:8]),
                     fields[8], *map(float, fields[9:12]), fields[12]))
    return rows, result.stdout


@pytest.fixture(scope="module")
def two_servers(tmp_path_factory):
    return servers(tmp_path_factory.mktemp("topology") / "n.txt", 2, gpus=4)


def test_the_table_is_that_of_nccl_tests_line_for_line(two_servers):
    _, text = table("all_reduce_perf", "-b", 8, "-e", "1M", "-f", 2, "--network", "flow", "--network-topo", two_servers)
    lines = text.splitlines()
    assert "# nThread 1 nGpus 1 minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 " \
           "validation: 1 graph: 0" in lines
    assert (
        "#                                                              out-of-place                       in-place"
        "          " in lines
    )
    names = next(i for i, line in enumerate(lines) if line.startswith("#       size"))
    assert lines[names] == ("#       size         count      type   redop    root     time   algbw   busbw  #wrong"
                            "     time   algbw   busbw  #wrong ")
    assert lines[names + 1] == ("#        (B)    (elements)                               (us)  (GB/s)  (GB/s)        "
                                "     (us)  (GB/s)  (GB/s)         ")
    # Each column ends below the end of its name.
    for line in lines[names + 2:names + 20]:
        assert len(line) == len(lines[names].rstrip())
    assert [int(line.split()[0]) for line in lines[names + 2:names + 20]] == [8 << i for i in range(18)]
    assert "# Out of bounds values : 0 OK" in lines
    assert lines[-1] == "# Collective test concluded: all_reduce_perf"


def test_bandwidths_are_size_over_time_and_the_average_is_that_of_the_column(two_servers):
    rows, text = table("all_reduce_perf", "-b", "64K", "-e", "4M", "-f", 4, "--network", "flow", "--network-topo",
                       two_servers)
    assert [row[0] for row in rows] == [65536, 262144, 1048576, 4194304]
    for row in rows:
        size, count, kind, redop, root, time, algbw, busbw, wrong = row[:9]
        assert (count, kind, redop, root, wrong) == (size // 4, "float", "sum", -1, "0")
        assert row[5:9] == row[9:13]
        # The printed time has two decimals, and so have the bandwidths.
        assert algbw == pytest.approx(size / time / 1e3, abs=0.006 + 0.006 * algbw / time)
        assert busbw == pytest.approx(algbw * 2 * 7 / 8, abs=0.02)
    average = float(re.search(r"# Avg bus bandwidth +: ([\d.]+)", text).group(1))
    assert average == pytest.approx(sum(row[7] for row in rows) / len(rows), abs=0.006)


def test_a_single_iteration_takes_what_the_simulator_says(tmp_path, two_servers):
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 1048576 TP\n")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    subprocess.run([PROGRAMS / "SimAI_simulator", "-w", tmp_path / "w.txt", "-n", two_servers, "--tp", "8", "-o",
                    tmp_path / "out", "--quiet", "--set", "PACKET_PAYLOAD_SIZE=4096"], check=True, env=clean)
    with (tmp_path / "out" / "collectives.csv").open(newline="") as file:
        row = next(csv.DictReader(file, skipinitialspace=True))
    expected = (float(row["end_ns"]) - float(row["start_ns"])) / 1e3
    rows, text = table("all_reduce_perf", "-b", "1M", "-e", "1M", "-n", 1, "-w", 0, "-a", 3, "--network-topo",
                       two_servers)
    assert rows[0][5] == pytest.approx(expected, abs=0.006)
    spelling = {"LL": "LL", "LL128": "LL128", "Simple": "SIMPLE"}
    choice = f"AllReduce: 1048576 Bytes -> Algo {row['algorithm'].upper()} proto {spelling[row['protocol']]} " \
             f"channel{{Lo..Hi}}={{0..{int(row['channels']) - 1}}} time "
    assert re.search(re.escape(choice) + r"(\d+\.\d+) \(1 of 1\)", text)


def test_packets_without_a_configuration_are_those_of_todays_networks_and_the_table_says_so(tmp_path, two_servers):
    def payload(*flags, **env):
        _, text = table("all_reduce_perf", "-b", 8, "-e", 8, "--network", "flow", "--network-topo", two_servers, *flags,
                        env=env)
        return re.search(r"# Packets between servers: (\d+) bytes of payload", text).group(1)

    (tmp_path / "conf").write_text("PACKET_PAYLOAD_SIZE 1500\n")
    assert payload() == "4096"
    assert payload("--network-conf", tmp_path / "conf") == "1500"
    assert payload("--set", "PACKET_PAYLOAD_SIZE=256") == "256"
    assert payload(AS_NETWORK_KIND="Slingshot") == "2048"
    assert payload("--network-kind", "Slingshot") == "2048"


def test_simais_rules_obey_the_switches_of_nvls(two_servers):
    def algorithm(**env):
        _, text = table("all_reduce_perf", "-b", "64M", "-e", "64M", "--network", "flow", "--network-topo", two_servers,
                        env={"NCCL_SELECT": "rules", **env})
        return re.search(r"-> Algo (\w+) ", text).group(1)

    assert algorithm() == "RING"
    assert algorithm(AS_NVLSTREE_ENABLE="1") != "RING"
    result = run("all_reduce_perf", "-b", 8, "-e", 8, "--network", "flow", "--network-topo", two_servers,
                 env={"NCCL_SELECT": "rules", "NCCL_ALGO": "NVLS"})
    assert "NCCL_ALGO has no effect with NCCL_SELECT=rules" in result.stderr


def test_engines_and_planes_of_a_configuration_are_said_to_have_no_effect(two_servers, tmp_path):
    conf = tmp_path / "engines.conf"
    conf.write_text("CC_MODE 1\nCOLLECTIVE_ENGINE ACCL\nPLANE DP 0\n")
    result = run("all_reduce_perf", "-b", 8, "-e", 8, "--network-topo", two_servers, "--network-conf", conf)
    assert result.returncode == 0
    assert [line for line in result.stderr.splitlines() if "has no effect" in line] == [
        f"warning: {conf}:2: COLLECTIVE_ENGINE has no effect in this run",
        f"warning: {conf}:3: PLANE has no effect in this run"]


def test_nccls_variables_that_nothing_models_bring_a_warning(two_servers):
    arguments = ("all_reduce_perf", "-b", 8, "-e", 8, "--network", "flow", "--network-topo", two_servers)
    result = run(*arguments, env={"NCCL_CHUNK_SIZE": "131072", "NCCL_NTHREADS": "256", "NCCL_DEBUG": "INFO",
                                  "NCCL_SOCKET_IFNAME": "eth0", "NCCL_ALGOS": "Ring"})
    assert result.returncode == 0
    for name in ("NCCL_CHUNK_SIZE", "NCCL_NTHREADS"):
        assert f"{name} has no effect, as nothing here models it, or no variable has that name\n" in result.stderr
    assert (
        "NCCL_ALGOS has no effect, as nothing here models it, or no variable has that name; the nearest is NCCL_ALGO\n"
        in result.stderr
    )
    assert "NCCL_DEBUG" not in result.stderr and "NCCL_SOCKET_IFNAME" not in result.stderr


@pytest.mark.parametrize("nics, warns", ((1, False), (4, True)))
def test_nics_that_carry_more_than_the_gpus_slot_bring_a_warning(tmp_path, nics, warns):
    """A GPU with four NICs of 400 Gb/s was measured at 50 GB/s: its PCIe 5 slot of 16 lanes carries 64."""
    links = [f"{gpu} {2 + nic} 400Gbps 0.0005ms 0" for gpu in range(2) for nic in range(nics)]
    topology = tmp_path / "n"
    switches = " ".join(str(2 + nic) for nic in range(nics))
    topology.write_text(f"{2 + nics} 1 0 {nics} {len(links)} H100\n{switches}\n" + "\n".join(links) + "\n")
    result = run("all_reduce_perf", "-b", 8, "-e", 8, "--network", "flow", "--network-topo", topology)
    assert result.returncode == 0, result.stderr
    assert ("PCIe" in result.stderr) == warns
    if warns:
        assert "the NICs of a GPU carry 200 GB/s" in result.stderr and "64 GB/s" in result.stderr


def test_repeated_iterations_are_those_that_a_full_simulation_finds(two_servers):
    arguments = ("all_gather_perf", "-b", "1M", "-e", "8M", "-f", 2, "-n", 6, "--network-topo", two_servers)
    short, text = table(*arguments)
    full, _ = table(*arguments, "--all-iterations")
    assert "of 6)" in text and "(6 of 6)" not in text
    for one, other in zip(short, full):
        assert one[5] == pytest.approx(other[5], rel=6e-3)


@pytest.mark.parametrize("network", ("packet", "flow", "analytical"))
def test_fast_forward_finds_the_same_times(two_servers, network):
    arguments = ("all_reduce_perf", "-b", "1M", "-e", "16M", "-f", 4, "-n", 4, "--all-iterations", "--network", network,
                 "--network-topo", two_servers)
    whole, _ = table(*arguments)
    for mode in ("--fast-forward", "--fast-forward=exact", "--fast-forward=verify"):
        rows, text = table(*arguments, mode)
        assert "(4 of 4)" in text
        for one, other in zip(rows, whole):
            assert one[:5] == other[:5]
            assert one[5] == pytest.approx(other[5], abs=0.011 if mode.endswith("exact") else 1e-3 * other[5])


# Size of a row of 1 MiB of floats on 8 ranks, its count, and busbw over algbw.
SHAPES = {"all_reduce": (1 << 20, 1 << 18, 14 / 8), "all_gather": (1 << 20, 1 << 15, 7 / 8),
          "reduce_scatter": (1 << 20, 1 << 15, 7 / 8), "alltoall": (1 << 20, 1 << 15, 7 / 8),
          "sendrecv": (1 << 20, 1 << 18, 1), "broadcast": (1 << 20, 1 << 18, 1), "reduce": (1 << 20, 1 << 18, 1),
          "gather": (1 << 20, 1 << 15, 7 / 8), "scatter": (1 << 20, 1 << 15, 7 / 8),
          "hypercube": (1 << 20, 1 << 15, 1)}


@pytest.mark.parametrize("test", TESTS)
def test_each_program_has_a_link_and_its_own_count_and_factor(two_servers, test):
    rows, text = table("-b", "1M", "-e", "1M", "--network", "flow", "--network-topo", two_servers,
                       program=test + "_perf")
    assert f"# Collective test starting: {test}_perf" in text
    size, count, factor = SHAPES[test]
    assert rows[0][:2] == (size, count)
    assert rows[0][7] == pytest.approx(rows[0][6] * factor, abs=0.01)
    # hypercube counts what comes from the other seven ranks
    # Times have two digits after the point.
    assert rows[0][6] == pytest.approx(size / rows[0][5] / 1e3 * (7 / 8 if test == "hypercube" else 1), abs=0.02)


def test_a_hypercube_sends_twice_as_much_in_each_step(tmp_path, two_servers):
    table("hypercube_perf", "-b", "1M", "-e", "1M", "-n", 1, "-w", 0, "--network", "flow", "--network-topo",
          two_servers, "--output", tmp_path / "out")
    sent = [int(line.split()[4]) for line in (tmp_path / "out" / "fct.txt").read_text().splitlines()]
    # 8 ranks hold 128 KiB each and send all they have to the opposite rank: 1, 2, then 4 parts.
    assert sum(sent) == 8 * (1 + 2 + 4) * (128 << 10)


def test_sendrecv_goes_round_the_ranks(tmp_path, two_servers):
    table("sendrecv_perf", "-b", "1M", "-e", "1M", "-n", 1, "-w", 0, "--network", "flow", "--network-topo", two_servers,
          "--output", tmp_path / "out")
    sent = {}
    for line in (tmp_path / "out" / "fct.txt").read_text().splitlines():
        src, dst, _, _, size = line.split()[:5]
        sent[src, dst] = sent.get((src, dst), 0) + int(size)
    assert len(sent) == 8 and set(sent.values()) == {1 << 20}
    assert len({src for src, _ in sent}) == len({dst for _, dst in sent}) == 8


def test_sizes_that_do_not_fill_a_part_of_16_bytes_are_cut(two_servers):
    rows, _ = table("all_gather_perf", "-b", 100, "-e", 300, "-i", 100, "--network", "flow", "--network-topo",
                    two_servers)
    assert [row[:2] for row in rows] == [(0, 0), (128, 4), (256, 8)]
    assert rows[0][5:8] == (0, 0, 0)


def test_types_reductions_and_roots_make_rows_of_their_own(two_servers):
    common = ("-b", "64K", "-e", "64K", "--network", "flow", "--network-topo", two_servers)
    rows, _ = table("reduce_perf", *common, "-d", "all", "-o", "all", "-r", -1)
    assert len(rows) == 12 * 6 * 8
    assert {row[4] for row in rows} == set(range(8))
    assert rows[0][1:4] == (65536, "int8", "sum")
    rows, _ = table("broadcast_perf", *common, "-d", "half", "-r", 3, "-c", 0)
    assert rows[0][:5] == (65536, 32768, "half", "none", 3)
    assert rows[0][8] == rows[0][12] == "N/A"


def test_blocking_iterations_wait_for_the_slowest_rank(two_servers):
    common = ("broadcast_perf", "-b", "4M", "-e", "4M", "-n", 4, "--network", "flow", "--network-topo", two_servers)
    alone, _ = table(*common, "-z", 0, "-a", 3)
    together, _ = table(*common, "-z", 1, "-a", 0)
    assert together[0][5] >= alone[0][5]
    least, _ = table(*common, "-z", 1, "-a", 2)
    assert least[0][5] == together[0][5]  # all ranks wait for the last


@pytest.mark.parametrize("network", ("packet", "flow"))
@pytest.mark.parametrize("protocol, slower", [("LL128", (40, 40.5)), ("Simple", (40, 50))])
def test_a_networks_latency_counts_as_often_as_data_cross_it(tmp_path, network, protocol, slower):
    # A block of an AllGather on two servers crosses the network twice on its way round the ring. TCPXO takes 20 us more
    # than NCCL's latency. Slots of the NVLinks behind the sender are free when it has copied them into its own buffer:
    # were they held until the network has delivered, Simple, with four, would be 79 us slower.
    topology = servers(tmp_path / "n.txt", 2, gpus=8)
    times = [table("all_gather_perf", "-b", "4K", "-e", "4K", "-n", 1, "-w", 0, "--network", network, "--network-topo",
                   topology, env={"NCCL_ALGO": "Ring", "NCCL_PROTO": protocol, "AS_NETWORK_KIND": kind})[0][0][5]
             for kind in ("none", "TCPXO")]
    assert slower[0] - 0.1 < times[1] - times[0] < slower[1]


def times_in_one_launch(topology, test, size, count, **environment):
    result, text = table(test, "-b", size, "-e", size, "-m", count, "-n", 1, "-w", 0, "--processes", 4,
                         "--network", "flow", "--network-topo", topology, env=environment)
    assert f" agg iters: {count} " in text
    return result[0][5]


def test_collectives_of_one_launch_share_its_overhead_and_the_channels(two_servers):
    # NCCL chooses for all of a launch together. Small ones follow each other on one channel: m of them take the base
    # latency of LL (6.6 us) once and the steps m times. (Four ranks of one server, so all are alike.)
    ll = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}
    one, four = (times_in_one_launch(two_servers, "all_reduce_perf", "1K", count, **ll) for count in (1, 4))
    assert four == pytest.approx(6.6 / 4 + one - 6.6, abs=0.02)

    # On channels of their own they are as fast as one of their size together.
    simple = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}
    together = times_in_one_launch(two_servers, "all_reduce_perf", "32M", 1, **simple)
    assert times_in_one_launch(two_servers, "all_reduce_perf", "8M", 4, **simple) == pytest.approx(together / 4,
        abs=0.02)

    # Sends to the same peer follow each other; the launch (8.4 us) counts once.
    one, three = (times_in_one_launch(two_servers, "sendrecv_perf", "64K", count) for count in (1, 3))
    assert three == pytest.approx(8.4 / 3 + one - 8.4, abs=0.02)


def test_a_launch_on_several_gpus_is_shared_by_its_collectives(two_servers):
    # -g 4 and 100 us each: 400 us for a launch, whatever is in it.
    common = ("all_reduce_perf", "-b", "8", "-e", "8", "-n", 1, "-w", 0, "-g", 4, "--launch-us", 100, "--network",
              "flow",
              "--network-topo", two_servers)
    assert table(*common)[0][0][5] == 400
    assert table(*common, "-m", 5)[0][0][5] == 80


def test_a_launch_takes_longer_for_each_channel(two_servers):
    common = ("all_reduce_perf", "-b", "8", "-e", "256K", "-f", 32768, "-n", 1, "-w", 0, "-g", 4, "--launch-us", 1000,
              "--launch-channel-us", 100, "--network", "flow", "--network-topo", two_servers)
    rows, text = table(*common)
    channels = [int(last) + 1 for last in re.findall(r"channel\{Lo\.\.Hi\}=\{0\.\.(\d+)\}", text)]
    assert channels[0] == 1 < channels[1]
    assert [row[5] for row in rows] == [4 * (1000 + 100 * (count - 1)) for count in channels]
    result = run("all_reduce_perf", "--launch-channel-us", 2000000, "--network-topo", two_servers)
    assert result.returncode == 2 and "--launch-channel-us is 2000000; expected 0 to 1000000" in result.stderr


def test_pairs_of_one_server_come_to_wait_for_those_across(two_servers):
    # A ring of sends: two of 8 pairs cross the network, at 1/7 of the others' speed. After d iterations those d places
    # away wait for them, too, so of 20 iterations at least 20 - 4 are as slow for every rank.
    common = ("sendrecv_perf", "-b", "64M", "-e", "64M", "-n", 20, "-w", 0, "--network", "flow", "--network-topo",
              two_servers)
    slowest, average, fastest = (table(*common, "-a", which)[0][0][5] for which in (3, 1, 2))
    assert 16 / 20 * slowest < fastest <= average < slowest


# Every flag of nccl-tests 2.19, with a value that is not its default and the command line that it is added to.
ONE_SIZE = ("all_reduce_perf", "-b", "1M", "-e", "1M")
EVERY_FLAG = {"nthreads,t": 2, "ngpus,g": 2, "minbytes,b": "31M", "maxbytes,e": "33M", "stepbytes,i": "256K",
              "stepfactor,f": 2, "iters,n": 3,
              "agg_iters,m": 3, "warmup_iters,w": 0, "run_cycles,N": 2, "parallel_init,p": 1, "check,c": 0,
              "op,o": "max", "datatype,d": "half",
              "root,r": 1, "blocking,z": 1, "stream_null,y": 1, "timeout,T": 60, "cudagraph,G": 2,
              "report_cputime,C": 1,
              "report_timestamps,S": 1, "output_file,J": "table.json", "average,a": 3, "local_register,R": 2,
              "cta_policy,x": 1,
              "device_implementation,D": 1, "device_cta_count,V": 16, "memory,M": 1, "unalign,u": 1,
              "per_iter_timing,I": 1, "per_iter_skip,K": 3}
ADDED_TO = {"b": ("all_reduce_perf", "-e", "32M"), "e": ("all_reduce_perf", "-b", "32M"),
            "i": ("all_reduce_perf", "-b", "1M", "-e", "2M"),
            "f": ("all_reduce_perf", "-b", "1M", "-e", "2M"), "r": ("broadcast_perf", "-b", "1M", "-e", "1M"),
            "a": ("sendrecv_perf", "-b", "1M", "-e", "1M"), "z": ("sendrecv_perf", "-b", "1M", "-e", "1M")}


@pytest.mark.parametrize("names", EVERY_FLAG)
def test_every_flag_of_nccl_tests_has_an_effect_or_a_warning_or_is_refused(two_servers, names):
    long_name, letter = names.split(",")

    def perf(*flags):
        return run(*ADDED_TO.get(letter, ONE_SIZE), "--network", "flow", "--network-topo", two_servers, *flags)

    def rows(done):
        return [line for line in done.stdout.splitlines() if not line.startswith("#")]

    plain = perf()
    assert plain.returncode == 0 and not plain.stderr
    for flag in ("-" + letter, "--" + long_name):
        done = perf(flag, EVERY_FLAG[names])
        if done.returncode == 2:
            assert "expected" in done.stderr and done.stderr.count("\n") == 1
            continue
        assert done.returncode == 0, done.stderr
        warned = [line for line in done.stderr.splitlines()
                  if line.startswith(f"warning: --{long_name} has no effect: ")]
        assert rows(done) == rows(plain) if warned else done.stdout != plain.stdout


def test_flags_without_effect_say_what_is_not_modelled(two_servers):
    common = ("all_reduce_perf", "-b", "1M", "-e", "1M", "-n", 1, "--network", "flow", "--network-topo", two_servers)
    flags = ("-p", 1, "-y", 1, "-T", 60, "-G", 2, "-C", 1, "-R", 1, "-K", 3, "-V", 16, "-I", 0, "-S", 0, "-M", 0, "-u",
             0,
             "-D", 0, "-x", 0)
    assert table(*common, *flags)[0] == table(*common)[0]
    said = run(*common, *flags).stderr.splitlines()
    assert len(said) == 8 and all(line.startswith("warning: --") for line in said)
    register, = (line for line in said if "--local_register" in line)
    for name in ("registered buffers, 1", "symmetric memory, 2", "SHARP with NVLS", "copy engines"):
        assert name in register
    none = [word for flag in "pyTGCRKV" for word in ("-" + flag, 0)]
    assert run(*common, *none).stderr == ""
    refused = run(*common, "-R", "yes")
    assert refused.returncode == 2 and "yes" in refused.stderr


def test_a_hypercube_is_no_single_launch(two_servers):
    result = run("hypercube_perf", "-m", 2, "--network", "flow", "--network-topo", two_servers)
    assert result.returncode == 2
    assert "hypercube_perf -m 2; expected 1: a step sends what the one before has brought" in result.stderr


def test_fewer_processes_use_the_first_gpus(two_servers):
    _, text = table("all_reduce_perf", "-b", "1M", "-e", "1M", "-g", 4, "--processes", 1, "--network", "flow",
                    "--network-topo", two_servers)
    assert len(re.findall(r"^#  Rank +\d+ Group +0 Pid +\d+ on +server0 device", text, re.MULTILINE)) == 4


def test_the_directory_of_results_has_a_record_of_the_run(tmp_path, two_servers):
    arguments = ["all_reduce_perf", "-b", "64K", "-e", "64K", "-n", "1", "--network-topo", str(two_servers),
                 "--set", "PACKET_PAYLOAD_SIZE=2000", "--output", str(tmp_path / "out")]
    assert run(*arguments).returncode == 0
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert (record["status"], record["test"], record["arguments"]) == ("finished", "all_reduce_perf", arguments)
    assert record["inputs"] == [{"role": "topology", "path": str(two_servers),
                                 "sha256": hashlib.sha256(two_servers.read_bytes()).hexdigest()}]
    assert {name for name in os.listdir(tmp_path / "out") if name != "run.json"} == set(record["outputs"])
    assert "fct.txt" in record["outputs"]
    assert record["options"]["PACKET_PAYLOAD_SIZE"] == "2000"
    assert record["options"]["set"] == ["PACKET_PAYLOAD_SIZE=2000"]
    assert record["packets"] > 0 and record["collectives"] > 0 and record["simulated_ns"] > 0
    assert (record["warnings"], record["seed"]) == ([], 1)


@pytest.mark.parametrize("limit, reason", [(("--max-sim-time", "2us"),
                                            "--max-sim-time came before the workload finished"),
                                           (("--max-time", "1ms"), "--max-time")])
def test_limits_are_those_of_every_program(tmp_path, two_servers, limit, reason):
    done = run("all_reduce_perf", "-b", "1M", "-e", "64M", "-f", 2, "--network-topo", two_servers, "--output",
               tmp_path / "out", *limit)
    assert done.returncode == 1
    assert reason in done.stderr
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert record["status"] == "stopped" and reason in record["reason"]
    assert "packets" in record


def test_a_refused_run_leaves_its_reason_in_the_record(tmp_path, two_servers):
    (tmp_path / "cut.conf").write_text("LINK_DOWN 10 0 1\n")
    result = run("all_reduce_perf", "--network-topo", two_servers, "--network-conf", tmp_path / "cut.conf", "--output",
                 tmp_path / "out")
    assert (result.returncode, result.stdout) == (2, "")
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert (record["status"], record["reason"]) == ("refused", result.stderr.strip())


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_test_that_is_ended_keeps_its_rows_and_says_what_ended_it(tmp_path, two_servers, number):
    out = tmp_path / "out"
    with subprocess.Popen([PROGRAMS / "collective-perf", "all_reduce_perf", "-b", "8", "-e", "64G", "-f", "8",
                           "--network-topo",
                           two_servers, "--output", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        while not ROW.match(line := process.stdout.readline()):
            assert line, process.stderr.read()
        process.send_signal(number)
        _, errors = process.communicate(timeout=HANGS)
    assert process.returncode == 128 + number
    assert number.name in errors
    assert json.loads((out / "run.json").read_text())["status"] == "interrupted"


@pytest.mark.parametrize("flag", ["help", "version", "help-conf", "help_conf"])
def test_what_needs_no_test_takes_one_dash_or_two(flag):
    one, two = (run(f"{dashes}{flag}") for dashes in ("-", "--"))
    assert (one.returncode, one.stdout) == (0, two.stdout) and one.stdout


@pytest.mark.parametrize("arguments, what", [
    (["all_reduce"], "no topology"),
    (["all_redcue_perf"],
     '"all_redcue_perf" is not a valid test; expected a test of --help; the nearest is all_reduce'),
    ([], "no test is named"),
    (["all_reduce_perf", "-b", "8Q"], '-b: "8Q" is not a valid size'),
    (["all_reduce_perf", "-b", "2M", "-e", "1M"], "-b 2M is above -e 1M"),
    (["all_reduce_perf", "-b", "0", "-e", "1M", "-f", "2"], "sizes from 0 do not grow"),
    (["all_reduce_perf", "-d", "int3"], "-d is 'int3'; expected int8, "),
    (["all_reduce_perf", "-o", "xor"], "-o is 'xor'; expected sum, prod"),
    (["all_reduce_perf", "-m", "0"], "-m is 0; expected 1 or more"),
    (["all_reduce_perf", "-I", "1"], "-I is 1; expected 0: iterations repeat each other, so there are no statistics"),
    (["all_reduce_perf", "-S", "1"], "-S is 1; expected 0: the same run prints the same text at any time"),
    (["all_reduce_perf", "-M", "1"], "-M is 1; expected 0: the memory of GPUs is not modelled"),
    (["all_reduce_perf", "-u", "3"], "-u is 3; expected 0: buffers have no addresses"),
    (["all_reduce_perf", "-D", "1"], "-D is 1; expected 0: kernels other than NCCL's own"),
    (["all_reduce_perf", "-x", "2"], "-x is 2; expected 0: policies other than the default"),
    (["all_reduce_perf", "-J", "out.json"], "-J is 'out.json'; expected no -J: the table goes to standard output"),
    (["all_reduce_perf", "-n", "0"], "-n is 0"),
    (["all_reduce_perf", "--network", "pakcet"], "--network is 'pakcet'"),
    (["all_reduce_perf", "--fast-forward=often"], "--fast-forward is 'often'; expected off"),
    (["all_reduce_perf", "--nonsense", "1"], "unknown flag '--nonsense'"),
    (["broadcast_perf", "-r", "8", "-n", "1"], "-r 8 with 8 ranks"),
    (["all_reduce_perf", "-g", "3"], "8 GPUs do not divide into processes of that size"),
    (["all_reduce_perf", "--processes", "9"], "9 ranks on 8 GPUs"),
    (["hypercube_perf", "--processes", "6"], "hypercube_perf on 6 ranks"),
])
def test_mistakes_are_one_line_and_status_2(two_servers, arguments, what):
    topology = [] if what == "no topology" else ["--network-topo", two_servers]
    result = run(*arguments, *(topology if arguments else []))
    assert result.returncode == 2
    assert result.stdout == "" and what in result.stderr
    assert len(result.stderr.splitlines()) == 1
