# SPDX-License-Identifier: GPL-2.0-only
"""AllReduces within NVLink domains of 8 to 72 GPUs, with one NVSwitch per server or several."""
import csv
import json
import os
import pathlib
import subprocess

import pytest
from script_process import run_script
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", "bin")) / "SimAI_simulator"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="SimAI_simulator is not built")

DOMAINS = [  # flags of the generator, GPUs of a domain, its NVSwitches, rate of a GPU's NVLinks together
    (("-topo", "Spectrum-X", "-g", "8", "-gps", "8", "-asn", "8", "-nvbw", "900Gbps", "-nsps", "4"), 8, 4, 3600),
    (("-topo", "Spectrum-X", "-g", "16", "-gps", "16", "-asn", "16", "-nvbw", "480Gbps", "-nsps", "6"), 16, 6, 2880),
    (("-topo", "NVL36", "-g", "36"), 36, 1, 5760),
    (("-topo", "NVL72", "-g", "72"), 72, 1, 5760),
]
BYTES = 16 << 20


@pytest.mark.parametrize("nvls", [0, 1])
@pytest.mark.parametrize("flags, gpus, switches, rate_gbps", DOMAINS)
def test_an_allreduce_stays_in_the_domain_and_uses_all_its_switches(tmp_path, flags, gpus, switches, rate_gbps,
                                                                    nvls):
    run_script([ROOT / "topologies/gen_Topo_Template.py", *flags], cwd=tmp_path, check=True)
    [topology] = tmp_path.iterdir()
    (tmp_path / "w.txt").write_text(f"1 ALLREDUCE {BYTES} TP\n")
    result = subprocess.run([str(PROGRAM), "-w", "w.txt", "-n", str(topology), "-c", str(ROOT / "conf/SimAI.conf"),
                             "--tp", str(gpus), "-o", "out"], cwd=tmp_path, timeout=HANGS, check=False,
                            env={**os.environ, "AS_NVLS_ENABLE": str(nvls)}, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert record["status"] == "finished" and record["drops"] == 0
    sent = {}
    with (tmp_path / "out/links.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            sent[int(row["node"])] = sent.get(int(row["node"]), 0) + int(row["tx_bytes"])
    domain = [sent[gpus + i] for i in range(switches)]
    assert min(domain) > 0
    # Channels take the switches in turn, so one has at most one channel more than another.
    assert max(domain) <= 1.6 * min(domain)
    assert all(sent[node] == 0 for node in sent if node >= gpus + switches), "nothing takes the network"
    # Least data that a GPU sends: 2(n-1)/n of the buffer, or with NVLS the buffer once.
    with (tmp_path / "out/collectives.csv").open(newline="") as file:
        [row] = csv.DictReader(file)
    assert ("NVLS" in row["algorithm"]) == bool(nvls)
    least = BYTES * 8 / rate_gbps * (1 if nvls else 2 * (gpus - 1) / gpus)
    assert float(row["end_ns"]) - float(row["start_ns"]) > least
    assert sum(sent[gpu] for gpu in range(gpus)) >= gpus * least / 8 * rate_gbps * 0.999
