# SPDX-License-Identifier: GPL-2.0-only
"""lab/against_hpcc.py, with a program that writes the HPCC simulator's files in its place."""
import csv
import pathlib

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
# It reads what the HPCC simulator reads, relative to where it runs, and its flows take 7 ns a byte. It has one pause.
STAND_IN = """#!/usr/bin/env python3
import sys
assert len(sys.argv) == 2
conf = dict(line.split(None, 1) for line in open(sys.argv[1]) if line.split()[1:])
conf = {key: value.strip() for key, value in conf.items()}
nodes, switches, links = map(int, open(conf["TOPOLOGY_FILE"]).readline().split())
flows = [line.split() for line in open(conf["FLOW_FILE"]).read().splitlines()[1:]]
address = lambda i: 0x0b000001 + (i // 256 << 16) + (i % 256 << 8)
with open(conf["FCT_OUTPUT_FILE"], "w") as fct:
    for source, destination, _, port, size, start in reversed(flows):
        if size != "LEFT_OUT":
            print(f"{address(int(source)):08x} {address(int(destination)):08x} 10000 {port} {size} "
                  f"{round(float(start) * 1e9)} {7 * int(size)} {int(size)}", file=fct)
print("2000000100 4 1 1 1\\n2000000200 4 1 1 0", file=open(conf["PFC_OUTPUT_FILE"], "w"))
"""
TOPOLOGY = "5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1us 0\n" for host in range(4))
FLOWS = "3\n0 3 3 100 5000 2\n1 3 3 100 200000 2.001\n0 3 3 100 5000 2.002\n"
CONF = """TOPOLOGY_FILE mix/topology.txt
FLOW_FILE mix/flow.txt
FCT_OUTPUT_FILE mix/fct.txt
PFC_OUTPUT_FILE mix/pfc.txt
CC_MODE 0
"""


@pytest.fixture
def conf(tmp_path):
    (tmp_path / "mix").mkdir()
    (tmp_path / "mix/topology.txt").write_text(TOPOLOGY)
    (tmp_path / "mix/flow.txt").write_text(FLOWS)
    (tmp_path / "mix/config.txt").write_text(CONF)
    write_simulator(tmp_path)
    return tmp_path / "mix/config.txt"


def write_simulator(folder, text=STAND_IN):
    (folder / "third").write_text(text)
    (folder / "third").chmod(0o755)


def compare(conf, *flags):
    folder = conf.parents[1]
    return run_script([ROOT / "lab/against_hpcc.py", "--simulator", folder / "third", conf, "-o", folder / "out",
                       *flags],
                      cwd="/")


def test_flows_are_compared_one_by_one(conf):
    result = compare(conf)
    assert result.returncode == 0, result.stderr
    with open(conf.parents[1] / "out/flows.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    # 1,000-byte payloads in frames of 1,082 bytes at 12.5 bytes per ns, over two links of 1 us; the ACK of 84 bytes
    # comes back.
    frame, ack = 1082 * 8 / 100, 84 * 8 / 100
    expected = [(source, size, 7 * size, round((size / 1000 + 1) * frame + 2 * ack + 4000))
                for source, size in ((0, 5000), (1, 200_000), (0, 5000))]
    assert [(int(row["src"]), int(row["bytes"]), int(row["theirs_ns"]), int(row["ours_ns"]))
            for row in rows] == expected
    assert [float(row["ratio"]) for row in rows] == pytest.approx([ours / theirs for _, _, theirs, ours in expected],
        abs=1e-6)
    table = {" ".join(line.split()[:-9][:-1]): line.split()[-10:] for line in result.stdout.splitlines()[2:5]}
    assert table["up to 10 KB"] == ["2", *["35.0", f"{expected[0][3] / 1000:.1f}"] * 3,
                                    *[f"{expected[0][3] / 35000:.3f}"] * 3]
    assert table["100 KB to 1 MB"][0] == "1" and table["all"][0] == "3"
    assert "pauses: 1 there, 0 here" in result.stdout


def test_both_programs_get_the_same_keys(conf):
    assert compare(conf).returncode == 0
    theirs, ours = ((conf.parents[1] / f"out/{name}/config.txt").read_text().replace(f"/{name}/", "/")
                    for name in ("theirs", "ours"))
    assert theirs == ours and "CC_MODE 0\n" in theirs and f"FLOW_FILE {conf.parent}/flow.txt\n" in theirs


def test_keys_may_be_set_here_alone(conf):
    assert compare(conf, "--set", "PACKET_PAYLOAD_SIZE=5000").returncode == 0
    with open(conf.parents[1] / "out/flows.csv", encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    assert int(first["ours_ns"]) == round(2 * 5082 * 8 / 100 + 2 * 84 * 8 / 100 + 4000), "one frame"


def test_flows_that_only_one_program_ends_are_told(conf):
    write_simulator(conf.parents[1], STAND_IN.replace("LEFT_OUT", "200000"))
    result = compare(conf)
    assert result.returncode == 1 and "0 flows ended only there, 1 only here" in result.stderr


@pytest.mark.parametrize("change, expected", [
    (lambda folder: (folder / "mix/flow.txt").unlink(), "config.txt:2: FLOW_FILE mix/flow.txt is not there"),
    (lambda folder: (folder / "mix/config.txt").unlink(), "config.txt: No such file or directory"),
    (lambda folder: (folder / "third").unlink(), "third: No such file or directory; expected a program"),
    (lambda folder: write_simulator(folder, "#!/bin/sh\nexit 3\n"), "third: ended with status 3 and no fct.txt"),
    (lambda folder: write_simulator(folder, "#!/bin/sh\necho 1 2 > fct.txt\n"), "fct.txt:1: is no flow"),
])
def test_mistakes_end_with_one_line_and_status_2(conf, change, expected):
    change(conf.parents[1])
    result = compare(conf)
    assert result.returncode == 2 and len(result.stderr.splitlines()) == 1 and expected in result.stderr, result.stderr
