# SPDX-License-Identifier: GPL-2.0-only
"""SimAI_phynet from the outside: real messages between processes, checked data, results, faults."""
import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from test_simulator import run as simulate
from test_simulator import servers, star, workload

from waiting import HANGS, is_alive

PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_phynet"
pytestmark = [pytest.mark.real_time,
              pytest.mark.skipif(not PROGRAM.exists(),
                                 reason="built without libfabric or MPI: there is no SimAI_phynet")]

MIB = 1 << 20
PROVIDERS = ["shm", "tcp"]
SIMPLE = {"NCCL_PROTO": "Simple"}


def command(ranks, *arguments):
    # A busy machine needs more than a second between SIGTERM and SIGKILL to say what happened.
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "odls_base_sigkill_timeout", "5", "-np",
            str(ranks), str(PROGRAM), *map(str, arguments)]


def environment(changes=None):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    return {**clean, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **(changes or {})}


def phynet(ranks, *arguments, env=None, timeout=HANGS):
    return subprocess.run(command(ranks, *arguments), env=environment(env), capture_output=True, text=True,
                          timeout=timeout, check=False)


def table(directory, name):
    with (directory / name).open(newline="") as file:
        return list(csv.DictReader(file))


def record(directory):
    return json.loads((directory / "run.json").read_text())


def all_reduce(tmp_path, ranks, size):
    return ["-w", workload(tmp_path / "w.txt", ranks, [("layer", "NONE", 0, "ALLREDUCE", size)]),
            "-n", star(tmp_path / "n.txt", ranks)]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("ranks", [2, 4])
def test_an_all_reduce_leaves_the_results_of_a_simulation(tmp_path, provider, ranks):
    size = MIB if provider == "tcp" else 65536  # shm may stall with large messages
    inputs = all_reduce(tmp_path, ranks, size)
    result = phynet(ranks, *inputs, "--provider", provider, "--verify", "--reduce", "-o", tmp_path / "out",
                    env=SIMPLE)
    assert result.returncode == 0, result.stderr
    simulated = simulate(tmp_path, *inputs, "--network", "flow", out="simulated",
                         env={"NCCL_NVLS_ENABLE": "0", **SIMPLE})
    assert simulated.returncode == 0, simulated.stderr
    physical, model = (table(tmp_path / name, "collectives.csv") for name in ("out", "simulated"))
    same = ["id", "layer", "pass", "phase", "group", "ranks", "op", "bytes", "algorithm", "protocol", "channels",
            "flows"]
    assert [[row[key] for key in same] for row in physical] == [[row[key] for key in same] for row in model]
    assert list(physical[0]) == list(model[0])
    row = physical[0]
    assert 0 <= float(row["start_ns"]) <= float(row["last_start_ns"]) < float(row["end_ns"])
    duration = float(row["end_ns"]) - float(row["start_ns"])
    assert float(row["busbw"]) == pytest.approx(size / duration * 2 * (ranks - 1) / ranks, rel=1e-4,
                                                abs=5e-7)  # six decimals
    info = record(tmp_path / "out")
    assert info["status"] == "finished" and info["network"] == "physical"
    assert [p["rank"] for p in info["processes"]] == list(range(ranks))
    assert all(p["checked_results"] == 2 for p in info["processes"]), "the warm-up and the iteration"
    # Each message once in each of the files, and the bytes that a ring or a tree moves.
    flows = [line.split() for line in (tmp_path / "out" / "fct.txt").read_text().splitlines()]
    assert len(flows) == int(row["flows"]) == info["flows"]
    assert sum(int(flow[4]) for flow in flows) == 2 * (ranks - 1) * size
    simulated_flows = [line.split() for line in (tmp_path / "simulated" / "fct.txt").read_text().splitlines()]
    key = lambda flow: (flow[0], flow[1], int(flow[4]))
    assert sorted(map(key, flows)) == sorted(map(key, simulated_flows))
    assert (tmp_path / "out" / "EndToEnd.csv").read_text().splitlines()[0] == \
        (tmp_path / "simulated" / "EndToEnd.csv").read_text().splitlines()[0]


ALGORITHMS = [
    ("ALLREDUCE", {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}, "Ring"),
    ("ALLREDUCE", {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}, "Ring"),
    ("ALLREDUCE", {"NCCL_ALGO": "Tree", "NCCL_PROTO": "Simple"}, "Tree"),
    ("ALLREDUCE", {"NCCL_ALGO": "Tree", "NCCL_PROTO": "LL128"}, "Tree"),
    ("ALLGATHER", {"NCCL_ALGO": "Ring"}, "Ring"),
    ("ALLGATHER", {"NCCL_ALGO": "PAT"}, "PAT"),
    ("REDUCESCATTER", {"NCCL_ALGO": "Ring"}, "Ring"),
    ("REDUCESCATTER", {"NCCL_ALGO": "PAT"}, "PAT"),
    ("ALLTOALL", {}, "Direct"),
]


@pytest.mark.parametrize("op,env,algorithm", ALGORITHMS)
def test_every_collective_reduces_real_data(tmp_path, op, env, algorithm):
    rows = [(f"size{size}", op, size, "NONE", 0) for size in (4096, 3 * MIB)]
    w = workload(tmp_path / "w.txt", 4, rows, tp=4)
    n = star(tmp_path / "n.txt", 4) if algorithm == "PAT" else servers(tmp_path / "n.txt", 2, gpus=2)
    result = phynet(4, "-w", w, "-n", n, "--verify", "--reduce", "-o", tmp_path / "out",
                    "--warmup", 0, env=env)
    assert result.returncode == 0, result.stderr
    rows = table(tmp_path / "out", "collectives.csv")
    assert {row["algorithm"] for row in rows} == {algorithm}
    assert [p["checked_results"] for p in record(tmp_path / "out")["processes"]] == [len(rows)] * 4


def test_a_training_step_with_pipeline_stages_has_the_rows_of_its_simulation(tmp_path):
    w = tmp_path / "w.txt"
    w.write_text("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 2 vpp: 1 ga: 2 all_gpus: 8 "
                 "checkpoints: 0 checkpoint_initiates: 0 pp_comm: 65536\n2\n"
                 + "".join(f"layer{i}\t-1\t20000\tALLREDUCE\t262144\t20000\tNONE\t0\t20000\tALLREDUCE\t524288\t1000\n"
                           for i in range(2)))
    n = servers(tmp_path / "n.txt", 4, gpus=2)
    result = phynet(8, "-w", w, "-n", n, "--reduce", "--verify", "-o", tmp_path / "out", "--iterations", 3)
    assert result.returncode == 0, result.stderr
    simulated = simulate(tmp_path, "-w", w, "-n", n, "--network", "flow", out="simulated",
                         env={"NCCL_NVLS_ENABLE": "0"})
    assert simulated.returncode == 0, simulated.stderr
    key = ["layer", "pass", "phase", "group", "op", "bytes", "algorithm"]
    rows = [sorted(tuple(row[k] for k in key) for row in table(tmp_path / name, "collectives.csv"))
            for name in ("out", "simulated")]
    assert rows[0] == rows[1]
    info = record(tmp_path / "out")
    times = info["iterations_ns"]
    assert len(times["all"]) == 3
    assert times["min"] <= times["median"] <= times["max"]
    assert times["median"] == sorted(times["all"])[1]
    for row in table(tmp_path / "out", "iterations.csv"):
        assert row["iterations"] == "3"
        assert 0 < float(row["min_us"]) <= float(row["median_us"]) <= float(row["max_us"])


def test_computation_takes_its_time_or_none(tmp_path):
    w = workload(tmp_path / "w.txt", 2, [("layer", "NONE", 0, "ALLREDUCE", 4096)])
    w.write_text(w.read_text().replace("\t1000\t", "\t300000000\t", 1))  # 300 ms
    n = star(tmp_path / "n.txt", 2)
    total = {}
    for mode in ("sleep", "spin", "skip"):
        result = phynet(2, "-w", w, "-n", n, "--compute", mode, "-o", tmp_path / mode)
        assert result.returncode == 0, result.stderr
        total[mode] = record(tmp_path / mode)["simulated_ns"]
    assert total["sleep"] >= 300e6 and total["spin"] >= 300e6
    assert total["skip"] < 300e6


def one_line(result):
    """@return the program's own line on standard error, without what mpirun adds"""
    lines = [line for line in result.stderr.splitlines()
             if re.match(r"rank \d+ \(host|[^ ]+:( |\d)|command line: |libfabric|provider", line)
             and not line.startswith("mpirun")]
    assert len(lines) == 1, result.stderr
    return lines[0]


def test_wrong_inputs_are_refused_in_one_line(tmp_path):
    inputs = all_reduce(tmp_path, 2, 4096)
    for arguments, ranks, expected in [
            (["-w", tmp_path / "none.txt", *inputs[2:]], 2, "none.txt"),
            (inputs, 3, "is made for 2 ranks and 3 are running; expected mpirun -np 2"),
            ([*inputs, "--provider", "psm9"], 2, "no provider psm9 here; expected one of"),
            ([*inputs, "--provider", "tcp", "--interface", "eth77"], 2, "no device eth77; expected one of"),
            ([*inputs, "--compute", "never"], 1, "--compute is 'never'; expected spin, sleep or skip"),
            ([*inputs, "--iterations", "0"], 1, "--iterations"),
            ([*inputs, "--providr", "tcp"], 1, "--provider")]:
        result = phynet(ranks, *arguments, "-o", tmp_path / "out")
        assert result.returncode in (1, 2), result.stderr
        assert expected in one_line(result)
        assert not (tmp_path / "out" / "EndToEnd.csv").exists()


def test_a_run_that_is_refused_leaves_the_results_of_the_one_before(tmp_path):
    inputs = [*all_reduce(tmp_path, 2, 4096), "-o", tmp_path / "out"]
    assert phynet(2, *inputs, "--provider", "tcp").returncode == 0
    rows = table(tmp_path / "out", "collectives.csv")
    assert phynet(2, *inputs, "--provider", "psm9").returncode == 1
    assert record(tmp_path / "out")["status"] == "finished"
    assert table(tmp_path / "out", "collectives.csv") == rows
    assert phynet(2, *inputs[:-1], tmp_path / "other", "--provider", "psm9").returncode == 1
    assert record(tmp_path / "other")["status"] == "refused"


def test_switches_that_add_are_refused(tmp_path):
    n = servers(tmp_path / "n.txt", 1, gpus=4)
    w = workload(tmp_path / "w.txt", 4, [("layer", "ALLREDUCE", 4096, "NONE", 0)], tp=4)
    result = phynet(4, "-w", w, "-n", n, "-o", tmp_path / "out", env={"NCCL_NVLS_ENABLE": "1", "NCCL_ALGO": "NVLS"})
    assert result.returncode == 2, result.stderr
    assert "NCCL_NVLS_ENABLE=0" in one_line(result)


def test_ranks_with_other_inputs_are_named(tmp_path):
    inputs = all_reduce(tmp_path, 2, 4096)
    (tmp_path / "other").mkdir()
    other = all_reduce(tmp_path / "other", 2, 8192)
    # The same command line, in another directory on each rank.
    arguments = ["-w", "w.txt", "-n", "n.txt", "-o", str(tmp_path / "out")]
    del inputs, other
    result = subprocess.run(["mpirun", "--oversubscribe", "-np", "1", "--wdir", str(tmp_path), str(PROGRAM), *arguments,
                             ":",
                             "-np", "1", "--wdir", str(tmp_path / "other"), str(PROGRAM), *arguments],
                            env=environment(), capture_output=True, text=True, timeout=HANGS, check=False)
    assert result.returncode == 2, result.stderr
    assert re.search(r"rank 1 \(host \S+\): workload w.txt is [0-9a-f]+; expected [0-9a-f]+, as on rank 0",
                     one_line(result))


def ranks_of(process):
    """@return pids of the ranks that mpirun has started"""
    pids = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            stat = (entry / "stat").read_text()
            if entry.name.isdigit() and int(stat.rsplit(") ", 1)[1].split()[1]) == process.pid:
                pids.append(int(entry.name))
        except (OSError, IndexError):
            continue
    return sorted(pids)


def start_long_run(tmp_path, *flags):
    """Starts four ranks that work for a minute, and waits until they do."""
    w = workload(tmp_path / "w.txt", 4, [("layer", "NONE", 0, "ALLREDUCE", 65536)])
    n = star(tmp_path / "n.txt", 4)
    process = subprocess.Popen(command(4, "-w", w, "-n", n, "--iterations", 1_000_000, "-o", tmp_path / "out", *flags),
                               env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 40
    running = False
    while time.monotonic() < deadline and process.poll() is None and not running:
        time.sleep(0.1)
        path = tmp_path / "out" / "run.json"
        running = path.exists() and "first_iteration" in path.read_text()
    time.sleep(1)
    assert process.poll() is None
    return process


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("victim,number,cause,status", [
    (2, signal.SIGKILL, "its process has died", "failed"),
    (1, signal.SIGINT, "SIGINT", "interrupted"),
    (3, signal.SIGSTOP, "is silent for 2 s", "failed")])
def test_what_ends_one_rank_ends_all_within_ten_seconds(tmp_path, provider, victim, number, cause, status):
    process = start_long_run(tmp_path, "--provider", provider, "--timeout", 2)
    pids = ranks_of(process)
    assert len(pids) == 4
    begin = time.monotonic()
    os.kill(pids[victim], number)
    try:
        while any(is_alive(pid) for pid in pids) and time.monotonic() < begin + 20:
            time.sleep(0.05)
        took = time.monotonic() - begin
        process.wait(timeout=HANGS)  # mpirun clears up for seconds after its last process
    finally:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    output = process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    assert took < 10, output
    assert process.returncode != 0
    left = [file.name for file in pathlib.Path("/dev/shm").iterdir() if file.name.split(":")[0] in map(str, pids)]
    assert not left, "memory that ranks shared stays behind"
    lines = [line for line in output.splitlines() if re.match(r"rank \d+ \(host", line)]
    if number == signal.SIGKILL and not lines:
        # mpirun was faster than the ranks, and says it in its own words.
        assert re.search(rf"process rank {victim} .* exited on signal 9", output), output
        return
    assert len(lines) == 1, output
    assert re.match(rf"rank {victim} \(host \S+\): {cause}", lines[0]), output
    info = record(tmp_path / "out")
    assert info["status"] == status
    assert info["reason"] == lines[0]
    assert info["iterations_finished"] > 0
    assert not (tmp_path / "out" / "EndToEnd.csv").exists()
    # Of a run that failed, tables that are cut off have not the names of whole ones.
    failed = status == "failed"
    for name in ("collectives.csv", "fct.txt"):
        assert (tmp_path / "out" / name).exists() != failed and (tmp_path / "out"
            / f"{name}.part").exists() == failed, name


def test_shared_memory_that_is_used_up_is_told(tmp_path):
    """The kernel sends SIGBUS to who writes to a page of /dev/shm that there is no room for."""
    process = start_long_run(tmp_path, "--provider", "shm", "--timeout", 2)
    pids = ranks_of(process)
    os.kill(pids[1], signal.SIGBUS)
    try:
        _, output = process.communicate(timeout=HANGS)
    finally:
        for pid in filter(is_alive, pids):
            os.kill(pid, signal.SIGKILL)
    assert process.returncode != 0
    assert output.count("the provider shm has no memory left: /dev/shm is full; expected 16 MiB for each rank of this "
                        "host") == 1, output


def test_memory_that_there_is_not_is_a_failure_of_all(tmp_path):
    # 768 MiB of data and as much that arrives, of which each rank may have 1 GB.
    w = workload(tmp_path / "w.txt", 2, [("layer", "NONE", 0, "ALLREDUCE", 768 * MIB)])
    n = star(tmp_path / "n.txt", 2)
    result = subprocess.run(["bash", "-c", 'ulimit -v 700000; exec "$@"', "bash",
                             *command(2, "-w", w, "-n", n, "--reduce", "--provider", "tcp", "-o", tmp_path / "out")],
                            env=environment({"NCCL_ALGO": "Ring"}), capture_output=True, text=True, timeout=HANGS,
                            check=False)
    assert result.returncode == 1, result.stderr
    lines = [line for line in result.stderr.splitlines() if line.startswith("rank ")]
    assert len(lines) == 1 and re.match(r"rank [01] \(host \S+\): (out of|no) memory", lines[0]), result.stderr
    assert record(tmp_path / "out")["status"] == "failed"


def test_a_time_limit_ends_all_ranks(tmp_path):
    w = workload(tmp_path / "w.txt", 2, [("layer", "NONE", 0, "ALLREDUCE", 4096)])
    n = star(tmp_path / "n.txt", 2)
    result = phynet(2, "-w", w, "-n", n, "--iterations", 1_000_000, "--max-time", "2s", "-o", tmp_path / "out")
    assert result.returncode == 1, result.stderr
    assert "--max-time" in record(tmp_path / "out")["reason"]
    assert record(tmp_path / "out")["status"] == "stopped"
