# SPDX-License-Identifier: GPL-2.0-only
"""The scripts of the door: what they refuse, and what the layering check finds."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPDX = "// SPDX-License-Identifier: GPL-2.0-only\n"


@pytest.mark.parametrize("arguments, message", [
    ([], "-c is missing"),
    (["-c", "gpu"], "unknown component 'gpu'; expected ns3, analytical, phy, rdma-qbb or all"),
    (["-c", "ns3", "--profile", "fast"], "unknown profile 'fast'; expected release, trained or debug"),
    (["--fast"], "unknown argument '--fast'"),
    (["-c", "ns3", "-j", "many"], "-j 'many' is not a number"),
])
def test_build_refuses_wrong_arguments(arguments, message):
    result = subprocess.run([ROOT / "scripts/build.sh", *arguments], capture_output=True, text=True)
    assert result.returncode == 2
    assert message in result.stderr


@pytest.mark.parametrize("command", [["plan.py", "--gpus", "0"], ["plan.py", "--help"], ["goodput.py", "--days", "0"],
                                     ["report.py"],
                                     ["sweep.py"], ["why.py"], ["plot.py", "--help"], ["plot.py", "nothing", "run"],
                                     ["../lab/accuracy.py", "--help"],
                                     ["../lab/offload.py", "--help"], ["../lab/compare_backends.py", "--help"],
                                     ["calibrate.py", "--help"],
                                     ["workload.py", "--help"]], ids=" ".join)
def test_who_refuses_arguments_or_prints_help_loads_no_tables_and_no_pictures(command):
    """pandas and matplotlib take longer to load than such a command takes."""
    done = subprocess.run([sys.executable, "-X", "importtime", ROOT / "scripts" / command[0], *command[1:]],
                          capture_output=True, text=True)
    loaded = set(re.findall(r"\| +([\w.]+)$", done.stderr, re.MULTILINE))
    assert "argparse" in loaded and not loaded & {"pandas", "matplotlib.figure"}


def test_training_records_and_is_used(tmp_path):
    flags = {}
    for training in ("record", "use"):
        subprocess.run(["cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DCMAKE_UNITY_BUILD=OFF",
                        f"-DTRAINING={training}"], check=True, capture_output=True)
        commands = json.loads((tmp_path / "compile_commands.json").read_text())
        (flags[training],) = (entry["command"] for entry in commands if entry["file"].endswith("model/host/rdma-hw.cc"))
    assert "-fprofile-generate" in flags["record"] and "-fprofile-use" not in flags["record"]
    assert "-fprofile-use" in flags["use"] and "-fprofile-generate" not in flags["use"]
    wrong = subprocess.run(["cmake", "-S", ROOT, "-B", tmp_path, "-DTRAINING=yes"], capture_output=True, text=True)
    assert wrong.returncode != 0
    assert "TRAINING is yes; expected off, record or use" in wrong.stderr


def test_a_training_run_passes_through_all_cases(tmp_path):
    programs = pathlib.Path(os.environ["PROGRAM_DIR"])
    result = subprocess.run([ROOT / "bench/run.py", "--train", "--build", programs.parent], capture_output=True,
                            text=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert result.returncode == 0, result.stderr
    assert not list(tmp_path.iterdir()), "leaves nothing behind"
    wrong = subprocess.run([ROOT / "bench/run.py", "--train", "--build", tmp_path], capture_output=True, text=True)
    assert wrong.returncode == 2
    assert "bin/bench-end-to-end: is not there; expected the programs" in wrong.stderr


@pytest.mark.parametrize("builds, line", [(1, "mutants.py: the sources do not compile; expected a checkout that does, "
                                           "without warnings\n"),
                                          (0, "mutants.py: test-switch: fail without a fault; expected a checkout "
                                           "whose tests pass\n")])
def test_no_fault_is_planted_where_tests_fail_anyway(builds, line, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    monkeypatch.syspath_prepend(ROOT / "scripts/maintain")
    import mutants
    from clustersim import command

    monkeypatch.setattr(mutants, "COPY", tmp_path)
    monkeypatch.setattr(mutants.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], builds, stdout=""))
    monkeypatch.setattr(mutants, "tests_pass", lambda _: False)
    monkeypatch.setattr(sys, "argv", ["mutants.py", "--area", "mmu"])
    with pytest.raises(SystemExit) as ended:
        command.run("mutants.py", mutants.main, mutants.BaselineError)
    assert ended.value.code == 2 and capsys.readouterr().err == line


def test_check_in_tree_refuses_a_directory_without_ns3(tmp_path):
    result = subprocess.run([ROOT / "scripts/maintain/check-in-tree.sh", tmp_path], capture_output=True,
                            text=True)
    assert result.returncode == 2
    assert "is not an ns-3 source tree" in result.stderr
    unknown = subprocess.run([ROOT / "scripts/maintain/check-in-tree.sh", tmp_path, "--mp"], capture_output=True,
                             text=True)
    assert unknown.returncode == 2
    assert unknown.stderr.startswith("check-in-tree.sh: unknown argument '--mp'\n")


@pytest.mark.parametrize("script, arguments, module", [
    ("scripts/plot.py", ["fct", "."], "numpy"),
    ("scripts/analyze_results.py", ["--dirs", "."], "numpy"),
    ("scripts/report.py", ["."], "numpy"),
    ("scripts/sweep.py", ["sweep.yaml"], "yaml"),
    ("lab/reproduce.py", ["HPCC", "--whole"], "matplotlib"),
    ("topologies/gen_Topo_Template.py", ["--draw", "star"], "networkx"),
])
def test_a_python_without_a_module_is_refused_in_one_line(script, arguments, module, tmp_path):
    (tmp_path / "star").write_text("2 1 0 0 1 A100\n\n0 1 100Gbps 1us 0\n")
    # -S: without Debian's packages
    result = subprocess.run(["/usr/bin/python3", "-S", ROOT / script, *arguments], cwd=tmp_path,
                            capture_output=True, text=True)
    assert result.returncode == 2, result.stderr
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"{pathlib.Path(script).name}: ")
    assert f"no module '{module}'; expected" in line


def test_backends_are_not_compared_without_the_program(tmp_path):
    result = subprocess.run([ROOT / "lab/compare_backends.py"], cwd=tmp_path, capture_output=True, text=True,
                            env={"PROGRAM_DIR": str(tmp_path)})
    assert result.returncode == 2
    assert result.stderr == (f"compare_backends.py: {tmp_path / 'SimAI_simulator'}: no such program; "
                             "expected the program that scripts/build.sh -c all builds\n")


def test_sources_that_changed_last_compile_alone(tmp_path):
    script = tmp_path / "scripts/maintain/check-alone.py"
    script.parent.mkdir(parents=True)
    shutil.copy(ROOT / "scripts/maintain/check-alone.py", script)
    (tmp_path / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.25)
project(small CXX)
add_library(small contrib/small/lacking.cc contrib/small/whole.cc)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/contrib/astra-frontend/generated/ns3/chakra.pb.h COMMAND true)
add_custom_target(generated DEPENDS ${CMAKE_BINARY_DIR}/contrib/astra-frontend/generated/ns3/chakra.pb.h)
""")
    folder = tmp_path / "contrib/small"
    folder.mkdir(parents=True)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], cwd=tmp_path, check=True)
    for name, text in {"lacking.cc": "std::string lacking;\n", "whole.cc": '#include "whole.h"\n',
                       "whole.h": "int Whole();\n"}.items():
        (folder / name).write_text(text)
        subprocess.run([*git, "add", folder], cwd=tmp_path, check=True)
        subprocess.run([*git, "commit", "-qm", name], cwd=tmp_path, check=True)

    def check(*arguments):
        return subprocess.run([script, *arguments], capture_output=True, text=True)

    assert (check("--most", "1").returncode, check().returncode) == (0, 1)
    assert "lacking.cc" in check().stderr and "2 sources compiled alone, 1 with errors" in check().stdout
    (folder / "whole.h").write_text("std::string Whole();\n")
    assert "whole.h" in check("--most", "1").stderr


@pytest.fixture
def tree(tmp_path):
    """A small repository with a copy of the check; add(path, text) puts a source into it."""
    (tmp_path / "scripts/maintain").mkdir(parents=True)
    shutil.copy(ROOT / "scripts/maintain/check-layers.py", tmp_path / "scripts/maintain")
    stubs = tmp_path / "build/release/include/ns3"
    stubs.mkdir(parents=True)
    (tmp_path / "build/.gitignore").write_text("*\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)

    def add(path, text, spdx=SPDX):
        file = tmp_path / "contrib" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(spdx + text)
        if file.suffix == ".h":
            (stubs / file.name).write_text(f'#include "{file}"\n')
        subprocess.run(["git", "add", file], cwd=tmp_path, check=True)

    def check():
        return subprocess.run([tmp_path / "scripts/maintain/check-layers.py", "--alone"], capture_output=True,
                              text=True)

    return add, check


def test_layers_in_order_pass(tree):
    add, check = tree
    add("rdma-qbb/CMakeLists.txt", "set(rdma_qbb_headers\n    model/packet/frame.h)\n")
    add("rdma-qbb/model/packet/frame.h", "struct Frame {};\n")
    add("astra-frontend/model/native/ring.h", '#include "ns3/frame.h"\nstruct Ring { Frame f; };\n')
    add("astra-frontend/model/system/sys.h", '#include "astra-frontend/model/native/ring.h"\nstruct Sys { Ring r; };\n')
    add("astra-frontend/model/system/job.h", '#include "sys.h"\nstruct Job { Sys s; };\n')
    add("simulator/jobs/jobs.h", '#include "astra-frontend/model/system/job.h"\nstruct Jobs { Job j; };\n')
    result = check()
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("sources, message", [
    ({"rdma-qbb/model/a.h": '#include "ns3/b.h"\n', "astra-frontend/model/system/b.h": ""},
     "rdma-qbb must not know b.h of astra-frontend"),
    ({"astra-frontend/model/native/a.h": '#include "astra-frontend/model/system/b.h"\n',
      "astra-frontend/model/system/b.h": ""},
     "astra-frontend/model/native must not include b.h of astra-frontend/model/system"),
    ({"astra-frontend/model/system/a.h": '#include "collectives/model/nccl/b.h"\n', "collectives/model/nccl/b.h": ""},
     "astra-frontend/model/system must not include b.h of collectives/model/nccl"),
    ({"astra-frontend/model/shed/a.h": '#include "astra-frontend/model/api/b.h"\n', "astra-frontend/model/api/b.h": ""},
     "astra-frontend/model/shed is no room in ROOMS"),
    ({"rdma-qbb/CMakeLists.txt": "set(rdma_qbb_headers\n    model/b.h)\n",
      "astra-frontend/model/system/a.cc": '#include "ns3/b.h"\n',
      "rdma-qbb/model/b.h": '#include "ns3/simulator.h"\n'},
     "reaches ns-3: ns3/b.h -> ns3/simulator.h"),
    ({"base/a.h": '#include "ns3/simulator.h"\n'}, "base/a.h: reaches ns-3: ns3/simulator.h"),
    ({"collectives/model/graph/a.h": '#include "ns3/simulator.h"\n'}, "graph/a.h: reaches ns-3: ns3/simulator.h"),
    ({"rdma-qbb/model/a.cc": '#include "ns3/core-module.h"\n'}, "includes the module header"),
    ({"rdma-qbb/model/a.h": "", "simulator/run/a.h": ""}, "the name is also that of"),
    ({"rdma-qbb/model/a.h": "enum class Mark { Red };\n", "rdma-qbb/model/b.h": '#include "a.h"\n',
      "rdma-qbb/model/c.cc": '#include "b.h"\nMark f();\n', "rdma-qbb/model/d.cc": "Mark g();\n"},
     "model/d.cc: uses Mark and includes no way to a.h"),
    ({"rdma-qbb/model/a.h": "int\nBlend(int a);\n",
      "rdma-qbb/model/b.cc": '#include "a.h"\nint\nf()\n{\n    return Blend(1) + ns3::Blend(2);\n}\n',
      "rdma-qbb/model/d.cc": "int\ng()\n{\n    return Blend(1);\n}\n"},
     "model/d.cc: uses Blend and includes no way to a.h"),
    ({"rdma-qbb/model/a.h": "std::string f();\n"}, "model/a.h does not compile by itself"),
    ({"rdma-qbb/model/congestion/a.cc": "int a = Peek(port);\n"}, "congestion/a.cc: Peek is a word of the link engine"),
    ({"rdma-qbb/model/recovery/a.cc": "int a = device.CanSendNow(0);\n"},
     "recovery/a.cc: CanSendNow is a word between the link engine"),
    ({"rdma-qbb/model/base.h": "class Base\n{\n};\n",
      "rdma-qbb/model/leaf.h": '#include "base.h"\nclass Leaf final : public Base\n{\n};\n',
      "rdma-qbb/model/base.cc": '#include "leaf.h"\n'},
     "model/base.cc: Base includes leaf.h of its subclass Leaf"),
    ({"rdma-qbb/model/host/rdma-receiver.cc": "void f(RdmaMessage* message);\n"},
     "rdma-receiver.cc: RdmaMessage is the sender's"),
    ({"rdma-qbb/model/a.h": "class A\n{\n};\n", "rdma-qbb/model/a.cc": '#include "b.h"\n',
      "rdma-qbb/model/b.h": "class B\n{\n};\n", "rdma-qbb/model/b.cc": '#include "a.h"\n'},
     "a and b include each other; list them in PARTS"),
    ({"rdma-qbb/model/rdma-hw.h": "class A\n{\n};\n", "rdma-qbb/model/rdma-sender.h": "class B\n{\n};\n"},
     "rdma-hw and rdma-sender do not include each other; take them out of PARTS"),
    ({"rdma-qbb/model/host/a.h": "", "rdma-qbb/model/congestion/b.cc": '#include "ns3/a.h"\n'},
     'congestion/b.cc: includes "ns3/a.h"; expected "rdma-qbb/model/host/a.h"'),
    ({"rdma-qbb/model/host/a.h": "", "accl-cclo/model/data/b.cc": '#include "rdma-qbb/model/host/a.h"\n'},
     "a.h is private to rdma-qbb"),
    ({"simulator/run/a.cc": '#include "accl-collectives/b.h"\n', "accl-collectives/b.h": ""},
     "simulator must not know b.h of accl-collectives"),
    ({"astra-frontend/model/system/a.cc": "AcclCollectives* m_engines;\n"}, "system/a.cc: Accl is a word of an add-on"),
    ({"rdma-qbb/model/host/a.h": "", "rdma-qbb/examples/b.cc": '#include "rdma-qbb/model/host/a.h"\n'},
     "an example includes a.h, which is private"),
    ({"rdma-qbb/CMakeLists.txt": "set(rdma_qbb_headers\n    model/host/b.h)\n", "rdma-qbb/model/host/a.h": "",
      "rdma-qbb/model/host/b.h": '#include "a.h"\n'},
     "host/b.h: is public and includes a.h, which is not"),
    ({"rdma-qbb/CMakeLists.txt": "set(rdma_qbb_headers\n    model/host/a.h)\n"},
     "model/host/a.h: is listed as public and not there"),
    ({"rdma-qbb/model/packet/a.h": "/**\n * @brief What a frame carries.\n */\n"},
     "a.h:3: a sentence begins with a noun clause: What a frame carries."),
    ({"rdma-qbb/model/packet/a.h": "/// Sent first. Who gets it answers.\n"},
     "a.h:2: a sentence begins with a noun clause"),
], ids=["module", "room", "room-of-another", "no-room", "ns-3", "base", "collectives", "module-header", "name",
        "out-of-reach", "function-out-of-reach", "alone", "engine-word", "derived-word",
        "subclass", "receiver", "pair", "stale-pair", "spelling", "private", "add-on", "add-on-word", "example",
        "public", "listed", "noun-clause", "second-sentence"])
def test_a_broken_rule_is_found(tree, sources, message):
    add, check = tree
    for path, text in sources.items():
        add(path, text)
    result = check()
    assert result.returncode == 1
    assert message in result.stderr


def test_rooms_in_a_circle_are_found(tree, tmp_path):
    add, check = tree
    script = next(tmp_path.rglob("check-layers.py"))
    script.write_text(script.read_text().replace('"rdma-qbb/model/events": set()',
                                                 '"rdma-qbb/model/events": {"model/partitions"}'))
    result = check()
    assert result.returncode == 1
    assert (
        "ROOMS has a circle: rdma-qbb/model/events -> rdma-qbb/model/partitions -> rdma-qbb/model/events"
        in result.stderr
    )


def test_switches_speak_with_the_engine_and_sources_of_subclasses_know_their_base(tree):
    add, check = tree
    add("rdma-qbb/model/switch/a.cc", "int a = device.CanSendNow(0) + copy->PeekHeader(ip);\n")
    add("rdma-qbb/model/base.h", "class Base\n{\n};\n")
    add("rdma-qbb/model/leaf.h", '#include "base.h"\nclass Leaf : public Base\n{\n};\n')
    add("rdma-qbb/model/leaf.cc", '#include "leaf.h"\n')
    result = check()
    assert result.returncode == 0, result.stderr


def test_a_type_that_is_announced_or_of_ones_own_needs_no_include(tree):
    add, check = tree
    add("rdma-qbb/model/a.h", "class Frame\n{\n};\nenum class Mark { Red };\n")
    add("rdma-qbb/model/b.cc", "class Frame;\nFrame* f;\nstruct Port\n{\n    enum class Mark { No };\n    Mark mark;\n"
        "};\n")
    result = check()
    assert result.returncode == 0, result.stderr


def test_a_source_without_licence_is_found(tree):
    add, check = tree
    add("rdma-qbb/model/a.cc", "int a;\n", spdx="")
    result = check()
    assert result.returncode == 1
    assert "a.cc: has no SPDX-License-Identifier" in result.stderr


@pytest.fixture
def package(tmp_path):
    """A copy of our package with the check; check(path, text) adds a line to a file of the package, and runs it."""
    (tmp_path / "scripts/maintain").mkdir(parents=True)
    shutil.copy(ROOT / "scripts/maintain/check-python.py", tmp_path / "scripts/maintain")
    for folder in ("python", "lab"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))

    def check(path, text):
        file = tmp_path / ("" if path.startswith("lab/") else "python/clustersim") / path
        file.parent.mkdir(exist_ok=True)
        file.write_text((file.read_text() if file.exists() else "") + text)
        return subprocess.run([tmp_path / "scripts/maintain/check-python.py"], capture_output=True, text=True)

    return check


@pytest.mark.parametrize("path, text, message", [
    ("workload/model/catalogue.py", "from clustersim.workload.reading import hugging_face\n",
     "clustersim/workload/model must not import clustersim.workload.reading.hugging_face of "
     "clustersim/workload/reading"),
    ("workload/plan/parallel.py", "def f():\n    import clustersim.workload.model.catalogue\n",
     "clustersim/workload/plan must not import clustersim.workload.model.catalogue of clustersim/workload/model"),
    ("whole_file.py", "from clustersim import simulate\n",
     "clustersim must not import clustersim.simulate of clustersim/__init__"),
    ("workload/shed/a.py", "import json\n", "clustersim/workload/shed is no room in ROOMS"),
    ("workload/plan/parallel.py", "#\n" * 1500, "python/clustersim/workload/plan: has"),
    ("workload/plan/parallel.py", f"# {'x' * 119}\n", "has more than 120 columns"),
    ("workload/plan/parallel.py", f"def f():\n    \"\"\"A\n    {'x' * 117}\"\"\"\n", "has more than 120 columns"),
    ("commands/plan.py", "def f():\n    from clustersim_lab.accuracy import tables\n",
     "clustersim/commands must not import clustersim_lab.accuracy.tables of clustersim_lab/accuracy"),
    ("lab/clustersim_lab/accuracy/tables.py", "from clustersim_lab.outcomes import card\n",
     "clustersim_lab/accuracy must not import clustersim_lab.outcomes.card of clustersim_lab/outcomes"),
    ("lab/clustersim_lab/box/ranks.py", "#\n" * 1500, "lab/clustersim_lab/box: has"),
], ids=["arrow", "function", "root", "no-room", "size", "columns", "docstring", "lab", "within-lab", "size-of-lab"])
def test_a_broken_rule_of_python_is_found(package, path, text, message):
    result = package(path, text)
    assert result.returncode == 1
    assert message in result.stderr and len(result.stderr.splitlines()) == 1


def test_python_rooms_in_a_circle_and_arrows_for_nothing_are_found(package, tmp_path):
    script = next(tmp_path.rglob("check-python.py"))
    script.write_text(script.read_text().replace('"clustersim/workload/plan": {"."}',
                                                 '"clustersim/workload/plan": {".", "workload/model"}'))
    result = package("workload/__init__.py", "")
    assert result.stderr == ("ROOMS has a circle: clustersim/workload/model -> clustersim/workload/plan -> "
                             "clustersim/workload/model\n"
                             "ROOMS: clustersim/workload/plan does not import clustersim/workload/model; take it out\n")


def test_python_in_order_passes(package):
    result = package("workload/model/catalogue.py",
                     "from clustersim.workload.plan import parallel\nimport clustersim.errors, json\n")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("script", sorted(str(path.relative_to(ROOT)) for folder in ("scripts", "lab")
                                          for pattern in ("*.sh", "*.py")
                                          for path in (ROOT / folder).rglob(pattern) if os.access(path, os.X_OK)))
def test_help_only_prints(script, tmp_path):
    """In an empty copy of the checkout: whatever a script did besides printing would fail or leave something."""
    for folder in ("scripts", "lab", "python"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    before = sorted(tmp_path.rglob("*"))
    result = subprocess.run([tmp_path / script, "--help"], cwd=tmp_path, capture_output=True, text=True,
                            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, timeout=HANGS)
    assert result.returncode == 0, result.stderr
    assert "usage" in result.stdout.lower() and result.stdout.splitlines()[0]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("script", sorted(str(path.relative_to(ROOT / "scripts"))
                                          for path in (ROOT / "scripts").rglob("*.sh") if os.access(path, os.X_OK)))
def test_unknown_flags_are_refused(script, tmp_path):
    for folder in ("scripts", "test/fuzz"):  # whose targets fuzz.sh knows
        shutil.copytree(ROOT / folder, tmp_path / folder)
    result = subprocess.run([tmp_path / "scripts" / script, "--nosuchflag"], cwd=tmp_path, capture_output=True,
                            text=True, timeout=HANGS)
    assert result.returncode == 2, result.stderr
    assert "--nosuchflag" in result.stderr


@pytest.mark.parametrize("script", [path for folder in ("scripts", "lab", "topologies")
                                    for path in sorted((ROOT / folder).glob("*.py"))
                                    if os.access(path, os.X_OK) and path.name != "check-layers.py"],
                         ids=lambda path: path.name)
def test_scripts_print_their_version(script):
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=HANGS)
    assert (done.returncode, done.stdout) == (0,
                                              f"{script.name} {(ROOT / 'VERSION').read_text().strip()}\n"), done.stderr


def test_a_moved_checkout_configures_afresh(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    (first / "scripts").mkdir(parents=True)
    for name in ("configure.sh", "show-help.sh"):
        shutil.copy2(ROOT / "scripts" / name, first / "scripts")
    shutil.copy2(ROOT / "CMakePresets.json", first)
    (first / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(empty NONE)\n")

    def configure(directory):
        return subprocess.run([directory / "scripts/configure.sh", "release"], capture_output=True, text=True)

    assert configure(first).returncode == 0
    assert configure(first).stdout == ""
    first.rename(second)
    moved = configure(second)
    assert moved.returncode == 0, moved.stderr
    assert f"was made in {first} and starts afresh" in moved.stdout
    shutil.copytree(second, first)
    copied = configure(first)
    assert copied.returncode == 0, copied.stderr
    assert "starts afresh" in copied.stdout


def test_check_in_tree_configures_a_fresh_tree(tmp_path):
    """A clone of ns-3 that was never built has no build/include/ns3."""
    for name in ("ns3", "test.py"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name} \"$1\" >> {tmp_path}/called\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "contrib").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/cmake").write_text(f"#!/bin/sh\necho cmake \"$@\" >> {tmp_path}/called\n")
    (tmp_path / "bin/cmake").chmod(0o755)
    result = subprocess.run([ROOT / "scripts/maintain/check-in-tree.sh", tmp_path, "-j", "7"], capture_output=True,
                            text=True, env={**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    assert result.returncode == 0, result.stderr
    called = (tmp_path / "called").read_text().splitlines()
    assert called[:2] == ["ns3 configure", "cmake --build cmake-cache -j 7"]
    assert len(called) > 10 and set(called[2:]) == {"test.py --no-build"}
    assert "suites passed" in result.stdout


def test_programs_in_scratch_link_every_installed_module():
    """A module that no program of ours includes is in the link line of each, for a user's own program."""
    ninja = (pathlib.Path(os.environ["PROGRAM_DIR"]).parent / "build.ninja").read_text()
    (libraries,) = re.findall(r"^build bin/SimCCL: .*?LINK_LIBRARIES = (.*?)$", ninja, re.DOTALL | re.MULTILINE)
    assert "libns3-csma.so" in libraries and "--as-needed" in libraries
