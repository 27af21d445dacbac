# SPDX-License-Identifier: GPL-2.0-only
"""Damaged input files: whatever is in them, a run works, gets stuck with reasons, or is refused in one line."""
import os
import pathlib
import random
import subprocess

import pytest
from waiting import HANGS

PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
ROOT = pathlib.Path(__file__).resolve().parents[2]

INPUTS = {
    "topology": b"5 1 4\n4\n4 0 100Gbps 1us 0\n4 1 100Gbps 1us 0\n4 2 100Gbps 1us 0\n4 3 100Gbps 1us 0\n",
    "configuration": (ROOT / "conf" / "SimAI.conf").read_bytes(),
    "workload": b"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 2 vpp: 1 ga: 2 "
                b"all_gpus: 4 checkpoints: 1 0 checkpoint_initiates: 1 0 pp_comm: 4096\n2\n"
                b"a -1 1000 ALLREDUCE 4096 1000 NONE 0 1000 ALLREDUCE 8192 10\n"
                b"b -1 1000 ALLGATHER 4096 1000 REDUCESCATTER 4096 1000 ALLREDUCE 8192 10\n",
    "system": b'{"scheduling-policy": "LIFO", "endpoint-delay": 10, "active-chunks-per-dimension": 1, '
              b'"preferred-dataset-splits": 4, "all-reduce-implementation": ["ring"], '
              b'"collective-optimization": "localBWAware", "local-mem-bw": 1600}',
    "flows": b"2\n0 1 3 100 20000 0.000001\n2 3 3 100 20000 0.000002\n",
}
INSERTED = [b"-1", b"99999999999999999999", b" ", b"\n", b"0", b"nan", b"1e300", b"\0", b"#", b"abc"]
VALUES = [b"0", b"-5", b"4294967296", b"1e9", b"x", b"", b"18446744073709551616", b"3"]


def damage(data, chance):
    place = chance.randrange(len(data))
    kind = chance.randrange(6)
    if kind == 0:
        return data[:place] + bytes([chance.randrange(256)]) + data[place + 1:]
    if kind == 1:
        return data[:place] + data[place + chance.choice([1, 2, 8, 40]):]
    if kind == 2:
        return data[:place] + chance.choice(INSERTED) + data[place:]
    if kind == 3:
        return data[:place]
    separator = b"\n" if kind == 4 else b" "
    parts = data.split(separator)
    at = chance.randrange(len(parts))
    parts[at] = parts[chance.randrange(len(parts))] if kind == 4 else chance.choice(VALUES)
    return separator.join(parts)


@pytest.mark.parametrize("damaged", INPUTS)
def test_a_damaged_file_is_never_a_crash_or_a_hang(tmp_path, damaged):
    chance = random.Random(damaged)
    for name, data in INPUTS.items():
        (tmp_path / name).write_bytes(data)
    for trial in range(40):
        data = INPUTS[damaged]
        for _ in range(chance.choice([1, 1, 2, 4])):
            data = damage(data, chance) or b"\n"
        (tmp_path / damaged).write_bytes(data)
        result = subprocess.run(
            [str(PROGRAM), "-q", "-w", "workload", "-n", "topology", "-c", "configuration", "-o", "out",
             "--system-configuration=system", "--background-flows=flows", "--set", "SIMULATOR_STOP_TIME=0.01"],
            cwd=tmp_path, capture_output=True, timeout=HANGS, check=False)
        said = [line for line in result.stderr.splitlines() if not line.startswith(b"warning: ")]
        assert result.returncode in (0, 1, 2), (trial, data, result.stderr)
        if result.returncode == 2:
            assert len(said) == 1 and b"; expected " in said[0], (trial, data, result.stderr)


def test_control_characters_of_a_file_are_shown_by_their_code(tmp_path):
    for name, data in INPUTS.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "topology").write_bytes(b"5 1 4\n4\n4 0 100\0Gbps 1us 0\n")
    result = subprocess.run([str(PROGRAM), "-w", "workload", "-n", "topology", "-o", "out"], cwd=tmp_path,
                            capture_output=True, text=True, timeout=HANGS, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("topology:3: ") and r"100\x00Gbps" in result.stderr


@pytest.mark.parametrize("marked", INPUTS)
def test_a_byte_order_mark_changes_nothing(tmp_path, marked):
    """Editors on Windows write it before the first character of a text."""
    results = []
    for mark in (b"", b"\xef\xbb\xbf"):
        for name, data in INPUTS.items():
            (tmp_path / name).write_bytes(mark + data if name == marked else data)
        result = subprocess.run(
            [str(PROGRAM), "-q", "-w", "workload", "-n", "topology", "-c", "configuration", "-o", "out",
             "--system-configuration=system", "--background-flows=flows"], cwd=tmp_path, capture_output=True,
            timeout=60, check=False)
        assert result.returncode == 0, result.stderr
        results.append((tmp_path / "out/EndToEnd.csv").read_bytes())
    assert results[0] == results[1]


def test_a_byte_order_mark_before_bus_bandwidths_changes_nothing(tmp_path):
    (tmp_path / "workload").write_bytes(INPUTS["workload"])
    results = []
    for mark in (b"", b"\xef\xbb\xbf"):
        (tmp_path / "busbw.yaml").write_bytes(mark + b"TP:\n  allreduce,: 300\n  allgather,: 280\n"
                                              b"  reducescatter,: 280\nDP:\n"
                                              b"  allreduce,: 30\nPP:\n  busbw: 24.5\n")
        result = subprocess.run([str(PROGRAM.with_name("SimAI_analytical")),
                                 *"-w workload -g 4 -g_p_s 2 -busbw busbw.yaml -r out-".split()],
                                cwd=tmp_path, capture_output=True, timeout=60, check=False)
        assert result.returncode == 0, result.stderr
        results.append([path.read_bytes() for path in sorted(tmp_path.glob("**/*EndToEnd.csv"))])
    assert results[0] and results[0] == results[1]


def test_no_chunk_is_go_back_n(tmp_path):
    for name, data in INPUTS.items():
        (tmp_path / name).write_bytes(data)
    results = []
    for chunk, back_to_zero in ((0, 0), (0, 1), (4000, 0)):
        result = subprocess.run(
            [str(PROGRAM), "-q", "-w", "workload", "-n", "topology", "-o", "out", "--seed", "3", "--set",
             f"L2_CHUNK_SIZE={chunk}", "--set", f"L2_BACK_TO_ZERO={back_to_zero}", "--set", "ERROR_RATE_PER_LINK=0.1"],
            cwd=tmp_path, capture_output=True, text=True, timeout=HANGS, check=False)
        assert result.returncode == 0, result.stderr
        results.append((tmp_path / "out" / "collectives.csv").read_text())
    assert results[0] == results[1] == results[2]


STAR = "5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1us 0\n" for host in range(4))
LAYER = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4 "
         "checkpoints: 0 "
         "checkpoint_initiates: 0\n1\n{} -1 1000 NONE 0 1 NONE 0 1 ALLREDUCE {} 1\n")
SIMULATE = ["SimAI_simulator", "-q", "-w", "w", "-n", "n", "--tp", "1", "-o", "out", "--network", "flow"]
# Of each reader: the program, its file, and a text whose token is damaged.
READERS = {
    "topology": (SIMULATE, "n", STAR.replace("100Gbps", "{}", 1)),
    "conf": ([*SIMULATE, "-c", "c"], "c", "RATE_AI {}Mb/s\n"),
    "conf's key": ([*SIMULATE, "-c", "c"], "c", "{} 1\n"),
    "topology's path": (["SimAI_simulator", "-q", "-w", "w", "-c", "c", "-o", "out"], "c", "TOPOLOGY_FILE {}\n"),
    "workload": (SIMULATE, "w", LAYER.format("layer", "{}")),
    "micro line": (SIMULATE, "w", "1 {} 1 DP\n"),
    "flows": (["qbb-flows", "-q", "-n", "n", "-c", "c", "-f", "f", "-o", "out"], "f", "1\n0 1 3 100 {} 0\n"),
    "system": ([*SIMULATE, "--system-configuration", "s"], "s", '{{"scheduling-policy": "{}"}}'),
    "system's key": ([*SIMULATE, "--system-configuration", "s"], "s", '{{"{}": }}'),
    "bus bandwidths": (["SimAI_analytical", "-q", "-w", "w", "-n", "n", "--tp", "1", "-busbw", "b", "-r_f", "out"], "b",
                       "TP:\n  allreduce,: {}\n"),
    "GPU table": ([*SIMULATE, "--gpu-table", "g"], "g", "{{mine: {{generation: {}}}}}\n"),
}
LONG = {"word": "x" * 1_000_000, "with blanks": "x y " * 250_000, "path": "x/" * 500_000}


def refuse(folder, reader, token):
    (folder / "w").write_text("1 ALLTOALL 1000 DP\n")
    (folder / "n").write_text(STAR)
    (folder / "c").write_text("CC_MODE 0\n")
    (program, *flags), name, text = READERS[reader]
    (folder / name).write_text(text.format(token))
    done = subprocess.run([PROGRAM.with_name(program), *flags], cwd=folder, capture_output=True, text=True,
                          timeout=HANGS, check=False)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
    assert done.returncode == 2 and len(lines) == 1, done.stderr[:2000]
    # A token has 80 characters; of words that nothing holds together, a message has 2,000.
    assert len(lines[0]) < (2100 if " " in token else 1000) and not any("x" * 81 in line
        for line in done.stderr.splitlines()), done.stderr[:2000]
    assert all(len(line) < 2100 and line.isprintable() for line in done.stderr.splitlines()), done.stderr[:2000]


@pytest.mark.parametrize("token", LONG)
@pytest.mark.parametrize("reader", READERS)
def test_a_damaged_token_is_short_in_a_message(tmp_path, reader, token):
    refuse(tmp_path, reader, LONG[token])


@pytest.mark.parametrize("reader", READERS)
def test_a_nul_is_no_part_of_a_token(tmp_path, reader):
    refuse(tmp_path, reader, "a\0b")


@pytest.mark.parametrize("words", [SIMULATE, ["SimAI_analytical", "-q", "-w", "w", "-n", "n", "-r_f", "out"]],
                         ids=lambda words: words[0])
def test_a_nul_in_the_name_of_a_layer_is_refused(tmp_path, words):
    """It would end the name in whatever reads the results."""
    (tmp_path / "n").write_text(STAR)
    (tmp_path / "w").write_text(LAYER.format("la\0yer", 1000))
    done = subprocess.run([PROGRAM.with_name(words[0]), *words[1:]], cwd=tmp_path, capture_output=True, text=True,
                          timeout=HANGS, check=False)
    assert done.returncode == 2 and done.stderr == 'w:3: "la\\x00yer" has a NUL character; expected text\n', done.stderr
