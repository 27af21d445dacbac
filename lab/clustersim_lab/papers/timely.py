# SPDX-License-Identifier: GPL-2.0-only
"""TIMELY (SIGCOMM 2015): latency of short messages beside long ones, with PFC alone and with TIMELY."""
import statistics
from collections.abc import Mapping

from clustersim_lab.hpcc.against_hpcc import percentile
from clustersim_lab.papers.paper import Paper
from clustersim_lab.papers.runs import Bench, Run, Wish, star

GBPS = 20
SENDERS = 40
DELAY_US = 4.5
RECEIVER, PROBER, HOSTS = SENDERS, SENDERS + 1, SENDERS + 2
WARM_S, STOP_S = 0.4, 0.6
PROBE, EVERY_S = 1000, 50e-6
LOSSLESS = "PACKET_PAYLOAD_SIZE 1000\nHAS_WIN 0\nENABLE_QCN 0\n"
MONITORS = f"MON_START {WARM_S * 1e6:g}\nMON_END {STOP_S * 1e6:g}\nBW_MON_INTERVAL 10000\n"


def latency_ns(run: Run) -> float:
    """@return the 99th percentile of short messages, once rates have settled"""
    return percentile([flow.fct_ns for flow in run.flows() if flow.size == PROBE and flow.start_ns > WARM_S * 1e9], 99)


def reproduce(bench: Bench) -> Mapping[str, float]:
    wishes: list[Wish] = [(host, RECEIVER, int(GBPS * 1e9 / 8 * STOP_S), 0.0) for host in range(SENDERS)]
    wishes += [(PROBER, RECEIVER, PROBE, number * EVERY_S) for number in range(int(STOP_S / EVERY_S))]
    network, conf = star(HOSTS, GBPS, DELAY_US), LOSSLESS + MONITORS + "CC_MODE "
    alone, timely = (bench.run(name, network, wishes, conf + mode, stop_s=STOP_S)
                     for name, mode in (("alone", "0\n"), ("timely", "ns3::RdmaTimely\n")))
    received = statistics.mean(timely.bandwidth_gbps((HOSTS, RECEIVER)))
    return {"timely-latency": latency_ns(alone) / latency_ns(timely),
            "timely-throughput": 100 * received / GBPS}


WHY = {"timely-latency":
       "With PFC alone, a message waits for a full buffer. That is 7.5 ms with 16 MiB and 20 Gb/s; the ratio follows "
       "from the buffer's size, which the abstract does not give."}


PAPER = Paper(
    "TIMELY", "Mittal et al.: TIMELY: RTT-based Congestion Control for the Datacenter, SIGCOMM 2015",
    "Forty hosts send to another over a switch with 20 Gb/s ports and PFC, and one more sends it 1,000 bytes every "
    "50 us. Times are taken from 0.4 to 0.6 s. The paper's fabric had hundreds of machines.",
    reproduce, WHY)
