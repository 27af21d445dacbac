# SPDX-License-Identifier: GPL-2.0-only
"""SimAI_simulator with collectives left to ACCL's engines in the NICs."""
import csv
import json
import os
import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
CONF = pathlib.Path(__file__).resolve().parents[2] / "conf" / "SimAI.conf"
RATE_GBPS, DELAY_NS = 100, 500
ENGINE_GBYTES = 16  # 64 bytes per cycle of 4 ns


@pytest.fixture(name="star")
def make_star(tmp_path):
    def star(hosts):
        lines = [f"{hosts + 1} 1 {hosts}", str(hosts)]
        lines += [f"{hosts} {h} {RATE_GBPS}Gbps {DELAY_NS}ns 0" for h in range(hosts)]
        path = tmp_path / "star.txt"
        path.write_text("\n".join(lines) + "\n")
        return path
    return star


def run(tmp_path, topology, ranks, step, *more, implementation=("accl",)):
    workload = tmp_path / "work.txt"
    workload.write_text(f"HYBRID_TRANSFORMER model_parallel_NPU_group: {ranks} ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: {ranks} "
                        f"checkpoints: 0 checkpoint_initiates: 0\n1\nlayer\t-1\t1000\t{step}\t1\tNONE\t0\t1\tNONE\t0\t1\n")
    system = tmp_path / "system.json"
    system.write_text(json.dumps({f"{op}-implementation": list(implementation)
                                  for op in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")}))
    return subprocess.run(
        [str(PROGRAM), "-w", str(workload), "-n", str(topology), "--system-configuration", str(system), "-c", str(CONF), "-o",
         str(tmp_path / "out"), *more],
        env={k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))},
        capture_output=True, text=True, timeout=60, check=False)


def collective(tmp_path):
    with (tmp_path / "out" / "collectives.csv").open(newline="") as file:
        row, = csv.DictReader(file)
    return row["algorithm"], float(row["end_ns"]) - float(row["start_ns"])


@pytest.mark.parametrize("ranks,size", [(8, 1 << 20), (8, 8 << 20), (16, 1 << 20)])
def test_an_all_reduce_is_a_tree_up_and_a_tree_down(tmp_path, star, ranks, size):
    """Each of 2 log2(n) rounds takes the operand over a link once, one after the other; the last sum of the root comes between."""
    result = run(tmp_path, star(ranks), ranks, f"ALLREDUCE\t{size}")
    assert result.returncode == 0, result.stderr
    algorithm, nanoseconds = collective(tmp_path)
    assert algorithm == "ACCL"
    rounds = 2 * (ranks.bit_length() - 1)
    payload = 9000
    wire_ns = size * (payload + 82) / payload * 8 / RATE_GBPS
    data_ns = rounds * wire_ns + size / ENGINE_GBYTES
    assert data_ns < nanoseconds < data_ns + 3000 + rounds * 6000


@pytest.mark.parametrize("step", ["ALLGATHER\t1048576", "REDUCESCATTER\t1048576", "ALLTOALL\t1048576"])
def test_other_collectives_run_in_the_engines_too(tmp_path, star, step):
    result = run(tmp_path, star(4), 4, step)
    assert result.returncode == 0, result.stderr
    algorithm, nanoseconds = collective(tmp_path)
    assert algorithm == "ACCL"
    assert nanoseconds > 3 / 4 * (1 << 20) * 8 / RATE_GBPS  # what each rank sends or receives at least


def test_other_networks_have_no_engines(tmp_path, star):
    result = run(tmp_path, star(4), 4, "ALLREDUCE\t1024", "--network=flow")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "a collective is left to ACCL's engines, which this network does not have" in result.stderr
