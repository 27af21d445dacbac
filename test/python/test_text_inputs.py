# SPDX-License-Identifier: GPL-2.0-only
"""Texts as editors and people write them: byte order marks, repeated keys, lines too many."""
import os
import pathlib
import re
import subprocess

import pytest

from readers import READERS, command, run, write

PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])

MARK = b"\xef\xbb\xbf"


def path_of(folder, reader):
    return folder / (reader + (".yml" if reader == "network" else ""))


@pytest.mark.parametrize("reader", READERS)
def test_a_byte_order_mark_changes_nothing(tmp_path, reader):
    outcomes = []
    for mark in (b"", MARK):
        write(tmp_path, reader)
        file = path_of(tmp_path, reader)
        file.write_bytes(mark + file.read_bytes())
        result = run(tmp_path, command(reader))
        outcomes.append((result.returncode, result.stderr))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] in (0, 1)


def test_a_configuration_may_begin_with_a_byte_order_mark(tmp_path):
    write(tmp_path, "micro")
    (tmp_path / "conf").write_bytes(MARK + b"CC_MODE 3\n")
    result = run(tmp_path, command("micro", "SimAI_simulator", "-c", "conf"))
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("reader,line,message", [
    ("network", "latency: [ 600 ]\n", "network.yml:5: the key 'latency' occurs twice; expected each key once"),
    ("busbw", "  allreduce: 200\n", "busbw:3: 'allreduce' of group TP occurs twice; expected each collective of a "
     "group once"),
    ("kv-cache", "layers 4\n", "kv-cache:13: the key 'layers' occurs twice; expected each key once"),
])
def test_a_repeated_key_is_refused(tmp_path, reader, line, message):
    write(tmp_path, reader)
    with path_of(tmp_path, reader).open("a") as file:
        file.write(line)
    result = run(tmp_path, command(reader))
    assert (result.returncode, result.stderr) == (2, message + "\n")


@pytest.mark.parametrize("text,message", [
    ('{"endpoint-delay": 10,\n"peak-perf": 1,\n"endpoint-delay": 20}',
     'system:3: the key "endpoint-delay" occurs twice in an object; expected each key once'),
])
def test_a_repeated_key_of_json_is_refused(tmp_path, text, message):
    write(tmp_path, "system")
    (tmp_path / "system").write_text(text)
    result = run(tmp_path, command("system"))
    assert (result.returncode, result.stderr) == (2, message + "\n")


def test_flows_beyond_those_announced_bring_a_warning(tmp_path):
    """The HPCC simulator's own flow file has more, so that they are no error."""
    write(tmp_path, "flows")
    with (tmp_path / "flows").open("a") as file:
        file.write("1 2 3 100 4096 0.000002\n2 3 3 100 4096 0.000002\n\nFirst line: flow number\n")
    warning = "warning: flows:3: the first line announces 1 flows; this one and those below are left out"
    for words in (command("flows"), command("micro", "SimAI_simulator", "--background-flows=flows")):
        write(tmp_path, "micro")
        result = run(tmp_path, words)
        assert result.returncode == 0, result.stderr
        assert warning in result.stderr.splitlines()


@pytest.mark.parametrize("flags,message", [
    (["--set", "RATE_AI=50"], "RATE_AI cannot be '50'; expected rate, a rate with its unit, such as 50Mb/s"),
])
def test_a_rate_without_its_unit_is_refused(tmp_path, flags, message):
    write(tmp_path, "micro")
    result = run(tmp_path, command("micro", "SimAI_simulator", *flags))
    assert result.returncode == 2
    assert message in result.stderr


def test_a_link_s_rate_without_its_unit_is_refused(tmp_path):
    write(tmp_path, "topology", rate="400")
    result = run(tmp_path, command("topology"))
    assert (result.returncode, result.stderr) == (
        2, "topology:3: '400' is not a valid link rate; expected a rate above 0 with its unit, such as 400Gbps\n")


def test_an_unknown_collective_is_answered_in_a_sentence(tmp_path):
    write(tmp_path, "busbw")
    (tmp_path / "busbw").write_text("TP:\n  allredcue: 300\n")
    result = run(tmp_path, command("busbw"))
    assert (result.returncode, result.stderr) == (
        2, "busbw:2: unknown collective 'allredcue'; expected allreduce, allgather, reducescatter, alltoall or busbw; "
        "the nearest "
           "is allreduce\n")


@pytest.mark.parametrize("program", ["micro", "flows", "busbw"])
def test_limits_of_the_shell_are_told(tmp_path, program):
    """A small stack ended programs with a fault, and a small file with a signal."""
    write(tmp_path, program)
    words = [word for word in command(program) if word != "-q"]
    small = run(tmp_path, ["bash", "-c", 'ulimit -s 64; exec "$@"', "bash", *words])
    assert (small.returncode, small.stderr) == (2,
                                                "the stack is limited to 64 KiB (ulimit -s); expected 1024 or more\n")
    short = run(tmp_path, ["bash", "-c", 'ulimit -f 0; exec "$@" | cat; exit ${PIPESTATUS[0]}', "bash", *words])
    assert short.returncode == 2, short.stderr
    assert "cannot be written: File too large" in short.stderr


@pytest.mark.parametrize("policy", ["HYBRID_TRANSFORMER", "HYBRID_DATA_MODEL", "MODEL", "DATA", "MICRO"])
def test_a_policy_without_pipelines_says_so(tmp_path, policy):
    """The keys were ignored."""
    rows = "".join(f"l{row} -1 1000 NONE 0 1000 NONE 0 1000 NONE 0 0\n" for row in range(4))
    (tmp_path / "n").write_text("9 1 8\n8\n" + "".join(f"{host} 8 100Gbps 1us 0\n" for host in range(8)))
    said = {}
    for keys in ("", "ga: 4", "pp: 2 ga: 4 pp_comm: 1000", "checkpoints: 1 0 checkpoint_initiates: 1 2"):
        (tmp_path / "w").write_text(f"{policy} model_parallel_NPU_group: 2 all_gpus: 8 {keys}\n4\n{rows}")
        done = subprocess.run([PROGRAMS / "SimAI_simulator", "-w", "w", "-n", "n", "-o", "out", "--network", "flow"],
                              cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said[keys] = re.findall("w: (.*) with this policy", done.stderr)
    assert list(said.values()) == [[], ["ga of the header has no effect"],
                                   ["ga of the header has no effect; pp: 2 of the header makes groups smaller, and no "
                                    "pipeline"],
                                   ["checkpoint_initiates of the header has no effect"]]
