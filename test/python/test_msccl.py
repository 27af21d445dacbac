# SPDX-License-Identifier: GPL-2.0-only
"""Programs of MSCCL's that a user brings: taken where they fit, refused where they are wrong, and as fast as a closed
form says."""
import csv
import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree as tree

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin"))
ROW = re.compile(r"^ +(\d+) +\d+ +\w+ +\w* +-?\d+ +([\d.e+]+) ", re.MULTILINE)
MIB = 1 << 20


def all_pairs(path, gpus, blocks=1, **attributes):
    """AllReduce in two steps, with so many thread blocks for each pair."""
    algo = tree.Element("algo", {"name": "pairs", "proto": "Simple", "nchannels": str(blocks),
                                 "nchunksperloop": str(gpus * blocks),
                                 "ngpus": str(gpus), "coll": "allreduce", "inplace": "0", "outofplace": "1",
                                 "minBytes": "0",
                                 "maxBytes": "0"} | attributes)

    def step(block, kind, source, destination, wait=(-1, -1)):
        tree.SubElement(block, "step", {"s": str(len(block)), "type": kind, "srcbuf": source[0],
                                        "srcoff": str(source[1]),
                                        "dstbuf": destination[0], "dstoff": str(destination[1]), "cnt": "1",
                                        "depid": str(wait[0]), "deps": str(wait[1]), "hasdep": "0"})
    for gpu in range(gpus):
        chunks = str(gpus * blocks)
        node = tree.SubElement(algo, "gpu", {"id": str(gpu), "i_chunks": chunks, "o_chunks": chunks,
                                             "s_chunks": chunks})
        for channel in range(blocks):
            adder = (channel + 1) * gpus - 1
            own = ("o", gpu * blocks + channel)
            for k in range(gpus - 1):
                peer = (gpu + k + 1) % gpus
                block = tree.SubElement(node, "tb",
                                        {"id": str(channel * gpus + k), "send": str(peer), "recv": str(peer),
                                                     "chan": str(channel)})
                step(block, "s", ("i", peer * blocks + channel), ("o", 0))
                step(block, "r", ("i", 0), ("s", channel * gpus + k))
                step(block, "s", own, ("o", 0), (adder, gpus - 1))
                step(block, "r", ("i", 0), ("o", peer * blocks + channel))
            block = tree.SubElement(node, "tb", {"id": str(adder), "send": "-1", "recv": "-1", "chan": str(channel)})
            step(block, "cpy", ("i", gpu * blocks + channel), own)
            for k in range(gpus - 1):
                step(block, "re", ("s", channel * gpus + k), own, (channel * gpus + k, 1))
    path.write_bytes(tree.tostring(algo))
    return path


def run(topology, size, *flags, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AS_", "NCCL_", "MSCCL_"))}
    return subprocess.run([PROGRAMS / "all_reduce_perf", "-b", str(size), "-e", str(size), "-n", "1", "-w", "0",
                           "--network-topo",
                           topology, *flags], env=clean | environment, capture_output=True, text=True, check=False)


def chosen(topology, size, **environment):
    result = run(topology, size, "--network", "flow", **environment)
    assert result.returncode == 0, result.stderr
    return re.search(r"Algo (\S+)", result.stdout)[1], float(ROW.search(result.stdout)[2])


@pytest.fixture(scope="module", name="mesh")
def one_mesh(tmp_path_factory):
    path = tmp_path_factory.mktemp("mesh") / "mesh"
    assert run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Clos2", "-g", "8", "-gt", "MI300X", "-o",
                       path]).returncode == 0
    return path


def two_steps_us(part):
    """@return launching, and two steps: their latency, and what one of the blocks moves at 4.05 GB/s; a message's last
    packet of 4 KiB goes as fast as the link"""
    return 17 + 2 * (2.1 + (part - 4096) / 4.05e9 * 1e6)


def test_a_program_is_taken_where_it_fits(mesh, tmp_path):
    file = str(all_pairs(tmp_path / "Pairs.xml", 8, minBytes="1048576", maxBytes="4194304"))
    assert chosen(mesh, 2 * MIB, MSCCL_XML_FILES=file)[0] == "PAIRS"
    assert chosen(mesh, 8 * MIB, MSCCL_XML_FILES=file)[0] == "ALL_PAIRS"
    assert chosen(mesh, 2 * MIB, MSCCL_XML_FILES=file, NCCL_ALGO="^pairs")[0] == "ALL_PAIRS"
    assert chosen(mesh, 2 * MIB, MSCCL_ALGO_DIR=str(tmp_path))[0] == "PAIRS"
    other = str(all_pairs(tmp_path / "Four.xml", 4))
    assert chosen(mesh, 2 * MIB, MSCCL_XML_FILES=other)[0] == "ALL_PAIRS"


def test_eight_blocks_of_a_pair_are_as_fast_as_the_built_in_algorithm(mesh, tmp_path):
    file = str(all_pairs(tmp_path / "Pairs.xml", 8, blocks=8))
    ours = chosen(mesh, 4 * MIB, MSCCL_XML_FILES=file)
    built_in = chosen(mesh, 4 * MIB, NCCL_ALGO="AllPairs")
    assert ours[0] == "PAIRS" and ours[1] == pytest.approx(built_in[1], rel=0.04)
    assert ours[1] == pytest.approx(two_steps_us(65536), rel=0.01)


@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
def test_all_networks_carry_it_out(mesh, tmp_path, network):
    file = str(all_pairs(tmp_path / "Pairs.xml", 8, blocks=2))
    result = run(mesh, 16 * MIB, "--network", network, MSCCL_XML_FILES=file)
    assert result.returncode == 0 and "PAIRS" in result.stdout, result.stderr
    assert float(ROW.search(result.stdout)[2]) == pytest.approx(two_steps_us(MIB), rel=0.01)


def test_mistakes_end_with_a_line(mesh, tmp_path):
    broken = tmp_path / "broken.xml"
    broken.write_text(all_pairs(tmp_path / "good.xml", 8).read_text().replace('type="re"', 'type="add"', 1))
    result = run(mesh, MIB, MSCCL_XML_FILES=str(broken))
    assert result.returncode == 2 and f"{broken}:1: type is 'add'" in result.stderr
    result = run(mesh, MIB, MSCCL_XML_FILES=str(tmp_path / "missing.xml"))
    assert result.returncode == 2 and "missing.xml" in result.stderr
    result = run(mesh, MIB, MSCCL_ALGO_DIR=str(tmp_path / "nowhere"))
    assert result.returncode == 2 and "MSCCL_ALGO_DIR" in result.stderr


@pytest.mark.parametrize("size", [64 << 10, MIB, 16 * MIB, 256 * MIB])
@pytest.mark.parametrize("protocol", ["LL", "LL128", "Simple"])
def test_the_estimate_of_a_program_is_near_its_simulation(mesh, tmp_path, size, protocol):
    file = str(all_pairs(tmp_path / "Pairs.xml", 8, blocks=8, proto=protocol))
    (tmp_path / "w.txt").write_text(f"1 ALLREDUCE {size} TP\n")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AS_", "NCCL_", "MSCCL_"))}
    times = []
    for program, flags in (("SimAI_simulator", ("-c", ROOT / "conf/SimAI.conf", "--network", "flow", "--tp", "8",
                                                "-o")), ("SimAI_analytical",
                                                         ("-g", "8", "-g_p_s", "8", "-g_type", "MI300X", "-r_f"))):
        done = subprocess.run([PROGRAMS / program, "-w", tmp_path / "w.txt", "-n", mesh, *flags, tmp_path / program,
                               "-q"],
                              env=clean | {"MSCCL_XML_FILES": file}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with (tmp_path / program / "collectives.csv").open() as rows:
            row = next(csv.DictReader(rows))
        assert row["algorithm"] == "Pairs"
        times.append(float(row["end_ns"]))
    assert times[1] == pytest.approx(times[0], rel=1e-6, abs=1)
