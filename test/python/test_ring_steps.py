# SPDX-License-Identifier: GPL-2.0-only
"""Rings whose messages stand for several steps take as long as NCCL's, with the same bytes on the links."""
import csv
import json

import pytest
from script_process import run_script
from test_formula_reuse import ROOT, simulate


@pytest.fixture(scope="module")
def fabrics(tmp_path_factory):
    """@return topologies of 64 H100 by name, each with uplinks that carry what the NICs do"""
    place = tmp_path_factory.mktemp("fabrics")
    for name in ("Spectrum-X", "Clos2"):
        run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", name, "-g", "64", "-gt", "H100", "-bw",
                    "400Gbps", *(("--fit",) if name == "Spectrum-X" else ()), "-o", place / name], check=True)
    return place


def ring(directory, fabric, operation, tp, steps, network):
    """@return run.json, the ends of groups, and the bytes of links"""
    (directory / "job.txt").write_text(f"1 {operation} {1 << 30} DP\n")
    run = directory / str(steps)
    done = simulate(run, "-w", directory / "job.txt", "-n", fabric, "--tp", tp, "--network", network,
                    NCCL_ALGO="Ring", NCCL_PROTO="Simple", AS_RING_STEPS_PER_MESSAGE=str(steps))
    assert done.returncode == 0, done.stderr
    assert ("approximate with AS_RING_STEPS_PER_MESSAGE" in done.stderr) == (steps > 1)
    with (run / "collectives.csv").open(newline="") as file:
        ends = {row["group"]: float(row["end_ns"]) for row in csv.DictReader(file)}
    carried = 0  # as formulas have no links
    if network == "flow":
        with (run / "links.csv").open(newline="") as file:
            carried = sum(int(row["tx_bytes"]) for row in csv.DictReader(file))
    return json.loads((run / "run.json").read_text()), ends, carried


@pytest.mark.parametrize("network", ["flow", "analytical"])
@pytest.mark.parametrize("name, operation, tp", [("Spectrum-X", "ALLREDUCE", 1), ("Clos2", "REDUCESCATTER", 1)])
def test_rings_end_as_without_it(tmp_path, fabrics, name, operation, tp, network):
    whole, ends, carried = ring(tmp_path, fabrics / name, operation, tp, 1, network)
    merged, merged_ends, merged_carried = ring(tmp_path, fabrics / name, operation, tp, 16, network)
    assert merged["flows"] < whole["flows"] / 3
    assert merged["simulated_ns"] == pytest.approx(whole["simulated_ns"], rel=0.005)
    assert merged_ends == pytest.approx(ends, rel=0.03)
    assert merged_carried == pytest.approx(carried, rel=3e-4), "fewer frames are not full"
    assert merged["options"]["nccl_environment"]["AS_RING_STEPS_PER_MESSAGE"] == "16"
    assert any("approximate" in line for line in merged["warnings"]) and whole["warnings"] == []
