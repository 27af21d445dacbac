# SPDX-License-Identifier: GPL-2.0-only
"""scripts/serve_plan.py: closed forms of queues, deployments by rate, and estimates beside simulations."""
import csv
import math
import os
import pathlib
import random
import sys

import pytest
from script_process import run_script

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim import simulate  # noqa: E402
from clustersim.serving_plan import arguments, command, deployments, layouts, simulated  # noqa: E402
from clustersim.serving_plan.estimate import Estimate, Load  # noqa: E402
from clustersim.serving_plan.queueing import fixed_point, gated_response, md1_wait, residual  # noqa: E402
from clustersim.workload.command import inference_command  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402
from clustersim.workload.serve import engine  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", REPOSITORY / "bin"))
LOAD = Load(1000, 100, 20, 2000, 50)


def plan(*words, status=0):
    done = run_script([REPOSITORY / "scripts/serve_plan.py", "--bin", PROGRAMS, *map(str, words)])
    assert done.returncode == status, done.stderr
    return done


def common(model):
    return ("--inference", "--model_name", model, "--gpu_type", "H100", "--dtype", "bfloat16", "--engine", "vLLM",
            *command.WITHOUT_FRONT_END)


def find(role, model="llama3_8b", load=LOAD, sent=(("moe_dispatcher", "deepep"), ("moe_dispatch_dtype", "fp8"))):
    found, _ = layouts.find(catalogue.find(model), common(model), load, 50, engine.find("vLLM"), sent)
    return found if role == "colocated" else layouts.in_role(found, role)


# -- closed forms


def test_an_md1_queue_waits_half_as_long_as_an_mm1_queue():
    assert md1_wait(0.5, 1) == pytest.approx(0.5 * 0.5 / (1 - 0.5))
    assert md1_wait(0, 1) == 0
    assert math.isinf(md1_wait(1, 1))


def test_an_arrival_finds_the_longer_steps_more_often():
    assert residual(0, 5, 2) == pytest.approx(1)  # half of the only kind
    # Half of the steps take 3, so three quarters of the time: 3/4 x 3/2 + 1/4 x 1/2.
    assert residual(0.5, 3, 1) == pytest.approx(1.25)


def test_littles_law_and_a_linear_step_have_a_batch_in_closed_form():
    # batch = rate x (a + b batch)
    assert fixed_point(lambda batch: 10 * (0.02 + 0.05 * batch), 1e-3, 100) == pytest.approx(0.2 / (1 - 0.5), rel=1e-4)
    assert math.isinf(fixed_point(lambda batch: 10 * (0.02 + 0.1 * batch), 1e-3, 100))


def test_a_server_of_gated_batches_responds_as_the_formula_says():
    assert gated_response(1e-9, 2, 3) == pytest.approx(5)  # an idle server
    assert math.isinf(gated_response(1, 2, 1))
    fixed, each, rate = 1.0, 0.5, 1.0
    draw, arrivals, now = random.Random(3), [], 0.0
    for _ in range(200_000):
        arrivals.append(now := now + draw.expovariate(rate))
    free, spent, first = 0.0, 0.0, 0
    while first < len(arrivals):
        begin = max(free, arrivals[first])
        last = first + 1
        while last < len(arrivals) and arrivals[last] <= begin:
            last += 1
        free = begin + fixed + each * (last - first)
        spent += sum(free - arrivals[i] for i in range(first, last))
        first = last
    assert gated_response(rate, fixed, each) == pytest.approx(spent / len(arrivals), rel=0.1)


# -- estimates


@pytest.mark.parametrize("model, name, dp", [("llama3_8b", "TP 1", 1), ("llama3_8b", "TP 4", 1),
                                             ("mixtral_8x7b", "TP 8", 1), ("mixtral_8x7b", "TP 8 EP 8", 1),
                                             ("mixtral_8x7b", "TP 2 DP 4 EP 8", 4),
                                             ("mixtral_8x7b", "TP 1 DP 8 EP 8", 8)])
def test_an_instance_with_a_request_for_each_replica_has_the_times_of_the_simulation(tmp_path, model, name, dp):
    [layout] = [each for each in find("colocated", model) if each.name == name]
    estimate = Estimate(layout, LOAD)
    written = inference_command.write(inference_command.parse([
        *layout.common, *layout.words(), "--world_size", str(layout.gpus), "--requests", str(dp), "--rate", "1",
        "--burst", str(dp),
        "--prompt_tokens", "1000", "--output_tokens", "100", "-o", str(tmp_path), "--name", "one"]))
    run = simulate(written.path, simulated.generate("H100", layout.gpus, 50, tmp_path, "fabric"),
                   output=tmp_path / "run", program=PROGRAMS / "SimAI_simulator", network="flow")
    for row in run.served.to_dict("records"):
        assert estimate.prompts(dp).time / 1e3 == pytest.approx(row["ttft_us"], rel=0.1)
        assert estimate.decoding(1).time / 1e3 == pytest.approx(row["tpot_us"], rel=0.1)


@pytest.mark.parametrize("role", ["colocated", "prefill", "decode"])
def test_a_higher_rate_needs_no_fewer_gpus(role):
    for layout in find(role):
        sizes = [deployments.sized(layout, Load(1000, 100, rate, 500, 20)) for rate in (1, 10, 40, 160, 640)]
        found = [pool.instances for pool in sizes if pool]
        assert len(found) == len(sizes) and found == sorted(found) and found[-1] > found[0]


def test_the_smallest_pool_keeps_limits_that_one_instance_less_breaks():
    for layout in find("colocated"):
        pool, estimate = deployments.sized(layout, Load(1000, 100, 200, 500, 20)), Estimate(layout, LOAD)
        load = Load(1000, 100, 200, 500, 20)
        assert not estimate.state(200 / pool.instances).broken(load)
        assert pool.instances == 1 or Estimate(layout, load).state(200 / (pool.instances - 1)).broken(load)


def test_longer_outputs_fill_the_cache_first_and_shorter_limits_break_tpot_first():
    long = deployments.together(find("colocated", load=Load(1000, 20_000, 1, 1e6, 1e6))[:1],
                                Load(1000, 20_000, 1, 1e6, 1e6))
    assert long[0].breaks[0] == "KV memory"
    [tight] = deployments.together(find("colocated")[:1], Load(1000, 100, 20, 1e6, 12))
    assert tight.breaks[0] == "TPOT" and tight.breaks[1] >= 1


def test_commands_of_engines_have_the_sizes_of_an_instance():
    layout = next(each for each in find("decode", "mixtral_8x7b") if each.name == "TP 2 DP 4 EP 8")
    pool = deployments.Pool(layout, 3)
    assert "--tensor-parallel-size 2 --data-parallel-size 4 --enable-expert-parallel" in arguments.vllm(pool, LOAD)
    assert "--tp-size 8 --dp-size 4 --enable-dp-attention --ep-size 8" in arguments.sglang(pool, LOAD)
    assert arguments.sglang(pool, LOAD).endswith("--disaggregation-mode decode")
    assert "--max-model-len 1100" in arguments.dynamo(pool, LOAD)
    layout = next(each for each in find("colocated", "mixtral_8x7b") if each.name == "TP 4 EP 4")
    pool = deployments.Pool(layout, 1)
    assert "--tensor-parallel-size 4 --enable-expert-parallel --max-model-len" in arguments.vllm(pool, LOAD)
    assert "--tp-size 4 --ep-size 4 --context-length" in arguments.sglang(pool, LOAD)


def test_a_window_begins_with_the_batch_and_ends_all_outputs():
    [deployment] = deployments.together(find("colocated")[:1], LOAD)
    few, rate = simulated.counts(deployment)
    requests = list(simulated.requests(deployment, few, rate))
    kinds = [request.kind for request in requests]
    assert kinds == sorted(kinds, key=["seed", "old", "new"].index)
    assert kinds.count("old") == round(deployment.state.batch * few[0]) and kinds.count("seed") == few[0]
    assert all(request.output <= 100 and request.prefix == request.prompt - 1 for request in requests
               if request.kind == "old")
    assert [request.arrival for request in requests] == sorted(request.arrival for request in requests)


# -- the command


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """@return standard output and rows of a small plan"""
    directory = tmp_path_factory.mktemp("plan")
    done = plan("--model", "llama3_8b", "--isl", 1000, "--osl", 200, "--rate", 50, "--gpus", "h100,B200", "--simulate",
                2, "--top", 3, "--prices", f"H100={REPOSITORY}/topologies/prices.yaml",
                f"b200={REPOSITORY}/topologies/prices.yaml", "-o", directory)
    return done.stdout, list(csv.DictReader(open(directory / "deployments.csv")))


def test_the_cheapest_deployments_come_first_with_their_simulations(found):
    text, rows = found
    prices = [float(row["price per 10^6"]) for row in rows]
    assert prices == sorted(prices) and len(rows) >= 3
    assert {row["GPU"] for row in rows} == {"H100", "B200"}  # the best of each GPU is there
    for row in rows[:2]:
        assert float(row["simulated TPOT"]) == pytest.approx(float(row["TPOT ms"]), rel=0.2)
        assert float(row["TTFT ms"]) / 2 < float(row["simulated TTFT"]) < 2 * float(row["TTFT ms"])
    assert not rows[2]["simulated TPOT"]
    assert all(float(row["at rate"]) >= 50 for row in rows)
    assert "vllm serve MODEL" in text and "sglang.launch_server" in text and "dynamo.vllm" in text
    assert "breaks first, at" in text


def test_a_price_is_that_of_parts_written_off_and_of_energy(found):
    _, rows = found
    for row in rows:
        hours = 1e6 / (50 * 200 * 3600)  # for a million tokens
        assert float(row["kWh per 10^6"]) == pytest.approx(float(row["watts"]) / 1000 * hours)
        parts = float(row["price per 10^6"]) - 0.1 * float(row["kWh per 10^6"])
        # More than GPUs alone, less than twice as much.
        gpus = int(row["GPUs"]) * 30_000 / (4 * 365 * 24) * hours
        assert gpus < parts < 2 * gpus


@pytest.mark.parametrize("words, says", [
    ((), "--isl is missing"),
    (("--isl", 0), "--isl is 0; expected a number from 1"),
    (("--isl", 100, "--rate", 0), "--rate is 0; expected a number above 0"),
    (("--isl", 100, "--gpus", "h100,H1000"), '"H1000" is not a known GPU type'),
    (("--isl", 100, "--engine", "vLMM"), '--engine "vLMM" is not a known engine'),
    (("--isl", 100, "--nic", "fast"), '--nic "fast" is not a valid rate'),
    (("--isl", 100, "--prices", "B200=x.yaml"), "B200 is not one of --gpus; expected H100"),
    (("--isl", 100, "--tpot", 0.01), "no layout keeps the limits"),
    (("--isl", 100, "--model", "gpt_oss_20b", "--split", "separate"), "are not modelled; expected --split colocated"),
    (("--isl", 100, "--model", "llama9"), '"llama9"')])
def test_a_wrong_flag_is_one_line_with_status_2(tmp_path, words, says):
    more = ("--model", "llama3_8b") if "--model" not in words else ()
    rate = ("--rate", 5) if "--rate" not in words else ()
    done = plan(*more, "--osl", 10, *rate, "--simulate", 0, *words, "-o", tmp_path, status=2)
    assert says in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_sizes_of_the_model_reach_the_deployments(tmp_path):
    plan("--model", "llama3_8b", "--num_layers", 8, "--isl", 1000, "--osl", 100, "--rate", 20, "--gpus", "h100",
         "--simulate", 0, "-o", tmp_path)
    with (tmp_path / "deployments.csv").open(newline="", encoding="utf-8") as file:
        assert float(next(csv.DictReader(file))["TPOT ms"]) < 4  # all 32 layers take 7
