# SPDX-License-Identifier: GPL-2.0-only
"""Descriptions for packages and stores agree with the sources; the version is in one place."""
import ast
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest
import yaml

from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from clustersim import simulation  # noqa: E402

PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])
VERSION = (ROOT / "VERSION").read_text().strip()
APPS = yaml.safe_load((ROOT / "packaging/ns3-app-store.yaml").read_text())


def test_every_module_has_an_entry_for_the_app_store():
    assert {app["folder"] for app in APPS} == {str(path.parent.relative_to(ROOT))
                                               for path in ROOT.glob("contrib/*/CMakeLists.txt")}


@pytest.mark.parametrize("app", APPS, ids=lambda app: app["name"])
def test_the_app_store_is_told_what_the_sources_say(app):
    folder = ROOT / app["folder"]
    cmake = (folder / "CMakeLists.txt").read_text()
    assert re.search(rf"LIBNAME {app['name']}\b", cmake)
    linked = re.findall(r"\$\{lib([\w-]+)\}", cmake[cmake.index("LIBRARIES_TO_LINK"):])
    assert set(app["depends"]) == set(linked)
    assert (ROOT / app["documentation"]).is_file() and (ROOT / app["install"].split()[0]).is_file()
    assert len(app["abstract"]) <= 160 and "version" not in app
    assert app["license"] in (ROOT / "CITATION.cff").read_text()


@pytest.mark.parametrize("program", sorted(path.stem for path in (ROOT / "scratch").glob("*.cc")) + ["simai-mpi.so"])
def test_no_library_is_linked_that_is_not_used(program):
    if not (PROGRAMS / program).exists():
        pytest.skip("not built on this machine")
    result = subprocess.run(["ldd", "-u", PROGRAMS / program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, ""), result.stdout


def test_the_version_is_in_one_place():
    for name in ("CHANGES.md", "RELEASE_NOTES.md"):
        assert re.search(r"^## (.*)$", (ROOT / name).read_text(), re.MULTILINE).group(1) == VERSION
    for name in ("CMakeLists.txt", "pyproject.toml", "CITATION.cff", "docs/source/conf.py", "packaging/Dockerfile",
                 "packaging/ns3-app-store.yaml", "scripts/maintain/package.sh"):
        assert VERSION not in (ROOT / name).read_text(), name


def test_an_installed_package_says_how_to_get_the_programs_that_it_lacks(tmp_path):
    subprocess.run(["cp", "-rL", ROOT / "python/clustersim", tmp_path], check=True)
    code = "from clustersim.simulation import find_program\nfind_program('SimAI_analytical')"
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
                            env={"PATH": "/nowhere"})
    assert result.stderr.endswith("expected the program that scripts/build.sh -c all builds in a checkout, whose bin/ the "
                                  "variable PROGRAM_DIR names; or the Debian package cluster-sim\n"), result.stderr


def test_an_installed_package_finds_programs_and_its_own_files(tmp_path):
    """As from a wheel: a copy of the package, links followed, without the checkout around it."""
    subprocess.run(["cp", "-rL", ROOT / "python/clustersim", tmp_path], check=True)
    code = """if True:
        import clustersim, pathlib, sys
        from clustersim.simulation import find_program
        from clustersim.workload.command import plan_command
        from clustersim.workload.write import chakra
        from clustersim.why import flags as command
        assert pathlib.Path(clustersim.__file__).is_relative_to(sys.argv[1])
        assert chakra.messages().Node
        given = plan_command.make_parser("").parse_args(["--model_name", "llama2_7b", "--gpus", "8"])
        print(find_program("SimAI_analytical", given.bin), given.conf, command.make_parser("").parse_args(["run"]).program)
    """
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/SimAI_analytical"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, cwd=tmp_path,
                          env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(program), "None", "None"]


@pytest.mark.parametrize("named", ["argument", "PROGRAM_DIR"])
def test_a_folder_that_is_named_is_not_replaced_by_another(tmp_path, monkeypatch, named):
    """Where bin/ and the PATH have the program as well."""
    for place in ("bin", "on-the-path", "named"):
        (tmp_path / place).mkdir()
        program = tmp_path / place / "SimAI_simulator"
        program.write_text("")
        program.chmod(0o755)
    monkeypatch.delenv("PROGRAM_DIR", raising=False)
    monkeypatch.setattr(simulation, "CHECKOUT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "on-the-path"))
    assert simulation.find_program() == tmp_path / "bin/SimAI_simulator"
    (tmp_path / "bin/SimAI_simulator").unlink()
    assert simulation.find_program() == tmp_path / "on-the-path/SimAI_simulator"
    if named == "PROGRAM_DIR":
        monkeypatch.setenv("PROGRAM_DIR", str(tmp_path / "named"))
    given = tmp_path / "named" if named == "argument" else None
    assert simulation.find_program(directory=given) == program
    program.unlink()
    with pytest.raises(FileNotFoundError, match="named/SimAI_simulator: no such program; expected"):
        simulation.find_program(directory=given)


def test_packages_have_the_commands_of_users_and_no_others():
    """Those of scripts/, and the topology generator; lab/ and bench/ stay in the checkout."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        wheel = tomllib.load(file)
    commands = {path.stem for path in ROOT.glob("scripts/*.py") if os.access(path, os.X_OK)} | {"topology"}
    assert wheel["project"]["scripts"] == {f"cluster-sim-{name}".replace("_", "-"): f"clustersim.commands.{name}:run"
                                           for name in commands}
    assert wheel["tool"]["setuptools"]["packages"]["find"]["where"] == ["python"]
    install = (ROOT / "cmake/packages.cmake").read_text()
    folders = re.search(r"install\(DIRECTORY ([\w ]+) DESTINATION \$\{tree_in_prefix\}", install).group(1).split()
    assert "python" in folders and not {"lab", "bench"} & set(folders) and re.findall(r"file\(GLOB scripts \w+ (.*)\)",
        install) == ["scripts/*.py"]


DISTRIBUTIONS = {"yaml": "PyYAML", "google": "protobuf"}  # whose name is not the module's


def imported():
    """@return modules of others that the package and the scripts of the packages import"""
    files = [*ROOT.glob("python/**/*.py"), *ROOT.glob("scripts/*.py"), *ROOT.glob("topologies/*.py")]
    own = {path.stem for path in files} | {"clustersim"}
    found = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found - own - sys.stdlib_module_names


def test_packages_depend_on_what_their_scripts_import():
    debian = re.search(r"PACKAGE_DEPENDS\s+((?:\"[^\"]*\"\s*)+)", (ROOT / "cmake/packages.cmake").read_text()).group(1)
    depends = set(re.findall(r"[\w-]+", debian))
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    wheel = {re.match(r"\w+", each).group().lower() for each in project["dependencies"]}
    assert imported(), "some are found"
    for module in imported():
        assert f"python3-{module}" in depends, module
        assert DISTRIBUTIONS.get(module, module).lower() in wheel, module
    assert "snakemake" in project["optional-dependencies"]["sweep"][0]


def test_dependencies_of_the_package_are_written_as_debian_reads_them():
    """As cpack gets them: CMake joins the parts of a list with semicolons, which dpkg refuses."""
    config = (pathlib.Path(os.environ["PROGRAM_DIR"]).parent / "CPackConfig.cmake").read_text()
    for field in ("DEPENDS", "RECOMMENDS"):
        names = re.search(rf'set\(CPACK_DEBIAN_PACKAGE_{field} "(.*)"\)', config).group(1).split(", ")
        assert len(names) > 1 and all(re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name) for name in names), names


def test_the_package_and_the_image_have_what_starts_and_feeds_the_programs():
    """mpirun for SimAI_phynet; protoc and its Python module for Chakra traces; Snakemake for sweeps; cpack compiles no
    tests."""
    packages = (ROOT / "cmake/packages.cmake").read_text()
    recommended = re.search(r'PACKAGE_RECOMMENDS "(.*)"', packages).group(1).split(", ")
    assert recommended == ["openmpi-bin", "protobuf-compiler", "python3-protobuf", "snakemake"]
    image = (ROOT / "packaging/Dockerfile").read_text().split()
    assert set(recommended) < set(image)
    assert "set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)" in (ROOT / "CMakeLists.txt").read_text()


def test_the_bill_of_materials_says_who_needs_what(tmp_path):
    """The programs do not link GSL, whose licence is GPL-3; Debian's ns-3 does. No library is under Apache-2.0, which
    GPL-2.0-only does not go with either. A walk along the needs finds every package."""
    subprocess.run([ROOT / "scripts/maintain/sbom.py", PROGRAMS / "SimAI_simulator", "-o", tmp_path / "bill.json"],
                   check=True)
    bill = json.loads((tmp_path / "bill.json").read_text())
    needs = {}
    for relation in bill["relationships"]:
        needs.setdefault(relation["spdxElementId"], set()).add(relation["relatedSpdxElement"])
    [ns3] = [package for package in needs["SPDXRef-cluster-sim"] if re.match(r"SPDXRef-libns3\.", package)]
    assert not any("libgsl" in package for package in needs["SPDXRef-cluster-sim"])
    assert "libfmt-dev" in [package["name"] for package in bill["packages"] if package["licenseDeclared"] == "MIT"]
    assert not [package["name"] for package in bill["packages"] if "Apache" in package["licenseDeclared"]]
    assert any("libgsl" in package for package in needs[ns3])
    found, left = set(), ["SPDXRef-DOCUMENT"]
    while left:
        found.add(here := left.pop())
        left += needs.get(here, set()) - found
    assert found == {"SPDXRef-DOCUMENT", *(package["SPDXID"] for package in bill["packages"])}


def test_builds_need_nothing_that_only_ns3_needs():
    build = PROGRAMS.parent / "build.ninja"
    assert not re.findall(r"\S*lib(?:gsl|gslcblas|xml2)\.so", build.read_text())


def completions(program, word):
    """@return the flags that the shell offers after a program for the beginning of a word"""
    script = f"source packaging/completion.bash\nCOMP_WORDS=({program} {word}) COMP_CWORD=1\n_cluster_sim {program}\n" \
             'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return sorted(done.stdout.split())


@pytest.mark.parametrize("name", ["SimAI_simulator", "SimAI_analytical", "qbb-flows", "collective-perf", "SimCCL"])
def test_the_shell_offers_the_flags_and_nothing_else(name):
    """Each completion is a flag: with it alone, the program's complaint is another than about a flag that it does not
    know."""
    program = PROGRAMS / name
    offered = completions(program, "-")
    assert {"-h", "--help"} <= set(offered) and len(offered) > 5
    for flag in set(offered) - {"-h", "--help"}:
        done = subprocess.run([program, flag, "-h"], capture_output=True, text=True, timeout=HANGS)
        assert not re.search("unrecogni[sz]ed|unknown flag|ambiguous", done.stderr), (flag, done.stderr)


@pytest.mark.parametrize("program, begun, expected", [
    (PROGRAMS / "SimAI_analytical", "-n", ["-n", "-n_p_s", "-nic", "-nic_t", "-nv"]),
    (PROGRAMS / "SimAI_simulator", "--network-", ["--network-conf", "--network-configuration", "--network-kind",
                                                  "--network-table",
                                                   "--network-topo"]),
    (ROOT / "scripts/plot.py", "-", ["--format", "--help", "--output", "--published", "--theme", "--topology", "-h",
                                     "-o"])],
                         ids=lambda value: getattr(value, "name", ""))
def test_the_shell_completes(program, begun, expected):
    """plot.py's text names -r of another program, SimAI_analytical has SimAI's short flags in brackets."""
    assert completions(program, begun) == expected


def follower():
    """packaging/image-without-engine.py as a module"""
    spec = importlib.util.spec_from_file_location("image", ROOT / "packaging/image-without-engine.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_dockerfile_is_read_as_stages_of_steps():
    text = "# why\nFROM debian:12 AS build\nRUN a \\\n    b\n\nFROM debian:12\nCOPY --from=build /x /y/\n"
    assert follower().stages_of(follower().steps_of(text)) == {
        "build": ("debian:12", [("RUN", "a b")]), "image": ("debian:12", [("COPY", "--from=build /x /y/")])}


@pytest.mark.parametrize("given, image", [((), "debian:13"), (("DEBIAN=12", "OTHER=1"), "debian:12")])
def test_the_command_line_may_name_another_debian(given, image):
    steps = follower().steps_of("ARG DEBIAN=13\nFROM debian:$DEBIAN\n")
    assert follower().stages_of(steps, given) == {"image": (image, [])}


@pytest.mark.parametrize("image, suite", [("debian:12", "bookworm"), ("debian:13", "trixie")])
def test_a_root_has_the_archive_of_this_machine_and_its_own_suite(tmp_path, monkeypatch, image, suite):
    sources = tmp_path / "debian.sources"
    sources.write_text("URIs: http://mirror/debian\nSuites: bookworm bookworm-updates\n")
    module, asked = follower(), {}
    monkeypatch.setattr(module, "SOURCES", (sources,))
    monkeypatch.setattr(module, "call", lambda command, **options: asked.update(options, command=command))
    module.new_root(image, tmp_path / "root")
    assert asked["command"][-3:] == [suite, tmp_path / "root", "-"]
    assert asked["input"] == f"URIs: http://mirror/debian\nSuites: {suite} {suite}-updates\n"


def test_ours_can_be_followed(tmp_path):
    """Its images and words are known, what it runs is there, and a stage copies from one before it."""
    image = follower()
    stages = image.stages_of(image.steps_of((ROOT / "packaging/Dockerfile").read_text()))
    assert list(stages) == ["build", "image"]
    for name, (base, steps) in stages.items():
        assert base in image.SUITES
        assert {word for word, _ in steps} <= {"WORKDIR", "ENV", "COPY", "RUN"}
        for word, rest in steps:
            assert all((ROOT / script).is_file() for script in re.findall(r"\bscripts/[\w./-]+", rest))
            assert all(stage in list(stages)[:list(stages).index(name)] for stage in re.findall(r"--from=(\w+)", rest))
    package = tmp_path / "build/src/build/package/cluster-sim_1_amd64.deb"
    package.parent.mkdir(parents=True)
    package.write_text("a package")
    copied = [rest for word, rest in stages["image"][1] if word == "COPY"]
    image.copy(copied[0], tmp_path, tmp_path / "image", "/")
    assert (tmp_path / "image/tmp" / package.name).read_text() == "a package"


def test_every_stage_is_carried_out_in_a_new_folder(tmp_path, monkeypatch):
    """With mmdebstrap and chroot that only note what they are asked for, as the first does not make the folder above
    its own."""
    (tmp_path / "bin").mkdir()
    for name, body in (("mmdebstrap", '[ -d "$(dirname "$4")" ] && mkdir "$4"'),
                       ("chroot", 'case "$*" in *package.sh*) mkdir -p "$1/src/build/package" && '
                                  'echo made > "$1/src/build/package/cluster-sim_1_amd64.deb" ;; esac')):
        program = tmp_path / "bin" / name
        program.write_text(f'#!/bin/sh\necho {name} "$@" >> {tmp_path}/asked\n{body}\n')
        program.chmod(0o755)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{path}")
    image, root = follower(), tmp_path / "new/root"
    assert image.main([str(root)]) == 0
    assert (root / "build/src/scripts/maintain/package.sh").is_file(), "the checkout is copied"
    assert (root / "image/tmp/cluster-sim_1_amd64.deb").read_text() == "made\n", "and what it made goes on"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert [line.split()[0] for line in asked[:4]] == ["mmdebstrap", "chroot", "mmdebstrap", "chroot"]
    assert "OMPI_ALLOW_RUN_AS_ROOT=1" in asked[-1] and "cd /work && mpirun -np 1 SimAI_phynet --help" in asked[-1]


@pytest.mark.parametrize("missing, status, said", [(True, 1, "no such program"), (False, 2, "is not an empty folder")])
def test_what_keeps_an_image_from_being_made_is_named(tmp_path, missing, status, said):
    (tmp_path / "file").write_text("")
    done = subprocess.run([sys.executable, ROOT / "packaging/image-without-engine.py",
                           tmp_path / ("new" if missing else "file")],
                          capture_output=True, text=True, env={"PATH": str(tmp_path)})
    assert done.returncode == status and said in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr


def test_the_type_hints_of_the_packages_hold(tmp_path):
    """mypy finds nothing wrong in the packages, and something in a program that uses it wrongly or has functions
    without types, whichever versions of mypy, pydantic, numpy and matplotlib the system has."""
    def mypy(*arguments):
        return subprocess.run(["/usr/bin/mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir",
                               tmp_path / "cache", *arguments], cwd=ROOT, capture_output=True, text=True)
    result = mypy()
    assert result.returncode == 0, result.stdout
    (tmp_path / "wrong.py").write_text("import clustersim\n"
                                       "clustersim.simulate('workload', 'topology', output=3.5)\n")
    (tmp_path / "bare.py").write_text("def length(text):\n    return len(text)\n\n\n"
                                      "def half(number: int, up=False) -> int:\n    return number // 2 + up\n")
    result = mypy(tmp_path / "wrong.py", tmp_path / "bare.py")
    assert result.returncode == 1 and 'argument "output"' in result.stdout.lower(), result.stdout + result.stderr
    assert result.stdout.count("is missing a type annotation") == 2, result.stdout
