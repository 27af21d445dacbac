# SPDX-License-Identifier: GPL-2.0-only
"""scripts/compare_fabrics.py: fabrics side by side, with times of their simulations and sums by hand."""
import csv
import os
import pathlib
import sys

import pytest
from script_process import run_script

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim import generate  # noqa: E402
from clustersim.fabrics import candidates, compared  # noqa: E402
from clustersim.results import open_run  # noqa: E402
from clustersim.workload.planning import search  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", REPOSITORY / "bin"))
JOB = ("--model", "llama2_7b", "--num_layers", 2, "--gpus", 16, "--global_batch", 16, "--seq_length", 1024,
       "--framework", "megatron_2024", "--tp", 2)
CLOS = "Clos2 --switch_ports 16 --nics_per_leaf 8"
THIN = f"thin={CLOS} --oversubscription 4"
PRICES = """gpu: {price: 1000, watts: 500}
nic: {400Gbps: {price: 100, watts: 10}}
switch: [{ports: 16, rate: 400Gbps, price: 4000, watts: 400}]
transceiver: {400Gbps: {price: 10, watts: 1}}
"""


def compare(*arguments, status=0):
    done = run_script([REPOSITORY / "scripts/compare_fabrics.py", "--bin", PROGRAMS, "--no-plots",
                       *map(str, arguments)])
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """@return the directory, standard output and rows of a comparison"""
    directory = tmp_path_factory.mktemp("fabrics")
    (directory / "prices.yaml").write_text(PRICES)
    done = compare("--fabric", f"full={CLOS}", "--fabric", THIN, *JOB, "--prices", directory / "prices.yaml", "--years",
                   2, "--kwh", 0.25, "-o", directory / "out")
    return directory / "out", done.stdout, list(csv.DictReader(open(directory / "out/fabrics.csv")))


def test_a_fabric_of_fewer_uplinks_takes_longer_and_says_which_link_is_full(found):
    _, text, (full, thin) = found
    assert float(full["times the fastest"]) == 1 < float(thin["times the fastest"])
    assert "full is the fastest" in text
    # Eight NICs meet on two uplinks.
    assert "tier 2" in thin["fullest link"] and "DP" in thin["carries"]
    assert float(thin["busy %"]) > float(full["busy %"])
    assert "thin: switch" in text and "fills up first" in text


def test_the_step_is_that_of_the_run_with_the_frameworks_overlaps(found):
    directory, _, (full, _) = found
    simulated, _ = search.read_summary(directory / "full/EndToEnd.csv")
    assert float(full["step ms"]) == pytest.approx(simulated / 1e6 * (1 + 0.007 * 4))  # stragglers of 2^4 GPUs
    assert float(full["tokens/s/GPU"]) == pytest.approx(16 * 1024 / (float(full["step ms"]) / 1e3) / 16)
    assert "forward_until" in (directory / "full.txt").read_text().split("\n")[0]
    assert full["plan"].startswith("TP 2, DP 8, PP 1")


def test_costs_and_energy_are_those_of_the_parts(found):
    """Hand-counted: two leaves of 8 NICs and 8 uplinks to a spine, or 2."""
    _, _, rows = found
    for row, links in zip(rows, (16 + 16, 16 + 4)):
        price = 16 * 1000 + 16 * 100 + 3 * 4000 + links * 2 * 10
        watts = 16 * 500 + 16 * 10 + 3 * 400 + links * 2
        hours, tokens = float(row["step ms"]) / 3.6e6, 16 * 1024
        per_hour = price / (2 * 365 * 24) + watts / 1000 * 0.25
        assert float(row["cost per 10^9 tokens"]) == pytest.approx(per_hour * hours / tokens * 1e9)
        assert float(row["J per token"]) == pytest.approx(watts * hours * 3600 / tokens)
        assert float(row["network cost/GPU"]) == pytest.approx((price - 16 * 1000) / 16)


def test_the_page_has_the_table_and_what_limits_each_run(found):
    page = (found[0] / "fabrics.html").read_text()
    assert "Fabrics for llama2_7b on 16 GPUs" in page
    for part in ("fabrics", "verdict", "hottest"):
        assert f'<section id="{part}">' in page
    assert "fills up first" in page


def test_a_workload_is_carried_out_as_it_is_and_files_are_fabrics(tmp_path):
    topology = generate("Spectrum-X", gpu=16, gpu_type="H100", bandwidth="400Gbps", fit=True, output=tmp_path / "a.top")
    done = compare("--fabric", topology, "--workload", REPOSITORY / "workloads/microAllReduce_16g.txt", "-o",
                   tmp_path / "out")
    (row,) = csv.DictReader(open(tmp_path / "out/fabrics.csv"))
    assert row["fabric"] == "a.top" and row["tokens/s/GPU"] == ""
    assert float(row["step ms"]) == pytest.approx(search.read_summary(tmp_path / "out/a.top/EndToEnd.csv")[0] / 1e6)
    assert "costs the least" not in done.stdout


def test_of_equally_full_links_the_one_between_switches_is_named(found):
    links = found[0] / "thin-links"
    link = compared.fullest(open_run(links if links.is_dir() else found[0] / "thin"))
    assert link and 0 < link.busy <= 1 and link.name.startswith("switch")
    assert compared.fullest(None) is None


@pytest.mark.parametrize("text, name, what", [
    ("results/a", None, "results/a"), ("x = Clos2 -g 8", "x", "Clos2 -g 8"), ("-topo Clos2", None, "-topo Clos2"),
    ("two words=Spectrum-X", "two words", "Spectrum-X"), ("-topo Torus --dims=4x4", None, "-topo Torus --dims=4x4"),
])
def test_a_fabric_may_have_a_name(text, name, what):
    assert candidates._split(text) == (name, what)


@pytest.mark.parametrize("arguments, message", [
    ([], "there is no fabric"),
    (["--fabric", "Clos2"], "there is no job"),
    (["--fabric", "Clos9", *JOB], "Clos9"),
    (["--fabric", "a=Clos2", "--fabric", "a=Spectrum-X", *JOB], 'are called "a"'),
    (["--fabric", "Clos2", "--model", "llama2_7b", "--gpus", 0], "--gpus is 0"),
    (["--fabric", "Clos2 -g 8", *JOB], "has 8 GPUs"),
    (["--fabric", "Clos2", "--workload", "w.txt", "--model", "llama2_7b"], "--workload is carried out as it is"),
    (["--fabric", "Clos2", "--prices", "nowhere", *JOB], "nowhere"),
])
def test_what_cannot_be_compared_is_refused_in_one_line(arguments, message, tmp_path):
    done = compare(*arguments, "-o", tmp_path / "out", status=2)
    refusal = [line for line in done.stderr.splitlines() if "warning" not in line]
    assert len(refusal) == 1 and message in refusal[0] and "expected" in refusal[0]
