# SPDX-License-Identifier: GPL-2.0-only
"""How scripts end whose output is lost, that get signals, and that read damaged files: with one short line, and never
with status 0."""
import pathlib
import re
import signal
import subprocess
import sys

import pytest
import run_directory
from script_process import run_script
from waiting import HANGS, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = [*(path for folder in ("scripts", "lab") for path in sorted((ROOT / folder).glob("*.py"))
             if path.name != "checkout.py"),
           ROOT / "topologies/gen_Topo_Template.py"]
QUESTIONS = ["--help", "--version"]


def refused(name, status, errors, reason):
    [line] = [line for line in errors.splitlines() if "warning: " not in line]
    assert status == 2 and line.endswith(f"standard output: cannot be written: {reason}; expected a file or a pipe "
                                         f"that takes all of it"), (name, line)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_tell_that_a_full_disk_lost_their_output(tmp_path, script, question):
    done = run_script([script, question], cwd=tmp_path, output="/dev/full")
    refused(script.name, done.returncode, done.stderr, "No space left on device")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_wrong_flag_is_one_line(tmp_path, script):
    done = run_script([script, "--nosuchflag"], cwd=tmp_path)
    [line] = done.stderr.splitlines()
    assert done.returncode == 2 and line.startswith(f"{script.name}: ") and "; expected " in line


@pytest.mark.parametrize("words", [["topologies/gen_Topo_Template.py", "-topo", "Clos2", "-g", "64"],
                                   ["scripts/plot.py", "--version"]])
def test_scripts_in_processes_of_their_own_do_so_too(tmp_path, words):
    command = [ROOT / words[0], *words[1:]]
    for shell, reason in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
        done = subprocess.run(["sh", "-c", f'exec "$@" {shell}', "sh", *command], cwd=tmp_path, stderr=subprocess.PIPE,
                              text=True, timeout=HANGS)
        refused(words[0], done.returncode, "\n".join(line for line in done.stderr.splitlines()
                                                     if not line.startswith(("oversub", "network of"))), reason)


# --- signals

SCRIPT = f"""import pathlib, sys, time
sys.path.insert(0, {str(ROOT / "python")!r})
from clustersim import command
def main(arguments):
    try:
        pathlib.Path("begun").touch()
        time.sleep({HANGS})
    finally:
        time.sleep(float(arguments[0]))
        pathlib.Path("cleaned").touch()
command.run("script", main)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_script_under_timeout_clears_up_and_says_one_line(tmp_path, number):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = ["timeout", "--preserve-status", "-s", number.name[3:], str(HANGS), sys.executable, "script.py", "0.3"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        wait_until((tmp_path / "begun").exists)
        process.send_signal(number)
        _, said = process.communicate(timeout=HANGS)
    assert process.returncode == 128 + number and said.count("\n") == 1 and said.startswith("script: "), said
    assert (tmp_path / "cleaned").exists()


def test_a_second_signal_a_second_later_ends_a_script_that_clears_up(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    with subprocess.Popen([sys.executable, "script.py", str(HANGS)], cwd=tmp_path, stderr=subprocess.PIPE,
                          text=True) as process:
        wait_until((tmp_path / "begun").exists)
        process.terminate()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1.2)
        process.terminate()
        _, said = process.communicate(timeout=HANGS)
    assert process.returncode == 143 and said.count("\n") == 1, said
    assert not (tmp_path / "cleaned").exists()


# --- damaged files

TOPOLOGY = "3 1 2\n2\n0 2 {} 1us 0\n1 2 100Gbps 1us 0\n"
PLAN = ["scripts/plan.py", "--gpus", "8"]
READERS = {
    "topology": (["topologies/gen_Topo_Template.py", "--check"], TOPOLOGY),
    "topology's nodes": (["topologies/gen_Topo_Template.py", "--describe"], "3 1 2\n{}\n"),
    "ASTRA-sim's network": (["topologies/gen_Topo_Template.py", "-gt", "H100", "--astra_network"],
                            "topology: [{}]\nnpus_count: [4]\n"),
    "prices": (["topologies/gen_Topo_Template.py", "--describe", "good", "--prices"], "{}: 3\n"),
    "GPU table": (["topologies/gen_Topo_Template.py", "-gt", "X99", "--gpu_table"], "{}: 3\n"),
    "model": ([*PLAN, "--config"], '{{"model_type": "{}"}}'),
    "model's key": (["scripts/workload.py", "--world_size", "8", "--config"], '{{"{}": 1}}'),
    "measured times": ([*PLAN, "--model", "llama2_7b", "--measured"], "{},1\n"),
    "grid": (["scripts/sweep.py"], "topologies: [{}]\nworkloads: [w]\n"),
    "grid's key": (["scripts/sweep.py"], "{}: 1\n"),
    "sizes of flows": (["scripts/hpcc_traffic.py", "--topology", "good", "--sizes"], "{} 1\n"),
}
RESULTS = {
    "record": ("run.json", '{{"status": "{}"}}'),
    "flows": ("fct.txt", "{} 0b000101 10000 100 1000 0 1000 500\n"),
    "links": ("links.csv", "{}\n"),
    "collectives": ("collectives.csv", "{}\n"),
}
KINDS = {"record": "breakdown", "flows": "fct", "links": "links", "collectives": "collectives"}
DAMAGES = {
    "long": "x" * 1_000_000,
    "long with blanks": "x y " * 250_000,
    "NUL": "x\0x",
    "escape": "x\x1b[31mx",
}


def short(result, most=1):
    assert result.returncode != 0 and "Traceback" not in result.stderr, result.stderr[-2000:]
    lines = [line for line in result.stderr.splitlines() if "warning: " not in line]
    assert 1 <= len(lines) <= most and all(len(line) < 1000 for line in lines), result.stderr[:2000]
    assert not re.search(r"x{81}|(x y ){21}", result.stderr), "a token is cut at 80 characters"
    assert all(c.isprintable() or c == "\n" for c in result.stderr), "control characters are escapes"


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("reader", READERS)
def test_a_damaged_token_is_short_in_a_scripts_message(tmp_path, reader, damage):
    words, text = READERS[reader]
    (tmp_path / "good").write_text(TOPOLOGY.format("100Gbps"))
    (tmp_path / "damaged").write_text(text.format(DAMAGES[damage]))
    short(run_script([ROOT / words[0], *words[1:], "damaged"], cwd=tmp_path))


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("result", RESULTS)
def test_a_damaged_result_is_short_in_a_scripts_message(tmp_path, result, damage):
    run_directory.write(tmp_path / "run")
    name, text = RESULTS[result]
    (tmp_path / "run" / name).write_text(text.format(DAMAGES[damage]))
    done = run_script([ROOT / "scripts/plot.py", KINDS[result], "run"], cwd=tmp_path)
    if done.returncode:
        short(done, 2)  # what is wrong, and that there is nothing to draw
