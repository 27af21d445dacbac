# SPDX-License-Identifier: GPL-2.0-only
"""scripts/busbw_table.py on hand-made records."""
import os
import pathlib
import re
import subprocess

import pytest
from script_process import run_script

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/busbw_table.py"
PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", SCRIPT.parents[1] / "bin")) / "SimAI_simulator"
HEADER = ("id,layer,pass,phase,group,ranks,op,bytes,algorithm,protocol,channels,start_ns,end_ns,"
          "algbw,busbw,flows\n")


def run(directory):
    return run_script([SCRIPT, directory])


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


def test_a_bandwidth_from_the_last_start_has_a_column_where_it_differs(tmp_path):
    """As in the tables of analyze_results.py, under the same name."""
    header = HEADER.replace("\n", ",last_start_ns,busbw_last_start\n")
    row = "1,a,0,fwd,DP0,4,AllReduce,1000,Ring,Simple,2,0,1000,1.0,1.5,24"
    (tmp_path / "collectives.csv").write_text(f"{header}{row},500,3.0\n")
    names, values = (line.split() for line in run(tmp_path).stdout.splitlines())
    assert " ".join(names).endswith("busbw GB/s from last start GB/s") and values[-2:] == ["1.50", "3.00"]
    (tmp_path / "collectives.csv").write_text(f"{header}{row},0,1.5\n")
    assert "last start" not in run(tmp_path).stdout


ROW = "1,a,0,fwd,DP0,4,AllReduce,1000,Ring,Simple,2,0,1000,1.0,1.5,24\n"


def test_a_part_of_a_run_is_not_presented_as_a_whole_one(tmp_path):
    (tmp_path / "collectives.csv").write_text(HEADER + ROW)
    (tmp_path / "run.json").write_text('{"status": "stopped"}')
    result = run(tmp_path)
    assert result.returncode == 0 and "AllReduce" in result.stdout
    assert result.stderr == (f"warning: {tmp_path}/run.json: the status of the run is 'stopped': its results are of "
                             f"what it did until then; "
                             "expected 'finished'\n")
    (tmp_path / "run.json").write_text('{"status": "finished"}')
    assert run(tmp_path).stderr == ""


def test_a_run_whose_files_have_a_prefix_is_named_by_one_of_them(tmp_path):
    (tmp_path / "a-collectives.csv").write_text(HEADER + ROW)
    (tmp_path / "a-EndToEnd.csv").write_text("")
    (tmp_path / "a-run.json").write_text('{"status": "finished"}')
    result = run(tmp_path / "a-EndToEnd.csv")
    assert (result.returncode, result.stderr) == (0, "") and "AllReduce" in result.stdout
    assert run(tmp_path).returncode == 2


@pytest.mark.skipif(not PROGRAM.is_file(), reason="SimAI_simulator is not built here")
def test_the_programs_table_and_both_scripts_have_the_same_columns_of_bandwidth(tmp_path):
    """Pairs of an AllToAll end at different times on the leaves, so ranks of the AllReduce after it start at different
    times."""
    run_script([SCRIPT.parents[1] / "topologies/gen_Topo_Template.py",
                *"-topo Clos2 -g 24 --nics_per_leaf 16 -gps 4 -o n".split()],
               cwd=tmp_path, check=True)
    (tmp_path / "w").write_text("1 ALLTOALL 4194304 DP\n1 ALLREDUCE 262144 TP\n")
    program = subprocess.run([PROGRAM, *"-w w -n n --tp 6 --network flow -o out".split()], cwd=tmp_path, check=True,
                             capture_output=True, text=True)
    analysed = run_script([SCRIPT.with_name("analyze_results.py"), tmp_path / "out", "--tables", "busbw"], check=True)
    table = run(tmp_path / "out")
    for text in (program.stdout, table.stdout, analysed.stdout):
        [head] = [line for line in text.splitlines() if "busbw GB/s" in line]
        assert head.split("busbw GB/s")[1].strip() == "from last start GB/s"
        rows = {line.split()[0]: [float(word) for word in line.split()[-2:]] for line in text.splitlines()
                if re.match(r"All\w+ +[A-Z]+ +\d", line)}
        assert rows["AllReduce"][1] > 1.05 * rows["AllReduce"][0] and rows["AllToAll"][0] == rows["AllToAll"][1]


def test_a_directory_without_records_is_refused(tmp_path):
    result = run(tmp_path)
    assert result.returncode == 2
    assert "collectives.csv: no such file" in result.stderr


def test_a_missing_column_is_named(tmp_path):
    (tmp_path / "collectives.csv").write_text("id,op\n1,AllReduce\n")
    result = run(tmp_path)
    assert result.returncode == 2
    assert "busbw" in result.stderr and ":1:" in result.stderr
