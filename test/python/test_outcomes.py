# SPDX-License-Identifier: GPL-2.0-only
"""Published training runs: how rows are read, what they become, and what the estimate makes of them."""
import csv
import dataclasses
import json
import pathlib
import sys

import pytest
from others_files import OTHERS_FILES
from script_process import run_script
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHORT = ROOT / "docs/source/data/outcomes_short.csv"
WHOLE = OTHERS_FILES / "outcomes/end_to_end.csv"
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "lab")]
from clustersim.errors import InputError  # noqa: E402
from clustersim.simulation import find_program, simulate  # noqa: E402
from clustersim.workload.estimate import collective_times, estimate, plans  # noqa: E402
from clustersim.workload.estimate.collective_times import Machine  # noqa: E402
from clustersim.workload.kernels import frameworks, gpus  # noqa: E402
from clustersim.workload.model import catalogue, operators  # noqa: E402
from clustersim.workload.plan import adapters  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism  # noqa: E402
from clustersim.workload.planning import search  # noqa: E402
from clustersim.workload.training import megatron  # noqa: E402
from clustersim.workload.training.rows import Collective  # noqa: E402
from clustersim.workload.write import chakra  # noqa: E402
from clustersim_lab.outcomes import card, facts, fit, page, runs, scaling, serving  # noqa: E402

PLANS = {
    "tensor parallel": dict(world_size=16, tp=8, sequence_parallel=True, global_batch=8),
    "pipeline": dict(world_size=32, tp=4, pp=4, sequence_parallel=True, global_batch=16),
    "interleaved": dict(world_size=32, tp=4, pp=4, virtual=2, sequence_parallel=True, global_batch=16),
    "recomputed": dict(world_size=16, tp=2, pp=2, recompute="full", global_batch=16),
    "context": dict(world_size=16, tp=2, cp=4, sequence_parallel=True, global_batch=8),
    "hybrid": dict(world_size=32, zero=3, copies=4, global_batch=32),
}


def outcomes(*arguments):
    return run_script([ROOT / "lab/outcomes.py", *map(str, arguments)], timeout=HANGS)


def iteration(name="llama3_8b", framework=None, gpu="H100", **fields):
    found = gpus.find(gpu)
    found = frameworks.apply(found, framework) if framework else found
    return megatron.Iteration(catalogue.find(name), Parallelism(**fields), found)


def a_fact(**changes):
    fields = dict.fromkeys(("sharding", "sp", "recompute", "interconnect", "notes"), "")
    fields |= dict(line=2, id="X1", task="train", model="LLAMA3_70B", gpu="H100", precision="BF16", gpus=64,
                   seq_len=4096, step_s=10.0,
                   tp=4, pp=4, micro_batch=1, global_batch=64, source="NVIDIA-NeMo/Megatron-Bridge docs")
    return facts.Fact(**{**fields, **changes})


# -- the estimate

@pytest.mark.parametrize("plan", PLANS)
def test_without_a_framework_the_estimate_is_that_of_the_analytical_program(tmp_path, plan):
    job = iteration(**PLANS[plan])
    ours = estimate.estimate(job, Machine("H100"))
    theirs, _ = search.Analytical(find_program("SimAI_analytical"), ["-g_type", "H100"], tmp_path).run(job, "a")
    assert ours.total_ns == pytest.approx(theirs, rel=0.002)


@pytest.mark.parametrize("framework", frameworks.names())
@pytest.mark.parametrize("plan", ["interleaved", "recomputed", "context", "hybrid"])
def test_shares_sum_to_the_step_in_every_framework(framework, plan):
    found = estimate.estimate(iteration(framework=frameworks.find(framework), **PLANS[plan]), Machine("H100"),
                              frameworks.find(framework))
    assert sum(found.shares.values()) == pytest.approx(found.total_ns, rel=1e-9)
    assert all(value >= 0 for value in found.shares.values())


@pytest.mark.parametrize(("name", "fields", "exchanged"),
                         [("gpt_22b", {}, True), ("llama3_8b", {}, False), ("gpt_22b", dict(pp=1), False),
                                                          ("gpt_22b", dict(schedule="zb1p"), True),
                          ("gpt_22b", dict(schedule="dualpipe"), False)])
def test_the_ends_of_a_pipeline_exchange_gradients_of_an_embedding_that_they_share(name, fields, exchanged):
    # 4 bytes of each of the vocabulary's part, through a NIC; both ends of DualPipe are on one GPU.
    job = iteration(name, **{"world_size": 64, "tp": 8, "pp": 4, "global_batch": 32, **fields})
    bytes_ = 4 * job.model.vocabulary / 8 * job.model.hidden
    assert estimate.estimate(job, Machine("H100")).shares["PP"] == pytest.approx(bytes_ / 50 if exchanged else 0,
        rel=0.01)


def test_a_pipeline_of_equal_stages_has_the_textbook_bubble():
    model = catalogue.find("llama3_8b").copy(update={"vocabulary": 8})  # no head to speak of
    job = megatron.Iteration(model, Parallelism(world_size=4, pp=4, global_batch=8), gpus.find("H100"))
    found = estimate.estimate(job, Machine("H100"))
    assert found.shares["bubble"] / found.shares["kernels"] == pytest.approx(3 / 8, rel=0.02)


@pytest.mark.parametrize("framework", [None, "megatron_2025", "torchtitan"])
@pytest.mark.parametrize("zero", [2, 3])
def test_stages_of_zero_above_1_take_the_time_of_zero_1_with_a_pipeline(framework, zero):
    """Gradients add up whole and weights are gathered once, so rows are the same."""
    profile = frameworks.find(framework) if framework else None
    plan = dict(world_size=16, tp=2, pp=2, sequence_parallel=True, global_batch=32)
    jobs = [iteration(framework=profile, **plan, zero=stage) for stage in (1, zero)]
    one, more = (estimate.estimate(job, Machine("H100"), profile) for job in jobs)
    assert one == more and jobs[0].needed() == jobs[1].needed()


def test_nanotron_refuses_stages_of_zero_that_it_has_not():
    gpu = frameworks.apply(gpus.find("H100"), frameworks.find("nanotron"))
    model, bounds = catalogue.find("llama3_8b"), Machine("H100").line_rates()
    with pytest.raises(InputError, match="Nanotron has no ZeRO-3; expected --zero 0 or 1"):
        plans.iteration_of(frameworks.find("nanotron"), model, Parallelism(world_size=16, zero=3), gpu, bounds)
    found, _ = plans.candidates(model.copy(update={"layers": 2}), gpu, bounds, 16, 16, 2048,
                                framework=frameworks.find("nanotron"))
    assert found and all(each.plan.zero == 1 for each in found)


@pytest.mark.parametrize("schedule, bubble", [("zb1p", lambda pp, f, b, w: (pp - 1) * (f + b - 2 * w)),
                                              ("dualpipe", lambda pp, f, b, w: (pp / 2 - 1) * ((f + b) + b - 3 * w))])
def test_schedules_with_less_bubble_have_that_of_table_2_of_deepseek_v3_s_report(schedule, bubble):
    model = catalogue.find("llama3_8b").copy(update={"vocabulary": 8})  # stages are alike
    plan = dict(world_size=8, pp=8, global_batch=16, zero=0)
    jobs = {name: megatron.Iteration(model, Parallelism(**plan, schedule=name), gpus.find("H100"))
            for name in ("1f1b", schedule)}
    rows = [row for row in jobs[schedule].chunks(3)[0]]
    forward, weight = (sum(getattr(row, f"{key}_ns") for row in rows) for key in ("forward", "weight"))
    backward = weight + sum(row.input_ns for row in rows)
    found = {name: estimate.estimate(job, Machine("H100")) for name, job in jobs.items()}
    # The ends of the model compute a little more, in the time that other stages wait.
    ends = found[schedule].shares["kernels"] - 16 * (forward + backward)
    table = bubble(8, forward, backward, weight)
    assert found[schedule].shares["bubble"] == pytest.approx(table, abs=0.02 * table + ends)
    assert found[schedule].shares["kernels"] == pytest.approx(16 * (forward + backward), rel=0.02)
    assert found["1f1b"].shares["bubble"] == pytest.approx(7 * (forward + backward), rel=0.02)
    assert found[schedule].total_ns < found["1f1b"].total_ns


def test_what_runs_beside_computation_costs_less_than_what_does_not_and_more_than_nothing():
    plan = dict(world_size=16, tp=8, sequence_parallel=True, global_batch=8)
    profile = frameworks.find("megatron_2025")
    waits = {way: estimate.estimate(iteration(framework=profile.copy(update={"tp": way}), **plan), Machine("H100"),
                                    profile.copy(update={"tp": way})).shares["TP"]
             for way in ("exposed", "backward", "products")}
    assert 0 < waits["products"] < waits["backward"] < waits["exposed"]


@pytest.mark.parametrize("model, ep", [("qwen3_235b_a22b", 16), ("qwen3_30b_a3b", 8)])
def test_an_exchange_beside_another_micro_batch_costs_the_multiprocessors_it_takes_from_the_whole_layer(model, ep):
    """It is shorter than what a layer computes, but longer than what the rows around it do."""
    plan = dict(world_size=64, ep=ep, global_batch=128, micro_batch=2)
    shares = {}
    for way in ("exposed", "beside"):
        profile = frameworks.find("megatron_2025").copy(update={"ep": way})
        shares[way] = estimate.estimate(iteration(model, framework=profile, **plan), Machine("H100"), profile).shares
    assert 0.2 * shares["exposed"]["kernels"] < shares["exposed"]["EP"] < shares["exposed"]["kernels"]
    taken = profile.sms / gpus.find("H100").sms * (1 + profile.bandwidth)
    assert shares["beside"]["EP"] == pytest.approx(taken * shares["exposed"]["EP"], rel=0.01)


def test_hybrid_sharding_takes_the_times_of_the_groups_that_it_makes():
    """A copy on a server gathers as FSDP on one server does; copies sum up as replicas with a server's stride do."""
    def times(*asked, **plan):
        job = iteration(zero=plan.pop("zero", 3), **plan)
        return collective_times.CollectiveTimes(job, Machine("H100"), asked)

    gather, between = Collective("ALLGATHER", "DP", 1 << 28), Collective("ALLREDUCE", "DP_COPIES", 1 << 25)
    hybrid = times(gather, between, world_size=32, copies=4)
    assert hybrid(gather) == times(gather, world_size=8)(gather) < times(gather, world_size=32)(gather)
    alike = Collective("ALLREDUCE", "DP", 1 << 25)
    assert hybrid(between) == times(alike, world_size=32, tp=8, sequence_parallel=True, zero=0)(alike)


def test_a_layer_with_few_tokens_is_bound_by_launches_unless_graphs_launch_it():
    plan = dict(world_size=8, tp=8, sequence_parallel=True, global_batch=1, sequence=128)
    profile = frameworks.find("megatron_2025")
    launch = {graphs: estimate.estimate(iteration(framework=profile.copy(update={"graphs": graphs}), **plan),
                                        Machine("H100"),
                                        profile.copy(update={"graphs": graphs})).shares["launch"]
              for graphs in (False, True)}
    assert launch[True] == 0 < launch[False]


def test_the_cpu_runs_ahead_of_the_gpu_but_for_the_counts_of_experts_tokens():
    """Launches that take longer than the kernels of one layer hide behind those of others; where experts need counts,
    they hide behind the layers up to the next counts."""
    def launch(name, launch_ns, **plan):
        profile = frameworks.find("megatron_2025").copy(update={"launch_ns": launch_ns})
        job = iteration(name, framework=profile, world_size=8, global_batch=8, sequence=4096, zero=0, **plan)
        passes = estimate.Passes(job, estimate.CollectiveTimes(job, Machine("H100"), ()), profile)
        [chunk] = job.blocks(0)
        gpu = [passes.of_block(layer, rows) for layer, rows in chunk]
        return chunk, gpu, [passes.launches_ns(layer) for layer, _ in chunk], estimate.Stage(job, 0, passes,
            passes.times, profile)

    chunk, gpu, host, stage = launch("nemotron_3_nano", 20_000.0, ep=8)
    assert any(h > g.total for h, (g, _) in zip(host, gpu)) and any(h < g.total for h, (g, _) in zip(host, gpu))
    spans, lacking = [], 0.0
    for (layer, _), (ahead, _), ns in zip(chunk, gpu, host):
        lacking += ns - ahead.total
        if layer is not None and catalogue.find("nemotron_3_nano").layer_kind(layer).experts:
            spans, lacking = [*spans, lacking], 0.0
    assert stage.forward[0]["launch"] == pytest.approx(sum(max(0.0, span) for span in [*spans, lacking]))
    chunk, gpu, host, stage = launch("llama3_8b", 1e6)
    assert stage.forward[0]["launch"] == pytest.approx(max(0.0, sum(host) - sum(ahead.total for ahead, _ in gpu)))


def test_a_loss_and_biases_that_are_not_fused_move_the_bytes_of_their_kernels():
    plain = frameworks.find("megatron_2026")
    rate = gpus.find("H100").stream_rate
    loss = next(o for o in operators.head(catalogue.find("gpt_oss_20b"), Parallelism(1)) if o.name == "loss")
    more = frameworks.apply(gpus.find("H100"), plain.copy(update={"loss_bytes": 26})).times_ns(loss)[0]
    assert more - frameworks.apply(gpus.find("H100"),
                                   plain).times_ns(loss)[0] == pytest.approx(26 * 4096 * 201088 / rate)
    for name, has_bias in (("gpt_oss_20b", True), ("qwen3_30b_a3b", False)):
        down = next(o for o in operators.layer(catalogue.find(name), Parallelism(1), 0) if o.name == "expert_down")
        slower, fused = (frameworks.apply(gpus.find("H100"), plain.copy(update={"bias_bytes": each})).times_ns(down)[0]
                         for each in (28, 0))
        m, n, _, count = down.shape
        assert slower - fused == pytest.approx(has_bias * 28 * m * n * count / rate)


@pytest.mark.parametrize("framework", ["megatron_2022", "megatron_deepspeed"])
@pytest.mark.parametrize("cp", [1, 2, 8])
def test_context_parallelism_divides_unfused_scores_by_its_ranks_alone(framework, cp):
    """A rank's queries, s / CP of them, meet all s keys: 4 operations of a score and column, and 6 accesses of 2 bytes
    forward."""
    sequence, profile = 8192, frameworks.find(framework)
    model, gpu = catalogue.find("llama3_8b"), frameworks.apply(gpus.find("A100"), profile)
    for sequences in (sequence, cp * sequence):  # the same keys on more ranks; the same queries of a longer sequence
        plan = Parallelism(world_size=16, cp=cp, sequence=sequences)
        [operator] = [o for o in operators.layer(model, plan, 0) if o.name == "attention"]
        scores = 32 * sequences / cp * sequences
        products = 4 * scores * 128 / (gpu.tflops * 1e3 * gpu.matmul * gpu.sustained)
        moved = 2 * scores / (gpu.memory_gbps * gpu.stream)
        expected = products + 6 * moved, 2 * products + 10 * moved, 0
        assert gpu.times_ns(operator) == pytest.approx([each * gpu.slower for each in expected])


def test_an_unknown_framework_is_refused_with_those_that_there_are():
    with pytest.raises(InputError, match='"megatron" is not a known framework; expected one of megatron_2022'):
        frameworks.find("megatron")


# -- rows

def test_a_row_becomes_the_plan_that_it_prints():
    run = runs.write_down(a_fact(vp=5, pp=4))
    assert (run.plan.tp, run.plan.pp, run.plan.virtual, run.plan.dp, run.plan.zero) == (4, 4, 5, 4, 1)
    assert run.plan.sequence_parallel and run.model.name == "llama3_70b" and run.machine.gpus_per_server == 8


def test_what_a_release_says_of_a_gpu_is_not_said_of_others():
    """GB200 has B200 in its name. Megatron Bridge 25.11 sent tokens of DeepSeek-V3 with HybridEP on a GB200, not on a
    B200."""
    def run(**changes):
        fields = dict(model="DeepSeekV3", precision="FP8-MX", gpus=256, tp=1, pp=16, ep=8, global_batch=2048,
                      notes="NeMo 25.11; MoE")
        return runs.write_down(a_fact(**{**fields, **changes}))

    assert (
        run(gpu="B200").plan.exchange.dispatcher == "alltoall" and run(gpu="GB200").plan.exchange.dispatcher == "deepep"
    )
    assert run(gpu="GB300", precision="BF16").plan.modules == ("moe_act",
        ) and run(gpu="GB200").plan.modules == ("mla_up_proj",)
    oss = dict(model="GPT OSS 120B", precision="BF16", pp=1, ep=64, gpus=64, global_batch=512)
    assert run(gpu="GB200", **{**oss, "notes": "NeMo 26.04; MoE"}).framework == "megatron_2025_1f1b"
    assert run(gpu="GB200", **oss).profile.loss_bytes == 26 and run(gpu="B200").profile.loss_bytes == 0


def test_embedding_and_loss_count_as_layers_where_chunks_divide_only_then():
    run = runs.write_down(a_fact(model="LLAMA3.1_405B", gpu="GB200", gpus=256, pp=16, vp=8, global_batch=1536))
    assert run.plan.split.embedding and run.plan.split.loss


@pytest.mark.parametrize("changes, group", [
    (dict(task="serve"), "not training"), (dict(step_s=None), runs.NO_LAYOUT),
    (dict(gpus_doubtful=True), runs.NO_LAYOUT),
    (dict(model="Nobody 3B"), "model"), (dict(gpu="TPU v5p"), "GPU"), (dict(source="a blog"), "framework"),
    (dict(gpu="A100-80GB", precision="FP8"), "precision"), (dict(tp=3), "plan"),
    (dict(recompute="half"), "recomputation")])
def test_a_row_that_cannot_be_written_down_says_why(changes, group):
    with pytest.raises(runs.CannotBeWritten) as error:
        runs.write_down(a_fact(**changes))
    assert error.value.group == group


@pytest.mark.parametrize("text, expected", [
    ("id,task\nX,train\n", ":1: there is no column model; expected id, task"),
    ("id,task,model,gpu,gpus,seq_len,global_batch,step_s,source\nX,train,m,H100,many,1,1,1,s\n",
     ':2: gpus "many" is not valid; expected a number above 0, or nothing'),
    ("id,task,model,gpu,gpus,seq_len,global_batch,step_s,source\nX,train,m,H100,8,1,1,-1,s\n",
     ':2: step_s "-1" is not valid')])
def test_a_wrong_table_is_refused_in_a_line(tmp_path, text, expected):
    path = tmp_path / "t.csv"
    path.write_text(text)
    result = outcomes("--data", path)
    assert result.returncode == 2 and expected in result.stderr and result.stderr.count("\n") == 1, result.stderr


def test_every_row_that_is_shipped_has_a_source_and_most_are_written_down():
    found = facts.read(SHORT)
    assert len(found) >= 20 and all(fact.source and (fact.step_s or fact.tokens_per_s_gpu) for fact in found)
    written, refused = card.write_down(found)
    assert card.share_written(written, refused) >= 0.95, [each.reason for each in refused]


def test_the_short_set_is_predicted_about_as_well_as_the_card_says():
    written, _ = card.write_down(facts.read(SHORT))
    summary = card.by_family(card.frame_of(written)).iloc[-1]
    assert 0.9 < summary["median"] < 1.1 and summary["within"] > 0.65


def test_fine_tuning_is_written_down_apart_and_trains_its_adapters_alone():
    found = facts.read(SHORT)
    tuning, untold = card.write_down(found, runs.TUNING)
    assert not untold and {run.fact.task for run in tuning} == {"sft", "lora"}
    assert not {run.fact.id for run in tuning} & {run.fact.id for run in card.write_down(found)[0]}
    summary = card.summarize(card.frame_of(tuning)["ratio"])
    assert 0.85 < summary["median"] < 1.15, summary
    # MLPerf's Llama 2 70B: rank 16 beside the products of attention, 8,192 in and 10,240 out, and 8,192 in and out, in
    # 80 layers.
    run = next(run for run in tuning if "mlcommons" in run.fact.source)
    layer = operators.layer(run.model, dataclasses.replace(run.plan, tp=1, cp=1), 0)
    assert 80 * adapters.trained(run.plan, layer) == 80 * 16 * (8192 + 10240 + 8192 + 8192)


@pytest.mark.parametrize("changes, framework, model, gpu", [
    (dict(source="a blog", notes="Megatron-LM 0.12", model="Qwen2.5 14B", gpu="H20"), "megatron_2025", "qwen2.5_14b",
     "H20"),
    (dict(source="a blog", sharding="FSDP", model="Llama 3.3 70B", gpu="H100 SXM 80GB", pp=1), "torch_fsdp2",
     "llama3_70b", "H100"),
    (dict(source="a paper on DeepSpeed", model="OPT 66B", layers=64, hidden=9216, heads=72), None, None, None),
    (dict(source="a blog", notes="torchtitan", model="Mixtral 8x22B", gpu="MI300X", pp=1, tp=1), "torchtitan",
     "mixtral_8x22b", "MI300X")])
def test_rows_of_other_sources_are_those_of_the_framework_that_they_name(changes, framework, model, gpu):
    if framework is None:
        with pytest.raises(runs.CannotBeWritten, match="is not in the catalogue"):
            runs.write_down(a_fact(**changes))
        return
    run = runs.write_down(a_fact(**changes))
    assert (run.framework, run.gpu.name, run.model.name, run.family) == (framework, gpu, model, "other sources")


def test_a_row_of_adapters_needs_their_rank():
    with pytest.raises(runs.CannotBeWritten, match="the adapters' rank") as error:
        runs.write_down(a_fact(task="lora", model="LLAMA3_8B", pp=1))
    assert error.value.group == "adapters"


def test_a_family_left_out_has_no_part_in_its_constants():
    written, _ = card.write_down(facts.read(SHORT))
    chosen = [run for run in written if run.family in ("llm-foundry", "torchtitan", "BigScience")]
    slower = [run if run.family != "torchtitan" else dataclasses.replace(run, step_s=3 * run.step_s)
              for run in chosen]
    (_, as_it_is), (_, changed) = fit.fit(chosen), fit.fit(slower)
    assert changed["torchtitan"].hopper == pytest.approx(as_it_is["torchtitan"].hopper, rel=0.03)
    assert changed["llm-foundry"].hopper < 0.9 * as_it_is["llm-foundry"].hopper


def test_the_script_prints_families_and_explains_a_row(tmp_path):
    result = outcomes("--data", SHORT, "--shipped", "-o", tmp_path, "--rows")
    assert result.returncode == 0, result.stderr
    assert "llm-foundry" in result.stdout and "within 15%" in result.stdout and (tmp_path / "outcomes.csv").is_file()
    why = outcomes("--data", SHORT, "--why", "E298")
    assert "kernels" in why.stdout and "published 7.7466 s" in why.stdout, why.stderr
    assert outcomes("--data", SHORT, "--why", "E1").returncode == 2


def test_the_page_names_families_refusals_and_curves():
    written, refused = card.write_down(facts.read(SHORT))
    frame = card.frame_of(written)
    tuning, untold = card.write_down(facts.read(SHORT), runs.TUNING)
    text = page.render(frame, written, refused, card.frame_of(tuning), untold, scaling.points(frame),
                       frameworks.fitted(), "images/outcomes")
    assert "llm-foundry" in text and "Simpler methods" in text and "MLPerf" in text


def test_a_slower_clock_is_all_that_mi350x_lacks():
    slow, fast = gpus.find("MI350X"), gpus.find("MI355X")
    assert slow.tflops / fast.tflops == pytest.approx(2200 / 2400, rel=1e-3) and slow.memory_gbps == fast.memory_gbps
    assert gpus.find("MI350X").nvlink_gbps == gpus.find("MI355X").nvlink_gbps


# -- servers

def a_server(**changes):
    return a_fact(**{**dict(task="serve", model="Llama 3.1 8B", gpus=1, tp=1, pp=None, seq_len=None, step_s=None,
                            lengths=(1, 200), tokens_per_s_gpu=100.0,
                            notes="output tokens/s/GPU, 1 requests queued at once"), **changes})


def test_a_server_is_written_down_as_it_is_published():
    servers, refused = serving.write_all_down(facts.read(SHORT))
    assert [(server.fact.id, server.fact.lengths, server.requests)
            for server in servers] == [("E741", (1000, 1000), 3000), ("E742", (8192, 1024), 1500),
                                       ("E743", (1000, 1000), 3000)]
    assert [(server.instance.tp, server.instance.dtype, server.instance.cache, server.gpu.name)
            for server in servers] == [
        (2, "fp8", "fp8", "H100"), (2, "fp8", "fp8", "H100"), (1, "nvfp4", "fp8", "B200")]
    assert not refused


def test_a_server_has_the_limits_of_its_benchmark():
    """Llama 3.3 70B on two H100: 70.6 GB of weights leave 0.95 x 101.3 GB for caches, 163,840 bytes for a token: 293
    requests of 2,000."""
    server = serving.write_down(a_server(model="Llama 3.3 70B", gpus=2, tp=2, precision="FP8", lengths=(1000, 1000)))
    sequences, tokens, blocks = serving.limits(server)
    assert (sequences, tokens) == (3 * 128, 2048)
    room = 80 * 2 ** 30 - 5e9 - server.instance.model.parameters() / 2
    assert blocks * serving.BLOCK * 163840 / 2 == pytest.approx(0.9 * room,
        rel=0.06)  # less activations, and 16 bits of the embedding and the logits
    latent = serving.write_down(a_server(model="DeepSeek R1", gpu="GB200", gpus=4, ep=4, precision="FP4",
                                         lengths=(1000, 1000)))
    assert serving.limits(latent)[:2] == serving.MOST
    kinds = {row.name: row.kind for row in latent.instance.rows()}
    assert (kinds["query_up"], kinds["projection"], kinds["expert_up"]) == ("matmul", "matmul_nvfp4", "experts_nvfp4")


@pytest.mark.parametrize("changes, group", [
    (dict(notes="300 requests at 10/s"), runs.NO_LAYOUT), (dict(tokens_per_s_gpu=None), runs.NO_LAYOUT),
    (dict(tp=3), "plan"),
    (dict(gpu="TPU v5p"), "GPU"), (dict(model="Nobody 3B"), "model")])
def test_a_server_that_cannot_be_written_down_says_why(changes, group):
    with pytest.raises(runs.CannotBeWritten) as error:
        serving.write_down(a_server(**changes))
    assert error.value.group == group


def test_one_sequence_is_served_nearly_as_fast_as_memory_reads_the_weights(tmp_path):
    """Measured kernels of one token take 1.1 to 1.25 times what their bytes take at the rate of a copy."""
    server = serving.write_down(a_server())
    read = 2 * (server.instance.model.parameters() - 128256 * 4096)  # bfloat16, all but the table of embeddings
    assert 0.8 < serving.rate_of(server, tmp_path) / (server.gpu.memory_gbps * server.gpu.stream * 1e9 / read) < 0.91


def test_the_script_simulates_servers(tmp_path):
    columns = "id,task,model,gpu,gpus,precision,tp,seq_len,global_batch,step_s,tokens_per_s_gpu,notes,source\n"
    server = (
        'S1,serve,Llama 3.3 70B,H100,2,FP8,2,100/20,,,100,"output tokens/s/GPU, 4 requests queued at once",a blog\n'
    )
    path, nobody = tmp_path / "t.csv", tmp_path / "n.csv"
    rows = csv.DictReader(line for line in SHORT.read_text().splitlines() if not line.startswith("#"))
    training = next(row for row in rows if row["id"] == "E298")
    for file, more in ((path, server), (nobody, "")):
        with file.open("w") as out:
            writer = csv.DictWriter(out, list(training))
            writer.writeheader()
            writer.writerow(training)
            writer.writerows(csv.DictReader((columns + more).splitlines()))
    result = outcomes("--data", path, "--shipped", "--serve", "-o", tmp_path)
    assert result.returncode == 0 and "S1    Llama 3.3 70B" in result.stdout, result.stderr
    [row] = csv.DictReader((tmp_path / "serving.csv").read_text().splitlines())
    assert float(row["ratio"]) == pytest.approx(float(row["simulated"]) / 100, rel=1e-3)
    refused = outcomes("--data", nobody, "--shipped", "--serve", "-o", tmp_path)
    assert refused.returncode == 2 and "no server can be written down; expected at least one" in refused.stderr


@pytest.mark.others_files
def test_nearly_all_published_rows_with_a_full_layout_are_written_down():
    written, refused = card.write_down(facts.read(WHOLE))
    assert card.share_written(written, refused) >= 0.95, [each.reason for each in refused]


def test_workload_prints_the_step_of_a_framework_and_its_kernels_are_the_framework_s(tmp_path):
    command = [ROOT / "scripts/workload.py", "--model", "gpt_22b", "--num_layers", "4", "--world_size", "8", "--tp",
               "8", "--gpu_type", "A100", "-o", tmp_path]
    plain = run_script([*map(str, command), "--name", "plain"], timeout=HANGS)
    old = run_script([*map(str, command), "--name", "old", "--framework", "megatron_2022"], timeout=HANGS)
    assert "estimated step" not in plain.stdout and "estimated step with megatron_2022" in old.stdout, old.stderr
    facts = {name: json.loads((tmp_path / f"{name}.json").read_text()) for name in ("plain", "old")}
    shares = facts["old"]["estimate"]
    assert sum(shares[name] for name in estimate.SHARES) == pytest.approx(shares["step_ns"])
    assert facts["old"]["compute_ns"] > facts["plain"]["compute_ns"]


def test_traces_of_a_framework_scatter_input_gradients_beside_the_product_of_weight_gradients(tmp_path):
    plan = dict(world_size=8, tp=8, sequence_parallel=True, global_batch=1)
    took = {}
    topology = tmp_path / "topology"
    assert run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "8", "-gt", "H100", "-bw",
                       "400Gbps", "-psn", "8",
                       "-o", topology], timeout=HANGS).returncode == 0
    for way in ("exposed", "backward"):
        profile = frameworks.find("megatron_2022").copy(update={"tp": way})
        job = megatron.Iteration(catalogue.find("llama3_8b").copy(update={"layers": 2}), Parallelism(**plan),
                                 frameworks.apply(gpus.find("H100"), profile))
        chakra.write(job, tmp_path / way)
        took[way] = simulate(tmp_path / way, topology, output=tmp_path / f"out-{way}", network="flow").simulated_ns
    assert took["backward"] < 0.97 * took["exposed"]
