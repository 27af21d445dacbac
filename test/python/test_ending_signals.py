# SPDX-License-Identifier: GPL-2.0-only
"""One wish to end that comes as several signals: timeout(1) signals a program and then its group."""
import json
import os
import pathlib
import subprocess
import time

import pytest
from waiting import HANGS, wait_until

PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])
pytestmark = pytest.mark.real_time
STAR = "5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1us 0\n" for host in range(4))
ENDLESS = {
    "packets": "SimAI_simulator -q -w w -n n -c c --tp 1 -o out --passes 100000000",
    "flows": "SimAI_simulator -q -w w -n n -c c --tp 1 -o out --passes 100000000 --network flow",
    "formulas": "SimAI_simulator -q -w w -n n -c c --tp 1 -o out --passes 100000000 --network analytical",
    "reuse": "SimAI_simulator -q -w w -n n -c c --tp 1 -o out --passes 100000000 --fast-forward -t 2",
    "iterations": "SimAI_simulator -q -w long -n n -c c --tp 1 -o out --passes 3 --separate-passes",
    "busbw": "SimAI_analytical -q -w w -n n --tp 1 -r_f out --passes 100000000",
    "qbb-flows": "qbb-flows -q -c c -n n -f f -o out",
    "collective-perf": "collective-perf all_reduce_perf -b 8 -e 64G -f 8 --network-topo n --output out",
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "w").write_text("1 ALLTOALL 100000 DP\n")
    (tmp_path / "long").write_text("1 ALLTOALL 100000000000 DP\n")
    (tmp_path / "n").write_text(STAR)
    (tmp_path / "c").write_text("CC_MODE 0\nPACKET_PAYLOAD_SIZE 1000\n")
    (tmp_path / "f").write_text("1\n0 1 3 100 100000000000 0\n")
    return tmp_path


def status(path):
    return json.loads(path.read_text())["status"] if path.exists() else ""


def end_by_timeout(process):
    """A signal to timeout is passed on as its own when the time is over: to the program, then to the group."""
    process.terminate()


def end_by_many(process):
    """mpirun, Slurm and shells pass signals on, too."""
    for _ in range(50):
        process.terminate()
        time.sleep(0.01)


@pytest.mark.parametrize("end, by", [(end_by_timeout, ["timeout", "--preserve-status", str(HANGS)]), (end_by_many, [])],
                         ids=["timeout", "many"])
@pytest.mark.parametrize("kind", ENDLESS)
def test_a_program_that_gets_one_wish_as_several_signals_is_interrupted_with_its_results(folder, kind, end, by):
    program, *words = ENDLESS[kind].split()
    record = folder / ("out/pass-0/run.json" if kind == "iterations" else "out/run.json")
    with subprocess.Popen([*by, PROGRAMS / program, *words], cwd=folder, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: status(record) == "running" or process.poll() is not None)
        end(process)
        _, said = process.communicate(timeout=HANGS)
    assert status(record) == "interrupted", said
    assert "ended at once" not in said and "SIGTERM" in said
    assert process.returncode == 143, said
    assert not list(folder.rglob("*.part")), "results so far have their names"
    if kind in ("packets", "flows", "formulas", "reuse"):
        rows = (folder / "out/collectives.csv").read_text()
        assert rows.endswith("\n") and rows.count("\n") == json.loads(record.read_text())["collectives"] + 1
