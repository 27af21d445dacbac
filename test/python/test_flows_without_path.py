# SPDX-License-Identifier: GPL-2.0-only
"""Flows of qbb-flows that start while no path leads to their destination wait for one."""
import os
import pathlib
import random
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", "bin")).resolve() / "qbb-flows"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="qbb-flows is not built")

UPDATE_US = 100  # routes follow a link so much later (RdmaFabric::RouteUpdateDelay)
# Host h sends to host h + 3 through a switch at each end, with links of its own to both.
PAIRS = 3
TOPOLOGY = "8 2 7\n6 7\n" + "".join(f"{host} {6 if host < PAIRS else 7} 100Gbps 1us 0\n"
                                    for host in range(6)) + "6 7 400Gbps 1us 0\n"


def run(directory, keys, flows, *flags, output="out"):
    (directory / "topology").write_text(TOPOLOGY)
    (directory / "conf").write_text("\n".join(["CC_MODE 0", "PACKET_PAYLOAD_SIZE 1000", "MON_END 0", *keys]) + "\n")
    (directory / "flows").write_text(f"{len(flows)}\n" + "".join(f"{src} {src + PAIRS} 3 {port} {size} {us}e-6\n"
                                                                  for us, src, port, size in sorted(flows)))
    result = subprocess.run([PROGRAM, "conf", "-n", "topology", "-f", "flows", "-o", output, "-q", *flags],
                            cwd=directory,
                            capture_output=True, text=True, timeout=120, check=False)
    lines = [line.split() for line in (directory / output / "fct.txt").read_text().splitlines()]
    return result, {int(each[3]): (int(each[5]), int(each[6]), int(each[7])) for each in lines}


def outages(draw):
    """@return for each pair of hosts, when (in us) its source's link goes down and comes up, far enough apart for
    routes to follow"""
    times = {}
    for src in range(PAIRS):
        at, times[src] = 0, []
        for _ in range(draw.randint(1, 3)):
            down = at + draw.randint(150, 400)
            at = down + draw.randint(150, 600)
            times[src].append((down, at))
    return times


@pytest.mark.parametrize("keys", [(), ("QPS_PER_CONNECTION 4",), ("QP_MODE persistent",), ("LOSS_RECOVERY irn",)])
@pytest.mark.parametrize("seed", range(4))
def test_a_flow_starts_when_a_path_comes_up(seed, keys, tmp_path):
    draw = random.Random(f"{seed} {keys}")
    times = outages(draw)
    keys = [*keys, *(f"{key} {us} {src} 6" for src, outs in times.items() for down, up in outs
                     for key, us in (("LINK_DOWN", down), ("LINK_UP", up)))]
    # Far enough apart to be alone, unless they wait for the same path.
    flows = [(us, src, 100 + 100 * src + us // 40, draw.randint(1, 30_000)) for src in range(PAIRS)
             for us in range(0, 3000, 40)
             if draw.random() < 0.7]
    result, done = run(tmp_path, keys, flows)
    assert result.returncode == 0 and len(done) == len(flows), result.stderr
    # A change of any link updates all routes.
    updates = sorted(us + UPDATE_US for outs in times.values() for pair in outs for us in pair)
    known = {src: [tuple(min(update for update in updates if update > us) for us in pair) for pair in outs] for src,
             outs in times.items()}
    waited = 0
    for us, src, port, _ in flows:
        start, took, ideal = done[port]
        assert start == us * 1000
        gone, back = next(((gone, back) for gone, back in known[src] if gone <= us < back), (us, us))
        assert took >= (back - us) * 1000 + ideal - 1
        if back > us:
            waited += 1
            # Those that waited start at once: 30 KB of each take 2.6 us.
            together = sum(gone <= other < back for other, at, _, _ in flows if at == src)
            assert took <= (back - us) * 1000 + ideal + together * 2700, (us, src)
    assert waited > 5


def test_threads_make_no_difference(tmp_path):
    flows = [(us, src, 100 + 100 * src + us // 10, 20_000) for src in range(PAIRS) for us in range(0, 900, 10)]
    keys = [f"{key} {us + 7 * src} {src} 6" for src in range(PAIRS) for key,
            us in (("LINK_DOWN", 50), ("LINK_UP", 500))]
    for threads in ("1", "2"):
        result, done = run(tmp_path, keys, flows, "-t", threads, output=f"out{threads}")
        assert result.returncode == 0 and len(done) == len(flows), result.stderr
    assert (tmp_path / "out1/fct.txt").read_bytes() == (tmp_path / "out2/fct.txt").read_bytes()


def test_a_flow_that_never_finds_a_path_is_named(tmp_path):
    result, done = run(tmp_path, ("LINK_DOWN 50 0 6",), [(300, 0, 100, 5000), (300, 1, 101, 5000)])
    assert result.returncode == 1 and set(done) == {101}
    assert "1 flows are not finished, and nothing is left to simulate" in result.stderr
    assert "flow of line 2, 5000 bytes from node 0 to node 3, found no path" in result.stderr
