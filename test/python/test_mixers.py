# SPDX-License-Identifier: GPL-2.0-only
"""A mixer is one class: this file alone adds another, and workloads, memory, estimates, serving and the reader of
config.json know it."""
import ast
import json
import pathlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.workload.command import training_command  # noqa: E402
from clustersim.workload.flags import model_flags  # noqa: E402
from clustersim.workload.estimate import estimate, plans  # noqa: E402
from clustersim.workload.kernels import gpus  # noqa: E402
from clustersim.workload.model import mixer, operators  # noqa: E402
from clustersim.workload.model.mixer import Keys, LayerKind, Mixer  # noqa: E402
from clustersim.workload.model.operator import ELEMENT, STATE, Operator, matmul, norm  # noqa: E402
from clustersim.workload.model.transformer import Model  # noqa: E402
from clustersim.workload.model.whole import PositiveInt  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism  # noqa: E402
from clustersim.workload.reading import hugging_face  # noqa: E402
from clustersim.workload.serve.instance import Instance  # noqa: E402
from clustersim.workload.serve.times import with_reaches  # noqa: E402
from clustersim.workload.training import megatron  # noqa: E402
from clustersim.workload.write import simai_text  # noqa: E402


class RunningAverage(Mixer):
    """Each channel has the decaying average of those before it: a state of one number a channel."""
    name = "average"
    block = "average"
    title = "running averages"
    layer_types = ("running_average",)

    heads: PositiveInt
    width: PositiveInt

    def split_heads(self) -> int:
        return self.heads

    def operators(self, model: Model, plan: Parallelism, kind: LayerKind) -> Iterator[Operator]:
        tokens, width = plan.tokens, self.width // plan.tp
        yield norm("input_norm", model, plan.local_tokens)
        yield matmul("average_in", tokens, width, model.hidden, kept=ELEMENT * plan.input_tokens * model.hidden,
                     after_norm=True, keeps_norm=True)
        yield Operator("average_scan", "fused", ELEMENT * 2 * tokens * width, 2.0 * tokens * width, parameters=width,
                       kept=ELEMENT * tokens * width)
        yield matmul("average_out", tokens, model.hidden, width)

    def parameters(self, model: Model, kind: LayerKind) -> int:
        return 2 * model.hidden * self.width + self.width

    def state_bytes(self, model: Model, kind: LayerKind, tp: int, element: int) -> float:
        return STATE * self.width / tp

    @classmethod
    def read(cls, keys: Keys, family: str, layers: int) -> Mixer:
        return cls(heads=keys.need("average_heads"), width=keys.need("average_dim"))


HIDDEN, WIDTH, FFN, WORDS, TOKENS = 1024, 2048, 4096, 32000, 4096
SIZES: Mapping[str, Any] = dict(name="toy", layers=4, hidden=HIDDEN, heads=8, kv_heads=8, head_dim=128, ffn=FFN,
                                vocabulary=WORDS)
CONFIG = {"model_type": "toy", "hidden_size": HIDDEN, "intermediate_size": FFN, "num_hidden_layers": 4,
          "num_attention_heads": 8, "vocab_size": WORDS,
          "layer_types": ["running_average", "running_average", "running_average", "full_attention"],
          "average_heads": 16, "average_dim": WIDTH}
AVERAGE, ATTENTION = 2 * HIDDEN * WIDTH + WIDTH, 4 * HIDDEN * HIDDEN
H100 = gpus.find("H100", kernels="roofline")


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """The mixer, for this file's tests."""
    known = dict(mixer.known())
    mixer.register(RunningAverage)
    yield
    mixer.forget(RunningAverage)
    assert mixer.known() == known


def toy(**more):
    return Model(**{**SIZES, "mixers": ("average", "average", "average", "attention"),
                    "average": {"heads": 16, "width": WIDTH}, **more})


def test_a_model_counts_its_parameters():
    mlp, norms = 3 * HIDDEN * FFN, 2 * HIDDEN
    assert toy().parameters() == 2 * WORDS * HIDDEN + HIDDEN + 4 * (mlp + norms) + 3 * AVERAGE + ATTENTION


@pytest.mark.parametrize("change, what", [({"average": {"heads": 16, "width": 1.5}}, "width"),
                                          ({"average": {"heads": 16}}, "width"),
                                          ({"average": None}, "without sizes"),
                                          ({"mixers": ("averages",)}, '"averages" is not a mixer')])
def test_a_model_refuses_sizes_that_the_mixer_does_not_have(change, what):
    with pytest.raises(ValueError, match=what):
        toy(**change)


def test_a_config_json_names_its_layers_and_gives_its_sizes(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    found = hugging_face.read(path)
    assert found == toy()
    assert found.sizes_of(RunningAverage).width == WIDTH
    path.write_text(json.dumps({key: value for key, value in CONFIG.items() if key != "average_dim"}))
    with pytest.raises(InputError, match="there is no average_dim"):
        hugging_face.read(path)


def rows_of(model, plan):
    return {row.name: row for chunk in megatron.Iteration(model, plan, H100).chunks(0) for row in chunk}


def test_a_workload_has_its_rows_with_their_collectives(tmp_path):
    plan = Parallelism(world_size=2, tp=2, sequence_parallel=True, sequence=TOKENS)
    rows = rows_of(toy(), plan)
    column, row = rows["average_column_0"], rows["average_row_2"]
    whole = ELEMENT * TOKENS * HIDDEN
    assert (column.forward.op, column.forward.bytes, row.forward.op, row.forward.bytes) == ("ALLGATHER", whole,
        "REDUCESCATTER", whole)
    products = sum(H100.times_ns(matmul("x", TOKENS, n, k))[0] for n, k in ((WIDTH // 2, HIDDEN), (HIDDEN, WIDTH // 2)))
    scan = max(ELEMENT * 2 * TOKENS * WIDTH / 2 / H100.stream_rate,
               2 * TOKENS * WIDTH / 2 / (H100.tflops * 1e3 * H100.attention[0]))
    assert row.forward_ns == pytest.approx(products + scan)
    assert column.forward_ns == pytest.approx(ELEMENT * 4 * TOKENS / 2 * HIDDEN / H100.stream_rate)  # of the norm
    path = tmp_path / "workload.txt"
    simai_text.write(megatron.Iteration(toy(), plan, H100), path)
    assert [line.split("\t")[0] for line in path.read_text().splitlines() if "average_" in line] == [
        f"average_{part}_{layer}" for layer in range(3) for part in ("column", "row")]


def test_context_parallelism_exchanges_tokens_for_its_heads():
    rows = rows_of(toy(), Parallelism(world_size=4, cp=4, sequence=TOKENS))
    first, last = rows["average_context_1"].forward, rows["average_context_again_1"].forward
    assert (first.op, first.group, first.bytes) == (last.op, last.group, last.bytes) == ("ALLTOALL", "CP",
        ELEMENT * TOKENS // 4 * WIDTH)
    with pytest.raises(InputError, match="TP 1 x CP 32 does not divide the 16 heads of running averages"):
        megatron.Iteration(toy(), Parallelism(world_size=32, cp=32, sequence=TOKENS), H100)


def test_memory_holds_its_weights_and_what_backward_needs():
    plan = Parallelism(world_size=1, sequence=TOKENS, global_batch=1)
    with_three, with_four = (megatron.Iteration(model, plan, H100).needed()
                             for model in (toy(), toy(mixers=("average",))))
    assert with_four.weights - with_three.weights == 2 * (AVERAGE - ATTENTION)
    assert with_four.optimizer - with_three.optimizer == 12 * (AVERAGE - ATTENTION)
    # The inputs of both products and of the scan, against attention's: that of the first product, queries, keys,
    # values, and the result.
    kept = (HIDDEN + 2 * WIDTH) - (HIDDEN + 3 * HIDDEN + HIDDEN)
    assert with_four.activations - with_three.activations == ELEMENT * TOKENS * kept
    selective = Parallelism(world_size=1, sequence=TOKENS, global_batch=1, recompute="selective")
    # The norms are computed again: the inputs of a layer's first product and of its MLP. So is the MLP's activation.
    saved = with_four.activations - megatron.Iteration(toy(mixers=("average",)), selective, H100).needed().activations
    assert saved == 4 * ELEMENT * TOKENS * (2 * HIDDEN + FFN)


def test_an_estimate_adds_up_its_passes():
    plan = Parallelism(world_size=1, sequence=TOKENS, global_batch=1)
    machine = estimate.usual_machine(H100, plan)
    three, four = (estimate.estimate(megatron.Iteration(model, plan, H100), machine).shares["kernels"]
                   for model in (toy(), toy(mixers=("average",))))
    scan = 2 * ELEMENT * TOKENS * WIDTH / H100.stream_rate  # memory takes it longer than its few operations
    average = [*H100.times_ns(matmul("x", TOKENS, WIDTH, HIDDEN)), *H100.times_ns(matmul("x", TOKENS, HIDDEN, WIDTH)),
               scan, 2.5 * scan]
    core = 2 * TOKENS ** 2 / 2 * 2 * HIDDEN / (H100.tflops * 1e3)
    attention = [*H100.times_ns(matmul("x", TOKENS, 3 * HIDDEN, HIDDEN)),
                 *H100.times_ns(matmul("x", TOKENS, HIDDEN, HIDDEN)),
                 core / H100.attention[0], 2.5 * core / H100.attention[1]]
    assert four - three == pytest.approx(sum(average) - sum(attention))
    found, too_large = plans.candidates(toy(), H100, machine.line_rates(), 4, 4, TOKENS)
    assert found and all(candidate.bound_ns > 0 for candidate in found) and too_large == 0


def test_users_may_measure_its_operators_and_choose_their_types(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "times.csv").write_text("operator,forward_us,input_gradient_us,weight_gradient_us\n"
                                        "average_scan,7,11,0\n")
    given = training_command.make_parser("").parse_args([
        "--config", str(tmp_path / "config.json"), "--measured", str(tmp_path / "times.csv"), "--operator_dtype",
        "average_out=fp8"])
    model = model_flags.find_model(given)
    gpu = training_command.find_gpu(given, model)
    scan = [o for o in operators.layer(model, Parallelism(1), 0) if o.name == "average_scan"]
    assert [gpu.times_ns(operator) for operator in scan] == [(7000, 11000, 0)]
    plan = training_command.find_plan(given, model)
    assert {o.name: o.precision for o in operators.layer(model, plan, 0) if o.kind == "matmul"
            and o.precision} == {"average_out": "fp8"}


@pytest.mark.parametrize("tp", [1, 4])
def test_serving_keeps_its_states_beside_the_cache_of_attention(tp):
    model = toy()
    instance = Instance(model, tp, tp=tp)
    assert instance.kept.states == [STATE * WIDTH / tp] * 3 + [0]
    assert instance.kept.tokens == [0, 0, 0, ELEMENT * 2 * HIDDEN / tp]
    assert not instance.kept.moves
    [scan, *_] = [row for row in instance.rows() if row.scan]
    assert (scan.name, scan.layers, scan.kind, scan.figures) == ("average_scan", "0-2", "linear", (STATE * WIDTH / tp,))
    [timed, *_] = [row for row in with_reaches(instance.rows(), H100, 8192, 256) if row.scan]
    moved = ELEMENT * 2 * WIDTH / tp
    # A decoding sequence reads and writes its state; a prompt's token moves through the scan.
    assert timed.figures == pytest.approx((0, moved / H100.stream_rate,
                                           (2 * STATE * WIDTH / tp + moved) / H100.stream_rate, 0))
    sequences = 1000
    few, many = (instance.blocks(H100, 0.9, 16, 2048, count) for count in (sequences, 2 * sequences))
    states, logits, block = 3 * STATE * WIDTH / tp, 4 * WORDS, 16 * ELEMENT * 2 * HIDDEN / tp
    assert few - many == pytest.approx(sequences * (states + logits) / block, abs=1)


def test_no_other_file_names_a_mixer_of_the_package():
    """But a rule of TensorRT-LLM's tuning. So a new one touches its own file alone."""
    packages = REPOSITORY / "python/clustersim", REPOSITORY / "lab/clustersim_lab"
    classes = {kind.__name__ for kind in mixer.known().values()}
    names = set(mixer.known()) - {"attention", "linear", "none", "average",
                                  "parallel"}  # words that say other things, too
    found = set()
    for package, path in ((package, path) for package in packages for path in package.rglob("*.py")):
        relative = path.relative_to(package).as_posix()
        if relative.startswith("workload/mixers/"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Name) and node.id in classes or isinstance(node,
                ast.Attribute) and node.attr in names:
                found.add(relative)
            if isinstance(node, ast.Compare) and any(isinstance(one, ast.Constant) and one.value in names
                                                     for one in [node.left, *node.comparators]):
                found.add(relative)
    assert found == {"outcomes/serving.py"}
