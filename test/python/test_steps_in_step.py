# SPDX-License-Identifier: GPL-2.0-only
"""Serving steps of ranks in step are one event each, with the results of ranks that are simulated one by one."""
import csv
import json

import pytest
from repeating_job import CONF
from script_process import run_script
from test_inference import generate
from test_formula_reuse import ROOT, simulate

LOAD = ("--requests", 40, "--rate", 100, "--output_tokens", "uniform 1 40")
EXACT, FLOWS = ("--network", "analytical"), ("--network", "flow", "--fast-forward")
CASES = {
    "dense-tp2": ("llama3_8b", 8, ("--tp", 2)),
    "dense-tp4": ("llama3_8b", 16, ("--tp", 4)),
    "dense-tp8": ("llama3_70b", 16, ("--tp", 8)),
    "rooflines": ("llama3_8b", 8, ("--tp", 8, "--engine", "none")),
    "experts-cut": ("qwen3_30b_a3b", 16, ("--tp", 8)),
    "experts-whole": ("qwen3_30b_a3b", 16, ("--tp", 8, "--enable_expert_parallel")),
    "preempted": ("llama3_8b", 8, ("--tp", 4, "--num_gpu_blocks", 150)),
    "swapped": ("llama3_8b", 8, ("--tp", 4, "--num_gpu_blocks", 150, "--preemption_mode", "swap")),
    "drafted": ("llama3_8b", 8, ("--tp", 4, "--speculative_tokens", 2, "--acceptance", 0.7)),
    "closed-loop": ("llama3_8b", 16, ("--tp", 4, "--max_concurrency", 12)),
    "pipeline": ("llama3_8b", 16, ("--tp", 8, "--pp", 2)),
    "disaggregated": ("llama3_8b", None, ("--tp", 8, "--prefill_gpus", 8, "--decode_gpus", 8)),
}
ONE_BY_ONE = {
    "replicas": ("qwen3_30b_a3b", 8, ("--tp", 4, "--dp", 2, "--enable_expert_parallel")),
    "stages-in-a-server": ("llama3_8b", 8, ("--tp", 4, "--pp", 2)),
    "caches-in-a-server": ("llama3_8b", None, ("--tp", 4, "--prefill_gpus", 4, "--decode_gpus", 4)),
}


@pytest.fixture(scope="module")
def fabric(tmp_path_factory):
    place = tmp_path_factory.mktemp("fabric") / "fabric"
    run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "16", "-gt", "H100", "-bw",
                "400Gbps", "--fit", "-o", place], check=True)
    return place


def serve(directory, fabric, case, network, limits=(0, 10 ** 9), flags=()):
    """@return the directories of the runs with these limits of rows, and the text of their summaries"""
    model, gpus, layout = case
    text = generate(directory, "--model_name", model, "--num_layers", 4, *(("--world_size", gpus) if gpus else ()),
                    *LOAD, "--prompt_tokens", "uniform 100 1500" if network == EXACT else 500, *layout,
                    *(() if "--engine" in layout else ("--engine", "vLLM")))
    (directory / "serve.txt").write_text(text)
    runs, said = [], []
    for limit in limits:
        runs.append(directory / str(limit))
        run = simulate(runs[-1], "-w", directory / "serve.txt", "-n", fabric, *network, "--collectives-limit", limit,
                       *flags)
        assert run.returncode == 0, run.stderr
        said.append(run.stdout)
    return runs, said


def layers(run):
    """@return EndToEnd.csv without the columns that go by passes, which instances have in common"""
    with (run / "EndToEnd.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    return [rows[1][1:]] + [[row[0], *row[2:6], row[-1]] for row in rows[3:-1]] + rows[-1:]


def assert_same(runs, said):
    for name in ("requests.csv", "inference.csv", "instances.csv"):
        assert (runs[0] / name).read_bytes() == (runs[1] / name).read_bytes(), name
    assert layers(runs[0]) == layers(runs[1])
    records = [json.loads((run / "run.json").read_text()) for run in runs]
    for name in ("flows", "collectives", "simulated_ns"):
        assert records[0][name] == records[1][name]
    for record in records:
        reuse = record["fast_forward"]
        assert reuse["simulated"] - reuse["of_which_again"] + reuse["reused"] == record["flows"]
    assert records[0]["fast_forward"]["parts"] == records[1]["fast_forward"]["parts"]
    tables = [text[text.index("collective "):text.index("finished at")].splitlines() for text in said]
    assert [line for line in tables[0] if not line.startswith("collectives.csv has")] == tables[1]
    return records


@pytest.mark.parametrize("network", [EXACT, FLOWS], ids=["formulas", "flows"])
@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_ranks_one_by_one(tmp_path, fabric, case, network):
    records = assert_same(*serve(tmp_path, fabric, CASES[case], network))
    assert records[0]["events"] < records[1]["events"] / 2


@pytest.mark.parametrize("case", ONE_BY_ONE)
def test_ranks_that_share_their_links_are_simulated_one_by_one(tmp_path, fabric, case):
    records = assert_same(*serve(tmp_path, fabric, ONE_BY_ONE[case], EXACT))
    assert records[0]["events"] == records[1]["events"]


@pytest.mark.parametrize("flags", [("--gpu-spread", 0.01), ("--timeline-ranks", 1, "--fast-forward")])
def test_ranks_that_differ_or_are_watched_are_simulated_one_by_one(tmp_path, fabric, flags):
    (run, _), _ = serve(tmp_path, fabric, CASES["dense-tp4"], EXACT, (0, 10 ** 9), flags)
    other = json.loads((tmp_path / str(10 ** 9) / "run.json").read_text())
    assert json.loads((run / "run.json").read_text())["events"] == other["events"]


def test_rows_of_collectives_are_complete_up_to_the_limit_and_the_run_says_so(tmp_path, fabric):
    runs, said = serve(tmp_path, fabric, CASES["dense-tp8"], EXACT, (100, 10 ** 9))
    assert_same(runs, said)
    few, whole = [(run / "collectives.csv").read_text().splitlines() for run in runs]
    assert len(few) == 101 and few == whole[:101]
    left_out = len(whole) - len(few)
    assert f"collectives.csv has the first 100 of {len(whole) - 1} collectives and messages" in said[0]
    assert json.loads((runs[0] / "run.json").read_text())["collectives_left_out"] == left_out
    assert "collectives.csv has" not in said[1]


def test_a_table_of_collectives_says_what_it_lacks(tmp_path, fabric):
    (run,), _ = serve(tmp_path, fabric, CASES["dense-tp8"], EXACT, (100,))
    shown = run_script([ROOT / "scripts/analyze_results.py", "--dirs", run, "--tables", "busbw"])
    assert "has the first 100" in shown.stdout + shown.stderr


def test_a_training_run_has_all_rows_unless_told_otherwise(tmp_path, fabric):
    runs = []
    for limit in ((), ("--collectives-limit", 3)):
        run = simulate(tmp_path / str(len(runs)), "-w", ROOT / "workloads/training_TP8_DP2.txt", "-n", fabric, *EXACT,
                       *limit)
        assert run.returncode == 0, run.stderr
        runs.append((tmp_path / str(len(runs)) / "collectives.csv").read_text().splitlines())
    assert len(runs[0]) > 4 and runs[1] == runs[0][:4]
    assert CONF.is_file()
