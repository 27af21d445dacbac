# SPDX-License-Identifier: GPL-2.0-only
"""Scripts whose disk is full name the file, and leave nothing that looks like it."""
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
    ("scripts/workload.py", ("--inference", "--requests", "1", "--rate", "1", "--prompt_tokens", "5", "--output_tokens", "5", *MODEL),
     "made/w.txt"),
    ("scripts/report.py", ("run", "--no-plots", "-o", "page.html"), "page.html"),
    ("scripts/analyze_results.py", ("--dirs", "run", "-o", "tables"), "tables/runs.csv")])
def test_what_cannot_be_written_is_named(tmp_path, script, words, file):
    run_directory.write(tmp_path / "run")
    result = subprocess.run([ROOT / script, *words], cwd=tmp_path, capture_output=True, text=True, preexec_fn=a_full_disk)
    assert result.returncode == 2, result.stderr
    *_, line = result.stderr.splitlines()
    assert f"{file}: File too large; expected " in line, result.stderr
    assert "Traceback" not in result.stderr
    assert [path for path in tmp_path.rglob("*") if ".part" in path.name or path == tmp_path / file] == []
