# SPDX-License-Identifier: GPL-2.0-only
"""Topologies from ASTRA-sim's own network files, and what its formula gives for a ring on them."""
import csv
import json
import os
import pathlib
import subprocess

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "topologies/gen_Topo_Template.py"
SIMULATOR = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
GB = 2**30


def generate(directory, *flags):
    return run_script([GENERATOR, *map(str, flags)], cwd=directory)


def network(path, kinds, npus, bandwidths, latencies):
    path.write_text(f"topology: [ {', '.join(kinds)} ]\nnpus_count: {npus}\nbandwidth: {bandwidths}\n"
                    f"latency: {latencies}\n")
    return path


def links_of(path):
    return [line.split() for line in path.read_text().splitlines()[2:]]


def test_a_gigabyte_is_2_to_the_30_unless_asked_otherwise(tmp_path):
    file = network(tmp_path / "n.yml", ["Switch"], [8], [50.0], [500.0])
    assert generate(tmp_path, "--astra_network", file, "-o", "binary").returncode == 0
    assert generate(tmp_path, "--astra_network", file, "--decimal_gb", "-o", "decimal").returncode == 0
    assert {tuple(link[2:4]) for link in links_of(tmp_path / "binary")} == {(f"{50 * GB * 8}bps", "500ns")}
    assert {tuple(link[2:4]) for link in links_of(tmp_path / "decimal")} == {("400000000000bps", "500ns")}


# Routers and switches; links between them.
@pytest.mark.parametrize("kinds, npus, switches, links", [
    (["Ring"], [8], 8, 8), (["Ring"], [2], 2, 1), (["FullyConnected"], [6], 6, 15), (["Switch"], [8], 1, 0),
    (["Ring", "Switch"], [4, 2], 8 + 4, 2 * 4 + 4 * 2),
    (["FullyConnected", "Ring", "Switch"], [2, 3, 2], 12 + 6, 6 + 12 + 12),
])
def test_each_dimension_has_its_links(tmp_path, kinds, npus, switches, links):
    file = network(tmp_path / "n.yml", kinds, npus, [50] * len(npus), [500] * len(npus))
    assert generate(tmp_path, "--astra_network", file, "-o", "t").returncode == 0
    assert generate(tmp_path, "--check", "t").returncode == 0
    header = (tmp_path / "t").read_text().split()
    gpus = int(header[0]) - int(header[3])
    assert int(header[3]) == switches
    assert len([link for link in links_of(tmp_path / "t") if int(link[0]) >= gpus]) == links


def test_a_native_ring_takes_what_astra_sims_formula_gives(tmp_path):
    file = network(tmp_path / "n.yml", ["Ring"], [8], [50.0], [500.0])
    assert generate(tmp_path, "--astra_network", file, "-o", "t").returncode == 0
    size, ranks = 64 << 20, 8
    (tmp_path / "w.txt").write_text(f"1 ALLREDUCE {size} DP\n")
    system = {"scheduling-policy": "LIFO", "endpoint-delay": 0, "active-chunks-per-dimension": 1,
              "preferred-dataset-splits": 1, "all-reduce-implementation": ["ring"], "local-mem-bw": 1e6}
    (tmp_path / "s.json").write_text(json.dumps(system))
    subprocess.run([SIMULATOR, "-w", tmp_path / "w.txt", "-n", tmp_path / "t", "--system-configuration",
                    tmp_path / "s.json", "--network", "flow", "-c", ROOT / "conf/SimAI.conf", "-o", tmp_path / "out",
                    "--quiet"], check=True)
    with (tmp_path / "out/collectives.csv").open(newline="") as rows:
        row = next(csv.DictReader(rows, skipinitialspace=True))
    ours = float(row["end_ns"]) - float(row["start_ns"])
    formula = 2 * (ranks - 1) * (size / ranks / (50 * GB) * 1e9 + 500)
    # Ours has headers (82 of 9,082 bytes) and the first frame of each step once more: a few thousandths.
    assert 1 < ours / formula < 1.02


RING = "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"


@pytest.mark.parametrize("old, new", [("50.0", "5e1"), ("50.0", "050"), ("50.0", '"50"'), ("500.0", "5.e+2"),
                                      ("8", "8.0")])
def test_numbers_are_those_that_the_simulator_reads(tmp_path, old, new):
    for name, text in (("plain", RING), ("other", RING.replace(old, new))):
        (tmp_path / f"{name}.yml").write_text(text)
        assert generate(tmp_path, "--astra_network", f"{name}.yml", "-o", name).returncode == 0
    assert (tmp_path / "other").read_text() == (tmp_path / "plain").read_text()


def test_delays_are_not_rounded(tmp_path):
    (tmp_path / "n.yml").write_text(RING.replace("500.0", "1234567.25"))
    assert generate(tmp_path, "--astra_network", "n.yml", "-o", "t").returncode == 0
    assert {link[3] for link in links_of(tmp_path / "t")} == {"1234567.25ns", "1ps"}


@pytest.mark.parametrize("text, what", [
    ("topology: [ Mesh ]\nnpus_count: [ 4 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n",
     'n.yml:1: "Mesh" is not a valid topology'),
    ("topology: [ Ring ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n",
     "n.yml:2: npus_count is not a list"),
    (RING.replace("8", "1"), "n.yml:2: npus_count has the entry 1; expected whole numbers of 2 or more"),
    (RING.replace("8", "2.5"), "n.yml:2: npus_count has the entry 2.5"),
    (RING.replace("50.0", "5_0"), "n.yml:3: bandwidth has the entry 5_0; expected GB/s above 0"),
    (RING.replace("50.0", "0x32"), "n.yml:3: bandwidth has the entry 0x32"),
    (RING.replace("50.0", "1e999"), "n.yml:3: bandwidth has the entry 1e999"),
    (RING.replace("50.0", "[ 1 ]"), "n.yml:3: bandwidth has the entry a sequence"),
    (RING.replace("500.0", "-1"), "n.yml:4: latency has the entry -1; expected nanoseconds, 0 or more"),
    (RING + "latency: [ 1.0 ]\n", "n.yml:5: the key 'latency' occurs twice; expected each key once"),
    (RING + "bandwith: [ 1.0 ]\n", "n.yml:5: unknown key 'bandwith'; expected topology, npus_count"),
    (RING + "---\n" + RING, "n.yml:5: "),
    ("topology: [ Ring\n", "n.yml:2: "),
    ("just text\n", "n.yml:1: topology is not a list"),
    ("", "n.yml:1: topology is not a list"),
])
def test_mistakes_are_one_line_and_status_2(tmp_path, text, what):
    (tmp_path / "n.yml").write_text(text)
    result = generate(tmp_path, "--astra_network", "n.yml", "-o", "t")
    assert result.returncode == 2 and what in result.stderr and len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "t").exists()


def test_other_flags_are_refused_beside_it(tmp_path):
    file = network(tmp_path / "n.yml", ["Ring"], [8], [50.0], [500.0])
    assert "--gpu means nothing beside" in generate(tmp_path, "--astra_network", file, "-g", 8).stderr
    assert "expected that flag too" in generate(tmp_path, "-topo", "Clos2", "--decimal_gb").stderr


@pytest.mark.parametrize("kinds, npus", [(["Ring"], [8]), (["FullyConnected"], [8]), (["Switch"], [8]),
                                         (["Ring", "Ring"], [4, 2])])
@pytest.mark.parametrize("operation", ["ALLREDUCE 1048576", "ALLGATHER 1024", "ALLTOALL 65536"])
def test_no_latency_makes_nccls_algorithms_faster(tmp_path, kinds, npus, operation):
    (tmp_path / "w.txt").write_text(f"1 {operation} DP\n")
    for dimension in range(len(npus)):
        times = []
        for latency in (0, 500, 2000, 5000, 20000):
            latencies = [500] * len(npus)
            latencies[dimension] = latency
            network(tmp_path / "n.yml", kinds, npus, [50.0] * len(npus), latencies)
            done = subprocess.run([SIMULATOR, "-q", "-w", "w.txt", "--network-configuration=n.yml", "-o", "out"],
                                  cwd=tmp_path,
                                  capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            times.append(json.loads((tmp_path / "out/run.json").read_text())["simulated_ns"])
        assert times == sorted(times) and times[0] < times[-1]
