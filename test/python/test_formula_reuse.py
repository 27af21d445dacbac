# SPDX-License-Identifier: GPL-2.0-only
"""--network analytical reuses what repeats without being told to, and outputs stay the same."""
import csv
import json
import os
import pathlib
import random
import subprocess
import sys

import pytest
from repeating_job import CONF, ROOT, backends, job_of_two_servers

sys.path.insert(0, str(ROOT / "bench"))
import configurations  # noqa: E402

from waiting import HANGS

PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"


def simulate(out, *arguments, **variables):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    return subprocess.run([str(PROGRAM), "-c", str(CONF), "-o", str(out),
                           *(() if "--network" in arguments else ("--network", "analytical")), *map(str, arguments)],
                          env={**clean, **variables}, capture_output=True, text=True, timeout=HANGS, check=False)


def record(out):
    return json.loads((out / "run.json").read_text())


def assert_same_outputs(one, other):
    """The same bytes, but for which of several collectives that begin or end in one picosecond has a number or a row
    first."""
    sums = [configurations.fingerprint(out) for out in (one, other)]
    for files in sums:
        files.pop("collectives.csv")
    assert sums[0] == sums[1]
    rows, numbers = [], []
    for out in (one, other):
        with (out / "collectives.csv").open(newline="") as file:
            table = list(csv.DictReader(file))
        ends = [float(row["end_ns"]) for row in table]
        assert ends == sorted(ends)
        numbers.append({row.pop("id") for row in table})
        rows.append(sorted(tuple(row.values()) for row in table))
    assert rows[0] == rows[1]
    assert numbers[0] == numbers[1]


def random_workload(path, draw, ranks, gpus):
    """Groups, collectives, sizes and micro-batches drawn at random; small sizes take other algorithms and protocols."""
    tp = draw.choice([size for size in (1, 2, 4, 8) if size <= gpus])
    pp = draw.choice([size for size in (1, 2, 4) if ranks // tp % size == 0])
    ep = draw.choice([size for size in (1, 2, 4) if ranks // tp // pp % size == 0])
    kinds = ["NONE", "ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL", *(["ALLTOALL_EP"] if ep > 1 else [])]

    def cell(kinds):
        kind = draw.choice(kinds)
        return kind, 0 if kind == "NONE" else int(2 ** draw.uniform(3, 23))

    lines = []
    for layer in range(draw.randint(1, 4)):
        cells = [f"l{layer}", -1]
        for choices in (kinds, ["NONE", *kinds], ["NONE", "ALLREDUCE", "ALLGATHER", "REDUCESCATTER"]):
            cells += [draw.choice((0, 1000, draw.randrange(1000, 200_000))), *cell(choices)]
        lines.append("\t".join(map(str, [*cells, 1])) + "\n")
    path.write_text(f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: {ep} pp: {pp} vpp: 1 "
                    f"ga: {draw.choice((1, 2, 4))} all_gpus: {ranks} checkpoints: 0 checkpoint_initiates: 0 "
                    f"pp_comm: {draw.choice((0, 1000, draw.randrange(64, 4096) << 10))}\n{len(lines)}\n"
                    + "".join(lines))


def random_job(directory, seed):
    """Arguments and variables of one job, or of two on ranks of their own."""
    draw = random.Random(seed)
    servers, gpus = draw.choice((1, 2, 4)), draw.choice((2, 4, 8))
    ranks = servers * gpus
    backends.servers(directory / "topology", servers, gpus=gpus)
    jobs = 2 if servers > 1 and draw.random() < 0.25 else 1
    arguments = ["-n", directory / "topology", "--passes", draw.choice((1, 1, 2))]
    for job in range(jobs):
        share = ranks // jobs
        workload = directory / f"w{job}.txt"
        random_workload(workload, draw, share, min(gpus, share))
        arguments += ["-w", workload if jobs == 1 else f"{workload}@{job * share}-{(job + 1) * share - 1}"]
    variables = {}
    for name, values in {"NCCL_ALGO": (None, None, "Ring", "Tree"), "AS_SEND_LAT": (None, None, "0", "6"),
                         "AS_NVLS_ENABLE": (None, None, "1"), "NCCL_PROTO": (None, None, "LL", "Simple")}.items():
        value = draw.choice(values)
        if value is not None:
            variables[name] = value
    if draw.random() < 0.2:
        arguments += ["--set", f"QPS_PER_CONNECTION={draw.choice((2, 3))}"]
    return arguments, variables


# In those above 100 ranks leave collectives of a few bytes before all have begun.
@pytest.mark.parametrize("seed", [*range(20), 315, 417])
def test_a_random_job_has_the_same_outputs_with_and_without_reuse(tmp_path, seed):
    arguments, variables = random_job(tmp_path, seed)
    results = [simulate(tmp_path / name, *arguments, *flags, **variables)
               for name, flags in (("each", ["--fast-forward=off"]), ("reused", []))]
    assert [result.returncode for result in results] in ([0, 0], [2, 2]), results[1].stderr
    assert results[0].stderr == results[1].stderr
    if results[0].returncode:
        return  # some combinations of algorithm and protocol are refused
    assert_same_outputs(tmp_path / "each", tmp_path / "reused")
    assert "fast_forward" not in record(tmp_path / "each")
    if "fast_forward_given_up" in record(tmp_path / "reused"):
        return
    forward = record(tmp_path / "reused")["fast_forward"]
    assert forward["simulated"] - forward["of_which_again"] + forward["reused"] == record(tmp_path / "each")["flows"]
    assert forward["tails_cut"] == forward["inferred"] == forward["late_ends"] == 0


@pytest.mark.parametrize("workload", ["serve_16g_colocated", "serve_16g_disaggregated", "microAllReduce_16g",
                                      "training_TP8_DP2"])
def test_workloads_of_every_kind_have_the_same_outputs(tmp_path, workload):
    backends.servers(tmp_path / "topology", 2, gpus=8)
    for name, flags in (("each", ["--fast-forward=off"]), ("reused", [])):
        result = simulate(tmp_path / name, "-w", ROOT / "workloads" / f"{workload}.txt", "-n", tmp_path / "topology",
                          *flags)
        assert result.returncode == 0, result.stderr
    assert_same_outputs(tmp_path / "each", tmp_path / "reused")
    assert "fast_forward" in record(tmp_path / "reused")


def test_most_of_what_repeats_is_not_simulated_again(tmp_path):
    job = job_of_two_servers(tmp_path)
    assert simulate(tmp_path / "o", *job).returncode == 0
    forward = record(tmp_path / "o")["fast_forward"]
    assert forward["reused"] > 2 * (forward["simulated"] - forward["of_which_again"])


@pytest.mark.parametrize("flags", [
    ("--timeline-ranks", "2"),
    ("--check",),
    ("--system-configuration", "system.json"),
    ("--fast-forward=off",),
])
def test_messages_are_simulated_one_by_one_where_that_makes_a_difference(tmp_path, flags):
    (tmp_path / "system.json").write_text('{"all-reduce-implementation": ["ring"]}')
    flags = [tmp_path / flag if flag == "system.json" else flag for flag in flags]
    result = simulate(tmp_path / "o", *job_of_two_servers(tmp_path), *flags)
    assert result.returncode == 0, result.stderr
    assert "fast-forward" not in result.stderr
    assert "fast_forward" not in record(tmp_path / "o")


def test_packets_and_flows_are_reused_only_when_asked_for(tmp_path):
    job = job_of_two_servers(tmp_path)
    for network in ("packet", "flow"):
        assert simulate(tmp_path / network, *job, "--network", network).returncode == 0
        assert "fast_forward" not in record(tmp_path / network)


def test_a_run_that_waits_for_ever_says_how_to_see_what_for(tmp_path):
    job = job_of_two_servers(tmp_path)
    runs = {}
    for name, flags in (("reused", []), ("each", ["--fast-forward=off"])):
        result = simulate(tmp_path / name, *job, "--set", "SIMULATOR_STOP_TIME=0.00005", *flags)
        assert result.returncode == 1
        assert record(tmp_path / name)["status"] == "stopped"
        runs[name] = result.stderr
    hint = "--fast-forward=off tells which messages are waited for"
    assert hint in runs["reused"] and hint not in runs["each"]
    assert runs["reused"].splitlines()[0] == runs["each"].splitlines()[0]  # where the run stands


def test_a_run_in_which_too_little_repeats_begins_anew(tmp_path):
    """Ranks that end one after the other begin the next collective one after the other: each begin makes a new pattern
    of all."""
    gpus = 72
    (tmp_path / "racks").write_text(f"{gpus + 3} 36 2 1 {2 * gpus} GB200\n72 73 74\n" + "".join(
        f"{gpu} {72 + gpu // 36} 5760Gbps 25ns 0\n{gpu} 74 400Gbps 500ns 0\n" for gpu in range(gpus)))
    (tmp_path / "w").write_text("3 ALLGATHER 4194304 TP\n1 ALLTOALL 16777216 TP\n")
    job = ["-w", tmp_path / "w", "-n", tmp_path / "racks", "--tp", gpus, "--passes", 2]
    variables = {"NCCL_PROTO": "Simple"}
    for name, more in (("plain", ["--fast-forward=off"]), ("auto", [])):
        result = simulate(tmp_path / name, *job, *more, **variables)
        assert result.returncode == 0, result.stderr
    assert ("begins anew" in result.stdout) and record(tmp_path / "auto")["fast_forward_given_up"]
    assert "fast_forward_given_up" not in record(tmp_path / "plain")
    assert configurations.fingerprint(tmp_path / "plain") == configurations.fingerprint(tmp_path / "auto")
    assert record(tmp_path / "plain")["flows"] == record(tmp_path / "auto")["flows"]


def test_a_run_that_repeats_is_not_begun_anew(tmp_path):
    result = simulate(tmp_path / "out", *job_of_two_servers(tmp_path))
    assert result.returncode == 0, result.stderr
    assert "fast_forward_given_up" not in record(tmp_path / "out")
    assert record(tmp_path / "out")["fast_forward"]["patterns_reused"] > 0
