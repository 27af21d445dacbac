# SPDX-License-Identifier: GPL-2.0-only
"""Instances that prefill and instances that decode may have different GPUs."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.workload.command import inference_command as inference  # noqa: E402

APART = ["--inference", "--model_name", "llama3_8b", "--prefill_gpus", "4", "--decode_gpus", "4", "--tp", "2",
         "--requests", "9", "--rate", "1", "--prompt_tokens", "99", "--output_tokens", "9"]


def sections(folder, *flags):
    """@return the lines of each pool, and the facts"""
    inference.run([*APART, *flags, "-o", str(folder), "--name", "serve"])
    text = (folder / "serve.txt").read_text()
    return [part.splitlines() for part in text.split("\ninstances ")[1:]], json.loads(
        (folder / "serve.json").read_text())


@pytest.mark.parametrize("engine", ["vLLM", "none"])
def test_each_pool_is_that_of_a_run_with_its_gpu_alone(tmp_path, engine):
    """Rows, times and blocks are those of a fleet of one kind; the engine's limits, too."""
    flags = ["--engine", engine]
    mixed, facts = sections(tmp_path / "mixed", *flags, "--prefill_gpu_type", "B200", "--decode_gpu_type", "A100")
    assert [pool["gpu_type"] for pool in facts["pools"]] == ["B200", "A100"]
    for number, gpu in enumerate(("B200", "A100")):
        alone, _ = sections(tmp_path / gpu, *flags, "--gpu_type", gpu)
        own = [line for line in mixed[number] if line.startswith(("row", "times", "num_gpu_blocks"))]
        assert own == [line for line in alone[number] if line.startswith(("row", "times", "num_gpu_blocks"))]
        text = (tmp_path / gpu / "serve.txt").read_text().splitlines()
        assert next(line for line in mixed[number] if line.startswith("gpu ")) in text
        written = (tmp_path / "mixed" / "serve.txt").read_text().split("\ninstances ")
        for key in ("max_num_seqs", "max_num_batched_tokens", "cudagraph_capture_sizes"):
            of_alone = [line for line in text if line.startswith(f"{key} ")]
            effective = [line for line in mixed[number] if line.startswith(f"{key} ")] or [
                line for line in written[0].splitlines() if line.startswith(f"{key} ")]
            assert effective == of_alone, key


def test_one_role_may_have_its_own(tmp_path):
    mixed, facts = sections(tmp_path, "--decode_gpu_type", "H200")
    assert [pool["gpu_type"] for pool in facts["pools"]] == ["H100", "H200"]
    assert not [line for line in mixed[0] if line.startswith("gpu ")]
    assert facts["pools"][1]["blocks"] > facts["pools"][0]["blocks"]


def test_a_given_limit_wins(tmp_path):
    mixed, _ = sections(tmp_path, "--decode_gpu_type", "A100", "--max_num_seqs", "33")
    assert not [line for line in mixed[1] if line.startswith("max_num_seqs")]


def test_says_what_is_wrong(tmp_path):
    with pytest.raises(InputError, match="--prefill_gpu_type has no effect without --prefill_gpus"):
        inference.run([*APART[:3], "--world_size", "4", *APART[7:], "--prefill_gpu_type", "H200", "-o", str(tmp_path)])
    with pytest.raises(InputError, match="X100"):
        sections(tmp_path, "--prefill_gpu_type", "X100")
