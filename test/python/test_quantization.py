# SPDX-License-Identifier: GPL-2.0-only
"""Weights of 4 bits whose products compute with bfloat16: bytes, times, and the flags that name them."""
import json
import pathlib
import sys

import pytest
from test_inference import generate, simulate

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from clustersim.workload.kernels import experts, gpus, serving, weight_only  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402
from clustersim.workload.serve.instance import Instance  # noqa: E402
from clustersim.workload.serve.quantization import KINDS  # noqa: E402

LOAD = ("--requests", 1, "--rate", 1, "--prompt_tokens", 100, "--output_tokens", 2)
GPT = catalogue.find("gpt_oss_120b")


def weights(instance):
    """@return bytes of a layer's products"""
    found = {row.name: row for row in instance.rows()[:14]}
    return {name: row.figures[0] * row.figures[1] * row.figures[2] * (row.weight or 2) for name, row in found.items()
            if row.kind in ("matmul", "experts")}


def test_weights_take_four_bits_and_their_share_of_scales():
    llama = catalogue.find("llama3_8b")
    plain, awq, gptq = (weights(Instance(llama, 1, quantization=kind)) for kind in (None, KINDS["awq"], KINDS["gptq"]))
    assert awq["qkv"] / plain["qkv"] == pytest.approx((4 + 20 / 128) / 16)  # a scale of 16 bits, a zero point of 4
    assert gptq["mlp_down"] / plain["mlp_down"] == pytest.approx((4 + 16 / 128) / 16)
    plain, mxfp4 = (weights(Instance(GPT, 1, quantization=kind)) for kind in (None, KINDS["mxfp4"]))
    assert mxfp4["expert_up"] / plain["expert_up"] == pytest.approx((4 + 8 / 32) / 16)
    assert mxfp4["qkv"] == plain["qkv"] and mxfp4["router"] == plain["router"]


def test_gpt_oss_120b_fits_on_one_h100_as_published():
    """OpenAI: 60.8 GiB of weights (arXiv 2508.10925, table 1)."""
    instance, gpu = Instance(GPT, 1, quantization=KINDS["mxfp4"]), gpus.find("H100")
    kept = sum(instance.kept.tokens) * 16 / instance.kept.parts
    room = 0.9 * gpu.memory_bytes - instance.blocks(gpu, 0.9, 16, 1, 1) * kept
    assert room / 2 ** 30 == pytest.approx(60.8, rel=0.02)


@pytest.mark.parametrize("name", ["A100", "H100"])
def test_a_product_of_few_tokens_takes_the_time_of_its_bytes_and_one_of_many_that_of_bfloat16(name):
    gpu, weight = gpus.find(name), KINDS["awq"].weight_bytes

    def ratio(m):
        return weight_only.product_ns(gpu, m, 8192, 8192, weight) / serving.product_ns(gpu, "bfloat16", m, 8192, 8192)
    assert ratio(1) == pytest.approx(weight / 2, rel=0.01)
    ratios = [ratio(m) for m in (1, 16, 64, 128, 256, 1024, 8192)]
    assert ratios == sorted(ratios) and ratios[-1] == 1


def test_experts_of_few_tokens_take_the_time_of_their_bytes():
    gpu, weight = gpus.find("H100"), KINDS["mxfp4"].weight_bytes
    shape = experts.Shape(2880, 2880, 128, 4, 128)
    times = {rows: (weight_only.experts_ns(gpu, rows, shape, 2, "vLLM", weight),
                    experts.time_ns(gpu, "bfloat16", rows, shape, 2, "vLLM")) for rows in (512, 400_000)}
    assert weight / 2 < times[512][0] / times[512][1] < 0.3
    assert times[400_000][0] == times[400_000][1]


@pytest.mark.parametrize("engine", ["vLLM", "none"])
def test_a_step_of_one_sequence_takes_less_with_fewer_bytes(tmp_path, engine):
    """Nearly all of its time reads weights of 8 billion parameters."""
    star = tmp_path / "pair"
    star.write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    times = {}
    for kind in ("", "awq", "gptq"):
        text = generate(tmp_path, "--model_name", "llama3_8b", "--gpu_type", "A100", "--world_size", 1, *LOAD,
                        "--engine", engine, *(["--quantization", kind] if kind else []))
        run = simulate(tmp_path, text, topology=star, network="analytical")
        lines = [line.split(",") for line in (run / "inference.csv").read_text().splitlines()]
        times[kind] = next(float(line[1]) for line in lines if line[0] == "tpot_us")
        assert json.loads((tmp_path / "w.json").read_text())["quantization"] == (kind or "none")
    assert times["gptq"] <= times["awq"] < 0.65 * times[""]


def test_a_config_says_its_quantization(tmp_path, capsys):
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 4,
              "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
              "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    generate(tmp_path, "--config", tmp_path / "config.json", "--world_size", 1, *LOAD)
    assert json.loads((tmp_path / "w.json").read_text())["quantization"] == "awq"
    generate(tmp_path, "--config", tmp_path / "config.json", "--world_size", 1, *LOAD, "--dtype", "fp8")
    assert json.loads((tmp_path / "w.json").read_text())["quantization"] == "none"


@pytest.mark.parametrize("flags, line", [
    (("--quantization", "awq", "--dtype", "fp8"), "is for products of bfloat16; expected no --dtype fp8"),
    (("--quantization", "mxfp4"), "is that of experts, which llama3_8b lacks; expected awq or gptq")])
def test_a_quantization_that_does_not_go_is_refused_in_one_line(tmp_path, flags, line):
    said = generate(tmp_path, "--model_name", "llama3_8b", "--world_size", 1, *LOAD, *flags, status=2)
    assert line in said and said.count("\n") == 1
