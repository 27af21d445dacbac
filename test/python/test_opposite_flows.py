# SPDX-License-Identifier: GPL-2.0-only
"""Flows in opposite directions over idle full-duplex links take each other nothing but the acknowledgements' bytes."""
import os
import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", "bin")).resolve() / "qbb-flows"
CONFS = pathlib.Path(__file__).resolve().parents[2] / "conf"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="qbb-flows is not built")

OVERHEAD, ACK = 82, 84
FRAMES = 500  # of each flow
HOSTS = 6  # of a permutation


def chain(links, gbps):
    """@return a topology of two hosts, 0 and 1, with a row of switches between them"""
    nodes = [0, *range(2, links + 1), 1]
    return (f"{links + 1} {links - 1} {links}\n{' '.join(map(str, nodes[1:-1]))}\n"
            + "".join(f"{a} {b} {gbps}Gbps 500ns 0\n" for a, b in zip(nodes, nodes[1:])))


def star(gbps):
    return f"{HOSTS + 1} 1 {HOSTS}\n{HOSTS}\n" + "".join(f"{host} {HOSTS} {gbps}Gbps 1us 0\n" for host in range(HOSTS))


def times(directory, topology, pairs, payload, *flags, conf=None, keys=()):
    """@return (time, time alone) of each flow in ns"""
    (directory / "topology").write_text(topology)
    (directory / "flows").write_text(f"{len(pairs)}\n"
                                     + "".join(f"{src} {dst} 3 100 {FRAMES * payload} 0\n" for src, dst in pairs))
    (directory / "conf").write_text("CC_MODE 0\nMON_END 0\n")
    sets = [word for key in (f"PACKET_PAYLOAD_SIZE={payload}", *keys) for word in ("--set", key)]
    result = subprocess.run([PROGRAM, conf or "conf", "-n", "topology", "-f", "flows", "-o", "out", "-q", *sets,
                             *flags], cwd=directory,
                            capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    fields = [line.split() for line in (directory / "out/fct.txt").read_text().splitlines()]
    assert len(fields) == len(pairs)
    return [(int(each[6]), int(each[7])) for each in fields]


def longest(alone, links, gbps, payload):
    """An acknowledgement goes in front of each frame at most, and the last one waits for a full frame on each link."""
    return alone + (FRAMES * ACK + links * (payload + OVERHEAD)) * 8 / gbps


RING = [(host, (host + 1) % HOSTS) for host in range(HOSTS)]


@pytest.mark.parametrize("payload", [1000, 4096, 9000])
@pytest.mark.parametrize("gbps", [10, 25, 100, 400])
def test_opposite_flows_do_not_slow_each_other_down(gbps, payload, tmp_path):
    cases = [(chain(links, gbps), [(0, 1), (1, 0)], links) for links in (2, 3, 6)] + [(star(gbps), RING, 2)]
    for topology, pairs, links in cases:
        for took, alone in times(tmp_path, topology, pairs, payload):
            assert took <= longest(alone, links, gbps,
                                   payload), f"{links} links, {len(pairs)} flows: {took / alone:.3f}"


@pytest.mark.parametrize("gbps, payload", [(25, 9000), (100, 4096)])
@pytest.mark.parametrize("name", sorted(path.stem for path in CONFS.glob("*.conf")))
def test_they_do_not_with_any_shipped_configuration(name, gbps, payload, tmp_path):
    # HPCC steers to 95% of a link with its telemetry of 42 bytes a frame; acknowledgements count as use. PINT rounds it
    # to 5%.
    law = {"HPCC": (1 + 126 / payload) / 0.95, "HPCC-PINT": 1.05 * (1 + 126 / payload) / 0.95}.get(name, 1.005)
    for topology, pairs in ((chain(2, gbps), [(0, 1), (1, 0)]), (star(gbps), RING)):
        for took, alone in times(tmp_path, topology, pairs, payload, conf=CONFS / f"{name}.conf"):
            assert took <= law * longest(alone, 2, gbps, payload), f"{len(pairs)} flows: {took / alone:.3f}"


@pytest.mark.parametrize("keys", [("LOSS_RECOVERY=irn", "HAS_WIN=0"), ("LOSS_RECOVERY=irn",), ("ROUTING=spray",),
                                  ("CC_MODE=8",),
                                  ("CC_MODE=ns3::RdmaSwift",)])
def test_they_do_not_if_something_else_bounds_the_bytes_in_flight(keys, tmp_path):
    for took, alone in times(tmp_path, chain(3, 25), [(0, 1), (1, 0)], 9000, keys=keys):
        assert took <= 1.005 * longest(alone, 3, 25, 9000), f"{took / alone:.3f}"


def test_global_t_keeps_the_hpcc_simulators_window(tmp_path):
    """There a window is the product of the idle path, which acknowledgements that wait for frames of 9,000 bytes do not
    fill."""
    links, gbps, wire = 2, 25, 9000 + OVERHEAD
    idle = links * ((wire + ACK) * 8 / gbps + 2 * 500)
    waiting = idle + links * wire * 8 / gbps
    # A frame begins while the window is not full.
    window = -(-int(gbps * idle / 8) // 9000)
    assert window * wire * 8 / waiting < gbps
    for took, alone in times(tmp_path, chain(links, gbps), [(0, 1), (1, 0)], 9000, keys=("GLOBAL_T=1",)):
        assert took > 1.2 * longest(alone, links, gbps, 9000)
    for took, alone in times(tmp_path, chain(links, gbps), [(0, 1)], 9000, keys=("GLOBAL_T=1",)):
        assert took == alone
