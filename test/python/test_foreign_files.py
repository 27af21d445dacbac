# SPDX-License-Identifier: GPL-2.0-only
"""Files of other programs, tried as workloads and topologies: one line says what each is and what to give instead."""
import os
import pathlib
import subprocess

import pytest
from script_process import run_script

from test_simulator import servers

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])
KINETO = '{\n  "schemaVersion": 1,\n  "deviceProperties": [],\n  "traceEvents": []\n}\n'
TRACES = "expected Chakra traces PREFIX.0.et"
OTHERS = {
    "kineto": (KINETO, "a Kineto trace of PyTorch's profiler", TRACES),
    "chrome": ('{"traceEvents": []}', "a Kineto trace of PyTorch's profiler", TRACES),
    "host": ('{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": []}', "an execution trace of PyTorch", TRACES),
    "chakra": ('{\n  "version": "0.0.4"\n}\n{"id": "1", "name": "n", "type": "COMP_NODE"}\n', "a Chakra trace as JSON",
               TRACES),
    "goal": ("num_ranks 2\n\nrank 0 {\nl1: calc 100\n}\nrank 1 {\n}\n", "a GOAL schedule",
             "expected a workload as SimAI text, or Chakra traces"),
    "topology": ('<?xml version="1.0"?>\n<system version="1">\n  <cpu numaid="0"></cpu>\n</system>\n',
                 "NCCL's topology", "expected a topology file"),
    "graph": ('<graphs version="1">\n  <graph id="0" pattern="4"></graph>\n</graphs>\n', "NCCL's graphs",
              "expected a topology file")}

WORKLOADS = {"goal"}  # that SimAI_simulator runs


def run(place, program, *arguments, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    return subprocess.run([PROGRAMS / program, *map(str, arguments)], cwd=place, env={**clean, **environment},
                          capture_output=True, text=True)


def refusal(done):
    """@return the line that a refused run has written"""
    assert done.returncode == 2, done.stderr
    line, = (line for line in done.stderr.splitlines() if not line.startswith("warning: "))
    return line


@pytest.mark.parametrize("kind", OTHERS)
def test_a_file_of_another_program_is_named_where_it_is_refused(tmp_path, kind):
    text, name, instead = OTHERS[kind]
    topology = servers(tmp_path / "n.txt", 1, gpus=2)
    (tmp_path / "other").write_text(text)
    done = run(tmp_path, "SimAI_simulator", "-w", "other", "-n", topology, "-o", "out")
    if kind in WORKLOADS:
        assert done.returncode == 0, done.stderr
    else:
        line = refusal(done)
        assert "other:1: this is " + name in line and instead in line
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 1024 DP\n")
    line = refusal(run(tmp_path, "SimAI_simulator", "-w", "w.txt", "-n", "other", "-o", "out"))
    assert "other:1: this is " + name in line


def test_a_prefix_without_traces_is_told_what_is_missing(tmp_path):
    topology = servers(tmp_path / "n.txt", 1, gpus=2)
    line = refusal(run(tmp_path, "SimAI_simulator", "-w", "job", "-n", topology, "-o", "out"))
    assert (
        "job: there is no such workload, and no trace job.0.et; expected a file, or the prefix of Chakra traces" in line
    )
    (tmp_path / "job.0.json").write_text('{"id": 0}')
    line = refusal(run(tmp_path, "SimAI_simulator", "-w", "job", "-n", topology, "-o", "out"))
    assert (
        "job.0.json: this is a Chakra trace as JSON, which is not read; expected traces job.0.et, job.1.et, ..." in line
    )
    (tmp_path / "other.0.et").write_bytes(b"\n")
    line = refusal(run(tmp_path, "SimAI_simulator", "-w", "other.0.et", "-n", topology, "-o", "out"))
    assert "other.0.et: this is the Chakra trace of one rank; expected the prefix of all: other" in line


@pytest.mark.parametrize("name", ["NCCL_TOPO_FILE", "NCCL_GRAPH_FILE"])
def test_xml_of_nccl_in_the_environment_is_told_of(tmp_path, name):
    topology = servers(tmp_path / "n.txt", 1, gpus=2)
    (tmp_path / "w.txt").write_text("1 ALLREDUCE 1024 DP\n")
    done = run(tmp_path, "SimAI_simulator", "-w", "w.txt", "-n", topology, "--network", "flow", "-o", "out",
               **{name: "x.xml"})
    assert done.returncode == 0, done.stderr
    assert (
        f"warning: environment: {name} has no effect, as NCCL's XML is not read: the topology file says" in done.stderr
    )


# Commands of scripts/ that read a file which users name, each with the words around it and what it expects.
SIZES = ["--config", "other", "--gpu_type", "H100", "--world_size", "8"]
TRAINING = ["--model_name", "llama3_8b", "--gpu_type", "H100", "--world_size", "8"]
READERS = {
    "config": ("scripts/workload.py", SIZES, "a config.json"),
    "measured": ("scripts/workload.py", [*TRAINING, "--measured", "other"], "times of operators"),
    "loads": ("scripts/workload.py", ["--model_name", "mixtral_8x7b", "--gpu_type", "H100", "--world_size", "8", "--ep",
                                      "8",
                                      "--moe_imbalance", "./other"], "a number of tokens for each expert"),
    "against": ("scripts/plan.py", ["--gpu_type", "H100", "--against", "other"], "layouts with their speeds"),
    "check": ("topologies/gen_Topo_Template.py", ["--check", "other"], "a topology file"),
    "describe": ("topologies/gen_Topo_Template.py", ["--describe", "other"], "a topology file"),
    "draw": ("topologies/gen_Topo_Template.py", ["--draw", "other"], "a topology file"),
    "gpu table": ("topologies/gen_Topo_Template.py",
                  ["-topo", "Spectrum-X", "-g", "8", "-gt", "mine", "--gpu_table", "other"], "rows of GPUs"),
    "network": ("topologies/gen_Topo_Template.py", ["--astra_network", "other", "-gt", "H100"], "a network file"),
    "sweep": ("scripts/sweep.py", ["other", "-o", "out"], "a sweep file"),
    "sizes": ("scripts/hpcc_traffic.py", ["--topology", "n.txt", "--sizes", "other"], "a distribution of flow sizes"),
    "hosts": ("scripts/hpcc_traffic.py", ["--topology", "other", "--sizes", "sizes.txt"], "a topology file"),
    "conf": ("lab/against_hpcc.py", ["--simulator", "/bin/true", "other"], "a configuration of the HPCC simulator"),
    "run": ("scripts/report.py", ["other"], "the output directory of a run"),
    "runs": ("scripts/analyze_results.py", ["other"], "the output directory of a run"),
    "plot": ("scripts/plot.py", ["all", "other"], "the output directory of a run"),
}


@pytest.mark.parametrize("reader", READERS)
def test_scripts_name_a_file_of_another_program_and_the_file_that_they_expect(tmp_path, reader):
    script, words, expected = READERS[reader]
    servers(tmp_path / "n.txt", 1, gpus=2)
    (tmp_path / "sizes.txt").write_text("0 0\n1000 100\n")
    for kind, (text, name, instead) in OTHERS.items():
        (tmp_path / "other").write_text(text)
        done = run_script([ROOT / script, *words], cwd=tmp_path)
        line = refusal(done)
        assert "other:1: this is " + name in line and "which is not read; expected " + expected in line, kind
        assert instead.removeprefix("expected ") in line, kind


# JSON of others, with words that files of the kinds above have, too.
ALIKE = {"quantized": '{"quantization_config": {"version": "gemm"}, "hidden_size": 0}',
         "versioned": '{"version": "0.0.4", "hidden_size": 0}',
         "image": '{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json"}',
         "table": '{"schema": "1.0", "fields": []}'}


@pytest.mark.parametrize("kind", ALIKE)
def test_json_that_looks_alike_is_not_taken_for_a_trace(tmp_path, kind):
    (tmp_path / "other.json").write_text(ALIKE[kind])
    done = run_script([ROOT / "scripts/workload.py", "--config", "other.json", "--gpu_type", "H100", "--world_size",
                       "8"], cwd=tmp_path)
    assert "trace" not in refusal(done)
    topology = servers(tmp_path / "n.txt", 1, gpus=2)
    assert "trace" not in refusal(run(tmp_path, "SimAI_simulator", "-w", "other.json", "-n", topology, "-o",
                                      "out")).replace("Chakra traces", "")
