# SPDX-License-Identifier: GPL-2.0-only
"""Schedules of pipelines: one description for estimates, files and simulators, which give a job the same time."""
import csv
import itertools
import os
import pathlib
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.workload.estimate import estimate  # noqa: E402
from clustersim.workload.estimate.collective_times import Machine  # noqa: E402
from clustersim.workload.kernels import gpus  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402
from clustersim.workload.plan import parallel, schedules  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism  # noqa: E402
from clustersim.workload.training import megatron, schedule  # noqa: E402
from clustersim.workload.write import chakra, simai_text  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", REPOSITORY / "bin"))
H100 = gpus.find("H100")
ADDED = REPOSITORY / "test/workload/added-schedules.yaml"


def plan_of(name, stages, chunks, batches, **more):
    return Parallelism(world_size=stages, pp=stages, virtual=chunks, global_batch=batches, sequence=1024, schedule=name,
                       **more)


def is_possible(plan):
    try:
        schedules.check(plan)
    except InputError:
        return False
    return plan.virtual == 1 or plan.pp > 1


def matrix(stages, chunks, batches):
    shapes = itertools.product(schedules.names(), stages, chunks, batches)
    return [shape for shape in shapes if is_possible(plan_of(*shape))]


def job_of(name, stages, chunks, batches, model="llama3_8b", **more):
    layers = stages * chunks + 1  # stages differ: they have the embedding or the loss, or a layer less
    while True:
        try:
            shaped = catalogue.find(model).copy(update={"layers": layers})
            plan = plan_of(name, stages, chunks, batches, **more)
            parallel.check(shaped, plan)
            return megatron.Iteration(shaped, plan, H100)
        except InputError:
            layers += 1


def carried_out(job, message_ns=0.0):
    """@return when the last rank ends, ns: each carries out its steps in order, and a message takes `message_ns`.
    Nothing else takes the network."""
    programs = [schedule.Program(job, stage).steps for stage in range(job.plan.pp)]
    times, nexts, sent = [0.0] * len(programs), [0] * len(programs), {}
    progress = True
    while progress:
        progress = False
        for stage, steps in enumerate(programs):
            while nexts[stage] < len(steps):
                step = steps[nexts[stage]]
                if step.kind.startswith("send"):
                    sent[stage, step.peer, step.message] = times[stage] + message_ns
                elif step.kind.startswith("receive"):
                    came = sent.get((step.peer, stage, step.message))
                    if came is None:
                        break
                    times[stage] = max(times[stage], came)
                times[stage] += step.ns
                nexts[stage] += 1
                progress = True
    assert all(nexts[stage] == len(steps) for stage, steps in enumerate(programs)), "a stage waits for ever"
    return max(times)


def total_ns(directory):
    rows = list(csv.reader(open(directory / "EndToEnd.csv"), skipinitialspace=True))
    return 1000 * float(dict(zip(rows[0], rows[1]))["Total time"].split()[0])


def numbers_of(job):
    """@return the numbers of nanoseconds that all stages together go through in a step: no path through them has
    more"""
    rows = sum(len(chunk) for stage in range(job.plan.pp) for chunk in job.chunks(stage))
    return 3 * rows * job.chunk_batches + 10 * job.plan.pp


@pytest.mark.parametrize("name", schedules.names())
def test_the_estimate_of_a_job_is_the_time_of_its_analytical_simulation(name, tmp_path):
    """The file has whole nanoseconds: half of one is lost for each number on the way, at most."""
    for shape in matrix((2, 3, 4), (1, 2, 3), (1, 2, 3, 4, 8)):
        if shape[0] != name:
            continue
        job = job_of(*shape)
        simai_text.write(job, tmp_path / "w.txt")
        subprocess.run([PROGRAMS / "SimAI_analytical", "-w", tmp_path / "w.txt", "-g", str(job.plan.pp), "-g_type",
                        "H100",
                        "-g_p_s", str(job.plan.pp), "-r_f", tmp_path, "-q"], check=True, capture_output=True)
        estimated = estimate.estimate(job, Machine("H100", gpus_per_server=job.plan.pp)).total_ns
        assert carried_out(job) == pytest.approx(estimated, rel=1e-9), shape
        assert estimated == pytest.approx(total_ns(tmp_path), abs=0.5 * numbers_of(job)), shape


@pytest.fixture(scope="module")
def star(tmp_path_factory):
    """@return a function that writes one server with so many GPUs on one switch"""
    def write(gpus_):
        path = tmp_path_factory.mktemp("star") / "topology"
        links = "".join(f"{gpu} {gpus_} 2880Gbps 25ns 0\n" for gpu in range(gpus_))
        path.write_text(f"{gpus_ + 1} {gpus_} 1 0 {gpus_} H100\n{gpus_}\n{links}")
        return path
    return write


def simulated(job, topology, directory, form):
    """@return ns of a step, with the workload as text or as traces"""
    if form == "text":
        simai_text.write(job, directory / "w.txt")
        flags = ["-w", directory / "w.txt"]
    else:
        chakra.write(job, directory / "w")
        flags = ["--workload-configuration", directory / "w"]
    subprocess.run([PROGRAMS / "SimAI_simulator", *flags, "-n", topology, "--network", "flow", "-q", "-o",
                    directory / form],
                   check=True, capture_output=True)
    return total_ns(directory / form)


@pytest.mark.parametrize("form", ["text", "traces"])
@pytest.mark.parametrize("name", schedules.names())
def test_a_simulation_takes_as_much_longer_than_the_estimate_as_its_messages_take(name, form, star, tmp_path):
    """A step is the longest way through passes and messages, so it lies between the steps with messages of no time and
    of the longest time. That is twice the time of one alone: a link carries an activation and a gradient at once, at
    most. One alone is half of what a pipeline of two stages and a micro-batch, which waits for two, takes longer than
    its computation. A number of a trace is rounded to microseconds."""
    alone = job_of("gpipe", 2, 1, 1)
    message = (simulated(alone, star(2), tmp_path, form) - carried_out(alone)) / 2
    assert message > alone.pipeline_bytes / 360  # at the link's rate
    for shape in matrix((2, 4), (1, 2), (4, 8)):
        if shape[0] != name:
            continue
        job = job_of(*shape)
        assert job.pipeline_bytes == alone.pipeline_bytes
        rounded = 0.5 * numbers_of(job) if form == "text" else 1000 * (2 * job.plan.pp)
        time = simulated(job, star(job.plan.pp), tmp_path, form)
        assert carried_out(job) - rounded <= time <= carried_out(job, 2 * message) + rounded, shape


# Of the passes' times F, B and W (Huang et al.; Narayanan et al.; Qi et al., section 2.3; DeepSeek-V3, table 2).
BUBBLES = {
    "gpipe": lambda stages, chunks, f, b, w: (stages - 1) * (f + b),
    "1f1b": lambda stages, chunks, f, b, w: (stages - 1) * (f + b),
    "zb1p": lambda stages, chunks, f, b, w: (stages - 1) * (f + b - 2 * w),
    "dualpipe": lambda stages, chunks, f, b, w: (stages / 2 - 1) * ((f + b) + b - 3 * w),
}


class Even:
    """A stage, as the estimate has it, whose chunks take the same times as all others."""

    def __init__(self, parts, forward, backward, weight):
        self.parts, self.times = parts, {"F": forward, "B": backward, "I": backward - weight, "W": weight}

    def durations(self):
        return {kind: [time] * self.parts for kind, time in self.times.items()}


@pytest.mark.parametrize("times", [(10, 20, 10), (10, 22, 8), (12, 27, 11)])
@pytest.mark.parametrize("name", BUBBLES)
def test_equal_stages_have_the_bubble_that_the_schedule_s_authors_derive(name, times):
    found = 0
    for shaped, stages, chunks, batches in matrix((2, 4, 8, 16), (1, 2, 4), (8, 16, 32, 64)):
        if shaped != name or batches < stages:
            continue
        plan = plan_of(name, stages, chunks, batches)
        even = [Even(chunks * schedules.directions(plan), *times) for _ in range(stages)]
        waits, ended, _ = estimate._run_pipeline(even, plan, 0.0, 0.0)
        computed = batches * chunks * (times[0] + times[1])
        longest = max(ended)
        assert all(share["bubble"] == pytest.approx(end - computed) for share, end in zip(waits, ended))
        if name == "gpipe" and chunks > 1:  # between groups of micro-batches, the first chunks wait for the last ones
            assert longest - computed >= BUBBLES[name](stages, chunks, *times) - 1e-9
        else:
            assert longest - computed == pytest.approx(BUBBLES[name](stages, chunks, *times)), (stages, chunks, batches)
        found += 1
    assert found >= 9


def spell(groups):
    """@return passes as the comments of added-schedules.yaml have them"""
    def one(each, overlaps):
        last = "!" if each.is_last else ""
        return f"{'+' if overlaps else ''}{each.kind}{each.micro_batch}.{each.chunk}@{each.position}{last}"
    return " ".join(one(each, number > 0) for group in groups for number, each in enumerate(group))


def test_an_added_schedule_has_the_order_that_the_simulators_read(monkeypatch):
    """test/workload/pipeline-schedule-test.cc reads the same file, and finds the same orders."""
    monkeypatch.setattr(schedules, "PATH", ADDED)
    name, orders = "", 0
    for line in ADDED.read_text().splitlines():
        name = line.split(":")[0] if line[:1].isalpha() else name
        if line.startswith("  # "):
            sizes, expected = line[4:].split(": ")
            stages, batches, chunks, stage = map(int, sizes.split())
            assert spell(schedules.passes(plan_of(name, stages, chunks, batches), stage)) == expected, name
            orders += 1
    assert orders == 4 and schedules.names() == ["pairs", "late", "meeting"]
    with pytest.raises(InputError, match="pairs with PP 2, VPP 1 and 3 micro-batches; expected an even number of "
                       "micro-batches"):
        schedules.check(plan_of("pairs", 2, 1, 3))


def test_programs_know_the_schedules_of_the_description_and_no_others(tmp_path):
    (tmp_path / "w.txt").write_text("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 pp: 2 all_gpus: 2 "
                                    "schedule: chimera\n1\na\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tNONE\t0\t0\n")
    done = subprocess.run([PROGRAMS / "SimAI_analytical", "-w", tmp_path / "w.txt", "-g", "2", "-r_f", tmp_path],
                          capture_output=True, text=True)
    words = done.stderr.split("expected ")[1].strip().replace(" or ", ", ").split(", ")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and sorted(words) == sorted(schedules.names())


@pytest.mark.parametrize("text, message", [
    ("a:\n  order:\n    - batch: F B\n", "'batch' is not defined"),
    ("a:\n  order:\n    - batches: F\n", "too many or too few passes"),
    ("a:\n  order:\n    - batches + 1: F B\n", "too many or too few passes"),
    ("a:\n  order:\n    - batches: F W I\n", "too many or too few passes"),
    ("a:\n  order:\n    - batches: F I\n", "too many or too few passes"),
])
def test_a_description_that_leaves_passes_out_is_refused(text, message, tmp_path, monkeypatch):
    (tmp_path / "s.yaml").write_text(text)
    monkeypatch.setattr(schedules, "PATH", tmp_path / "s.yaml")
    schedules._passes.cache_clear()
    with pytest.raises(InputError, match=message):
        schedules.passes(plan_of("a", 2, 1, 4), 0)


@pytest.mark.parametrize("name", schedules.names())
def test_a_stage_holds_as_many_micro_batches_as_its_passes_say(name):
    for shape in matrix((2, 4, 8), (1, 2), (4, 8, 16)):
        plan = plan_of(*shape)
        for stage in range(plan.pp) if shape[0] == name else ():
            held, most = 0, 0
            for each in itertools.chain(*schedules.passes(plan, stage)):
                held += {"F": 1, "I": 0}.get(each.kind, -1)
                most = max(most, held)
            assert held == 0 and schedules.in_flight(plan, stage) == most / len(job_of(*shape).blocks(stage))


def test_all_of_a_model_is_computed_once_in_a_step_whatever_the_schedule():
    """Work, and for a schedule with two directions the optimizer's states, which ZeRO spreads over both holders."""
    jobs = {name: job_of(name, 4, 1, 8, model="gpt_22b", zero=1) for name in schedules.names()}
    flops = {job.flops() for job in jobs.values()}
    assert len(flops) == 1
    for name, job in jobs.items():
        computed = sum(job.compute_ns(stage) for stage in range(4))
        assert computed == pytest.approx(sum(jobs["1f1b"].compute_ns(stage) for stage in range(4)), rel=1e-9), name
        steps = [sum(each.once(stage)[-1].weight_ns for stage in range(4)) for each in (job, jobs["1f1b"])]
        assert steps[0] == pytest.approx(steps[1], rel=1e-9)
        # The ends exchange the gradients of the embedding's words unless a stage is both.
        kinds = [[step.kind for step in schedule.Program(job, stage).steps].count("send_tied") for stage in range(4)]
        assert kinds == ([0] * 4 if schedules.directions(job.plan) == 2 else [1, 0, 0, 1])
