# SPDX-License-Identifier: GPL-2.0-only
"""scripts/busbw_table.py on hand-made records."""
import pathlib
import subprocess

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/busbw_table.py"
HEADER = ("id,layer,pass,phase,group,ranks,op,bytes,algorithm,protocol,channels,start_ns,end_ns,"
          "algbw,busbw,flows\n")


def run(directory):
    return subprocess.run([SCRIPT, directory], capture_output=True, text=True)


def test_groups_of_one_kind_and_size_make_one_row(tmp_path):
    (tmp_path / "collectives.csv").write_text(
        HEADER
        + "1,a,0,fwd,DP0,4,AllReduce,1000,Ring,Simple,2,0,1000,1.0,1.5,24\n"
        + "2,a,0,fwd,DP1,4,AllReduce,1000,Ring,Simple,2,0,2000,0.5,0.75,24\n"
        + "3,a,0,fwd,TP0,4,AllReduce,1000,Ring,Simple,2,0,4000,0.25,0.375,24\n")
    result = run(tmp_path)
    assert result.returncode == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[1] == ["AllReduce", "DP", "4", "1000", "Ring", "Simple", "2", "2.000", "0.75", "1.12"]
    assert lines[2] == ["AllReduce", "TP", "4", "1000", "Ring", "Simple", "1", "4.000", "0.25", "0.38"]
    assert len(lines) == 3


def test_a_directory_without_records_is_refused(tmp_path):
    result = run(tmp_path)
    assert result.returncode == 2
    assert "collectives.csv: no such file" in result.stderr


def test_a_missing_column_is_named(tmp_path):
    (tmp_path / "collectives.csv").write_text("id,op\n1,AllReduce\n")
    result = run(tmp_path)
    assert result.returncode == 2
    assert "busbw" in result.stderr and ":1:" in result.stderr
