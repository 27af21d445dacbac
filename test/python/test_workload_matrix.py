# SPDX-License-Identifier: GPL-2.0-only
"""SimAI's text and Chakra traces of one plan are the same job: computation, collectives of every group, and time."""
import collections
import csv
import json
import os
import pathlib
import subprocess
import sys

import pytest
from script_process import run_script

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.workload.estimate import estimate  # noqa: E402
from clustersim.workload.estimate.collective_times import Machine  # noqa: E402
from clustersim.workload.kernels import gpus  # noqa: E402
from clustersim.workload.model import catalogue, operators  # noqa: E402
from clustersim.workload.plan import pipeline  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism  # noqa: E402
from clustersim.workload.training import megatron  # noqa: E402
from clustersim.workload.write import simai_text  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", REPOSITORY / "bin"))
GPUS = 16
LLAMA = ["--model_name", "llama2_7b", "--num_layers", 4]
GPT = ["--model_name", "gpt_22b", "--num_layers", 4]  # tied embedding, learned positions
EXPERTS = ["--model_name", "mixtral_8x7b", "--num_layers", 4]
MEASURED = "operator,forward_us,input_gradient_us,weight_gradient_us\nattention,100,250,0\noptimizer,500,0,0\n"
WINDOWS = {"model_type": "gemma3_text", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 6,
           "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 32000,
           "sliding_window": 256,
           "tie_word_embeddings": False}
HYBRID = {"model_type": "nemotron_h", "hidden_size": 1024, "num_hidden_layers": 8,
          "hybrid_override_pattern": "MEM*-MEM",
          "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 2048,
          "vocab_size": 32000,
          "mamba_num_heads": 32, "mamba_head_dim": 64, "n_groups": 4, "ssm_state_size": 128, "conv_kernel": 4,
          "chunk_size": 128,
          "n_routed_experts": 16, "num_experts_per_tok": 4, "moe_intermediate_size": 512,
          "moe_shared_expert_intermediate_size": 1024,
          "n_shared_experts": 1, "moe_latent_size": 512}
LINEAR = {"model_type": "qwen3_next", "hidden_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 8,
          "num_key_value_heads": 2,
          "head_dim": 128, "intermediate_size": 2048, "vocab_size": 32000, "linear_num_key_heads": 8,
          "linear_key_head_dim": 64,
          "linear_num_value_heads": 16, "linear_value_head_dim": 64, "linear_conv_kernel_dim": 4,
          "full_attention_interval": 4}
COMPRESSED = {"model_type": "deepseek_v4", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8,
              "head_dim": 128,
              "num_key_value_heads": 1, "q_lora_rank": 256, "o_lora_rank": 256, "o_groups": 4, "sliding_window": 128,
              "index_topk": 64,
              "compress_ratios": [0, 4, 128, 4], "index_n_heads": 8, "index_head_dim": 64, "hc_mult": 4,
              "n_routed_experts": 16,
              "num_experts_per_tok": 4, "moe_intermediate_size": 512, "n_shared_experts": 1, "vocab_size": 32000}
FILES = {"times.csv": MEASURED, "windows.json": json.dumps(WINDOWS), "hybrid.json": json.dumps(HYBRID),
         "linear.json": json.dumps(LINEAR),
         "compressed.json": json.dumps(COMPRESSED)}

# Every flag of workload.py that changes the rows, alone and with those that it meets in practice.
PLANS = {
    "data": LLAMA,
    "zero 0": [*LLAMA, "--zero", 0, "--global_batch", 32],
    "zero 2": [*LLAMA, "--zero", 2, "--global_batch", 48],
    "zero 3": [*LLAMA, "--frame", "DeepSpeed", "--stage", 3, "--global_batch", 32],
    "zero 3, full": [*LLAMA, "--zero", 3, "--global_batch", 32, "--recompute", "full"],
    "tensor": [*LLAMA, "--tp", 8, "--micro_batch", 2, "--global_batch", 8],
    "sequence": [*LLAMA, "--tp", 4, "--sp", "--global_batch", 8],
    "context": [*LLAMA, "--tp", 2, "--cp", 4, "--sp", "--global_batch", 4],
    "selective": [*LLAMA, "--tp", 8, "--recompute", "selective"],
    "full": [*LLAMA, "--tp", 8, "--sp", "--recompute", "full", "--global_batch", 8],
    "pipeline": [*LLAMA, "--tp", 4, "--pp", 4, "--global_batch", 8],
    "pipeline, data": [*LLAMA, "--tp", 2, "--pp", 2, "--global_batch", 16],
    "interleaved": [*LLAMA, "--tp", 2, "--pp", 2, "--vpp", 2, "--global_batch", 16, "--recompute", "full"],
    "uneven stages": ["--model_name", "llama2_7b", "--num_layers", 5, "--tp", 4, "--pp", 4, "--global_batch", 8],
    "tied": [*GPT, "--tp", 8, "--pp", 2, "--global_batch", 4],
    "tied, three stages or more": [*GPT, "--tp", 2, "--pp", 4, "--global_batch", 16, "--sp"],
    "tied, interleaved": [*GPT, "--tp", 4, "--pp", 2, "--vpp", 2, "--global_batch", 8, "--zero", 0],
    "tied, one stage": [*GPT, "--tp", 8],
    "experts": [*EXPERTS, "--ep", 8],
    "experts, context": [*EXPERTS, "--ep", 4, "--cp", 2, "--tp", 2, "--sp", "--zero", 0],
    "experts, pipeline": ["--model_name", "mixtral_8x7b", "--num_layers", 3, "--ep", 4, "--pp", 2, "--tp", 2, "--sp",
                          "--global_batch", 16, "--reserved_gb", 0, "--gpu_type", "H200"],
    "dense layers first": ["--model_name", "deepseek_v2_lite", "--num_layers", 4, "--ep", 8, "--pp", 2, "--vpp", 2,
                           "--global_batch",
                           16, "--recompute", "full"],
    "experts that are not cut": [*EXPERTS, "--tp", 4, "--sp", "--ep", 8, "--etp", 1, "--zero", 0, "--force"],
    "experts that are not cut, pipeline": [*EXPERTS, "--tp", 2, "--sp", "--pp", 2, "--ep", 4, "--etp", 1,
                                           "--global_batch", 16],
    "experts that are not cut, context": [*EXPERTS, "--tp", 2, "--sp", "--cp", 2, "--ep", 8, "--etp", 1, "--zero", 0,
                                          "--force",
                                         "--global_batch", 32],
    "embedding and loss as layers": ["--model_name", "llama2_7b", "--num_layers", 6, "--tp", 4, "--pp", 2, "--vpp", 4,
                                     "--global_batch", 8,
                                     "--account-for-embedding-in-pipeline-split",
                                     "--account-for-loss-in-pipeline-split"],
    "chunks that do not divide": ["--model_name", "llama2_7b", "--num_layers", 5, "--tp", 4, "--pp", 2, "--vpp", 2,
                                  "--global_batch", 8],
    "uneven ends": ["--model_name", "llama2_7b", "--num_layers", 7, "--tp", 4, "--pp", 4, "--global_batch", 8,
                    "--decoder-first-pipeline-num-layers", 1, "--decoder_last_pipeline_num_layers", 2],
    "layout": ["--model_name", "llama2_7b", "--num_layers", 5, "--tp", 4, "--pp", 2, "--vpp", 3, "--global_batch", 8,
               "--pipeline_model_parallel_layout", "E|t*2|(t|)*2|tL", "--recompute", "full"],
    "sharded weights, pipeline": [*LLAMA, "--zero", 3, "--tp", 2, "--pp", 2, "--global_batch", 16],
    "modules": [*LLAMA, "--tp", 4, "--sp", "--pp", 2, "--global_batch", 8, "--recompute", "selective",
                "--recompute_modules", "core_attn",
                "mlp", "layernorm"],
    "modules of experts": [*EXPERTS, "--ep", 8, "--tp", 2, "--sp", "--recompute", "selective", "--recompute_modules",
                           "moe", "--force",
                           "--etp", 1, "--global_batch", 32],
    "modules of shared experts": ["--model_name", "deepseek_v2_lite", "--num_layers", 3, "--ep", 8, "--recompute",
                                  "selective",
                                  "--recompute-modules", "mla_up_proj", "moe_act", "shared_experts", "--global_batch",
                                  64],
    "some layers": [*LLAMA, "--tp", 4, "--pp", 2, "--vpp", 2, "--global_batch", 8, "--num_layers", 8, "--recompute",
                    "full",
                    "--recompute-num-layers", 1, "--cpu-offloading-num-layers", 1],
    "adapters": [*LLAMA, "--tp", 4, "--sp", "--global_batch", 8, "--lora_rank", 16, "--lora_targets", "linear_qkv",
                 "down_proj",
                 "--document_length", 256],
    "adapters, pipeline": [*GPT, "--pp", 2, "--tp", 2, "--global_batch", 16, "--lora_rank", 8],
    "adapters, sharded weights": [*LLAMA, "--zero", 3, "--global_batch", 32, "--lora_rank", 16, "--cp", 2],
    "numbers": [*LLAMA, "--dtype", "fp8", "--fp8-param-gather", "--grad-reduce-in-bf16", "--exp-avg-dtype", "bf16",
                "--pp", 2, "--tp", 2,
                "--global_batch", 8],
    "hybrid": ["--config", "hybrid.json", "--tp", 2, "--sp", "--ep", 8, "--etp", 1, "--global_batch", 32,
               "--mtp_num_layers", 2],
    "hybrid, context, pipeline": ["--config", "hybrid.json", "--cp", 2, "--pp", 2, "--ep", 4, "--global_batch", 16,
                                  "--recompute", "full"],
    "linear attention": ["--config", "linear.json", "--tp", 2, "--sp", "--pp", 2, "--vpp", 2, "--global_batch", 16,
                         "--zero", 0],
    "further tokens": ["--model_name", "deepseek_v2_lite", "--num_layers", 4, "--ep", 8, "--pp", 2, "--global_batch",
                       16, "--mtp_num_layers", 1,
                       "--tp", 2, "--sp", "--etp", 1, "--pipeline_model_parallel_layout", "Ettt|tmL"],
    "sparse attention": ["--model_name", "deepseek_v3.2", "--num_layers", 4, "--num_experts", 16, "--tp", 2, "--sp",
                         "--ep", 4, "--etp", 1, "--pp", 2,
                         "--global_batch", 16, "--force"],
    "compressed attention": ["--config", "compressed.json", "--tp", 2, "--sp", "--ep", 8, "--etp", 1, "--cp", 2,
                             "--global_batch", 32],
    "compressed attention, pipeline": ["--config", "compressed.json", "--pp", 2, "--vpp", 2, "--global_batch", 16,
                                       "--recompute", "full"],
    "flags of the model": ["--model_name", "gpt_13b", "--num_layers", 2, "--swiglu", "--tp", 8,
                           "--max_position_embeddings", 4096],
    "biases": [*LLAMA, "--add_bias_linear", "--tp", 8],
    "eight bits": [*LLAMA, "--dtype", "fp8", "--tp", 8, "--vocab_size", 40000, "--make_vocab_size_divisible_by", 128],
    "measured": [*LLAMA, "--measured", "times.csv", "--pp", 2, "--tp", 8, "--global_batch", 4],
    "windows": ["--config", "windows.json", "--tp", 4, "--pp", 2, "--global_batch", 4],
    "custom": ["--num_layers", 4, "--hidden_size", 2048, "--num_attention_heads", 16, "--experts", 8, "--topk", 2,
               "--ep", 4, "--pp", 2],
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Two servers of eight H100 and one switch, and files that flags name."""
    path = tmp_path_factory.mktemp("inputs")
    lines = [f"{gpu} {16 + gpu // 8} 2880Gbps 25ns 0\n{gpu} 18 400Gbps 500ns 0\n" for gpu in range(GPUS)]
    (path / "star").write_text("19 8 2 1 32 H100\n16 17 18\n" + "".join(lines))
    for name, text in FILES.items():
        (path / name).write_text(text)
    return path


def generate(inputs, directory, *arguments):
    named = [inputs / word if word in FILES else word for word in arguments]
    done = run_script([REPOSITORY / "scripts/workload.py", "--world_size", str(GPUS), "--seq_length", "1024", "-o",
                       str(directory),
                       "--name", "w", "--format", "both", *map(str, named)])
    assert done.returncode == 0, done.stderr
    return json.loads((directory / "w.json").read_text())


ONE_LATENCY = {"AS_SEND_LAT": "6"}


def simulate(inputs, directory, *workload, latency=ONE_LATENCY):
    # One latency stands for all that a message takes besides the network. Else a GPU's blocks copy and send by turns,
    # and how many send at a time hangs on nanoseconds, of which a trace has none.
    subprocess.run([PROGRAMS / "SimAI_simulator", *map(str, workload), "-n", inputs / "star", "--network", "flow", "-q",
                    "-o",
                    directory], check=True, capture_output=True, text=True, env=os.environ | latency)
    rows = list(csv.reader(open(directory / "EndToEnd.csv"), skipinitialspace=True))
    times = {name: float(value.split()[0]) for name, value in zip(rows[0][1:], rows[1][1:])}
    collectives = collections.Counter()
    for row in csv.DictReader(open(directory / "collectives.csv")):
        group = "PP" if row["op"] == "SendRecv" else row["group"]
        collectives[group, row["op"], int(row["bytes"])] += 1
    return times, collectives


def both(inputs, directory, arguments):
    facts = generate(inputs, directory, *arguments)
    return (facts, simulate(inputs, directory / "text", "-w", directory / "w.txt"),
            simulate(inputs, directory / "traces", "--workload-configuration", directory / "w"))


@pytest.mark.parametrize("name", PLANS)
def test_text_and_traces_are_the_same_job(name, inputs, tmp_path):
    facts, (text, text_collectives), (traces, traces_collectives) = both(inputs, tmp_path, PLANS[name])
    assert text_collectives == traces_collectives
    total = text["Total time"]
    assert traces["Total time"] == pytest.approx(total, rel=4e-3)
    # A trace's times are whole microseconds.
    assert traces["total comp"] == pytest.approx(text["total comp"], abs=1.5)
    for times in (text, traces):
        # The optimizer's step waits for gradients of both kinds at once. A rank's trace ends with its last send, so
        # that gathering of weights, sending, and waiting for the last rank share out the very end differently: the
        # first stage's embedding follows the last send.
        times["gradients"] = times.pop("Expose DP comm") + times.pop("Expose DP_EP comm")
        times["pipeline"] = times["Expose_PP_comm"] + times["bubble time"]
    for column in text.keys() - {"Expose_PP_comm", "bubble time", "total exposed comm"}:
        at_the_end = column in ("gradients", "pipeline")
        assert traces[column] == pytest.approx(text[column], abs=(0.02 if at_the_end else 0.005) * total), column
    # The parts are all there is: computation, what each kind of group exposes, and the bubble.
    exposed = sum(text[column] for column in text if column.startswith("Expose") or column == "gradients")
    assert exposed == pytest.approx(text["total exposed comm"], abs=0.01)
    # They are means over the ranks, which may end a little before the last.
    assert total * 0.99 <= exposed + text["bubble time"] + text["total comp"] <= total * (1 + 1e-6)
    # The generator's own figure is that of the stage that computes longest.
    if facts["pp"] == 1:
        assert text["total comp"] == pytest.approx(facts["compute_ns"] / 1000, abs=1)
    else:
        assert text["total comp"] <= facts["compute_ns"] / 1000 + 1


ONE_COPY = {  # of the model: nothing is reduced beside computation, which an estimate without a framework does not know
    "llama3_70b": [dict(layers=4), dict(layers=8, virtual=2), dict(layers=8, global_batch=4, recompute="full"),
                   dict(layers=7, split=pipeline.Split(first=1, last=2))],
    "gpt_175b": [dict(layers=4), dict(layers=8, virtual=2)],  # tied embeddings
}


@pytest.mark.parametrize(("name", "fields"), [(name, fields) for name, plans in ONE_COPY.items() for fields in plans])
def test_the_estimate_of_a_job_is_the_time_of_its_simulation(name, fields, inputs, tmp_path):
    fields = dict(fields)
    model = catalogue.find(name).copy(update={"layers": fields.pop("layers")})
    plan = Parallelism(**{"world_size": GPUS, "tp": 4, "pp": 4, "sequence_parallel": True, "global_batch": 8,
                          "sequence": 1024, **fields})
    job = megatron.Iteration(model, plan, gpus.find("H100"))
    simai_text.write(job, tmp_path / "w.txt")
    simulated = simulate(inputs, tmp_path / "run", "-w", tmp_path / "w.txt", latency={})[0]["Total time"]
    # The estimate leaves out activations between stages, which are small beside the computation on layers of this
    # width.
    estimated = estimate.estimate(job, Machine("H100", nvlink_gbps=360)).total_ns / 1000
    assert simulated * (1 - 0.012) < estimated < simulated


@pytest.mark.parametrize("shape", [dict(tp=8), dict(tp=2, pp=2, virtual=2), dict(pp=4, tp=4), dict(zero=3)])
def test_full_recomputation_is_one_more_forward_pass_of_every_layer(shape, inputs, tmp_path):
    plan = Parallelism(world_size=GPUS, global_batch=16, sequence=1024, **shape)
    model, gpu = catalogue.find("llama2_7b").copy(update={"layers": 4}), gpus.find("H100")
    layers = [sum(gpu.times_ns(operator)[0] for operator in operators.layer(model, plan, index)) for index in range(4)]
    more = plan.micro_batches * sum(layers) / plan.pp / 1000  # us, mean over the stages
    flags = {"tp": "--tp", "pp": "--pp", "virtual": "--vpp", "zero": "--zero"}
    arguments = [*LLAMA, "--global_batch", 16, *(word for key, value in shape.items() for word in (flags[key], value))]
    found = [both(inputs, tmp_path / kind, [*arguments, "--recompute", kind]) for kind in ("none", "full")]
    for run in (1, 2):
        assert found[1][run][0]["total comp"] - found[0][run][0]["total comp"] == pytest.approx(more, rel=1e-3, abs=2)
    assert found[1][0]["compute_ns"] - found[0][0]["compute_ns"] == pytest.approx(more * 1000, rel=1e-6)


def test_the_slowest_stage_keeps_its_exchange_of_tokens(inputs, tmp_path):
    # Of three layers with experts two are in the first stage; the head makes the last one compute longer.
    facts, (text, collectives), _ = both(inputs, tmp_path, PLANS["experts, pipeline"])
    exchanges = sum(count for (group, op, _), count in collectives.items() if op == "AllToAll"
                    and group.startswith("EP"))
    # Dispatch and combine, forward and backward, for each layer, micro-batch and EP group of a stage.
    assert exchanges == 3 * 4 * facts["micro_batches"] * (GPUS // 2 // facts["ep"])
    assert text["Expose_EP_comm"] > 0


def test_without_data_parallelism_the_optimizer_steps_once_at_the_end(inputs, tmp_path):
    # Twice as many micro-batches: twice the computation, but for one step of the optimizer.
    plans = [Parallelism(world_size=GPUS, tp=4, pp=4, global_batch=count, sequence=1024, zero=1) for count in (4, 8)]
    iterations = [megatron.Iteration(catalogue.find("llama2_7b").copy(update={"layers": 4}), plan, gpus.find("H100"))
                  for plan in plans]
    # Adam reads and writes 30 bytes of a parameter.
    held = [sum(operator.parameters for operator in iteration._trained(1, False)) for iteration in iterations]
    gpu = gpus.find("H100")
    step = gpu.optimizer_ns(held[0] * 30)
    few, more = (iteration.compute_ns(1) for iteration in iterations)
    assert more - few == pytest.approx(few - step)
    text = [simulate_text(inputs, tmp_path / str(count), count) for count in (4, 8)]
    steps = sum(iterations[0].once(stage)[-1].weight_ns for stage in range(4)) / 4 / 1000
    assert text[1]["total comp"] - text[0]["total comp"] == pytest.approx(text[0]["total comp"] - steps, abs=1)


def simulate_text(inputs, directory, global_batch):
    generate(inputs, directory, *LLAMA, "--tp", 4, "--pp", 4, "--global_batch", global_batch)
    return simulate(inputs, directory / "text", "-w", directory / "w.txt")[0]


def test_waiting_for_another_stage_is_bubble_and_not_communication(inputs, tmp_path):
    # Messages of a few bytes: next to nothing is exposed, and (p - 1) / m of a stage's time is bubble.
    text = (
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 1 pp: 4 vpp: 1 ga: 8 all_gpus: 16"
        " stage_rows: 8 "
        + "0 1 " * 4
        + "tied_comm: 8 pp_comm: 8\n4\n"
        + "".join(f"layer_{stage}\t-1\t1000000\tNONE\t0\t1000000\tNONE\t0\t1000000\tNONE\t0\t0\n" for stage in range(4))
    )
    (tmp_path / "w.txt").write_text(text)
    times, _ = simulate(inputs, tmp_path / "text", "-w", tmp_path / "w.txt")
    assert times["total comp"] == pytest.approx(8 * 3000)
    assert times["bubble time"] == pytest.approx(3 * 3000, rel=0.01)
    assert times["Expose_PP_comm"] < 0.005 * times["Total time"]


def test_the_update_of_weights_is_computation_whatever_their_gradients_do(inputs, tmp_path):
    # A row as ASTRA-sim writes it: 1 MB to reduce, then 5 ms of updating.
    (tmp_path / "w.txt").write_text(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 16\n1\n"
        "layer\t-1\t1000\tNONE\t0\t1000\tNONE\t0\t1000\tALLREDUCE\t1000000\t5000000\n")
    times, _ = simulate(inputs, tmp_path / "text", "-w", tmp_path / "w.txt")
    assert times["total comp"] == pytest.approx(3 + 5000)
    assert 0 < times["Expose DP comm"] < 1000
