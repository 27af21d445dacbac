# SPDX-License-Identifier: GPL-2.0-only
"""Numbers at the edges of what integers and the clock hold, in every reader: the run works, or one line says what is
wrong."""
import signal
import subprocess
import time

import pytest

from readers import PROGRAMS, READERS, command, run, write

EDGES = ["-1", "2147483648", "4294967295", "4294967296", "4611686018427387904", "9223372036854775807",
         "9223372036854775808",
         "18446744073709551615", "18446744073709551616", "1e16", "1e19", "1e300", "1e400", "nan"]


@pytest.mark.parametrize("reader", READERS)
def test_the_files_are_right_as_they_are(tmp_path, reader):
    write(tmp_path, reader)
    result = run(tmp_path, command(reader))
    assert result.returncode in (0, 1), result.stderr  # 1: KV caches are not done within the simulated time
    assert "expected" not in result.stderr, result.stderr


@pytest.mark.parametrize("reader,key", [(reader, key) for reader, (_, good) in READERS.items() for key in good])
def test_an_edge_in_a_number_is_no_crash_and_no_hang(tmp_path, reader, key):
    """Refused with the status 2 and one line, or run until the limits stop it."""
    for edge in EDGES:
        write(tmp_path, reader, **{key: edge})
        result = run(tmp_path, command(reader))
        said = f"{key} {edge}: {result.returncode} {result.stderr}"
        assert result.returncode in (0, 1, 2), said
        assert (
            "cond=" not in result.stderr and "internal error" not in result.stderr and "what()" not in result.stderr
        ), said
        if result.returncode == 2:
            assert len([line for line in result.stderr.splitlines() if not line.startswith("warning: ")]) == 1, said


@pytest.mark.parametrize("program", ["SimAI_simulator", "SimAI_analytical"])
@pytest.mark.parametrize("size", [2**64 - 1, 2**64 - 2, 2**63, 2**63 - 1])
@pytest.mark.parametrize("op", ["ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL", "SENDRECV"])
def test_a_size_beyond_any_memory_is_refused(tmp_path, program, size, op):
    write(tmp_path, "micro", bytes=str(size), op=op)
    words = command("micro") if program == "SimAI_simulator" else \
        [str(PROGRAMS / program), "-q", "-w", "micro", "-g", "8", "-o", "out/"]
    result = run(tmp_path, words)
    assert result.returncode == 2, result.stderr
    assert result.stderr.count("\n") == 1 and result.stderr.startswith("micro:1: "), result.stderr


def test_a_latency_past_the_end_of_the_clock_is_refused(tmp_path):
    write(tmp_path, "network", latency="1e16")
    result = run(tmp_path, command("network"))
    assert result.returncode == 2
    assert result.stderr == ("network.yml:4: a latency of 1e16 ns ends past the end of the simulated clock; expected "
                             "less than "
                             "9.2e15 ns (106 days)\n")


@pytest.mark.parametrize("words", [["SimAI_simulator", "-n", "star", "--tp", "1"],
                                   ["SimAI_simulator", "-n", "star", "--tp", "1", "--network=flow"],
                                   ["SimAI_simulator", "-n", "star", "--tp", "1", "--network=analytical"],
                                   ["SimAI_analytical", "-g", "8", "--tp", "1"]])
@pytest.mark.parametrize("text", ["1000000000 ALLREDUCE 1 DP\n", "2147483647 ALLTOALL 4096 DP\n"])
def test_a_thousand_million_passes_end_when_they_are_told_to(tmp_path, words, text):
    """They take no memory, a time limit ends them, and so does a signal, with results."""
    write(tmp_path, "micro")
    (tmp_path / "micro").write_text(text)
    program, *flags = words
    limited = [str(PROGRAMS / program), "-q", "-w", "micro", *flags, "-o", "out/", "--max-time=1s",
               "--max-memory=500MiB"]
    result = run(tmp_path, limited)
    assert result.returncode == 1
    assert "--max-time" in result.stderr, result.stderr
    with subprocess.Popen(limited[:-2], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        started = tmp_path / "out" / "run.json"
        while '"running"' not in (started.read_text() if started.exists() else "") and process.poll() is None:
            time.sleep(0.05)
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM, errors
    assert "before the workload finished" in errors, errors


def test_passes_of_no_bytes_take_no_time(tmp_path):
    write(tmp_path, "micro", passes="2147483647", bytes="0")
    result = run(tmp_path, command("micro"))
    assert result.returncode == 0, result.stderr


def test_micro_batches_that_only_the_header_names_are_limited(tmp_path):
    write(tmp_path, "training", ga="2147483647")
    result = run(tmp_path, command("training"))
    assert result.returncode == 2
    assert result.stderr == ("training:1: ga is 2147483647, with 2 layers in each micro-batch; expected at most "
                             "5000000 "
                             "micro-batches\n")


def on_a_slow_link(path, network, rate, size):
    (path / "slow").write_text(f"3 1 0 1 2 A100\n2\n0 2 {rate} 0.001ms 0\n1 2 {rate} 0.001ms 0\n")
    (path / "micro").write_text(f"1 ALLREDUCE {size} DP\n")
    return run(path, [str(PROGRAMS / "SimAI_simulator"), "-w", "micro", "-n", "slow", "--network", network, "--tp", "1",
                      "-q", "-o", "out"])


@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
@pytest.mark.parametrize("rate, size", [("1Kbps", 2 * 10**9), ("100bps", 10**9)])
def test_messages_that_arrive_past_the_end_of_the_clock_are_refused(tmp_path, network, rate, size):
    result = on_a_slow_link(tmp_path, network, rate, size)
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith("time: ") and "past the end of the simulated clock; expected " in result.stderr
    assert result.stderr.count("\n") == 1, result.stderr


@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
def test_a_slow_link_carries_what_the_clock_has_time_for(tmp_path, network):
    result = on_a_slow_link(tmp_path, network, "100bps", 10000)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_link_on_which_a_frame_takes_minutes_has_no_packets(tmp_path):
    result = on_a_slow_link(tmp_path, "packet", "1bps", 1000)
    assert (result.returncode, result.stderr) == (2, (
        "slow:3: a frame of 1082 bytes takes more than 100 s at 1bps; expected a faster link, smaller frames, or a "
        "network "
        "without packets\n"))
    assert on_a_slow_link(tmp_path, "flow", "1bps", 1000).returncode == 0
