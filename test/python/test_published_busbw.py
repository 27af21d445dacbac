# SPDX-License-Identifier: GPL-2.0-only
"""Bus bandwidth of one server against published measurements, and the table in the documentation."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "lab")]

from clustersim_lab.comparisons import published_busbw  # noqa: E402

PAGE = ROOT / "contrib/collectives/doc/nccl.rst"


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return published_busbw.compare(tmp_path_factory.mktemp("busbw"))


def test_busbw_is_close_to_published_measurements(rows):
    assert [(gpus, size) for gpus, size, *_ in rows] == [
        (f"8 x {gpu}", size) for gpu in ("A100", "H100") for size in (1, 4, 16, 64, 256, 1024)]
    for gpus, size, choice, ours, measured, error in rows:
        bound = 0.10 if size >= 16 else 0.25
        assert abs(error) <= bound, f"{gpus}, {size} MiB, {choice}: {ours:.2f}, {measured} GB/s"


def test_choices_are_those_of_nccl_2_18(rows):
    choices = {(gpus, size): choice for gpus, size, choice, *_ in rows}
    assert choices["8 x A100", 1] == "Ring LL"
    assert choices["8 x A100", 4] == choices["8 x A100", 16] == "Ring LL128"
    assert choices["8 x A100", 64] == "Ring Simple"
    assert {choice for (gpus, _), choice in choices.items() if "H100" in gpus} == {"NVLS Simple"}


def test_documentation_shows_the_table(rows):
    documented = PAGE.read_text().split(published_busbw.BEGIN)[1].split(published_busbw.END)[0]
    lines = [line.split() for line in documented.splitlines() if line.startswith("8 x")]
    assert len(lines) == len(rows), "run lab/published_busbw.py --update"
    for line, (_, size, choice, ours, measured, _) in zip(lines, rows):
        assert (int(line[3]), " ".join(line[4:6]), float(line[7])) == (size, choice, measured)
        assert float(line[6]) == pytest.approx(ours, rel=0.02), "run lab/published_busbw.py --update"
