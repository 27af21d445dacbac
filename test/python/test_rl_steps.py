# SPDX-License-Identifier: GPL-2.0-only
"""Published steps of reinforcement learning: the flags that estimate them, and the record of the documentation."""
import csv
import pathlib
import sys

import pytest
from script_process import run_script
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "lab")]

from clustersim.rl_step import lengths  # noqa: E402
from clustersim_lab.rl_steps import command  # noqa: E402


def record():
    with command.RECORD.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_answers_have_the_published_mean_after_the_longest_are_cut():
    mean = command.mean_output(3200, 2048, 4096)
    drawn = lengths.draw(command._distribution(mean), 2048, 4096 - command.PROMPT_TOKENS, command.SEED)
    assert command.PROMPT_TOKENS + sum(drawn) / len(drawn) == pytest.approx(3200, abs=2)


def test_a_step_is_the_layout_of_its_source():
    on, off = (command.flags(row) for row in command.read()[:2])
    assert on[on.index("--gpus") + 1] == "16" and "--rollout_gpus" not in on
    assert off[off.index("--rollout_gpus"):][:4] == ["--rollout_gpus", "8", "--train_gpus", "8"]
    assert off[-2:] == ["--gpu_memory_utilization", "0.8"]


def test_the_record_has_every_published_step_and_is_the_table_of_the_page():
    rows = record()
    published = command.read()
    assert [row["id"] for row in rows] == [row["id"] for row in published]
    for row, source in zip(rows, published):
        assert all(row[name] == value for name, value in source.items() if name != "step_s"), row["id"]
        assert row["published_s"] == source["step_s"]
        assert float(row["ratio"]) == pytest.approx(float(row["estimated_s"]) / float(row["published_s"]), abs=0.006)
    assert command.TABLE.read_text() == command.table(rows), "run lab/rl_steps.py --update"


def test_a_step_is_estimated_as_the_record_says(tmp_path):
    done = run_script([ROOT / "lab/rl_steps.py", "--only", "llama-8b-on", "-o", tmp_path], timeout=HANGS)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "rl_steps.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.DictReader(file)) == record()[:1]
    assert "0 of 1 within 20%" in done.stdout


def test_an_unknown_step_is_refused(tmp_path):
    refused = run_script([ROOT / "lab/rl_steps.py", "--only", "nobody", "-o", tmp_path], timeout=HANGS)
    assert refused.returncode == 2 and 'no row has "nobody" in its id' in refused.stderr
