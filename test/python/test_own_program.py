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
    needed = subprocess.run(["readelf", "-d", tmp_path / "build/incast"], capture_output=True, text=True, check=True)
    assert "libns3" in needed.stdout  # which loads what it needs itself
    assert not re.search("libmd|libprotobuf|libsqlite3|libyaml|libz|libboost", needed.stdout)


def test_the_fabric_alone_is_configured_without_the_packages_of_the_rest(tmp_path):
    subprocess.run(["cmake", "--preset", "release", "-B", tmp_path, "-DFABRIC_ONLY=ON",
                    *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in
                      ("Protobuf", "SQLite3", "yaml-cpp", "ZLIB"))],
                   cwd=ROOT, check=True, capture_output=True)
    made = (tmp_path / "build.ninja").read_text()
    assert "librdma-qbb.a" in made and "astra" not in made


def test_an_unknown_part_is_refused(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(own LANGUAGES CXX)
find_package(cluster-sim REQUIRED COMPONENTS fabric PATHS {BUILD} NO_DEFAULT_PATH)
""")
    result = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build"], capture_output=True, text=True)
    assert result.returncode != 0
    assert "unknown component fabric; expected rdma-qbb, or none for all modules" in " ".join(result.stderr.split())
