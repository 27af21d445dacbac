# SPDX-License-Identifier: GPL-2.0-only
"""scripts/setup.sh against small archives of packages. Nothing is installed: apt and dpkg read folders of the test."""
import contextlib
import fcntl
import os
import pathlib
import re
import stat
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETUP = ROOT / "scripts/setup.sh"
BOOKWORM = {"libboost-dev": "1.74.0.3", "libboost1.81-dev": "1.81.0-5", "libboost-program-options-dev": "1.74.0.3",
            "libboost-program-options1.81-dev": "1.81.0-5", "clang": "1:14.0-55", "libclang-rt-14-dev": "1:14.0.6",
            "clang-format-14": "1:14.0.6"}
TRIXIE = {"libboost-dev": "1.83.0.2", "libboost1.88-dev": "1.88.0-1", "libboost-program-options-dev": "1.83.0.2",
          "libboost-program-options1.88-dev": "1.88.0-1", "clang": "1:19.0-63", "libclang-rt-19-dev": "1:19.1.7"}


def words_of(*lists):
    """@return the names of packages in the lists of setup.sh"""
    text = SETUP.read_text()
    found = "\n".join(re.search(rf"^{name}=\((.*?)\)$", text, re.MULTILINE | re.DOTALL)[1] for name in lists)
    return [word for line in found.splitlines() if not line.lstrip().startswith("#") for word in line.split()]


def is_choice(word):
    """Its name differs from system to system."""
    return word.isupper() or word == "clang" or "clang-" in word


class System:
    """A machine with a package archive."""

    def __init__(self, folder, available, installed=()):
        self.folder = folder
        for name in ("archive", "state/lists/partial", "cache/archives/partial", "dpkg/updates", "dpkg/info", "bin"):
            (folder / name).mkdir(parents=True)
        common = {word: "1" for word in words_of("fabric", "simulator", "tests", "develop") if not is_choice(word)}
        (folder / "archive/Packages").write_text("".join(
            f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: a <a@b>\nInstalled-Size: 100\n"
            f"Filename: ./{name}.deb\nSize: 1000\nSHA256: {'0' * 64}\nDescription: a package\n\n"
            for name, version in (common | available).items()))
        (folder / "dpkg/status").write_text("".join(
            f"Package: {name}\nStatus: install ok installed\nVersion: {(common | available)[name]}\nArchitecture: all\n"
            f"Maintainer: a <a@b>\nDescription: a package\n\n" for name in installed))
        (folder / "sources.list").write_text(f"deb [trusted=yes] file:{folder}/archive ./\n")
        (folder / "apt.conf").write_text(f"""Dir::State "{folder}/state";
Dir::State::status "{folder}/dpkg/status";
Dir::Cache "{folder}/cache";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
APT::Sandbox::User "root";
""")
        self.environment = {**os.environ, "APT_CONFIG": str(folder / "apt.conf"), "DPKG_ADMINDIR": str(folder / "dpkg"),
                            "PATH": f"{folder}/bin:{os.environ['PATH']}"}

    def update(self):
        subprocess.run(["apt-get", "update"], env=self.environment, check=True, capture_output=True)

    def apt_get(self, body):
        """Puts a program before the real apt-get, which notes how it is called."""
        program = self.folder / "bin/apt-get"
        program.write_text(f'#!/bin/sh\necho "$*" >> {self.folder}/calls\n{body}\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        (self.folder / "bin/sudo").symlink_to("/usr/bin/env")

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()

    def setup(self, *arguments):
        return subprocess.run([SETUP, *arguments], env=self.environment, capture_output=True, text=True)


def packages_of(result):
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()[-1].partition(" on the disk: ")[2].split()


def test_the_quick_start_takes_what_building_and_running_needs(tmp_path):
    system = System(tmp_path, BOOKWORM)
    system.update()
    needed = packages_of(system.setup("--dry-run"))
    assert {"libns3-dev", "protobuf-compiler", "python3-pandas"} <= set(needed)
    assert not set(needed) & {"chromium", "valgrind", "clang", "lintian", "tshark", "snakemake", "libgtest-dev",
                              "doxygen"}
    assert len(packages_of(system.setup("--fabric", "--dry-run"))) == len(words_of("fabric")) < len(needed)
    for_tests = packages_of(system.setup("--tests", "--dry-run"))
    assert for_tests == [*needed, *words_of("tests")]
    everything = packages_of(system.setup("--develop", "--dry-run"))
    assert set(for_tests) < set(everything)
    assert len(everything) == len(words_of("fabric", "simulator", "tests", "develop"))


def test_setup_says_first_how_much_it_installs(tmp_path):
    system = System(tmp_path, BOOKWORM)
    system.update()
    result = system.setup("--fabric", "--dry-run")
    count = len(words_of("fabric"))
    assert result.stdout.startswith(f"setup.sh: would install {count} packages, 0 B to download, "
                                    f"{count * 102400 // 1000} kB on the disk: build-essential cmake ")


@pytest.mark.parametrize("available, expected", [
    (BOOKWORM, {"libboost1.81-dev", "libboost-program-options1.81-dev", "clang-format-14", "libclang-rt-14-dev"}),
    (TRIXIE, {"libboost-dev", "libboost-program-options-dev", "libclang-rt-19-dev"})], ids=["bookworm", "trixie"])
def test_names_of_packages_are_those_of_the_system(available, expected, tmp_path):
    system = System(tmp_path, available)
    system.update()
    result = system.setup("--develop", "--dry-run")
    assert {name for name in packages_of(result) if "boost" in name or "clang-" in name} == expected
    left_out = "setup.sh: this system has no package clang-format-14, which only maintainers need\n"
    assert (left_out in result.stdout) == (available is TRIXIE)


@pytest.mark.parametrize("boost", ["libboost1.81-dev", "libboost1.83-dev"])
def test_nothing_is_done_where_everything_is_there(boost, tmp_path):
    boosts = (boost, boost.replace("boost", "boost-program-options"))
    others = [word for word in words_of("fabric", "simulator") if not is_choice(word)]
    system = System(tmp_path, BOOKWORM | dict.fromkeys(boosts, "1.83.0-1"), (*others, *boosts))
    system.apt_get("exit 1")
    result = system.setup()
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert not (tmp_path / "calls").exists()


def test_a_package_that_the_system_lacks_is_named(tmp_path):
    system = System(tmp_path, {"libboost-dev": "1.74.0.3"})
    system.update()
    result = system.setup("--fabric", "--dry-run")
    assert result.returncode == 2
    assert " has no package libboost1.81-dev; expected Debian 12 or newer, or Ubuntu 24.04 or newer" in result.stderr
    assert system.setup("--all").stderr == ("setup.sh: unknown argument '--all'; expected --fabric, --tests, --develop, "
                                            "--with-slurm or --dry-run\n")


def test_lists_are_fetched_where_there_are_none_and_an_error_of_apt_is_shown(tmp_path):
    system = System(tmp_path, BOOKWORM)
    system.apt_get('case "$*" in *update) exec /usr/bin/apt-get "$@" ;; '
                   '*" install "*) echo "E: the disk is full"; exit 100 ;; esac')
    result = system.setup("--fabric")
    assert result.returncode == 2
    assert "E: the disk is full\n" in result.stdout
    assert result.stderr == "setup.sh: installation failed; the lines of apt-get above say why\n"
    assert system.calls()[0].endswith("update")
    assert "-o DPkg::Lock::Timeout=600 install -y --no-install-recommends build-essential" in system.calls()[-1]


@contextlib.contextmanager
def held(path):
    with open(path, "w", encoding="ascii") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        yield


@pytest.mark.parametrize("lock", ["dpkg/lock-frontend", "state/lists/lock"])
def test_another_program_that_installs_is_waited_for_and_named(lock, tmp_path):
    system = System(tmp_path, BOOKWORM)
    system.update()
    system.apt_get("exit 0")
    with held(tmp_path / lock):
        running = subprocess.Popen([SETUP, "--fabric"], env=system.environment, stdout=subprocess.PIPE, text=True)
        lines = []
        while "waiting" not in (lines or [""])[-1]:
            lines.append(running.stdout.readline())
            assert lines[-1], lines
        name = pathlib.Path("/proc/self/comm").read_text().strip()
        assert lines[-1] == (f"setup.sh: waiting for {name} (process {os.getpid()}), which is installing packages "
                             "(at most 600 s)\n")
        time.sleep(0.2)
        assert not any(" -y " in call for call in system.calls())
    assert running.wait() == 0
    assert " install -y " in system.calls()[-1]


@pytest.mark.parametrize("prefix, where", [("lib", "/usr/include"), ("", "/opt/ns-3/include")],
                         ids=["ns-3.37", "ns-3.43"])
def test_ns3_is_found_under_the_names_of_its_release(prefix, where, tmp_path):
    (tmp_path / "ns3Config.cmake").write_text(f"""
add_library(ns3::{prefix}core SHARED IMPORTED)
set_target_properties(ns3::{prefix}core PROPERTIES INTERFACE_COMPILE_DEFINITIONS "NS3_LOG_ENABLE"
  INTERFACE_INCLUDE_DIRECTORIES "{where};/usr/include;/usr;/usr/include/libxml2"
  INTERFACE_LINK_LIBRARIES "/usr/lib/libgsl.so")
add_executable(ns3::tap-creator IMPORTED)
""")
    (tmp_path / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(small NONE)
include({ROOT}/cmake/find-ns3.cmake)
message(STATUS "modules ${{ns3_modules}}, core ${{libcore}}")
foreach(property COMPILE_DEFINITIONS INCLUDE_DIRECTORIES LINK_LIBRARIES)
  get_target_property(value ${{libcore}} INTERFACE_${{property}})
  message(STATUS "${{property}} '${{value}}'")
endforeach()
""")
    result = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-Dns3_DIR={tmp_path}"],
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert f"-- modules ns3::{prefix}core, core ns3::{prefix}core\n" in result.stdout
    included = "" if where == "/usr/include" else where
    assert f"-- COMPILE_DEFINITIONS ''\n-- INCLUDE_DIRECTORIES '{included}'\n-- LINK_LIBRARIES ''\n" in result.stdout
