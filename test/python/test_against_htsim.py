# SPDX-License-Identifier: GPL-2.0-only
"""lab/against_htsim.py: our times beside htsim's recorded ones, and its recording with a program in htsim's place."""
import csv
import dataclasses
import os
import pathlib
import sys

import pytest
from script_process import run_script
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "lab")]
from clustersim_lab.htsim import against_htsim, cases, runs  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin")) / "qbb-flows"
ONE_FLOW = next(case for case in cases.CASES if case.name == "RoCE, fat tree, one flow")
# Each flow ends after 1 us for each of its 10,000 bytes and for its seed.
STAND_IN = """#!/usr/bin/env python3
import sys
assert sys.argv[sys.argv.index("-topo") + 1] == "tree.topo" and open("tree.topo").readline() == "Nodes 128\\n"
seed = int(sys.argv[sys.argv.index("-seed") + 1])
for line in open("flows.cm"):
    if "->" in line:
        print(f"Flow Roce_1_2 7 finished at {int(line.split()[6]) / 10_000 + seed} total bytes 1")
"""


def compare(folder, *flags):
    return run_script([ROOT / "lab/against_htsim.py", "-o", folder / "out", *flags], timeout=HANGS)


def recorded(folder, program=STAND_IN, *flags):
    (folder / "htsim_roce").write_text(program)
    (folder / "htsim_roce").chmod(0o755)
    return compare(folder, "--htsim", folder, "--commit", "abc", "--facts", folder / "facts.csv", *flags)


def test_matrices_have_the_flows_that_their_names_say():
    assert cases.MATRICES["incast of 127"].count("->127 ") == 127
    assert cases.MATRICES["AllToAll of 16"].count("->") == 16 * 15
    pairs = [line.split()[0].split("->") for line in cases.permutation().splitlines()[2:]]
    assert {src for src, _ in pairs} == {dst for _, dst in pairs} == {str(host) for host in range(cases.HOSTS)}
    assert all(src != dst for src, dst in pairs)


def test_one_flow_takes_its_closed_form(tmp_path):
    """500 frames of 4,064 bytes over six links of 100 Gb/s and 1 us, and the last acknowledgement of 64 bytes back."""
    runs.written(ONE_FLOW, tmp_path)
    [end_us], _ = runs.ours(ONE_FLOW, 1, PROGRAM, tmp_path)
    assert end_us == pytest.approx((505 * 4064 + 6 * 64) * 8 / 100e3 + 12, abs=0.001)


def test_where_both_model_the_same_the_last_flow_ends_within_5_percent():
    facts = against_htsim.read_facts(against_htsim.FACTS)
    assert {case.name for case in cases.CASES} == set(facts)
    table = {line[2]: line for line in documented()}
    for case in cases.CASES:
        theirs, ours, difference = table[case.name][-5:-2]
        assert float(theirs) == pytest.approx(facts[case.name].ends.last_us, abs=0.06)
        if cases.SETTINGS[case.setting].same_model and dataclasses.astuple(case)[:3] not in cases.LATE_IN_HTSIM:
            assert abs(float(difference.split()[0])) <= 5, case.name


def documented():
    """@return the page's rows: cells, and the name of the case instead of the third"""
    setting, cells, rows = "", [], []
    lines = against_htsim.PAGE.read_text().splitlines()
    for line, after in zip(lines, lines[1:] + [""]):
        if line in cases.SETTINGS and after == "-" * len(line):
            setting = line
        elif line.startswith(("   * - ", "     - ")):
            cells = ([] if line[3] == "*" else cells) + [line[7:]]
            if len(cells) == len(against_htsim.HEADER) and cells[0] != against_htsim.HEADER[0]:
                rows.append([cells[0], cells[1], f"{setting}, {cells[0]}", *cells[2:]])
    return rows


@pytest.mark.parametrize("protocol", ["RoCE,", "UEC, NSCC,"])
def test_the_page_has_what_runs_say(tmp_path, protocol):
    result = compare(tmp_path, "--only", protocol)
    assert result.returncode == 0, result.stderr
    table = {line[2]: line for line in documented()}
    names = [case.name for case in cases.CASES if case.name.startswith(protocol)]
    found = [line for line in result.stdout.splitlines() if line.startswith(protocol)]
    assert len(found) == len(names)
    for name, line in zip(names, found):
        assert float(line.split()[-5]) == pytest.approx(float(table[name][-4]), rel=0.001), "run --update"


def test_times_of_htsim_are_recorded_with_their_command(tmp_path):
    result = recorded(tmp_path, STAND_IN, "--only", "RoCE, fat tree, permutation")
    assert result.returncode == 0, result.stderr
    with open(tmp_path / "facts.csv", encoding="utf-8") as file:
        [row] = csv.DictReader(file)
    assert float(row["last_us"]) == float(row["median_us"]) == 200 + 20.5  # the mean of 40 seeds
    assert row["flows"] == "128" and row["commit"] == "abc" and "htsim_roce -topo tree.topo" in row["command"]
    assert "-seed 1..40" in row["command"]


@pytest.mark.parametrize("program, words", [
    ("#!/bin/sh\necho Flow a finished at 3\n", "htsim_roce: 1 flows of 8 ended in RoCE, one spine, incast of 8"),
    ("no program", "htsim_roce: Exec format error; expected a program"),
])
def test_a_program_that_fails_is_one_line_and_status_2(tmp_path, program, words):
    result = recorded(tmp_path, program, "--only", "RoCE, one spine, incast of 8")
    assert result.returncode == 2 and words in result.stderr and result.stderr.count("\n") == 1
    assert compare(tmp_path, "--only", "nothing").returncode == 2
