# SPDX-License-Identifier: GPL-2.0-only
"""A type of GPU is one row for all programs and commands, also of a user's file, and a mistake in it is refused in one
line."""
import csv
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from clustersim import gpu_rows  # noqa: E402
from clustersim.workload.kernels import gpus  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin"))
# A GPU of next year, and one that has PCIe only, whose rate stands for that of its links.
NEXT_YEARS = {"generation": "Blackwell", "nvlink_gbps": 1800, "switched": "11520Gbps", "usable_gbps": 1440,
              "channel_gbps": 90, "tflops": 4500,
              "sms": 160, "memory_gb": 288, "memory_gbps": 20000, "like": "B200"}
CARD = {"generation": "Ampere", "nvlink_gbps": 32, "switched": "256Gbps", "nvswitch": False, "usable_gbps": 32,
        "channel_gbps": 16,
        "pcie_gbps": 32, "tflops": 362, "fp8": [733, 0.6], "sms": 142, "memory_gb": 48, "memory_gbps": 864,
        "like": "A100"}
ROWS = {"R999": NEXT_YEARS, "MyCard": CARD}
FILLED = {"NCCL_MIN_NCHANNELS": "8", "NCCL_P2P_LEVEL": "SYS"}  # two rings of a host with two CPUs do not fill its slots
OF_KERNELS = ("generation", "nvlink_gbps", "tflops", "sms", "memory_gb", "memory_gbps")
JOB = ["--model", "llama3_8b", "--num_layers", "2", "--gpus", "8"]
COMMANDS = {
    "workload": ["scripts/workload.py", *JOB, "--sp", "--tp", "2"],
    "workload with a framework": ["scripts/workload.py", *JOB, "--framework", "megatron_2025"],
    "inference": ["scripts/workload.py", "--inference", "--model", "llama3_8b", "--num_layers", "2", "--world_size",
                  "2", "--requests", "4",
                  "--rate", "10", "--prompt_tokens", "64", "--output_tokens", "8"],
    "plan": ["scripts/plan.py", *JOB, "--global_batch", "8", "--top", "1", "--bin", PROGRAMS, "-o", "plan"],
    "plan with a framework": ["scripts/plan.py", *JOB, "--global_batch", "8", "--top", "1", "--bin", PROGRAMS, "-o",
                              "plan",
                              "--framework", "torchtitan"]}
GENERATE = ["topologies/gen_Topo_Template.py", "-topo", "Clos2", "-g", "8", "-bw", "200Gbps", "-o", "topology",
            "--gpu_table", "mine.yaml"]


def test_memory_is_what_the_driver_reports_where_that_is_known():
    assert gpus.find("H100").memory_bytes == 81559 * 2**20 > 1.06 * 80e9  # nvidia-smi
    assert gpus.find("Ascend910B").memory_bytes == 64e9  # of the data sheet


def write(directory, rows):
    (directory / "mine.yaml").write_text(yaml.safe_dump(rows, default_flow_style=None, width=1000, sort_keys=False))


def run(words, directory, **variables):
    return run_script([ROOT / words[0], *words[1:]], cwd=directory, env=os.environ | variables)


def run_with(words, directory, gpu):
    """Runs a command with the type of the user's file."""
    return run([*words, "--gpu_type", gpu, "--gpu_table", "mine.yaml"], directory)


def simulate(program, *words, directory, env=None):
    return subprocess.run([PROGRAMS / program, *map(str, words)], cwd=directory, capture_output=True, text=True,
                          env=env, check=False)


@pytest.mark.parametrize("gpu", ROWS)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_row_of_a_users_file_is_a_type_for_each_command(tmp_path, name, gpu):
    write(tmp_path, ROWS)
    done = run_with(COMMANDS[name], tmp_path, gpu)
    assert done.returncode == 0 and "no effect" not in done.stderr, done.stderr
    by_variable = run([*COMMANDS[name], "--gpu_type", gpu], tmp_path, AS_GPU_TABLE="mine.yaml")
    assert (by_variable.returncode, by_variable.stdout) == (0, done.stdout), by_variable.stderr


@pytest.mark.parametrize("flag", ["-gt", "--preset"])
@pytest.mark.parametrize("gpu", ROWS)
def test_a_row_of_a_users_file_is_a_topologys_type(tmp_path, gpu, flag):
    write(tmp_path, ROWS)
    done = run([*GENERATE, flag, gpu], tmp_path)
    assert done.returncode == 0 and "no effect" not in done.stderr, done.stderr
    lines = (tmp_path / "topology").read_text().splitlines()
    assert lines[0].endswith(f" {gpu}") and lines[2].split()[2] == ROWS[gpu]["switched"]
    checked = run(["topologies/gen_Topo_Template.py", "--check", "topology", "--gpu_table", "mine.yaml"], tmp_path)
    assert checked.returncode == 0, checked.stderr
    assert run(["topologies/gen_Topo_Template.py", "--check", "topology"],
               tmp_path).returncode == 2, "without the file nobody knows it"


def compute_ns(directory, row):
    write(directory, {"R999": row})
    done = run_with([*COMMANDS["workload"], "--name", "job", "-o", "out"], directory, "R999")
    assert done.returncode == 0, done.stderr
    return json.loads((directory / "out/job.json").read_text())["compute_ns"]


def test_kernels_scale_with_the_rates_of_the_row(tmp_path):
    """All of a GPU's rates doubled halve the kernels' times."""
    row = NEXT_YEARS | {"like": "H100", "generation": "Hopper"}
    once = compute_ns(tmp_path, row)
    twice = compute_ns(tmp_path, row | {"tflops": 2 * row["tflops"], "memory_gbps": 2 * row["memory_gbps"]})
    assert once / 2 == pytest.approx(twice, rel=0.1), "but for what kernels take to start"


@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
def test_a_row_of_a_users_file_sets_the_rate_of_collectives(tmp_path, network):
    """A large AllReduce of 8 GPUs by rings moves 2 x 7/8 of its bytes over each GPU's links, at the rate of the row
    that NCCL counts, or the topology's, whichever is lower."""
    write(tmp_path, ROWS)
    size = 1 << 26
    (tmp_path / "w.txt").write_text(f"1 ALLREDUCE {size} TP\n")
    times = {}
    for gpu, row in ROWS.items():
        assert run([*GENERATE, "--force", "-gt", gpu], tmp_path).returncode == 0
        done = subprocess.run([PROGRAMS / "SimAI_simulator", "-w", "w.txt", "-n", "topology", "--gpu-table",
                               "mine.yaml", "--network", network,
                               "-o", gpu, "-q"], cwd=tmp_path,
                              env=os.environ | {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"} | FILLED,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        with open(tmp_path / gpu / "collectives.csv", newline="") as file:
            found = next(csv.DictReader(file))
        times[gpu] = float(found["end_ns"]) - float(found["start_ns"])
        ideal = 2 * 7 / 8 * size / row["usable_gbps"]
        assert ideal < times[gpu] < (1.35 if gpu == "MyCard" else 3) * ideal, "latencies of a short time"
        inputs = {entry["role"]: entry for entry in json.loads((tmp_path / gpu / "run.json").read_text())["inputs"]}
        assert inputs["GPU table"]["path"] == "mine.yaml"
    assert times["MyCard"] > 10 * times["R999"]


def test_nics_that_carry_more_than_the_rows_pcie_are_told(tmp_path):
    write(tmp_path, ROWS)
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 1000 TP\n")
    assert run([*GENERATE, "-gt", "MyCard", "-bw", "400Gbps"], tmp_path).returncode == 0
    done = simulate("SimAI_simulator", "-w", "w.txt", "-n", "topology", "--gpu-table", "mine.yaml", "--network", "flow",
                    "-o", "out", "-q",
                    directory=tmp_path)
    assert (
        done.returncode == 0 and "50 GB/s" in done.stderr and "32 GB/s between them and a MyCard" in done.stderr
    ), done.stderr


def test_programs_without_a_topology_take_the_row(tmp_path):
    write(tmp_path, ROWS)
    (tmp_path / "w.txt").write_text(f"1 ALLREDUCE {1 << 30} TP\n")
    done = simulate("SimCCL", "--gpu_type", "MyCard", "--gpu-table", "mine.yaml", "--size", 1 << 30, directory=tmp_path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    done = simulate("SimAI_analytical", "-w", "w.txt", "-g", 8, "--gpu-type", "MyCard", "--gpu-table", "mine.yaml",
                    "-r_f", "out", directory=tmp_path, env=os.environ | FILLED)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    with open(tmp_path / "out/collectives.csv", newline="") as file:
        found = next(csv.DictReader(file))
    ideal = 2 * 7 / 8 * (1 << 30) / CARD["usable_gbps"]
    assert ideal < float(found["end_ns"]) - float(found["start_ns"]) < 1.2 * ideal
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert record["options"]["nvlink_GBps"] == 32 and "mine.yaml" in [entry["path"] for entry in record["inputs"]]


def test_a_row_of_the_name_of_a_built_in_type_replaces_it(tmp_path):
    write(tmp_path, {"H100": NEXT_YEARS})
    assert run([*GENERATE, "--preset", "H100"], tmp_path).returncode == 0
    assert (tmp_path / "topology").read_text().splitlines()[2].split()[2] == "11520Gbps"
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 1000 TP\n")
    done = simulate("SimAI_analytical", "-w", "w.txt", "-g", 8, "-r_f", "out", "--gpu-table", "mine.yaml",
                    directory=tmp_path)
    assert (
        done.returncode == 0 and json.loads((tmp_path / "out/run.json").read_text())["options"]["nvlink_GBps"] == 1440
    ), "H100 is the default"


def test_a_file_without_a_row_of_the_type_has_no_effect(tmp_path):
    write(tmp_path, ROWS)
    says = "mine.yaml has no effect: it has no row of H100"
    for words in ([*COMMANDS["workload"], "--gpu_table", "mine.yaml"],
                  [*COMMANDS["inference"], "--gpu_table", "mine.yaml"],
                  [*COMMANDS["plan"], "--gpu_table", "mine.yaml"], GENERATE):
        done = run(words, tmp_path)
        assert done.returncode == 0 and done.stderr.count(says) == 1, done.stderr
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 1000 TP\n")
    for program, words in (("SimAI_simulator", ("-n", "topology", "-o", "out", "--network", "flow")),
                           ("SimAI_analytical", ("-g", 8, "-r_f", "out"))):
        done = simulate(program, "-q", "-w", "w.txt", *words, "--gpu-table", "mine.yaml", directory=tmp_path)
        assert done.returncode == 0 and done.stderr == f"warning: {says}\n", done.stderr
    for program, words in (("SimCCL", ()), ("all_reduce_perf",
                                            ("--network-topo", "topology", "--network", "flow", "-b", 8, "-e", 8))):
        done = simulate(program, *words, "--gpu-table", "mine.yaml", directory=tmp_path)
        assert done.returncode == 0 and f"warning: {says}\n" in done.stderr, done.stderr
    describe = run(["topologies/gen_Topo_Template.py", "--describe", "topology", "--gpu_table", "mine.yaml"], tmp_path)
    assert "--gpu_table mine.yaml has no effect" in describe.stderr


@pytest.mark.parametrize("missing", [*OF_KERNELS, "like"])
def test_a_missing_field_is_named_in_one_line(tmp_path, missing):
    write(tmp_path, {"R998": NEXT_YEARS, "R999": {name: value for name,
                                                  value in NEXT_YEARS.items() if name != missing}})
    done = run_with(COMMANDS["workload"], tmp_path, "R999")
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    # Without `like` it has no shares of the rooflines either.
    named = "matmul" if missing == "like" else missing
    assert re.search(rf"mine\.yaml:2: GPU R999 lacks {named}; expected ", done.stderr), done.stderr


@pytest.mark.parametrize("missing", ["generation", "usable_gbps", "channel_gbps"])
def test_programs_name_a_field_that_they_lack(tmp_path, missing):
    write(tmp_path, {"R999": {name: value for name, value in NEXT_YEARS.items() if name != missing}})
    done = simulate("SimCCL", "--gpu_type", "R999", "--gpu-table", "mine.yaml", directory=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith(
        f"mine.yaml:1: GPU R999 lacks {missing}; expected "
    ), done.stderr
    assert done.stderr.count("\n") == 1


def test_a_type_without_rates_of_links_gets_those_of_another_with_a_warning(tmp_path):
    write(tmp_path, {"R999": {"generation": "Hopper"}})
    done = run([*GENERATE, "-gt", "R999"], tmp_path)
    assert done.returncode == 0 and "the NVLink rate of R999 is not known" in done.stderr


@pytest.mark.parametrize("changed, message", [
    ({"tflops": -1}, '"-1" is not a valid tflops of GPU R999; expected a number above 0'),
    ({"sms": "many"}, '"many" is not a valid sms of GPU R999; expected a number above 0'),
    ({"generation": "Rubin"}, '"Rubin" is not a valid generation of GPU R999; expected one of Ampere, Hopper'),
    ({"meshed": "1Gbps"}, "GPU R999 is joined in several ways; expected one of switched, meshed, lanes"),
    ({"fp8": 3}, '"3" is not a valid fp8 of GPU R999; expected the peak in TFLOP/s'),
    ({"nvswitch": 3}, '"3" is not a valid nvswitch of GPU R999; expected true or false'),
    ({"like": "B100"}, "GPU R999 is like B100, which has no tables of kernels; expected like: GPU"),
    ({"tflopss": 3}, '"tflopss" is not a valid field of GPU R999; expected one of generation, ')])
def test_a_wrong_field_is_named_in_one_line(tmp_path, changed, message):
    write(tmp_path, {"R999": NEXT_YEARS | {"matmul": 0.8, "attention": [0.7, 0.5], "stream": 0.9} | changed})
    done = run_with(COMMANDS["workload"], tmp_path, "R999")
    assert (
        done.returncode == 2 and done.stderr.count("\n") == 1 and f"mine.yaml:1: {message}" in done.stderr
    ), done.stderr
    assert "tflopss" not in changed or done.stderr.endswith("; the nearest is tflops\n")


def test_a_row_that_stands_twice_is_refused_by_both_languages(tmp_path):
    row = "R999: {generation: Hopper, channel_gbps: 30, usable_gbps: 360}\n"
    (tmp_path / "mine.yaml").write_text(row + "# again\n" + row)
    for done in (run_with(COMMANDS["workload"], tmp_path, "R999"),
                 simulate("SimCCL", "--gpu_type", "R999", "--gpu-table", "mine.yaml", directory=tmp_path)):
        assert (
            done.returncode == 2 and "mine.yaml:3: the key 'R999' occurs twice; expected " in done.stderr
        ), done.stderr


def test_a_file_without_rows_is_refused_by_both_languages(tmp_path):
    (tmp_path / "mine.yaml").write_text("R999 Hopper 30 360\n")
    for done in (run_with(COMMANDS["workload"], tmp_path, "R999"),
                 simulate("SimCCL", "--gpu_type", "R999", "--gpu-table", "mine.yaml", directory=tmp_path)):
        assert done.returncode == 2 and re.search(r"mine\.yaml:1: .*has no rows; expected .*GPU",
                                                  done.stderr), done.stderr


def test_each_shipped_row_is_whole():
    """Programs take their types from the same file, so that a type lacks nothing anywhere."""
    for name in gpu_rows.rows():
        row = gpu_rows.need(name, *OF_KERNELS, "usable_gbps", "channel_gbps", *gpu_rows.PARTS[:3])
        assert sum(field in row for field in gpu_rows.JOINED) == 1, name
        assert (
            row["channel_gbps"] <= row["usable_gbps"] <= row["nvlink_gbps"]
        ), "what copies reach is not above the data sheet's"
    # C++ knows the names of Python's fields by these rows.
    assert {field for row in gpu_rows.rows().values() for field in row} == gpu_rows.FIELDS.keys() - {"messages"}


def test_facts_of_a_gpu_stand_in_its_row_only():
    """No other table of the sources has a number or a rate for a type of GPU, as H100: 700, "H100": "3600Gbps" or
    {"H100", 360}."""
    names = "|".join(map(re.escape, gpu_rows.rows()))
    keyed = re.compile(rf"""(\b({names})["']?\s*:|["']({names})["']\s*,)\s*["']?[\d.]+(Gbps)?\b(?!\s*[A-Za-z])""")
    folders = [(ROOT / folder).rglob(pattern) for folder in ("python/clustersim", "contrib", "topologies", "sweeps",
        "lab/clustersim_lab")
               for pattern in ("*.py", "*.yaml", "*.h", "*.cc")]
    found = [f"{path.relative_to(ROOT)}: {match[0]}" for paths in folders for path in paths if path != gpu_rows.PATH
             for line in path.read_text().splitlines() if not re.match(r"\s*(#|//|\*)", line)
             for match in [keyed.search(line)] if match]
    assert not found, found
