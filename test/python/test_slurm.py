# SPDX-License-Identifier: GPL-2.0-only
"""The documentation's commands for Slurm, with a Slurm of one node: ranks by srun, sweeps by sbatch."""
import pathlib
import re
import subprocess

import pytest

import divided_jobs
import slurm_cluster
from test_phynet import MIB, PROGRAM, all_reduce, environment, record
from test_sweep import place, sweep, table, write  # noqa: F401 (place is a fixture)

from waiting import HANGS

SWEEPS_PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/source/howto/sweeps.rst"
pytestmark = [pytest.mark.real_time,
              pytest.mark.skipif(not slurm_cluster.is_possible(),
                                 reason="slurm-wlm is not installed, or this is not root")]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    with slurm_cluster.running(tmp_path_factory.mktemp("slurm")) as variables:
        yield variables


@pytest.mark.skipif(not PROGRAM.exists(), reason="built without libfabric or MPI: there is no SimAI_phynet")
def test_srun_starts_the_ranks(slurm, tmp_path):
    words = ["srun", "--mpi=pmix", "-n", "4", PROGRAM, *all_reduce(tmp_path, 4, MIB), "--verify", "--reduce", "-o",
             tmp_path / "out"]
    result = subprocess.run([str(word) for word in words], env=slurm | environment(), capture_output=True, text=True,
                            timeout=HANGS,
                            check=False)
    assert result.returncode == 0, result.stderr
    info = record(tmp_path / "out")
    assert info["status"] == "finished"
    assert len(info["processes"]) == 4


@pytest.mark.skipif(not (divided_jobs.PROGRAMS / "simai-mpi.so").exists(), reason="built without MPI")
def test_srun_starts_processes_of_one_simulation(slurm, tmp_path):
    divided_jobs.write_inputs(tmp_path)
    job = ["-w", "small.txt@0-15", "-n", "a100.txt"]
    one = divided_jobs.simulate(tmp_path, "1", *job, "-t", 1)
    assert one.returncode == 0, one.stderr
    two = divided_jobs.simulate(tmp_path, "2", *job, env=slurm | environment(),
                                launcher=["srun", "--mpi=pmix", "-n", "2"])
    assert two.returncode == 0, two.stderr
    assert divided_jobs.results(tmp_path / "2") == divided_jobs.results(tmp_path / "1")
    assert divided_jobs.record(tmp_path, "2")["processes"] == 2


def test_a_sweep_runs_by_the_profile_of_the_documentation(slurm, place):  # noqa: F811
    (place / "three.txt").write_text("fail")
    write(place, "memory_gb: 2\ntime_limit_s: 90\n")
    profile = re.search(r"for Slurm:\n\n\.\. code-block:: yaml\n\n((?:   .*\n)+)", SWEEPS_PAGE.read_text()).group(1)
    (place / "profile").mkdir()
    (place / "profile/config.yaml").write_text(re.sub("^   ", "", profile, flags=re.M))
    # Snakemake looks once a second then, not every ten.
    result = sweep(place, "--profile", str(place / "profile"), env=slurm | {"CI": "true"})
    assert result.returncode == 1, result.stderr
    assert [r["status"] for r in table(place)] == ["finished", "finished", "running"]
    assert table(place)[2]["note"] == "exit status 1: the workload is wrong"
    jobs = subprocess.run(["scontrol", "-o", "show", "job"], env=slurm, capture_output=True, text=True,
                          check=True).stdout
    ours = [line for line in jobs.splitlines() if "TimeLimit=00:02:00" in line]
    assert len(ours) == 3 and all("mem=2000M" in line or "MinMemoryNode=2000M" in line for line in ours), jobs
    assert sorted(re.search(r"JobState=(\w+)", line).group(1) for line in ours) == ["COMPLETED", "COMPLETED", "FAILED"]
