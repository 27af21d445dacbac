# SPDX-License-Identifier: GPL-2.0-only
"""Predictions of AISimulate as input of workload.py --inference: fields that both know count, others are refused."""
import json
import pathlib
import sys

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from clustersim import notices  # noqa: E402
from clustersim.errors import InputError  # noqa: E402
from clustersim.workload.inference import aisimulate  # noqa: E402

ENGINE = "engine:\n  model: Qwen/Qwen3-32B-FP8\n  hardware: h200_sxm\n"
FIRST = """traffic:
  source: {type: synthetic, input_tokens: 2048, output_tokens: 64}
  load: {type: poisson, requests_per_second: 8}
  stop: {requests_per_load_unit: 2.5}
engine:
  mode: aggregated
  model: Qwen/Qwen3-32B-FP8
  hardware: h200_sxm
  backend: sglang
  context_length: 4096
  workers:
    aggregated:
      parallelism: {replicas: 3, tensor: 2, pipeline: 1, attention_data: 1, moe_tensor: 1, moe_expert: 1}
      scheduler: {max_batched_tokens: 4096, max_sequences: 32, prefill_schedule_interval: 1}
      kv_cache:
        block_size: 64
        prefix_caching: false
        bytes_per_token: auto
        capacity: {type: default, memory_fraction: 0.8, cuda_graph_reserved_bytes: 0}
      timing: {type: default, forward_model: op_level}
      startup_seconds: 0
router: {policy: round_robin, prefill_load_model: {type: none}}
planner: {policy: disabled}
evaluation: {sla: {ttft_ms: 500, itl_ms: 50}}
"""


def flags_of(place, text):
    """@return the flags that a file stands for, by name"""
    (place / "p.yaml").write_text(text)
    words = aisimulate.flags(str(place / "p.yaml"))
    return dict(zip(words[::2], words[1::2]))


def test_each_field_is_a_flag(tmp_path):
    assert flags_of(tmp_path, FIRST) == {
        "--prompt_tokens": "2048", "--output_tokens": "64", "--rate": "8", "--seed": "42", "--requests": "20",
        "--model_name": "Qwen/Qwen3-32B", "--dtype": "fp8", "--gpu_type": "H200", "--engine": "SGLang",
        "--max_model_len": "4096", "--gpus": "6", "--tp": "2", "--pp": "1", "--dp": "1", "--ep": "1",
        "--max_num_batched_tokens": "4096", "--max_num_seqs": "32", "--block_size": "64",
        "--gpu_memory_utilization": "0.8", "--enable_prefix_caching": "0", "--router": "round_robin",
        "--ttft_limit_ms": "500", "--tpot_limit_ms": "50"}


def test_fields_that_are_left_out_have_aisimulate_s_defaults(tmp_path):
    found = flags_of(tmp_path, ENGINE + "  workers: {aggregated: {}}\n")
    assert [found[f"--{name}"] for name in ("prompt_tokens", "output_tokens", "max_concurrency", "requests", "gpus",
                                            "engine", "router")] == ["1024", "128", "10", "100", "1", "vLLM",
                                                                     "round_robin"]


@pytest.mark.parametrize("model, expected", [
    ("Qwen/Qwen3-32B", {}), ("nvidia/DeepSeek-R1-0528-NVFP4", {"--dtype": "nvfp4"}),
    ("deepseek-ai/DeepSeek-V3", {"--dtype": "fp8"}), ("openai/gpt-oss-120b", {"--quantization": "mxfp4"}),
    ("Qwen/Qwen3-32B-AWQ", {"--quantization": "awq"})])
def test_the_name_of_a_model_tells_the_type_of_its_weights(tmp_path, model, expected):
    found = flags_of(tmp_path, ENGINE.replace("Qwen/Qwen3-32B-FP8", model))
    assert {key: found[key] for key in ("--dtype", "--quantization") if key in found} == expected


def test_prefill_and_decode_have_layouts_and_gpus_of_their_own(tmp_path):
    (tmp_path / "p.yaml").write_text("""engine:
  mode: disaggregated
  model: Qwen/Qwen3-235B-A22B-FP8
  hardware: b200_sxm
  workers:
    prefill: {hardware: h200_sxm, parallelism: {replicas: 2, tensor: 4, moe_tensor: 4}}
    decode: {parallelism: {attention_data: 8, moe_expert: 8}}
""")
    done = run_script([ROOT / "scripts/workload.py", "--inference", "--aisimulate", tmp_path / "p.yaml", "-o", tmp_path,
                       "--name", "w", "--max_concurrency", "3"])
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "w.json").read_text())
    assert facts["engine"] == "vLLM"
    assert [[pool[key] for key in ("role", "gpu_type", "gpus", "tp", "dp", "ep")] for pool in facts["pools"]] == [
        ["prefill", "H200", 8, 4, 1, 1], ["decode", "B200", 8, 1, 8, 8]]
    assert "max_concurrency 3\n" in (tmp_path / "w.txt").read_text()  # a flag wins
    assert "fp8" in (tmp_path / "w.txt").read_text()


@pytest.mark.parametrize("text, said", [
    (ENGINE + "  speculation: {kind: ngram}\n", '4: "engine.speculation.kind" is not modelled'),
    (ENGINE + "execution:\n  resources: {cpus: 3}\n", '5: "execution.resources.cpus" is not modelled'),
    (ENGINE + "  workers: {prefill: {parallelism: {tensor: 2}}}\n",
     '4: "engine.workers.prefill.parallelism.tensor" is not modelled'),
    (ENGINE + "  mode: afd\n", '4: "engine.mode" is afd, which is not modelled; expected aggregated or disaggregated'),
    (ENGINE + "  workers:\n    aggregated:\n      timing: {type: fixed}\n",
     '6: "engine.workers.aggregated.timing.type" is fixed, which is not modelled; expected default'),
    (ENGINE + "  workers:\n    aggregated: {parallelism: {tensor: four}}\n",
     '5: "engine.workers.aggregated.parallelism.tensor" is four; expected a whole number above 0'),
    (ENGINE + "  workers:\n    aggregated: {parallelism: {tensor: 8, moe_expert: 4}}\n",
     '5: "engine.workers.aggregated.parallelism.moe_expert" times moe_tensor is 4; expected tensor times'),
    (ENGINE + "  kv_transfer: {bandwidth_gb_per_second: 40}\n", '4: "engine.kv_transfer.bandwidth_gb_per_second" is'),
    (ENGINE + "  mode: disaggregated\n  workers:\n    prefill: {scheduler: {max_sequences: 1}}\n"
     "    decode: {scheduler: {max_sequences: 2}}\n",
     '7: "engine.workers.decode.scheduler.max_sequences" is 2, and 1 in prefill; expected the same'),
    (ENGINE + "router: {policy: kv_router}\n", '4: "router.policy" is kv_router, which is not modelled'),
    (ENGINE + "traffic: {load: {concurrency: {choices: [1, 2]}}, stop: {requests: 3}}\n",
     '4: "traffic.load.concurrency.choices" is not modelled'),
    (ENGINE + "traffic: {load: {type: poisson}, stop: {requests: 3}}\n",
     '"traffic.load.requests_per_second" is missing; expected a rate'),
    (ENGINE + "traffic: {source: {type: trace}}\n", '4: "traffic.source.type" is trace, which is not modelled'),
    (ENGINE + "traffic: {load: {concurrency: 2}}\n", '"traffic.stop.requests" and requests_per_load_unit are both'),
    (ENGINE + "  model: a\n", "4: the key 'model' occurs twice"),
    ("engine: {model: a}\n", '1: "engine.hardware" is missing'), ("- 3\n", "1: is no mapping; expected a prediction"),
    ("a: &a {b: *a}\n", "is")])
def test_other_fields_are_refused_by_line_and_name(tmp_path, text, said):
    with pytest.raises(InputError) as error:
        flags_of(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path}/p.yaml:") and said in str(error.value)
    assert "; expected " in str(error.value) and "\n" not in str(error.value)


def test_a_version_of_an_engine_is_said_to_change_nothing(tmp_path):
    with notices.collected() as lines:
        flags_of(tmp_path, ENGINE + "  backend_version: 0.24.0\n")
    assert lines == [f'{tmp_path}/p.yaml:4: "engine.backend_version" is 0.24.0, which changes nothing: profiles of engines '
                     "are those of --engine"]
