# SPDX-License-Identifier: GPL-2.0-only
"""Published figures of RDMA networks: ib_write over one switch, and who gets what behind PFC and DCQCN."""
import os
import pathlib
import subprocess

import pytest
from waiting import HANGS

PROGRAM = pathlib.Path(os.environ.get("PROGRAM_DIR", "bin")) / "qbb-flows"
OVERHEAD, ACK = 82, 84  # of a packet: headers and the gap between frames; of an acknowledgement
NS = 1e-9


def completion_seconds(tmp_path, topology, sizes, destination, conf):
    """@return how long each flow takes, until its last acknowledgement; flow i starts at host i"""
    flows = "".join(f"{host} {destination} 3 {100 + host} {size} 0\n" for host, size in enumerate(sizes))
    for name, text in (("topology.txt", topology), ("flow.txt", f"{len(sizes)}\n{flows}"), ("run.conf", conf)):
        (tmp_path / name).write_text(text)
    result = subprocess.run([PROGRAM, "run.conf", "-n", "topology.txt", "-f", "flow.txt", "-o", "out"], cwd=tmp_path,
                            capture_output=True, text=True, timeout=HANGS, check=False)
    assert result.returncode == 0, result.stderr
    times = {}
    for line in (tmp_path / "out" / "fct.txt").read_text().splitlines():
        fields = line.split()
        times[int(fields[3]) - 100] = float(fields[6]) * NS
    return [times[host] for host in range(len(sizes))]


def ib_write(tmp_path, gbps, size, delay_ns=500, payload=4096):
    """@return the seconds after which a message over one switch has arrived, simulated and in closed form"""
    topology = f"3 1 2\n2\n0 2 {gbps}Gbps {delay_ns}ns 0\n1 2 {gbps}Gbps {delay_ns}ns 0\n"
    took, = completion_seconds(tmp_path, topology, [size], 1, f"PACKET_PAYLOAD_SIZE {payload}\nCC_MODE 0\nHAS_WIN 0\n")
    frames, rest = divmod(size, payload)
    wire = frames * (payload + OVERHEAD) + (rest + OVERHEAD if rest else 0)
    last = rest + OVERHEAD if rest else payload + OVERHEAD
    bit = 1 / (gbps * 1e9)
    back = 2 * (ACK * 8 * bit + delay_ns * NS)  # what fct.txt counts on top: the acknowledgement's way
    return took - back, (wire + last) * 8 * bit + 2 * delay_ns * NS


# Gb/s of a port, and of ib_write_bw: ConnectX EDR (NVIDIA's developer forum, topic 273376); NDR, the better four of
# eight NICs of the machine of docs/source/data/measurements/allreduce_2x8xB200_ib_vultr.csv.
@pytest.mark.parametrize("gbps, published", [(100, 96.6), (400, 387)])
def test_long_messages_have_the_bandwidth_of_ib_write_bw(tmp_path, gbps, published):
    size = 64 << 20
    simulated, expected = ib_write(tmp_path, gbps, size)
    assert simulated == pytest.approx(expected, abs=1.5 * NS)
    assert size * 8 / simulated / 1e9 == pytest.approx(published, rel=0.02)


def test_a_message_of_2_mib_takes_as_long_as_ib_write_lat_says(tmp_path):
    simulated, expected = ib_write(tmp_path, 100, 2 << 20)
    assert simulated == pytest.approx(expected, abs=1.5 * NS)
    assert simulated == pytest.approx(176e-6, rel=0.03)  # the same topic of the forum


def test_a_few_bytes_take_the_links_delays_and_nothing_else(tmp_path):
    simulated, expected = ib_write(tmp_path, 400, 8)
    assert simulated == pytest.approx(expected, abs=1.5 * NS)
    # ib_write_lat of that machine is 2.68 to 2.84 us: the PCIe buses and the NICs' pipelines are not in a packet's
    # time here. Users who want them there make the links' delay longer.
    assert 1.0e-6 < simulated < 2.68e-6


# Figure 3 of the DCQCN paper (SIGCOMM 2015): H1 to H4 send to R at 40 Gb/s. H4 is on R's own switch; H1 and H2 come to
# it through one port, H3 through another.
PARKING_LOT = "8 3 7\n5 6 7\n" + "".join(f"{link} 40Gbps 1us 0\n" for link in
                                         ("0 5", "1 5", "2 6", "3 7", "5 7", "6 7", "7 4"))
LOSSLESS = "PACKET_PAYLOAD_SIZE 1000\nHAS_WIN 0\n"


def line_seconds(sizes):
    return sum(sizes) / 1000 * (1000 + OVERHEAD) * 8 / 40e9


def test_pfc_alone_shares_a_link_by_ports_not_by_flows(tmp_path):
    # A third for each port: flows of 1 : 1 : 2 : 2 end together when the link has carried them all.
    sizes = [4_000_000, 4_000_000, 8_000_000, 8_000_000]
    times = completion_seconds(tmp_path, PARKING_LOT, sizes, 4, LOSSLESS + "CC_MODE 0\nENABLE_QCN 0\n")
    for took in times:
        assert took == pytest.approx(line_seconds(sizes), rel=5e-3)


def test_dcqcn_shares_it_by_flows(tmp_path):
    # As the paper repeats it with DCQCN: each flow has a quarter, so four alike end together.
    sizes = [16_000_000] * 4
    times = completion_seconds(tmp_path, PARKING_LOT, sizes, 4, LOSSLESS + "CC_MODE 1\nENABLE_QCN 1\n")
    assert line_seconds(sizes) < max(times) < 1.08 * line_seconds(sizes)
    assert max(times) / min(times) < 1.05
    # Shares by port would have ended H3 and H4 after three quarters of that time.
    pfc = completion_seconds(tmp_path, PARKING_LOT, sizes, 4, LOSSLESS + "CC_MODE 0\nENABLE_QCN 0\n")
    assert min(pfc) == pytest.approx(0.75 * line_seconds(sizes), rel=5e-3)
