# SPDX-License-Identifier: GPL-2.0-only
"""Files of published models: their parameters, the bytes that requests keep, and work for training and serving."""
import json
import pathlib
import sys

import pytest
from published_models import MODELS

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.workload.kernels import gpus  # noqa: E402
from clustersim.workload.model import operators  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism  # noqa: E402
from clustersim.workload.reading import hugging_face  # noqa: E402
from clustersim.workload.serve.instance import Instance  # noqa: E402
from clustersim.workload.serve.times import Timed, with_reaches  # noqa: E402
from clustersim.workload.training import megatron, memory  # noqa: E402

ALONE = Parallelism(world_size=1, sequence=1)


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """@return a function that reads a published model's file once"""
    directory, known = tmp_path_factory.mktemp("files"), {}

    def model(name):
        if name not in known:
            path = directory / "config.json"
            path.write_text(json.dumps(MODELS[name].keys))
            known[name] = hugging_face.read(path)
        return known[name]
    return model


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_its_published_parameters(name, read):
    model, published = read(name), MODELS[name]
    assert model.parameters() / 1e9 + published.outside == pytest.approx(published.total, rel=0.01)
    if published.active:
        assert model.active_parameters() / 1e9 == pytest.approx(published.active, rel=0.05)


@pytest.mark.parametrize("name", MODELS)
def test_a_request_keeps_the_bytes_of_its_tokens_and_its_states(name, read):
    kept = Instance(read(name), 1).kept
    assert sum(kept.tokens) == MODELS[name].cache
    assert sum(kept.states) == MODELS[name].state


@pytest.mark.parametrize("name", MODELS)
def test_training_holds_every_parameter_once(name, read):
    model = read(name)
    layers, ends = memory.stage_operators(model, ALONE, 0)
    assert sum(o.parameters for layer in [*layers, ends] for o in layer) == pytest.approx(model.parameters(),
        rel=1e-4)  # biases, norms
    tp = 1 if model.heads % 2 or model.kv_heads % 2 and model.kv_heads > 1 else 2
    plan = Parallelism(world_size=8, tp=tp, pp=2, cp=2, sequence_parallel=tp > 1, sequence=4096, global_batch=8)
    iteration = megatron.Iteration(model, plan, gpus.find("H100"))
    assert all(row.compute_ns >= 0 for stage in (0, 1) for row in iteration.stage_rows(stage))


@pytest.mark.parametrize("name", MODELS)
def test_serving_multiplies_by_the_weights_of_training(name, read):
    model, instance = read(name), Instance(read(name), 1)
    expected = sum(n * k * count for index in range(model.layers) for operator in operators.layer(model, ALONE, index)
                   if operator.kind == "matmul" for _, n, k, count in [operator.shape])
    found = sum(row.figures[0] * row.figures[1] * row.figures[2] * layers_of(row, model) for row in instance.rows()
                if row.kind in ("matmul", "experts") and row.layers not in ("first", "last"))
    assert found == expected
    gpu = gpus.find("H200")
    for rows in (with_reaches(instance.rows(), gpu, 8192, 256), Timed(instance, gpu, 8192, 256).rows()):
        assert all(row.figures[2] > 0 for row in rows if row.scan)
        assert all(row.times for row in rows if row.reach)


def layers_of(row, model):
    if row.layers == "all":
        return model.layers
    first, last = map(int, row.layers.split("-"))
    return last - first + 1
