# SPDX-License-Identifier: GPL-2.0-only
"""The AllReduce of inference engines: a closed form, where it takes NCCL's place, and how close it comes to measured
times."""
import collections
import csv
import os
import pathlib
import re
import statistics
import subprocess

import pytest
import yaml
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin"))
ROWS = yaml.safe_load((ROOT / "contrib/collectives/model/nccl/engine-all-reduce.yaml").read_text())
ENGINES = {row["engine"]: row for row in ROWS if "engine" in row}
MEASURED = ROOT / "docs/source/data/engine-all-reduce.csv"
GENERATIONS = {"A100": "Ampere", "H100": "Hopper", "H200": "Hopper", "B200": "Blackwell", "B300": "Blackwell",
               "GB200": "Blackwell",
               "GB300": "Blackwell"}
LINE = re.compile(r"^ +(\d+) +\d+ +\w+ +\w* +-?\d+ +([\d.e+]+) ", re.MULTILINE)
KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture(scope="module", name="server")
def servers(tmp_path_factory):
    """@return a function that gives the topology of a server, or of several"""
    folder, made = tmp_path_factory.mktemp("servers"), {}

    def make(gpu, gpus, count=1):
        if (gpu, gpus, count) not in made:
            path = folder / f"{count}x{gpus}x{gpu}"
            result = run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Clos2", "-g", gpus * count, "-gps",
                                 gpus, "-gt", gpu,
                                 "-o", path])
            assert result.returncode == 0, result.stderr
            made[gpu, gpus, count] = path
        return made[gpu, gpus, count]
    return make


def run(topology, first, last, *flags, **variables):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AS_", "NCCL_"))}
    return subprocess.run([PROGRAMS / "all_reduce_perf", "-b", str(first), "-e", str(last), "-f", "4", "-n", "1", "-w",
                           "0", "--network-topo",
                           topology, *flags], env=clean | variables, capture_output=True, text=True, check=False)


def times(topology, first, last, *flags, **variables):
    """@return microseconds by bytes"""
    result = run(topology, first, last, *flags, **variables)
    assert result.returncode == 0, result.stderr
    return {int(size): float(us) for size, us in LINE.findall(result.stdout)}


def stage_of(engine, gpu, gpus, size):
    """@return how many shots the engine takes, and their figures; nothing where it leaves the AllReduce to NCCL"""
    row = ENGINES[engine]
    kernel = next((each for each in ROWS if each.get("kernel") == row["kernel"]
                   and GENERATIONS[gpu] in each.get("of", ())), None)
    for shots in ("one_shot", "two_shots"):
        if kernel and size <= row.get(f"{shots}_bytes", {}).get(gpus, 0):
            return shots, kernel[shots]
    return None


def closed_form_us(engine, gpu, gpus, size):
    shots, stage = stage_of(engine, gpu, gpus, size)
    read = (gpus - 1) * size if shots == "one_shot" else 2 * (gpus - 1) / gpus * size
    return stage["us"] + stage["peer_us"] * (gpus - 2) + read / stage["gbps"] / 1e3


@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
@pytest.mark.parametrize("engine, gpu, gpus", [("vLLM", "H100", 8), ("SGLang", "A100", 2), ("SGLang-0.5.14", "B200", 4),
                                               ("TensorRT-LLM", "H200", 8)])
def test_a_kernel_takes_its_start_and_the_time_to_read(server, engine, gpu, gpus, network):
    found = times(server(gpu, gpus), 16 * KIB, 4 * MIB, "--network", network, AS_ENGINE_ALLREDUCE=engine)
    compared = {size: us for size, us in found.items() if stage_of(engine, gpu, gpus, size)}
    assert len(compared) >= 3
    for size, us in compared.items():  # the links' delay, and the last packet, come on top
        assert closed_form_us(engine, gpu, gpus, size) <= us * 1.01 and us == pytest.approx(closed_form_us(engine, gpu,
            gpus, size), rel=0.04), size


def chosen(topology, size, **variables):
    result = run(topology, size, size, "--network", "flow", **variables)
    assert result.returncode == 0, result.stderr
    return re.search(r"Algo (\S+)", result.stdout)[1]


def test_it_takes_the_place_of_nccl_within_its_limits(server):
    topology = server("H100", 8)
    assert chosen(topology, 128 * KIB, AS_ENGINE_ALLREDUCE="vLLM") == "ENGINE_ONE_SHOT"
    assert chosen(topology, 256 * KIB, AS_ENGINE_ALLREDUCE="vLLM") == "ENGINE_TWO_SHOTS"
    assert chosen(topology, 8 * MIB, AS_ENGINE_ALLREDUCE="SGLang") == "ENGINE_TWO_SHOTS"
    own = chosen(topology, 8 * MIB)
    assert chosen(topology, 8 * MIB, AS_ENGINE_ALLREDUCE="vLLM") == own, "from its limit on it is NCCL's"
    assert chosen(topology, 128 * KIB, AS_ENGINE_ALLREDUCE="vLLM",
                  NCCL_ALGO="Ring") == "ENGINE_ONE_SHOT", "NCCL_ALGO is about NCCL"
    assert chosen(topology, 128 * KIB, AS_ENGINE_ALLREDUCE="vLLM", NCCL_SELECT="rules") == "ENGINE_ONE_SHOT"
    assert chosen(server("H100", 8, 2), 128 * KIB, AS_ENGINE_ALLREDUCE="vLLM") == chosen(server("H100", 8, 2),
        128 * KIB), "between servers"


@pytest.mark.parametrize("gpu, engine, said", [
    ("H100", "vllm", "AS_ENGINE_ALLREDUCE is 'vllm'; expected one of SGLang, SGLang-0.5.14, TensorRT-LLM, vLLM"),
    ("MI300X", "vLLM", "the AllReduce of vLLM on CDNA3 GPUs is not known; expected AS_ENGINE_ALLREDUCE on Ampere, "
     "Hopper, Blackwell"),
    ("A100", "SGLang-0.5.14", "the AllReduce of SGLang-0.5.14 on Ampere GPUs is not known; expected "
     "AS_ENGINE_ALLREDUCE on Hopper, Blackwell")])
def test_an_engine_without_figures_is_refused(server, gpu, engine, said):
    result = run(server(gpu, 8), KIB, KIB, AS_ENGINE_ALLREDUCE=engine)
    errors = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
    assert result.returncode == 2 and len(errors) == 1 and said in errors[0]


def test_the_estimate_is_the_same(server, tmp_path):
    (tmp_path / "w.txt").write_text(f"1 ALLREDUCE {MIB} TP\n")
    done = subprocess.run([PROGRAMS / "SimAI_analytical", "-w", tmp_path / "w.txt", "-n", server("H100", 8), "-g", "8",
                           "-g_p_s", "8", "-g_type", "H100",
                           "-r_f", tmp_path / "out", "-q"], env=os.environ | {"AS_ENGINE_ALLREDUCE": "vLLM"},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out/collectives.csv").open() as file:
        row = next(csv.DictReader(file))
    assert row["algorithm"] == "EngineTwoShots"
    assert float(row["end_ns"]) / 1e3 == pytest.approx(closed_form_us("vLLM", "H100", 8, MIB), rel=1e-3)


def errors_by_engine(server):
    """@return relative errors by engine, GPU and shots"""
    with MEASURED.open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    measured = collections.defaultdict(dict)
    for row in rows:
        measured[row["engine"], row["gpu"], int(row["gpus"])][int(row["bytes"])] = float(row["us"])
    errors = collections.defaultdict(list)
    for (engine, gpu, gpus), table in measured.items():
        within = [size for size in table if stage_of(engine, gpu, gpus, size)]
        if within:
            simulated = times(server(gpu, gpus), min(within), max(within), "--network", "flow",
                              AS_ENGINE_ALLREDUCE=engine)
            for size in within:
                errors[engine, gpu, stage_of(engine, gpu, gpus, size)[0]].append(simulated[size] / table[size] - 1)
    return errors


def test_measured_times_come_out_as_the_page_says(server):
    errors = errors_by_engine(server)
    text = (ROOT / "contrib/collectives/doc/nccl.rst").read_text()
    table = text[text.index("Mean errors of engines"):]
    for engine in ENGINES:
        line = next(line for line in table.splitlines() if line.split()[:1] == [engine])
        said = [None if word == "-" else float(word) for word in re.findall(r"(?<= )(?:[\d.]+(?= %)|-(?= |$))", line)]
        groups = [[abs(error) for (each, gpu, shots), found in errors.items() for error in found
                   if each == engine and shots == kind and (gpu in ("A100", "H100", "B200")) == fitted]
                  for kind in ("one_shot", "two_shots") for fitted in (True, False)]
        ours = [100 * statistics.mean(group) if group else None for group in groups]
        assert len(said) == 4
        for a, b in zip(said, ours, strict=True):
            assert (a is None) == (b is None) and (a is None or a == pytest.approx(b, abs=0.6)), (engine, said, ours)
