# SPDX-License-Identifier: GPL-2.0-only
"""The trees, connection matrices and settings that both simulators run."""
import dataclasses
from collections.abc import Iterable

HOSTS = 128
RATE_MBPS = 100_000
PAYLOAD = 4000
HEADERS = 64  # of a data frame in htsim, and the size of its acknowledgements
PAUSE_FRAMES = 15  # of a switch's ingress: above it, PFC pauses its partner
RESUME_FRAMES = 12
FLOW_BYTES = 2_000_000


def tier(number: int, down: int, up: int = 0) -> str:
    """@return a tier of a .topo file, whose links have 100 Gb/s and 1 us @param up links of a switch; 0: the last"""
    return (f"Tier {number}\nDownlink_speed_Gbps {RATE_MBPS // 1000}\nRadix_Down {down}\n"
            + (f"Radix_Up {up}\n" if up else "") + "Downlink_Latency_ns 1000\nSwitch_Latency_ns 0\n"
            + f"Oversubscribed {down // up if up else 1}\nBundle 1\n")


# In the first, every pair of hosts has one path, and 8 hosts share an uplink. The second has no oversubscription.
ONE_SPINE = f"Nodes {HOSTS}\nTiers 2\nPodsize {HOSTS}\n" + tier(0, 8, 1) + tier(1, 16)
FAT_TREE = f"Nodes {HOSTS}\nTiers 3\nPodsize 16\n" + tier(0, 4, 4) + tier(1, 4, 4) + tier(2, 8)
TREES = {"one spine": ONE_SPINE, "fat tree": FAT_TREE}


def matrix(pairs: Iterable[tuple[int, int]], size: int) -> str:
    """@return a connection matrix of flows that start together"""
    lines = [f"{src}->{dst} id {number} start 0 size {size}" for number, (src, dst) in enumerate(pairs, 1)]
    return f"Nodes {HOSTS}\nConnections {len(lines)}\n" + "\n".join(lines) + "\n"


def permutation() -> str:
    """@return a flow from every host to another; 36 src + 61 is odd, so that no host sends to itself"""
    return matrix([(src, (37 * src + 61) % HOSTS) for src in range(HOSTS)], FLOW_BYTES)


def incast(senders: int) -> str:
    """@return flows to the last host from hosts spread over the others"""
    return matrix([(i * (HOSTS - 1) // senders, HOSTS - 1) for i in range(senders)], FLOW_BYTES)


def all_to_all(ranks: int, size: int) -> str:
    """@return a flow between every two of some hosts, spread over all, that all start at once"""
    hosts = [i * HOSTS // ranks for i in range(ranks)]
    return matrix([(hosts[i], hosts[(i + turn) % ranks]) for turn in range(1, ranks) for i in range(ranks)], size)


MATRICES = {"permutation": permutation(), "incast of 8": incast(8), "incast of 32": incast(32),
            "incast of 127": incast(127), "AllToAll of 16": all_to_all(16, 200_000),
            "AllToAll of 32": all_to_all(32, 200_000), "one flow": matrix([(0, HOSTS - 1)], FLOW_BYTES)}

COMMON = f"""PACKET_PAYLOAD_SIZE {PAYLOAD}
L2_ACK_INTERVAL 1
ACK_HIGH_PRIO 1
BUFFER_SIZE 256
USE_DYNAMIC_PFC_THRESHOLD 0
MON_END 0
"""
WIRE = ("--ns3::RdmaHw::DataOverhead=64", "--ns3::RdmaHw::AckBytes=64", "--ns3::SwitchMmu::ReserveBytes=0",
        f"--ns3::SwitchMmu::StaticThreshold={PAUSE_FRAMES * PAYLOAD}",
        f"--ns3::SwitchMmu::ResumeOffset={(PAUSE_FRAMES - RESUME_FRAMES) * PAYLOAD}",
        "--ns3::QbbNetDevice::PauseTime=0")
ROCE = ("-nodes", str(HOSTS), "-linkspeed", str(RATE_MBPS), "-mtu", str(PAYLOAD), "-q", "10000", "-pfc_thresholds",
        str(RESUME_FRAMES), str(PAUSE_FRAMES), "-paths", "16")
UEC_WIRE = ("--ns3::RdmaHw::DataOverhead=24", "--ns3::RdmaHw::AckBytes=38")  # and 40 and 26 of UecTransport
UEC = ("-nodes", str(HOSTS), "-linkspeed", str(RATE_MBPS), "-mtu", str(PAYLOAD + HEADERS))


@dataclasses.dataclass(frozen=True)
class Setting:
    """A protocol in both simulators. The same model: the last flow ends within 5% of htsim's."""

    name: str
    program: str  # of htsim
    arguments: tuple[str, ...]  # of it
    conf: str | None  # ours; nothing: there is none here
    flags: tuple[str, ...]  # ours
    same_model: bool
    about: str  # a sentence or more for the page


SETTINGS = {setting.name: setting for setting in (
    Setting("RoCE", "htsim_roce", (*ROCE, "-strat", "ecmp_host"), COMMON + "CC_MODE 0\nHAS_WIN 0\nENABLE_QCN 0\n", WIRE,
            True, "RoCE without congestion control, lossless by PFC, a path per flow by a hash."),
    Setting("RoCE, sprayed", "htsim_roce", (*ROCE, "-strat", "ecmp_rr", "-out_of_order"),
            COMMON + "CC_MODE 0\nHAS_WIN 0\nENABLE_QCN 0\nROUTING random-spray\n", WIRE, False,
            "The same, and each frame takes a path of its own: htsim goes through the ports of a switch in an order\n"
            "that it draws anew for each round (``ecmp_rr``), and here each frame draws its port (``random-spray``)."),
    Setting("UEC, NSCC", "htsim_uec", (*UEC, "-sender_cc_only", "-sender_cc_algo", "nscc"),
            f"TRANSPORT UEC\nPACKET_PAYLOAD_SIZE {PAYLOAD}\n", UEC_WIRE, True,
            "Ultra Ethernet with congestion control at senders (NSCC) and trimming. Paths: htsim's mixed load balancing, and\n"
            "here ``UEC_SPREADING oblivious``."),
    Setting("UEC, RCCC", "htsim_uec", (*UEC, "-receiver_cc_only"),
            f"TRANSPORT UEC\nUEC_CC rccc\nPACKET_PAYLOAD_SIZE {PAYLOAD}\n", UEC_WIRE, True,
            "Ultra Ethernet with credits of receivers (RCCC): ``UEC_CC rccc``."),
)}


@dataclasses.dataclass(frozen=True)
class Case:
    setting: str
    tree: str
    matrix: str
    end_us: int  # at which htsim ends

    @property
    def name(self) -> str:
        return f"{self.setting}, {self.tree}, {self.matrix}"

    @property
    def seeds(self) -> range:
        """@return the seeds of its runs: several where paths count, most where a flow draws one path"""
        if self.tree != "fat tree" or self.matrix != "permutation":
            return range(1, 2)
        return range(1, 41 if self.setting == "RoCE" else 11)


END_US = {"permutation": 3000, "incast of 8": 2500, "incast of 32": 8000, "incast of 127": 25_000,
          "AllToAll of 16": 1000, "AllToAll of 32": 2000, "one flow": 400}
# htsim divides the demand of each flow by the flows of its sender, so that their ends come late.
LATE_IN_HTSIM = {("UEC, RCCC", "fat tree", "AllToAll of 16"), ("UEC, RCCC", "fat tree", "AllToAll of 32")}
NEVER_ENDS = {("RoCE, sprayed", "incast of 8"), ("RoCE, sprayed", "incast of 32")}  # in htsim
CASES = tuple(Case(setting, tree, matrix, end_us) for setting in SETTINGS for tree in TREES
              for matrix, end_us in END_US.items() if (setting, matrix) not in NEVER_ENDS)
