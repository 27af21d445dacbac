# SPDX-License-Identifier: GPL-2.0-only
"""REPS and SMaRTT: paths that leave a failed link, and NSCC beside Swift, on Ultra Ethernet."""
import random
from collections.abc import Mapping

from clustersim_lab.papers.paper import Paper
from clustersim_lab.papers.runs import Bench, Run, Wish, fat_tree, first_core_link

K, GBPS, DELAY_US = 8, 100, 1
HOSTS = K**3 // 4
SIZE = 4_000_000
UEC = "TRANSPORT UEC\nPACKET_PAYLOAD_SIZE 4000\nMON_END 0\n"
SWIFT = "CC_MODE ns3::RdmaSwift\nROUTING random-spray\nPACKET_PAYLOAD_SIZE 4000\nMON_END 0\n"


def last_us(run: Run) -> float:
    """@return the end of the last flow"""
    return max(flow.end_ns for flow in run.flows()) / 1000


def reproduce(bench: Bench) -> Mapping[str, float]:
    hosts = list(range(HOSTS))
    random.Random(1).shuffle(hosts)
    wishes: list[Wish] = [(src, dst, SIZE, 0.0) for src, dst in zip(hosts, hosts[1:] + hosts[:1])]
    tree = fat_tree(K, GBPS, DELAY_US)
    reps = UEC + "UEC_SPREADING reps\n"
    whole, dead = (last_us(bench.run(name, topology, wishes, reps))
                   for name, topology in (("whole", tree), ("dead", first_core_link(tree, K, loss=1))))
    swift = last_us(bench.run("swift", tree, wishes, SWIFT))
    return {"reps-failure": dead - whole, "smartt-swift": 100 * (1 - whole / swift)}


PAPER = Paper(
    "REPS", "Bonato et al.: REPS: Recycled Entropy Packet Spraying, 2024; SMaRTT: Sender-based Marked "
            "Rapidly-adapting Trimmed & Timed Transport, 2024",
    "A permutation of 128 hosts on a fat tree of 100 Gb/s, 4 MB each, with ``TRANSPORT UEC`` and ``UEC_SPREADING "
    "reps``, and the same with a link that loses all frames from the start.",
    reproduce, {})
