# SPDX-License-Identifier: GPL-2.0-only
"""lab/reproduce.py: a paper's figures beside ours, and a page on which every difference has a reason."""
import os
import pathlib
import sys

import pytest
from script_process import run_script
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "lab")]
from clustersim_lab.papers import command, paper, runs  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin")) / "qbb-flows"


def reproduce(folder, *words):
    return run_script([ROOT / "lab/reproduce.py", "--program", PROGRAM, "-o", folder, *words], timeout=HANGS)


def test_a_paper_runs_from_end_to_end_and_agrees_with_the_record(tmp_path):
    result = reproduce(tmp_path, "dcqcn")
    assert result.returncode == 0, result.stderr
    title, *rows = result.stdout.splitlines()
    assert title == command.PAPERS["DCQCN"].title
    assert len(rows) == 4 and all("differs" not in row for row in rows)
    ours = command.PAPERS["DCQCN"].reproduce(runs.Bench(PROGRAM, tmp_path / "again", tmp_path))
    recorded = paper.read_ours()
    for key, value in ours.items():
        assert value == pytest.approx(recorded[key], rel=0.02), "run lab/reproduce.py DCQCN --update"


@pytest.mark.parametrize("words, expected", [
    (["DCQNC"], "reproduce.py: 'DCQNC' is not a paper; the nearest is dcqcn; expected DCQCN, TIMELY,"),
    (["x"], "reproduce.py: 'x' is not a paper; expected DCQCN, TIMELY,"),
    (["HPCC", "--data", "nowhere"], "reproduce.py: --data nowhere: is not there; HPCC needs the distributions"),
])
def test_mistakes_end_with_status_2_and_a_line(tmp_path, words, expected):
    result = reproduce(tmp_path, *words)
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(expected)


def test_every_figure_is_reproduced_and_every_difference_has_a_reason():
    ours = paper.read_ours()
    for figure in paper.read_published():
        assert figure.source and figure.where
        assert figure.agrees(ours[figure.key]) or command.PAPERS[figure.paper].why[figure.key]
    known = {figure.key for figure in paper.read_published() if not figure.agrees(ours[figure.key])}
    for of in command.PAPERS.values():
        assert set(of.why) <= known, "a reason for a difference that is none"


def test_the_page_is_that_of_the_records():
    assert command.PAGE.read_text() == command.page_of(paper.read_ours()), "run lab/reproduce.py PAPER --update"


def test_trees_have_the_links_of_their_closed_form():
    k = 6
    lines = runs.fat_tree(k, 40, 1).splitlines()
    nodes, switches, links = map(int, lines[0].split())
    assert (nodes - switches, switches, links) == (k**3 // 4, 5 * k * k // 4, 3 * k**3 // 4)
    degree = dict.fromkeys(range(nodes), 0)
    for line in lines[2:]:
        for end in map(int, line.split()[:2]):
            degree[end] += 1
    assert [degree[node] for node in range(nodes)] == [1] * (k**3 // 4) + [k] * (5 * k * k // 4)
    changed = runs.first_core_link("\n".join(lines), k, gbps=1, loss=1).splitlines()
    (difference,) = [line for line, before in zip(changed, lines) if line != before]
    assert difference.split()[2:] == ["1Gbps", "1000ns", "1"]
