# SPDX-License-Identifier: GPL-2.0-only
"""scripts/sweep.py: grids, mistakes in them, bounds, interruption and going on after it."""
import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from waiting import HANGS, is_alive, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
SWEEP = ROOT / "scripts/sweep.py"
pytestmark = pytest.mark.real_time

# Stands in for the simulator: what it does is in its workload. It notes every start in "started".
PROGRAM = """#!/usr/bin/python3
import hashlib, json, os, pathlib, sys, time
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
workload, out = pathlib.Path(given["-w"]), pathlib.Path(given["-o"])
with open(workload.parent / "started", "a") as file:
    file.write(out.name + "\\n")
digest = hashlib.sha256(workload.read_bytes()).hexdigest()
record = {"status": "running", "inputs": [{"role": "workload", "path": str(workload), "sha256": digest}]}
(out / "run.json").write_text(json.dumps(record))
word, *rest = workload.read_text().split()
if word == "hold" and (workload.parent / "held").exists():
    (out / "pid").write_text(str(os.getpid()))
    end = time.monotonic() + 600
    while (workload.parent / "held").exists() and time.monotonic() < end:
        time.sleep(0.02)
if word == "eat":
    block = bytearray(300 * 1000 * 1000)
    time.sleep(60)
if word == "fail":
    sys.exit("the workload is wrong")
names = ["File name", "Expose DP comm", "Expose DP_EP comm", "Expose TP comm", "Expose_EP_comm",
         "Expose_PP_comm", "Expose_CP_comm", "Expose_other_comm", "bubble time", "total comp", "total exposed comm", "Total time"]
total = float(rest[0]) if rest else 1
(out / "EndToEnd.csv").write_text(", ".join(names) + "\\nw" + ",0.5 (50%)" * 10 + f",{total}\\ntotal exposed comm,0.5\\n")
(out / "arguments").write_text(json.dumps([sys.argv[1:], {n: v for n, v in os.environ.items()
                                                          if n.startswith("AS_")}]))
if word == "reuse":
    record["fast_forward"] = {"approximate": ["2 PFC pauses", "1 lost packets"]}
record |= {"status": "finished", "wall_s": 0.1, "peak_memory_bytes": 1000000, "flows": 3}
(out / "run.json").write_text(json.dumps(record))
"""


@pytest.fixture
def place(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    (tmp_path / "topology").write_text("a topology\n")
    for name, text in {"one": "go 40", "two": "hold 20", "three": "go 30"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    return tmp_path


def write(place, text="", workloads="[one.txt, two.txt, three.txt]"):
    (place / "grid.yaml").write_text(
        f"program: program.py\ntopologies: [topology]\nworkloads: {workloads}\n{text}")
    return place / "grid.yaml"


def command(place, *arguments):
    return [SWEEP, place / "grid.yaml", "-o", place / "out", *arguments]


def sweep(place, *arguments, env=None):
    return subprocess.run(command(place, *arguments), capture_output=True, text=True, timeout=HANGS,
                          env=os.environ | (env or {}))


def table(place):
    with (place / "out/table.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def started(place):
    return (place / "started").read_text().split()


def wait_for(path):
    return wait_until(lambda: path.exists() and path.read_text(), path)


def test_every_combination_runs_once_and_has_a_row(place):
    write(place, "conf:\n- {name: a, set: {BUFFER_SIZE: 16, KMIN_MAP: [1, 100, 2]}}\n- {name: b}\n"
                 "env:\n- {name: ring}\n- {name: nvls, set: {AS_NVLS_ENABLE: true}}\n"
                 "flags: --passes 2\n", "[one.txt, three.txt]")
    result = sweep(place, env={"AS_SEND_LAT": "7"})
    assert result.returncode == 0, result.stderr
    rows = table(place)
    assert [(r["conf"], r["workload"], r["env"]) for r in rows] == [
        (c, w, e) for c in "ab" for w in ("one", "three") for e in ("ring", "nvls")]
    assert len(started(place)) == len(set(started(place))) == 8
    assert {r["status"] for r in rows} == {"finished"}
    assert [float(r["total time us"]) for r in rows[:4]] == [40, 40, 30, 30]
    arguments, environment = json.loads((place / "out/runs/topology__a__one__nvls/arguments").read_text())
    assert environment == {"AS_NVLS_ENABLE": "1"}, "variables come from the grid only"
    assert arguments[4:10] == ["--set", "BUFFER_SIZE=16", "--set", "KMIN_MAP=1 100 2", "--passes", "2"]
    markdown = (place / "out/table.md").read_text().splitlines()
    assert len(markdown) == 2 + len(rows) and "| total time us |" in markdown[0]


def test_a_user_without_a_home_runs_sweeps(place):
    write(place, workloads="[one.txt]")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    # Not even root can make a folder in a file.
    result = subprocess.run(command(place), capture_output=True, text=True, timeout=60,
                            env=environment | {"HOME": str(place / "one.txt" / "home")})
    assert result.returncode == 0 and [row["status"] for row in table(place)] == ["finished"], result.stderr


def test_generated_topologies_that_differ_in_what_their_names_omit_are_two(place):
    (place / "grid.yaml").write_text(
        "topologies:\n- generate: -topo Spectrum-X -g 16 -psn 8\n- generate: -topo Spectrum-X -g 16 -psn 4\n"
        "workloads: [one.txt]\nprogram: program.py\n")
    assert sweep(place).returncode == 0
    used = [dict(zip(a[::2], a[1::2]))["-n"] for a in (
        json.loads((path / "arguments").read_text())[0] for path in sorted((place / "out/runs").iterdir()))]
    # 16 GPUs and 2 NVSwitches, 8 leaves, and 4 or 8 spines.
    assert [pathlib.Path(path).read_text().split()[0] for path in used] == ["30", "34"]


def test_times_are_compared_among_runs_of_a_workload(place):
    write(place, "network: [fast, slow]\n", "[one.txt]")
    assert sweep(place).returncode == 0
    assert [float(r["vs best"]) for r in table(place)] == [1, 1]
    assert [r["network"] for r in table(place)] == ["fast", "slow"]


def test_the_note_tells_why_times_of_reuse_are_approximate(place):
    (place / "one.txt").write_text("reuse 40")
    write(place, "", "[one.txt, three.txt]")
    assert sweep(place).returncode == 0
    assert [row["note"] for row in table(place)] == ["approximate with --fast-forward (2 PFC pauses; 1 lost packets)",
                                                     ""]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_sweep_goes_on_where_it_stopped(place, number):
    write(place)
    (place / "held").touch()
    process = subprocess.Popen(command(place, "-j", "1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    pid = wait_for(place / "out/runs/topology__two/pid")
    process.send_signal(number)
    _, errors = process.communicate(timeout=HANGS)
    assert process.returncode == 128 + number and "goes on where it stopped" in errors
    assert not is_alive(pid)
    before = {r["workload"]: r["status"] for r in table(place)}
    assert before.pop("two") == "running" and set(before.values()) <= {"finished", "not run"}

    (place / "held").unlink()
    result = sweep(place, "-j", "1")
    assert result.returncode == 0, result.stderr
    assert f"3 runs, {list(before.values()).count('finished')} complete" in result.stdout
    assert sorted(started(place)) == ["topology__one", "topology__three", "topology__two", "topology__two"]
    assert [float(r["total time us"]) for r in table(place)] == [40, 20, 30]
    assert sweep(place).stdout.startswith("3 runs, 3 complete")
    assert len(started(place)) == 4


def test_a_sweep_ends_with_its_terminal(place):
    write(place)
    (place / "held").touch()
    try:
        child, terminal = os.forkpty()
    except OSError as error:  # a root whose /dev/pts is empty, as chroot alone leaves it
        pytest.skip(f"there is no pseudo-terminal: {error.strerror}")
    if child == 0:
        os.execv(command(place)[0], [str(word) for word in command(place, "-j", "1")])
    pid = wait_for(place / "out/runs/topology__two/pid")
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 129
    assert not is_alive(pid)
    assert {r["workload"]: r["status"] for r in table(place)}["two"] == "running"


def test_a_sweep_under_nohup_goes_on_without_its_terminal(place):
    write(place)
    (place / "held").touch()
    process = subprocess.Popen(["nohup", *command(place, "-j", "1")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    wait_for(place / "out/runs/topology__two/pid")
    process.send_signal(signal.SIGHUP)
    (place / "held").unlink()
    process.communicate(timeout=HANGS)
    assert process.returncode == 0


def test_a_killed_sweep_leaves_no_process_behind(place):
    write(place)
    (place / "held").touch()
    process = subprocess.Popen(command(place, "-j", "1"), stdout=subprocess.DEVNULL)
    pid = wait_for(place / "out/runs/topology__two/pid")
    other = sweep(place)
    assert other.returncode == 2 and "another sweep writes there" in other.stderr
    process.kill()
    process.wait()
    wait_until(lambda: not is_alive(pid))


def test_what_changed_is_run_again(place):
    write(place)
    assert sweep(place).returncode == 0
    (place / "one.txt").write_text("go 41")
    (place / "out/runs/topology__three/run.json").write_text('{"status": "fin')
    dry = sweep(place, "--dry-run").stdout.splitlines()
    assert dry[1:] == ["topology__one: its inputs changed", "topology__two: complete",
                       "topology__three: its record is cut off"]
    assert sweep(place).returncode == 0
    assert sorted(started(place)[3:]) == ["topology__one", "topology__three"]
    assert float(table(place)[0]["total time us"]) == 41

    with (place / "program.py").open("a") as file:
        file.write("# another build\n")
    assert sweep(place, "--any-build").stdout.startswith("3 runs, 3 complete")
    assert sweep(place).stdout.startswith("3 runs, 0 complete")


def test_results_that_are_cut_off_anywhere_are_made_again(place, monkeypatch):
    write(place, workloads="[one.txt]")
    assert sweep(place).returncode == 0
    result = place / "out/runs/topology__one/EndToEnd.csv"
    whole = result.read_bytes()
    monkeypatch.syspath_prepend(ROOT / "python")
    from clustersim.sweep import runs

    assert runs.why_results_are_not_whole(result.parent, {}) == ""
    for length in range(len(whole)):
        result.write_bytes(whole[:length])
        assert runs.why_results_are_not_whole(result.parent, {}) == "its result EndToEnd.csv is cut off", length
    result.write_bytes(whole[:-2])  # one digit of the last number
    assert sweep(place).returncode == 0
    assert len(started(place)) == 2 and result.read_bytes() == whole


def test_a_run_above_its_memory_is_killed_and_the_others_finish(place):
    (place / "two.txt").write_text("eat")
    write(place, "memory_gb: 0.1\n")
    result = sweep(place)
    assert result.returncode == 1
    assert [r["status"] for r in table(place)] == ["finished", "running", "finished"]
    assert "killed: above its bound of 0.1 GB of memory" in table(place)[1]["note"]


def test_a_run_above_its_time_is_killed(place):
    (place / "held").touch()
    write(place, "time_limit_s: 1\n")
    result = sweep(place)
    assert result.returncode == 1
    assert table(place)[1]["note"] == "killed: above its bound of 1 s"


def test_a_failing_run_says_why(place):
    (place / "two.txt").write_text("fail")
    write(place)
    assert sweep(place).returncode == 1
    assert table(place)[1]["note"] == "exit status 1: the workload is wrong"


@pytest.mark.parametrize("text, message", [
    ("topologies: [a\n", ":2: expected ',' or ']', but got '<stream end>'; expected a sweep file (YAML)"),
    ("", ":1: is empty; expected topologies"),
    ("- 1\n", ":1: a sweep is a list; expected keys"),
    ("topologies: [topology]\n", ":1: has no 'workloads'; expected a list"),
    ("topologies: [topology]\nworkload: [one.txt]\n", ":2: 'workload' is not a key of a sweep; expected one of"),
    ("topologies: [topology]\n\nworkloads: [four.txt]\n", ":3: an entry of workloads 'four.txt' is not a file"),
    ("topologies: [topology]\nworkloads:\n- one.txt\n- one.txt\n", ":4: two entries of workloads are named 'one'"),
    ("topologies: [{name: a}]\nworkloads: [one.txt]\n", ":1: a topology needs a 'file', or 'generate'"),
    ("topologies: [topology]\nworkloads: []\n", ":2: workloads is empty; expected at least one entry"),
    ("topologies: [topology]\nworkloads: [one.txt]\nconf: [{set: 3}]\n", ":3: set is '3'; expected keys"),
    ("topologies: [topology]\nworkloads: [one.txt]\nmemory_gb: lots\nprogram: program.py\n",
     ":3: memory_gb is 'lots'; expected a number above 0"),
    ("topologies: [topology]\nworkloads: [{name: a/b, file: one.txt}]\n", ":2: the name 'a/b' cannot name"),
    ("topologies: [topology]\nworkloads: [one.txt]\nworkloads: [one.txt]\n", ":3: 'workloads' occurs twice"),
    ("topologies: [topology]\nworkloads: [one.txt]\nprogram: gone\n", ":3: program "),
    ("topologies: [{generate: '-g 7'}]\nworkloads: [one.txt]\nprogram: program.py\n", ":1: topology 'g7', -g 7: "),
])
def test_a_mistake_in_the_grid_names_file_line_and_what_is_expected(place, text, message):
    (place / "grid.yaml").write_text(text)
    result = sweep(place)
    assert result.returncode == 2, result.stdout
    assert message in result.stderr and str(place / "grid.yaml") in result.stderr
    assert "expected" in result.stderr


# Stands in for sbatch: starts what it is given beside itself, with the memory and time that were asked for.
SUBMIT = """#!/bin/sh
echo "$@" >> submitted
setsid sh "$3" > /dev/null 2>&1 &
echo $!
"""


def test_a_profile_sends_runs_to_a_cluster(place):
    (place / "three.txt").write_text("fail")
    write(place, "memory_gb: 2\ntime_limit_s: 90\n")
    profile = place / "profile"
    profile.mkdir()
    (profile / "submit").write_text(SUBMIT)
    (profile / "submit").chmod(0o755)
    (profile / "config.yaml").write_text(
        f'cluster: "{profile}/submit {{resources.mem_mb}} {{resources.runtime}}"\njobs: 2\n')
    result = sweep(place, "--profile", str(profile),
                   env={"CI": "true"})  # Snakemake looks once a second then, not every ten
    assert result.returncode == 1, result.stderr
    assert "as many at a time as the profile says, 2 GB each" in result.stdout
    assert [r["status"] for r in table(place)] == ["finished", "finished", "running"]
    assert table(place)[2]["note"] == "exit status 1: the workload is wrong"
    submitted = (place / "out/submitted").read_text().splitlines()
    assert [line.split()[:2] for line in submitted] == [["2000", "2"]] * 3


def test_a_profile_that_is_not_there_is_refused(place):
    write(place)
    result = sweep(place, "--profile", str(place / "none"))
    assert result.returncode == 2
    assert "snakemake.log: Error: profile given but no config.yaml found" in result.stderr
    assert not (place / "started").exists()


def test_arguments_after_two_dashes_go_to_snakemake(place):
    (place / "two.txt").write_text("fail")
    write(place)
    result = sweep(place, "-j", "2", "--", "--retries", "1")
    assert result.returncode == 1, result.stderr
    assert started(place).count("topology__two") == 2 and len(started(place)) == 4


def test_a_hundred_runs_cost_little_more_than_their_programs(place):
    program = place / "program.py"
    program.write_text("""#!/bin/sh
while [ "$1" != -o ]; do shift; done
printf '{"status": "finished", "inputs": [], "wall_s": 0, "peak_memory_bytes": 1}' > "$2/run.json"
""")
    rates = [f"{rate}Gbps" for rate in range(100, 600, 100)]
    write(place, "conf: [" + ", ".join(f"{{name: c{i}}}" for i in range(20)) + "]\n", "[one.txt]")
    grid = (place / "grid.yaml").read_text()
    topologies = ", ".join(f"{{name: n{rate}, generate: -topo Spectrum-X -g 16 -bw {rate}}}" for rate in rates)
    (place / "grid.yaml").write_text(grid.replace("[topology]", f"[{topologies}]"))
    before = os.times()
    assert sweep(place, "-j", "2").returncode == 0
    used = os.times()
    rows = table(place)
    assert len(rows) == 100 and {row["status"] for row in rows} == {"finished"}
    spent = used.children_user + used.children_system - before.children_user - before.children_system
    assert spent < 100 * 0.1, "a Python process for each run would take 0.3 s"


def test_a_sweep_says_each_minute_how_far_its_runs_are(place):
    write(place)
    (place / "held").touch()
    often = ("from clustersim import progress; progress.INTERVAL_S = 0.1; "
             "from clustersim.commands import sweep; sweep.run()")
    process = subprocess.Popen([sys.executable, "-c", often, *command(place, "-j", "1")[1:]], stdout=subprocess.PIPE,
                               text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "python")})
    record = place / "out/runs/topology__two/run.json"
    wait_for(record.parent / "pid")
    progress = {"wall_s": 61.2, "simulated_ns": 2.5e6, "done": 3, "of": 12, "unit": "collectives"}
    record.write_text(json.dumps({"status": "running", "progress": progress}))
    line = next(line for line in process.stdout if line.startswith("topology__two: "))
    assert line == "topology__two: 61 s, 2.500 ms simulated, 3 of 12 collectives\n"
    (place / "held").unlink()
    assert "3/3" in process.communicate(timeout=HANGS)[0]


def test_outputs_are_those_of_a_run_alone_and_one_refused_stops_no_other(place):
    program = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
    (place / "two.txt").write_text("HYBRID_TRANSFORMER model_parallel_NPU_group: x\n")
    (place / "grid.yaml").write_text(f"""
program: {program}
topologies:
- {{name: slow, generate: -topo Spectrum-X -g 16 -bw 100Gbps}}
- {{name: fast, generate: -topo Spectrum-X -g 16 -bw 400Gbps}}
conf: [{ROOT}/conf/SimAI.conf, {ROOT}/conf/HPCC.conf]
workloads: [{ROOT}/workloads/training_TP8_DP2.txt, two.txt]
network: [flow, packet]
flags: --fast-forward --fast-forward-store {place}/store
""")
    result = sweep(place, "-j", "2")
    rows = table(place)
    assert result.returncode == 1 and len(rows) == 16
    for row in rows:
        refused = row["workload"] == "two"
        assert row["status"] == ("refused" if refused else "finished")
        assert not refused or f"exit status 2: {place}/two.txt:1: " in row["note"]
    for directory in (place / "out/runs").glob("*__training*"):
        record = json.loads((directory / "run.json").read_text())
        words = record["arguments"]
        words[words.index("-o") + 1] = str(place / "alone" / directory.name)
        store = words.index("--fast-forward-store")
        del words[store:store + 2]
        subprocess.run([program, *words, "-q"], check=True)
        alone = place / "alone" / directory.name
        names = {path.name for path in alone.iterdir()}
        assert names == {path.name for path in directory.iterdir()} - {"sweep.json", "output.txt"}
        assert all((alone / name).read_bytes() == (directory / name).read_bytes() for name in names - {"run.json"})


def test_the_example_gives_the_results_of_runs_by_hand(place):
    program = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
    text = (ROOT / "sweeps/compare-topologies.yaml").read_text().replace("../", f"{ROOT}/")
    (place / "grid.yaml").write_text(text + f"program: {program}\n")
    result = sweep(place)
    assert result.returncode == 0, result.stderr + result.stdout
    rows = table(place)
    assert [r["topology"] for r in rows] == ["Spectrum-X", "AlibabaHPN", "Clos-4to1"]
    topology = next((place / "out/topologies/Spectrum-X").iterdir())
    subprocess.run([program, "-w", ROOT / "workloads/allToAll_EP64.txt", "-n", topology, "-c",
                    ROOT / "conf/SimAI.conf", "-o", place / "hand", "-q"], check=True)
    by_hand = (place / "hand/EndToEnd.csv").read_text().splitlines()[1].rsplit(",", 1)[1]
    assert float(rows[0]["total time us"]) == float(by_hand)
