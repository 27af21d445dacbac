# SPDX-License-Identifier: GPL-2.0-only
"""Speculative decoding: a draft proposes tokens, and a step verifies them."""
import math
import pathlib

import pytest
from test_inference import generate, rows, simulate

LOAD = ("--world_size", 1, "--requests", 1, "--rate", 1, "--prompt_tokens", 1000, "--output_tokens", 201)
LLAMA = ("--model_name", "llama3_8b", *LOAD)


def tpot_us(place: pathlib.Path, *flags: object) -> float:
    place.mkdir()
    return float(rows(simulate(place, generate(place, *LLAMA, *flags)) / "requests.csv")[0]["tpot_us"])


def test_no_draft_leaves_the_file_as_it_is(tmp_path):
    assert generate(tmp_path, *LLAMA, "--speculative_tokens", 0) == generate(tmp_path, *LLAMA)


@pytest.mark.parametrize("flag", ["--speculative_tokens", "--num-speculative-tokens", "--speculative-num-steps"])
def test_a_draft_takes_the_share_of_one_layer(tmp_path, flag):
    assert "\nspeculative_decoding 3 0.8 0.03125\n" in generate(tmp_path, *LLAMA, flag, 3, "--acceptance", 0.8)


@pytest.mark.parametrize("engine", ["none", "vLLM"])
def test_steps_are_fewer_by_the_expected_tokens_and_longer_by_the_draft(tmp_path, engine):
    """Weights bound the step of one sequence of Llama 3 8B: three tokens more take about as long as one."""
    plain = tpot_us(tmp_path / "plain", "--engine", engine)
    drafts = ("--engine", engine, "--speculative_tokens", 3, "--acceptance", 0.8)
    expected = (1 - 0.8**4) / (1 - 0.8)
    free = tpot_us(tmp_path / "free", *drafts, "--draft_share", 0)
    steps = math.ceil(200 / expected)
    assert plain < free / steps * 200 < 1.35 * plain  # logits of three tokens of a draft, 7% of the weights each
    assert tpot_us(tmp_path / "draft", *drafts, "--draft_share", 1) > 3.5 / expected * plain


@pytest.mark.parametrize("engine", ["none", "vLLM"])
def test_a_verification_computes_all_its_tokens_where_many_sequences_decode(tmp_path, engine):
    """With 512 sequences, GEMMs are bound by operations: rejected drafts cost their time."""
    many = ("--engine", engine, "--requests", 512, "--rate", "inf", "--max_num_seqs", 512, "--prompt_tokens", 16)
    plain = tpot_us(tmp_path / "plain", *many)
    assert tpot_us(tmp_path / "drafts", *many, "--speculative_tokens", 3, "--acceptance", 0) > 2 * plain


@pytest.mark.parametrize("flags, said", [
    (("--speculative_tokens", 3), "--speculative_tokens needs --acceptance; expected the probability"),
    (("--acceptance", 0.5), "--acceptance has no effect without --speculative_tokens"),
    (("--draft_share", 0.5), "--draft_share has no effect without --speculative_tokens"),
    (("--speculative_tokens", 3, "--acceptance", 1.1),
     '--acceptance "1.1" is not valid; expected a number from 0 to 1'),
    (("--speculative_tokens", 65, "--acceptance", 0.5), "expected a whole number from 0 to 64")])
def test_flags_are_refused_in_one_line(tmp_path, flags, said):
    text = generate(tmp_path, *LLAMA, *flags, status=2)
    assert said in text and text.count("\n") == 1
