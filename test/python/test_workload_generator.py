# SPDX-License-Identifier: GPL-2.0-only
"""Workloads from a model's name: sizes against published figures, rows against AICB's files, runs of what is
written."""
import csv
import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import pytest
from others_files import OTHERS_FILES
from script_process import run_script

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "python"), str(REPOSITORY / "lab")]

from clustersim.errors import InputError  # noqa: E402
from clustersim_lab.outcomes import facts, runs  # noqa: E402
from clustersim.workload.command import training_command  # noqa: E402
from clustersim.workload.flags import model_flags  # noqa: E402
from clustersim.workload.kernels import gpus, measured  # noqa: E402
from clustersim.workload.model import catalogue, operators  # noqa: E402
from clustersim.workload.model.transformer import Model  # noqa: E402
from clustersim.workload.plan import adapters, keeping, pipeline, schedules  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism  # noqa: E402
from clustersim.workload.reading import hugging_face  # noqa: E402
from clustersim.workload.training import megatron, memory, schedule  # noqa: E402
from clustersim.workload.write import aicb, layout, simai_text  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", REPOSITORY / "bin"))
H100 = gpus.find("H100", kernels="roofline")


def gpt(layers=4, hidden=1024, heads=16, vocabulary=32000, **others):
    return Model(**{**dict(name="gpt", layers=layers, hidden=hidden, heads=heads, kv_heads=heads,
                           head_dim=hidden // heads,
                           ffn=4 * hidden, vocabulary=vocabulary, gated=False), **others})


def generate(*arguments, status=0):
    done = run_script([REPOSITORY / "scripts/workload.py", *map(str, arguments)])
    assert done.returncode == status, done.stderr
    return done


def run(program, *arguments):
    subprocess.run([PROGRAMS / program, *map(str, arguments)], check=True, capture_output=True, text=True)


def total_us(directory):
    """The last row of EndToEnd.csv ends with the total time."""
    return float(list(csv.reader(open(directory / "EndToEnd.csv")))[-1][5])


# -- models


@pytest.mark.parametrize("name", catalogue.entries())
def test_models_have_their_published_number_of_parameters(name):
    entry = catalogue.entries()[name]
    counted = catalogue.find(name).parameters() / 1e9 + entry.get("outside", 0)
    assert counted == pytest.approx(entry["published"], rel=0.01)


@pytest.mark.parametrize("written, name", [("Llama_70B", "llama3_70b"), ("llama-3-405B", "llama3_405b"),
                                           ("GPT-13B", "gpt_13b"),
                                           ("DeepSeek_671B", "deepseek_v3"), ("Mixtral_8*7B", "mixtral_8x7b"),
                                           ("meta-llama/Llama-3.1-8B-Instruct", "llama3_8b"),
                                           ("meta-llama/Meta-Llama-3-70B", "llama3_70b"),
                                           ("meta-llama/Llama-2-7b-chat-hf", "llama2_7b"),
                                           ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral_8x7b"),
                                           ("Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3_30b_a3b"),
                                           ("google/gemma-3-27b-it", "gemma3_27b"),
                                           ("deepseek-ai/DeepSeek-V3-0324", "deepseek_v3"),
                                           ("deepseek-ai/DeepSeek-R1", "deepseek_v3"),
                                           ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek_v3.2"),
                                           ("moonshotai/Kimi-K2-Instruct", "kimi_k2"),
                                           ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama4_scout")])
def test_models_are_found_by_what_others_call_them(written, name):
    assert catalogue.find(written).name == name


def test_models_of_other_sizes_are_not_taken_for_those_of_the_catalogue():
    for name in ("Qwen/Qwen3-32B-FP8", "meta-llama/Llama-3.2-8B", "deepseek-ai/DeepSeek-R1-Distill-Llama-70B",
                 "google/gemma-3-27b-it-qat", "org/", "7/8"):
        assert not catalogue.has(name)


def test_active_parameters_are_those_that_the_authors_name():
    # arXiv 2412.19437: 37 billion of 671; model page of Qwen3-235B-A22B: 22 billion.
    assert catalogue.find("deepseek_v3").active_parameters() == pytest.approx(37e9, rel=0.02)
    assert catalogue.find("qwen3_235b_a22b").active_parameters() == pytest.approx(22e9, rel=0.03)


# Weights of 8 bits, with a scale for each block, as their publishers have them.
BLOCKS = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
CONFIGS = {
    "llama3_70b": dict(model_type="llama", hidden_size=8192, num_hidden_layers=80, num_attention_heads=64,
                       num_key_value_heads=8, intermediate_size=28672, vocab_size=128256, tie_word_embeddings=False),
    "mixtral_8x7b": dict(model_type="mixtral", hidden_size=4096, num_hidden_layers=32, num_attention_heads=32,
                         num_key_value_heads=8, intermediate_size=14336, vocab_size=32000, num_local_experts=8,
                         num_experts_per_tok=2, tie_word_embeddings=False),
    "qwen3_30b_a3b": dict(model_type="qwen3_moe", hidden_size=2048, num_hidden_layers=48, num_attention_heads=32,
                          num_key_value_heads=4, head_dim=128, intermediate_size=6144, moe_intermediate_size=768,
                          vocab_size=151936, num_experts=128, num_experts_per_tok=8, decoder_sparse_step=1,
                          tie_word_embeddings=False),
    "deepseek_v3": dict(model_type="deepseek_v3", hidden_size=7168, num_hidden_layers=61, num_attention_heads=128,
                        num_key_value_heads=128, intermediate_size=18432, moe_intermediate_size=2048, vocab_size=129280,
                        q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128,
                        n_routed_experts=256, n_shared_experts=1, num_experts_per_tok=8, first_k_dense_replace=3,
                        moe_layer_freq=1, topk_method="noaux_tc", tie_word_embeddings=False),
    "llama4_maverick": dict(model_type="llama4", text_config=dict(
        model_type="llama4_text", hidden_size=5120, num_hidden_layers=48, num_attention_heads=40, num_key_value_heads=8,
        head_dim=128, intermediate_size=8192, intermediate_size_mlp=16384, vocab_size=202048, num_local_experts=128,
        num_experts_per_tok=1, interleave_moe_layer_step=2, tie_word_embeddings=False)),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_hugging_face_configuration_gives_the_catalogue_s_model(name, tmp_path):
    path = tmp_path / "config.json"
    known = catalogue.find(name)
    path.write_text(json.dumps(CONFIGS[name] | (BLOCKS if known.fp8_block else {})))
    read = hugging_face.read(path)
    assert read.dict(exclude={"name"}) == known.dict(exclude={"name"})


@pytest.mark.parametrize("keys", [
    {"quantization_config": None}, {"quantization_config": {"quant_method": "fp8"}},
    {"quantization_config": {"quant_method": "fp8", "weight_block_size": None}}])
def test_floats_of_8_bits_have_a_scale_for_each_block_if_the_file_says_so(keys, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIGS["deepseek_v3"] | keys))
    assert not hugging_face.read(path).fp8_block
    path.write_text(json.dumps(CONFIGS["deepseek_v3"] | BLOCKS))
    assert hugging_face.read(path).fp8_block


GEMMA = dict(model_type="gemma3_text", hidden_size=5376, intermediate_size=21504, num_hidden_layers=62,
             num_attention_heads=32,
             num_key_value_heads=16, head_dim=128, vocab_size=262208, tie_word_embeddings=True)
SIX = [index % 6 != 5 for index in range(62)]  # five layers with a window, then one without


@pytest.mark.parametrize("keys, windowed", [
    (dict(sliding_window=1024), SIX),  # Gemma 3's own pattern
    (dict(sliding_window=1024, sliding_window_pattern=6), SIX),
    (dict(sliding_window=1024, layer_types=["sliding_attention" if w else "full_attention" for w in SIX]), SIX),
    (dict(sliding_window=1024, sliding_window_pattern="LLG"), [index % 3 != 2 for index in range(62)]),
    (dict(sliding_window=1024, model_type="mistral"), [True] * 62),
    (dict(sliding_window=None), [False] * 62),
    (dict(sliding_window=1024, model_type="qwen2", use_sliding_window=False), [False] * 62),
    (dict(sliding_window=1024, model_type="qwen2", use_sliding_window=True, max_window_layers=60),
     [False] * 60 + [True] * 2),
    (dict(sliding_window=1024, model_type="gemma2"), [index % 2 == 0 for index in range(62)]),
    (dict(model_type="llama4_text", attention_chunk_size=1024), [index % 4 != 3 for index in range(62)]),
    (dict(model_type="llama4_text", attention_chunk_size=1024, no_rope_layers=[1, 0] * 31),
     [index % 2 == 0 for index in range(62)]),
    (dict(model_type="gpt_neo", window_size=1024, attention_layers=["global", "local"] * 31),
     [index % 2 == 1 for index in range(62)]),
])
def test_a_configuration_says_which_layers_have_a_window(keys, windowed, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**GEMMA, **keys}))
    model = hugging_face.read(path)
    assert [model.has_window(layer) for layer in range(62)] == windowed
    assert not any(windowed) or model.window == 1024


@pytest.mark.parametrize("tokens, window, chunks", [(4096, 1024, False), (1024, 4096, False), (4096, 1024, True),
                                                    (5000, 1024, True)])
def test_a_token_attends_to_those_of_its_window(tokens, window, chunks):
    model = gpt(window=window, window_is_chunk=chunks)

    def attended(token):  # and itself
        return token % window + 1 if chunks else min(token + 1, window)
    assert model.attended(tokens, True) == pytest.approx(sum(map(attended, range(tokens))), rel=2 / min(window, tokens))
    assert model.attended(tokens, False) == tokens ** 2 / 2


def test_windows_count_in_the_work_of_their_layers_alone():
    # Scores and their product with the values: 2 x 2 x hidden operations for each token and one that it attends to.
    tokens, window, hidden = 8192, 512, 1024
    full, some = (gpt(layers=6, **keys) for keys in ({}, dict(window=window, windowed=(True, True, False))))
    plan = Parallelism(world_size=1, sequence=tokens)
    work = [megatron.Iteration(model, plan, H100).flops() for model in (full, some)]
    assert work[0] - work[1] == pytest.approx(3 * 4 * 4 * hidden * (tokens ** 2 / 2
        - (tokens * window - window ** 2 / 2)))
    assert full.parameters() == some.parameters()


@pytest.mark.parametrize("keys, message", [
    (dict(linear_attention_heads=16), '"linear_attention_heads" is not a key that this program knows'),
    (dict(layer_types=["full_attention"] * 61), "the kinds of attention are not those of 62 layers"),
    (dict(layer_types=["linear_attention"] * 62), "there is no linear_num_key_heads"),
    (dict(layer_types=["retention"] * 62), '"retention" is not a kind of attention'),
    (dict(window_groups={"sizes": [64, 128]}), '"window_groups" is not a key that this program knows'),
    (dict(mlp_bias=True), "mlp_bias true without attention_bias is not supported"),
    (dict(model_type="opt", word_embed_proj_dim=512), "word_embed_proj_dim 512 is not supported"),
    (dict(model_type="minimax_m2", attn_type_list=[0] * 61), "attn_type_list is not of 62 layers"),
    (dict(model_type="starcoder2", mlp_type="gated"), 'mlp_type "gated" is not supported'),
    (dict(is_encoder_decoder=True), "is_encoder_decoder is true"),
    (dict(total_ut_steps=4), '"total_ut_steps" is not a key that this program knows'),
    (dict(sliding_window=[None, 1024] * 31), "sliding_window [null, 1024"),
    (dict(model_type="jetmoe"), "experts of attention"),
])
def test_a_key_that_changes_work_is_never_ignored(keys, message, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({**GEMMA, **keys}))
    done = generate("--config", tmp_path / "config.json", "--world_size", 8, "-o", tmp_path, status=2)
    assert message in done.stderr and "; expected " in done.stderr and done.stderr.count("\n") == 1


def test_keys_without_effect_are_read_and_those_that_one_expects_to_count_are_told(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({
        **GEMMA, "num_hidden_layers": 2, "rope_theta": 1e6, "rms_norm_eps": 1e-6, "eos_token_id": 1,
        "torch_dtype": "bfloat16",
        "attention_dropout": 0.1, "query_pre_attn_scalar": 168, "use_cache": True, "_name_or_path": "a/b",
        "architectures": ["A"],
        "quantization_config": {"quant_method": "mxfp4"}, "diversity_penalty": 0.0, "use_future_switch": True}))
    done = generate("--config", tmp_path / "config.json", "--world_size", 8, "-o", tmp_path)
    start = f"warning: {tmp_path}/config.json: "
    assert done.stderr == (f"{start}quantization_config has no effect: --dtype gives the type of matrix products "
                           "(weight_block_size, their scales)\n"
                           f"{start}use_future_switch has no effect: this program does not know it\n")


@pytest.mark.parametrize("family, is_told", [("gemma3_text", False), ("Dream", False), ("swirl", True)])
def test_a_family_that_counts_as_llama_s_is_told(family, is_told, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({**GEMMA, "model_type": family}))
    told: list[str] = []
    hugging_face.read(tmp_path / "config.json", told.append)
    assert [line for line in told if "model_type" in line] == [
        f'{tmp_path}/config.json: model_type "{family}" is not a family that this program knows: its layers count as '
        "Llama's"] * is_told


@pytest.mark.parametrize("flags, field, value", [
    (["--swiglu"], "gated", True), (["--gated_linear_unit"], "gated", True), (["--add_bias_linear"], "bias", True),
    (["--max_position_embeddings", 4096], "positions", 4096), (["--vocab_size", 1000], "vocabulary", 1000),
    (["--ffn_hidden_size", 4096], "ffn", 4096), (["--num_query_groups", 8], "kv_heads", 8),
    (["--kv_channels", 64], "head_dim", 64)])
def test_flags_of_a_model_change_one_of_the_catalogue(flags, field, value):
    name = "llama2_7b" if field == "bias" else "gpt_13b"
    given = training_command.make_parser("").parse_args(["--model_name", name, *map(str, flags)])
    model, known = model_flags.find_model(given), catalogue.find(name)
    assert getattr(model, field) == value != getattr(known, field)
    assert model.parameters() != known.parameters()


def model_of(*flags):
    return model_flags.find_model(training_command.make_parser("").parse_args([*map(str, flags)]))


@pytest.mark.parametrize("name", catalogue.entries())
def test_a_size_that_the_named_model_has_changes_nothing(name):
    known = catalogue.find(name)
    own = {flag: getattr(known, field) for flag, field in model_flags.SIZES.items()}
    own |= {flag: getattr(sizes, field) for _, sizes in known.sizes for flag, field in sizes.flags.items()}
    for flag, value in own.items():
        assert model_of("--model_name", name, flag, value) == known, flag
    assert model_of("--model_name", name, *(word for each in own.items() for word in each)) == known


def test_a_size_that_a_configuration_has_changes_nothing(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(GEMMA))
    named = ["--config", tmp_path / "config.json"]
    assert model_of(*named, "--hidden_size", 5376, "--num_attention_heads", 32, "--num_layers", 62) == model_of(*named)


@pytest.mark.parametrize("name, flags, expected", [
    ("llama3_8b", ["--num_attention_heads", 16], dict(heads=16, kv_heads=8,
                                                      head_dim=256)),  # heads share out the hidden size of 4096
    ("llama3_8b", ["--hidden_size", 2048], dict(hidden=2048, kv_heads=8, head_dim=64, ffn=14336)),
    ("llama2_7b", ["--num_attention_heads", 16], dict(kv_heads=16, head_dim=256)),  # as many key-value heads as heads
    ("gemma3_4b", ["--num_attention_heads", 16], dict(kv_heads=4, head_dim=256)),  # 2560 / 8 is not 256: its own
    ("gpt_175b", ["--num_layers", 8, "--hidden_size", 6144, "--num_attention_heads", 48],
     dict(kv_heads=48, head_dim=128, ffn=4 * 6144)),
    ("mixtral_8x7b", ["--num_layers", 4, "--hidden_size", 2048, "--num_attention_heads", 16],
     dict(experts=8, experts_per_token=2, kv_heads=8)),
    ("mixtral_8x7b", ["--ffn_hidden_size", 8192], dict(ffn=8192, expert_ffn=8192)),
    ("mixtral_8x7b", ["--ffn_hidden_size", 8192, "--moe_ffn_hidden_size", 512], dict(ffn=8192, expert_ffn=512)),
    ("deepseek_v3", ["--ffn_hidden_size", 8192], dict(ffn=8192, expert_ffn=2048)),
    ("llama2_7b", ["--num_experts", 8, "--moe_router_topk", 2], dict(experts=8, expert_ffn=11008)),
    ("llama2_7b", ["--num_experts", 8], dict(experts=8, experts_per_token=1, expert_ffn=11008)),
    ("llama2_7b", ["--num_experts", 1], dict(experts=0))])
def test_derived_sizes_follow_flags_and_others_stay(name, flags, expected):
    known = catalogue.find(name)
    changed = {model_flags.SIZES[flag]: value for flag, value in zip(flags[::2], flags[1::2])}
    assert model_of("--model_name", name, *flags) == known.copy(update={**changed, **expected})


def test_a_name_outside_the_catalogue_with_all_sizes_is_a_new_model():
    model = model_of("--model_name", "mine", "--num_layers", 4, "--hidden_size", 1024, "--num_attention_heads", 16)
    assert model == gpt(name="mine", positions=0)
    with pytest.raises(InputError, match='"mine" is not a model of the catalogue'):
        model_of("--model_name", "mine", "--num_layers", 4, "--hidden_size", 1024)


def test_one_size_for_all_heads_is_idle_with_latent_attention(capsys):
    model_of("--model_name", "deepseek_v3", "--kv_channels", 100)
    assert "--kv_channels has no effect: latent attention has sizes of its own" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--tp", "--pp", "--cp"])
def test_a_degree_of_parallelism_is_at_least_1(flag, tmp_path):
    done = generate("--model_name", "llama3_8b", "--world_size", 8, flag, 0, "-o", tmp_path, status=2)
    assert done.stderr == f"workload.py: {flag[2:]} is 0; expected at least 1\n"


def test_the_zero_of_deepspeed_with_a_pipeline_is_told(tmp_path):
    done = generate("--model_name", "llama3_8b", "--frame", "DeepSpeed", "--world_size", 16, "--tp", 4, "--pp", 2,
                    "--global_batch", 32, "--force", "-o", tmp_path)
    assert "warning: ZeRO-3 of --frame DeepSpeed has no effect: with a pipeline" in done.stderr


def test_the_width_of_dense_layers_is_idle_without_them(capsys):
    assert model_of("--model_name", "qwen3_30b_a3b", "--ffn_hidden_size", 8192).expert_ffn == 768
    assert "--ffn_hidden_size has no effect: every MLP of the model is one of experts" in capsys.readouterr().err


@pytest.mark.parametrize("flags, warning", [
    (["--tp", 4, "--tp", 2], "--tp replaces the --tp before it"),
    (["--tp", 4, "--tensor_model_parallel_size=2"], "--tensor_model_parallel_size replaces the --tp before it"),
    (["--tp", 2, "--swiglu", "--swiglu"], None)])
def test_a_value_that_a_later_one_replaces_is_told(flags, warning, tmp_path):
    done = generate("--model_name", "llama2_7b", "--num_layers", 2, "--world_size", 8, *flags, "-o", tmp_path)
    assert done.stderr == (f"workload.py: warning: {warning}\n" if warning else "")
    assert any(" model_parallel_NPU_group: 2 " in path.read_text() for path in tmp_path.glob("*.txt"))


def test_sizes_that_say_nothing_about_a_model_are_named(tmp_path):
    done = generate("--model_name", "llama2_7b", "--num_layers", 2, "--world_size", 8, "--topk", 2, "--n_shared_expert",
                    1,
                    "--max_position_embeddings", 4096, "-o", tmp_path)
    assert done.stderr.splitlines() == [
        "workload.py: warning: --moe_router_topk has no effect: the model has no experts",
        "workload.py: warning: --n_shared_expert has no effect: the model has no experts",
        "workload.py: warning: --max_position_embeddings has no effect: rotary positions have no weights"]


@pytest.mark.parametrize("text, message", [
    ("{", "config.json:1:"),
    ("[]", "config.json:1: not an object"),
    ('{"model_type": "llama"}', "there is no hidden_size"),
    ('{"model_type": "xlstm", "hidden_size": 1}', "recurrent layers"),
    ('{"model_type": "nemotron_h", "hidden_size": 64, "hybrid_override_pattern": "MX"}', '"X" is not a kind of block'),
    ('{"model_type": "t5gemma", "hidden_size": 64}', "an encoder"),
    ('{"hidden_size": 64, "num_hidden_layers": 0, "num_attention_heads": 4, "vocab_size": 9}',
     "num_hidden_layers 0 is not a number"),
    ('{"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "vocab_size": 9, "intermediate_size": '
     '1e308}', "ffn is not a size"),
    ('{"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": [4], "vocab_size": 9}',
     "num_attention_heads is not of 2 layers"),
    ('{"hidden_size": 64, "num_hidden_layers": "many", "num_attention_heads": 4, "vocab_size": 9}',
     'num_hidden_layers "many" is not a number'),
    ('{"hidden_size": 64, "num_hidden_layers": -1, "num_attention_heads": 4, "vocab_size": 9}', "layers"),
    ('{"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "vocab_size": "x"}', "vocabulary"),
])
def test_a_configuration_that_is_none_is_refused_in_one_line(text, message, tmp_path):
    (tmp_path / "config.json").write_text(text)
    done = generate("--config", tmp_path / "config.json", "--world_size", 8, "-o", tmp_path, status=2)
    assert message in done.stderr and "; expected " in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
                                 "head_dim", "vocab_size",
                                 "intermediate_size", "num_local_experts", "num_experts_per_tok",
                                 "moe_intermediate_size"])
@pytest.mark.parametrize("value", [1.5, "8", True])
def test_a_size_that_is_no_whole_number_is_refused(key, value, tmp_path):
    sizes = {"model_type": "mixtral", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 4, "head_dim": 16,
             "vocab_size": 96, "intermediate_size": 128, "num_local_experts": 8, "num_experts_per_tok": 2,
             "moe_intermediate_size": 128}
    (tmp_path / "config.json").write_text(json.dumps(sizes | {key: value}))
    done = generate("--config", tmp_path / "config.json", "--world_size", 1, "-o", tmp_path, status=2)
    assert done.stderr.count("\n") == 1 and "config.json: " in done.stderr
    assert "whole number" in done.stderr or "is not a number of layers" in done.stderr, done.stderr
    (tmp_path / "config.json").write_text(json.dumps(sizes))
    generate("--config", tmp_path / "config.json", "--world_size", 1, "-o", tmp_path)


def test_a_dense_layer_has_columns(tmp_path):
    sizes = {"model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
             "vocab_size": 96, "intermediate_size": 0,
             "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 128}
    for dense, status in (([], 0), ([1], 2)):
        (tmp_path / "config.json").write_text(json.dumps(sizes | {"mlp_only_layers": dense}))
        done = generate("--config", tmp_path / "config.json", "--world_size", 1, "-o", tmp_path, status=status)
    assert "intermediate_size 0 is not a size; expected a whole number of at least 1\n" in done.stderr


# -- operators, memory and time


@pytest.mark.parametrize("name", ["gpt_13b", "llama3_8b", "mixtral_8x7b", "deepseek_v2_lite", "llama4_maverick"])
def test_operators_hold_every_parameter_once(name):
    model = catalogue.find(name)
    plan = Parallelism(world_size=1)
    layers, ends = memory.stage_operators(model, plan, 0)
    assert sum(o.parameters for layer in [*layers, ends] for o in layer) == model.parameters()


def test_tensor_and_expert_parallelism_shard_matrices_and_copy_norms():
    model = catalogue.find("mixtral_8x7b")
    whole = {o.name: o.parameters for o in operators.layer(model, Parallelism(world_size=1), 0)}
    plan = Parallelism(world_size=16, tp=4, ep=4, sequence_parallel=True)
    part = {o.name: o.parameters for o in operators.layer(model, plan, 0)}
    assert part["qkv"] * 4 == whole["qkv"]
    assert part["expert_up"] * 16 == whole["expert_up"]
    assert part["input_norm"] == whole["input_norm"]


@pytest.mark.parametrize("tp, sequence_parallel, constant", [(1, False, 32), (8, False, 8 + 24 / 8), (8, True, 32 / 8)])
def test_activations_of_a_gpt_layer_are_those_of_korthikanti(tp, sequence_parallel, constant):
    # arXiv 2205.05198, table 2, without the scores, which fused attention does not keep, and the dropout masks (2 sbh).
    model = gpt()
    plan = Parallelism(world_size=tp, tp=tp, sequence_parallel=sequence_parallel, sequence=2048, micro_batch=3)
    kept = sum(o.kept for o in operators.layer(model, plan, 0))
    assert kept == pytest.approx(constant * 2048 * 3 * 1024)


def test_selective_recomputation_drops_the_outputs_of_norms_and_activation_functions():
    # Of 32 sbh two outputs of norms (2 sbh each) and one of the activation function (8 sbh) need not be kept.
    model = gpt(layers=2)
    plans = [Parallelism(world_size=1, recompute=kind, sequence=2048) for kind in ("none", "selective")]
    whole, less = (memory.needed(model, plan).activations for plan in plans)
    assert whole - less == pytest.approx(2 * 12 * 2048 * 1024)
    rows = [{r.name: r for r in megatron.Iteration(model, plan, H100).stage_rows(0)} for plan in plans]
    activation = next(o for o in operators.layer(model, plans[0], 0) if o.name == "mlp_activation")
    norm = next(o for o in operators.layer(model, plans[0], 0) if o.name == "post_norm")
    added = rows[1]["mlp_column_0"].input_ns - rows[0]["mlp_column_0"].input_ns
    assert added == pytest.approx(H100.times_ns(activation)[0] + H100.times_ns(norm)[0])


LAYER = dict(world_size=8, tp=1, sequence=1024)


def row_of(name, **sizes):
    rows = [row for chunk in megatron.Iteration(gpt(), Parallelism(**{**LAYER, **sizes}), H100).chunks(0)
            for row in chunk]
    return next(row for row in rows if row.name == name)


def kept_of(model=None, **sizes):
    """Activations of a plan, without those of the ends."""
    model, plan = model or gpt(), Parallelism(**{**LAYER, **sizes})
    _, ends = memory.stage_operators(model, plan, 0)
    return memory.of_stage(model, plan, 0).activations - sum(operator.kept for operator in ends)


# Files as their authors write them, shortened to what says something about sizes, and published parameters (10^9).
FAMILIES = {
    "mpt": (dict(d_model=4096, n_heads=32, n_layers=32, expansion_ratio=4, max_seq_len=2048, vocab_size=50432,
                 no_bias=True,
                 attn_config=dict(alibi=True, attn_impl="torch")), 6.65),
    "bloom": (dict(n_embed=14336, n_layer=70, num_attention_heads=112, vocab_size=250880), 176.25),
    "falcon": (dict(hidden_size=8192, num_attention_heads=128, num_hidden_layers=60, num_kv_heads=8, vocab_size=65024,
                    bias=False,
                    new_decoder_architecture=True), 41.3),
    "dbrx": (dict(d_model=6144, n_heads=48, n_layers=40, vocab_size=100352,
                  attn_config=dict(clip_qkv=8, kv_n_heads=8, rope_theta=5e5),
                  ffn_config=dict(ffn_hidden_size=10752, moe_num_experts=16, moe_top_k=4)), 131.6),
    "gemma2": (dict(hidden_size=4608, intermediate_size=36864, num_attention_heads=32, head_dim=128,
                    num_hidden_layers=46,
                    num_key_value_heads=16, sliding_window_size=4096, vocab_size=256000), 27.2),
    "starcoder2": (dict(hidden_size=6144, intermediate_size=24576, num_attention_heads=48, num_hidden_layers=40,
                        num_key_value_heads=4,
                        vocab_size=49152, use_bias=True, mlp_type="default"), 15.66),
    "ernie4_5_moe": (dict(hidden_size=8192, intermediate_size=28672, num_attention_heads=64, num_hidden_layers=54,
                          num_key_value_heads=8,
                          vocab_size=103424, moe_num_experts=64, moe_k=8, moe_intermediate_size=3584,
                          moe_layer_start_index=3,
                          moe_layer_end_index=53, moe_num_shared_experts=0), 300.0),
    "hunyuan_v1_moe": (dict(hidden_size=4096, intermediate_size=3072, num_attention_heads=32, num_hidden_layers=32,
                            num_key_value_heads=8,
                            vocab_size=128167, num_experts=64, moe_topk=[8] * 32, moe_intermediate_size=[3072] * 32,
                            num_shared_expert=[1] * 32), 80.9),
    "glm4_moe": (dict(hidden_size=5120, intermediate_size=12288, num_attention_heads=96, head_dim=128,
                      num_hidden_layers=92,
                      num_key_value_heads=8, vocab_size=151552, attention_bias=True, n_routed_experts=160,
                      n_shared_experts=1,
                      num_experts_per_tok=8, moe_intermediate_size=1536, first_k_dense_replace=3,
                      moe_layer_freq=[0] * 3 + [1] * 89), 352.8),
}


@pytest.mark.parametrize("kind", FAMILIES)
def test_files_of_many_families_are_read_by_their_own_names(kind, tmp_path):
    keys, published = FAMILIES[kind]
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind, **keys}))
    assert hugging_face.read(tmp_path / "config.json").parameters() / 1e9 == pytest.approx(published, rel=0.005)


def test_hybrid_configurations_give_the_catalogue_s_models(tmp_path):
    super_ = catalogue.find("nemotron_3_super")
    keys = {"model_type": "nemotron_h", "hidden_size": 4096, "hybrid_override_pattern": super_.pattern,
            "num_hidden_layers": 88,
            "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 2688,
            "vocab_size": 131072,
            "mamba_num_heads": 128, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4,
            "chunk_size": 128,
            "n_routed_experts": 512, "num_experts_per_tok": 22, "moe_intermediate_size": 2688, "moe_latent_size": 1024,
            "moe_shared_expert_intermediate_size": 5376, "n_shared_experts": 1, "n_group": 1, "mlp_hidden_act": "relu2",
            "tie_word_embeddings": False, "mamba_proj_bias": False, "use_conv_bias": True, "expand": 2}
    (tmp_path / "config.json").write_text(json.dumps(keys))
    assert hugging_face.read(tmp_path / "config.json").copy(update={"name": super_.name}) == super_
    blocks = ["mamba" if letter == "M" else "moe" if letter == "E" else "attention" for letter in super_.pattern]
    (tmp_path / "config.json").write_text(json.dumps({**keys, "hybrid_override_pattern": None,
                                                      "num_hidden_layers": None,
                                                      "layers_block_type": blocks}))
    assert hugging_face.read(tmp_path / "config.json").pattern == super_.pattern
    next_ = catalogue.find("qwen3_next_80b_a3b")
    keys = {"model_type": "qwen3_next", "hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 16,
            "num_key_value_heads": 2,
            "head_dim": 256, "intermediate_size": 5120, "vocab_size": 151936, "linear_num_key_heads": 16,
            "linear_key_head_dim": 128,
            "linear_num_value_heads": 32, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
            "full_attention_interval": 4,
            "num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512,
            "shared_expert_intermediate_size": 512,
            "decoder_sparse_step": 1, "mlp_only_layers": []}
    (tmp_path / "config.json").write_text(json.dumps(keys | BLOCKS))
    assert hugging_face.read(tmp_path / "config.json").copy(update={"name": next_.name}) == next_


def test_sparse_configurations_give_the_catalogue_s_models(tmp_path):
    experts = {"num_experts_per_tok": 8, "n_routed_experts": 256, "n_shared_experts": 1, "moe_intermediate_size": 2048,
               "topk_method": "noaux_tc",
               "vocab_size": 129280, "index_n_heads": 64, "index_head_dim": 128, "tie_word_embeddings": False}
    keys = {**experts, "model_type": "deepseek_v32", "hidden_size": 7168, "num_hidden_layers": 61,
            "num_attention_heads": 128,
            "num_key_value_heads": 128, "intermediate_size": 18432, "q_lora_rank": 1536, "kv_lora_rank": 512,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64, "v_head_dim": 128, "index_topk": 2048, "first_k_dense_replace": 3}
    (tmp_path / "config.json").write_text(json.dumps(keys | BLOCKS))
    assert hugging_face.read(tmp_path
                             / "config.json").copy(update={"name": "deepseek_v3.2"}) == catalogue.find("deepseek_v3.2")
    keys = {**experts, "model_type": "deepseek_v4", "hidden_size": 4096, "num_hidden_layers": 43,
            "num_attention_heads": 64, "head_dim": 512,
            "num_key_value_heads": 1, "q_lora_rank": 1024, "o_lora_rank": 1024, "o_groups": 8, "qk_rope_head_dim": 64,
            "sliding_window": 128,
            "index_topk": 512, "compress_ratios": [0, 0] + [4, 128] * 20 + [4, 0], "num_experts_per_tok": 6,
            "layer_types": ["compressed"] * 43, "hc_mult": 4, "num_hash_layers": 3}
    (tmp_path / "config.json").write_text(json.dumps(keys))
    assert hugging_face.read(tmp_path / "config.json").copy(update={"name": "deepseek_v4_flash"}) == catalogue.find(
        "deepseek_v4_flash"
    )


def test_an_indexer_bounds_what_a_token_attends_to():
    def flops(name, tokens):
        plan = Parallelism(world_size=1, sequence=tokens)
        of = {o.name: o.flops for o in operators.layer(catalogue.find(name), plan, 40)}
        return of["attention"], of.get("index_scores", 0)
    # Twice as many tokens: four times as many scores of the indexer, but (nearly) twice as much attention.
    (attention, scores), (more, more_scores) = flops("deepseek_v3.2", 32768), flops("deepseek_v3.2", 65536)
    assert more_scores == 4 * scores and more / attention == pytest.approx(2, rel=0.04)
    # Below 2,048 tokens each attends to all before it. A head has 512 + 64 columns of keys and 512 of values.
    assert flops("deepseek_v3.2", 2048)[0] == 2 * 2048 ** 2 / 2 * 128 * (576 + 512)
    # Layer 40 of V4 has entries of 4 tokens: a window of 128, and 512 of 1,024 entries.
    chosen = 4 * (1024 * 512 - 512 ** 2 / 2)
    assert flops("deepseek_v4_flash", 4096)[0] == 2 * (4096 * 128 - 128 ** 2 / 2 + chosen) * 64 * 1024


def test_residual_streams_are_read_written_kept_and_sent():
    model = catalogue.find("deepseek_v4_flash")
    plan = Parallelism(world_size=86, pp=43, sequence=1024)
    streams = [o for o in operators.layer(model, plan, 5) if o.name.endswith("_streams")]
    assert [o.bytes for o in streams] == [2 * 1024 * 4096 * (4 + 1 + 5
        + 4)] * 2 and streams[0].kept == 4 * 2 * 1024 * 4096
    assert megatron.Iteration(model, plan, H100).pipeline_bytes == 4 * 2 * 1024 * 4096


def test_a_state_space_layer_does_the_work_that_megatron_lm_counts():
    # Its num_floating_point_operations: products in and out, and 7 N for each token and channel of the scan, in which
    # chunks are not counted.
    model, tokens = catalogue.find("nemotron_h_8b"), 4096
    of = {o.name: o for o in operators.mixer(model, Parallelism(world_size=1, sequence=tokens), model.layer_kind(0))}
    width, groups, state, heads = 8192, 8, 128, 128
    assert of["mamba_in"].flops + of["mamba_out"].flops == 2 * tokens * 4096 * (2 * width + 2 * groups * state + heads
        + width)
    assert of["mamba_scan"].flops == pytest.approx(7 * tokens * width * state, rel=0.15)
    assert sum(o.parameters for o in of.values()) == model.mixer_parameters(model.layer_kind(0)) + model.norm_parameters


def test_linear_attention_takes_time_in_proportion_to_its_tokens():
    model = catalogue.find("qwen3_next_80b_a3b")
    short, long = ({o.name: o for o in operators.mixer(model, Parallelism(world_size=1, sequence=tokens),
                                                       model.layer_kind(0))} for tokens in (4096, 8192))
    assert all(long[name].flops == 2 * short[name].flops for name in short)
    # Beyond a few thousand tokens, less than attention of as many heads.
    attention = next(o for o in operators.mixer(model, Parallelism(world_size=1, sequence=8192), model.layer_kind(3))
                     if o.name == "attention")
    assert long["delta_scan"].flops < attention.flops


@pytest.mark.parametrize("name", ["nemotron_3_super", "qwen3_next_80b_a3b"])
@pytest.mark.parametrize("tp", [2, 8])
def test_tensor_parallelism_shards_heads_of_recurrent_layers(name, tp):
    model = catalogue.find(name)
    one, many = (operators.mixer(model, Parallelism(world_size=tp, tp=size, sequence_parallel=size > 1),
                                 model.layer_kind(0)) for size in (1, tp))
    for whole, part in zip(one, many):
        assert whole.flops == pytest.approx(tp * part.flops)
        if whole.kind == "matmul":
            assert whole.parameters == tp * part.parameters


def test_layers_that_predict_further_tokens_have_weights_work_and_a_loss():
    model = catalogue.find("deepseek_v3")
    more = model.copy(update={"predictions": 1})
    # 14 billion at Hugging Face, where they have an embedding and a head of their own.
    assert (more.parameters() - model.parameters() + 2 * 129280 * 7168) / 1e9 == pytest.approx(14, rel=0.05)
    plan = Parallelism(world_size=64, pp=2, ep=16, sequence=4096, micro_batch=1)
    plain, longer = (megatron.Iteration(m, plan, H100) for m in (model, more))
    layer = sum(o.flops for o in operators.layer(model, plan, 60))
    [logits] = [o for o in operators.head(model, plan) if o.name == "logits"]
    join = 2 * 4096 * 7168 * 2 * 7168
    added = 3 * (layer + logits.flops + join) * plan.micro_batches * plan.replicas
    assert longer.flops() - plain.flops() == pytest.approx(added)
    rows = [row for row in longer.chunks(1)[0] if row.name.startswith("prediction")]
    assert sum(row.name.endswith("cross_entropy1") for row in rows) == 1
    # Its head has the weights of the first one, so that gradients are reduced once.
    held = sum(row.weight.bytes for row in longer.chunks(1)[0]) - sum(row.weight.bytes for row in plain.chunks(1)[0])
    parts = model.prediction_parameters() - model.expert_parameters() * 15 / 16
    assert held == pytest.approx(4 * parts, rel=1e-3)


@pytest.mark.parametrize("modules, per_token", [
    (("layernorm",), 2 * 2 * 1024),  # the inputs of qkv and mlp_up
    (("mlp_act",), 2 * 4096),
    (("mlp",), 2 * (1024 + 4096 + 4096)),
    (("core_attn",), 0),  # fused attention keeps no scores
    (("layernorm", "mlp"), 2 * (2 * 1024 + 4096 + 4096)),
])
def test_a_module_that_is_computed_again_keeps_nothing(modules, per_token):
    saved = kept_of() - kept_of(recompute="selective", modules=modules)
    assert saved == 4 * 1024 * per_token  # layers, tokens
    rows = megatron.Iteration(gpt(), Parallelism(**LAYER, recompute="selective", modules=modules), H100).chunks(0)[0]
    again = [row.again for row in rows if row.again]
    assert again == ([2] * 4 if "mlp" in modules else [])


def test_core_attention_that_is_computed_again_takes_its_forward_pass_once_more():
    [attention] = [o for o in operators.layer(gpt(), Parallelism(**LAYER), 0) if o.name == "attention"]
    again = row_of("attention_column_0", recompute="selective", modules=("core_attn",)).input_ns
    assert again - row_of("attention_column_0").input_ns == pytest.approx(H100.times_ns(attention)[0])


def test_full_recomputation_of_some_layers_keeps_the_others_whole():
    one, none = kept_of(recompute="full", recompute_layers=1), kept_of()
    [norm, *_] = layer = operators.layer(gpt(), Parallelism(**LAYER), 0)
    whole = sum(o.kept for o in layer)
    # The first layer keeps its input alone.
    assert one == none - whole + norm.kept
    # Where the loss takes less memory than a layer, the first layer's is the most: the others are whole, and it is
    # computed again.
    small = gpt(vocabulary=100)
    ends = sum(o.kept for o in memory.stage_operators(small, Parallelism(**LAYER), 0)[1])
    assert kept_of(small, recompute="full", recompute_layers=1) + ends == none + norm.kept
    assert kept_of(recompute="full", recompute_layers=4) == kept_of(recompute="full")
    assert kept_of(offload_layers=4) == 0 and kept_of(offload_layers=1) == none - whole


def test_documents_that_share_a_sequence_do_not_attend_to_each_other():
    def flops(**sizes):
        return next(o.flops for o in operators.layer(gpt(), Parallelism(**LAYER, **sizes), 0) if o.name == "attention")
    # Half of a square each.
    assert flops(document=256) == pytest.approx(flops() / 4)


@pytest.mark.parametrize("name", ["llama4_scout", "gemma3_4b", "deepseek_v3.2", "deepseek_v4_flash",
                                  "qwen3_next_80b_a3b"])
def test_documents_of_a_sequence_are_as_much_work_as_sequences_of_their_own(name):
    def flops(layer, **sizes):
        plan = Parallelism(world_size=1, **sizes)
        return sum(o.flops for o in operators.layer(catalogue.find(name), plan, layer))
    for layer in range(4):
        assert flops(layer, sequence=65536, document=16384) == pytest.approx(
            flops(layer, sequence=16384, micro_batch=4, global_batch=4))


@pytest.mark.parametrize("name", ["deepseek_v3.2", "nemotron_3_nano", "deepseek_v3"])
@pytest.mark.parametrize("cut", [dict(tp=4, sequence_parallel=True), dict(cp=2, pp=2, virtual=2), dict(ep=8, zero=2),
                                 dict(pp=4, schedule="dualpipe"), dict(redundant_experts=8, ep=8)])
def test_operations_of_an_iteration_do_not_depend_on_how_a_model_is_cut(name, cut):
    def flops(**sizes):
        plan = Parallelism(world_size=32, sequence=4096, global_batch=256, **sizes)
        return megatron.Iteration(catalogue.find(name), plan, H100).flops()
    assert flops(**cut) == pytest.approx(flops(), rel=1e-9)


def test_adapters_train_few_weights_and_freeze_the_others():
    model, rank = gpt(), 16
    plan, whole = (Parallelism(**LAYER, zero=1, adapters=chosen)
                   for chosen in (adapters.make(rank, ["q_proj", "o_proj"]), None))
    parameters = 4 * rank * ((1024 + 3 * 1024) + (1024
                                                  + 1024))  # layers, inward and outward products of qkv and projection
    iteration, other = (megatron.Iteration(model, p, H100) for p in (plan, whole))
    reduced = sum(row.weight.bytes for chunk in iteration.chunks(0) for row in chunk)
    assert reduced == 4 * parameters
    used = memory.of_stage(model, plan, 0)
    assert used.gradients == 4 * parameters and used.optimizer == 12 * parameters / 8
    assert used.weights == memory.of_stage(model, whole, 0).weights + 2 * parameters
    # Frozen products have a forward pass and one for gradients of their inputs; attention has all three.
    attention = sum(o.flops for o in operators.layer(model, plan, 0) if o.kind == "attention")
    products = sum(o.flops for o in operators.layer(model, whole, 0) if o.kind == "matmul")
    thin = 2 * parameters / 4 * 1024
    [_, logits, _] = operators.head(model, plan)
    assert iteration.flops() == pytest.approx(8 * (4 * (3 * attention + 2 * products + 3 * thin) + 2 * logits.flops))
    # The inputs of the MLP's products are not needed, for no weight gradient is.
    assert kept_of() - kept_of(adapters=plan.adapters) == 4 * 1024 * (2 * (1024 + 4096) - 2 * 2 * rank)


def test_weights_gradients_and_states_take_the_bytes_of_their_types(tmp_path):
    def written(*flags):
        generate("--model_name", "llama2_7b", "--world_size", 8, "--tp", 8, "-o", tmp_path, "--name", "w", *flags)
        return json.loads((tmp_path / "w.json").read_text())["memory_bytes"]
    plain = written()
    held = plain["weights"] / 2
    assert plain["gradients"] == 4 * held and plain["optimizer"] == 12 * held
    assert written("--grad-reduce-in-bf16")["gradients"] == 2 * held
    assert written("--exp_avg_dtype", "fp8", "--exp_avg_sq_dtype", "bf16")["optimizer"] == 7 * held
    # 8-bit products keep their inputs in 8 bits, and read weights by rows and by columns. Embedding, logits and norms
    # have bfloat16 alone.
    products = 32 * (4 * 4096 ** 2 + 3 * 4096 * 11008) / 8
    others = held - products
    assert others == 2 * 32000 * 4096 / 8 + 65 * 4096
    eight = written("--dtype", "fp8")
    assert eight["weights"] == 4 * products + 2 * others and eight["activations"] < plain["activations"]
    assert written("--dtype", "fp8", "--fp8_param_gather")["weights"] == 2 * held
    # Blackwell's products of matrices with one scale read them in either order; blocks have scales along rows or
    # columns.
    blackwell = ["--gpu_type", "B200", "--fp8_param_gather"]
    assert written("--dtype", "fp8", *blackwell)["weights"] == products + 2 * others
    assert written("--dtype", "mxfp8", *blackwell)["weights"] == 2 * 33 / 32 * products + 2 * others


# Of a layer of Llama 2 7B: queries, keys and values; all products.
QKV, LAYER_PRODUCTS = 3 * 4096 ** 2, 4 * 4096 ** 2 + 3 * 4096 * 11008


@pytest.mark.parametrize("flags, copied", [
    ([], 32 * LAYER_PRODUCTS), (["--num_layers_at_start_in_bf16", 2, "--num_layers_at_end_in_bf16", 3],
                                27 * LAYER_PRODUCTS),
    (["--operator_dtype", "linear_qkv=bf16"], 32 * (LAYER_PRODUCTS - QKV)),
    (["--dtype", "bfloat16", "--operator_dtype", "linear_qkv=fp8"], 32 * QKV)])
def test_weights_of_8_bit_products_alone_have_copies_and_are_gathered_in_8_bits(flags, copied):
    def job(*more):
        given = training_command.make_parser("").parse_args(list(map(str, [
            "--model_name", "llama2_7b", "--world_size", 8, "--dtype", "fp8", *flags, *more])))
        model = model_flags.find_model(given)
        return megatron.Iteration(model, training_command.find_plan(given, model), H100)
    parameters = catalogue.find("llama2_7b").parameters()
    others = parameters - copied
    assert job().needed().weights == 2 * parameters + 2 * copied  # a byte for each of two copies
    assert job("--fp8_param_gather").needed().weights == 2 * parameters
    for more, number_bytes in (([], 2), (["--fp8_param_gather"], 1)):
        expected = number_bytes * copied + 2 * others
        assert sum(row.weight.bytes for row in job(*more).once(0)) == expected  # ZeRO-1
        rows = [row for row in job(*more, "--zero", 3).stage_rows(0) if row.name.startswith("weights")
                and row.forward.bytes]
        assert sum(row.forward.bytes for row in rows) == expected and sum(row.gathers for row in rows) == parameters


def test_a_layer_s_gradients_are_bfloat16_however_its_weights_are_gathered(tmp_path):
    def gradients(*flags):
        generate("--model_name", "llama2_7b", "--world_size", 8, "--zero", 3, "--dtype", "fp8", "-o", tmp_path,
                 "--name", "w", *flags)
        return json.loads((tmp_path / "w.json").read_text())["memory_bytes"]["gradients"]
    assert gradients("--fp8_param_gather") == gradients()


@pytest.mark.parametrize("pp, expected", [(1, [16]), (2, [10, 6]), (4, [5, 5, 5, 1])])
def test_stages_of_equal_cost_give_the_loss_the_time_of_its_product(pp, expected):
    # Nanotron's 1B: the product of 131,072 words is four of 16 layers.
    model = nanotron_model("1B")
    split = pipeline.Split(costs=(model.layer_parameters(0), model.vocabulary * model.hidden))
    assert counts(Parallelism(world_size=8, pp=pp, split=split), 16) == expected


def test_the_stage_that_needs_most_memory_may_be_any_one():
    model = gpt(layers=10)
    plan = Parallelism(world_size=4, pp=4, split=pipeline.Split(layout=pipeline.parse("Et|t|t*7|tL")), global_batch=8)
    assert memory.needed(model, plan) == memory.of_stage(model, plan, 2)


def test_what_a_framework_keeps_is_in_its_memory():
    model, plan = gpt(gated=True), Parallelism(**{**LAYER, "world_size": 8, "tp": 8, "sequence_parallel": True})
    def held(**habits):
        return memory.of_stage(model, dataclasses.replace(plan, keeping=keeping.Keeping(**habits)), 0)
    tokens, layers = 1024, 4
    assert held(logit=14).activations - held().activations == 8 * tokens * 32000 / 8
    assert held(activated_gate=True).activations - held().activations == layers * tokens * 2 * 4096 / 8
    # Inputs of qkv, of the MLP and of the logits: whole, not an eighth.
    assert held(gathered_inputs=True).activations - held().activations == (2 * layers + 1) * tokens * 2 * 1024 * 7 / 8
    assert held(gradient_copy=2).gradients == held().gradients * 1.5


def test_sharded_weights_of_a_layer_and_of_the_next_are_whole():
    model = gpt()
    plan = Parallelism(**LAYER, zero=3)
    used, layer = memory.of_stage(model, plan, 0), model.layer_parameters(0)
    assert used.weights == pytest.approx(2 * model.parameters() / 8 + 2 * 2 * layer)
    # FSDP shards float32 weights, which are the optimizer's, too.
    alone = memory.of_stage(model, dataclasses.replace(plan, keeping=keeping.FRAMEWORKS["torch"]), 0)
    assert alone.weights == pytest.approx(2 * 2 * layer)
    assert used.gradients == pytest.approx(4 * model.parameters() / 8 + 2 * layer)


NANOTRON = {"1B": (16, 2048, 32, 8192), "3B": (28, 3072, 32, 8192), "8B": (32, 4096, 32, 14336),
            "80B": (80, 8192, 64, 28672)}


def nanotron_model(name):
    """scripts/scaling_benchmarks.py of Nanotron"""
    layers, hidden, heads, ffn = NANOTRON[name]
    return Model(name=name, layers=layers, hidden=hidden, heads=heads, kv_heads=heads, head_dim=hidden // heads,
                 ffn=ffn, vocabulary=131072,
                 tied=True)


@pytest.mark.others_files
def test_published_runs_whose_recomputation_is_known_fit_into_their_gpus():
    shares = []
    for fact in facts.read(OTHERS_FILES / "outcomes/end_to_end.csv"):
        try:
            run = runs.write_down(fact)
        except runs.CannotBeWritten:
            continue
        if fact.recompute:
            shares.append((memory.needed(run.model, run.plan).total / (run.gpu.memory_gb * 1e9), run.family))
    assert len(shares) > 150
    # They ran.
    assert sum(share > 1 for share, _ in shares) <= 2 and max(shares)[0] < 1.04
    # llm-foundry takes the largest micro-batch that fits, or half of it.
    foundry = sorted(share for share, family in shares if family == "llm-foundry")
    assert foundry[len(foundry) // 2] > 0.75


@pytest.mark.others_files
def test_work_of_a_token_is_what_published_runs_print():
    path = OTHERS_FILES / "outcomes/end_to_end.csv"
    printed = {row["id"]: float(row["tflops_per_gpu"]) for row in csv.DictReader(open(path)) if row["tflops_per_gpu"]}
    ratios = {}
    for fact in facts.read(path):
        try:
            run = runs.write_down(fact)
        except runs.CannotBeWritten:
            continue
        if run.family == "Megatron Bridge" and fact.id in printed:
            published = printed[fact.id] * 1e12 * fact.gpus * fact.step_s
            ratios.setdefault(fact.model, []).append(megatron.Iteration(run.model, run.plan, run.gpu).flops()
                                                     / published)
    medians = {model: sorted(found)[len(found) // 2] for model, found in ratios.items()}
    # Megatron Bridge counts gpt-oss in another way in each release (27 to 33 GFLOP), and the products of Nemotron 3
    # Nano as 7% more.
    others = {model: ratio for model, ratio in medians.items() if model not in ("GPT OSS 120B", "Nemotron_3_Nano")}
    assert len(others) >= 12
    for model, ratio in others.items():
        assert ratio == pytest.approx(1, abs=0.015), model


@pytest.mark.others_files
def test_memory_is_that_of_published_layouts():
    ratios = []
    for row in csv.DictReader(open(OTHERS_FILES / "outcomes/layouts_8_to_512_h100.csv")):
        if not row["memory_gb"]:
            continue
        model, tp = nanotron_model(row["model"]), int(row["tp"])
        # The runs on 512 GPUs gathered inputs again, others kept them: their memory does not grow with TP.
        habits = dataclasses.replace(keeping.FRAMEWORKS["nanotron"], gathered_inputs=int(row["gpus"]) < 512)
        plan = Parallelism(world_size=int(row["gpus"]), tp=tp, pp=int(row["pp"]), zero=int(row["zero"]),
                           sequence_parallel=tp > 1,
                           micro_batch=int(row["micro_batch"]), global_batch=256, keeping=habits,
                           split=pipeline.Split(costs=(model.layer_parameters(0), model.vocabulary * model.hidden)))
        ratios.append((tp, memory.needed(model, plan).total / 1e9 / float(row["memory_gb"])))
    assert len(ratios) > 1000
    for most, error in ((8, 0.08), (32, 0.1)):
        chosen = sorted(ratio for tp, ratio in ratios if tp <= most)
        assert chosen[len(chosen) // 2] == pytest.approx(1, abs=0.05)
        assert sorted(abs(ratio - 1) for ratio in chosen)[len(chosen) // 2] < error


def test_work_of_an_iteration_is_the_closed_form_of_narayanan():
    # arXiv 2104.04473, appendix: 72 B s l h^2 (1 + s/6h + V/12lh) without recomputation; causal attention is half of
    # it.
    model = gpt(layers=6, vocabulary=51200)
    plan = Parallelism(world_size=8, tp=2, pp=2, sequence=2048, global_batch=16)
    h, s, layers = 1024, 2048, 6
    expected = 72 * 16 * s * layers * h * h * (1 + s / (12 * h) + 51200 / (12 * layers * h))
    assert megatron.Iteration(model, plan, H100).flops() == pytest.approx(expected)


@pytest.mark.parametrize("zero, bytes_each", [(0, 18), (1, 6 + 12 / 8), (2, 2 + 16 / 8), (3, 18 / 8)])
def test_states_take_what_the_paper_on_zero_says(zero, bytes_each):
    model = gpt()
    needed = memory.needed(model, Parallelism(world_size=8, zero=zero))
    whole = 6 * model.layer_parameters(0) if zero == 3 else 0  # weights of two layers, gradients of one
    assert needed.weights + needed.gradients + needed.optimizer == pytest.approx(bytes_each * model.parameters()
        + whole)


def test_a_rank_of_dualpipe_holds_two_stages_and_one_more_micro_batch():
    # DeepSeek-V3, arXiv 2412.19437, table 2: parameters twice, activations PP + 1 instead of PP.
    model = gpt(layers=8, vocabulary=8)
    plain, dual = (memory.needed(model, Parallelism(world_size=16, pp=4, global_batch=64, zero=1, schedule=name))
                   for name in ("1f1b", "dualpipe"))
    assert dual.weights == pytest.approx(2 * plain.weights,
                                         rel=0.01) and dual.gradients == pytest.approx(2 * plain.gradients, rel=0.01)
    assert dual.optimizer == pytest.approx(plain.optimizer, rel=0.01)
    assert dual.activations == pytest.approx(5 / 4 * plain.activations, rel=0.02)  # the ends keep something, too


def test_a_pipeline_s_first_stage_holds_a_micro_batch_for_each_stage():
    plan = Parallelism(world_size=4, pp=4, global_batch=16)
    assert [schedules.in_flight(plan, stage) for stage in range(4)] == [4, 3, 2, 1]
    # Interleaving by 2 holds (1 + (p-1)/(p v)) times as much (arXiv 2205.05198, section 4.2.3).
    interleaved = Parallelism(world_size=4, pp=4, virtual=2, global_batch=16)
    assert schedules.in_flight(interleaved, 0) == pytest.approx(4 * (1 + 3 / 8))


@pytest.mark.parametrize("cp", [1, 2, 4, 8])
def test_context_parallelism_shares_out_the_work_of_attention(cp):
    # Causal: each token attends to half of the sequence; scores and products with values take 2 x 2 x hidden operations
    # each.
    model, sequence = gpt(), 4096
    plan = Parallelism(world_size=cp, cp=cp, sequence=sequence, micro_batch=2)
    attention = next(o for o in operators.layer(model, plan, 0) if o.name == "attention")
    assert attention.flops == pytest.approx(2 * 4 * 1024 * sequence ** 2 / 2 / cp)
    # Queries, keys, values and outputs of the rank's tokens, two bytes each.
    assert attention.bytes == pytest.approx(2 * 4 * 1024 * 2 * sequence / cp)
    whole = megatron.Iteration(model, dataclasses.replace(plan, world_size=1, cp=1), H100)
    assert megatron.Iteration(model, plan, H100).flops() == pytest.approx(whole.flops())


@pytest.mark.parametrize("ep", [1, 2, 4, 8])
def test_activations_of_experts_are_those_of_the_tokens_that_arrive(ep):
    # Each of 4,096 tokens goes to 2 of 8 experts, so a rank gets 8,192 whatever its number of experts: SwiGLU reads two
    # numbers of each column and writes one, two bytes each; the backward pass needs what was read.
    model, tokens, ffn = catalogue.find("mixtral_8x7b"), 2 * 4096, 14336
    plan = Parallelism(world_size=ep, ep=ep, sequence=4096)
    activation = next(o for o in operators.layer(model, plan, 0) if o.name == "expert_activation")
    assert activation.bytes == 2 * tokens * 3 * ffn
    assert activation.kept == 2 * tokens * 2 * ffn
    up, down = (next(o for o in operators.layer(model, plan, 0) if o.name == f"expert_{name}")
                for name in ("up", "down"))
    assert (up.kept, down.kept) == (2 * tokens * 4096, 2 * tokens * ffn)
    assert up.bytes == 2 * (tokens * 4096 + 8 // ep * 4096 * 2 * ffn + tokens * 2 * ffn)


def test_a_product_that_fills_the_gpu_takes_its_work_at_the_ceiling():
    # 132 SMs: 11 x 12 tiles of 128 x 128.
    product = operators.matmul("x", 11 * 128, 12 * 128, 8192)
    expected = 2 * 11 * 128 * 12 * 128 * 8192 / (989e12 * 0.803) * 1e9
    assert H100.times_ns(product)[0] == pytest.approx(expected)
    # One tile more takes another wave of the smallest tiles, not a 133rd of the time.
    larger = operators.matmul("x", 11 * 128 + 1, 12 * 128, 8192)
    assert H100.times_ns(larger)[0] > 1.05 * expected


def test_a_thin_product_takes_the_time_of_its_bytes():
    product = operators.matmul("x", 1, 8192, 8192)
    assert H100.times_ns(product)[0] == pytest.approx(2 * (8192 + 8192 ** 2 + 8192) / (3350e9 * 0.9) * 1e9)


def test_measured_times_replace_the_roofline(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text("operator,forward_us,input_gradient_us,weight_gradient_us\nattention,10,25,0\nqkv,1.5,2,3\n")
    gpu = H100.copy(update={"measured": measured.read(path)})
    plan = Parallelism(world_size=1)
    rows = {row.name: row for row in megatron.Iteration(gpt(), plan, gpu).stage_rows(0)}
    known = {o.name: H100.times_ns(o)[0] for o in operators.mixer(gpt(), plan, gpt().layer_kind(0))}
    assert rows["attention_row_0"].forward_ns == pytest.approx(10_000 + 1_500 + known["projection"])


def test_aiob_s_times_are_read_as_aicb_reads_them(tmp_path):
    path = tmp_path / "Example.txt"
    path.write_text("train_iter:10\natten_qkv:\n    time_gpu_max: 1255\n    time_gpu_min: 862\n    time_gpu_avg: 889\n")
    assert measured.read(path) == {"qkv": (889_000.0,) * 3}


@pytest.mark.parametrize("text, message", [
    ("operator,forward_us,input_gradient_us,weight_gradient_us\nqkw,1,2,3\n", ':2: "qkw" is not an operator'),
    ("operator,forward_us,input_gradient_us,weight_gradient_us\nqkv,1,2\n", ":2: 3 columns"),
    ("operator,forward_us,input_gradient_us,weight_gradient_us\nqkv,1,2,-3\n", ':2: "-3" is not a valid time'),
    ("operator,forward_us,input_gradient_us,weight_gradient_us\n", "there are no times"),
    ("hello\n", ":1: neither CSV nor AIOB's text"),
    ("Emb:\n  time_gpu_avg: fast\n", ':2: "fast" is not a valid time'),
])
def test_measured_times_that_are_wrong_are_refused(text, message, tmp_path):
    path = tmp_path / "times"
    path.write_text(text)
    with pytest.raises(InputError, match=".*; expected ") as error:
        measured.read(path)
    assert message in str(error.value)


# -- rows


def sequence(text):
    """Of each row its name and its collectives with their bytes; the bytes of NONE mean nothing."""
    rows = []
    for line in text.splitlines()[2:]:
        cells = line.split()
        collectives = [(cells[i], int(cells[i + 1])) if cells[i] != "NONE" else "NONE" for i in (3, 6, 9)]
        rows.append((cells[0], *collectives))
    return rows


def aicb_rows(model, plan, release, profiled=False):
    iteration = megatron.Iteration(model, plan, H100)
    return sequence(aicb.render(aicb.AicbIteration(model, plan, iteration, release, profiled)))


@pytest.mark.others_files
def test_rows_are_those_of_simai_s_example_line_for_line():
    model = gpt(layers=96, hidden=6144, heads=48, ffn=24576, vocabulary=50257, experts=128, experts_per_token=4,
                expert_ffn=24576)
    plan = Parallelism(world_size=9216, tp=2, pp=12, ep=16, global_batch=24 * 384, sequence=4096,
                       sequence_parallel=True)
    theirs = sequence((OTHERS_FILES / "simai/workload_analytical.txt").read_text())
    assert len(theirs) == 1789
    assert aicb_rows(model, plan, "1.1") == theirs


LOSS = [(f"cross_entropy{i}", ("ALLREDUCE", 8192), "NONE", "NONE") for i in (1, 2, 3)]
STEP = [(f"optimizer{i}", ("ALLREDUCE", 4), "NONE", "NONE") for i in (1, 2, 3, 4)]
NONE = "NONE"


def both(op_forward, op_backward, size):
    return (op_forward, size), (op_backward, size), NONE


# Values of aliyun/aicb's files of 2024, workload/simAI/model_workload: G13B-M1-C01, G13B-M1-C02, L7B-M1-C04.
OLD_FILES = {
    "G13B-M1-C01": (dict(layers=40, hidden=5120, heads=40), dict(world_size=8, tp=8), 3248619520, 20971520, 327680000, [
        ("attention_layer", *both("ALLREDUCE", "ALLREDUCE", 20971520)),
        ("mlp_layer", *both("ALLREDUCE", "ALLREDUCE", 20971520))]),
    "G13B-M1-C02": (dict(layers=40, hidden=5120, heads=40), dict(world_size=8, tp=8, sequence_parallel=True),
                    3248619520,
                    20971520, 327680000, [
        ("attention_column_layer", *both("ALLGATHER", "REDUCESCATTER", 20971520)),
        ("attention_row_layer", *both("REDUCESCATTER", "ALLGATHER", 20971520)),
        ("mlp_column_layer", *both("ALLGATHER", "REDUCESCATTER", 20971520)),
        ("mlp_row_layer", *both("REDUCESCATTER", "ALLGATHER", 20971520))]),
    "L7B-M1-C04": (dict(layers=32, hidden=4096, heads=32, ffn=11008, gated=True), dict(world_size=8, tp=2), 6754926592,
                   16777216, 262144000, [
        ("attention_layer", *both("ALLREDUCE", "ALLREDUCE", 16777216)),
        ("mlp_layer", *both("ALLREDUCE", "ALLREDUCE", 16777216))]),
}


@pytest.mark.parametrize("name", OLD_FILES)
def test_rows_are_those_of_aicb_s_files_of_2024(name):
    sizes, plan, weights, activation, embedding, layer = OLD_FILES[name]
    theirs = [("norm", ("BROADCAST", 16384), NONE, NONE),
              ("grad_norm", ("ALLGATHER", weights), NONE, ("REDUCESCATTER", 2 * weights)),
              ("layernorm", NONE, ("ALLREDUCE", weights), NONE),
              ("embedding_layer", *both("ALLREDUCE", "ALLREDUCE", activation))]
    theirs += layer * sizes["layers"] + [("embedding_norm", ("ALLREDUCE", embedding), NONE, NONE)] + LOSS + STEP
    assert aicb_rows(gpt(**sizes), Parallelism(**plan, sequence=2048), "1.0") == theirs


MOE = dict(experts=8, experts_per_token=2, expert_ffn=13632)
SMALL = dict(layers=4, hidden=5120, heads=40, ffn=13632, gated=True)
# What AICB 2.1 itself writes for the model of 4 layers of width 5120: flags, rows before, of a micro-batch, times.
NEW_FILES = {
    "without SP": (
        {}, dict(tp=2, global_batch=16), False,
        [("grad_norm", ("ALLGATHER", 1654128640), NONE, ("REDUCESCATTER", 3308257280)),
         ("layernorm", NONE, ("ALLREDUCE", 1654128640), NONE),
         ("moe_grad_norm1", NONE, NONE, ("ALLGATHER_DP_EP", 0)),
         ("moe_grad_norm2", NONE, NONE, ("REDUCESCATTER_DP_EP", 0))],
        [("embedding_layer", *both("ALLREDUCE", "ALLREDUCE", 20971520)),
         *[("attention_layer", *both("ALLREDUCE", "ALLREDUCE", 20971520)),
           ("mlp_layer", *both("ALLREDUCE", "ALLREDUCE", 20971520))] * 4,
         ("embedding_norm", ("ALLREDUCE", 327680000), NONE, NONE)], 2),
    "profiled, SP, pipeline": (
        {}, dict(tp=2, pp=2, global_batch=16, sequence_parallel=True), True,
        [("grad_gather", NONE, NONE, ("ALLGATHER", 1329111040)),
         ("grad_param_comm", NONE, NONE, ("REDUCESCATTER", 2658222080)),
         ("grad_param_compute", NONE, NONE, NONE), ("embedding_grads", NONE, ("ALLREDUCE", 20971520), NONE),
         ("moe_grad_norm1", NONE, NONE, ("ALLGATHER_DP_EP", 0)),
         ("moe_grad_norm2", NONE, NONE, ("REDUCESCATTER_DP_EP", 0))],
        [("embedding_layer", ("ALLREDUCE", 20971520), NONE, NONE),
         *[("attention_column", ("ALLGATHER", 20971520), ("REDUCESCATTER", 0), NONE),
           ("attention_row", *both("REDUCESCATTER", "ALLGATHER", 20971520)),
           ("mlp_column", ("ALLGATHER", 20971520), ("REDUCESCATTER", 0), NONE),
           ("mlp_row", *both("REDUCESCATTER", "ALLGATHER", 20971520))] * 2,
         ("final_column", ("ALLGATHER", 20971520), ("REDUCESCATTER", 0), NONE)], 4),
    "profiled, experts": (
        MOE, dict(tp=2, ep=4, global_batch=16, sequence_parallel=True), True,
        [("grad_gather", NONE, NONE, ("ALLGATHER", 1259683840)),
         ("grad_param_comm", NONE, NONE, ("REDUCESCATTER", 2519367680)),
         ("grad_param_compute", NONE, NONE, NONE), ("embedding_grads", NONE, ("ALLREDUCE", 20971520), NONE),
         ("moe_grad_norm1", NONE, NONE, ("ALLGATHER_DP_EP", 1116733440)),
         ("moe_grad_norm2", NONE, NONE, ("REDUCESCATTER_DP_EP", 2233466880))],
        [("embedding_layer", ("ALLREDUCE", 20971520), NONE, NONE),
         *[("attention_column", ("ALLGATHER", 20971520), ("REDUCESCATTER", 0), NONE),
           ("attention_row", *both("REDUCESCATTER", "ALLGATHER", 20971520)),
           ("mlp_moelayer", ("ALLGATHER", 128), NONE, NONE),
           ("mlp_moelayer", *both("ALLTOALL_EP", "ALLTOALL_EP", 20971520)),
           ("mlp_moelayer", *both("ALLGATHER", "REDUCESCATTER", 41943040)),
           ("mlp_moelayer", *both("REDUCESCATTER", "ALLGATHER", 41943040)),
           ("mlp_moelayer", *both("ALLTOALL_EP", "ALLTOALL_EP", 20971520))] * 4,
         ("final_column", ("ALLGATHER", 20971520), ("REDUCESCATTER", 0), NONE)], 2),
    "recomputed, not profiled": (
        {}, dict(tp=1, global_batch=32, sequence_parallel=True, recompute="full"), False,
        [("grad_norm", ("ALLGATHER", 3615047680), NONE, ("REDUCESCATTER", 7230095360)),
         ("moe_grad_norm1", NONE, NONE, ("ALLGATHER_DP_EP", 0)),
         ("moe_grad_norm2", NONE, NONE, ("REDUCESCATTER_DP_EP", 0))],
        [("embedding_layer", NONE, NONE, NONE),
         *[("attention_column", ("ALLGATHER", 41943040), NONE, NONE),
           ("attention_row", ("REDUCESCATTER", 41943040), NONE, NONE),
           ("mlp_column", ("ALLGATHER", 20971520), NONE, NONE),
           ("mlp_row", ("REDUCESCATTER", 20971520), NONE, NONE)] * 4,
         ("final_column", ("ALLGATHER", 20971520), NONE, NONE),
         ("embedding_norm", ("ALLREDUCE", 327680000), NONE, NONE)], 2),
}


@pytest.mark.parametrize("name", NEW_FILES)
def test_rows_are_those_of_aicb_2_1(name):
    experts, plan, profiled, before, body, times = NEW_FILES[name]
    model = gpt(**SMALL, **experts)
    assert aicb_rows(model, Parallelism(world_size=16, sequence=2048, **plan), "2.1", profiled) == (
        before + body * times + LOSS + STEP)


def test_sequence_parallelism_moves_the_same_bytes_backward_in_the_opposite_order():
    plan = Parallelism(world_size=16, tp=4, sequence_parallel=True, sequence=2048, zero=1)
    rows = {row.name: row for row in megatron.Iteration(gpt(), plan, H100).stage_rows(0)}
    whole = 2 * 2048 * 1024
    for block in ("attention", "mlp"):
        column, row = rows[f"{block}_column_1"], rows[f"{block}_row_1"]
        assert (column.forward.op, column.input.op) == ("ALLGATHER", "REDUCESCATTER")
        assert (row.forward.op, row.input.op) == ("REDUCESCATTER", "ALLGATHER")
        assert {c.bytes for c in (column.forward, column.input, row.forward, row.input)} == {whole}


@pytest.mark.parametrize("zero, op, gathered", [(0, "ALLREDUCE", 0), (1, "REDUCESCATTER", 1), (2, "REDUCESCATTER", 1),
                                                (3, "REDUCESCATTER", 2)])
def test_gradients_of_all_weights_are_reduced_once_and_weights_gathered(zero, op, gathered):
    model = gpt()
    rows = megatron.Iteration(model, Parallelism(world_size=8, zero=zero), H100).stage_rows(0)
    reduced = [row.weight for row in rows if row.weight.op == op]
    assert sum(collective.bytes for collective in reduced) == 4 * model.parameters()
    gathers = [c for row in rows for c in (row.forward, row.input, row.weight) if c.op == "ALLGATHER"]
    kept = 0 if zero < 3 else 2 * (model.vocabulary * model.hidden + model.hidden)  # the head, for its backward pass
    assert sum(c.bytes for c in gathers) == gathered * 2 * model.parameters() - kept


@pytest.mark.parametrize("name", ["llama3_8b", "gemma3_4b", "mixtral_8x7b"])
def test_zero_3_gathers_all_weights_forward_and_all_but_the_head_s_again(name):
    model = catalogue.find(name)
    rows = megatron.Iteration(model, Parallelism(world_size=8, zero=3), H100).stage_rows(0)
    ahead, back = (sum(collective.bytes for row in rows if (collective := getattr(row, when)).op == "ALLGATHER"
                       and collective.group.startswith("DP"))
                   for when in ("forward", "input"))
    head = model.hidden * (1 + (0 if model.tied else model.vocabulary))  # the final norm, and the logits
    assert (ahead, back) == (2 * model.parameters(), 2 * (model.parameters() - head))


@pytest.mark.parametrize("zero, bytes_each", [(1, 6 + 12 / 4), (2, 2 + 16 / 4), (3, 18 / 4)])
def test_hybrid_sharding_divides_states_by_the_ranks_of_a_copy(zero, bytes_each):
    model = gpt()
    needed = memory.needed(model, Parallelism(world_size=8, zero=zero, copies=2))
    whole = 6 * model.layer_parameters(0) if zero == 3 else 0
    assert needed.weights + needed.gradients + needed.optimizer == pytest.approx(bytes_each * model.parameters()
        + whole)


@pytest.mark.parametrize("name, plan", [("llama3_8b", dict(world_size=32, tp=2, sequence_parallel=True, zero=3)),
                                        ("llama3_8b", dict(world_size=32, cp=2, zero=1)),
                                        ("mixtral_8x7b", dict(world_size=32, ep=8, zero=3)),
                                        ("mixtral_8x7b", dict(world_size=32, ep=4, zero=1))])
def test_hybrid_sharding_scatters_gradients_in_each_copy_and_sums_what_is_left_over_copies(name, plan):
    model, plan = catalogue.find(name), Parallelism(**plan, copies=4)
    rows = megatron.Iteration(model, plan, H100).stage_rows(0)
    sums = {group: sum(row.weight.bytes for row in rows if row.weight.group == group
                       and row.weight.op in ("REDUCESCATTER", "ALLREDUCE"))
            for group in ("DP", "DP_EP", "DP_COPIES")}
    experts = model.layers * model.expert_parameters() if model.experts else 0
    dense = 4 * (model.parameters() - experts) // plan.tp
    norms = 4 * 2 * model.layers * model.hidden  # which tensor parallelism does not cut
    assert sums["DP"] == pytest.approx(dense, abs=2 * norms)
    owned = 4 * experts // plan.ep
    assert sums["DP_EP"] == (owned if plan.expert_shards > 1 else 0)
    assert sums["DP_COPIES"] == pytest.approx(sums["DP"] / plan.shards + owned / plan.expert_shards, rel=1e-6)
    if plan.shards_weights:
        gathered = [row.forward for row in rows if row.forward.op == "ALLGATHER" and row.forward.group == "DP"]
        assert len(gathered) == model.layers + 2  # and the embedding and the head
        assert sum(gather.bytes for gather in gathered) == pytest.approx(dense / 2, abs=norms)


@pytest.mark.parametrize("plan", [Parallelism(64, tp=2, pp=2, zero=1, copies=4),
                                  Parallelism(32, cp=2, zero=1, copies=4),
                                  Parallelism(64, tp=2, sequence_parallel=True, ep=4, etp=1, zero=1, copies=4),
                                  Parallelism(32, ep=4, zero=1, copies=2)])
def test_a_copy_of_hybrid_sharding_is_consecutive_ranks_and_meets_each_group_between_copies_once(plan):
    for kind in ("DP", "DP_EP"):
        groups = {}
        for rank in range(plan.world_size):
            number, ranks = layout.group_of(plan, kind, rank)
            assert rank in ranks and len(ranks) == layout.size_of(plan, kind) and groups.setdefault(number,
                ranks) == ranks
            between = layout.group_of(plan, "DP_COPIES", rank)[1]
            assert set(ranks) & set(between) == {rank} and len(between) == plan.copies
            assert max(ranks) - min(ranks) < plan.tp * plan.shards
        assert sorted(sum(groups.values(), [])) == list(range(plan.world_size))


def test_experts_reduce_among_those_that_hold_the_same_and_others_among_all():
    model = catalogue.find("mixtral_8x7b")
    plan = Parallelism(world_size=32, ep=8, zero=0)
    rows = megatron.Iteration(model, plan, H100).stage_rows(0)
    by_group = {}
    for row in rows:
        by_group[row.weight.group] = by_group.get(row.weight.group, 0) + row.weight.bytes
    experts = model.layers * model.expert_parameters()
    assert by_group["DP_EP"] == 4 * experts // 8
    assert by_group["DP"] == 4 * (model.parameters() - experts)


def test_every_message_of_a_pipeline_is_sent_once_and_received_once():
    model = gpt(layers=16)
    for pp, virtual, micro_batches in ((2, 1, 1), (4, 1, 6), (4, 2, 8), (2, 4, 2)):
        plan = Parallelism(world_size=pp, pp=pp, virtual=virtual, global_batch=micro_batches)
        iteration = megatron.Iteration(model, plan, H100)
        sent, received = [], []
        for stage in range(pp):
            for step in schedule.Program(iteration, stage).steps:
                if step.kind == "send":
                    sent.append(step.message)
                elif step.kind == "receive":
                    received.append(step.message)
        assert sorted(sent) == sorted(received)
        assert len(set(sent)) == len(sent) == 2 * micro_batches * (pp * virtual - 1)


@pytest.mark.parametrize("sizes", [dict(ep=4), dict(ep=8, etp=1), dict(ep=16, etp=1)])
def test_groups_of_each_kind_share_out_the_ranks(sizes):
    plan = Parallelism(world_size=48, tp=2, pp=3, cp=2, **sizes)
    for kind in ("TP", "DP", "EP", "CP", "DP_EP", "PP"):
        groups = {}
        for rank in range(48):
            number, ranks = layout.group_of(plan, kind, rank)
            assert rank in ranks and len(ranks) == layout.size_of(plan, kind)
            assert groups.setdefault(number, ranks) == ranks
        assert sorted(rank for ranks in groups.values() for rank in ranks) == list(range(48))


def counts(plan, layers):
    return [len(place.layers) for place in pipeline.places(plan, layers)]


def test_embedding_and_loss_take_the_place_of_a_layer_in_the_first_and_the_last_chunk():
    # Llama 3.1 405B as MLPerf trains it: 126 layers and 2 on 8 x 8 chunks.
    split = pipeline.Split(embedding=True, loss=True)
    places = pipeline.places(Parallelism(world_size=512, tp=8, pp=8, virtual=8, split=split), 126)
    assert [len(place.layers) for place in places] == [1] + [2] * 62 + [1]
    assert [place.embedding for place in places] == [True] + [False] * 63 and places[-1].loss
    # Every layer is in one chunk.
    assert [layer for place in places for layer in place.layers] == list(range(126))


@pytest.mark.parametrize("sizes, layers, expected", [
    (dict(pp=2, virtual=2), 8, [2, 2, 2, 2]),
    (dict(pp=3), 8, [3, 3, 2]),  # the last stage has the head
    (dict(pp=2, virtual=2), 6, [1, 2, 2, 1]),  # embedding and loss count
    (dict(pp=2, virtual=2), 7, [2, 2, 2, 1]),  # so they do here, and the first chunks have the layer that is left
    (dict(pp=4, split=pipeline.Split(first=1, last=3)), 10, [1, 3, 3, 3]),
    (dict(pp=4, split=pipeline.Split(last=1)), 10, [3, 3, 3, 1]),
    (dict(pp=2, virtual=2, split=pipeline.Split(first=2)), 6, [1, 2, 1, 2]),
    (dict(pp=2, virtual=2, split=pipeline.Split(layout=pipeline.parse("Et|(tt|)*2L"))), 5, [1, 2, 2, 0]),
])
def test_layers_are_spread_as_frameworks_spread_them(sizes, layers, expected):
    assert counts(Parallelism(world_size=8, **sizes), layers) == expected


@pytest.mark.parametrize("text, chunks", [
    ("Et*3|(tt|)*2,m|L", ["Ettt", "tt", "tt", "m", "L"]), ("E|(t|t*2|)*2L", ["E", "t", "tt", "t", "tt", "L"]),
    ("EtL", ["EtL"])])
def test_a_layout_is_read_as_megatron_core_reads_it(text, chunks):
    assert list(pipeline.parse(text)) == chunks


def test_an_expert_that_is_not_cut_has_the_weights_and_the_tokens_of_one_that_is():
    model = catalogue.find("mixtral_8x7b")
    cut, whole = (Parallelism(world_size=32, tp=4, ep=ep, etp=etp, sequence_parallel=True) for ep,
                  etp in ((8, 4), (8, 1)))
    of = {plan.etp: {o.name: o for o in operators.layer(model, plan, 0)} for plan in (cut, whole)}
    # A rank has an expert in both; cut in four, it sees the tokens of four times as many ranks.
    assert of[1]["expert_up"].parameters == 4 * of[4]["expert_up"].parameters
    assert of[1]["expert_up"].flops == of[4]["expert_up"].flops
    rows = {plan.etp: {row.name: row for row in megatron.Iteration(model, plan, H100).chunks(0)[0]}
            for plan in (cut, whole)}
    assert rows[1]["mlp_gather_0"].forward.op == "NONE" and rows[4]["mlp_gather_0"].forward.op == "ALLGATHER"


# -- the command, and what the simulators make of it

STAR = "19 8 2 1 32 H100\n16 17 18\n"


@pytest.fixture(scope="module")
def topology(tmp_path_factory):
    """Two servers of eight H100 and one switch."""
    path = tmp_path_factory.mktemp("topology") / "star"
    lines = [f"{gpu} {16 + gpu // 8} 2880Gbps 25ns 0\n{gpu} 18 400Gbps 500ns 0\n" for gpu in range(16)]
    path.write_text(STAR + "".join(lines))
    return path


DENSE, EXPERTS = ["--model_name", "llama2_7b", "--num_layers", 4], ["--model_name", "mixtral_8x7b", "--num_layers", 2,
    "--ep", 4]


@pytest.mark.parametrize("plan, flags, why", [
    ([*DENSE, "--pp", 2], ["--zero", 3], "with a pipeline, gradients add up whole and weights are gathered once, as "
     "--zero 1 says"),
    ([*DENSE, "--pp", 2], ["--zero", 2], "with a pipeline, gradients add up whole and weights are gathered once, as "
     "--zero 1 says"),
    (DENSE, ["--fp8_param_gather"], "all products are bfloat16 (--dtype)"),
    (DENSE, ["--num_layers_at_end_in_bf16", 1], "all products are bfloat16 (--dtype)"),
    (EXPERTS, ["--moe_node_limit", 1], "it is for --moe_dispatcher deepep"),
    (EXPERTS, ["--moe_gpus_per_server", 4], "it is for --moe_dispatcher deepep"),
])
def test_flags_that_change_nothing_beside_the_others_are_named(tmp_path, plan, flags, why):
    generate(*plan, "--world_size", 16, "-o", tmp_path, "--name", "plain")
    done = generate(*plan, "--world_size", 16, *flags, "-o", tmp_path, "--name", "other")
    named = " ".join(map(str, flags)) if flags[0] == "--zero" else flags[0]
    assert done.stderr == f"workload.py: warning: {named} has no effect: {why}\n"
    assert (tmp_path / "other.txt").read_text() == (tmp_path / "plain.txt").read_text()


@pytest.mark.parametrize("plan, flags", [
    (DENSE, ["--zero", 3]), (DENSE, ["--dtype", "fp8", "--fp8_param_gather"]),
    ([*EXPERTS, "--moe_dispatcher", "deepep", "--tp", 4, "--etp", 1, "--sp"], ["--moe_gpus_per_server", 2])])
def test_flags_that_change_something_are_not(tmp_path, plan, flags):
    generate(*plan, "--world_size", 16, "-o", tmp_path, "--name", "plain")
    assert generate(*plan, "--world_size", 16, *flags, "-o", tmp_path, "--name", "other").stderr == ""
    assert (tmp_path / "other.txt").read_text() != (tmp_path / "plain.txt").read_text()


def test_both_spellings_of_aicb_write_the_same_file(tmp_path):
    long = ["--frame=Megatron", "--model_name", "llama2_7b", "--world_size=16", "--tensor_model_parallel_size=2",
            "--pipeline_model_parallel=2", "--global_batch=16", "--micro_batch=1", "--seq_length=1024",
            "--enable_sequence_parallel", "--use-distributed-optimizer"]
    short = ["--model_name", "Llama2-7B", "--world_size", 16, "--tp", 2, "--pp", 2, "--dp", 4, "--global_batch", 16,
             "--sp",
             "--seq_length", 1024]
    generate(*long, "-o", tmp_path, "--name", "long")
    done = generate(*short, "--use_flash_attn", "--output_dir", tmp_path, "--name", "short")
    assert done.stderr == "workload.py: warning: --use_flash_attn has no effect: attention is always fused\n"
    assert (tmp_path / "long.txt").read_text() == (tmp_path / "short.txt").read_text()


@pytest.mark.parametrize("arguments, message", [
    ([], "there is no model"),
    (["--model_name", "llama_71b"], 'the nearest is llama_7b'),
    (["--model_name", "llama2_7b", "--tp", 3, "--world_size", 3], "TP 3 does not divide the 32 attention heads"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--tp", 4, "--pp", 4], "does not divide 8 GPUs"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--dp", 4], "expected them to be equal"),
    (["--model_name", "mixtral_8x7b", "--world_size", 64, "--ep", 3], "EP 3 does not divide the model's 8 experts"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--ep", 2], "EP 2 for a model without experts; expected EP 1"),
    (["--model_name", "llama2_7b", "--num_layers", 10**7], "layers are out of range; expected at most 10000"),
    (["--model_name", "llama2_7b", "--num_layers", 0], "the model's layers are out of range; expected more than 0"),
    (["--model_name", "llama2_7b", "--world_size", 16, "--tp", 8, "--name", "../job"], '--name "../job" has a slash'),
    (["--model_name", "mixtral_8x7b", "--world_size", 64, "--tp", 2], "expected --sp"),
    (["--model_name", "llama3_405b", "--world_size", 64, "--tp", 8], "needs"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--global_batch", 12], "not a multiple of micro-batch 1 x DP 8"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--gpu_type", "H1000"], "the nearest is H100"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--zero", 4], "expected 0 to 3"),
    (["--model_name", "qwen3_235b_a22b", "--world_size", 256, "--tp", 2, "--sp", "--pp", 8, "--ep", 32],
     "--expert_tensor_parallel_size 1, with which EP spans TP, too"),
    (["--model_name", "mixtral_8x7b", "--world_size", 8, "--tp", 4, "--sp", "--ep", 2, "--etp", 2],
     "experts in 2 parts with TP 4"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--recompute", "selective", "--recompute_modules", "mlp", "head"],
     '"head" is not a module that can be recomputed'),
    (["--model_name", "llama2_7b", "--world_size", 8, "--lora_rank", 8, "--lora_targets", "lm_head"],
     '"lm_head" is not a layer'),
    (["--model_name", "llama2_7b", "--world_size", 8, "--lora_rank", 0], "the rank of adapters is 0"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--lora_targets", "q_proj"], "expected --lora_rank"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--exp_avg_dtype", "fp3"],
     '--exp_avg_dtype "fp3" is not a type of numbers'),
    (["--model_name", "llama2_7b", "--world_size", 8, "--document_length", 1000], "do not fill a sequence of 2048"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--recompute_num_layers", -1], "--recompute_num_layers is -1"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--pp", 4, "--pipeline_model_parallel_layout", "Et|t|tL"],
     "has 3 chunks"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--pp", 2, "--pipeline_model_parallel_layout", "Et*3|tL"],
     '"t" 4 times'),
    (["--model_name", "llama2_7b", "--world_size", 8, "--pp", 2, "--pipeline_model_parallel_layout", "Et*(3|L"],
     "closed brackets"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--pp", 2, "--pipeline_model_parallel_layout", "Ex|L"],
     "letters E, t, m and L"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--pp", 4, "--decoder_first_pipeline_num_layers", 7],
     "do not share 32 layers"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--pp", 4, "--account_for_loss_in_pipeline_split"],
     "does not divide 32 layers and loss"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--vpp", 2], "VPP without a pipeline"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--operator_dtype", "qkv"], "expected OPERATOR=TYPE"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--operator_dtype", "mamba_out=bf16"],
     '"mamba_out" is not a product of llama2_7b'),
    (["--model_name", "llama2_7b", "--world_size", 8, "--operator_dtype", "logits=bf16"],
     '"logits" is not a product of llama2_7b'),
    (["--model_name", "llama2_7b", "--world_size", 8, "--dtype", "fp8", "--operator_dtype", "qkv=mxfp8"],
     "H100 has no MXFP8"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--num_layers_at_end_in_bf16", -1], "-1 last layers in bf16"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--pp", 4, "--pipeline_schedule", "chimera"],
     "expected gpipe, 1f1b, zb1p"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--pp", 4, "--pipeline_schedule", "dualpipe", "--global_batch",
      8],
     "4 micro-batches; expected at least 2 PP micro-batches"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--pp", 4, "--vpp", 2, "--pipeline_schedule", "zb1p"],
     "VPP 2 and 16 micro-batches; expected one chunk"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--pipeline_schedule", "zb1p"],
     "PP 1, VPP 1 and 1 micro-batches; expected at least 2 stages"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--pp", 4, "--vpp", 2, "--global_batch", 12],
     "expected whole groups of PP micro-batches"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--pp", 4, "--pipeline_schedule", "gpipe", "--layout", "aicb"],
     "expected --layout megatron"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--zero", 3, "--data_parallel_replicate_degree", 3],
     "is not DP 8"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--zero", 0, "--data_parallel_replicate_degree", 2],
     "ZeRO-0 shards nothing"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--zero", 3, "--data_parallel_shard_degree", 1],
     "expected --zero 0"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--data_parallel_shard_degree", 0],
     "--data_parallel_shard_degree is 0"),
    (["--model_name", "mixtral_8x7b", "--world_size", 64, "--ep", 8, "--zero", 3, "--data_parallel_shard_degree", 16],
     "expected --format chakra"),
    (["--model_name", "mixtral_8x7b", "--world_size", 64, "--ep", 8, "--data_parallel_shard_degree", 4],
     "8 ranks that hold an expert"),
    (["--model_name", "deepseek_v3", "--world_size", 1024, "--ep", 64, "--pp", 16, "--recompute", "full", "--layout",
      "aicb"],
     "expected --layout megatron"),
    (["--model_name", "llama2_7b", "--world_sise", 8], "\"--world_sise\" is not a flag"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--dtype", "fp4"], "expected bfloat16, fp8 (a scale per tensor)"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--global_batch", -8], "global_batch is -8"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--reserved_gb", "nan"], "--reserved_gb: invalid float value"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--make_vocab_size_divisible_by", 0], "expected at least 1"),
    (["--model_name", "llama2_7b", "--world_size", 0], "world_size is 0; expected at least 1"),
    (["--model_name", "llama2_7b", "--world_size", 8, "--dp", 0], "dp is 0; expected at least 1"),
    (["--num_layers", 4, "--hidden_size", 100, "--num_attention_heads", 7, "--world_size", 8], "expected a divisor"),
])
def test_a_plan_that_cannot_be_is_refused_in_one_line_and_writes_nothing(arguments, message, tmp_path):
    done = generate(*arguments, "-o", tmp_path / "out", status=2)
    assert message in done.stderr and "; expected " in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_what_does_not_fit_is_refused_with_its_memory(tmp_path):
    done = generate("--model_name", "llama3_70b", "--world_size", 8, "--tp", 8, "-o", tmp_path, status=2)
    # 70.55 billion parameters, 18 bytes each, on eight GPUs are 159 GB alone.
    assert "weights, gradients and optimizer states alone take 158.7 GB" in done.stderr
    assert "llama3_70b with TP 8, DP 1, PP 1, ZeRO-1 needs" in done.stderr and "80 GB of H100" in done.stderr


@pytest.mark.parametrize("arguments, flags", [
    (["--tp", 8, "--pp", 16, "--sp", "--world_size", 8192, "--global_batch", 2048], "--recompute selective"),
    (["--tp", 4, "--pp", 8, "--sp", "--world_size", 256], "--tp 8 --sp --recompute full"),
    (["--tp", 8, "--sp", "--pp", 18, "--world_size", 1152, "--micro_batch", 32, "--recompute", "full"],
     "--micro_batch 1"),
])
def test_a_refusal_says_what_would_fit_and_that_fits(arguments, flags, tmp_path):
    common = ["--model_name", "llama3_405b", "--seq_length", 8192, "-o", tmp_path, "--name", "w"]
    refused = generate(*common, *arguments, status=2).stderr
    assert "; fits with " in refused
    hint = refused.split("; fits with ")[1].split(" (")
    assert flags in hint[0]
    done = generate(*common, *arguments, *hint[0].split())
    assert f"memory of a GPU: {hint[1].split(' GB')[0]} GB" in done.stdout


def test_force_writes_what_does_not_fit_with_a_warning(tmp_path):
    done = generate("--model_name", "llama3_70b", "--world_size", 8, "--tp", 8, "--force", "-o", tmp_path, "--name",
                    "w")
    assert done.stderr.startswith("workload.py: warning: llama3_70b with TP 8") and done.stderr.count("\n") == 1
    [line] = json.loads((tmp_path / "w.json").read_text())["warnings"]
    assert line in done.stderr and (tmp_path / "w.txt").exists()


RUNS = {
    "dense": ["--model_name", "llama2_7b", "--num_layers", 4, "--tp", 2, "--sp", "--pp", 2, "--vpp", 2,
              "--global_batch", 16],
    "experts": ["--model_name", "mixtral_8x7b", "--num_layers", 2, "--tp", 2, "--sp", "--ep", 4, "--cp", 2, "--zero",
                0],
    "latent": ["--model_name", "deepseek_v2_lite", "--num_layers", 3, "--ep", 16, "--recompute", "full"],
    "sharded": ["--model_name", "llama2_7b", "--num_layers", 2, "--zero", 3, "--global_batch", 32],
    "hybrid": ["--model_name", "llama2_7b", "--num_layers", 2, "--zero", 3, "--data_parallel_shard_degree", 8,
               "--global_batch", 32],
}


@pytest.mark.parametrize("name", RUNS)
def test_the_simulators_run_what_is_written(name, topology, tmp_path):
    generate(*RUNS[name], "--world_size", 16, "--seq_length", 1024, "-o", tmp_path, "--name", name, "--format", "both")
    text = tmp_path / f"{name}.txt"
    facts = json.loads((tmp_path / f"{name}.json").read_text())
    run("SimAI_analytical", "-w", text, "-g", 16, "-r_f", tmp_path / "analytical")
    run("SimAI_simulator", "-w", text, "-n", topology, "-c", REPOSITORY / "conf/SimAI.conf", "-o", tmp_path / "flow",
        "--network", "flow")
    (tmp_path / "network.txt").write_text(f"TOPOLOGY_FILE {topology}\nPACKET_PAYLOAD_SIZE 9000\n")
    (tmp_path / "system.json").write_text("{}")
    run("SimAI_simulator", "--workload-configuration", tmp_path / name, "--system-configuration",
        tmp_path / "system.json",
        "--network-configuration", tmp_path / "network.txt", "-o", tmp_path / "traces", "--network", "flow")
    times = [total_us(tmp_path / run_) for run_ in ("analytical", "flow", "traces")]
    assert min(times) >= facts["compute_ns"] / 1000 * 0.99
    # Both writers say the same; test_workload_matrix.py compares them for every flag.
    assert times[2] == pytest.approx(times[1], rel=0.005)


# NVIDIA, Megatron Bridge, performance summary 26.02 and 25.11, DGX-H100, FP8: tokens per second and GPU.
PUBLISHED = {
    "llama3_8b": (dict(world_size=8, zero=3, global_batch=128), 14451),
    "llama3_70b": (dict(world_size=64, tp=4, pp=8, virtual=5, zero=1, global_batch=256, sequence_parallel=True,
                        recompute="selective"), 1621),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_throughput_is_between_computation_alone_and_with_every_collective_exposed(name, tmp_path):
    sizes, published = PUBLISHED[name]
    plan = Parallelism(**sizes, sequence=8192)
    iteration = megatron.Iteration(catalogue.find(name), plan, gpus.find("H100", "fp8"))
    simai_text.write(iteration, tmp_path / "w.txt")
    run("SimAI_analytical", "-w", tmp_path / "w.txt", "-g", plan.world_size, "-g_type", "H100", "-r_f", tmp_path / "r")
    computed, exposed = max(map(iteration.compute_ns, range(plan.pp))) / 1e9, total_us(tmp_path / "r") / 1e6
    step = plan.sequences * plan.sequence / plan.world_size / published
    assert 0.9 * step < computed < step < exposed < 1.3 * step


def test_products_of_8_bit_floats_take_half_the_time_and_attention_the_same():
    eight, sixteen = gpus.find("H100", "fp8", "roofline"), H100
    product = operators.matmul("x", 8192, 8192, 8192)
    assert eight.times_ns(product)[0] == pytest.approx(sixteen.times_ns(product)[0] * 989 * 0.803 / (1979 * 0.709))
    attention = next(o for o in operators.mixer(gpt(), Parallelism(world_size=1), gpt().layer_kind(0))
                     if o.kind == "attention")
    assert eight.times_ns(attention) == sixteen.times_ns(attention)
    with pytest.raises(InputError, match="A100 has no 8-bit floats; expected"):
        gpus.find("A100", "fp8")


def test_a_pipeline_of_equal_stages_takes_the_textbook_s_time(tmp_path):
    # No communication: (m + p - 1) forward and backward passes of a stage, here without embedding and head.
    plan = Parallelism(world_size=4, pp=4, global_batch=8, sequence=1024, zero=0)
    iteration = megatron.Iteration(gpt(layers=8), plan, H100)
    rows = [row for row in iteration.stage_rows(1) if row.name != "optimizer"]
    header = [("model_parallel_NPU_group", 1), ("ep", 1), ("pp", 4), ("vpp", 1), ("ga", 8), ("all_gpus", 4),
              ("checkpoints", 0), ("checkpoint_initiates", 0), ("pp_comm", 0)]
    (tmp_path / "w.txt").write_text(simai_text.text(header, rows))
    run("SimAI_analytical", "-w", tmp_path / "w.txt", "-g", 4, "-r_f", tmp_path / "r")
    rounded = sum(round(t) for row in rows for t in (row.forward_ns, row.input_ns, row.weight_ns)) / 1000
    assert total_us(tmp_path / "r") == pytest.approx((8 + 4 - 1) * rounded, abs=0.01)
