# SPDX-License-Identifier: GPL-2.0-only
"""Times of kernels: from rooflines, from measured tables, and of launches."""
import csv
import gzip
import json
import math
import pathlib
import random
import statistics
import sys

import pytest
from others_files import OTHERS_FILES
from script_process import run_script

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.workload.kernels import gpus, attention, grid, launch, products, roofline  # noqa: E402
from clustersim.workload.mixers.state_space import StateSpace  # noqa: E402
from clustersim.workload.model import catalogue, operators  # noqa: E402
from clustersim.workload.model.transformer import Model  # noqa: E402
from clustersim.workload.plan import precision  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism  # noqa: E402

H100 = gpus.find("H100")
WITH_TABLES = ("A100", "H100", "H200", "B200", "GB200", "B300", "GB300")
PRECISIONS = {"A100": ("bfloat16",), "H100": ("bfloat16", "fp8", "fp8_block"),
              "B200": ("bfloat16", "fp8", "mxfp8", "nvfp4")}


def gpt():
    """A GPT of one layer, with eight heads of 128."""
    return Model(name="g", layers=1, hidden=1024, heads=8, kv_heads=8, head_dim=128, ffn=4096, vocabulary=1024,
                 gated=False,
                 norm="layer")


def own(group, gpu="H100"):
    """@return rows of what we have measured on a GPU, with the numbers of their shapes"""
    header, rows = grid.rows(f"measured-{gpu}.csv")
    found = [dict(zip(header, row)) for row in rows if row[0] == group]
    return [{**row, "us": float(row["us"]), "sizes": {key: int(value) for key,
                                                      value in (part.split("=") for part in row["shape"].split())}}
            for row in found]


def raw(name):
    """@return rows of a table of AIConfigurator"""
    with gzip.open(OTHERS_FILES / "kernels" / name, "rt", encoding="ascii") as file:
        yield from csv.DictReader(file)


# -- tables

def test_a_grid_is_exact_at_its_points_geometric_between_them_and_constant_beyond(tmp_path):
    (tmp_path / "t.csv").write_text("# a comment\nn,k,10,1000\n1,1,0.1,0.4\n1,4,0.2,0.8\n")
    table = grid.load(tmp_path / "t.csv")
    assert [table.at(1, 1, 10), table.at(1, 4, 1000)] == pytest.approx([0.1, 0.8])
    assert table.at(1, 1, 100) == pytest.approx(math.sqrt(0.1 * 0.4))
    assert table.at(1, 2, 10) == pytest.approx(math.sqrt(0.1 * 0.2))
    assert [table.at(9, 9, 9999), table.at(1, 1, 1)] == pytest.approx([0.8, 0.1])


@pytest.mark.parametrize("name", WITH_TABLES)
def test_left_out_points_of_products_are_predicted_as_well_as_the_documentation_says(name):
    table = grid.load(f"products-{name}.csv")
    errors = []
    for axis, points in enumerate(table.axes):
        for low, middle, high in zip(points, points[1:], points[2:]):
            weight = math.log(middle / low) / math.log(high / low)
            for key in [key for key in table.values if key[axis] == middle and min(key) >= 256]:
                at = [table.values[(*key[:axis], place, *key[axis + 1:])] for place in (low, high)]
                if min(key[:axis] + (low,) + key[axis + 1:]) >= 256:
                    errors.append(abs(math.expm1(at[0] * (1 - weight) + at[1] * weight - table.values[key])))
    [stated] = [row for row in grid.rows("errors.csv")[1] if row[:2] == [name, "products"]]
    # The table also has points that were carried on, which agree exactly.
    assert statistics.median(errors) == pytest.approx(float(stated[3]), abs=0.01)
    assert statistics.quantiles(errors, n=10)[-1] == pytest.approx(float(stated[4]), abs=0.02)


@pytest.mark.others_files
@pytest.mark.parametrize("name, system", [("H100", "h100_sxm"), ("B200", "b200_sxm")])
def test_measured_products_that_no_table_has_are_predicted(name, system):
    """Of 1,280, 1,792, 2,304, 3,840 and 4,352 rows: none is a column."""
    gpu = gpus.find(name).copy(update={"loaded": 1.0})
    fastest = {}
    for path in sorted((OTHERS_FILES / "kernels").glob(f"{system}__*__gemm_perf.csv.gz")):
        for row in raw(path.name):
            m, n, k = int(row["m"]), int(row["n"]), int(row["k"])
            if row["gemm_dtype"] == "bfloat16" and m in (1280, 1792, 2304, 3840, 4352) and min(n, k) >= 1024 and max(n,
                k) < 20000:
                fastest[m, n, k] = min(fastest.get((m, n, k), math.inf), float(row["latency"]) * 1e6)
    errors = [abs(products.product_ns(gpu, "bfloat16", *shape) / time - 1) for shape, time in fastest.items()]
    assert len(errors) == 980
    assert statistics.median(errors) < 0.06 and statistics.quantiles(errors, n=10)[-1] < 0.16


# -- products

@pytest.mark.parametrize("name", WITH_TABLES)
def test_no_product_is_faster_than_the_peaks_of_its_work_and_its_bytes(name):
    draw = random.Random(1)
    for precision in PRECISIONS.get(name, ("bfloat16", "fp8")):
        gpu = gpus.find(name, precision)
        peak, _ = gpu.peak_and_ceiling(precision)
        for _ in range(300):
            m, n, k, count = (int(2 ** draw.uniform(0, limit)) for limit in (17, 17, 17, 6))
            time = products.product_ns(gpu, precision, m, n, k, count)
            assert time >= 2 * m * n * k * count / (peak * 1e3)
            assert time >= roofline.product_bytes(m, n, k, count, precision) / gpu.memory_gbps


def test_more_rows_take_longer_but_for_the_quantization_of_tiles():
    for n, k in ((4096, 4096), (8192, 28672), (1280, 8192)):
        times = [products.product_ns(H100, "bfloat16", 2 ** power, n, k) for power in range(4, 17)]
        assert all(0.95 * less < more < 2.4 * less for less, more in zip(times, times[1:]))
        assert times[-1] / times[-2] == pytest.approx(2, rel=0.1)


def test_our_products_on_an_h100_take_what_the_tables_say():
    for which, shape in (("forward", 0), ("input_gradient", 1), ("weight_gradient", 2)):
        rows = [row for row in own("product") if row["variant"] == "bfloat16" and row["pass"] == which]
        ratios = []
        for row in rows:
            sizes = row["sizes"]
            passes = roofline.passes((sizes["m"], sizes["n"], sizes["k"], 1))
            ratios.append(row["us"] * 1e3 / products.product_ns(H100, "bfloat16", *passes[shape]))
        assert len(ratios) == 18
        assert statistics.median(ratios) == pytest.approx(1, abs=0.03)
        assert statistics.quantiles(ratios, n=10)[0] > 0.85 and statistics.quantiles(ratios, n=10)[-1] < 1.16


def test_our_products_of_8_bit_floats_take_half_of_those_of_16_bits():
    gpu = gpus.find("H100", "fp8")
    ratios = [row["us"] * 1e3 / products.product_ns(gpu, "fp8", *row["sizes"].values())
              for row in own("product") if row["variant"] == "fp8 fast sums"]
    assert statistics.median(ratios) == pytest.approx(1, abs=0.12)
    sixteen = [products.product_ns(H100, "bfloat16", *row["sizes"].values()) for row in own("product")
               if row["variant"] == "fp8"]
    eight = [products.product_ns(gpu, "fp8", *row["sizes"].values()) for row in own("product")
             if row["variant"] == "fp8"]
    assert sum(sixteen) / sum(eight) == pytest.approx(2 / 1.131 * 1979 / 1978, rel=0.02)


def test_our_grouped_products_take_what_one_product_of_all_their_tokens_takes_or_their_weights_bytes():
    ratios = []
    for row in own("grouped"):
        sizes = row["sizes"]
        shape = roofline.passes((sizes["m"], sizes["n"], sizes["k"], 1))[("forward", "input_gradient",
            "weight_gradient").index(row["pass"])]
        ratios.append(row["us"] * 1e3 / products.product_ns(H100, "bfloat16", *shape, sizes["experts"]))
    assert len(ratios) == 72
    assert statistics.median(ratios) == pytest.approx(1, abs=0.01)
    assert statistics.quantiles(ratios, n=10)[0] > 0.85 and statistics.quantiles(ratios, n=10)[-1] < 1.2
    # Few tokens for each of many experts: the time is that of reading their weights.
    few, fewer = (products.product_ns(H100, "bfloat16", tokens, 4096, 7168, 32) for tokens in (32, 16))
    assert few == pytest.approx(fewer, rel=0.02)
    assert few == pytest.approx(products.GROUPED * 2 * 32 * 4096 * 7168 / (3350 * 0.9), rel=0.05)


def test_low_precision_adds_the_quantization_of_what_no_norm_has_written():
    gpu = gpus.find("H100", "fp8")
    m, n, k = 8192, 4096, 14336
    after, alone = (gpu.times_ns(operators.matmul("x", m, n, k, after_norm=is_after)) for is_after in (True, False))
    # Two bytes are read of each number, and one written for each of two directions.
    assert alone[0] - after[0] == pytest.approx(4 * m * k / gpu.stream_rate)
    assert alone[1:] == after[1:]
    assert after[1] - products.PRECISE_SUMS * products.product_ns(gpu, "fp8", m, k,
        n) == pytest.approx(4 * m * n / gpu.stream_rate)


# -- attention

def heads(tokens, sequences=1, count=32, kv=8, head_dim=128, window=0):
    pairs = sequences * (tokens * window - window ** 2 / 2 if window else tokens ** 2 / 2)
    return operators.Operator("attention", "attention", 2 * sequences * tokens * 2 * (count + kv) * head_dim,
                              4 * pairs * count * head_dim,
                              heads=operators.Heads(sequences, tokens, count, kv, head_dim, head_dim, window))


def test_our_attention_on_an_h100_takes_what_the_tables_say():
    forward, backward = [], []
    times = {(row["variant"], row["shape"], row["pass"]): row for row in own("attention")}
    for library in ("cudnn", "flash"):
        gpu = H100.copy(update={"attention_library": library, "loaded": 1.0})
        for (known, shape, which), row in times.items():
            sizes = row["sizes"]
            if known == library and which == "forward" and sizes["head_dim"] == 128 and sizes["heads"] >= 8:
                predicted = gpu.times_ns(heads(sizes["tokens"], sizes["sequences"], sizes["heads"], sizes["kv_heads"]))
                forward.append(row["us"] * 1e3 / predicted[0])
                backward.append(times[library, shape, "backward"]["us"] * 1e3 / predicted[1])
    assert len(forward) == 26
    for ratios in (forward, backward):
        assert statistics.median(ratios) == pytest.approx(1, abs=0.05)
        assert min(ratios) > 0.8 and max(ratios) < 1.25


def test_attention_is_slower_than_its_peak_and_the_share_grows_with_the_sequence():
    for name in WITH_TABLES:
        gpu = gpus.find(name)
        shares = [heads(tokens).flops / (gpu.tflops * 1e3) / gpu.times_ns(heads(tokens))[0]
                  for tokens in (512, 2048, 8192, 16384)]
        assert shares[0] < shares[1] < shares[2] < 1 and 0.97 * shares[2] < shares[3] < 1
        forward, backward, weight = gpu.times_ns(heads(8192))
        assert 2.4 * forward < backward < 4 * forward and weight == 0


def test_a_window_takes_the_share_of_a_sequence_twice_as_long():
    window, whole = heads(16384, window=1024), heads(2048, sequences=8)
    reached = [operator.flops / H100.times_ns(operator)[0] for operator in (window, whole)]
    assert reached[0] == pytest.approx(reached[1])
    assert H100.times_ns(heads(16384, window=16384))[0] == pytest.approx(H100.times_ns(heads(16384))[0])


@pytest.mark.others_files
def test_windows_of_128_tokens_were_measured_to_take_that_share():
    table, ratios = gpus.find("H100"), []
    for row in raw("h100_sxm__trtllm_1.3.0rc20__context_attention_perf.csv.gz"):
        size = {name: int(row[name]) for name in ("batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim",
                                                  "window_size")}
        if (row["attn_dtype"], row["kv_cache_dtype"]) != ("bfloat16",) * 2 or (size["window_size"],
            size["head_dim"]) != (128, 64):
            continue
        count = size["batch_size"] * size["num_heads"]
        if size["isl"] >= 2048:
            copied = 4 * size["batch_size"] * size["isl"] * (size["num_heads"]
                + 2 * size["num_key_value_heads"]) * 64 / table.stream_rate
            flops = 4 * count * (size["isl"] * 128 - 128 ** 2 / 2) * 64
            share = attention.share(table.table("attention"), 64, 256, count * size["isl"] // 256)
            ratios.append((float(row["latency"]) * 1e6 - copied) / (flops / (table.tflops * 1e3 * share)))
    assert len(ratios) > 300
    assert statistics.median(ratios) == pytest.approx(1.24, abs=0.03)


# -- whole layers

LAYERS = {"llama3_8b": 0.05, "llama3_70b of TP 8": 0.05, "gpt_175b of TP 8": 0.08}


@pytest.mark.parametrize("gpu", ["H100", "H200"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_under_load_take_the_sum_of_their_operators(name, gpu):
    """Forward and backward pass of layers, for seconds: no constant comes from them, nor from any measurement on our
    H200."""
    rows = [row for row in own("sustained", gpu) if row["kernel"] == name and row["sizes"]["second"] >= 2]
    sizes = rows[0]["sizes"]
    model = Model(name="l", layers=1, hidden=sizes["hidden"], heads=sizes["heads"], kv_heads=sizes["kv_heads"],
                  head_dim=sizes["head_dim"],
                  ffn=sizes["ffn"], vocabulary=1024, gated=bool(sizes["gated"]))
    plan = Parallelism(world_size=1, micro_batch=sizes["sequences"], sequence=sizes["tokens"])
    measured = statistics.median(row["us"] for row in rows) * 1e3
    predicted, bound = (sum(sum(gpus.find(gpu, kernels=kernels).times_ns(o)) for o in operators.layer(model, plan, 0))
                        for kernels in gpus.KERNELS)
    assert predicted == pytest.approx(measured, rel=LAYERS[name])
    assert bound < 0.85 * measured


@pytest.mark.others_files
def test_experts_of_an_engine_take_the_sum_of_their_operators():
    """Permutation, products and activation of all experts, with equal numbers of tokens, by TensorRT-LLM."""
    gpu, ratios = H100.copy(update={"loaded": 1.0}), []
    for row in raw("h100_sxm__trtllm_1.3.0rc20__moe_perf.csv.gz"):
        if row["moe_dtype"] != "bfloat16" or row["distribution"] != "balanced" or "nongated" in row["kernel_source"]:
            continue
        tokens, hidden, ffn, top, every, tp, ep = (int(row[name])
                                                   for name in ("num_tokens", "hidden_size", "inter_size", "topk",
                                                       "num_experts",
                                                                              "moe_tp_size", "moe_ep_size"))
        each = tokens * top // every
        if each < 128 or tp > 1 or ep > 1:
            continue
        local, arrived = every, tokens * top
        known = [operators.matmul("expert_up", each, 2 * ffn // tp, hidden, local),
                 operators.matmul("expert_down", each, hidden, ffn // tp, local),
                 operators.Operator("expert_activation", "memory", 2 * arrived * 3 * ffn // tp),
                 operators.Operator("dispatch", "memory", 4 * arrived * hidden),
                 operators.Operator("combine", "memory", 4 * arrived * hidden)]
        ratios.append(float(row["latency"]) * 1e6 / sum(gpu.times_ns(operator)[0] for operator in known))
    assert len(ratios) > 50
    assert statistics.median(ratios) == pytest.approx(1, abs=0.15)


def states(gpu, heads, sequences, tokens, groups=8, chunk=128):
    """@return times in ms of a Mamba-2 layer's operators, forward"""
    model = catalogue.find("nemotron_3_super")
    space = model.sizes_of(StateSpace).copy(update=dict(heads=heads, groups=groups, chunk=chunk))
    plan = Parallelism(1, micro_batch=sequences, sequence=tokens)
    return {o.name: gpu.times_ns(o)[0] / 1e6 for o in space.operators(model, plan, model.layer_kind(0))}


# Milliseconds that AIConfigurator measured (TensorRT-LLM 1.3.0rc15 and rc20): GPU, heads, sequences, tokens, kernel.
@pytest.mark.parametrize("gpu, sizes, kernel, measured", [
    ("B200", (128, 1, 8192), "mamba_scan", 0.715), ("B200", (256, 1, 16384), "mamba_scan", 2.829),
    ("B200", (64, 4, 4096), "mamba_scan", 0.727),
    ("B200", (128, 2, 8192), "mamba_conv", 0.186), ("H100", (128, 1, 8192), "mamba_conv", 0.130),
    ("GB300", (256, 1, 8192), "mamba_conv", 0.157)])
def test_state_space_kernels_take_what_others_measured(gpu, sizes, kernel, measured):
    assert states(gpus.find(gpu), *sizes)[kernel] == pytest.approx(measured, rel=0.25)
    assert states(gpus.find(gpu, kernels="roofline"), *sizes)[kernel] < 0.9 * measured


def test_a_scan_is_bound_by_its_chunks_so_that_more_bandwidth_does_not_help():
    """vLLM, pull request 27299: 8,192 tokens of 128 heads in a group take an H100 0.649 ms; with eight groups they take
    a B200 0.715 ms."""
    assert states(H100, 128, 1, 8192, groups=1, chunk=256)["mamba_scan"] == pytest.approx(0.649, rel=0.1)
    assert states(gpus.find("H200"), 128, 1, 8192)["mamba_scan"] == pytest.approx(states(H100, 128, 1,
        8192)["mamba_scan"], rel=0.01)


@pytest.mark.parametrize("ratio, measured", [(4, 1.649), (128, 1.118)])
def test_deepseek_v4_s_attention_takes_what_sglang_s_was_measured_to_take(ratio, measured):
    """4,096 tokens of V4 Flash in bfloat16 on a B200, with all products (AIConfigurator, SGLang 0.5.14)."""
    b200, model = gpus.find("B200"), catalogue.find("deepseek_v4_flash")
    [kind] = {kind for kind in map(model.layer_kind, range(model.layers)) if kind.variant == ratio}
    every = operators.mixer(model, Parallelism(1, sequence=4096), kind)
    assert sum(b200.times_ns(o)[0] for o in every) / 1e6 == pytest.approx(measured, rel=0.15)


def test_every_gpu_with_tables_has_shares_of_fused_kernels():
    header, rows = grid.rows("fused.csv")
    assert [row[0] for row in rows] == ["A100", "H100", "H200", "B200", "B300", "GB200", "GB300"]
    every = [catalogue.find(name) for name in ("nemotron_h_8b", "qwen3_next_80b_a3b", "deepseek_v4_flash")]
    used = {o.kernel for model in every for layer in range(model.layers)
            for o in operators.layer(model, Parallelism(1), layer) if o.kernel}
    assert used == set(header[1:]) and all(float(value) > 1 for row in rows for value in row[1:])


def test_the_optimizer_and_the_loss_take_what_we_measured():
    adam = {row["kernel"]: row["us"] for row in own("optimizer") if row["sizes"]["parameters"] == 1 << 28}
    assert H100.optimizer_ns((28 + 2) * (1 << 28)) == pytest.approx(1e3 * sum(adam.values()), rel=0.02)
    for row in own("loss"):
        if row["kernel"] == "cross_entropy" and row["variant"] == "compiled":
            loss = operators.Operator("loss", "memory", 3 * 4 * math.prod(row["sizes"].values()))
            assert H100.times_ns(loss)[row["pass"] == "backward"] == pytest.approx(1e3 * row["us"], rel=0.25)


# -- GPUs

def test_gpus_without_tables_take_the_shares_of_the_one_that_they_are_like():
    product, core = operators.matmul("x", 8192, 8192, 8192), heads(8192)
    assert gpus.find("H800").times_ns(product) == H100.times_ns(product)
    assert gpus.find("A800").times_ns(core) == gpus.find("A100").times_ns(core)
    # The H100PCIe has 756, and draws as much as it may sooner: 495.9 TFLOP/s at best.
    assert 2e-3 * 4096**3 / gpus.find("H100PCIe").times_ns(operators.matmul("x", 4096, 4096, 4096))[0] == \
        pytest.approx(495.9, rel=0.1)
    # The H20 has 148 of 989 TFLOP/s, and draws too little power to be slowed down.
    assert gpus.find("H20").times_ns(product)[0] == pytest.approx(H100.times_ns(product)[0] * H100.loaded * 989 / 148,
        rel=1e-3)


def test_layers_and_operators_keep_more_bits_where_a_plan_says_so():
    model = catalogue.find("nemotron_3_super")
    precise = precision.precise(1, 14, True, ["linear_proj=bf16", "mamba_out=mxfp8"], gpus.PRECISIONS)
    plan, four = Parallelism(1, precise=precise), gpus.find("B200", "nvfp4")
    times = {name: gpus.find("B200", name).times_ns for name in ("bfloat16", "mxfp8", "nvfp4")}
    types = []
    for index in range(model.layers):
        for ours, plain in zip(operators.layer(model, plan, index), operators.layer(model, Parallelism(1), index)):
            if ours.kind == "matmul" and ours.name not in operators.ALWAYS_BFLOAT16:
                is_precise = index < 1 or index >= model.layers - 14 or ours.name == "projection"
                types.append("bfloat16" if is_precise else "mxfp8" if ours.name == "mamba_out" else "nvfp4")
                assert four.precision_of(ours) == types[-1] and four.times_ns(ours) == times[types[-1]](plain)
    assert {"bfloat16", "mxfp8", "nvfp4"} == set(types)
    last = [o for kind in operators.prediction_kinds(model, plan) for o in operators.of_kind(model, plan, kind)]
    assert {four.precision_of(o) for o in last if o.kind == "matmul"} == {"bfloat16"}


def test_a_precision_that_a_gpu_has_not_is_refused():
    assert gpus.find("H100", "fp8_blockwise").product == gpus.find("H100", "fp8").product
    assert gpus.find("B200", "nvfp4").product[0] == 9000
    for name, precision, message in (("H100", "nvfp4", "H100 has no 4-bit floats; expected --dtype bfloat16 or fp8"),
                                     ("H100", "mxfp8", "H100 has no MXFP8, which came with Blackwell; expected"),
                                     ("A100", "mxfp8", "A100 has no 8-bit floats; expected --dtype bfloat16$")):
        with pytest.raises(InputError, match=message):
            gpus.find(name, precision)


def test_logits_and_routers_stay_in_bfloat16():
    model, plan = catalogue.find("mixtral_8x7b"), Parallelism(world_size=1)
    four = gpus.find("B200", "nvfp4")
    kinds = {o.name: four.precision_of(o) for o in (*operators.layer(model, plan, 0), *operators.head(model, plan))}
    assert kinds["expert_up"] == kinds["qkv"] == "nvfp4"
    assert kinds["router"] == kinds["logits"] == "bfloat16"


# -- launches

def test_a_layer_of_small_kernels_is_bound_by_what_the_cpu_takes_to_launch_them():
    every = operators.layer(gpt(), Parallelism(world_size=1, sequence=128), 0)
    # Four products, attention, two norms and an activation function.
    assert launch.count(every) == (8, 4 + 3 + 2 * 2 + 1, 4)
    gpu_ns = sum(H100.times_ns(o)[0] for o in every)
    assert launch.bound_ns(gpu_ns, 8, gpu_ns / 4) == 2 * gpu_ns
    assert launch.bound_ns(gpu_ns, 8, gpu_ns / 9) == gpu_ns
    assert launch.bound_ns(gpu_ns, 8, gpu_ns / 4, graphs=True) == gpu_ns


# -- flags

def workload(directory, *flags, status=0):
    done = run_script([REPOSITORY / "scripts/workload.py", "--model_name", "llama2_7b", "--num_layers", 2,
                       "--world_size", 8, "--tp", 8,
                       "-o", directory, "--name", "w", *flags])
    assert done.returncode == status, done.stderr
    return done.stderr if status else json.loads((directory / "w.json").read_text())


def test_kernels_are_measured_unless_rooflines_are_asked_for(tmp_path):
    facts = [workload(tmp_path, *flags) for flags in ((), ("--kernels", "measured"), ("--kernels", "roofline"))]
    assert [each["kernels"] for each in facts] == ["measured", "measured", "roofline"]
    assert facts[0]["compute_ns"] == facts[1]["compute_ns"] > 1.05 * facts[2]["compute_ns"]


def test_a_directory_of_tables_replaces_those_of_the_package(tmp_path):
    for kind in ("products", "attention"):
        header, rows = grid.rows(f"{kind}-H100.csv")
        halved = [[*row[:2], *(str(float(cell) / 2) for cell in row[2:])] for row in rows]
        (tmp_path / f"{kind}-H100.csv").write_text("\n".join(map(",".join, [header, *halved])) + "\n")
    gpu = H100.copy(update={"tables": str(tmp_path)})
    product = operators.matmul("x", 8192, 8192, 8192)
    assert gpu.times_ns(product)[0] == pytest.approx(2 * H100.times_ns(product)[0])
    assert workload(tmp_path, "--measured", tmp_path)["compute_ns"] > 1.4 * workload(tmp_path)["compute_ns"]
    (tmp_path / "products-H100.csv").unlink()
    assert "has no products-H100.csv; expected the tables that scripts/maintain/kernel_tables.py writes" in workload(
        tmp_path, "--measured", tmp_path, status=2)
