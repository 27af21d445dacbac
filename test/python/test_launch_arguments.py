# SPDX-License-Identifier: GPL-2.0-only
"""A plan as arguments of Megatron-LM, torchtitan and NeMo; what else the search looks at; how plans are compared."""
import dataclasses
import os
import pathlib
import shlex
import sys

import pytest
from script_process import run_script

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.workload.command import training_command  # noqa: E402
from clustersim.workload.estimate import plans  # noqa: E402
from clustersim.workload.estimate.collective_times import Machine as CollectiveMachine  # noqa: E402
from clustersim.workload.kernels import frameworks, gpus  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402
from clustersim.workload.plan import pipeline, precision  # noqa: E402
from clustersim.workload.plan.exchange import Exchange  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism, check  # noqa: E402
from clustersim.workload.planning import search  # noqa: E402
from clustersim.workload.result import plans as plans_found  # noqa: E402
from clustersim.workload.training import megatron, memory  # noqa: E402
from clustersim.workload.write import launch_arguments, simai_text  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", REPOSITORY / "bin"))
DENSE, EXPERTS = catalogue.find("llama3_8b"), catalogue.find("mixtral_8x7b")
PLAN = Parallelism(world_size=64, tp=4, sequence_parallel=True, pp=2, virtual=4, cp=2, zero=1, micro_batch=2,
                   global_batch=64, sequence=8192,
                   recompute="selective", modules=("layernorm", "mlp_act"))
# Arguments that our own flags do not know, since the model or the cluster says it, or nothing here depends on it.
ELSEWHERE = ("--overlap-grad-reduce", "--overlap-param-gather")


def words(name, model, plan):
    return shlex.split(launch_arguments.text(name, model, plan).replace("\\\n", " "))


def test_megatrons_arguments_give_the_same_plan_back():
    """workload.py reads Megatron-LM's arguments: what it reads is the plan that was printed."""
    given = [word for word in words("megatron", DENSE, PLAN) if word not in ELSEWHERE]
    read = training_command.make_parser("").parse_args(["--world_size", "64", "--model", "llama3_8b", *given])
    assert training_command.find_plan(read, DENSE) == PLAN


@pytest.mark.parametrize("changes, expected", [
    ({"split": pipeline.Split(embedding=True, loss=True)},
     "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split"),
    ({"split": pipeline.Split(first=3, last=5)}, "--decoder-first-pipeline-num-layers 3 "
     "--decoder-last-pipeline-num-layers 5"),
    ({"recompute": "full", "modules": ()}, "--recompute-granularity full --recompute-method uniform "
     "--recompute-num-layers 1"),
    ({"recompute": "full", "modules": (), "recompute_layers": 3}, "--recompute-method block --recompute-num-layers 3"),
    ({"zero": 3, "pp": 1, "virtual": 1}, "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params")])
def test_megatron_has_a_name_for_each_choice(changes, expected):
    plan = Parallelism(**{**PLAN.__dict__, **changes})
    assert expected in " ".join(words("megatron", DENSE, plan))


def test_experts_have_their_dispatcher():
    plan = Parallelism(world_size=64, tp=2, sequence_parallel=True, ep=8, etp=1, zero=1, global_batch=64,
                       exchange=Exchange("deepep", node_limit=2))
    found = " ".join(words("megatron", EXPERTS, plan))
    assert "--expert-model-parallel-size 8 --expert-tensor-parallel-size 1" in found
    assert "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep --moe-router-group-topk 2" in found
    assert "--parallelism.expert_parallel_degree=8" in words("torchtitan", EXPERTS, plan)
    assert "trainer.strategy.expert_model_parallel_size=8" in words("nemo", EXPERTS, plan)
    assert not any("expert" in word for word in words("megatron", DENSE, plan))


def test_torchtitan_has_a_pipelines_micro_batches_in_its_local_batch():
    found = dict(word.removeprefix("--").split("=") for word in words("torchtitan", DENSE, PLAN))
    assert found["training.local_batch_size"] == "16" and found["parallelism.pipeline_parallel_microbatch_size"] == "2"
    assert int(found["training.local_batch_size"]) * PLAN.dp == int(found["training.global_batch_size"]) == 64
    degrees = ("data_parallel_shard", "data_parallel_replicate", "tensor_parallel", "context_parallel",
               "pipeline_parallel")
    product = 1
    for degree in degrees:
        product *= int(found[f"parallelism.{degree}_degree"])
    assert product == PLAN.world_size and found["parallelism.pipeline_parallel_schedule"] == "Interleaved1F1B"
    assert found["activation_checkpoint.mode"] == "selective"


def test_schedules_that_a_framework_has_no_argument_for_are_refused():
    plans_ = {name: dataclasses.replace(PLAN, virtual=1, schedule=name) for name in ("1f1b", "gpipe", "zb1p")}
    assert "--parallelism.pipeline_parallel_schedule=GPipe" in words("torchtitan", DENSE, plans_["gpipe"])
    assert words("megatron", DENSE, plans_["1f1b"])
    for framework, schedule in (("megatron", "gpipe"), ("nemo", "gpipe"), ("torchtitan", "zb1p"), ("megatron", "zb1p")):
        with pytest.raises(InputError, match=f"no argument of {framework} is known to mean schedule {schedule} .*; "
                           f"expected --pipeline_schedule 1f1b"):
            words(framework, DENSE, plans_[schedule])


UNEVEN = [(32, 3, 1), (32, 3, 8), (80, 4, 8), (80, 4, 1), (13, 8, 1), (61, 4, 4), (32, 2, 4), (34, 4, 9), (30, 8, 1)]


@pytest.mark.parametrize("layers, pp, virtual", UNEVEN)
def test_megatron_gets_stages_that_it_allows(layers, pp, virtual):
    """Without a layout, Megatron-Core refuses stages that the layers do not fill alike, and chunks of a stage that are
    not alike."""
    model = DENSE.copy(update={"layers": layers})
    plan = Parallelism(world_size=4 * pp, pp=pp, tp=4, sequence_parallel=True, virtual=virtual, global_batch=64, zero=1)
    given = words("megatron", model, plan)
    assert ("--pipeline-model-parallel-layout" in given) == (layers % (pp * virtual) > 0)
    read = training_command.make_parser("").parse_args(["--world_size", str(4 * pp), "--model", "llama3_8b",
                                                        *(word for word in given if word not in ELSEWHERE)])
    assert pipeline.places(training_command.find_plan(read, model), layers) == pipeline.places(plan, layers)
    nemo = dict(word.split("=") for word in words("nemo", model, plan))
    assert nemo.get("trainer.strategy.pipeline_model_parallel_layout") == (
        given[given.index("--pipeline-model-parallel-layout") + 1] if layers % (pp * virtual) else None)


@pytest.mark.parametrize("layers, pp, virtual", UNEVEN)
def test_torchtitan_makes_the_stages_of_the_plan(layers, pp, virtual):
    model = DENSE.copy(update={"layers": layers})
    plan = Parallelism(world_size=pp, pp=pp, virtual=virtual, global_batch=64, zero=1)
    if (layers, virtual) in ((80, 8), (32, 8)):  # no number of layers in a stage makes so many stages
        with pytest.raises(InputError, match="torchtitan cannot spread .*; expected --print-arguments megatron"):
            words("torchtitan", model, plan)
        return
    found = dict(word.removeprefix("--parallelism.pipeline_parallel_").split("=")
                 for word in words("torchtitan", model, plan) if "pipeline" in word)
    first, last = int(found["first_stage_less_layers"]), int(found["last_stage_less_layers"])
    whole = layers + first + last
    stages = -(-whole // int(found["layers_per_stage"])) if "layers_per_stage" in found else pp * (2 if virtual > 1
        else 1)
    assert stages == pp * virtual and found["schedule"] == ("Interleaved1F1B" if virtual > 1 else "1F1B")
    counts = [whole // stages + (stage < whole % stages) for stage in range(stages)]
    counts[0] -= first
    counts[-1] -= last
    assert counts == [len(place.layers) for place in pipeline.places(plan, layers)]


def test_arguments_are_of_the_best_plan_that_the_framework_can_carry_out():
    sharded, plain = Parallelism(world_size=8, zero=3), Parallelism(world_size=8, zero=1)
    found = plans_found.arguments_of("nemo", DENSE, [sharded, plain], 4)
    assert found.startswith("arguments of nemo for plan 2, the best that it can carry out:\n"
                            "trainer.num_nodes=2 trainer.devices=4")
    assert plans_found.arguments_of("nemo", DENSE, [plain, sharded], 4).startswith("arguments of nemo:\n")
    with pytest.raises(InputError, match="or more plans"):
        plans_found.arguments_of("nemo", DENSE, [sharded], 4)


def test_hybrid_sharding_has_the_frameworks_degrees():
    plan = Parallelism(world_size=64, tp=2, sequence_parallel=True, zero=3, copies=4, global_batch=64)
    found = words("torchtitan", DENSE, plan)
    assert {"--parallelism.data_parallel_shard_degree=8",
            "--parallelism.data_parallel_replicate_degree=4"} <= set(found)
    assert "--num-distributed-optimizer-instances 4" in " ".join(words("megatron", DENSE, plan))
    with pytest.raises(InputError, match="no hybrid sharding .*; expected --print-arguments megatron"):
        launch_arguments.text("nemo", DENSE, plan)


def test_the_search_counts_the_bytes_of_the_types(monkeypatch):
    """With --dtype fp8, products read copies in two orders; the search counted none."""
    h100 = gpus.find("H100", "fp8")
    numbers = precision.of("fp8", reads_either_order=bool(h100.fp4))
    listed, _ = plans.candidates(DENSE, h100, plans.Machine(8, 450, 50), 8, 32, 8192, numbers=numbers)
    plain, _ = plans.candidates(DENSE, h100, plans.Machine(8, 450, 50), 8, 32, 8192)
    for candidate in listed[::len(listed) // 5]:
        assert candidate.memory.total == memory.needed(DENSE,
                                                       candidate.plan).total and candidate.plan.precision == numbers
    most = {dataclasses.replace(candidate.plan, precision=numbers): candidate.memory.total for candidate in plain}
    assert any(candidate.memory.total > most.get(candidate.plan, 1e99) for candidate in listed)


def test_the_search_has_hybrid_sharding_over_servers():
    found = [plan for plan in plans.shapes(DENSE, 32, 32, 2048, 8) if plan.copies > 1]
    assert found and {plan.tp * plan.shards for plan in found} == {8} and {plan.zero for plan in found} == {3}


def test_nemo_has_servers_of_eight_and_no_sharded_weights():
    found = dict(word.split("=") for word in words("nemo", DENSE, PLAN))
    assert int(found["trainer.num_nodes"]) * int(found["trainer.devices"]) == 64
    assert found["trainer.strategy.virtual_pipeline_model_parallel_size"] == "4"
    assert "trainer.num_nodes=3 trainer.devices=4 " in launch_arguments.text("nemo", DENSE, Parallelism(world_size=12),
        8).replace("\\", " ").replace("\n", " ")
    assert found["model.config.recompute_modules"] == "['layernorm', 'mlp_act']"
    with pytest.raises(InputError, match="no ZeRO-3 .*; expected --print-arguments megatron"):
        launch_arguments.text("nemo", DENSE, Parallelism(world_size=8, zero=3))


def test_the_shortcuts_of_the_search_miss_no_plan_that_fits():
    """A plan whose full recomputation does not fit, or whose smaller micro-batch does not, has no recomputation that
    fits."""
    machine, h100 = plans.Machine(8, 450, 50), gpus.find("H100")
    listed, too_large = plans.candidates(DENSE, h100, machine, 8, 32, 8192)
    fitting = {}
    every = list(plans.shapes(DENSE, 8, 32, 8192, 8))
    for plan in every:
        tried = [dataclasses.replace(plan, **changes) for changes in plans._recomputations(DENSE, plan)]
        fits = [each for each in tried if memory.needed(DENSE, each).total <= 75e9]
        if fits:
            fitting[plan] = fits[0]
    assert 20 < len(listed) < len(every) and too_large == len(every) - len(listed)
    assert {candidate.plan for candidate in listed} == set(fitting.values())


@pytest.mark.parametrize("name", ["megatron_2025", "torchtitan", "nanotron", "deepseek"])
def test_no_framework_is_faster_than_the_bound_of_a_plan(name, monkeypatch):
    monkeypatch.setenv("PROGRAM_DIR", str(PROGRAMS))
    framework = frameworks.find(name)
    h100 = frameworks.apply(gpus.find("H100"), framework)
    model = (DENSE if name == "nanotron" else EXPERTS).copy(update={"layers": 8})
    listed, _ = plans.candidates(model, h100, plans.Machine(8, 450, 50), 16, 32, 2048, framework=framework)
    timer = search.Estimated(CollectiveMachine("H100"), framework)
    assert len(listed) > 100
    for candidate in listed[::len(listed) // 12]:
        assert timer.time(candidate, "").total_ns >= candidate.bound_ns, candidate.plan.describe()


def row(rank, time, simulated=None, **parts):
    shares = {key: parts.get(key, 0.0) / time for key in ("TP", "DP", "DP_EP", "EP", "CP", "PP", "bubble")}
    return {"rank": rank, "time_ms": time, "computation": 1 - sum(shares.values()), **shares, "simulated_ms": simulated}


def test_differences_add_up_to_the_whole():
    lines = plans_found.differences([row(1, 100, TP=10), row(2, 130, TP=25, bubble=10)]).splitlines()
    head, second = (line.split() for line in lines)
    assert head == ["rank", "total", "computation", "TP", "bubble"]
    total, *parts = map(float, second[1:])
    assert total == 30 and parts == [5, 15, 10] and sum(parts) == total


def test_simulated_plans_come_in_the_order_of_their_simulation(tmp_path):
    for number in (1, 2, 3):
        (tmp_path / f"plan{number}.txt").write_text(f"{number}")
        (tmp_path / f"plan{number}").mkdir()
    best, rows = plans_found.by_simulation(["a", "b", "c"], [row(1, 10, 22), row(2, 11, 21), row(3, 12)], tmp_path)
    assert best == ["b", "a", "c"] and [each["rank"] for each in rows] == [1, 2, 3]
    assert [(tmp_path / f"plan{number}.txt").read_text() for number in (1, 2, 3)] == ["2", "1", "3"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["plan1", "plan2", "plan3"]


def test_the_search_has_whole_experts_uneven_stages_and_parts_of_layers():
    found = list(plans.shapes(EXPERTS, 16, 16, 2048, 8))
    assert {plan.expert_tp for plan in found if plan.tp == 4} == {1, 4}
    assert any(plan.ep == 8 and plan.tp == 8 and plan.etp == 1 for plan in found)  # over TP and DP
    # 30 layers and two more are 8 equal parts; alone they are not.
    uneven = EXPERTS.copy(update={"layers": 30})
    assert {plan.split for plan in plans.shapes(uneven, 16, 16, 2048, 8) if plan.pp == 8 and plan.virtual == 1} == {
        pipeline.Split(), pipeline.Split(embedding=True, loss=True)}
    every = list(plans._recomputations(catalogue.find("deepseek_v3"), Parallelism(world_size=16, pp=4)))
    assert [each["recompute"] for each in every] == ["none", "selective", "selective", "full", "full"]
    assert "mla_up_proj" in every[2]["modules"] and every[3]["recompute_layers"] == 61 // 4 // 2
    for each in found[::97]:
        check(EXPERTS, each)
        simai_text.render(megatron.Iteration(EXPERTS, each, gpus.find("H100")))


@pytest.mark.parametrize("flags, problem", [(["--ep_overlap", "1.5"], "from 0 to 1"),
                                            (["--framework", "megatron_2025", "--tp_overlap", "1"],
                                                                                     "--framework says what overlaps"),
                                            (["--print-arguments", "jax"], "expected megatron, torchtitan, nemo"),
                                            (["--framework", "megatrn"], "is not a known framework")])
def test_flags_that_cannot_be_are_refused_in_a_line(flags, problem):
    done = run_script([REPOSITORY / "scripts/plan.py", "--bin", PROGRAMS, "--model", "llama3_8b", "--gpus", "8",
                       *flags])
    assert done.returncode == 2 and problem in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_hidden_communication_costs_nothing(tmp_path):
    def best(*flags):
        done = run_script([REPOSITORY / "scripts/plan.py", "--bin", PROGRAMS, "--model", "mixtral_8x7b", "--num_layers",
                           "2", "--gpus", "8",
                           "--global_batch", "8", "--top", "1", "-o", tmp_path, "--print-arguments", "megatron",
                           *flags])
        assert done.returncode == 0, done.stderr
        assert "arguments of megatron:\n--tensor-model-parallel-size" in done.stdout
        return next(line.split() for line in done.stdout.splitlines() if line.split()[:1] == ["1"])
    exposed, hidden = best(), best("--ep_overlap", "1", "--tp_overlap", "1", "--dp_overlap", "1")
    assert float(hidden[14]) <= float(exposed[14])
