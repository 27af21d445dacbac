# SPDX-License-Identifier: GPL-2.0-only
"""ConWeave (SIGCOMM 2023): rerouting within a flow; ours sends each frame where the port is least loaded."""
import random
import statistics
from collections.abc import Mapping

from clustersim.commands.hpcc_traffic import SizeDistribution, background
from clustersim_lab.hpcc.against_hpcc import percentile
from clustersim_lab.papers.paper import Paper
from clustersim_lab.papers.runs import Bench, Wish, leaf_spine

LEAVES, SPINES, HOSTS, GBPS, DELAY_US = 8, 8, 16, 100, 1
DURATION_S = 0.003
OVERSUBSCRIBED = 2
COMMON = ("PACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 9\nHAS_WIN 0\nMON_END 0\n"
          "CC_MODE 1\nKMIN 100000\nKMAX 400000\nPMAX 0.2\n")
LOSS = {"lossless": "LOSS_RECOVERY gbn\n", "irn": "ENABLE_PFC 0\nLOSS_RECOVERY irn\n"}
OTHERS, OURS = ("ecmp", "flowlet"), "adaptive"


def traffic(bench: Bench, load: float) -> list[Wish]:
    """@return flows of the AliCloud storage distribution @param load of the links between leaves and spines"""
    sizes = SizeDistribution(str(bench.data / "AliStorage2019.txt"))
    rates = {host: GBPS * 1e9 for host in range(LEAVES * HOSTS)}
    return [(src, dst, size, start) for start, src, dst, size, _ in
            background(random.Random(1), rates, sizes, load / OVERSUBSCRIBED, DURATION_S)]


def reproduce(bench: Bench) -> Mapping[str, float]:
    tree = leaf_spine(LEAVES, SPINES, HOSTS, (GBPS, GBPS), DELAY_US)
    ours = {}
    for load in (50, 80):
        wishes = traffic(bench, load / 100)
        for loss, conf in LOSS.items():
            found = {}
            for routing in (*OTHERS, OURS):
                run = bench.run(f"{load}-{loss}-{routing}", tree, wishes, f"{COMMON}{conf}ROUTING {routing}\n")
                slowdowns = [flow.slowdown for flow in run.flows()]
                found[routing] = {"mean": statistics.mean(slowdowns), "p99": percentile(slowdowns, 99)}
            for metric in ("mean", "p99"):
                best = min(found[routing][metric] for routing in OTHERS)
                ours[f"conweave-{load}-{loss}-{metric}"] = 100 * (1 - found[OURS][metric] / best)
    return ours


WHY = {"conweave-80-irn-p99": "Open: our frames need not keep their order, so that the scheme differs. The "
                              "improvement over the better of two others is within 10 points of the paper's, which "
                              "has CONGA and DRILL among the others."}


PAPER = Paper(
    "ConWeave", "Song et al.: Network Load Balancing with In-network Reordering Support for RDMA, SIGCOMM 2023",
    "128 hosts on eight leaves and eight spines, 100 Gb/s and 1 us on each link, AliCloud's storage traffic and "
    "DCQCN, as in the paper's section 4.1. ConWeave itself, which reorders in the last switch, is not modelled: ours "
    "is ``ROUTING adaptive``, a port for each frame, and receivers that put frames in order. It is compared with the "
    "better of ECMP and flowlets. Flows start for 3 ms.",
    reproduce, WHY, needs_data=True)
