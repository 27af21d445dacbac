# SPDX-License-Identifier: GPL-2.0-only
"""GOAL schedules as workloads of the program: the binary form is the text."""
import os
import pathlib
import struct
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
STAR = "3 1 0 1 2 A100\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n"
TEXT = "num_ranks 2\nrank 0 {\nsend 100000b to 1\n}\nrank 1 {\nrecv 100000b from 0\n}\n"
COOKIE, SEND, RECEIVE = 4223, 1, 2


def part(kind, peer, size):
    """@return the binary program of a rank with one operation, which nothing precedes"""
    operation = struct.pack("<IBIQIBB", 0, kind, peer, size, 0, 0, 0) + struct.pack("<4I", 0, 0, 0, 0)
    return struct.pack("<3I", 1, 1, 0) + operation


def binary():
    """@return TEXT as txt2bin writes it"""
    parts = [part(SEND, 1, 100_000), part(RECEIVE, 0, 100_000)]
    table = struct.calcsize("<IBB") + len(parts) * struct.calcsize("<QQ")
    ends = [table + sum(map(len, parts[:count])) for count in range(len(parts) + 1)]
    places = b"".join(struct.pack("<QQ", *place) for place in zip(ends, ends[1:]))
    return struct.pack("<QIBB", COOKIE, len(parts), 0, 0) + places + b"".join(parts)


@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
def test_the_binary_form_runs_as_the_text_does(tmp_path, network):
    (tmp_path / "star").write_text(STAR)
    times = []
    for name, schedule in (("text", TEXT.encode()), ("binary", binary())):
        (tmp_path / name).mkdir()
        (tmp_path / name / "w").write_bytes(schedule)
        subprocess.run([PROGRAM, "-w", f"{name}/w", "-n", "star", "--network", network, "-q", "-o", name],
                       cwd=tmp_path, check=True, capture_output=True)
        times.append((tmp_path / name / "EndToEnd.csv").read_text())
    assert times[0] == times[1]
