# SPDX-License-Identifier: GPL-2.0-only
"""docs/source/reference/outputs.rst: every file that runs write is there, with every column and key."""
import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin"))
FOLDER = ROOT / "docs/source/reference"
# With the columns of tables that writers have written.
PAGE = re.sub(r"   :file: (\S+)", lambda match: "".join(f"``{line.split(',')[0]}`` "
                                                        for line in (FOLDER / match[1]).read_text().splitlines()),
              (FOLDER / "outputs.rst").read_text())
SYSTEM = {"scheduling-policy": "LIFO", "active-chunks-per-dimension": 1, "preferred-dataset-splits": 1,
          "track-local-mem": 1, "local-mem-trace-filename": "local_mem"}


def sections():
    """@return the text under each heading of the page"""
    parts = re.split(r"^(\S[^\n]*)\n(?:-{3,}|={3,})\n", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """@return the files of runs of every kind by name"""
    place = tmp_path_factory.mktemp("runs")
    (place / "star").write_text("5 1 4\n4\n" + "".join(f"{h} 4 100Gbps 1us 0\n" for h in range(4)))
    (place / "w.txt").write_text("1 ALLREDUCE 262144 DP\n")
    (place / "kv.txt").write_text("KV_CACHE\nprefill 0-1\ndecode 2-3\nlayers 2\nkv_heads 2\nhead_dim 64\nrequests 2\n"
                                  "rate 1000\nprompt_tokens 16\n")
    (place / "serve.txt").write_text("INFERENCE\nrequests 2\nrate 1000\nprompt_tokens 9\noutput_tokens 2\n"
                                     "instances colocated 0\n"
                                     "row step all linear 100 0 0 0 NONE 0\n")
    (place / "nodes").write_text("1\n4\n")
    (place / "flows").write_text("3\n0 3 3 100 300000 0\n1 3 3 100 300000 0\n2 3 3 100 300000 0\n")
    (place / "system.json").write_text(json.dumps(SYSTEM))
    conf = ROOT / "conf/SimAI.conf"
    monitors = [word for key in ("QLEN_MON_INTERVAL", "BW_MON_INTERVAL", "QP_MON_INTERVAL")
                for word in ("--set", f"{key}=2")]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}

    def run(program, *arguments):
        subprocess.run([PROGRAMS / program, *map(str, arguments)], check=True, capture_output=True, env=environment)

    run("SimAI_simulator", "-w", place / "w.txt", "-n", place / "star", "-c", conf, "-o", place / "a", *monitors,
        "--timeline-ranks", 2, "--background-flows", place / "flows", "--system-configuration",
        place / "system.json")
    run("SimAI_simulator", "-w", place / "kv.txt", "-n", place / "star", "-c", conf, "-o", place / "b")
    run("SimAI_simulator", "-w", place / "w.txt@1-3", "-w", place / "serve.txt@0", "-n", place / "star", "-c", conf,
        "-o", place / "e")
    run("qbb-flows", "-n", place / "star", "-c", conf, "-f", place / "flows", "-o", place / "c", *monitors,
        "--set", "ENABLE_TRACE=1", "--set", f"TRACE_FILE={place / 'nodes'}")
    run("SimCCL", "--op", "AllReduce", "--size", 65536, "--nNodes", 1, "--gpus_per_node", 8, "--gpu_type", "H100",
        "-o", place / "d")
    files = {file.name: file for directory in "abcd" for file in sorted((place / directory).iterdir())}
    # Of the second of two jobs, beside those of a KV-cache workload.
    return files | {file.name: file for file in (place / "e").glob("*.1.csv")}


def section_of(name):
    """@return the name of the section of a file, which may be that of a job"""
    return name.replace(".1.csv", ".csv")


def test_every_file_has_its_section(outputs):
    named = PAGE.replace("`", "")
    assert len(outputs) > 12
    for name in outputs:
        assert section_of(name) in sections() or name in named, f"{name} is not on the page"


def test_every_column_of_a_header_is_explained_under_its_file(outputs):
    checked = 0
    for name, file in outputs.items():
        if not name.endswith((".csv", ".txt")) or name in ("fct.txt", "pfc.txt", "trace.txt"):
            continue
        lines = file.read_text().splitlines()
        headers = lines[:1] + [line for line in lines[1:] if line.startswith("layer_name,")]
        run_name = lines[1].split(",")[0] if name.startswith("EndToEnd") else None
        for column in (cell.strip() for line in headers for cell in line.split(",")):
            if column != run_name:
                assert f"``{column}``" in sections()[section_of(name)], f"{name}: {column}"
                checked += 1
    assert checked > 60


def test_files_without_a_header_have_as_many_columns_as_the_page_says(outputs):
    assert all(len(line.split()) == 8 for line in outputs["fct.txt"].read_text().splitlines())
    assert "1, 2" in sections()["fct.txt"] and "8\n" in sections()["fct.txt"]
    form = re.search(r"^   (<time ns> .*)$", sections()["trace.txt"], re.MULTILINE)[1]
    words = len(re.sub(r"<[^>]*>", "x", form).split())
    lines = outputs["trace.txt"].read_text().splitlines()
    assert lines and all(len(line.split()) == words for line in lines)
    for event in {line.split()[4] for line in lines}:
        assert f"``{event}``" in sections()["trace.txt"]


def test_every_key_of_run_json_is_explained(outputs):
    for name in ("a", "b", "c"):
        record = json.loads((outputs["run.json"].parent.parent / name / "run.json").read_text())
        for key in record:
            assert f"``{key}``" in sections()["run.json"], f"run.json: {key}"


def test_every_kind_of_event_of_the_timeline_is_explained(outputs):
    events = json.loads(outputs["timeline.json"].read_text())
    for category in {event["cat"] for event in events if "cat" in event}:
        assert f"``{category}``" in sections()["timeline.json"], category
