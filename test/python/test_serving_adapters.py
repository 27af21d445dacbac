# SPDX-License-Identifier: GPL-2.0-only
"""Adapters (LoRA) while serving: their weights, their thin products, and the models that they are refused for."""
import json
import pathlib
import sys

import pytest
from test_inference import generate, rows, simulate

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from clustersim.workload.kernels import gpus  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402
from clustersim.workload.plan import adapters  # noqa: E402
from clustersim.workload.serve.instance import Instance  # noqa: E402
from clustersim.workload.serve.quantization import KINDS  # noqa: E402

LLAMA = catalogue.find("llama3_8b")  # 32 layers, hidden 4096, 32 + 2 x 8 heads of 128, FFN 14336
H100 = gpus.find("H100", kernels="roofline")
LOAD = ("--requests", 1, "--rate", 1e6, "--prompt_tokens", 512, "--output_tokens", 2)
RANK, SLOTS = 64, 8
# Of each product on a GPU of TP 1: columns of the first thin product, its inputs, columns of the second.
THIN = {"qkv": (3 * RANK, 4096, 48 * 128), "projection": (RANK, 4096, 4096), "mlp_up": (2 * RANK, 4096, 2 * 14336),
        "mlp_down": (RANK, 14336, 4096)}


def instance(tp, *names, **how):
    return Instance(LLAMA, tp, tp=tp, adapters=adapters.served(RANK, names, SLOTS, True), **how)


def time_ns(tokens, slots=SLOTS):
    """@return nanoseconds of a layer's thin products"""
    distinct = slots * (1 - (1 - 1 / slots) ** tokens)
    rate, speed = H100.stream_rate, H100.tflops * 1e3 * H100.matmul
    return sum(max((tokens * (2 * inputs + 4 * width) + distinct * 2 * width * inputs) / rate,
                   2 * tokens * width * inputs / speed)
               + max((tokens * (4 * width + 4 * columns) + distinct * 2 * RANK * columns) / rate,
                     2 * tokens * RANK * columns / speed)
               for width, inputs, columns in THIN.values())


@pytest.mark.parametrize("tp", [1, 4])
@pytest.mark.parametrize("how", [{}, {"dtype": "fp8"}, {"quantization": KINDS["awq"]}], ids=["plain", "fp8", "awq"])
def test_every_adapter_is_in_memory_in_bfloat16(tp, how):
    # Products that give the columns of a rank have the whole first weights, those that add up have the whole second.
    inputs = {"qkv": 4096, "projection": 4096 / tp, "mlp_up": 4096, "mlp_down": 14336 / tp}
    columns = {"qkv": 48 * 128 / tp, "projection": 4096, "mlp_up": 2 * 14336 / tp, "mlp_down": 4096}
    numbers = sum(THIN[name][0] * inputs[name] + RANK * columns[name] for name in THIN)
    found = instance(tp, **how)
    assert found.weights_of_stage(0, only_adapters=True) == 2 * SLOTS * 32 * numbers
    assert found.weights_of_stage(0) - Instance(LLAMA, tp, tp=tp, **how).weights_of_stage(0) == 2 * SLOTS * 32 * numbers


def test_adapters_take_the_place_of_blocks(tmp_path):
    flags = ("--model_name", "llama3_8b", "--world_size", 2, "--tp", 2, *LOAD)
    generate(tmp_path, *flags)
    [before] = json.loads((tmp_path / "w.json").read_text())["pools"]
    generate(tmp_path, *flags, "--enable-lora", "--max-loras", 100, "--max-lora-rank", RANK)
    [after] = json.loads((tmp_path / "w.json").read_text())["pools"]
    assert before["adapter_bytes_per_rank"] == 0
    taken = after["adapter_bytes_per_rank"] / (16 * after["cache_bytes_per_token_and_rank"])
    assert before["blocks"] - after["blocks"] == pytest.approx(taken, abs=1)


def test_modules_that_servers_join_have_adapters_together():
    assert instance(1, "q_proj") == instance(1, "k_proj", "v_proj")
    names = [row.name for row in instance(2, "o_proj").rows()]
    assert [name for name in names if "lora" in name] == ["projection_lora_shrink", "projection_lora_expand"]
    by_name = {row.name: row for row in instance(2).rows()}
    for name in ("projection", "mlp_down"):  # ranks add up after the adapter
        assert by_name[name].collective == "NONE"
        assert (by_name[f"{name}_lora_expand"].collective, by_name[f"{name}_lora_expand"].bytes) == (
            "ALLREDUCE_TP", 2 * 4096)


@pytest.mark.parametrize("slots", [1, SLOTS])
def test_a_step_is_longer_by_the_rooflines_of_its_thin_products(tmp_path, slots):
    star = tmp_path / "pair"
    star.write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")

    def times(*flags):
        text = generate(tmp_path, "--model_name", "llama3_8b", "--world_size", 1, *LOAD, *flags)
        return rows(simulate(tmp_path, text, topology=star, network="analytical") / "requests.csv")[0]

    plain, other = times(), times("--enable_lora", "--max_loras", slots, "--max_lora_rank", RANK)
    for phase, tokens in (("prefill_us", 512), ("decode_us", 1)):
        added = 1e3 * (float(other[phase]) - float(plain[phase]))
        assert added == pytest.approx(32 * time_ns(tokens, slots), rel=2e-3)


def test_kernels_of_an_engine_take_two_microseconds_at_least(tmp_path):
    text = generate(tmp_path, "--model_name", "llama3_8b", "--world_size", 1, *LOAD, "--engine", "vLLM",
                    "--enable_lora")
    lines = text.splitlines()
    for step in ("shrink", "expand"):
        [place] = [i for i, line in enumerate(lines) if line.startswith(f"row projection_lora_{step} ")]
        assert lines[place + 1].startswith("times tokens 1 2000 2 2000 ")


@pytest.mark.parametrize("flags, said", [
    ("--model_name llama3_8b --max_loras 3", "--max_loras has no effect without --enable_lora"),
    ("--model_name llama3_8b --max_lora_rank 8", "--max_lora_rank has no effect without --enable_lora"),
    ("--model_name llama3_8b --lora_target_modules q_proj", "--lora_target_modules has no effect"),
    ("--model_name llama3_8b --enable_lora --max_loras 0", "--max_loras 0 is not valid; expected 1 to"),
    ("--model_name mixtral_8x7b --enable_lora", "has experts, whose adapters are not modelled; expected"),
    ("--model_name deepseek_v3 --enable_lora --lora_target_modules q_proj",
     "has products (key_value_down, key_value_up, query_down, query_up) whose adapters are not modelled")])
def test_what_is_not_modelled_is_refused_in_a_line(tmp_path, flags, said):
    refusal = generate(tmp_path, *flags.split(), "--world_size", 8, "--tp", 8, *LOAD, status=2)
    assert said in refusal and refusal.count("\n") == 1


def test_experts_keep_their_weights_where_attention_has_adapters(tmp_path):
    text = generate(tmp_path, "--model_name", "mixtral_8x7b", "--world_size", 4, "--tp", 4, *LOAD, "--enable_lora",
                    "--lora_target_modules", "qkv_proj", "o_proj")
    assert {line.split()[1] for line in text.splitlines() if "_lora_" in line} == {
        f"{name}_lora_{step}" for name in ("qkv", "projection") for step in ("shrink", "expand")}
