# SPDX-License-Identifier: GPL-2.0-only
"""scripts/rl_step.py: lengths of rollouts, bytes of weights by pairs of ranks, and phases of a step."""
import csv
import json
import os
import pathlib
import sys

import pytest
from script_process import run_script

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.rl_step import lengths, weights  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism  # noqa: E402
from clustersim.workload.serve.instance import Instance  # noqa: E402

STEP = ["--model_name", "llama3_8b", "--num_layers", "8", "--prompts", "8", "--samples", "8", "--prompt_tokens", "100",
        "--output_tokens", "lognormal 300 300", "--max_tokens", "1024", "--train_batch", "32"]


def run(tmp_path, *words, step=None):
    """@return the process, and rows of phases.csv by name"""
    done = run_script([REPOSITORY / "scripts/rl_step.py", *(step or STEP), *map(str, words), "--bin", PROGRAMS,
                       "--conf", REPOSITORY / "conf/SimAI.conf", "-o", tmp_path])
    path = tmp_path / "phases.csv"
    if not path.is_file():
        return done, {}
    with path.open(newline="", encoding="utf-8") as file:
        return done, {row["phase"]: row for row in csv.DictReader(file)}


def seconds(rows, *names):
    return sum(float(rows[name]["s"]) for name in names)


def test_lengths_have_the_mean_of_their_distribution_and_end_at_the_longest():
    drawn = lengths.draw("lognormal 300 300", 20000, 10**6, 1)
    assert sum(drawn) / len(drawn) == pytest.approx(300, rel=0.03)
    assert max(lengths.draw("lognormal 300 300", 20000, 500, 1)) == 500
    assert set(lengths.draw("100", 5, 500, 1)) == {100}
    assert set(lengths.draw("uniform 3 5", 1000, 500, 1)) == {3, 4, 5}
    assert sum(lengths.draw("exponential 50", 20000, 10**6, 1)) / 20000 == pytest.approx(50, rel=0.03)


def test_packing_fills_sequences_first_fit_decreasing():
    assert lengths.pack([6, 5, 4, 3, 2], 10) == 2  # 6 + 4 and 5 + 3 + 2
    assert lengths.pack([10, 10, 1], 10) == 3


@pytest.mark.parametrize("name, plan, tp, ep", [
    ("llama3_8b", {"tp": 4, "pp": 2}, 2, 1), ("llama3_8b", {"tp": 1, "pp": 1}, 8, 1),
    ("qwen3_30b_a3b", {"tp": 2, "pp": 2, "ep": 8, "etp": 1}, 4, 1), ("qwen3_30b_a3b", {"ep": 4, "pp": 2}, 8, 8)])
def test_each_instance_gets_all_weights_once(name, plan, tp, ep):
    model = catalogue.find(name)
    instance = Instance(model, 16, tp=tp, ep=ep, dp=1 if ep > 1 else 0)
    training = weights.of_training(model, Parallelism(16, **plan))
    moved = weights.moves(model, training, weights.of_serving(instance), 0, 8)
    assert sum(moved.values()) == pytest.approx(16 / tp * 2 * model.parameters(), rel=1e-9)
    # A GPU keeps all that it holds in both layouts.
    kept = sum(size for (source, target), size in moved.items() if source == target)
    assert kept > 0
    apart = weights.moves(model, training, weights.of_serving(instance), 16, 8)
    assert sum(apart.values()) == pytest.approx(sum(moved.values()), rel=1e-9)
    assert all(source < 16 <= target for source, target in apart)


def test_the_same_layout_moves_nothing():
    model = catalogue.find("llama3_8b")
    moved = weights.moves(model, weights.of_training(model, Parallelism(8, tp=4)),
                          weights.of_serving(Instance(model, 8, tp=4)), 0, 8)
    assert all(source == target for source, target in moved)


def test_pairs_of_tensor_parallelism_have_the_overlap_of_their_parts():
    # TP 2 to TP 4 on other GPUs: a rank that serves gets a quarter, from the rank with the half that contains it.
    model = catalogue.find("llama3_8b")
    moved = weights.moves(model, weights.of_training(model, Parallelism(2, tp=2)),
                          weights.of_serving(Instance(model, 4, tp=4)), 2, 8)
    assert set(moved) == {(0, 2), (0, 3), (1, 4), (1, 5)}
    assert all(size == pytest.approx(2 * model.parameters() / 4) for size in moved.values())


def test_gpus_that_do_everything_take_the_sum_of_the_phases(tmp_path):
    done, rows = run(tmp_path, "--gpus", 16, "--train_pp", 2)
    assert done.returncode == 0, done.stderr
    phases = ("rollouts", "log-probabilities", "reference", "training", "weights")
    assert list(rows) == [*phases, "step"]
    assert all(seconds(rows, name) > 0 for name in phases)
    assert seconds(rows, "step") == pytest.approx(seconds(rows, *phases), rel=1e-6)
    step = json.loads((tmp_path / "step.json").read_text())
    # Each GPU gets the half of the weights that it lacks over a NIC of 400 Gb/s, and has few other delays.
    lacking = step["phases"][-1]["bytes"] / 16 / 50e9
    assert lacking <= seconds(rows, "weights") < 1.2 * lacking
    _, without = run(tmp_path / "without", "--gpus", 16, "--train_pp", 2, "--reference", 0)
    assert "reference" not in without


def test_gpus_that_generate_beside_training_take_the_longer_of_both(tmp_path):
    done, rows = run(tmp_path, "--rollout_gpus", 8, "--train_gpus", 8)
    assert done.returncode == 0, done.stderr
    longer = max(seconds(rows, "rollouts"), seconds(rows, "log-probabilities", "reference", "training"))
    assert seconds(rows, "step") == pytest.approx(longer + seconds(rows, "weights"), rel=1e-6)
    step = json.loads((tmp_path / "step.json").read_text())
    assert step["phases"][-1]["bytes"] == pytest.approx(8 * 2 * 2.795e9, rel=0.02)  # eight instances of 8 layers


def test_long_tails_keep_gpus_waiting(tmp_path):
    even = [word.replace("lognormal 300 300", "300") for word in STEP]
    _, long = run(tmp_path / "long", "--gpus", 8)
    _, short = run(tmp_path / "even", "--gpus", 8, step=even)
    assert seconds(long, "rollouts") > 1.5 * seconds(short, "rollouts")


@pytest.mark.parametrize("words, wrong", [
    ([], "the step has no GPUs; expected --gpus"), (["--gpus", 8, "--train_gpus", 8], "expected --gpus, or"),
    (["--gpus", 8, "--train_batch", 30], "--train_batch 30 does not divide 8 x 8 rollouts"),
    (["--gpus", 8, "--prompt_tokens", 2000], "leaves no room for a rollout"),
    (["--gpus", 8, "--output_tokens", "normal 5"], "is not a distribution; expected N"),
    (["--gpus", 8, "--output_tokens", "uniform 100 10"], '"uniform 100 10" is not a distribution'),
    (["--gpus", 8, "--train_tp", 3], "expected"), (["--gpus", 0], "--gpus is 0; expected at least 1"),
    (["--gpus", 8, "--nic", "fast"], '--nic "fast" is not a rate'),
    (["--gpus", 8, "--rollout_tp", 3], "expected"),
    (["--gpus", 1, "--model_name", "llama3_70b"], "does not fit into the memory of 1 H100")])
def test_mistakes_are_told(tmp_path, words, wrong):
    step = [*STEP]
    for flag, value in zip(words[::2], words[1::2]):
        if flag in step:
            step[step.index(flag) + 1] = str(value)
    if "llama3_70b" in map(str, words):
        step.remove("--num_layers")
        step.remove("8")
    more = [word for flag, value in zip(words[::2], words[1::2]) if flag not in STEP for word in (flag, value)]
    done, _ = run(tmp_path, *more, step=step)
    assert done.returncode == 2
    assert wrong in done.stderr and len(done.stderr.splitlines()) == 1
