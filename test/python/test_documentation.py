# SPDX-License-Identifier: GPL-2.0-only
"""README and docs: every command runs, every link leads somewhere, the site builds.

A page's commands run one after another in one shell, as a reader pastes them, in a directory that looks like
the top of the repository, with bin/ holding the programs of this build, so nothing is written into the
checkout. What the text says of their output is compared with it (page_figures.py). After a change
of results, UPDATE_DOCUMENTATION=1 pytest test/python/test_documentation.py -k commands_of writes numbers, output and
pictures into the pages.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import matplotlib.image
import numpy as np
import pytest
from page_figures import Page
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from clustersim import rst  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin"))
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/source/**/*.rst"),
                *ROOT.glob("contrib/*/doc/*.rst")])

# Commands that scripts/test.sh itself runs, or a person runs once: not run again inside a test.
DONE_ELSEWHERE = re.compile(
    r"^(git "
    r"clone|scripts/(?:maintain/)?(setup|build|test|quickstart|check-in-tree|package|nightly|coverage|fuzz)\.sh|make "
    r"-C docs|cmake |ctest |docker |build/release/bin/accl-allreduce )")


BLOCKS = {".md": re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE),
          ".rst": re.compile(r"^\.\. code-block:: sh\n\n((?:(?:   .*)?\n)+)", re.MULTILINE)}


def blocks_and_ends(page):
    """Yields the commands of each block, and where in the page it ends."""
    for block in BLOCKS[page.suffix].finditer(page.read_text()):
        indent = 3 if page.suffix == ".rst" else 0
        yield "\n".join(line[indent:] for line in block[1].splitlines()) + "\n", block.end()


def command_blocks(page):
    return [block for block, _ in blocks_and_ends(page)]


def runnable(block):
    lines = [line for line in block.splitlines() if line.strip()]
    return not all(DONE_ELSEWHERE.match(line) for line in lines)


@pytest.fixture
def checkout(tmp_path):
    for entry in ROOT.iterdir():
        if entry.name not in ("bin", "build", "results", ".git"):
            (tmp_path / entry.name).symlink_to(entry)
    (tmp_path / "bin").symlink_to(PROGRAMS)
    (tmp_path / "build/release").mkdir(parents=True)
    (tmp_path / "build/release/bin").symlink_to(PROGRAMS)
    (tmp_path / "results").mkdir()
    return tmp_path


# Four pages run this sweep, which takes up where an earlier one stopped: only the first of them has to simulate.
SWEEP = "scripts/sweep.py sweeps/compare-topologies.yaml"
SWEPT = pathlib.Path("results/compare-topologies")


@pytest.fixture(scope="session")
def swept(tmp_path_factory):
    """Where the first page leaves the sweep's results; one place for all processes of a session."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "swept"


def keep_sweep(results, place):
    whole = place.with_name(f"swept-{os.getpid()}")
    shutil.copytree(results, whole)
    try:
        whole.rename(place)
    except OSError:  # another process was quicker
        shutil.rmtree(whole)


def marked(page):
    """The ranks of SimAI_phynet wait for each other by the real clock."""
    marks = [pytest.mark.real_time] if page.name == "physical.rst" else []
    if any("tshark" in block for block in command_blocks(page) if runnable(block)):
        marks.append(pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed "
                                                                           "(scripts/setup.sh --develop)"))
    return pytest.param(page, marks=marks, id=str(page.relative_to(ROOT)))


# Of commands that show what the warning is about; no other example brings one.
WARNINGS = re.compile("--fast-forward: the files of the network|--max_position_embeddings has no effect|"
                      "needs 91.3 GB: weights")
NEXT_BLOCK = "----- next block of the page -----"


@pytest.mark.parametrize("page", [marked(p) for p in PAGES if any(map(runnable, command_blocks(p)))])
def test_commands_of_a_page_run(page, checkout, swept):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("AS_", "NCCL_"))}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # in a container
    environment |= {"FI_OFI_RXM_BUFFER_SIZE": "65536"}  # as in test_physical_tools.py
    blocks = [(block, end) for block, end in blocks_and_ends(page) if runnable(block)]
    page_of_commands = "".join(f"echo {shlex.quote(block)} > block; echo '{NEXT_BLOCK}'\n{block}"
                               for block, _ in blocks)
    sweeps = SWEEP in page_of_commands
    if sweeps and swept.is_dir():
        shutil.copytree(swept, checkout / SWEPT)
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", page_of_commands], cwd=checkout,
                            env=environment, capture_output=True, text=True, timeout=HANGS)
    last = checkout / "block"
    assert last.is_file(), "no block of the page leaves the top of the repository"
    assert result.returncode == 0, f"{last.read_text()}\n{result.stdout[-2000:]}\n{result.stderr[-2000:]}"
    if sweeps and not swept.is_dir():
        keep_sweep(checkout / SWEPT, swept)
    printed = zip((end for _, end in blocks), result.stdout.split(f"{NEXT_BLOCK}\n")[1:])
    shown = Page(page, checkout, list(printed))
    shown.check()
    shown.faults += [line for line in result.stderr.splitlines() if "warning: " in line and not WARNINGS.search(line)]
    if "UPDATE_DOCUMENTATION" in os.environ:
        shown.renew()
    assert not shown.faults, "\n".join(shown.faults)


PAGE = """Three runs
==========

.. code-block:: sh

   scripts/runs.py

The slow run takes %s times as long, and a
third of it waits. It prints

.. printed: "%s times" is cell("results/table.csv", "us", run="slow")
   / cell("results/table.csv", "us", run="fast")
.. printed: "third of it" is printed(r"waits (\\d+)%%") / 100
.. printed below: run to fast
.. code-block:: text

   %s

.. drawn: results/plots/picture.png
.. image:: picture.png
"""


def test_numbers_outputs_and_pictures_that_are_stale_are_told_and_renewed(tmp_path):
    path = tmp_path / "page.rst"
    (tmp_path / "results/plots").mkdir(parents=True)
    (tmp_path / "results/table.csv").write_text("run,us\nfast,100\nslow,223\n")
    for name, brightness in (("results/plots/picture.png", 0.0), ("picture.png", 1.0)):
        matplotlib.image.imsave(tmp_path / name, np.full((60, 60, 3), brightness))
    path.write_text(PAGE % ("3.1", "3.1", "run us\n   fast 90"))
    outputs = [(path.read_text().index("The slow"), "a line before\n\nrun us\nfast 100\nslow 223\n\nwaits 34%\n")]
    page = Page(path, tmp_path, outputs)
    page.check()
    assert [re.sub(r"page.rst:\d+: ", "", fault) for fault in page.faults] == [
        "the page says 3.1 times, the commands 2.23", "the commands print\n   run us\n   fast 100\n",
        "picture.png does not look like results/plots/picture.png"]
    page.renew()
    assert path.read_text() == PAGE % ("2.2", "2.2", "run us\n   fast 100")
    page = Page(path, tmp_path, outputs)
    page.check()
    assert not page.faults


@pytest.mark.parametrize("mark, fault", [
    ("printed: 2 is 2", 'not of the form: "words" is EXPRESSION'),
    ('printed: "4 runs" is 4', 'the text above does not say "4 runs"'),
    ('printed: "slow run" is 4', 'no number in "slow run"'),
    ('printed: "3.1 times" is printed("x(y)")', "no output matches"),
    ('printed: "3.1 times" is cell("none.csv", "us")', "No such file"),
    ("printed below: never", "no output matches never")])
def test_a_mark_that_cannot_be_checked_is_told(mark, fault, tmp_path):
    (tmp_path / "page.rst").write_text(f"The slow run takes 3.1 times as long.\n\n.. {mark}\n")
    page = Page(tmp_path / "page.rst", tmp_path, [(0, "")])
    page.check()
    assert len(page.faults) == 1 and "page.rst:3: " in page.faults[0] and fault in page.faults[0]


def inline_commands(page):
    """Yields commands within sentences. Words in capitals stand for what a reader puts there."""
    for text in re.findall(r"(?<!`)``?([^`]+?)``?(?!`)", page.read_text()):
        words = text.split()
        while words and re.fullmatch(r"[A-Z_]+=\S+", words[0]):
            words = words[1:]
        if words and re.match(r"(bin|scripts|lab|topologies|bench)/[^/]+$",
                              words[0]) and not DONE_ELSEWHERE.match(text):
            yield text, words


def test_inline_commands_have_programs_and_flags_that_exist(checkout):
    helps = {}
    for page in PAGES:
        for text, (program, *arguments) in inline_commands(page):
            where = f"{page.relative_to(ROOT)}: {text}"
            # Benchmarks are built by their own targets.
            benchmark = ROOT / "bench" / f"{pathlib.Path(program).name}.cc"
            assert (checkout / program).exists() or benchmark.is_file(), where
            runs = (checkout / program).is_file() and os.access(checkout / program, os.X_OK)
            if program not in helps and runs:
                shown = subprocess.run([checkout / program, "--help"], cwd=checkout, capture_output=True, text=True)
                assert shown.returncode == 0, f"{where}: {shown.stderr}"
                helps[program] = shown.stdout
            for flag in arguments:
                if program in helps and flag.startswith("-") and not flag.startswith("--ns3::"):
                    assert flag.split("=")[0] in helps[program], f"{where}: no {flag}"


WIDEST = 100  # columns that a page shows of a command


def test_commands_do_not_run_off_the_page():
    for page in PAGES:
        for block in command_blocks(page):
            for line in block.splitlines():
                # Text between quotes cannot be broken.
                assert len(re.sub(r"'[^']*'", "''", line)) <= WIDEST, f"{page.relative_to(ROOT)}: {line}"


def test_no_page_has_commands_that_are_not_run():
    for page in PAGES:
        text = page.read_text()
        for block in command_blocks(page):
            for line in block.splitlines():
                text = text.replace(line, "", 1)
        for line in text.splitlines():
            # Words in capitals stand for what a reader puts there.
            if re.match(r"\s+(\w+=\S+ )*(bin|build|scripts|lab|topologies)/\S+ ", line):
                assert re.search(r" (DIR|FLOWS|TOPOLOGY|RUN|PREFIX)\b", line), f"{page.relative_to(ROOT)}:{line}"


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_links_of_a_page_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_files_that_pages_name_exist():
    for page in PAGES:
        for name in re.findall(r"(?<![\w./-])(?:scripts|lab|conf|workloads|topologies|contrib|scratch|bench)/"
                               r"[\w./-]*\w\.(?:sh|py|conf|txt|cc|h|rst|md)\b", page.read_text()):
            if "NAME" not in name and not name.startswith(("scratch/", "topologies/", "contrib/")):
                assert (ROOT / name).exists(), f"{page.relative_to(ROOT)} names {name}"


@pytest.mark.parametrize("folder, page, table", [("scripts", "reference/programs.rst", "Scripts\n-------"),
                                                 ("lab", "lab.rst", "Commands\n--------")])
def test_every_command_is_in_the_table_of_its_page(folder, page, table):
    """Users' commands are in the reference, those that validate the simulator on the developers' page."""
    text = (ROOT / "docs/source" / page).read_text().partition(f"\n{table}\n")[2].partition("\n---")[0]
    listed = re.findall(rf"^(?:   \* - )?``{folder}/(\w+\.py)``", text, re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in (ROOT / folder).glob("*.py") if os.access(path, os.X_OK))


def test_the_table_of_models_is_the_catalogue():
    page = ROOT / "docs/source/reference/models.rst"
    table = rst.list_table(catalogue.COLUMNS, catalogue.table(), (30, 14, 12, 10, 14, 20))
    text = page.read_text().partition(".. list-table::")[0] + table.rstrip() + "\n"
    if "UPDATE_DOCUMENTATION" in os.environ:
        page.write_text(text)
    assert page.read_text() == text


COMMANDS = [*filter(lambda path: os.access(path, os.X_OK), sorted((ROOT / "scripts").glob("*.py"))),
            ROOT / "topologies/gen_Topo_Template.py",
            *(PROGRAMS / name for name in ("SimAI_simulator", "SimAI_analytical", "SimAI_phynet", "SimCCL", "qbb-flows",
                                           "collective-perf"))]


@pytest.mark.parametrize("script", COMMANDS, ids=lambda path: path.name)
def test_help_says_first_what_a_command_does_and_names_defaults_as_such(script):
    """"(default: 8)", not "(8)"."""
    text = subprocess.run([script, "--help"], capture_output=True, text=True, check=True).stdout
    flags = re.split(r"^(?:options|flags):\n", text, maxsplit=1, flags=re.MULTILINE)[-1]
    bare = re.findall(r"\((?:\d[\w./]*|[a-z]\w+)\)", re.sub(r"\s+", " ", flags))
    assert set(bare) <= {"(default)"}
    assert text.index(".\n") < 700, "the first sentence comes after flags"
    assert not re.search(r"^  -.* arg\b", flags, re.MULTILINE), "a value has no name of its own"


def test_the_site_builds_without_a_warning(checkout):
    """From the files that git keeps: the page of the accuracy card is made of its record."""
    (checkout / "docs").unlink()
    kept = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "docs"], cwd=ROOT,
                          capture_output=True,
                          text=True, check=True).stdout.split("\0")[:-1]
    for name in kept:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, checkout / name)
    result = subprocess.run(["make", "-C", checkout / "docs", "html"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    made = checkout / "docs/build/html"
    assert (made / "tutorial.html").is_file()
    assert len(re.findall(r'<img [^>]*src="[^"]*\.svg"', (made / "models/accuracy.html").read_text())) > 50


# Every module, and a class of its group.
MEMBERS = {"base": "InputError", "rdma-qbb": "RdmaCongestionOps", "programs": "RunDriver", "accl-cclo": "CcloDriver",
           "collectives": "RankNetwork", "astra-frontend": "AstraNetworkAPI", "simulator": "FastForwardBackend"}


@pytest.mark.skipif(not shutil.which("doxygen"), reason="doxygen is not installed (scripts/setup.sh --develop)")
def test_the_api_builds_without_a_warning_and_has_every_module(tmp_path):
    settings = (ROOT / "docs/Doxyfile").read_text() + f"OUTPUT_DIRECTORY = {tmp_path}\n"
    result = subprocess.run(["doxygen", "-"], input=settings, cwd=ROOT / "docs", capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    for module, member in MEMBERS.items():
        assert member in next((tmp_path / "html").glob(f"group__{module}*.html")).read_text()


def test_classes_with_a_description_are_in_their_modules_group():
    described = re.compile(r"^/\*\*\n((?: \*.*\n)+?) \*/\n(?:template <.*>\n)?(?:class|struct) (?!.*;$)", re.MULTILINE)
    for module in MEMBERS:
        for header in (ROOT / "contrib" / module).rglob("*.h"):
            for comment in described.findall(header.read_text()) if "test" not in header.parts else ():
                assert f" * @ingroup {module}\n" in comment, f"{header.relative_to(ROOT)}: {comment}"


def test_the_names_that_stand_for_simais_are_in_the_code():
    page = (ROOT / "docs/source/coming-from.rst").read_text()
    table = page.partition("SimAI's names in its code")[2].partition("From ASTRA-sim")[0]
    code = "".join(path.read_text() for path in (ROOT / "contrib").rglob("*") if path.suffix in (".h", ".cc"))
    rows = [line for line in table.splitlines() if line.startswith("``")]
    assert len(rows) >= 25
    for row in rows:
        theirs, *ours = re.findall(r"``(.+?)``", row)
        for name in ours:
            assert all(re.search(rf"\b{part}\b", code) for part in re.split(r"\W+", name)), f"{theirs}: {name}"
