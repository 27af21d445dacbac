# SPDX-License-Identifier: GPL-2.0-only
"""NDP (SIGCOMM 2017): incasts and permutations with trimming, beside Ultra Ethernet; a permutation with DCTCP."""
import random
import statistics
from collections.abc import Mapping

from clustersim_lab.papers.paper import Paper
from clustersim_lab.papers.runs import Bench, Run, Wish, fat_tree, first_core_link, leaf_spine

GBPS = 10
DELAY_US = 0.5
FRAME = 9000
PAYLOAD = FRAME - 64  # as htsim counts: 64 bytes of headers in a frame
ACK = 64
FLOW = 30 * FRAME
WIRE = ("--ns3::RdmaHw::DataOverhead=64", f"--ns3::RdmaHw::AckBytes={ACK}")
UEC_WIRE = ("--ns3::RdmaHw::DataOverhead=24", "--ns3::RdmaHw::AckBytes=38")  # and 40 and 26 of UecTransport
UEC = f"TRANSPORT UEC\nPACKET_PAYLOAD_SIZE {PAYLOAD}\nMON_END 0\n"
DCTCP = (f"PACKET_PAYLOAD_SIZE {PAYLOAD}\nCC_MODE 8\nENABLE_PFC 0\nLOSS_RECOVERY irn\nBUFFER_SIZE 16\nMON_END 0\n"
         f"KMIN {15 * FRAME}\nKMAX {15 * FRAME}\nPMAX 1\n")
INCASTS = (8, 32, 100, 400)
TREE = 12  # ports of a switch of the fat tree, which has 432 hosts
STOP_S = 0.01
# The paper's 23 packets of permutations, in bandwidth-delay products of the longest path: 6 links there and back.
WINDOW = "--ns3::UecNscc::WindowFactor=3.3"
SMALL_TREE = 8
SLOW_GBPS = 1


def incast_stretch(bench: Bench, senders: int) -> float:
    """@return when the last flow of an incast ends, over when it would if the receiver's link never idled"""
    leaves = -(-(senders + 1) // 16)
    run = bench.run(f"incast-{senders}", leaf_spine(leaves, 16, 16, (GBPS, GBPS), DELAY_US),
                    [(host + 1, 0, FLOW // FRAME * PAYLOAD, 0.0) for host in range(senders)],
                    UEC + "UEC_CC rccc\n", *UEC_WIRE)
    flows = run.flows()
    nearest_ns = min(flow.ideal_ns for flow in flows)
    best_ns = nearest_ns + (senders - 1) * FLOW * 8 / GBPS
    return max(flow.end_ns for flow in flows) / best_ns


def permutation(bench: Bench, name: str, topology: str, count: int, conf: str, *flags: str) -> list[float]:
    """@return the goodput of each host of a full permutation in Gb/s, with 9,000 bytes of each frame as NDP has them"""
    hosts = list(range(count))
    random.Random(1).shuffle(hosts)  # a cycle: everybody sends to the next
    endless = int(GBPS * 1e9 / 8 * STOP_S)
    wishes: list[Wish] = [(src, dst, endless, 0.0) for src, dst in zip(hosts, hosts[1:] + hosts[:1])]
    return received_gbps(bench.run(name, topology, wishes, conf, *flags, stop_s=STOP_S), count)


def received_gbps(run: Run, hosts: int) -> list[float]:
    """@return of each host the rate of data that its switch has sent to it; an acknowledgement goes with each frame"""
    share = FRAME / (FRAME + ACK)
    return [int(row["tx_bytes"]) * 8 * share / STOP_S / 1e9 for row in run.links() if int(row["peer"]) < hosts]


def reproduce(bench: Bench) -> Mapping[str, float]:
    ours = {f"ndp-incast-{senders}": incast_stretch(bench, senders) for senders in INCASTS}
    whole, small = TREE**3 // 4, SMALL_TREE**3 // 4
    slow = first_core_link(fat_tree(SMALL_TREE, GBPS, DELAY_US), SMALL_TREE, gbps=SLOW_GBPS)
    for name, topology, count, conf, flags in (
            ("permutation", fat_tree(TREE, GBPS, DELAY_US), whole, UEC, (*UEC_WIRE, WINDOW)),
            ("failure", slow, small, UEC + "UEC_SPREADING avoid\n", (*UEC_WIRE, WINDOW)),
            ("dctcp", fat_tree(TREE, GBPS, DELAY_US), whole, DCTCP, WIRE)):
        rates = permutation(bench, name, topology, count, conf, *flags)
        ours[f"ndp-{name}-mean"], ours[f"ndp-{name}-least"] = statistics.mean(rates), min(rates)
    return ours


WHY = {"ndp-permutation-least": "Open in part: NSCC alone decides on shares here. NDP's pulls give each flow its "
                                "receiver's whole link.",
       "ndp-dctcp-least": "The least of 432 flows is a matter of how many of them the hash puts on one link: the two "
                          "programs hash in other ways."}


PAPER = Paper(
    "NDP", "Handley et al.: Re-architecting datacenter networks and stacks for low latency and high performance, "
           "SIGCOMM 2017",
    "Incasts of 270 kB from each sender, and a permutation of 432 hosts on a fat tree, over links of 10 Gb/s with "
    "frames of 9,000 bytes. NDP itself is not modelled: ours is ``TRANSPORT UEC``, which trims as NDP does. In "
    "incasts, its receivers grant credits (``UEC_CC rccc``), as NDP's pull; in permutations, senders have windows. "
    "The trees of incasts have two tiers and as many hosts as it takes.",
    reproduce, WHY)
