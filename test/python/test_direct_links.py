# SPDX-License-Identifier: GPL-2.0-only
"""GPUs linked to each other without a switch, and routers in a torus: a ring of them carries a ring's collectives."""
import os
import pathlib
import re
import subprocess

import pytest
from script_process import run_script
from waiting import HANGS

PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", "build/release/bin")) / "collective-perf"
GPUS, GBPS, BYTES = 4, 400, 16 << 20
PAYLOAD, OVERHEAD, ACK = 4096, 82, 84  # of a packet, by default


def run(tmp_path, network, **environment):
    topology = tmp_path / "ring.txt"
    links = [f"{gpu} {(gpu + 1) % GPUS} {GBPS}Gbps 0.0005ms 0" for gpu in range(GPUS)]
    topology.write_text(f"{GPUS} {GPUS} 0 0 {GPUS} H100\n\n" + "\n".join(links) + "\n")
    return all_reduce(topology, network, **environment)


def all_reduce(topology, network, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AS_", "NCCL_"))}
    return subprocess.run([PROGRAM, "all_reduce_perf", "-b", str(BYTES), "-e", str(BYTES), "-n", "1", "-w", "0",
                           "--network", network, "--network-topo", topology, "--set", "ENABLE_QCN=0"],
                          env=clean | environment, capture_output=True, text=True, timeout=HANGS, check=False)


def time_of(result):
    return float(re.search(rf"^ +{BYTES} +.*? -1 +([\d.]+) ", result.stdout, re.MULTILINE)[1])


@pytest.mark.parametrize("network", ("packet", "flow"))
def test_a_ring_of_gpus_takes_what_its_links_take(tmp_path, network):
    result = run(tmp_path, network, NCCL_ALGO="Ring", NCCL_PROTO="Simple", AS_SEND_LAT="0")
    assert result.returncode == 0, result.stderr
    time = time_of(result)
    # 2 (n - 1) / n of the data cross each link, with a header per packet; acknowledgements go the other way.
    expected = 2 * (GPUS - 1) / GPUS * BYTES * 8 / (GBPS * 1e3) * (PAYLOAD + OVERHEAD) / PAYLOAD
    assert expected < time < expected * 1.03


def test_a_message_between_others_than_neighbours_is_refused_in_a_line(tmp_path):
    result = run(tmp_path, "flow", NCCL_ALGO="Tree", NCCL_PROTO="Simple")
    assert result.returncode in (1, 2)
    line = result.stderr.strip().splitlines()[-1]
    assert "meet only in other GPUs (linked without a switch)" in line and "NCCL_ALGO=Ring" in line


@pytest.mark.parametrize("network", ("packet", "flow"))
def test_a_torus_of_one_dimension_carries_a_ring_between_neighbours(tmp_path, network):
    root = pathlib.Path(__file__).resolve().parents[2]
    run_script([root / "topologies/gen_Topo_Template.py", "-topo", "Torus", "--dims", str(GPUS), "-gps",
                "1", "-nsps", "0", "-gt", "H100", "-bw", f"{GBPS}Gbps", "-o", tmp_path], check=True)
    topology, = tmp_path.glob("Torus_*")
    result = all_reduce(topology, network, NCCL_ALGO="Ring", NCCL_PROTO="Simple", AS_SEND_LAT="0")
    assert result.returncode == 0, result.stderr
    # As above; but a host has one link, on which it also acknowledges what it receives.
    expected = 2 * (GPUS - 1) / GPUS * BYTES * 8 / (GBPS * 1e3) * (PAYLOAD + OVERHEAD + ACK) / PAYLOAD
    assert expected < time_of(result) < expected * 1.01
