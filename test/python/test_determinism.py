# SPDX-License-Identifier: GPL-2.0-only
"""Results do not depend on scheduler and simulator implementation, and bench/determinism.py would notice."""
import os
import pathlib
import stat
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])


def determinism(*arguments):
    return subprocess.run([sys.executable, ROOT / "bench/determinism.py", *arguments], capture_output=True, text=True,
                          env={**os.environ, "PROGRAM_DIR": str(PROGRAMS)}, check=False)


def test_every_scheduler_and_implementation_gives_the_same_bytes():
    result = determinism("--only", "dcqcn-short", "--only", "loss-irn")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout == "26 runs in 13 ways, 0 differ\n"


def test_a_build_that_differs_is_named(tmp_path):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/SimAI_simulator"
    program.write_text(f'#!/bin/bash\n{PROGRAMS.resolve()}/SimAI_simulator "$@" || exit\n'
                       f'while [ "$1" != -o ]; do shift; done\n'
                       'echo more >> "$2/fct.txt"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    result = determinism("--only", "dcqcn-short", "--build", f"other={tmp_path}")
    assert result.returncode == 1
    assert "dcqcn-short, build other: fct.txt differ" in result.stdout


def test_a_build_that_is_not_there_is_refused(tmp_path):
    result = determinism("--build", f"none={tmp_path}")
    assert result.returncode != 0 and "is not a program" in result.stderr
