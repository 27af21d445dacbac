# SPDX-License-Identifier: GPL-2.0-only
"""IRN (SIGCOMM 2018): selective repeat without PFC beside go-back-N with PFC, under three congestion controls."""
import random
import statistics
from collections.abc import Mapping

from clustersim_lab.hpcc.against_hpcc import percentile
from clustersim_lab.papers.paper import Paper
from clustersim_lab.papers.runs import Bench, Wish, fat_tree

K, GBPS, DELAY_US = 6, 40, 2
HOSTS = K**3 // 4
LOAD, DURATION_S = 0.7, 0.01
PORT_BYTES = 240_000
COMMON = f"PACKET_PAYLOAD_SIZE 1000\nHAS_WIN 0\nBUFFER_SIZE {K * PORT_BYTES}\nMON_END 0\n"
KINDS = {"roce": "USE_DYNAMIC_PFC_THRESHOLD 0\nLOSS_RECOVERY gbn\n", "irn": "ENABLE_PFC 0\nLOSS_RECOVERY irn\n"}
# A port alone then holds 240 kB in either case.
FLAGS = {"roce": (), "irn": (f"--ns3::SwitchMmu::LossyAlpha={1 / (K - 1)}",)}
CONTROLS = {"none": "CC_MODE 0\nENABLE_QCN 0\n",
            "dcqcn": "CC_MODE ns3::RdmaDcqcnPaper\nKMIN 5000\nKMAX 200000\nPMAX 0.01\n",
            "timely": "CC_MODE ns3::RdmaTimely\nENABLE_QCN 0\n"}


def sizes(source: random.Random) -> int:
    """@return a size of the paper's heavy-tailed mix: half single packets, 35% to 200 kB, 15% to 3 MB"""
    low, high = source.choices(((32, 1000), (1000, 200_000), (200_000, 3_000_000)), (50, 35, 15))[0]
    return source.randint(low, high)


def traffic() -> list[Wish]:
    source = random.Random(1)
    mean = statistics.mean(sizes(random.Random(seed)) for seed in range(20_000))
    wishes: list[Wish] = []
    for src in range(HOSTS):
        start = source.expovariate(LOAD * GBPS * 1e9 / 8 / mean)
        while start < DURATION_S:
            dst = source.choice([host for host in range(HOSTS) if host != src])
            wishes.append((src, dst, sizes(source), start))
            start += source.expovariate(LOAD * GBPS * 1e9 / 8 / mean)
    return sorted(wishes, key=lambda wish: wish[3])


def reproduce(bench: Bench) -> Mapping[str, float]:
    wishes = traffic()
    ours: dict[str, float] = {}
    for control, conf in CONTROLS.items():
        found = {}
        for kind, text in KINDS.items():
            flows = bench.run(f"{kind}-{control}", fat_tree(K, GBPS, DELAY_US), wishes, COMMON + conf + text,
                              *FLAGS[kind]).flows()
            times = [flow.fct_ns for flow in flows]
            found[kind] = {"slowdown": statistics.mean(flow.slowdown for flow in flows),
                           "mean": statistics.mean(times), "p99": percentile(times, 99)}
        ours |= {f"irn-{control}-{metric}": 100 * (1 - found["irn"][metric] / found["roce"][metric])
                 for metric in found["irn"]}
    return ours


PAPER = Paper(
    "IRN", "Mittal et al.: Revisiting Network Support for RDMA, SIGCOMM 2018",
    "54 hosts on a fat tree of 6-port switches with 40 Gb/s and 2 us on each link and 240 kB of buffer for each port, "
    "at 70 % load, as in the paper's section 4.1. Flows start for 10 ms. RoCE is go-back-N with PFC; IRN is "
    "``LOSS_RECOVERY irn`` without.",
    reproduce, {})
