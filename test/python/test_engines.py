# SPDX-License-Identifier: GPL-2.0-only
"""Profiles of engines: the flags and the time that they stand for, and what a flag changes."""
import csv
import json
import pathlib
import sys

import pytest
from others_files import OTHERS_FILES
from test_inference import generate, rows, simulate
from test_serving_kernels import pair_of_hosts, times_of

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.workload.kernels import experts, gpus, serving  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402
from clustersim.workload.serve import engine  # noqa: E402

ONE = ("--model_name", "llama3_8b", "--num_layers", 2, "--world_size", 1, "--requests", 1, "--rate", 1,
       "--prompt_tokens", 100, "--output_tokens", 11)
PROFILES = engine.names()


def of(text, key):
    return next((line.partition(" ")[2] for line in text.splitlines() if line.split(" ")[0] == key), None)


def test_an_engine_is_the_default(tmp_path):
    from script_process import run_script
    done = run_script([REPOSITORY / "scripts/workload.py", "--inference", *map(str, ONE), "-o", tmp_path, "--name",
                       "p"])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "p.txt").read_text() == generate(tmp_path, *ONE, "--engine", "vLLM")
    facts = json.loads((tmp_path / "p.json").read_text())
    assert (facts["engine"], facts["kernels"]) == ("vLLM", "measured")


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_stands_for_its_flags(tmp_path, name):
    text, profile = generate(tmp_path, *ONE, "--engine", name), engine.find(name)
    for key, value in profile.defaults(gpus.find("H100"), 1).items():
        if key not in ("kernels", "gpu_memory_utilization"):
            assert of(text, key) == value, key
    assert "times tokens" in text
    assert ("row attention_unfused all linear" in text) == bool(profile.extra_kernels)


@pytest.mark.parametrize("key, value", [("max_num_seqs", "7"), ("max_num_batched_tokens", "300"), ("launch_ns", "1"),
                                        ("step_overhead_ns", "0"), ("cudagraph_capture_sizes", "1 3"),
                                        ("block_size", "8"), ("enable_chunked_prefill", "0")])
def test_a_flag_wins_over_the_profile(tmp_path, key, value):
    assert of(generate(tmp_path, *ONE, "--engine", "vLLM", f"--{key}", value), key) == value


def test_rooflines_win_over_the_profiles_kernels(tmp_path):
    text = generate(tmp_path, *ONE, "--engine", "vLLM", "--kernels", "roofline")
    assert "times" not in text and of(text, "launch_ns") == "5000"


def test_no_engine_has_no_time_beside_kernels(tmp_path):
    text = generate(tmp_path, *ONE, "--engine", "none")
    assert all(of(text, key) is None for key in ("launch_ns", "step_overhead_ns", "cudagraph_capture_sizes", "times"))


def test_limits_and_graphs_go_with_the_gpu_and_its_group():
    vllm, sglang = engine.find("vLLM"), engine.find("SGLang")
    assert [(vllm.limit(gpus.find(name)).max_num_seqs, vllm.limit(gpus.find(name)).max_num_batched_tokens)
            for name in ("A100", "H100", "B200")] == [(256, 2048), (1024, 8192), (1024, 8192)]
    # Of vllm/config/vllm.py: 1, 2, 4, each eighth to 256, each sixteenth to twice --max_num_seqs or 512.
    assert vllm.captured(1024, 1) == [1, 2, 4, *range(8, 256, 8), *range(256, 513, 16)]
    assert vllm.captured(16, 1) == [1, 2, 4, 8, 16, 24, 32]
    assert (max(sglang.captured(4096, 2)), max(sglang.captured(4096, 4))) == (256, 512)
    assert sglang.limit(gpus.find("B200")).max_num_batched_tokens == 16384


@pytest.mark.parametrize("name", PROFILES)
def test_a_step_takes_its_kernels_and_the_engines_time(tmp_path, name):
    """One sequence, whose ten decoding steps have graphs: the step, the sequence, and kernels of both layers."""
    profile = engine.find(name)
    generate(tmp_path, *ONE, "--engine", name)
    text = (tmp_path / "w.txt").read_text()
    bare = "\n".join(line for line in text.splitlines()
                     if not line.startswith(("row attention_unfused", "row host", "step_overhead_ns")))
    found = [float(rows(simulate(tmp_path, each, topology=pair_of_hosts(tmp_path), network="analytical")
                        / "requests.csv")[0]["tpot_us"]) for each in (text, bare + "\n")]
    assert found[0] - found[1] == pytest.approx(
        (profile.step_ns + profile.sequence_ns + 2 * profile.extra_kernels * 2000) / 1e3, rel=1e-3)


def test_decoding_queries_take_a_tile_each_where_one_kernel_attends_for_prompts_too(tmp_path):
    """vLLM with FlashAttention-2. A step with 2,048 tokens of prompts takes 334 ms with 130 sequences of 2,046 tokens
    that decode, 238 ms with three, of 40 layers (GPUStack's docs/performance-lab/qwen3-14b/a100.md, median latencies
    between tokens); the prompts' own attention differs by 9 ms."""
    server = "--model_name", "qwen3_14b", "--world_size", 1, *ONE[6:]
    text = generate(tmp_path, *server, "--gpu_type", "A100", "--engine", "vLLM")
    mixed, alone = (times_of(text, "attention", axis)[128.0, 2048.0] for axis in ("mixed", "decoding"))
    assert 40 * mixed * 130 / 128 == pytest.approx((334 - 238 - 9) * 1e6, rel=0.2) and mixed > 2 * alone
    for gpu, name in (("A100", "SGLang"), ("H100", "vLLM")):
        assert "times mixed" not in generate(tmp_path, *server, "--gpu_type", gpu, "--engine", name)


def test_8_bits_have_the_scales_of_the_checkpoint_that_is_served(tmp_path):
    """Qwen's own 8-bit floats have a scale for each block, NVIDIA's of Qwen3 for each tensor, and Llama's too."""
    gpu = gpus.find("H100", "fp8")
    for model, name, scales in (("qwen3_8b", "vLLM", "fp8_block"), ("qwen3_8b", "TensorRT-LLM", "fp8"),
                                ("deepseek_v3", "TensorRT-LLM", "fp8_block"), ("llama3_8b", "SGLang", "fp8")):
        known = catalogue.find(model)
        assert engine.find(name).eight_bits(known) == scales
        if model == "deepseek_v3":
            continue
        text = generate(tmp_path, "--model_name", model, "--world_size", 1, "--num_layers", 2, "--dtype", "fp8",
                        *ONE[6:], "--engine", name)
        assert times_of(text, "projection")[8.0,] == pytest.approx(
            serving.product_ns(gpu, scales, 8, 4096, 4096, name), rel=1e-3)


@pytest.mark.parametrize("name, gpu, model, us", [
    ("vLLM", "H200", "deepseek_v3", 7 + 4 * 2 + 2), ("vLLM", "H100", "qwen3_30b_a3b", 3.3 + 2 * 2),
    ("SGLang", "H100", "qwen3_30b_a3b", 3.3), ("TensorRT-LLM", "H100", "deepseek_v3", 2),
    ("vLLM", "B200", "qwen3_30b_a3b", 0)])
def test_experts_are_chosen_by_kernels_of_their_own(tmp_path, name, gpu, model, us):
    """vLLM on Hopper chooses 8 of 256 experts with a bias by a kernel of 7 us and four short ones, and adds up the
    shared experts. TensorRT-LLM's experts, and those of vLLM 0.24 on Blackwell, were measured with the choice."""
    text = generate(tmp_path, "--model_name", model, "--world_size", 8, "--tp", 4, "--num_layers", 4, "--gpu_type", gpu,
                    *ONE[6:], "--engine", name)
    found = [line.split() for line in text.splitlines() if line.startswith("row routing")]
    assert [float(words[4]) for words in found] == ([pytest.approx(us * 1e3)] if us else [])


def test_engines_make_all_latents_by_one_product(tmp_path):
    text = generate(tmp_path, "--model_name", "deepseek_v3", "--world_size", 8, "--tp", 8, "--num_layers", 2,
                    "--gpu_type", "H200", "--dtype", "fp8", *ONE[6:])
    assert "row latent_down all matmul_fp8 2112 7168 1 NONE 0" in text  # 1,536 of queries, 512 + 64 of keys and values
    assert "row query_down" not in text and "row key_value_down" not in text


def test_tensorrt_llm_decodes_beside_whole_prompts(tmp_path):
    text = generate(tmp_path, *ONE, "--engine", "TensorRT-LLM")
    assert (of(text, "enable_chunked_prefill"), of(text, "enable_mixed_batches")) == ("0", "1")


def test_experts_are_those_of_the_engine(tmp_path):
    shape = experts.Shape(2048, 768 // 4, 128, 8, 128)
    for name in ("vLLM", "TensorRT-LLM"):
        text = generate(tmp_path, "--model_name", "qwen3_30b_a3b", "--world_size", 4, "--tp", 4, "--num_layers", 2,
                        "--dtype", "fp8", *ONE[6:], "--engine", name)
        assert times_of(text, "experts")[8.0,] == pytest.approx(
            experts.time_ns(gpus.find("H100", "fp8"), engine.find(name).eight_bits(catalogue.find(
                "qwen3_30b_a3b")), 64, shape, engine=name), rel=1e-3)


def test_the_allreduce_is_named_where_ranks_add_up(tmp_path):
    for tp, named in ((1, None), (2, "SGLang")):
        assert of(generate(tmp_path, *ONE, "--world_size", 2, "--tp", tp, "--engine", "SGLang"), "all_reduce") == named


def server_of(place, gpu):
    from script_process import run_script
    done = run_script([REPOSITORY / "topologies/gen_Topo_Template.py", "-topo", "Clos2", "-g", 2, "-gps", 2, "-gt", gpu,
                       "-o", place / gpu])
    assert done.returncode == 0, done.stderr
    return place / gpu


def algorithms_of(run):
    return {row["algorithm"] for row in rows(run / "collectives.csv") if row["op"] == "AllReduce"}


def test_the_simulator_carries_out_the_allreduce_that_a_workload_names(tmp_path):
    text = generate(tmp_path, *ONE, "--world_size", 2, "--tp", 2, "--engine", "vLLM")
    for gpu, line, expected in (("H100", "all_reduce vLLM\n", True), ("H100", "", False),
                                ("MI300X", "all_reduce vLLM\n", False)):
        run = simulate(tmp_path, text.replace("all_reduce vLLM\n", line), topology=server_of(tmp_path, gpu),
                       network="analytical")
        assert (algorithms_of(run) == {"EngineOneShot"}) == expected


def test_an_allreduce_of_no_engine_is_refused_in_its_line(tmp_path):
    text = generate(tmp_path, *ONE, "--world_size", 2, "--tp", 2, "--engine", "vLLM")
    text = text.replace("all_reduce vLLM", "all_reduce vllm")
    line = text.splitlines().index("all_reduce vllm") + 1
    said = simulate(tmp_path, text, topology=server_of(tmp_path, "H100"), network="analytical", status=2)
    assert f":{line}: all_reduce is 'vllm'; expected one of SGLang, " in said


def test_layers_with_a_window_need_no_flag(tmp_path):
    assert of(generate(tmp_path, "--model_name", "gpt_oss_20b", "--num_layers", 2, *ONE[4:], "--engine", "vLLM"),
              "enable_prefix_caching") == "0"


def test_an_unknown_engine_is_refused_in_one_line(tmp_path):
    said = generate(tmp_path, *ONE, "--engine", "vllm", status=2)
    assert said.count("\n") == 1 and '--engine "vllm" is not a known engine; expected one of vLLM, ' in said


@pytest.mark.others_files
def test_rows_that_inform_a_profile_are_published():
    with (OTHERS_FILES / "serving/published.csv").open(newline="") as file:
        known = {row["id"] for row in csv.DictReader(file)}
    assert {row for name in PROFILES for row in engine.find(name).rows} <= known
