# SPDX-License-Identifier: GPL-2.0-only
"""gen_Topo_Template.py --check: a good file passes; each way to break it is named with its line."""
import pathlib

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "topologies/gen_Topo_Template.py"

# Two servers of two GPUs (0-3), NVSwitches 4 and 5, access switches 6 and 7, aggregation switch 8.
GOOD = """9 2 2 3 10 H100
4 5 6 7 8
0 4 2880Gbps 0.000025ms 0
0 6 400Gbps 0.0005ms 0
1 4 2880Gbps 0.000025ms 0
1 7 400Gbps 0.0005ms 0
2 5 2880Gbps 0.000025ms 0
2 6 400Gbps 0.0005ms 0
3 5 2880Gbps 0.000025ms 0
3 7 400Gbps 0.0005ms 0
6 8 400Gbps 0.0005ms 0
7 8 400Gbps 0.0005ms 0
"""


def check(directory, text):
    (directory / "topology").write_text(text)
    return run_script([GENERATOR, "--check", "topology"], cwd=directory)


@pytest.mark.parametrize("text", [
    GOOD,
    "# made by hand\n\n" + GOOD,
    GOOD.replace("4 5 6 7 8\n", "4 5\n6 7 8 # three more\n"),
    GOOD.replace("10 H100", "11 H100") + "6 8 400Gbps 500ns 0\n",
    "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0.5\nsrc dst rate delay error_rate\n",
    "2 2 0 0 1 H100\n\n0 1 100Gbps 1us 0\n",
    "2 2 0 0 1 H100\n\n0 1 1.e11bps .5us 1e-9\n",
    "4 2 2 3\n2 3\n0 2 25000000000.0 1us 0\n1 3 25Gbps 1us 0\n2 3 1e11 2us 0\n",
    "4 2 2 3 25000000000 100000000000\n2 3\n0 2 25000000000 1us 0\n1 3 25Gbps 1us 0\n2 3 1e11 2us 0\n",
], ids=["good", "comments", "ids in two lines", "a bundle between switches", "notes after HPCC's links",
        "no switch", "numbers", "ns3-datacenter", "Reverie"])
def test_files_without_a_mistake_pass(tmp_path, text):
    result = check(tmp_path, text)
    assert (result.returncode, result.stderr) == (0, "")
    assert "no mistake" in result.stdout


def test_rails_that_meet_only_in_nvlink_are_said_to(tmp_path):
    result = check(tmp_path, GOOD.replace("7 8 400Gbps", "6 8 400Gbps"))
    assert (result.returncode, result.stderr) == (0, "")
    assert (
        "GPU 0 and GPU 3 meet only in another GPU's NVLink (rail-only): no message passes between them but those of an"
        " AllToAll, by PXN"
        in result.stdout
    )


@pytest.mark.parametrize("old, new, message", [
    (GOOD, "", "topology:1: the file is empty"),
    ("9 2 2 3 10 H100", "9 2 2 3 10", "topology:1: the first line has 5 fields"),
    ("9 2 2 3 10 H100", "nine 2 2 3 10 H100", "topology:1: <nodes> is 'nine'"),
    ("9 2 2 3 10 H100", "9 0 2 3 10 H100", "topology:1: <gpus_per_server> is 0"),
    ("9 2 2 3 10 H100", "5 2 2 3 10 H100", "leave no GPU"),
    ("9 2 2 3 10 H100", "9 3 2 3 10 H100", "4 GPUs do not fill servers of 3"),
    ("9 2 2 3 10 H100", "10 2 3 3 10 H100", "3 NVSwitches for 2 servers"),
    ("9 2 2 3 10 H100", "9 2 2 3 11 H100", "the file ends after 10 links; expected 11"),
    ("9 2 2 3 10 H100", "9 2 2 3 9 H100", "topology:12: more links than the 9"),
    ("9 2 2 3 10 H100", "9 2 2 3 -1 H100", "topology:1: <links> is '-1'"),
    ("4 5 6 7 8", "4 5 6 7 8 3", "topology:2: 6 switch ids; expected 5"),
    ("4 5 6 7 8", "4 5 6 7 9", "topology:2: switch id 9 is out of range; expected 0 to 8"),
    ("4 5 6 7 8", "4 5 6 7 7", "topology:2: switch id 7 occurs twice"),
    ("4 5 6 7 8", "4 5 6 7 3", "GPU ids are not 0 to 3"),
    (GOOD, "9 2 2 3 10 H100\n4 5 6\n", "the file ends after 3 switch ids; expected 5"),
    ("0 6 400Gbps 0.0005ms 0", "0 6 400Gbps 0.0005ms", "topology:4: 4 fields"),
    ("0 6 400Gbps", "0 9 400Gbps", "topology:4: node 9 is out of range; expected 0 to 8"),
    ("0 6 400Gbps", "0 x 400Gbps", "topology:4: <dst> is 'x'"),
    ("0 6 400Gbps", "0 0 400Gbps", "topology:4: node 0 is linked to itself"),
    ("0 6 400Gbps", "0 6 400", "topology:4: '400' is not a rate"),
    ("0 6 400Gbps", "0 6 0Gbps", "topology:4: the rate 0Gbps is not positive"),
    ("0 6 400Gbps 0.0005ms", "0 6 400Gbps soon", "topology:4: 'soon' is not a time"),
    ("0 6 400Gbps 0.0005ms", "0 6 400Gbps -1us", "topology:4: '-1us' is not a time"),
    ("0 6 400Gbps 0.0005ms 0", "0 6 400Gbps 0.0005ms 1.5", "the error rate '1.5' is not a probability"),
    ("0 6 400Gbps 0.0005ms 0", "0 6 400Gbps 0.0005ms nan", "the error rate 'nan' is not a probability"),
    ("0 6 400Gbps", "0 6 1e400Gbps", "topology:4: '1e400Gbps' is not a rate"),
    ("0 6 400Gbps", "0 6 0.1bps", "topology:4: the rate 0.1bps is not positive"),
    ("0 6 400Gbps 0.0005ms", "0 6 400Gbps 1y", "topology:4: '1y' is not a time"),
    ("0 6 400Gbps 0.0005ms", "0 6 400Gbps +5us", "topology:4: '+5us' is not a time"),
    ("0 6 400Gbps 0.0005ms 0", "0 6 400Gbps 0.0005ms 0_1", "the error rate '0_1' is not a probability"),
    ("9 2 2 3 10 H100", "9 2 2 3 10 h100", "topology:1: 'h100' is not a known GPU type; expected one of"),
    ("1 7 400Gbps", "4 0 400Gbps", "topology:6: nodes 4 and 0 are already linked in line 3"),
    ("2 5 2880Gbps", "2 4 2880Gbps", "NVSwitch 4 is linked to GPUs of servers 0 and 1"),
    ("7 8 400Gbps", "5 8 400Gbps", "NVSwitch 5 is linked to switch 8"),
    (GOOD, "4 2 2\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n", "GPU 0 cannot reach GPU 1 over switches"),
])
def test_a_broken_file_is_refused_with_one_line(tmp_path, old, new, message):
    assert old in GOOD
    result = check(tmp_path, GOOD.replace(old, new))
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert "expected" in result.stderr


def test_a_missing_file_is_named(tmp_path):
    result = run_script([GENERATOR, "--check", tmp_path / "none"])
    assert result.returncode == 2 and "none: No such file" in result.stderr
