# SPDX-License-Identifier: GPL-2.0-only
"""Disks that are full or cannot be written to: the file is named, and nothing looks like it."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import run_directory  # noqa: E402

MODEL = ("--model_name", "llama2_7b", "--world_size", "8", "-o", "made", "--name", "w")


def a_full_disk():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


@pytest.mark.parametrize("script, words, file", [
    ("topologies/gen_Topo_Template.py", ("-topo", "Clos2", "-g", "64", "-o", "net"), "net"),
    ("scripts/workload.py", MODEL, "made/w.txt"),
    ("scripts/workload.py", ("--inference", "--requests", "1", "--rate", "1", "--prompt_tokens", "5", "--output_tokens",
                             "5", *MODEL),
     "made/w.txt"),
    ("scripts/report.py", ("run", "--no-plots", "-o", "page.html"), "page.html"),
    ("scripts/analyze_results.py", ("--dirs", "run", "-o", "tables"), "tables/runs.csv")])
def test_what_cannot_be_written_is_named(tmp_path, script, words, file):
    run_directory.write(tmp_path / "run")
    result = subprocess.run([ROOT / script, *words], cwd=tmp_path, capture_output=True, text=True,
                            preexec_fn=a_full_disk)
    assert result.returncode == 2, result.stderr
    *_, line = result.stderr.splitlines()
    assert f"{file}: File too large; expected " in line, result.stderr
    assert "Traceback" not in result.stderr
    assert [path for path in tmp_path.rglob("*") if ".part" in path.name or path == tmp_path / file] == []


# --- disks of our own, in a name space of our own

PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])


def on_a_disk(place, script):
    """@return what came of a shell's script that may mount file systems"""
    return subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script], cwd=place,
                          capture_output=True, text=True)


needs_disks = pytest.mark.skipif(on_a_disk("/", "mount -t tmpfs tmpfs /mnt").returncode != 0,
                                 reason="mounts are not permitted here")


@pytest.fixture
def place(tmp_path):
    (tmp_path / "n").write_text("5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1us 0\n" for host in range(4)))
    (tmp_path / "w").write_text("1 ALLTOALL 100000 DP\n" * 100)
    (tmp_path / "f").write_text("900\n" + "0 1 3 100 1000 0\n" * 900)
    (tmp_path / "c").write_text("CC_MODE 0\nPACKET_PAYLOAD_SIZE 1000\n")
    (tmp_path / "disk").mkdir()
    return tmp_path


SIMULATE = "SimAI_simulator -w w -n n -c c --tp 1 -o disk/out --network"


@needs_disks
@pytest.mark.parametrize("command", [f"{SIMULATE} packet", f"{SIMULATE} flow", f"{SIMULATE} analytical",
                                     "qbb-flows -c c -n n -f f -o disk/out"])
def test_the_record_of_a_run_on_a_full_disk_says_so(place, command):
    result = on_a_disk(place, f"mount -t tmpfs -o size=24k tmpfs disk; {PROGRAMS}/{command} -q; echo $? > status; cp "
                       f"-r disk/out kept")
    assert (place / "status").read_text() == "2\n", result.stderr
    [line] = result.stderr.splitlines()
    record = json.loads((place / "kept/run.json").read_text())
    assert (record["status"], record["reason"]) == ("failed", line)
    assert "No space left on device" in line and not line.startswith("disk/out/run.json")
    assert len(record["inputs"]) == 3 and record["options"], "the whole record"
    assert not (place / "kept/run.json.part").exists()


@needs_disks
def test_a_disk_without_room_for_a_record_is_named(place):
    fill = "mount -t tmpfs -o size=8k tmpfs disk; head -c 8192 /dev/zero > disk/full"
    result = on_a_disk(place, f"{fill}; {PROGRAMS}/{SIMULATE} packet -q; echo $? > status; ls disk/out > left")
    assert (place / "status").read_text() == "2\n"
    assert (
        result.stderr
        == "disk/out/run.json: cannot be written: No space left on device; expected a file that can be written\n"
    )
    assert "run.json" not in (place / "left").read_text()


@needs_disks
@pytest.mark.parametrize("script, words, file", [
    ("scripts/plot.py", "fct disk/run", "disk/run/plots/fct.png"),
    ("scripts/report.py", "disk/run --no-plots", "disk/run/report.html"),
    ("scripts/analyze_results.py", "--dirs disk/run -o disk/tables", "disk/tables"),
    ("scripts/workload.py", " ".join(MODEL[:4]) + " -o disk/made", "disk/made"),
    ("scripts/sweep.py", "grid -o disk/sweep", "disk/sweep"),
    ("topologies/gen_Topo_Template.py", "-topo Clos2 -g 64 -o disk/net", "disk/net")],
                         ids=lambda word: word.split("/")[-1])
def test_a_read_only_disk_is_named(place, script, words, file):
    run_directory.write(place / "run")
    (place / "grid").write_text(f"program: {PROGRAMS}/SimAI_simulator\ntopologies: [n]\nworkloads: [w]\n")
    result = on_a_disk(place, f"mount -t tmpfs tmpfs disk; cp -r run disk; mount -o remount,ro disk; {ROOT}/{script} "
                       f"{words}; echo $? > status")
    assert (place / "status").read_text() == "2\n", result.stderr
    assert "Traceback" not in result.stderr and ".part" not in result.stderr
    *_, line = result.stderr.splitlines()
    assert f"{file}: " in line and "Read-only file system; expected " in line


@needs_disks
def test_a_store_on_a_full_disk_is_a_warning(place):
    """The file is there; there is no room for patterns of another seed."""
    run = (
        f"{PROGRAMS}/SimAI_simulator -n n -c c --tp 1 -q --network flow --fast-forward --fast-forward-store disk/store"
    )
    result = on_a_disk(place, f"mount -t tmpfs -o size=128k tmpfs disk; {run} -w w -o first; head -c 1M /dev/zero > "
                       f"disk/full;"
                              f"{run} -w w --seed 2 -o out; echo $? > status")
    assert (place / "status").read_text() == "0\n"
    assert ("warning: --fast-forward-store: disk/store cannot be written: database or disk is full; nothing more is "
            "kept"
            in result.stderr.splitlines())
