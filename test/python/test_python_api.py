# SPDX-License-Identifier: GPL-2.0-only
"""clustersim.simulate() runs a simulation from Python and returns its results."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pydantic
import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import clustersim  # noqa: E402
from clustersim.simulation import command_line  # noqa: E402


@pytest.fixture
def topology(tmp_path):
    run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "16"], cwd=tmp_path, check=True)
    return tmp_path / "Spectrum-X_16g_8gps_400Gbps_H100"


def test_a_simulation_returns_its_results(topology, tmp_path):
    workload = tmp_path / "one.txt"
    workload.write_text("1 ALLREDUCE 1048576 TP\n")
    run = clustersim.simulate(workload, topology, output=tmp_path / "run", network="flow", tp=8,
                              environment={"NCCL_ALGO": "Ring"})
    assert run.info["status"] == "finished"
    assert len(run.collectives) == 2, "one per group of 8 of the 16 ranks"
    assert set(run.collectives["algorithm"]) == {"Ring"}
    factor = run.collectives["busbw"] / run.collectives["algbw"]
    assert factor.to_list() == pytest.approx([2 * 7 / 8] * 2, rel=1e-4)


def test_what_the_simulator_warns_of_is_a_warning(topology, tmp_path):
    workload = tmp_path / "one.txt"
    workload.write_text("1 ALLREDUCE 1048576 TP\n")
    with pytest.warns(clustersim.SimulationWarning, match="AS_SEND_LAT is 7200 microseconds") as said:
        run = clustersim.simulate(workload, topology, output=tmp_path / "run", network="flow",
                                  environment={"AS_SEND_LAT": "7200"})
    assert run.info["status"] == "finished"
    assert said[0].filename == __file__, "it names the caller's line"


def test_a_topology_is_generated_as_by_the_generator(topology, tmp_path):
    with pytest.warns(UserWarning, match="expected --fit or -psn 2 for 1:1"):  # the file is SimAI's, with 64
        made = clustersim.generate("Spectrum-X", gpu=16, output=f"{tmp_path}/new/")
    assert made == tmp_path / "new" / topology.name
    assert made.read_bytes() == topology.read_bytes()
    with pytest.raises(clustersim.TopologyError, match="X99"):
        clustersim.generate("Spectrum-X", gpu=16, gpu_type="X99", output=tmp_path / "x")
    with pytest.warns(UserWarning, match="need 16 access switches"):
        clustersim.generate("AlibabaHPN", gpu=64, dual_plane=True, asw_switch_num=3, output=tmp_path / "corrected")


def test_the_version_is_that_of_the_checkout():
    assert clustersim.__version__ == (ROOT / "VERSION").read_text().strip()


def test_the_example_of_the_documentation_runs(tmp_path):
    page = (ROOT / "docs/source/reference/python.rst").read_text()
    [block] = re.findall(r"^\.\. code-block:: python\n\n((?:(?:   .*)?\n)+)", page, re.MULTILINE)
    for name in ("workloads", "conf"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(block)], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{clustersim.__version__} finished" in done.stdout and "AllGather" in done.stdout
    assert "the busiest links" in done.stdout
    assert all(f"``{name}" in page for name in clustersim.__all__), "every public name is described"


def test_what_the_simulator_refuses_is_an_exception_with_its_line(topology, tmp_path):
    workload = tmp_path / "wrong.txt"
    workload.write_text("1 ALLREDUCE many TP\n")
    with pytest.raises(clustersim.SimulationError, match=r"wrong.txt:1: .*many") as refused:
        clustersim.simulate(workload, topology, output=tmp_path / "run")
    assert refused.value.status == 2


def test_flags_become_words():
    words = command_line("w", "n", output="o", program="SimAI_simulator", seed=7, check=True, max_time=None,
                         num_queues_per_dim=2)
    assert words == ["SimAI_simulator", "-w", "w", "-n", "n", "-o", "o", "-q", "--seed", "7", "--check",
                     "--num-queues-per-dim", "2"]


def test_every_module_of_results_may_be_imported_first():
    """None needs another one to have been imported before; here they refer to each other most."""
    names = [".".join(path.relative_to(ROOT / "python").with_suffix("").parts).removesuffix(".__init__")
             for path in (ROOT / "python" / "clustersim" / "results").rglob("*.py")]
    assert "clustersim.results.verdict" in names
    alone = ("import importlib, os, sys\n"
             "import matplotlib.pyplot, pandas, pydantic\n"  # once, not in each copy
             "for name in sys.argv[1:]:\n"
             "    copy = os.fork()\n"
             "    if copy == 0:\n"
             "        importlib.import_module(name)\n"
             "        os._exit(0)\n"
             "    assert os.waitpid(copy, 0)[1] == 0, name\n")
    subprocess.run([sys.executable, "-c", alone, *names], cwd=ROOT / "python", check=True)


def test_no_module_depends_on_the_version_of_pydantic():
    """They all have the interface of version 1, from one place."""
    for path in (path for folder in ("python", "lab", "scripts") for path in ROOT.glob(f"{folder}/**/*.py")):
        if path.name != "pydantic_v1.py":
            assert not re.search(r"^\s*(import|from) pydantic\b", path.read_text(), re.MULTILINE), path


@pytest.fixture
def pydantic_2(tmp_path):
    """A pydantic whose own names are not those of version 1, which is the package v1 in it, as in version 2."""
    package = tmp_path / "lib/pydantic"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('VERSION = "2.10.6"\n')
    found = (
        importlib.util.find_spec("pydantic.v1")
        if pydantic.VERSION.startswith("2")
        else importlib.util.find_spec("pydantic")
    )
    (package / "v1").symlink_to(pathlib.Path(found.origin).parent)
    return {**os.environ, "PYTHONPATH": str(package.parent)}


def test_commands_run_with_pydantic_2(pydantic_2, tmp_path):
    subprocess.run([sys.executable, "-c", "import pydantic; assert pydantic.VERSION == '2.10.6' and not "
                    "hasattr(pydantic, 'BaseModel')"],
                   env=pydantic_2, check=True)
    line = [ROOT / "scripts/workload.py", "--num_layers", "2", "--hidden_size", "64", "--num_attention_heads", "4",
            "--world_size", "2", "-o", tmp_path]
    subprocess.run([sys.executable, *line], env=pydantic_2, check=True, capture_output=True)
    wrong = subprocess.run([sys.executable, *line, "--num_query_groups", "3"], env=pydantic_2, capture_output=True,
                           text=True)
    assert wrong.returncode == 2 and "3 key-value heads do not divide 4 heads" in wrong.stderr
    grid = tmp_path / "grid.yaml"
    grid.write_text("topologies:\n- file: t\nworkloads: w\nnonsense: 1\n")
    wrong = subprocess.run([sys.executable, ROOT / "scripts/sweep.py", grid, "-o", tmp_path / "swept"], env=pydantic_2,
                           capture_output=True, text=True)
    assert (
        wrong.returncode == 2
        and f"{grid}:4: 'nonsense' is not a key of a sweep; expected one of topologies, " in wrong.stderr
    )
    for name in ("plan", "why"):
        subprocess.run([sys.executable, ROOT / f"scripts/{name}.py", "--help"], env=pydantic_2, check=True,
                       capture_output=True)


def test_a_long_program_is_said_to_go_on_each_minute(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(ROOT / "python")
    from clustersim import progress, simulation

    monkeypatch.setattr(progress, "INTERVAL_S", 0.2)
    record = '{"progress": {"wall_s": 61.2, "simulated_ns": 2.5e6, "done": 3, "of": 0, "unit": "flows"}}'
    (tmp_path / "run.json").write_text(record)
    warnings = simulation.run_program(["sh", "-c", "echo warning: slow >&2; sleep 0.5", "-o", str(tmp_path)])
    assert warnings == ["slow"]
    assert capsys.readouterr().err.splitlines() == [f"sh {tmp_path}: 61 s, 2.500 ms simulated, 3 flows"] * 2
    with pytest.raises(subprocess.TimeoutExpired):
        simulation.run_program(["sleep", "60"], timeout=0.5)
    assert capsys.readouterr().err.splitlines() == ["sleep: under way"] * 2
