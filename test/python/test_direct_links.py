# SPDX-License-Identifier: GPL-2.0-only
"""GPUs linked to each other without a switch: a ring of them carries a ring's collectives."""
import os
import pathlib
import re
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", "build/release/bin")) / "collective-perf"
GPUS, GBPS, BYTES = 4, 400, 16 << 20
PAYLOAD, OVERHEAD, ACK = 1000, 82, 84  # of a packet, by default


def run(tmp_path, network, **environment):
    topology = tmp_path / "ring.txt"
    links = [f"{gpu} {(gpu + 1) % GPUS} {GBPS}Gbps 0.0005ms 0" for gpu in range(GPUS)]
    topology.write_text(f"{GPUS} {GPUS} 0 0 {GPUS} H100\n\n" + "\n".join(links) + "\n")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AS_", "NCCL_"))}
    return subprocess.run([PROGRAM, "all_reduce_perf", "-b", str(BYTES), "-e", str(BYTES), "-n", "1", "-w", "0",
                           "--network", network, "--network-topo", topology, "--set", "ENABLE_QCN=0"],
                          env=clean | environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("network", ("packet", "flow"))
def test_a_ring_of_gpus_takes_what_its_links_take(tmp_path, network):
    result = run(tmp_path, network, NCCL_ALGO="Ring", NCCL_PROTO="Simple", AS_SEND_LAT="0")
    assert result.returncode == 0, result.stderr
    time = float(re.search(rf"^ +{BYTES} +.*? -1 +([\d.]+) ", result.stdout, re.MULTILINE)[1])
    # 2 (n - 1) / n of the data cross each link, with a header per packet; acknowledgements go the other way.
    expected = 2 * (GPUS - 1) / GPUS * BYTES * 8 / (GBPS * 1e3) * (PAYLOAD + OVERHEAD) / PAYLOAD
    assert expected < time < expected * 1.03


def test_a_message_between_others_than_neighbours_is_refused_in_a_line(tmp_path):
    result = run(tmp_path, "flow", NCCL_ALGO="Tree", NCCL_PROTO="Simple")
    assert result.returncode in (1, 2)
    line = result.stderr.strip().splitlines()[-1]
    assert "meet only in other GPUs (linked without a switch)" in line and "NCCL_ALGO=Ring" in line
