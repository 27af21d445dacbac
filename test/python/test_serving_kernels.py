# SPDX-License-Identifier: GPL-2.0-only
"""Measured times of a serving step: the tables, the lines of an INFERENCE file, and the simulator's steps."""
import csv
import gzip
import math
import pathlib
import statistics
import sys

import pytest
from others_files import OTHERS_FILES
from script_process import run_script
from test_inference import generate, one_request, rows, simulate

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.workload.kernels import experts, gpus, grid, products, serving  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402
from clustersim.workload.model.operators import Heads  # noqa: E402
from clustersim.workload.serve import placement  # noqa: E402
from clustersim.workload.serve.instance import Instance  # noqa: E402
from clustersim.workload.serve.times import Timed, points  # noqa: E402

WITH_TABLES = ("H100", "H200", "B200", "GB200", "B300", "GB300")
HEADS = Heads(1, 1, 32, 8, 128, 128)


def unloaded(name):
    return gpus.find(name).copy(update={"loaded": 1.0})


def raw(name):
    with gzip.open(OTHERS_FILES / "kernels" / name, "rt", encoding="ascii") as file:
        yield from csv.DictReader(file)


# -- tables

@pytest.mark.parametrize("name", WITH_TABLES)
def test_a_point_of_a_table_comes_back(name):
    gpu = unloaded(name)
    header, found = grid.rows(f"engine-products-{name}.csv.gz")
    assert {row[1] for row in found} == {"bfloat16", "fp8", "fp8_block", *(("nvfp4",) if gpu.fp4 else ())}
    for engine, precision, n, k, *shares in found[::7]:
        for m, share in zip(header[4:], shares):
            sizes = int(m), int(n), int(k)
            expected = serving.roofline_ns(gpu, precision, *sizes) / float(share)
            assert serving.product_ns(gpu, precision, *sizes, engine) == pytest.approx(
                max(expected, products.SHORTEST_NS))
    for (engine, precision, routing), curves in experts.table(f"experts-{name}.csv.gz").items():
        for shape, tokens, us in curves[::9]:
            if (routing == experts.UNEVEN) == (shape.local == shape.total):
                for count, time in zip(tokens, us):
                    rows = count * shape.chosen * shape.local / shape.total
                    assert experts.time_ns(gpu, precision, rows, shape, engine=engine) == pytest.approx(
                        max(time * 1e3, products.SHORTEST_NS))
    header, found = grid.rows(f"decoding-{name}.csv")
    for cache, width, group, cached, _, *shares in found[::5]:
        for sequences, share in zip(header[5:], shares):
            bytes_ = serving.decoding_bytes(int(sequences), int(cached), 1, int(width), 1 if cache == "fp8" else 2)
            assert serving.decoding_ns(gpu, cache, int(sequences), int(cached), int(group), 1, int(width),
                                       width == "576") == pytest.approx(
                max(bytes_ / gpu.memory_gbps / float(share), products.SHORTEST_NS))


@pytest.mark.others_files
def test_the_tables_are_those_of_the_measurements():
    """The shapes of Qwen3 235B A22B."""
    gpu, name = unloaded("H100"), "h100_sxm__trtllm_1.3.0rc20"
    own = [row for row in raw(f"{name}__generation_attention_perf.csv.gz")
           if (row["num_heads"], row["num_key_value_heads"], row["head_dim"], row["window_size"])
           == ("64", "4", "128", "0") and int(row["step"]) >= 255]
    ratios = [float(row["latency"]) * 1e6 / serving.decoding_ns(gpu, row["kv_cache_dtype"], int(row["batch_size"]),
        int(row["step"]) + 1, 64, 4, 256)
              for row in own]
    assert len(ratios) > 100 and statistics.median(ratios) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("engine, tokens, us", [("vLLM", 16, 176.3), ("vLLM", 32, 251.7), ("vLLM", 128, 353.6),
                                                ("TensorRT-LLM", 16, 237.2), ("TensorRT-LLM", 128, 468.6)])
def test_experts_that_tensor_parallelism_cuts_take_what_their_engine_was_measured_with(engine, tokens, us):
    """DeepSeek-V3's with TP 8 on an H200, in 8-bit blocks: h200_sxm, power_law_1.01."""
    shape = experts.Shape(7168, 256, 256, 8, 256)
    assert experts.time_ns(unloaded("H200"), "fp8_block", 8 * tokens, shape, engine=engine) == pytest.approx(1e3 * us,
        rel=0.01)


@pytest.mark.parametrize("engine, precision, us", [
    ("vLLM", "bfloat16", 13.2), ("vLLM", "fp8", 9.5), ("vLLM", "fp8_block", 20.3), ("SGLang", "fp8_block", 14.3),
    ("TensorRT-LLM", "fp8", 16.7), ("TensorRT-LLM", "fp8_block", 10.8), ("", "fp8_block", 10.8)])
def test_products_take_what_their_engine_was_measured_with(engine, precision, us):
    """4 x 4,096 and 4,096 x 4,096 on an H200: h200_sxm, vllm 0.19.0, sglang 0.5.10, trtllm 1.3.0rc20."""
    assert serving.product_ns(unloaded("H200"), precision, 4, 4096, 4096, engine) == pytest.approx(1e3 * us, rel=0.01)


def test_experts_between_measured_numbers_of_tokens_lie_between_their_times():
    shape = experts.Shape(7168, 2048, 32, 8, 256)  # whole ones, of EP 8
    times = [experts.time_ns(unloaded("H200"), "fp8", tokens, shape, engine="vLLM") for tokens in (2048, 2900, 4096)]
    assert times[0] < times[1] < times[2]


def test_a_shape_that_was_not_measured_takes_the_share_of_the_roofline_of_the_nearest():
    gpu, known, other = unloaded("H200"), experts.Shape(7168, 256, 256, 8, 256), experts.Shape(7168, 240, 256, 8, 256)
    time = experts.time_ns(gpu, "fp8_block", 512, known, engine="vLLM")
    ratio = [experts.STARTS_NS + experts.roofline_ns(gpu, "fp8_block", 512, shape) for shape in (other, known)]
    assert experts.time_ns(gpu, "fp8_block", 512, other, engine="vLLM") == pytest.approx(time * ratio[0] / ratio[1])


def test_a_model_measured_with_one_kind_of_8_bits_takes_it():
    """TensorRT-LLM's DeepSeek-V3 has a scale for each block."""
    gpu, shape = unloaded("H200"), experts.Shape(7168, 2048, 32, 8, 256)
    times = {kind: experts.time_ns(gpu, kind, 512, shape, engine="TensorRT-LLM") for kind in ("fp8", "fp8_block")}
    assert times["fp8"] == times["fp8_block"]


@pytest.mark.parametrize("table", ["yes", "no"])
def test_experts_are_within_15_percent_in_most_of_each_regime(table):
    """The table of the page: shapes of the table, and shapes whose model was left out of it."""
    header, found = grid.rows("expert-errors.csv")
    for row in (row for row in found if row[3] == table):
        for cell in row[4:]:
            median, within = cell.rstrip("%)").split(" (")
            assert float(median) == pytest.approx(1, abs=0.05) and int(within) >= (95 if table == "yes" else 50), row
    assert len(header) == 8 and len(found) == 4 * 10  # seven GPUs, of which three have two engines


def test_products_of_few_tokens_take_longer_than_their_bytes_and_of_many_as_long_as_in_training():
    gpu = gpus.find("H100", "fp8")
    few = serving.product_ns(gpu, "fp8", 8, 9216, 4096)
    assert few > 1.3 * serving.roofline_ns(gpu, "fp8", 8, 9216, 4096)
    assert serving.product_ns(gpu, "bfloat16", 4096, 8192, 8192) == products.product_ns(gpu, "bfloat16", 4096, 8192,
        8192)
    quantized = products.quantized_ns(gpu, "fp8", 8192 * 8192)
    assert serving.product_ns(gpu, "fp8", 8192, 8192,
                              8192) == pytest.approx(products.product_ns(gpu, "fp8", 8192, 8192, 8192) + quantized,
                                                     rel=0.2)


def test_a_gpu_without_a_table_takes_those_of_training_or_none():
    amd, old = gpus.find("MI300X"), gpus.find("A100")
    assert serving.decoding_ns(amd, "bfloat16", 64, 1024, 8, 1, 256) == pytest.approx(  # it is like an H100
        serving.decoding_ns(unloaded("H100"), "bfloat16", 64, 1024, 8, 1, 256) * 3350 / amd.memory_gbps)
    assert serving.decoding_ns(old, "fp8", 64, 1024, 8, 1, 256) is None  # it has no attention on 8-bit floats
    shape = experts.Shape(4096, 1536, 128, 8, 128)
    many = [experts.time_ns(gpu.copy(update={"loaded": 1.0}), "bfloat16", 1 << 17, shape) for gpu in (amd, unloaded(
        "H100"))]
    assert many[0] == pytest.approx(many[1] * 989 / amd.tflops, rel=0.01)
    rest = old.copy(update={"tables": "elsewhere"})  # without a table of experts
    assert not experts.engines(rest, "bfloat16")
    text = "\n".join(row.text() for row in Timed(Instance(catalogue.find("llama3_8b"), 1, cache="fp8"), old, 16,
                                                 16).rows())
    assert "times prompts" in text and "times decoding" not in text


def test_attention_of_prompts_grows_with_tokens_and_is_faster_into_a_cache_of_8_bits():
    gpu = gpus.find("H100")
    times = [serving.prompts_ns(gpu, "bfloat16", HEADS, news, news / 2) for news in (1, 16, 256, 1024, 4096, 16384)]
    assert times == sorted(times) and times[-1] > 3 * times[-2]
    header, found = grid.rows("prompts.csv")
    ratio = next(float(row[header.index("4096")]) for row in found if row[:2] == ["H100", "128"])
    assert serving.prompts_ns(gpu, "fp8", HEADS, 4096, 2048) == pytest.approx(ratio * times[4])


# -- lines

def times_of(text, name, axis="tokens"):
    """@return the points of a row's lines of times: of tokens {coordinate: ns}, else {(first, second): ns}"""
    found, current = {}, None
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["row"]:
            current = words[1]
        if words[:2] == ["times", axis] and current == name:
            first = () if axis == "tokens" else (float(words[2]),)
            numbers = list(map(float, words[len(first) + 2:]))
            found.update(((*first, place), time) for place, time in zip(numbers[::2], numbers[1::2]))
    return found


def test_rows_have_the_times_of_their_kernels():
    model, gpu = catalogue.find("mixtral_8x7b"), gpus.find("H100", "fp8")
    instance = Instance(model, 4, ep=4, dtype="fp8", cache="fp8")
    text = "\n".join(row.text() for row in Timed(instance, gpu, 512, 64).rows())
    assert times_of(text, "qkv")[512.0,] == pytest.approx(serving.product_ns(gpu, "fp8", 512, 6144, 4096), rel=1e-3)
    assert max(times_of(text, "qkv")) == (512,) and max(times_of(text, "logits")) == (64,)
    # Of 2,048 tokens of four replicas, each of which goes to two of eight experts, a rank's two get 1,024, and those of
    # the fullest rank a little more.
    shape, most = experts.Shape(4096, 14336, 2, 2, 8), 1024 * placement.by_chance(4096, 4, 1)
    assert 1024 < most < 1070
    assert times_of(text, "experts")[2048.0,] == pytest.approx(experts.time_ns(gpu, "fp8", most, shape), rel=1e-3)
    assert not {"expert_up", "expert_activation", "expert_down"} & {line.split()[1] for line in text.splitlines()}
    assert (
        "row dispatch all memory 0 ALLTOALL_EP 16384" in text and "row combine all memory 0 ALLTOALL_EP 16384" in text
    )
    assert times_of(text, "attention", "decoding")[64,
                                                   1024] == pytest.approx(serving.decoding_ns(gpu, "fp8", 64, 1024, 32,
                                                       8, 256), rel=1e-3)
    assert times_of(text, "attention", "prompts")[512, 256] == pytest.approx(
        serving.prompts_ns(gpu, "fp8", Heads(1, 1, 32, 8, 128, 128), 512, 256), rel=1e-3)
    assert times_of(text, "sampling")[1.0,] == products.SHORTEST_NS


def test_points_are_dense_where_times_bend():
    assert points(1) == [1] and points(600) == [1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 384, 512, 768, 1024]


# -- steps

def pair_of_hosts(place):
    (place / "pair").write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    return place / "pair"


def test_a_step_takes_the_times_of_its_rows(tmp_path):
    """A prompt of 256 tokens, each of which attends to 128.5 on average, and a step of one sequence with 257 in its
    cache."""
    text = generate(tmp_path, "--model_name", "llama3_8b", "--num_layers", 4, "--world_size", 1, "--requests", 1,
                    "--rate", 1e6, "--prompt_tokens", 256,
                    "--output_tokens", 2, "--kernels", "measured")
    run = simulate(tmp_path, text, topology=pair_of_hosts(tmp_path), network="analytical")

    def at(table, place):
        """As the simulator interpolates: in log space, constant below the first point and proportional beyond the
        last."""
        low, high = max((key for key in table if key <= place),
                        default=min(table)), min((key for key in table if key >= place), default=max(table))
        if low == high:
            return table[low] * max(place / low, 1)
        weight = math.log(place / low) / math.log(high / low)
        return table[low] ** (1 - weight) * table[high] ** weight

    def step_us(tokens, attention):
        total = 0
        for name, place in (line.split()[1:3] for line in text.splitlines() if line.startswith("row ")):
            curve = {key: time for (key,), time in times_of(text, name).items()}
            each = attention if name == "attention" else at(curve, 1 if place == "last" else tokens)
            total += each * (4 if place == "all" else 1)
        return total / 1e3

    request = rows(run / "requests.csv")[0]
    attention = {(axis, first): at({key[1]: time for key,
                                    time in times_of(text, "attention", axis).items() if key[0] == first}, second)
                 for axis, first, second in (("prompts", 256, 128.5), ("decoding", 1, 257))}
    assert float(request["prefill_us"]) == pytest.approx(step_us(256, attention["prompts", 256]), rel=1e-6)
    assert float(request["decode_us"]) == pytest.approx(step_us(1, attention["decoding", 1]), rel=1e-6)


def test_launches_bound_steps_that_no_graph_has(tmp_path):
    """Ten kernels of 1 us each take 5 us to launch."""
    pool = "layers 10\n{}instances colocated 0\nrow step all linear 1000 0 0 0 NONE 0\n"
    found = {}
    for more in ("", "launch_ns 500\n", "launch_ns 5000\n", "launch_ns 5000\ncudagraph_capture_sizes 1 2\n"):
        request = rows(simulate(tmp_path, one_request(9, 2) + pool.format(more), topology=pair_of_hosts(tmp_path),
                                network="analytical") / "requests.csv")[0]
        found[more] = float(request["prefill_us"]), float(request["decode_us"])
    assert list(found.values()) == [(10, 10), (10, 10), (50, 50), (50, 10)]


def test_launches_begin_when_the_overhead_of_a_step_is_over(tmp_path):
    """Two steps of an overhead of 30 us, and ten kernels of 1 us that take 50 us to launch."""
    pool = (
        "layers 10\nlaunch_ns 5000\nstep_overhead_ns 30000\ninstances colocated 0\nrow step all linear 1000 0 0 0"
        " NONE 0\n"
    )
    request = rows(simulate(tmp_path, one_request(9, 2) + pool, topology=pair_of_hosts(tmp_path), network="analytical")
                   / "requests.csv")[0]
    assert (float(request["prefill_us"]), float(request["decode_us"])) == (80, 80)


def test_a_graph_computes_the_tokens_that_it_was_captured_for(tmp_path):
    """Three sequences decode as four: 4 us a step instead of 3."""
    text = ("INFERENCE\nrequests 3\nrate 1e15\nprompt_tokens 8\noutput_tokens 11\n"
            "gpu tflops: 1 memory_gbps: 1 sms: 1\n{}instances colocated 0\n"
            "row step all memory 1 NONE 0\ntimes tokens 1 1000 100 100000\n")
    for sizes, each in (("", 3), ("cudagraph_capture_sizes 1 2 4\n", 4), ("cudagraph_capture_sizes 1 2\n", 3)):
        run = simulate(tmp_path, text.format(sizes), topology=pair_of_hosts(tmp_path), network="analytical")
        assert {float(row["tpot_us"]) for row in rows(run / "requests.csv")} == {each}
        assert int(rows(run / "instances.csv")[0]["output_tokens"]) == 33


def test_outputs_that_must_fit_are_not_preempted(tmp_path):
    text = ("INFERENCE\nrequests 8\nrate 1e15\nprompt_tokens 8\noutput_tokens 25\nblock_size 8\nnum_gpu_blocks 9\n"
            "{}instances colocated 0\n"
            "row step all linear 1000 0 0 0 NONE 0\n")
    found = {}
    for policy in ("", "capacity_scheduler_policy max_utilization\n",
                   "capacity_scheduler_policy guaranteed_no_evict\n"):
        instance = rows(simulate(tmp_path, text.format(policy), topology=pair_of_hosts(tmp_path), network="analytical")
                        / "instances.csv")[0]
        found[policy] = int(instance["preemptions"]), int(instance["steps"])
    some, same, none = found.values()
    assert some == same and some[0] > 0
    # Two sequences of 32 tokens, four blocks, run at a time, and keep them.
    assert none == (0, 4 * 25)


def test_wrong_times_name_their_line(tmp_path):
    text = one_request(9, 2) + "instances colocated 0\nrow step all linear 1000 0 0 0 NONE 0\ntimes tokens 1 5\n"
    assert "serve.txt:8: these are no times of the row before, step; expected times tokens" in simulate(tmp_path, text,
        status=2)


@pytest.mark.parametrize("gpu, of, batch, length, measured_us", [
    ("H200", "decoding", 4, 256, 95.7), ("H200", "decoding", 32, 512, 118), ("H200", "prompts", 8, 1024, 1200),
    ("H200", "prompts", 1, 512, 180), ("H100", "prompts", 16, 512, 1290)])
def test_latent_attention_takes_what_vllms_whole_module_takes(gpu, of, batch, length, measured_us):
    """AIConfigurator's mla_generation_module and mla_context_module of vLLM 0.19: DeepSeek V3's with 16 heads."""
    own, tokens = unloaded(gpu), batch if of == "decoding" else batch * length
    parts = sum(serving.product_ns(own, "fp8_block", tokens, n, k, "vLLM")
                for n, k in ((2112, 7168), (3072, 1536), (4096, 512), (7168, 2048)))
    parts += (serving.decoding_ns(own, "bfloat16", batch, length, 16, 1, 576, True) if of == "decoding" else
              serving.prompts_ns(own, "bfloat16", Heads(1, tokens, 16, 16, 192, 128), tokens, length / 2))
    whole = parts + serving.latent_beside_ns(own, "vLLM", 16, tokens)
    assert whole == pytest.approx(measured_us * 1e3, rel=0.12) and parts < 0.9 * whole


def test_engines_without_a_measured_module_have_none_beside():
    assert serving.latent_beside_ns(gpus.find("H200"), "SGLang", 16, 4) is None
    assert serving.latent_beside_ns(gpus.find("A100"), "vLLM", 16, 4) is None
    assert serving.latent_beside_ns(gpus.find("H20"), "vLLM", 16, 4) == serving.latent_beside_ns(gpus.find("H100"),
                                                                                             "vLLM", 16, 4)


@pytest.mark.others_files
def test_the_script_makes_the_tables(tmp_path):
    done = run_script([REPOSITORY / "scripts/maintain/serving_tables.py", OTHERS_FILES / "kernels", "-o", tmp_path])
    assert done.returncode == 0, done.stderr
    made = sorted(path.name for path in tmp_path.iterdir())
    assert len(made) == 7 + 7 + 7 + 4
    for name in made:
        assert grid.rows(tmp_path / name) == grid.rows(name)
        if not name.endswith(".gz"):
            assert (tmp_path / name).read_text() == (pathlib.Path(grid.HERE) / name).read_text(), name
