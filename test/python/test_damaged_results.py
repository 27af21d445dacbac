# SPDX-License-Identifier: GPL-2.0-only
"""Damaged results: whatever is in the files of a run, every tool reads the rest, or refuses in one line that names the
file.

Every file of a run is damaged in every way, and every tool reads it. The tools run in this process: a thousand starts
would take minutes.
"""
import json
import os
import pathlib
import random
import re
import sys

import matplotlib
import pytest

import run_directory

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
matplotlib.use("Agg")

from clustersim import topology  # noqa: E402,F401
from clustersim.commands import analyze_results, busbw_table, goodput, why  # noqa: E402
from clustersim.errors import InputError  # noqa: E402
from clustersim.results import ResultsError, open_run  # noqa: E402
from clustersim.results.page import render  # noqa: E402
from clustersim.results.plots import KINDS  # noqa: E402
from clustersim.simulation import SimulationError  # noqa: E402

SERVED = """request,arrival_us,prompt_tokens,output_tokens,prefill_instance,decode_instance,preemptions,queue_us,prefill_us,transfer_us,decode_us,ttft_us,tpot_us,e2e_us,bytes,transfer_start_us,transfer_end_us,within_limits,cached_tokens,host_tokens,nvme_tokens,remote_tokens,priority,restarts,class
0,1.000000,512,2,0,0,0,1.0,2.0,0.0,3.0,3.0,3.0,6.0,0,,,1,0,0,0,0,0,0,chat
"""
INFERENCE = """metric,mean,p50,p90,p99,max
ttft_us,3.0,3.0,3.0,3.0,3.0
e2e_us,6.0,6.0,6.0,6.0,6.0
requests,1.0,,,,
"""
INSTANCES = """instance,role,tp,pp,dp,ep,held_us,starts,steps,busy_us,utilization,prompt_tokens,output_tokens,mean_sequences,preemptions,blocks,peak_blocks,mean_blocks
0,colocated,1,1,1,1,10.0,0,2,5.0,0.5,512,2,1.0,0,100,33,3.0
"""
TIMELINE = """[
{"ph":"M","pid":0,"name":"process_name","args":{"name":"rank 0"}},
{"ph":"X","pid":0,"tid":0,"name":"first","cat":"compute","ts":0.000000,"dur":100.000000,"args":{"phase":"fwd","pass":0}},
{"ph":"X","pid":0,"tid":1,"name":"exposed communication","cat":"wait","ts":100.000000,"dur":40.000000,"args":{"layer":"first","group":"TP"}},
{"ph":"X","pid":0,"tid":2,"name":"AllReduce","cat":"stream","ts":100.000000,"dur":40.000000,"args":{"layer":"first","collective":1,"bytes":1000000}},
{"ph":"b","pid":0,"tid":3,"id":7,"name":"to 1","cat":"flow","ts":101.000000,"args":{"collective":1,"bytes":1000000}},
{"ph":"e","pid":0,"tid":3,"id":7,"name":"to 1","cat":"flow","ts":139.000000}
]
"""
WORKLOAD = """HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 1 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 0
1
first -1 100000 ALLREDUCE 1000000 0 NONE 0 0 NONE 0 0
"""
FILES = run_directory.FILES | {
    "collectives.csv": run_directory.COLLECTIVES.replace(",flows\n", ",flows,last_start_ns,busbw_last_start\n").replace(
        ",8\n", ",8,100000.000,25.000000\n"),
    "links.csv": "".join(line + (",1,AllReduce TP 60%; AllReduce DP 40%,0>1 9%\n" if number
                                 else ",messages,used_by,largest_flows\n")
                         for number, line in enumerate(run_directory.LINKS.splitlines())),
    "requests.1.csv": SERVED, "inference.csv": INFERENCE, "instances.csv": INSTANCES, "timeline.json": TIMELINE,
    "job.txt": WORKLOAD,
    "topology": run_directory.TOPOLOGY}
DAMAGED = [name for name in FILES if name not in ("topology", "job.txt")] + ["run.json"]
RECORD = json.loads(run_directory.run_json()) | {
    "network": "packet", "cnps": 3, "longest_pause_ns": 10.0,
    "fast_forward_given_up": {"unit": "packet_hops", "simulated": 10}}
RECORD["options"] |= {"nccl_environment": {"AS_SEND_LAT": "3"}, "passes": 1, "set": []}
REFUSALS = (ResultsError, InputError, SimulationError, OSError)


def write(directory):
    directory.mkdir()
    RECORD["directory"] = str(directory)
    for name, text in FILES.items():
        (directory / name).write_text(text)
    (directory / "run.json").write_text(json.dumps(RECORD, indent=1) + "\n")
    return directory


def draw_all(directory):
    run = open_run(directory)
    run.read_all()
    for kind in KINDS.values():
        try:
            figure = kind.draw([run])
        except ResultsError:
            continue
        figure.canvas.draw()


def explain(directory):
    program = directory / "simulator"  # never run: what it would simulate is not damaged
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    why.main([str(directory), "--no-confirm", "--program", str(program), "-o", str(directory / "why")])


TOOLS = {
    "analyze_results": lambda directory: analyze_results.main([str(directory)]),
    "report": lambda directory: render([open_run(directory), open_run(directory, "again")], plots=False),
    "plot": draw_all,
    "busbw_table": lambda directory: busbw_table.main([str(directory)]),
    "why": explain,
    "goodput": lambda directory: goodput.iteration_s(directory),
}
NUMBERS = ["-5", "nan", "inf", "1e400", "-1e-9", "0", "", "x", "9" * 30, "1e300", "'", '"', "\N{SUPERSCRIPT TWO}",
           "[1]"]
VALUES = [None, True, -5, "x", [], {}, [[]], [1], {"a": []}, 1e308, float("nan"), 10**40, "\0", "x" * 3000, ["x"],
          [None]]


def damaged_texts(data, chance):
    """Yields ways to damage the text of a file."""
    for _ in range(3):
        yield data[:chance.randrange(len(data))]  # cut off
    yield data.split(b"\n")[0] + b"\n"  # a head alone
    yield b""
    yield b"\n"
    yield bytes(range(256)) * 9
    yield b"\0" * 100
    yield b"[" * 30000 + b"]" * 30000
    yield b"[3]\n"
    yield b"{}\n"
    yield b"null\n"
    yield data + data  # twice
    yield data.replace(b",", b";")
    yield data.replace(b"\n", b"\r\n")
    yield data.replace(b"\n", b"\n\n")
    lines = data.split(b"\n")
    chance.shuffle(lines)
    yield b"\n".join(lines)
    fields = [match.span() for match in re.finditer(rb"[-\d.]+", data)]
    for text in NUMBERS:
        for begin, end in chance.sample(fields, min(2, len(fields))):
            yield data[:begin] + text.encode() + data[end:]
    names = sorted(set(re.findall(rb"[A-Za-z_]{3,}", data)))
    for name in chance.sample(names, min(8, len(names))):
        yield data.replace(name, b"", 1)


def damaged_objects(value, chance):
    """Yields an object of JSON with one of its values, at any depth, replaced or left out."""
    places = []

    def walk(node, path):
        places.append(path)
        for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
            walk(node[key], (*path, key))

    walk(value, ())
    for path in places:
        for replacement in chance.sample(VALUES, 3):
            copy = json.loads(json.dumps(value))
            inner = copy
            for key in path[:-1]:
                inner = inner[key]
            if not path:
                copy = replacement
            else:
                inner[path[-1]] = replacement
            yield json.dumps(copy).encode()


def contents(name, data):
    chance = random.Random(name)
    yield from damaged_texts(data, chance)
    if name == "run.json":
        yield from damaged_objects(RECORD, chance)
    if name == "timeline.json":
        lines = data.split(b"\n")
        for number in range(1, len(lines) - 2):
            for line in damaged_objects(json.loads(lines[number].rstrip(b",")), chance):
                yield b"\n".join([*lines[:number], line + b",", *lines[number + 1:]])


# These read all files, which takes long: a sample of the ways, or all of them with DAMAGE_ALL=1.
SOME = {"analyze_results": 8, "report": 1, "plot": 1}
READ = {"busbw_table": ["collectives.csv"], "why": ["run.json", "timeline.json", "links.csv"],
        "goodput": ["run.json", "EndToEnd.csv"]}


@pytest.mark.parametrize("tool, name", [(tool, name) for tool in TOOLS if tool != "plot"
                                        for name in READ.get(tool, DAMAGED)])
def test_a_damaged_file_of_a_run_is_never_a_traceback(tmp_path, capsys, tool, name):
    directory = write(tmp_path / "run")
    if tool not in SOME or name == DAMAGED[0]:
        TOOLS[tool](directory)  # whole, it is no refusal
    found = list(contents(name, (directory / name).read_bytes()))
    if tool in SOME and not os.environ.get("DAMAGE_ALL"):
        found = random.Random(name).sample(found, min(SOME[tool], len(found)))
    for content in found:
        (directory / name).write_bytes(content)
        try:
            TOOLS[tool](directory)
        except REFUSALS as refusal:
            assert str(refusal).strip(), content
        except SystemExit as end:
            assert end.code == 2, content
        except Exception as error:
            raise AssertionError(f"{tool} on {name}: {content[:2000]!r}") from error
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_drawn_or_refused(tmp_path, name):
    directory = write(tmp_path / "run")
    data = (directory / name).read_bytes()
    found = list(contents(name, data))
    for content in random.Random(name).sample(found, 8 if os.environ.get("DAMAGE_ALL") else SOME["plot"]):
        (directory / name).write_bytes(content)
        try:
            draw_all(directory)
        except REFUSALS:
            pass
        except Exception as error:
            raise AssertionError(f"plot on {name}: {content[:2000]!r}") from error


@pytest.mark.parametrize("name", DAMAGED)
def test_a_byte_order_mark_changes_nothing(tmp_path, capsys, name):
    directory = write(tmp_path / "run")

    def outputs():
        for tool in ("analyze_results", "busbw_table", "why"):
            TOOLS[tool](directory)
        return capsys.readouterr(), TOOLS["goodput"](directory)

    plain = outputs()
    (directory / name).write_bytes(b"\xef\xbb\xbf" + (directory / name).read_bytes())
    assert outputs() == plain


@pytest.mark.parametrize("text", ["-1000000", "nan", "inf", "0.5x"])
@pytest.mark.parametrize("column", ["ranks", "bytes", "start_ns", "end_ns", "algbw", "busbw", "last_start_ns",
                                    "busbw_last_start"])
def test_a_number_that_cannot_be_leaves_its_line_out_and_says_so(tmp_path, capsys, column, text):
    directory = write(tmp_path / "run")
    head, first, *rest = FILES["collectives.csv"].splitlines()
    cells = first.split(",")
    cells[head.split(",").index(column)] = text
    (directory / "collectives.csv").write_text("\n".join([head, ",".join(cells), *rest]) + "\n")
    for tool in ("analyze_results", "busbw_table"):
        TOOLS[tool](directory)
        shown = capsys.readouterr()
        assert f"{directory}/collectives.csv:2: this line is not a record" in shown.err, tool
        row = next(line for line in shown.out.splitlines() if re.match("AllReduce +TP +2 ", line))
        assert "20.00" in row and "22.50" not in row, "the other group's bandwidth alone"


def test_what_a_killed_run_left_is_read(tmp_path, capsys):
    directory = write(tmp_path / "run")
    TOOLS["busbw_table"](directory)
    whole = capsys.readouterr().out
    for name in ("collectives.csv", "links.csv", "fct.txt"):
        (directory / name).rename(directory / f"{name}.part")
    TOOLS["busbw_table"](directory)
    assert capsys.readouterr().out == whole
    run = open_run(directory)
    assert len(run.collectives) == 3 and len(run.links) == 5 and len(run.flows) == 4 and not run.problems


@pytest.mark.parametrize("relative", [True, False])
def test_inputs_are_found_from_wherever_a_tool_is_started(tmp_path, monkeypatch, relative):
    for folder in ("where", "elsewhere"):
        (tmp_path / folder).mkdir()
    directory = write(tmp_path / "run")
    (directory / "topology").rename(tmp_path / "where" / "network")
    path = "network" if relative else str(tmp_path / "where" / "network")
    record = RECORD | {"directory": str(tmp_path / "where"), "topology": path,
                       "inputs": [{"role": "topology", "path": path, "sha256": ""}]}
    (directory / "run.json").write_text(json.dumps(record))
    monkeypatch.chdir(tmp_path / "elsewhere")
    # A file of that name that happens to be here is not the run's.
    (tmp_path / "elsewhere" / "network").write_text("3 1 0 1 2 A100\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    run = open_run(directory)
    assert run.topology is not None and run.topology.gpu_type == "H100" and not run.problems
