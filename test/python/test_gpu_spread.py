# SPDX-License-Identifier: GPL-2.0-only
"""--gpu-spread: GPUs differ in speed, and collectives wait for the slowest."""
import csv
import math

import pytest
from divided_jobs import cluster, record, simulate

GPUS = 16
KERNEL_NS = 10_000_000
# The mean of the largest of 16 standard normal numbers (Harter, Biometrika 48, 1961), and about its deviation.
LARGEST, DEVIATION = 1.766, 0.55


@pytest.fixture
def inputs(tmp_path):
    (tmp_path / "train.txt").write_text(
        f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {GPUS} ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: {GPUS} "
        f"checkpoints: 0 checkpoint_initiates: 0\n1\nlayer -1 {KERNEL_NS} ALLREDUCE 65536 1 NONE 0 1 NONE 0 1\n")
    (tmp_path / "micro.txt").write_text("1 ALLREDUCE 65536 TP\n")
    cluster(tmp_path / "a100.txt", servers=GPUS // 4)
    return tmp_path


def first_collective(folder, *flags, workload="train.txt"):
    """@return when its first and its last rank began it, over the kernel's time on the median GPU"""
    done = simulate(folder, "out", "-w", workload, "-n", "a100.txt", "-q", *flags)
    assert (done.returncode, done.stderr) == (0, "")
    with (folder / "out/collectives.csv").open(encoding="utf-8") as rows:
        row = next(csv.DictReader(rows))
    return float(row["start_ns"]) / KERNEL_NS, float(row["last_start_ns"]) / KERNEL_NS


@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
def test_ranks_come_one_after_the_other_on_every_network(inputs, network):
    assert first_collective(inputs, "--network", network) == (1, 1)
    spread = first_collective(inputs, "--network", network, "--gpu-spread", "0.05", "--seed", "3")
    assert record(inputs, "out")["options"]["gpu_spread"] == 0.05
    assert spread[0] < 1 < spread[1]
    assert spread == first_collective(inputs, "--network", "flow", "--gpu-spread", "0.05", "--seed", "3")
    assert spread != first_collective(inputs, "--network", network, "--gpu-spread", "0.05", "--seed", "4")
    # The draw is the seed's: twice the spread is twice the logarithm.
    twice = first_collective(inputs, "--network", network, "--gpu-spread", "0.1", "--seed", "3")
    assert [math.log(share) for share in twice] == pytest.approx([2 * math.log(share) for share in spread], rel=1e-6)


def test_the_slowest_is_that_of_a_normal_sample(inputs):
    seeds = 30
    slowest = [math.log(first_collective(inputs, "--network", "analytical", "--gpu-spread", "0.02", "--seed", seed)[1])
               / 0.02
               for seed in range(1, seeds + 1)]
    assert sum(slowest) / seeds == pytest.approx(LARGEST, abs=4 * DEVIATION / math.sqrt(seeds))


def test_without_kernels_it_says_that_it_changes_nothing(inputs):
    done = simulate(inputs, "out", "-w", "micro.txt", "-n", "a100.txt", "--network", "flow", "-q", "--gpu-spread",
                    "0.02")
    assert done.returncode == 0
    assert done.stderr == "warning: --gpu-spread 0.02 has no effect: micro.txt has no kernels\n"


@pytest.mark.parametrize("value", ["-0.1", "2", "nan", "x"])
def test_what_is_no_spread_is_refused(inputs, value):
    done = simulate(inputs, "out", "-w", "train.txt", "-n", "a100.txt", "--gpu-spread", value)
    assert done.returncode == 2 and "--gpu-spread" in done.stderr and "; expected " in done.stderr
