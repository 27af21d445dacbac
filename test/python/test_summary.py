# SPDX-License-Identifier: GPL-2.0-only
"""test/summary.py, the last lines of scripts/test.sh; and that tests make their own inputs."""
import pathlib
import re

import pytest
from script_process import run_script

TESTS = pathlib.Path(__file__).resolve().parents[1]
CTEST = ('<testsuite name="x"><testcase name="wire" status="{wire}">{failure}</testcase>'
         '<testcase name="ns3-fabric" status="run"/><testcase name="python" status="run"/></testsuite>')
WIRE = """<testsuites><testsuite name="Pcap">
<testcase name="IsRead" classname="Pcap"/>
<testcase name="IsDissected" classname="Pcap"><skipped message="pcap-test.cc:32&#x0A;tshark is not installed&#x0A;"/></testcase>
</testsuite></testsuites>"""
PYTHON = """<testsuites><testsuite><testcase classname="test_a" name="test_one"/>
<testcase classname="test_a" name="test_two"><skipped type="pytest.skip" message="tshark is not installed"/></testcase>
<testcase classname="test_a" name="test_three">{failure}</testcase></testsuite></testsuites>"""


@pytest.mark.parametrize("wire, python, status, last", [
    ("run", "", 0, "4 passed, 0 failed, 2 skipped"),
    ("run", "<failure/>", 1, "3 passed, 1 failed, 2 skipped"),
    ("run", "<error/>", 1, "3 passed, 1 failed, 2 skipped"),
    ("fail", "", 1, "4 passed, 1 failed, 2 skipped")])  # all its tests passed, and then it crashed
def test_the_single_tests_of_all_entries_are_counted(tmp_path, wire, python, status, last):
    (tmp_path / "ctest.xml").write_text(CTEST.format(wire=wire, failure="<failure/>" if wire == "fail" else ""))
    (tmp_path / "wire.xml").write_text(WIRE)
    (tmp_path / "python.xml").write_text(PYTHON.format(failure=python))
    result = run_script([TESTS / "summary.py", tmp_path])
    assert result.returncode == status
    assert result.stdout.splitlines()[-2:] == [
        "skipped 2: tshark is not installed (Pcap.IsDissected, test_a.test_two)", last]


def test_an_entry_that_wrote_no_file_of_its_own_is_a_test(tmp_path):
    (tmp_path / "ctest.xml").write_text(CTEST.format(wire="notrun", failure=""))
    result = run_script([TESTS / "summary.py", tmp_path])
    assert result.stdout.splitlines() == ["skipped 1: no reason given (wire)", "2 passed, 0 failed, 1 skipped"]


def test_other_people_s_files_are_named_in_one_place():
    """A test that looks for them by itself fails, or is skipped for no reason that anybody reads, on another machine."""
    for path in [*TESTS.glob("python/*.py"), *TESTS.glob("*/*.cc"), *TESTS.glob("*/*.h")]:
        if path.name not in ("others_files.py", "others-files.h", "conftest.py", pathlib.Path(__file__).name):
            assert not re.search(r"shared/data|SHARED_DATA", path.read_text()), path
