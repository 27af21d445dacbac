# SPDX-License-Identifier: GPL-2.0-only
"""--separate-passes and --resume: a run that was ended goes on, and leaves what it would have left anyway."""
import json
import os
import pathlib
import signal
import subprocess

import pytest
from waiting import HANGS, wait_until

PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
pytestmark = pytest.mark.real_time
STAR = "5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1us 0\n" for host in range(4))
# Losses are drawn at random, so iterations differ.
CONF = "CC_MODE 0\nERROR_RATE_PER_LINK 0.0005\nRTO 100\nPACKET_PAYLOAD_SIZE 1000\n"


def simulate(directory, *flags, timeout=HANGS):
    return subprocess.run([PROGRAM, *flags], cwd=directory, capture_output=True, text=True, timeout=timeout)


@pytest.fixture
def inputs(tmp_path):
    (tmp_path / "w").write_text("1 ALLTOALL 4000000 DP\n")
    (tmp_path / "n").write_text(STAR)
    (tmp_path / "c").write_text(CONF)
    return tmp_path


RUN = ("-w", "w", "-n", "n", "-c", "c", "--tp", "1", "--passes", "4", "--separate-passes")


def results(directory):
    """@return all results by path; of run.json what does not depend on when and how long"""
    found = {}
    for path in sorted(directory.rglob("*")):
        if path.name == "run.json":
            record = json.loads(path.read_text())
            found[str(path.relative_to(directory))] = {key: record[key] for key in
                                                       ("status", "simulated_ns", "packets", "drops", "arguments",
                                                        "inputs")}
        elif path.is_file() and path.name != "passes.json":
            found[str(path.relative_to(directory))] = path.read_bytes()
    return found


@pytest.fixture
def whole(inputs):
    result = simulate(inputs, *RUN, "-o", "whole")
    assert result.returncode == 0, result.stderr
    return results(inputs / "whole")


def test_iterations_are_runs_of_their_own(inputs, whole):
    rows = [line.split(",") for line in (inputs / "whole/passes.csv").read_text().splitlines()]
    assert rows[0] == ["pass", "status", "start_ns", "end_ns", "duration_ns"]
    assert [row[:2] for row in rows[1:]] == [[str(number), "finished"] for number in range(4)]
    starts, ends = [float(row[2]) for row in rows[1:]], [float(row[3]) for row in rows[1:]]
    assert starts == [0, *ends[:3]]
    assert len({row[4] for row in rows[1:]}) == 4  # other random numbers
    # The first is the run of one iteration.
    alone = simulate(inputs, *RUN[:8], "-o", "alone")
    assert alone.returncode == 0, alone.stderr
    for name in ("fct.txt", "EndToEnd.csv", "collectives.csv", "links.csv"):
        assert (inputs / "alone" / name).read_bytes() == (inputs / "whole/pass-0" / name).read_bytes()


def run_and_signal(directory, command, number):
    """@return the process of a run into cut/, which got the signal after its first iteration, and what it said"""
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until((directory / "cut/passes.csv").exists)
    process.send_signal(number)
    return process, process.communicate(timeout=HANGS)[1]


def test_iterations_under_nohup_outlive_their_terminal(inputs, whole):
    process, said = run_and_signal(inputs, ["nohup", PROGRAM, *RUN, "-o", "cut"], signal.SIGHUP)
    assert process.returncode == 0, said
    assert results(inputs / "cut") == whole


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL],
                         ids=lambda number: number.name)
def test_a_run_that_was_ended_goes_on(inputs, whole, ending):
    process, said = run_and_signal(inputs, [PROGRAM, *RUN, "-o", "cut"], ending)
    table = inputs / "cut/passes.csv"
    assert process.returncode in ((-9,) if ending == signal.SIGKILL else (128 + ending,)), said
    if ending != signal.SIGKILL:
        assert "--resume cut goes on" in said or "finished" in table.read_text()
    # Of a killed run the iteration ends, too, a moment later.
    again = wait_until(lambda: None if "still going on" in (tried := simulate(inputs, "--resume", "cut", "-q")).stderr
                       else tried)
    assert again.returncode == 0, again.stderr
    assert results(inputs / "cut") == whole


def test_iterations_that_are_finished_are_kept(inputs, whole):
    (inputs / "whole/pass-2/run.json").unlink()
    before = {number: (inputs / f"whole/pass-{number}/fct.txt").stat().st_mtime_ns for number in range(4)}
    again = simulate(inputs, "--resume", "whole", "-q")
    assert again.returncode == 0, again.stderr
    after = {number: (inputs / f"whole/pass-{number}/fct.txt").stat().st_mtime_ns for number in range(4)}
    assert [number for number in range(4) if after[number] != before[number]] == [2]
    assert results(inputs / "whole") == whole


def test_limits_count_for_all_iterations_together(inputs, whole):
    record = json.loads((inputs / "whole/pass-0/run.json").read_text())
    limit = f"{round(1.5 * record['simulated_ns'])}ns"
    result = simulate(inputs, *RUN, "-o", "short", "--max-sim-time", limit)
    assert result.returncode == 1
    rows = (inputs / "short/passes.csv").read_text().splitlines()
    assert [row.split(",")[1] for row in rows[1:]] == ["finished", "stopped"]
    assert simulate(inputs, "--resume", "short").returncode == 0
    assert results(inputs / "short") == whole


def test_what_would_change_the_results_is_refused(inputs, whole):
    refused = simulate(inputs, "--resume", "whole", "--seed", "2")
    assert refused.returncode == 2 and "--resume with --seed" in refused.stderr
    nothing = simulate(inputs, "--resume", "nowhere")
    assert nothing.returncode == 2 and nothing.stderr.startswith("nowhere/passes.json: ")
    (inputs / "n").write_text(STAR.replace("1us", "2us"))
    (inputs / "whole/pass-3/run.json").unlink()
    changed = simulate(inputs, "--resume", "whole")
    assert changed.returncode == 2 and changed.stderr.startswith("n: is not what it was")
    assert simulate(inputs, *RUN).returncode == 2  # without -o


@pytest.mark.parametrize("text", ["", "{", "[]", '{"status": 5}', '{"status": "finished", "simulated_ns": "x"}',
                                  '{"status": "finished"}'])
def test_records_that_are_damaged_are_named(inputs, whole, text):
    (inputs / "whole/pass-0/run.json").write_text(text)
    for name, damaged in (("pass-0/run.json", text),
                          ("passes.json", text if text != '{"status": 5}' else '{"passes": -1}')):
        (inputs / "whole" / name).write_text(damaged)
        refused = simulate(inputs, "--resume", "whole")
        [line] = refused.stderr.splitlines()
        assert refused.returncode == 2 and line.startswith(f"whole/{name}:") and "; expected run.json of " in line


def test_an_iteration_can_be_replayed(inputs, whole):
    replay = simulate(inputs, "--replay", "whole/pass-2/run.json", "-o", "again")
    assert replay.returncode == 0, replay.stderr
    assert (inputs / "again/fct.txt").read_bytes() == (inputs / "whole/pass-2/fct.txt").read_bytes()
