# SPDX-License-Identifier: GPL-2.0-only
"""The project of its own in the docs builds against this build, and its messages take what links allow."""
import os
import pathlib
import re
import shutil
import subprocess

from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "build/release/bin")).resolve().parent


def test_a_project_of_its_own_builds_and_runs(tmp_path):
    shutil.copytree(ROOT / "docs/source/howto/own-program", tmp_path / "project")
    checked = "CHECKED_BUILD:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text()
    flags = "-fsanitize=address,undefined" if checked else "-O1"
    subprocess.run(["cmake", "-B", tmp_path / "build", "-S", tmp_path / "project", f"-DCLUSTER_SIM={ROOT}",
                    f"-DCLUSTER_SIM_BUILD={BUILD}", f"-DCMAKE_CXX_FLAGS={flags}"], check=True, capture_output=True)
    built = subprocess.run(["cmake", "--build", tmp_path / "build"], capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    result = subprocess.run([tmp_path / "build/incast", "3"], capture_output=True, text=True, timeout=HANGS)
    assert result.returncode == 0, result.stderr
    times = [int(time) for time in re.findall(r"^\d+ (\d+) us$", result.stdout, re.MULTILINE)]
    # 3 MB in frames of 4096 + 82 bytes over one link of 100 Gb/s, and two links of 1 us each way.
    least = 3e6 * (4096 + 82) / 4096 * 8 / 100e9 * 1e6 + 4
    assert len(times) == 3 and least <= max(times) + 1 < 1.5 * least
