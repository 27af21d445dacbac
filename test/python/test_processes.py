# SPDX-License-Identifier: GPL-2.0-only
"""mpirun SimAI_simulator: several processes, one run."""
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
from divided_jobs import JOBS, PROGRAMS, SHIPPED, SIMULATOR, record, results, simulate, write_inputs
from test_threads import run as run_flows

from waiting import HANGS, is_alive, wait_until

pytestmark = [
    pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun is not installed"),
    pytest.mark.skipif(not (PROGRAMS / "simai-mpi.so").exists(), reason="simai-mpi.so is not built"),
]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def mpirun(count):
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(count)]


def simulate_in(processes, tmp_path, output, *flags, env=None):
    return simulate(tmp_path, output, *flags, env={**AS_ROOT, **(env or {})}, launcher=mpirun(processes))


def own_lines(text):
    """@return what the program says, without what mpirun adds"""
    without_boxes = re.sub(r"-{60,}\n.*?-{60,}\n", "", text, flags=re.DOTALL)
    return [line for line in without_boxes.splitlines() if line and not re.match(r"mpirun|\[[^ ]+:\d+\]", line)]


@pytest.mark.parametrize("job", JOBS)
def test_every_number_of_processes_gives_the_bytes_of_one(tmp_path, job):
    write_inputs(tmp_path)
    flags, env = JOBS[job]
    assert simulate(tmp_path, "1", *flags, "-t", 1, env=env).returncode == 0
    runs = {"3": (3, []), "2x2": (2, ["-t", 2])}
    if job == "pipeline":
        runs["9"] = (9, [])  # there are 8 servers: one has nothing to do
    one = results(tmp_path / "1")
    for name, (processes, threads) in runs.items():
        result = simulate_in(processes, tmp_path, name, *flags, *threads, env=env)
        assert result.returncode == 0, result.stderr
        other = results(tmp_path / name)
        assert other.keys() == one.keys()
        assert [file for file in one if other[file] != one[file]] == [], name
        for same in ("packet_hops", "flows", "drops", "pauses", "cnps", "collectives", "simulated_ns"):
            assert record(tmp_path, name)[same] == record(tmp_path, "1")[same], same
        assert record(tmp_path, name)["processes"] == processes


@pytest.mark.parametrize("keys", [[], ["BUFFER_SIZE=1"], ["QP_MODE=persistent"],
                                  ["LINK_DOWN=60 8 10", "LINK_UP=250 8 10"],
                                  ["NIC_TOTAL_PAUSE_TIME=20"]])
def test_flows_in_several_processes_give_the_bytes_of_one(tmp_path, keys):
    flags = [word for key in keys for word in ("--set", key)]
    assert run_flows(tmp_path, *flags, "-t", "1", output="1").returncode == 0
    result = run_flows(tmp_path, *flags, output="3", launcher=mpirun(3), env=AS_ROOT)
    assert result.returncode == 0, result.stderr
    one, several = results(tmp_path / "1"), results(tmp_path / "3")
    assert several.keys() == one.keys()
    assert [file for file in one if several[file] != one[file]] == []
    assert record(tmp_path, "3")["packet_hops"] == record(tmp_path, "1")["packet_hops"]


def test_background_flows_are_those_of_one_process(tmp_path):
    write_inputs(tmp_path)
    (tmp_path / "flows.txt").write_text("3\n0 9 3 100 400000 0\n5 31 3 100 300000 0.00001\n20 2 3 100 200000 0.00002\n")
    flags = [*JOBS["data-parallel"][0], "--background-flows", "flows.txt"]
    assert simulate(tmp_path, "1", *flags, "-t", 1).returncode == 0
    result = simulate_in(2, tmp_path, "2", *flags)
    assert result.returncode == 0, result.stderr
    assert results(tmp_path / "2") == results(tmp_path / "1")
    assert record(tmp_path, "2")["background_flows"] == 3


def test_one_process_speaks_for_all(tmp_path):
    write_inputs(tmp_path)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    result = simulate_in(2, tmp_path, "out", *JOBS["data-parallel"][0], env={"TMPDIR": str(temporary)})
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("results in out") == 1
    assert re.search(r"2 processes: \d+% of the first one's time went to waiting for the others", result.stdout)
    assert list(temporary.glob("simai-*")) == []


@pytest.mark.parametrize("flags, message", [
    (["-w", "nowhere.txt", "-n", "a100.txt"], "nowhere.txt: "),
    (["-w", "data.txt", "-n", "a100.txt", "--network", "flow"],
     "command line: --network flow runs in one process, and 2 were started together; expected one process, without "
     "mpirun"),
    (["-w", "data.txt", "-n", "a100.txt", "--pcap", "0:0"],
     "command line: --pcap runs in one process, and 2 were started together; expected one process, without mpirun"),
    (["-w", "data.txt", "-n", "a100.txt", "--no-such-flag"], "command line: "),
])
def test_what_is_wrong_is_said_once(tmp_path, flags, message):
    write_inputs(tmp_path)
    result = simulate_in(2, tmp_path, "out", *flags)
    assert result.returncode == 2
    lines = own_lines(result.stderr)
    assert len(lines) == 1 and lines[0].startswith(message), result.stderr


def test_a_mistake_that_only_one_process_meets_ends_all(tmp_path):
    write_inputs(tmp_path)
    directory = tmp_path / "out"
    directory.mkdir()
    (directory / "fct.txt").mkdir()  # the first process cannot write its results
    result = simulate_in(2, tmp_path, "out", *JOBS["data-parallel"][0])
    assert result.returncode == 2
    lines = own_lines(result.stderr)
    assert len(lines) == 1 and "fct.txt" in lines[0], result.stderr


def test_a_stuck_run_says_what_one_process_says(tmp_path):
    write_inputs(tmp_path)
    flags = [*JOBS["data-parallel"][0], "--set", "LINK_DOWN=20 0 40"]
    one = simulate(tmp_path, "1", *flags, "-t", 1)
    several = simulate_in(3, tmp_path, "3", *flags)
    assert (one.returncode, several.returncode) == (1, 1)
    assert "the workload cannot finish" in one.stderr
    assert own_lines(several.stderr) == own_lines(one.stderr)
    assert record(tmp_path, "3")["status"] == "stuck"


def test_a_run_that_is_out_of_time_ends_in_all_processes(tmp_path):
    write_inputs(tmp_path)
    result = simulate_in(2, tmp_path, "out", *JOBS["data-parallel"][0], "--max-sim-time", "0.0002")
    assert result.returncode == 1
    assert record(tmp_path, "out")["status"] == "stopped"


@pytest.mark.parametrize("dies", [0, 2])
def test_a_process_that_dies_takes_the_others_with_it_and_the_record_says_so(tmp_path, dies):
    write_inputs(tmp_path)
    big = tmp_path / "big.txt"
    big.write_text((tmp_path / "data.txt").read_text().replace("2000000", "2000000000"))
    process = subprocess.Popen([*mpirun(3), SIMULATOR, "-w", "big.txt", "-n", "a100.txt", "-c", SHIPPED, "-o", "out"],
                               cwd=tmp_path,
                               env={**os.environ, **AS_ROOT}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: ((tmp_path / "out/run.json").exists() and record(tmp_path, "out")["status"] == "running")
                   or process.poll() is not None)
        assert process.poll() is None
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        ranks = {pid: pathlib.Path(f"/proc/{pid}/environ").read_bytes() for pid in children}
        victim = next(pid for pid, environment in ranks.items()
                      if f"OMPI_COMM_WORLD_RANK={dies}\0".encode() in environment)
        os.kill(int(victim), signal.SIGKILL)
        process.communicate(timeout=HANGS)
        assert process.returncode != 0
        wait_until(lambda: not any(is_alive(pid) for pid in children))
    finally:
        process.kill()
    assert record(tmp_path, "out")["status"] == "failed"
    assert record(tmp_path, "out")["reason"] == f"process {dies} of the run has ended before it was done"
    assert not (tmp_path / "out/collectives.csv").exists() and not (tmp_path / "out/fct.txt").exists()
