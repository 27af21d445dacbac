# SPDX-License-Identifier: GPL-2.0-only
"""test/summary.py, the last lines of scripts/test.sh; and that tests make their own inputs."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest
from script_process import run_script
from waiting import wait_until

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


def summary_of(folder):
    result = run_script([TESTS / "summary.py", folder])
    return result.returncode, result.stdout.splitlines()


def progress(*events):
    return "".join(json.dumps(event) + "\n" for event in events)


STOPPED = progress(["t.py::a", "begun", ""], ["t.py::b", "begun", ""], ["t.py::a", "passed", ""],
                   ["t.py::c", "begun", ""],
                   ["t.py::c", "skipped", "Skipped: no tshark"], ["t.py::d", "begun", ""],
                   ["t.py::d", "failed", "assert 1 == 2\n + where"])
COUNTED = ["failed: t.py::b: was running when it was stopped", "failed: t.py::d: assert 1 == 2",
           "skipped 1: Skipped: no tshark (t.py::c)"]


def test_of_an_entry_that_ctest_stopped_the_tests_are_counted_and_those_that_ran_are_named(tmp_path):
    (tmp_path / "ctest.xml").write_text(
        '<testsuite name="x"><testcase name="python" status="fail"><failure message="Timeout"/></testcase>'
        '<testcase name="wire" status="fail"><failure message="SEGFAULT"/><system-out>[ RUN      ] Pcap.IsRead\n'
        '[       OK ] Pcap.IsRead (3 ms)\n'
        '[ RUN      ] Sizes/Pcap.IsDissected/2\n</system-out></testcase>'
        '<testcase name="input" status="fail"><failure message="Timeout"/></testcase></testsuite>')
    (tmp_path / "python.progress").write_text(STOPPED + '["t.py::')  # stopped within a line
    (tmp_path / "python.xml").write_text("<testsuites><testsu")
    assert summary_of(tmp_path) == (1, [*COUNTED[:2],
                                        "failed: Sizes/Pcap.IsDissected/2: was running when it was stopped",
                                        "failed: input: Timeout",
                                        COUNTED[2], "2 passed, 4 failed, 1 skipped"])


def test_where_ctest_itself_was_stopped_the_count_says_so(tmp_path):
    (tmp_path / "python.progress").write_text(STOPPED)
    (tmp_path / "wire.xml").write_text(WIRE)
    status, lines = summary_of(tmp_path)
    assert (
        status == 1
        and lines[:2] == COUNTED[:2]
        and lines[-1] == "2 passed, 2 failed, 2 skipped; ctest was stopped before its end"
    )


def own_suite(tmp_path, text):
    """@return the command that runs a test file with our conftest, as ctest does"""
    for name in ("conftest.py", "others_files.py"):
        (tmp_path / name).write_text((TESTS / "python" / name).read_text())
    (tmp_path / "test_own.py").write_text(text)
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={tmp_path}/results/python.xml",
            "test_own.py"]


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "xdist"])
def test_pytest_says_what_it_has_done_before_it_is_killed(tmp_path, workers):
    command = own_suite(tmp_path, "import time\ndef test_quick(): pass\ndef test_endless(): time.sleep(3600)\n")
    with subprocess.Popen([*command, *workers], cwd=tmp_path, stdout=subprocess.DEVNULL,
                          start_new_session=True) as process:
        told = tmp_path / "results/python.progress"
        wait_until(lambda: told.exists() and "test_endless" in told.read_text(), "the second test")
        os.killpg(process.pid, signal.SIGKILL)  # of a session of its own, with its workers
    status, lines = summary_of(tmp_path / "results")
    assert status == 1 and lines == ["failed: test_own.py::test_endless: was running when it was stopped",
                                     "1 passed, 1 failed, 0 skipped; ctest was stopped before its end"]


def test_a_test_that_hangs_is_named_and_the_others_are_run(tmp_path):
    command = own_suite(tmp_path, "import time\ndef test_endless(): time.sleep(3600)\ndef test_quick(): pass\n")
    subprocess.run([*command, "-o", "timeout=1"], cwd=tmp_path, stdout=subprocess.DEVNULL, check=False)
    status, lines = summary_of(tmp_path / "results")
    assert status == 1 and re.fullmatch("failed: test_own.test_endless: Failed: Timeout >1.0s", lines[0]), lines
    assert lines[1] == "1 passed, 1 failed, 0 skipped; ctest was stopped before its end"


def test_other_people_s_files_are_named_in_one_place():
    """A test that looks for them by itself fails, or is skipped for no reason that anybody reads, on another
    machine."""
    for path in [*TESTS.glob("python/*.py"), *TESTS.glob("*/*.cc"), *TESTS.glob("*/*.h")]:
        if path.name not in ("others_files.py", "others-files.h", "conftest.py", pathlib.Path(__file__).name):
            assert not re.search(r"shared/data|SHARED_DATA", path.read_text()), path
