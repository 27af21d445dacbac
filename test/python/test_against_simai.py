# SPDX-License-Identifier: GPL-2.0-only
"""The comparison with SimAI's tutorial: its arithmetic, and that the page says what runs say."""
import os
import pathlib
import sys

import pytest
from script_process import run_script
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "lab")]
from clustersim_lab.comparisons import against_simai  # noqa: E402


def test_the_bus_bandwidth_is_that_of_the_slowest_group(tmp_path):
    # 2 x 7/8 GiB in 0.5 and in 1 second: 3.5 and 1.75 GiB/s.
    (tmp_path / "collectives.csv").write_text(f"bytes,start_ns,end_ns\n{1 << 30},0,5e8\n{1 << 30},1e9,2e9\n")
    assert against_simai.busbw_of(tmp_path / "collectives.csv", 8) == pytest.approx(1.75)


def test_the_page_has_what_runs_say(tmp_path):
    result = run_script([ROOT / "lab/against_simai.py", "-o", tmp_path], timeout=HANGS)
    assert result.returncode == 0, result.stderr
    rows = [line.split() for line in result.stdout.splitlines()]
    assert len(rows) == len(against_simai.CASES) * len(against_simai.SIZES_MIB)
    text = against_simai.PAGE.read_text()
    documented = [line.strip()[2:] for line in text.splitlines() if line.startswith("     - ")]
    ours = [float(documented[i]) for i in range(6, len(documented),
                                                4)]  # after the header: size, theirs, ours, difference
    assert ours == pytest.approx([float(row[-3]) for row in rows], rel=0.02), "run lab/against_simai.py --update"


def test_a_program_that_is_not_there_is_one_line_and_status_2(tmp_path):
    result = run_script([ROOT / "lab/against_simai.py", "-o", tmp_path], timeout=HANGS,
                        env={**os.environ, "PROGRAM_DIR": str(tmp_path)})
    assert result.returncode == 2 and result.stderr.count("\n") == 1
