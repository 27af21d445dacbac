# SPDX-License-Identifier: GPL-2.0-only
"""Serving of models whose layers keep states of sequences, or attend to some of the tokens before them."""
import json
import pathlib
import sys

import pytest
from test_inference import generate, rows, simulate

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.workload.kernels import gpus  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402
from clustersim.workload.serve.instance import Instance  # noqa: E402
from clustersim.workload.model.reach import Chosen, Chunks, Entries  # noqa: E402
from clustersim.workload.serve.times import with_reaches  # noqa: E402
from clustersim.workload.training import memory  # noqa: E402

H100 = gpus.find("H100", kernels="roofline")
RATE = H100.memory_gbps * H100.stream
SIZES = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 4, "num_attention_heads": 8,
         "num_key_value_heads": 8,
         "head_dim": 128, "vocab_size": 32000}
HYBRID = {**SIZES, "model_type": "granitemoehybrid", "layer_types": ["mamba", "mamba", "attention", "mamba"],
          "mamba_n_heads": 32,
          "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_d_conv": 4, "mamba_chunk_size": 256}
SPARSE = {**SIZES, "model_type": "deepseek_v32", "q_lora_rank": 256, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
          "qk_rope_head_dim": 64,
          "v_head_dim": 128, "index_n_heads": 4, "index_head_dim": 128, "index_topk": 256}
ONE = ("--world_size", 1, "--requests", 1, "--rate", 1e6)


def served(place, keys, *flags):
    """@return the text of the INFERENCE file, and the request's and the instance's row of its run"""
    place.mkdir()
    (place / "config.json").write_text(json.dumps(keys))
    star = place / "pair"
    star.write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    text = generate(place, "--config", place / "config.json", *ONE, *flags)
    run = simulate(place, text, topology=star, network="analytical")
    return text, rows(run / "requests.csv")[0], rows(run / "instances.csv")[0]


@pytest.mark.parametrize("reach, attended", [
    (Chunks(512), lambda token: token % 512 + 1),
    (Chosen(512), lambda token: min(token + 1, 512)),
    (Entries(128, 0, 0), lambda token: min(token + 1, 128)),
    (Entries(128, 4, 256), lambda token: min(token + 1, 128) + min(token / 4, 256)),
    (Entries(128, 128, 0), lambda token: min(token + 1, 128) + token / 128)])
@pytest.mark.parametrize("tokens", [100, 1000, 8192])
def test_a_prompt_s_tokens_reach_what_their_attention_does(reach, attended, tokens):
    # Full attention reaches half of the tokens on average, and steps know that.
    assert reach.of_prompt(tokens / 2) == pytest.approx(sum(map(attended, range(tokens))) / tokens, rel=0.02)
    if not isinstance(reach, Chunks):
        assert reach.of_decoding(tokens) == pytest.approx(attended(tokens), rel=0.02)


@pytest.mark.parametrize("lengths, cached, reached", [
    ((8192, 1024), 8704, 512), ((32768, 1024), 33000, 232), ((1000, 1000), 1500, 1500), ((1024, 8192), 9000, 4096),
    ((1024, 8192), 4000, 4000),
    (None, 33000, 4096)])
def test_decoding_sequences_reach_their_place_in_a_chunk_or_its_half(lengths, cached, reached):
    assert Chunks.of_requests(8192, lengths).of_decoding(cached) == reached


def test_a_decoding_sequence_reads_and_writes_its_states():
    instance = Instance(catalogue.find("nemotron_h_8b"), 2, tp=2)
    scans = [row for row in with_reaches(instance.rows(), H100, 8192, 256) if row.scan]
    state = 4 * 64 * 64 * 128 + 2 * 3 * (64 * 64
                                         + 8 * 128)  # of 64 of the 128 heads: a float32 each; of channels three tokens
    moved = 2 * (4096 + 2 * 4 * 128 + 4096)  # what goes in and the result
    assert len(scans) > 20
    for row in scans:
        assert 2 * state + moved < row.figures[2] * RATE < 1.05 * (2 * state + moved)


def test_states_and_the_cache_of_attention_share_the_memory():
    model = catalogue.find("qwen3_next_80b_a3b")  # 12 of 48 layers attend, with 2 heads of 256
    instance = Instance(model, 4, tp=2, ep=2)
    weights = sum(instance.weight_bytes(operator) for block in memory.stage_operators(model, instance.one_token, 0)[0]
                  for operator in block)
    states = 36 * (4 * 32 * 128 * 128 + 2 * 3 * (2 * 2048 + 4096)) / 2
    few, many = (instance.blocks(gpus.find("H200"), 0.9, 16, 2048, sequences) for sequences in (64, 128))
    block = 16 * 12 * 2 * 256 * 2
    logits = 64 * 4 * model.vocabulary
    assert (few - many) * block == pytest.approx(64 * states + logits, rel=0.001)
    assert weights + few * block < 0.9 * gpus.find("H200").memory_bytes
    with pytest.raises(InputError, match="the states of 4096 sequences .* expected more GPUs .* or a smaller "
                       "--max_num_seqs"):
        instance.blocks(gpus.find("H200"), 0.9, 16, 2048, 4096)


def test_a_hybrid_keeps_the_tokens_of_its_attention(tmp_path):
    text, _, instance = served(tmp_path / "hybrid", HYBRID, "--prompt_tokens", 1600, "--output_tokens", 2)
    assert int(instance["peak_blocks"]) == -(-1601 // 16)
    assert "enable_prefix_caching 0" in text and "\nwindow" not in text
    facts = json.loads((tmp_path / "hybrid/w.json").read_text())["pools"][0]
    assert facts["cache_bytes_per_token_and_rank"] == 2 * 8 * 128 * 2
    assert facts["state_bytes_per_sequence_and_rank"] == 3 * (4 * 2048 * 128 + 2 * 3 * (2048 + 256))


def test_an_indexer_reads_all_keys_and_attention_what_it_chooses(tmp_path):
    short, long = (served(tmp_path / str(tokens), SPARSE, "--prompt_tokens", tokens, "--output_tokens", 2)[1]
                   for tokens in (1600, 6400))
    scores = 2 * 128 * (6401 - 1601) / RATE  # bytes of keys: more time than the scores of 4 heads
    assert float(long["decode_us"]) - float(short["decode_us"]) == pytest.approx(4 * scores / 1e3, rel=0.01)


@pytest.mark.parametrize("keys, flags, message", [
    (HYBRID, ("--enable_prefix_caching", 1), "layers with a state, for which prefix caching is not modelled"),
    (HYBRID, ("--preemption_mode", "swap"), "layers with a state, for which swapping is not modelled"),
    ({**SIZES, "model_type": "llama", "num_key_value_heads": [8, 8, 4, 4]}, ("--preemption_mode", "swap"),
     "layers that keep different numbers of bytes"),
    ({**HYBRID, "mamba_n_heads": 33, "mamba_d_ssm": 2112}, ("--tp", 2, "--world_size", 2),
     "does not divide 33 heads of state-space layers")])
def test_what_states_do_not_allow_is_refused(keys, flags, message, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(keys))
    error = generate(tmp_path, "--config", tmp_path / "config.json", *ONE, "--prompt_tokens", 9, "--output_tokens", 1,
                     *flags, status=2)
    assert message in error and "; expected " in error and len([line for line in error.splitlines()
        if ": warning: " not in line]) == 1


def test_states_do_not_move_between_instances(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(HYBRID))
    error = generate(tmp_path, "--config", tmp_path / "config.json", "--prefill_gpus", 1, "--decode_gpus", 1,
                     "--requests", 1, "--rate", 1,
                     "--prompt_tokens", 9, "--output_tokens", 1, status=2)
    assert "layers with a state, whose transfers are not modelled" in error
