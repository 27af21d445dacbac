# SPDX-License-Identifier: GPL-2.0-only
"""SWITCH_MODEL: a switch as built has its buffer, its thresholds and its ports."""
import os
import pathlib
import subprocess

import pytest
from waiting import HANGS

PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", "bin")) / "qbb-flows"


def star(hosts, gbps):
    return (f"{hosts + 1} 1 {hosts}\n{hosts}\n"
            + "".join(f"{host} {hosts} {gbps}Gbps 500ns 0\n" for host in range(hosts)))


def run(folder, hosts, gbps, *keys):
    (folder / "topology").write_text(star(hosts, gbps))
    (folder / "flows").write_text("8\n" + "".join(f"{host} 8 3 100 4000000 0\n" for host in range(8)))
    (folder / "conf").write_text("\n".join(["CC_MODE 0", "HAS_WIN 0", *keys]) + "\n")
    return subprocess.run([PROGRAM, "conf", "-n", "topology", "-f", "flows", "-o", "out", "--check"], cwd=folder,
                          capture_output=True, text=True, timeout=HANGS, check=False)


@pytest.mark.parametrize("model", ["Tomahawk3", "Tomahawk4", "Tomahawk5", "Trident4", "Spectrum3", "Spectrum4"])
def test_an_incast_is_carried_without_loss(tmp_path, model):
    done = run(tmp_path, 32, 400, f"SWITCH_MODEL {model}")
    assert done.returncode == 0, done.stderr
    assert "buffer drops 0," in done.stdout


@pytest.mark.parametrize("pfc", [0, 1])
def test_a_queue_without_pfc_drops_where_its_share_of_the_buffer_ends(tmp_path, pfc):
    """28 MB come to a queue faster than they leave; Trident 4 lets it have a seventeenth of 132 MB, 7.8 MB."""
    done = run(tmp_path, 32, 400, "SWITCH_MODEL Trident4", f"ENABLE_PFC {pfc}", "SIMULATOR_STOP_TIME 0.0004")
    assert done.returncode == 1, done.stderr
    assert ("buffer drops 0," in done.stdout) == bool(pfc)


@pytest.mark.parametrize("hosts, gbps, expected", [
    (161, 50, "has at most 160 ports, not 161"),
    (9, 800, "has ports of at most 400 Gb/s, not 800"),
    (33, 400, "has 12.8 Tb/s for all ports together, not 13.2"),
])
def test_a_topology_that_asks_for_more_ports_is_refused(tmp_path, hosts, gbps, expected):
    done = run(tmp_path, hosts, gbps, "SWITCH_MODEL Tomahawk3")
    assert done.returncode == 2
    assert done.stderr == (f"conf:3: SWITCH_MODEL Tomahawk3 {expected}, as switch {hosts} of the topology asks; "
                           "expected another model or topology\n")


def test_an_unknown_model_is_refused_with_those_that_are_known(tmp_path):
    done = run(tmp_path, 9, 100, "SWITCH_MODEL Tomahawk9")
    assert done.returncode == 2
    assert done.stderr.startswith("conf:3: SWITCH_MODEL cannot be 'Tomahawk9'; expected word, Tomahawk3 or")


def test_buffer_size_wins_over_that_of_the_model(tmp_path):
    done = run(tmp_path, 32, 400, "BUFFER_SIZE 1000000", "SWITCH_MODEL Spectrum4")
    assert done.returncode == 2
    assert done.stderr.startswith("conf:3: BUFFER_SIZE of 1000000 bytes cannot hold the reserves and PFC headroom")
