# SPDX-License-Identifier: GPL-2.0-only
"""Published layouts in our order: the measures of it, what Nanotron does, and how well the order agrees."""
import os
import pathlib
import sys

import pytest
from others_files import OTHERS_FILES
from script_process import run_script

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.workload.estimate import plans  # noqa: E402
from clustersim.workload.estimate.collective_times import Machine as CollectiveMachine  # noqa: E402
from clustersim.workload.kernels import frameworks, gpus  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism  # noqa: E402
from clustersim.workload.planning import against  # noqa: E402
from clustersim.workload.planning.search import Estimated  # noqa: E402
from clustersim.workload.training import nanotron  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", REPOSITORY / "bin"))
PUBLISHED = OTHERS_FILES / "outcomes/layouts_8_to_512_h100.csv"
HEADER = "model,gpus,dp,tp,pp,zero,micro_batch,grad_accum,seq_len,tokens_per_s_gpu\n"
NANOTRON = frameworks.find("nanotron")
H100 = frameworks.apply(gpus.find("H100"), NANOTRON)
SERVERS = plans.Machine(8, 450, 50)


def written(path, *rows):
    path.write_text(HEADER + "".join(row + "\n" for row in rows))
    return path


def compared(layout, seconds, fits=True):
    return against.Compared(layout, seconds, 1e9, fits)


def test_tau_counts_pairs_in_the_same_order():
    assert against.kendall_tau([1, 2, 3, 4], [10, 20, 30, 40]) == 1
    assert against.kendall_tau([1, 2, 3, 4], [4, 3, 2, 1]) == -1
    # Of six pairs only (3, 4) is reversed: (5 - 1) / 6.
    assert against.kendall_tau([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx(4 / 6)
    # A tie of one list leaves five pairs of it: 5 / sqrt(5 * 6).
    assert against.kendall_tau([1, 1, 3, 4], [1, 2, 3, 4]) == pytest.approx(5 / (5 * 6) ** 0.5)
    assert against.kendall_tau([1, 1], [1, 2]) == 0


def test_a_row_is_a_plan_and_its_seconds(tmp_path):
    ran, failed = against.read(written(tmp_path / "l.csv", "1B,16,4,2,2,1,2,8,4096,1000", "1B,16,16,1,1,0,1,4,4096,"))
    assert ran.plan.micro_batches == 8 and ran.plan.sequences == 4 * 2 * 8 and ran.plan.sequence_parallel
    assert ran.seconds == pytest.approx(64 * 4096 / (16 * 1000))
    assert failed.seconds is None and failed.plan.zero == 0 and ran.group == failed.group == ("1B", 16)


@pytest.mark.parametrize("row, problem", [("1B,16,4,2,1,1,2,8,4096,1000", "dp x tp x pp is not 16"),
                                          ("1B,x,4,2,2,1,2,8,4096,1", "not valid"),
                                          ("1B,16,4,2,2,1,0,8,4096,1000", "not positive"),
                                          ("1B,16,4,2,2,1,2,8,4096,-5", "not positive")])
def test_a_mistake_in_a_file_is_one_line_with_its_place(tmp_path, row, problem):
    with pytest.raises(InputError, match=f"l.csv:2: .*{problem}.*; expected"):
        against.read(written(tmp_path / "l.csv", row))
    (tmp_path / "l.csv").write_text("model,gpus\n")
    done = run_script([REPOSITORY / "scripts/plan.py", "--against", tmp_path / "l.csv"])
    assert (
        done.returncode == 2
        and "l.csv:1: there is no column tokens_per_s_gpu" in done.stderr
        and done.stderr.count("\n") == 1
    )


def test_regret_is_that_of_our_best_that_fits(tmp_path):
    rows = [f"1B,8,{8 // tp},{tp},1,1,1,{32 * tp},4096,{speed}" for tp, speed in ((1, 400), (2, 200), (4, 100))]
    fast, middle, slow = against.read(written(tmp_path / "l.csv", *rows))
    [row] = against.summary([compared(fast, 3), compared(middle, 2), compared(slow, 1)])
    assert row["tau"] == -1 and row["regret"] == slow.seconds / fast.seconds - 1
    [row] = against.summary([compared(fast, 3), compared(middle, 2), compared(slow, 1, fits=False)])
    assert row["regret"] == middle.seconds / fast.seconds - 1 and row["memory_precision"] == 0


def test_precision_and_recall_are_those_of_layouts_that_need_too_much_memory(tmp_path):
    ran, short, shorter = against.read(written(tmp_path / "l.csv", "1B,8,8,1,1,1,1,32,4096,9",
                                               "1B,8,4,2,1,1,64,1,4096,",
                                               "1B,8,2,4,1,1,128,1,4096,"))
    [row] = against.summary([compared(ran, 1), compared(short, None, fits=False), compared(shorter, None)])
    assert row["memory_precision"] == 1 and row["memory_recall"] == 0.5 and row["tau"] is None


def test_a_stalled_layout_is_one_whose_micro_batches_go_faster_elsewhere(tmp_path):
    # 4 + 1 and 8 + 1 micro-batches' time; on 32 GPUs each takes ten times as long.
    layouts = against.read(written(tmp_path / "l.csv", "1B,16,8,1,2,1,1,8,4096,900", "1B,32,16,1,2,1,1,4,4096,50",
                                   "1B,32,16,2,1,1,1,4,4096,50"))
    assert against.stalled(layouts) == {layouts[1]}


def layer(**plan):
    model = catalogue.find("nanotron_1b")
    shape = Parallelism(**{"world_size": 64, "micro_batch": 1, "global_batch": 256, "zero": 1,
                           "sequence_parallel": plan.get("tp", 1) > 1, **plan})
    iteration = nanotron.Iteration(model, shape, H100, SERVERS)
    return iteration, iteration._layer(model.layer_kind(0), False)


def test_the_cpu_bounds_a_layer_of_a_small_micro_batch():
    host = nanotron.Host()
    for plan, expected in (({"tp": 8}, host.layer), ({"tp": 8, "pp": 2}, host.layer + 8 * host.slice_),
                           ({"tp": 4, "pp": 2, "world_size": 8}, host.layer)):
        iteration, rows = layer(**plan)
        waits = sum(iteration._exchange_ns(each) for row in rows for each in (row.forward, row.input))
        assert sum(row.compute_ns for row in rows) + waits == pytest.approx(expected), plan
    _, alone = layer(tp=8)
    _, many = layer(tp=8, micro_batch=16)
    assert sum(row.compute_ns for row in many) > 2 * sum(row.compute_ns for row in alone)


def test_without_zero_gradients_are_reduced_beside_backward_and_with_it_after():
    beside, rows = layer(zero=0)
    assert any(row.weight.op == "ALLREDUCE" for row in rows) and [row.name for row in beside.once(0)] == ["optimizer"]
    after, rows = layer(zero=1)
    assert not any(row.weight.bytes for row in rows)
    once = {row.name: row for row in after.once(0)}
    parameters = catalogue.find("nanotron_1b").parameters()
    assert once["gradients"].input.bytes == 4 * parameters
    assert sum(row.input.bytes for name, row in once.items() if name.startswith("parameters")) == 2 * parameters


@pytest.mark.others_files
def test_layouts_come_in_the_order_of_their_published_speeds(monkeypatch):
    """Models and numbers of GPUs that no constant of the model comes from."""
    monkeypatch.setenv("PROGRAM_DIR", str(PROGRAMS))
    monkeypatch.setenv("AS_NETWORK_KIND", "EFA-p4d")
    layouts = [each for each in against.read(PUBLISHED) if each.group in {("3B", 8), ("8B", 128)}]
    timer = Estimated(CollectiveMachine("H100"), NANOTRON)
    found = against.compare(layouts, lambda each: plans.iteration_of(NANOTRON, against.model_of(NANOTRON, each.model),
        each.plan, H100, SERVERS),
                            lambda count: timer, H100, 5)
    small, large = against.summary(found)
    assert small["tau"] > 0.8 and small["regret"] < 0.05 and small["ratio"] == pytest.approx(0.95, abs=0.12)
    assert large["tau"] > 0.68 and large["regret"] < 0.15 and large["ratio"] == pytest.approx(1, abs=0.12)
    assert small["memory_recall"] > 0.9 and large["memory_recall"] > 0.8 and small["memory_precision"] > 0.9


def test_a_layout_that_is_refused_does_not_run():
    plan = Parallelism(world_size=64, pp=64, global_batch=256, zero=1)
    [found] = against.compare([against.Layout(2, "1B", plan, None)],
                              lambda each: plans.iteration_of(NANOTRON, against.model_of(NANOTRON, "1B"), each.plan,
                                  H100, SERVERS), None, H100, 5)
    assert not found.fits and found.seconds is None
