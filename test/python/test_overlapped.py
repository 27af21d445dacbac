# SPDX-License-Identifier: GPL-2.0-only
"""Workloads that say what a framework does beside what: without contention their simulations are their estimates."""
import collections
import os
import pathlib
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim import generate, simulate  # noqa: E402
from clustersim.workload.estimate import estimate, overlapped, plans  # noqa: E402
from clustersim.workload.estimate.collective_times import Machine  # noqa: E402
from clustersim.workload.kernels import frameworks, gpus  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism  # noqa: E402
from clustersim.workload.planning import search  # noqa: E402
from clustersim.workload.write import simai_text  # noqa: E402

MACHINE = Machine("H100", nvlink_gbps=360)
PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", REPOSITORY / "bin")) / "SimAI_simulator"
LLAMA, MIXTRAL = dict(tp=2, sequence_parallel=True), dict(ep=8)
CASES = {
    "pieces beside products": ("llama2_7b", "megatron_2024", LLAMA),
    "weight gradients alone": ("llama2_7b", "megatron_2022", dict(tp=4, sequence_parallel=True)),
    "recomputation": ("llama2_7b", "megatron_2024", dict(LLAMA, recompute="full")),
    "recomputed modules": ("llama2_7b", "megatron_2024", dict(LLAMA, recompute="selective", modules=("mlp",))),
    "context": ("llama2_7b", "megatron_2024", dict(LLAMA, cp=2)),
    "pipeline": ("llama2_7b", "megatron_2024", dict(tp=4, pp=2, virtual=2, sequence_parallel=True)),
    "weights gathered ahead": ("llama2_7b", "torchtitan", dict(zero=3)),
    "weights gathered ahead, recomputed": ("llama2_7b", "torchtitan", dict(zero=3, recompute="full")),
    "exposed exchanges": ("mixtral_8x7b", "megatron_2025", MIXTRAL),
    "exchanges of the other micro-batch": ("mixtral_8x7b", "megatron_2026", MIXTRAL),
    "its own order": ("llama2_7b", "nanotron", LLAMA),
}


def job(name, profile, degrees, layers=4):
    framework = frameworks.find(profile)
    plan = Parallelism(world_size=16, global_batch=32, sequence=2048, **degrees)
    model = catalogue.find(name).copy(update={"layers": layers})
    gpu = frameworks.apply(gpus.find("H100"), framework)
    return plans.iteration_of(framework, model, plan, gpu, MACHINE.line_rates()), framework


def moved(iteration):
    """@return by operation and group, bytes of a micro-batch's collectives that hold no gradients"""
    found = collections.Counter()
    for stage in range(iteration.plan.pp):
        for chunk in iteration.chunks(stage):
            for row in chunk:
                for each in (row.forward, row.input):
                    found[each.op, each.group] += each.bytes
    return +found


@pytest.fixture(scope="module")
def topology(tmp_path_factory):
    return generate("Spectrum-X", gpu=16, gpu_type="H100", bandwidth="400Gbps", fit=True,
                    output=tmp_path_factory.mktemp("topology") / "n.txt")


@pytest.mark.parametrize("case", CASES)
def test_without_contention_the_simulated_step_is_the_estimated_one(case, topology, tmp_path):
    iteration, framework = job(*CASES[case])
    written = overlapped.Iteration(iteration, MACHINE, framework)
    simai_text.write(written, tmp_path / "w.txt")
    simulate(tmp_path / "w.txt", topology, output=tmp_path / "run", program=PROGRAM, network="flow",
             fast_forward=True, progress="never")
    simulated, _ = search.read_summary(tmp_path / "run/EndToEnd.csv")
    expected = estimate.estimate(iteration, MACHINE, framework).total_ns
    assert simulated * overlapped.waiting_for_the_slowest(iteration) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("case", CASES)
def test_overlaps_change_when_collectives_run_and_not_what_they_carry(case):
    iteration, framework = job(*CASES[case])
    written = overlapped.Iteration(iteration, MACHINE, framework)
    assert moved(written) == moved(iteration)
    for stage in range(iteration.plan.pp):
        rows = [row for chunk in written.chunks(stage) for row in chunk]
        assert min(min(row.forward_ns, row.input_ns, row.weight_ns) for row in rows) >= 0
        for first, last in written.checkpoints(stage):
            assert first >= 0, last


def test_a_workload_without_a_framework_has_no_such_keys():
    iteration, framework = job("llama2_7b", "megatron_2024", LLAMA)
    keys = ("forward_until", "input_until")
    assert not any(key in simai_text.render(iteration) for key in keys)
    text = simai_text.render(overlapped.Iteration(iteration, MACHINE, framework))
    assert all(key in text for key in keys)
