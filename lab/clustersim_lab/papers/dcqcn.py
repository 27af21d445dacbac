# SPDX-License-Identifier: GPL-2.0-only
"""DCQCN (SIGCOMM 2015): who gets how much of a link behind PFC, and a queue that stays short."""
from collections.abc import Mapping

from clustersim_lab.papers.paper import Paper
from clustersim_lab.papers.runs import Bench, Run, network, star

GBPS = 40
LOSSLESS = "PACKET_PAYLOAD_SIZE 1000\nHAS_WIN 0\nKMIN 5000\nKMAX 200000\nPMAX 0.01\n"
ALONE = LOSSLESS + "CC_MODE 0\nENABLE_QCN 0\n"
DCQCN = LOSSLESS + "CC_MODE ns3::RdmaDcqcnPaper\n"
# Hosts 0 to 3 send to host 4. Host 3 is on the receiver's switch; 0 and 1 come through one port, 2 through another.
PARKING_LOT = network(8, [5, 6, 7], [(a, b, GBPS, 1) for a, b in ((0, 5), (1, 5), (2, 6), (3, 7), (5, 7), (6, 7),
                                                                  (7, 4))])
STOP_S = 0.02
SAMPLE_US = 20


def goodput(run: Run, host: int) -> float:
    """@return Gb/s that a host has sent"""
    sent = next(int(row["tx_bytes"]) for row in run.links() if int(row["node"]) == host)
    return sent * 8 / STOP_S / 1e9


def reproduce(bench: Bench) -> Mapping[str, float]:
    conf = f"QLEN_MON_INTERVAL {SAMPLE_US}\nQLEN_MON_END {STOP_S * 1e6:g}\n"
    endless = int(GBPS * 1e9 / 8 * STOP_S)
    four = [(host, 4, endless, 0.0) for host in range(4)]
    ours = {}
    for key, text in (("alone", ALONE), ("with", DCQCN)):
        run = bench.run(key, PARKING_LOT, four, text + conf, stop_s=STOP_S)
        ours[f"dcqcn-fig3-{key}"] = goodput(run, 3) / goodput(run, 0)
    two = bench.run("two", star(3, GBPS, 1), [(host, 2, endless, 0.0) for host in range(2)], DCQCN + conf,
                    stop_s=STOP_S)
    ours["dcqcn-utilisation"] = 100 * sum(goodput(two, host) for host in range(2)) / GBPS
    samples = int(STOP_S * 1e6 / SAMPLE_US)
    ours["dcqcn-queue"] = two.queues((3, 2), samples)[int(0.9 * samples)] / 1000
    return ours


PAPER = Paper(
    "DCQCN", "Zhu et al.: Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015",
    "Four hosts send to a fifth over 40 Gb/s links: two of them behind one switch, one behind another, one beside the "
    "receiver. Then two hosts send to a third over one switch. Senders are ``ns3::RdmaDcqcnPaper``, marks the paper's "
    "(5 KB, 200 KB, 1 %), for 20 ms.",
    reproduce, {})
