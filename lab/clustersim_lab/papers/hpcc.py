# SPDX-License-Identifier: GPL-2.0-only
"""HPCC (SIGCOMM 2019): short flows of WebSearch and short messages beside long ones, with HPCC and with DCQCN."""
import random
import statistics
from collections.abc import Mapping

from clustersim.commands.hpcc_traffic import SizeDistribution, background
from clustersim_lab.hpcc.against_hpcc import percentile
from clustersim_lab.papers.paper import Paper
from clustersim_lab.papers.runs import Bench, Wish, network, star

RACKS, HOSTS, GBPS, UPLINK_GBPS = 4, 8, 25, 100
SHORT = 3000
DURATION_S = 0.3
SAMPLE_US = 50
MAPS = "KMIN_MAP 2 25Gbps 100 100Gbps 400\nKMAX_MAP 2 25Gbps 400 100Gbps 1600\nPMAX_MAP 2 25Gbps 0.2 100Gbps 0.2\n"
COMMON = "PACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\n" + MAPS
SCHEMES = {"hpcc": "CC_MODE 3\nHAS_WIN 1\nENABLE_QCN 0\n", "dcqcn": "CC_MODE 1\nHAS_WIN 0\n"}
LONG_HOSTS, MICE, EVERY_S, MICE_S = 2, 1000, 50e-6, 0.02
MICE_DELAY_US = 1.2


def testbed() -> str:
    """@return the paper's testbed: four racks on one switch, 5.4 us there and back in a rack, 8.5 us between racks"""
    count = RACKS * HOSTS
    links = [(host, count + host // HOSTS, GBPS, MICE_DELAY_US) for host in range(count)]
    links += [(count + rack, count + RACKS, UPLINK_GBPS, 0.7) for rack in range(RACKS)]
    return network(count + RACKS + 1, range(count, count + RACKS + 1), links)


def traffic(bench: Bench, load: float) -> list[Wish]:
    sizes = SizeDistribution(str(bench.data / "WebSearch_distribution.txt"))
    rates = {host: GBPS * 1e9 for host in range(RACKS * HOSTS)}
    return [(src, dst, size, start) for start, src, dst, size, _ in
            background(random.Random(1), rates, sizes, load, DURATION_S)]


def mice_us(bench: Bench, name: str, conf: str) -> float:
    """@return the median time of 1 kB messages to a host to which two others send without end"""
    endless = int(GBPS * 1e9 / 8 * MICE_S)
    wishes: list[Wish] = [(host, LONG_HOSTS, endless, 0.0) for host in range(LONG_HOSTS)]
    wishes += [(LONG_HOSTS + 1, LONG_HOSTS, MICE, number * EVERY_S) for number in range(int(MICE_S / EVERY_S))]
    run = bench.run(f"mice-{name}", star(LONG_HOSTS + 2, GBPS, MICE_DELAY_US), wishes, COMMON + conf, stop_s=MICE_S)
    return statistics.median(flow.fct_ns for flow in run.flows()
                             if flow.size == MICE and flow.start_ns > MICE_S / 2 * 1e9) / 1000


def reproduce(bench: Bench) -> Mapping[str, float]:
    ours: dict[str, float] = {}
    for load in (30, 50):
        wishes = traffic(bench, load / 100)
        for name, conf in SCHEMES.items():
            flows = bench.run(f"websearch-{load}-{name}", testbed(), wishes, COMMON + conf + "MON_END 0\n").flows()
            short = [flow.slowdown for flow in flows if flow.size < SHORT]
            ours[f"hpcc-{load}-{name}"] = percentile(short, 99)
    ours["hpcc-50-reduction"] = 100 * (1 - ours["hpcc-50-hpcc"] / ours["hpcc-50-dcqcn"])
    return ours | {f"hpcc-mice-{name}": mice_us(bench, name, conf) for name, conf in SCHEMES.items()}


LESS_THAN_HARDWARE = ("Nothing but queues and frames takes time here. The testbed's slowdown also has the NICs' and "
                      "the hosts' own delays, of which a few microseconds are half of such a flow's ideal time.")
WHY = {**dict.fromkeys(("hpcc-30-hpcc", "hpcc-50-hpcc"), LESS_THAN_HARDWARE),
       "hpcc-30-dcqcn": "Open. The percentile is that of 238 flows here, and the parameters of the NICs are not "
                        "printed.",
       "hpcc-mice-dcqcn": "Two flows make the queue here. The number of the paper's long flows is not in its text, "
                          "and the queue grows with it."}


PAPER = Paper(
    "HPCC", "Li et al.: HPCC: High Precision Congestion Control, SIGCOMM 2019",
    "The paper's testbed, 32 hosts with 25 Gb/s in four racks of 100 Gb/s, with WebSearch flows that start for 0.3 s; "
    "and 1 kB messages beside two endless flows. The marks of DCQCN are the paper's. :doc:`hpcc-comparison` has "
    "figure 11 on 320 hosts: ``lab/reproduce.py HPCC --whole``.",
    reproduce, WHY, needs_data=True)
