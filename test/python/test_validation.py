# SPDX-License-Identifier: GPL-2.0-only
"""The validation page: its numbers are those of this build, and the tests that it names exist."""
import csv
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin"))
PAGE = (ROOT / "docs/source/validation.rst").read_text()


def rows(path):
    with path.open(newline="") as file:
        return {row["case"]: row for row in csv.DictReader(file)}


def test_simulated_times_are_those_worked_out_by_hand_and_those_of_the_page(tmp_path):
    result = subprocess.run([ROOT / "lab/validate.py", "--programs", PROGRAMS, "-o", tmp_path / "out",
                             "--csv", tmp_path / "table.csv"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    ours, page = rows(tmp_path / "table.csv"), rows(ROOT / "docs/source/data/validation.csv")
    assert ours.keys() == page.keys()
    for name, row in ours.items():
        for column in ("by hand us", "packet us", "flow us", "analytical us"):
            if row[column]:
                # Run lab/validate.py --csv docs/source/data/validation.csv when a model changes.
                assert float(row[column]) == pytest.approx(float(page[name][column]), rel=0.01), (name, column)


def test_an_error_beyond_its_bound_is_told(tmp_path):
    slow = tmp_path / "bin"
    slow.mkdir()
    for program in ("qbb-flows", "SimAI_simulator"):
        # As if every link had another overhead.
        (slow / program).write_text(f'#!/bin/sh\nexec {PROGRAMS / program} "$@" --ns3::RdmaHw::DataOverhead=200\n')
        (slow / program).chmod(0o755)
    result = subprocess.run([ROOT / "lab/validate.py", "--programs", slow, "-o", tmp_path / "out"],
                            capture_output=True, text=True)
    assert result.returncode == 1 and "an error is beyond its bound" in result.stderr


def test_programs_that_are_not_built_are_named(tmp_path):
    result = subprocess.run([ROOT / "lab/validate.py", "--programs", tmp_path], capture_output=True, text=True)
    assert (
        result.returncode == 2
        and "qbb-flows: no such program; expected the program that scripts/build.sh -c all builds" in result.stderr
    )


def test_every_test_that_the_page_names_exists():
    sources = "".join(path.read_text() for path in ROOT.glob("test/*/*.cc"))
    known = {f"{suite}.{name}" for suite, name in re.findall(r"TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", sources)}
    named = re.findall(r"``([A-Z]\w+\.[A-Z]\w+)``", PAGE)
    assert len(named) > 20
    for name in named:
        assert name in known, name
    suites = "".join(path.read_text() for path in ROOT.glob("contrib/*/test/*.cc"))
    for suite in re.findall(r"``(rdma-qbb-[\w-]+)``", PAGE):
        assert f'"{suite}"' in suites, suite
