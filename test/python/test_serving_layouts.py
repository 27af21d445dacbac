# SPDX-License-Identifier: GPL-2.0-only
"""Layouts of instances that serve: attention by tensor or data parallelism, experts cut or shared out."""
import collections
import csv
import json
import math
import pathlib
import random
import statistics
import sys

import pytest
from script_process import run_script
from test_inference import generate, simulate

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.workload.kernels import gpus  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402
from clustersim.workload.plan.exchange import Exchange, zipf  # noqa: E402
from clustersim.workload.serve import placement  # noqa: E402
from clustersim.workload.serve.instance import Instance  # noqa: E402

QWEN = catalogue.find("qwen3_235b_a22b")  # 128 experts of 1536, 8 of a token; hidden 4096, no shared experts
LOAD = ("--requests", 1, "--rate", 1, "--prompt_tokens", 1000, "--output_tokens", 2)
ALL = Exchange("allgather")


def rows_of(**how):
    instance = Instance(QWEN, how["tp"] * how["dp"], exchange=how.pop("exchange", ALL), **how)
    return instance, {row.name: row for row in instance.rows()}


@pytest.mark.parametrize("tp, dp, ep", [(8, 1, 1), (8, 1, 8), (8, 1, 4), (1, 8, 8), (2, 4, 8), (1, 8, 1), (2, 4, 1)])
def test_experts_are_whole_or_cut_and_each_rank_computes_an_even_share(tp, dp, ep):
    instance, found = rows_of(tp=tp, dp=dp, ep=ep)
    columns, hidden, local, share = found["expert_up"].figures
    assert (columns, hidden, local, share) == (2 * 1536 / (8 / ep), 4096, 128 / ep, 8 / ep)
    assert columns * local * share * 8 == 2 * 1536 * 128 * 8 / ep  # all ranks compute as much as there is
    assert found["qkv"].figures[0] == Instance(QWEN, tp, tp=tp).rows()[2].figures[0]  # attention: by TP alone


def test_ranks_of_one_replica_add_up_what_their_experts_make_of_all_tokens():
    _, cut = rows_of(tp=8, dp=1, ep=1)
    _, whole = rows_of(tp=8, dp=1, ep=8)
    for found in (cut, whole):
        sent = {name: (row.collective, row.bytes) for name, row in found.items() if row.collective != "NONE"}
        assert sent["projection"] == sent["combine"] == ("ALLREDUCE_TP", 2 * 4096)
        assert "dispatch" not in sent and "gather" not in found and "collect" not in found
    assert whole["dispatch"].figures[0] == cut["dispatch"].figures[0] / 8  # a rank moves the tokens of its experts


@pytest.mark.parametrize("tp, dp, ep, bytes_, after", [
    (1, 8, 8, 8 * 8192, "NONE"),  # all tokens to all ranks
    (2, 4, 8, 8 * 8192 / 2, "ALLGATHER_TP"),  # each rank of TP sends its half
    (2, 4, 1, 4 * 8192, "ALLREDUCE_TP"),  # to the peer in each replica; then parts of experts add up
    (1, 8, 1, 8 * 8192, "NONE")])
def test_replicas_gather_tokens_and_scatter_results(tp, dp, ep, bytes_, after):
    _, found = rows_of(tp=tp, dp=dp, ep=ep)
    for name in ("dispatch", "combine"):
        assert (found[name].collective, found[name].bytes) == ("ALLTOALL_EP", bytes_)
    assert (found["collect"].collective if "collect" in found else "NONE") == after
    assert "gather" not in found


def test_a_dispatcher_sends_the_parts_of_a_tensor_parallel_group_to_whole_experts():
    _, found = rows_of(tp=8, dp=1, ep=8, exchange=Exchange("alltoall"))
    assert found["dispatch"].bytes == found["combine"].bytes == 8 * 8192 / 8
    assert found["collect"].collective == "ALLGATHER_TP"


def test_all_layouts_of_experts_keep_as_many_bytes():
    gpu = gpus.find("B200", "fp8")
    blocks = {ep: rows_of(tp=8, dp=1, ep=ep, dtype="fp8")[0].blocks(gpu, 0.9, 16, 8192, 256) for ep in (1, 4, 8)}
    assert max(blocks.values()) / min(blocks.values()) < 1.01  # experts' activations differ a little


def test_the_activation_of_an_expert_moves_each_arriving_token_once():
    _, found = rows_of(tp=1, dp=64, ep=64)  # four rows come to each expert of a step of one token a replica
    assert found["expert_activation"].figures == (2 * 3 * 1536, 8 / 64)


def test_flags_of_engines_say_the_layout(tmp_path):
    def line(*flags):
        text = generate(tmp_path, "--model_name", "qwen3_235b_a22b", "--dtype", "fp8", *LOAD, *flags)
        return text[text.index("instances"):].splitlines()[0]

    assert line("--world_size", 8, "--tp", 8, "--enable_expert_parallel").endswith(" 0-7 tp: 8 pp: 1 dp: 1 ep: 8")
    facts = json.loads((tmp_path / "w.json").read_text())["pools"][0]
    assert (facts["tp"], facts["dp"], facts["ep"]) == (8, 1, 8)
    assert line("--world_size", 8, "--tp", 8, "--enable_expert_parallel", "--ep", 4).endswith("tp: 8 pp: 1 dp: 1 ep: 4")
    assert line("--world_size", 8, "--tensor-parallel-size", 2, "--data-parallel-size", 4,
                "--enable-expert-parallel").endswith("tp: 2 pp: 1 dp: 4 ep: 8")
    assert line("--world_size", 8, "--tp", 2, "--dp", 4).endswith("tp: 2 pp: 1 dp: 4 ep: 4")  # each shard's peers
    assert line("--world_size", 64, "--tp", 8, "--ep", 8).endswith("0-63 tp: 8 pp: 1 ep: 8")  # as ever
    assert line("--prefill_gpus", 8, "--decode_gpus", 16, "--tp", 8, "--enable_expert_parallel", "--decode_tp", 1,
                "--decode_dp", 16, "--decode_moe_dispatcher", "deepep") == (
                    "instances prefill 0-7 tp: 8 pp: 1 dp: 1 ep: 8")


@pytest.mark.parametrize("model, flags, line", [
    ("llama3_8b", ("--tp", 8, "--enable_expert_parallel"), "llama3_8b has no experts for replicas or ranks to share"),
    ("llama3_8b", ("--dp", 8), "llama3_8b has no experts for replicas or ranks to share"),
    ("qwen3_235b_a22b", ("--tp", 4, "--dp", 2, "--ep", 4), "EP 4 does not go with TP 4 and DP 2; expected 1 or 8"),
    ("qwen3_235b_a22b", ("--tp", 8, "--ep", 3, "--enable_expert_parallel"),
     "EP 3 does not go with TP 8 and DP 1; expected a divisor of 8"),
    ("qwen3_235b_a22b", ("--dp", 8, "--moe_dispatcher", "deepep"), "expected --moe_dispatcher allgather, not deepep")])
def test_a_layout_that_does_not_go_is_refused_in_one_line(tmp_path, model, flags, line):
    said = generate(tmp_path, "--model_name", model, "--world_size", 8, "--dtype", "fp8", *LOAD, *flags, status=2)
    assert line in said and said.count("\n") == 1


@pytest.mark.parametrize("sizes, ranks", [("dp: 2 ep: 4", 4), ("dp: 2", 2), ("ep: 2", 2)])
def test_tokens_of_a_replica_go_to_the_ranks_of_a_group_and_come_back(tmp_path, sizes, ranks):
    """A replica of TP 2 has 1,000 tokens, the other none. Each of its ranks sends 8,192 bytes of a token, spread evenly
    over its group. Back, a rank of two sends half of them to one, and a rank of four a quarter to each of two."""
    run = simulate(tmp_path, "INFERENCE\nrequests 1\nrate 1e15\nprompt_tokens 1000\noutput_tokens 1\n"
                   f"instances colocated 0-3 tp: 2 {sizes}\n"
                   "row out all linear 1000 0 0 0 ALLTOALL_EP 8192\nrow back all linear 1000 0 0 0 ALLTOALL_EP 8192\n")
    with (run / "collectives.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    of_group = [row for row in found if row["layer"] == "prefill_out"]
    assert len(of_group) == 4 / ranks
    assert {(int(row["ranks"]), int(row["bytes"])) for row in of_group} == {(ranks, 8192 * 1000)}
    assert {int(row["bytes"]) for row in found if row["layer"] == "prefill_back"} == {8192 * 1000 // 2}


def test_whole_experts_and_cut_ones_take_a_step_each_its_own_kernels_time(tmp_path):
    """With one sequence, a rank of whole experts reads one of them at most, and one of cut experts an eighth of each of
    eight: as many bytes, so steps are alike within the efficiency of kernels."""
    topology = tmp_path / "fabric"
    done = run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "8", "-gt", "H100", "-bw",
                       "400Gbps", "--fit", "-o", topology])
    assert done.returncode == 0, done.stderr
    tpot = {}
    for name, flags in (("cut", ()), ("whole", ("--enable_expert_parallel",))):
        text = generate(tmp_path, "--model_name", "qwen3_235b_a22b", "--dtype", "fp8", "--world_size", 8, "--tp", 8,
                        "--engine", "vLLM", *LOAD, *flags)
        run = simulate(tmp_path, text, "--fast-forward", topology=topology)
        with (run / "inference.csv").open(newline="") as file:
            tpot[name] = next(float(row["mean"]) for row in csv.DictReader(file) if row["metric"] == "tpot_us")
    assert math.isclose(tpot["cut"], tpot["whole"], rel_tol=0.3)


def test_an_instance_refuses_sizes_that_do_not_go():
    with pytest.raises(InputError, match="sends tokens to whole experts; expected EP 8"):
        rows_of(tp=8, dp=1, ep=4, exchange=Exchange("deepep"))
    with pytest.raises(InputError, match="TP 2 x PP 1 x DP 3 = 6 does not divide 8 GPUs"):
        Instance(QWEN, 8, tp=2, dp=3, ep=1, exchange=ALL)


# -- redundant experts, and loads of layers


@pytest.mark.parametrize("gpu", ["A100", "H100"])
def test_a_server_of_qwen3_32b_on_one_gpu_holds_a_prompt_of_32000_tokens(gpu):
    """As GPUStack's did, with vLLM's defaults (its docs/performance-lab/qwen3-32b)."""
    instance = Instance(catalogue.find("qwen3_32b"), 1)
    assert 16 * instance.blocks(gpus.find(gpu), 0.9, 16, 2048, 256) > 32000 + 100


def test_eplb_copies_the_fullest_expert_and_evens_out_the_ranks():
    loads = (4.0, 1.0, 1.0, 1.0, 0.5, 0.5)  # in order, 6 / 3 ranks: 5, 2 and 1, where the mean is 8 / 3
    assert placement.fullest(loads, 3, None) == pytest.approx(5 / (8 / 3))
    assert placement.fullest(loads, 3, 0) == pytest.approx(4.5 / (8 / 3))  # the fullest beside the emptiest
    # Copies make it 4 / 3 three times: with three each, ranks have 4 / 3 and two others.
    assert placement.fullest(loads, 3, 3) < 1.2
    assert placement.fullest((1.0,) * 8, 4, 0) == 1


@pytest.mark.parametrize("choices, ranks, fullest", [(8, 8, 1), (32, 8, 1), (512, 8, 1), (512, 72, 1), (32, 8, 2),
                                                     (512, 8, 1.3)])
def test_few_tokens_fill_ranks_unevenly_by_chance(choices, ranks, fullest):
    """Against the mean over 2,000 draws."""
    drawn = random.Random(1)
    weights = [fullest] + [(ranks - fullest) / (ranks - 1)] * (ranks - 1)
    most = [max(collections.Counter(drawn.choices(range(ranks), weights, k=choices)).values()) for _ in range(2000)]
    assert placement.by_chance(choices, ranks, fullest) == pytest.approx(statistics.mean(most) * ranks / choices,
                                                                         rel=0.03)


def test_many_tokens_fill_ranks_as_their_loads_say():
    assert placement.by_chance(1 << 22, 8, 1) == pytest.approx(1, abs=0.003)
    assert placement.by_chance(1 << 20, 48, 4.76) == pytest.approx(4.76, rel=0.01)
    assert placement.by_chance(100, 1, 1) == 1


def test_ranks_add_up_squares_where_a_norm_is_of_all_heads():
    """MiniMax M2 with TP 8 norms the queries of 48 heads and the keys of 8 together."""
    [row] = [row for row in Instance(catalogue.find("minimax_m2"), 8, tp=8).rows() if row.name == "qk_squares"]
    assert (row.collective, row.bytes, row.figures) == ("ALLREDUCE_TP", 8, (2 * 128 * (6 + 1),))
    for model, tp in (("minimax_m2", 1), ("qwen3_8b", 8)):
        assert "qk_squares" not in {row.name for row in Instance(catalogue.find(model), tp, tp=tp).rows()}


def test_experts_that_do_not_share_out_lie_on_the_first_ranks():
    """256 experts on 72 ranks: four on 40 of them, three on the others."""
    assert placement.fullest((1.0,) * 256, 72, None) == pytest.approx(4 * 72 / 256)
    deepseek = catalogue.find("deepseek_v3")
    plain = Instance(deepseek, 72, dp=72, ep=72, exchange=ALL)
    copied = Instance(deepseek, 72, dp=72, ep=72, exchange=ALL, redundant=32)
    for instance in (plain, copied):
        [up] = [row for row in instance.rows() if row.name == "expert_up"]
        assert up.figures[2] == 4  # (256 + 32) / 72, and 256 / 72 rounded up


@pytest.mark.parametrize("redundant, most", [(0, 4.6), (32, 1.01), (96, 1.05)])
def test_copies_of_popular_experts_even_out_zipfs_law(redundant, most):
    loads = zipf(256, 0.8, 1)
    uneven = placement.fullest(loads, 48, None)
    assert 1 <= placement.fullest(loads, 48, redundant) < most < uneven == pytest.approx(4.76, abs=0.1)


def test_a_rank_with_copies_keeps_their_weights_and_computes_fewer_tokens():
    gpu, deepseek = gpus.find("B200", "fp8"), catalogue.find("deepseek_v3")
    uneven = Exchange("allgather", loads=zipf(256, 0.8, 1))
    plain, copied = (Instance(deepseek, 32, dp=32, ep=32, dtype="fp8", exchange=uneven, redundant=copies)
                     for copies in (None, 32))
    kept = sum(plain.kept.tokens) * 16
    weights = 58 * 3 * 7168 * 2048  # of one more expert in each of 58 layers
    assert plain.blocks(gpu, 0.9, 16, 512, 64) - copied.blocks(gpu, 0.9, 16, 512, 64) == pytest.approx(weights / kept,
                                                                                                    rel=1e-3)
    assert copied.share < plain.share / 3


def test_loads_of_layers_count_with_their_mean(tmp_path):
    lines = [[1] * 8 for _ in range(4)]
    lines[2] = [5, 1, 1, 1, 0, 0, 0, 0]  # the first of four ranks gets 6 of 8
    (tmp_path / "loads").write_text("# layers\n" + "".join(" ".join(map(str, line)) + "\n" for line in lines))
    words = ("--model_name", "mixtral_8x7b", "--num_layers", 4, "--world_size", 4, "--dp", 4,
             "--enable_expert_parallel", *LOAD, "--moe_imbalance", tmp_path / "loads")
    text = generate(tmp_path, *words)
    [row] = [line.split() for line in text.splitlines() if line.startswith("row expert_up")]
    assert float(row[7]) == pytest.approx(2 / 4 * (1 + 1 + 6 * 4 / 8 + 1) / 4)
    (tmp_path / "loads").write_text("1 2 3\n")
    assert "loads:1: not the tokens of a layer's experts; expected 8 numbers" in generate(tmp_path, *words, status=2)
    (tmp_path / "loads").write_text("1 2 3 4 5 6 7 8\n")
    assert "1 lines of loads; expected one for each of 4 layers" in generate(tmp_path, *words, status=2)


@pytest.mark.parametrize("flags, line", [
    (("--redundant_experts", 4), "--redundant_experts 4 with EP 1; expected 0 to"),
    (("--dp", 256, "--enable_expert_parallel"), "EP 256 is more than 128 experts; expected an expert for each rank")])
def test_copies_that_have_no_place_are_refused(tmp_path, flags, line):
    said = generate(tmp_path, "--model_name", "qwen3_235b_a22b", "--world_size", 256, *LOAD, *flags, status=2)
    assert line in said and said.count("\n") == 1
