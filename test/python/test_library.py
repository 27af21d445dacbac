# SPDX-License-Identifier: GPL-2.0-only
"""The package as a library: functions do what commands do, results show themselves, and the notebook runs."""
import ast
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import clustersim  # noqa: E402
from clustersim import library, notices  # noqa: E402
from clustersim.library.functions import _words  # noqa: E402
from clustersim.workload.command import training_command  # noqa: E402

NOTEBOOK = ROOT / "docs/source/howto/question-to-answer.ipynb"
PAGE = ROOT / "docs/source/howto/notebook.rst"
SMALL = {"model_name": "llama3_8b", "num_layers": 2}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fabric(here):
    return clustersim.topology("Clos2", gpu=16, nics_per_leaf=8, output="results/")


def words_of(flags):
    return [word for name, value in flags.items() for word in (f"--{name}", str(value))]


def code_cells():
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_the_names_of_folders_are_functions_whichever_is_imported_first():
    for first in ("import clustersim.topology.reader, clustersim.why.path", "import clustersim"):
        code = (f"{first}\nimport clustersim\nfrom clustersim.topology.reader import read\n"
                "from clustersim.workload.model import catalogue\n"
                "assert callable(clustersim.topology) and callable(clustersim.workload) and callable(clustersim.why)\n")
        subprocess.run([sys.executable, "-c", code], cwd=ROOT / "python", check=True)


def test_a_fabric_has_its_links_and_parts_and_shows_itself(fabric):
    assert len(fabric.frame) == len(fabric.topology.links) and set(fabric.frame["gbps"]) == {2880, 400}
    assert dict(fabric.parts(ROOT / "topologies/prices.yaml").set_index("name")["count"])["GPU"] == 16
    described = run_script([ROOT / "topologies/gen_Topo_Template.py", "--describe", fabric.path])
    assert str(fabric) == described.stdout.rstrip("\n")
    shown = fabric._repr_html_()
    assert "16 H100 in servers of 8" in shown and "<table" in shown and "data:image/svg+xml;base64," in shown
    assert clustersim.topology(check=fabric).topology == fabric.topology, "and it can be read again"
    with pytest.raises(clustersim.TopologyError, match="nowhere: No such file"):
        clustersim.topology(check="nowhere")
    with pytest.raises(clustersim.InputError, match="--gpu means nothing beside --check"):
        clustersim.topology(check=fabric, gpu=16)


def test_a_workload_is_the_commands(here):
    flags = {**SMALL, "world_size": 16, "tp": 2, "global_batch": 16}
    job = clustersim.workload(**flags, sp=True, output_dir="mine", recompute="selective",
                              recompute_modules=["layernorm", "mlp_act"])
    command = run_script([ROOT / "scripts/workload.py", *words_of(flags), "--sp", "-o", "theirs", "--recompute",
                          "selective", "--recompute_modules", "layernorm", "mlp_act"], cwd=here)
    assert str(job) == command.stdout.rstrip("\n").replace("theirs/", "mine/")
    theirs = here / "theirs" / job.path.name
    assert job.path.read_bytes() == theirs.read_bytes()
    assert job.facts == json.loads(theirs.with_suffix(".json").read_text())
    memory = job.memory.set_index("part")["GB"]
    assert memory["total"] == pytest.approx(memory.drop("total").sum()) and job.step_ms is None and job.pools is None
    assert "memory of a GPU" in job._repr_html_() and repr(job) == str(job)


def test_traces_and_instances_are_workloads_too(here, fabric):
    traces = clustersim.workload(**SMALL, world_size=16, tp=8, format="chakra", output_dir="traces", name="job")
    run = clustersim.simulate(traces, fabric, output="run", network="flow")
    assert traces.path == pathlib.Path("traces/job") and run.info["status"] == "finished"
    instances = clustersim.workload("llama3_8b", inference=True, world_size=8, tp=4, requests=3, rate=10,
                                    prompt_tokens=100, output_tokens=4, output_dir="traces")
    assert instances.pools["tp"].to_list() == [4] and instances.memory is None
    assert instances.path.read_text().startswith("INFERENCE\n")


@pytest.mark.parametrize("function, arguments", [
    ("workload", {"model_name": "nonsense", "world_size": 8}), ("workload", {**SMALL, "world_sze": 8}),
    ("workload", {**SMALL, "world_size": 16, "tp": 3}), ("plan", {**SMALL, "gpus": 0}),
    ("plan", {**SMALL, "gpus": 8, "objective": "beauty"}), ("why", {"run": "nowhere"})])
def test_a_mistake_is_an_exception_in_the_words_of_the_command(here, function, arguments):
    with pytest.raises(clustersim.InputError) as refused:
        getattr(clustersim, function)(**arguments)
    words = [arguments["run"]] if function == "why" else words_of(arguments)
    command = run_script([ROOT / f"scripts/{function}.py", *words], cwd=here)
    assert command.returncode == 2 and command.stderr == f"{function}.py: {refused.value}\n"


def test_what_a_command_warns_of_is_a_warning_at_the_callers_line(here, capfd):
    with pytest.warns(UserWarning, match="^--recompute_num_layers has no effect: it is for --recompute full") as said:
        clustersim.workload(**SMALL, world_size=8, recompute_num_layers=1)
    assert said[0].filename == __file__ and capfd.readouterr() == ("", "")
    notices.warn("outside", "x.py")
    assert capfd.readouterr().err == "x.py: warning: outside\n"


def test_plans_are_the_commands_and_have_a_frame(here, fabric):
    flags = {**SMALL, "gpus": 16, "seq_length": 2048, "global_batch": 32, "top": 3}
    plans = clustersim.plan(**flags, topology=fabric, output_dir="mine", simulate=1, network="flow")
    command = run_script([ROOT / "scripts/plan.py", *words_of(flags), "-n", fabric.path, "-o", "theirs",
                          "--simulate", "1", "--network", "flow"], cwd=here)
    assert str(plans) == command.stdout.rstrip("\n").replace("theirs", "mine")
    frame = plans.frame
    assert list(frame["rank"]) == [1, 2, 3] and frame["simulated_ms"].notna().sum() == 1
    parts = frame[["computation", "TP", "DP", "DP_EP", "EP", "CP", "PP", "bubble"]].sum(axis=1)
    assert parts.to_list() == pytest.approx([1, 1, 1])
    assert plans.workload.read_bytes() == (here / "theirs/plan1.txt").read_bytes()
    assert "--tensor-model-parallel-size" in plans.arguments("megatron")
    with pytest.raises(clustersim.InputError, match="expected one of megatron"):
        plans.arguments("nonsense")
    shown = plans._repr_html_()
    assert "tokens_per_s_per_gpu" in shown and "data:image/svg+xml" in shown


def test_a_plan_leaves_the_environment_as_it_was_and_times_follow_it(here):
    """The kind of network is a variable for the programs that time plans: it was left set, and times of an earlier
    search were taken for those of a later one."""
    before = dict(os.environ)
    flags = {**SMALL, "gpus": 16, "seq_length": 2048, "top": 1, "framework": "megatron_2025"}
    usual = clustersim.plan(**flags)
    slow = clustersim.plan(**flags, network_kind="EFA")
    assert dict(os.environ) == before
    assert slow.rows[0]["time_ms"] > usual.rows[0]["time_ms"]
    assert clustersim.plan(**flags).rows == usual.rows


def test_a_changed_file_of_gpus_is_read_again(here):
    table = here / "gpus.yaml"
    times = []
    for tflops in (500, 1000):
        table.write_text(f"MyGpu: {{like: H100, generation: Hopper, tflops: {tflops}, memory_gb: 80, "
                         f"memory_gbps: 3350, sms: 132, nvlink_gbps: 450}}\n")
        os.utime(table, ns=(tflops, tflops))
        job = clustersim.workload(**SMALL, world_size=8, gpu_type="MyGpu", gpu_table=table, kernels="roofline")
        times.append(job.facts["compute_ns"])
    assert times[0] > 1.2 * times[1]


def test_a_run_and_its_reasons_show_themselves(here, fabric):
    job = clustersim.workload(**SMALL, world_size=16, tp=2, output_dir="results", name="job")
    run = clustersim.simulate(job, fabric, output="run", network="flow")
    assert run.parts["share"].sum() == pytest.approx(1, abs=2e-3)
    assert repr(run).startswith("run: finished, ") and "where the time goes" in run._repr_html_()
    reasons = clustersim.why(run, factor=2, top=2)
    command = run_script([ROOT / "scripts/why.py", "run", "--factor", "2", "--top", "2", "-o", "theirs"], cwd=here)
    assert str(reasons) == command.stdout.rstrip("\n").replace("theirs/", "run/why/")
    assert reasons.parts["us"].sum() == pytest.approx(reasons.total_us) == reasons.path["duration_us"].sum()
    changes = reasons.what_if.set_index("faster")
    assert changes.loc["GPUs", "run"] < 0 and changes.loc["GPUs", "worked_out"] < 0
    assert "what if" in reasons._repr_html_()


def test_a_serving_has_the_times_of_its_requests(here, fabric):
    found = clustersim.serve("llama3_8b", topology=fabric, output="run", output_dir="results", world_size=16, tp=4,
                             requests=6, rate=100, prompt_tokens=256, output_tokens=8, network="analytical")
    times = found.latencies.set_index("time")
    assert list(times.index[:3]) == ["ttft", "tpot", "e2e"]
    assert times.loc["ttft", "mean"] == pytest.approx(found.requests["ttft_us"].mean() / 1e3, rel=1e-5)
    phases = times.loc[["queue", "prefill", "transfer", "decode"], "mean"].sum()
    assert phases == pytest.approx(times.loc["e2e", "mean"], rel=1e-5)
    assert found.summary["requests"] == 6 == len(found.requests)
    assert "ttft p50 ms" in str(found) and "6 requests, the median first token after" in found._repr_html_()


def test_arguments_are_spelled_as_the_command_has_them():
    parser = training_command.make_parser("")
    assert _words(parser, {"world_size": 8, "num_virtual_stages_per_pipeline_rank": 2, "sp": True, "dp": None}) == [
        "--world_size", "8", "--num-virtual-stages-per-pipeline-rank", "2", "--sp"]
    assert "clustersim.topology(" in library.__doc__


def test_the_notebook_runs_and_every_result_shows_itself(here):
    """From the question to the answer, cell by cell, as a notebook runs them."""
    names = {}
    for number, source in enumerate(code_cells(), 1):
        body = ast.parse(source)
        last = body.body.pop() if isinstance(body.body[-1], ast.Expr) else None
        exec(compile(body, f"cell {number}", "exec"), names)
        if last:
            shown = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
            assert "<table" in shown._repr_html_(), source
    assert names["runs"]["best"].simulated_ns < names["runs"]["mine"].simulated_ns, "the search was worth it"


def test_the_notebook_is_kept_without_results_and_the_page_shows_its_cells():
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    blocks = re.findall(r"^\.\. code-block:: python\n\n((?:(?:   .*)?\n)+)", PAGE.read_text(), re.MULTILINE)
    unindented = ["\n".join(line[3:] for line in block.rstrip("\n").split("\n")) for block in blocks]
    assert unindented == code_cells()
