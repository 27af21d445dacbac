# SPDX-License-Identifier: GPL-2.0-only
"""A type of GPU is one row of gpus.yaml for all Python commands, and a row that lacks a field is refused in one line."""
import os
import pathlib
import re
import sys

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from clustersim import gpu_rows  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin"))
FIELDS = {"generation": "Blackwell", "nvlink_gbps": 1800, "switched": "11520Gbps", "tflops": 4500, "sms": 160, "memory_gb": 288, "memory_gbps": 20000,
          "matmul": 0.8, "attention": [0.7, 0.5], "stream": 0.9, "like": "B200", "table": [90, 1440]}
REQUIRED = ("generation", "nvlink_gbps", "switched", "tflops", "sms", "memory_gb", "memory_gbps", "matmul", "attention", "stream")
JOB = ["--model", "llama3_8b", "--num_layers", "2", "--gpus", "8", "--gpu_type", "R999"]
COMMANDS = {
    "workload": ["scripts/workload.py", *JOB, "--sp", "--tp", "2"],
    "workload with a framework": ["scripts/workload.py", *JOB, "--framework", "megatron_2025"],
    "inference": ["scripts/workload.py", "--inference", "--model", "llama3_8b", "--num_layers", "2", "--gpu_type", "R999", "--world_size", "2", "--requests", "4", "--rate", "10", "--prompt_tokens", "64",
                  "--output_tokens", "8"],
    "plan": ["scripts/plan.py", *JOB, "--global_batch", "8", "--top", "1", "--bin", PROGRAMS, "-o", "plan"],
    "plan with a framework": ["scripts/plan.py", *JOB, "--global_batch", "8", "--top", "1", "--bin", PROGRAMS, "-o", "plan", "--framework", "torchtitan"],
    "topology": ["topologies/gen_Topo_Template.py", "-topo", "Clos2", "-g", "8", "-gt", "R999", "-o", "topology"],
    "topology by preset": ["topologies/gen_Topo_Template.py", "-topo", "Clos2", "-g", "8", "--preset", "R999", "-o", "topology"]}


@pytest.fixture
def add(tmp_path, monkeypatch):
    """Adds a row R999 with fields, beside the shipped ones."""
    monkeypatch.setattr(gpu_rows, "PATH", tmp_path / "gpus.yaml")
    shipped = (ROOT / "python/clustersim/gpus.yaml").read_text()

    def write(fields):
        gpu_rows._rows.cache_clear()
        gpu_rows._table_file.cache_clear()
        gpu_rows.PATH.write_text(f"{shipped}R999: {{{', '.join(f'{name}: {value}' for name, value in fields.items())}}}\n")
    yield write
    gpu_rows._rows.cache_clear()
    gpu_rows._table_file.cache_clear()


def run(words, directory):
    return run_script([ROOT / words[0], *words[1:]], cwd=directory)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_row_is_a_type_for_each_command(add, tmp_path, name):
    add(FIELDS)
    done = run(COMMANDS[name], tmp_path)
    assert done.returncode == 0, done.stderr
    if name.startswith("topology"):
        lines = (tmp_path / "topology").read_text().splitlines()
        assert lines[0].endswith(" R999") and lines[2].split()[2] == "11520Gbps"
        checked = run(["topologies/gen_Topo_Template.py", "--check", "topology"], tmp_path)
        assert checked.returncode == 0, checked.stderr


def test_the_rates_of_the_row_are_those_that_count(add, tmp_path):
    """Twice the NVLinks, in the row and in its table, halve the time of a large AllReduce at most, and shorten the plan."""
    times = []
    for factor in (1, 2):
        add(FIELDS | {"nvlink_gbps": 1800 * factor, "table": [90 * factor, 1440 * factor]})
        done = run([*COMMANDS["plan"], "--seq_length", "8192"], tmp_path)
        assert done.returncode == 0, done.stderr
        times.append(float((tmp_path / "plan/plans.csv").read_text().splitlines()[1].split(",")[15]))
    assert times[0] / 2 < times[1] < times[0]


@pytest.mark.parametrize("missing", [*REQUIRED, "like"])
def test_a_missing_field_is_named_in_one_line(add, tmp_path, missing):
    add({name: value for name, value in FIELDS.items() if name != missing})
    for name in ("workload", "plan", *(["topology"] if missing != "like" else [])):
        done = run(COMMANDS[name], tmp_path)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert re.search(rf"gpus\.yaml: GPU R999 lacks ([a-z]+, )*{missing}\b.*; expected ", done.stderr), done.stderr


@pytest.mark.parametrize("changed, message", [({"tflops": -1}, "has tflops: -1; expected a number above 0"), ({"sms": "many"}, "has sms: many"),
                                              ({"generation": "Rubin"}, "has generation: Rubin; expected one of Ampere"), ({"meshed": "1Gbps"}, "is joined in several ways"),
                                              ({"table": 3}, "has table: 3"), ({"like": "B100"}, "is like B100, which has no tables"),
                                              ({"tflopss": 3}, "has tflopss: extra fields not permitted")])
def test_a_wrong_field_is_named_in_one_line(add, tmp_path, changed, message):
    add(FIELDS | changed)
    done = run(COMMANDS["workload"], tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and f"gpus.yaml: GPU R999 {message}" in done.stderr, done.stderr


def test_a_type_that_the_programs_do_not_have_is_refused_by_them(add, tmp_path):
    add({name: value for name, value in FIELDS.items() if name != "table"})
    done = run(COMMANDS["plan"], tmp_path)
    assert done.returncode == 2 and "R999" in done.stderr and "AS_GPU_TABLE" in done.stderr and "Traceback" not in done.stderr


def test_the_simulators_table_has_the_same_types():
    """gpu-table.cc is compiled into modules that know no Python; a type added to one of both only is found here."""
    source = (ROOT / "contrib/collectives/model/gpu/gpu-table.cc").read_text()
    found = {name: (generation, float(channel), float(rate)) for name, generation, channel, rate in
             re.findall(r'\{"(\w+)", GpuGeneration::(\w+), ([\d.]+), ([\d.]+)', source)}
    rows = gpu_rows.rows()
    assert found.keys() == {name for name, row in rows.items() if "table" not in row} and len(found) >= 18
    for name, (generation, channel, rate) in found.items():
        assert rows[name]["generation"].lower() == generation.lower(), name
        assert channel <= rate <= rows[name]["nvlink_gbps"], "what copies reach is not above the data sheet's"
