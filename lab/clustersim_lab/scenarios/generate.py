# SPDX-License-Identifier: GPL-2.0-only
"""Random scenarios: a cluster, a configuration, and flows or a workload."""
import dataclasses
import random
from collections.abc import Iterator, Sequence
from typing import TypeVar

RATES = (10, 25, 40, 100, 200, 400)  # Gb/s
DELAYS = ("0.1us", "0.5us", "1us", "5us")
OPERATIONS = ("ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL")
POLICY = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: {gpus} "
          "checkpoints: 0 checkpoint_initiates: 0\n{layers}\n")
Setting = tuple[str, int | float | str]  # a key and its value
T = TypeVar("T")
# Each key with the values that it may have; the first is the default.
CONF: dict[str, Sequence[int | float | str]] = {
    "CC_MODE": (1, 0, 3, 7, 8, 10),
    "PACKET_PAYLOAD_SIZE": (1000, 256, 4096, 9000),
    "HAS_WIN": (1, 0),
    "L2_ACK_INTERVAL": (1, 4, 10000),
    "ACK_HIGH_PRIO": (0, 1),
    "USE_DYNAMIC_PFC_THRESHOLD": (1, 0),
    "BUFFER_SIZE": (32, 4, 16),
    "RATE_BOUND": (1, 0),
    "ROUTING": ("ecmp", "spray", "adaptive", "flowlet"),
    "LOSS_RECOVERY": ("gbn", "irn"),
    "QPS_PER_CONNECTION": (1, 2),
    "QP_MODE": ("per_flow", "persistent"),
    "ERROR_RATE_PER_LINK": (0, 0.001),
    "LINK_CREDITS": (0, 100000),
    "LINK_RETRY": (0, 1),
    "LINK_RETRY_BUFFER": (0, 20000),
    "COLLECTIVE_ENGINE": ("NCCL", "ACCL", "ACCL DP"),
}


@dataclasses.dataclass(frozen=True)
class Scenario:
    """Everything that a run is made from; shrinking makes these smaller one by one."""
    name: str
    servers: int
    gpus_per_server: int  # above 1: joined by an NVSwitch
    leaves: int
    spines: int
    nic_gbps: int
    spine_gbps: int
    delay: str
    conf: tuple[Setting, ...] = ()  # that are not the default
    failures: tuple[tuple[int, int, int, int], ...] = ()  # (microseconds down, microseconds up, leaf, spine)
    flows: tuple[tuple[int, int, int, float], ...] = ()  # (source, destination, bytes, start in seconds); or
    layers: tuple[tuple[str, str, int, int], ...] = ()  # (operation, group, bytes, nanoseconds of compute)
    tp: int = 1
    passes: int = 1
    seed: int = 1

    @property
    def gpus(self) -> int:
        """GPUs of all servers"""
        return self.servers * self.gpus_per_server

    @property
    def has_workload(self) -> bool:
        """Whether it runs a workload, and not flows alone"""
        return not self.flows

    @property
    def nvswitches(self) -> int:
        """One per server of several GPUs"""
        return self.servers if self.gpus_per_server > 1 else 0

    @property
    def first_leaf(self) -> int:
        """The number of the first leaf's node"""
        return self.gpus + self.nvswitches

    def topology(self) -> str:
        """@return the text of its topology file"""
        lines = []
        for gpu in range(self.gpus):
            server = gpu // self.gpus_per_server
            if self.nvswitches:
                lines.append(f"{gpu} {self.gpus + server} 2400Gbps 0.025us 0")
            lines.append(f"{gpu} {self.first_leaf + gpu % self.leaves} {self.nic_gbps}Gbps {self.delay} 0")
        for leaf in range(self.leaves):
            for spine in range(self.spines):
                lines.append(f"{self.first_leaf + leaf} {self.first_leaf + self.leaves + spine} "
                             f"{self.spine_gbps}Gbps {self.delay} 0")
        switches = self.leaves + self.spines
        nodes = self.gpus + self.nvswitches + switches
        ids = " ".join(map(str, range(self.gpus, nodes)))
        return (f"{nodes} {self.gpus_per_server} {self.nvswitches} {switches} {len(lines)} H100\n{ids}\n"
                + "\n".join(lines) + "\n")

    def configuration(self) -> str:
        """@return the text of its configuration, with failures of links"""
        lines = [f"{key} {value}" for key, value in self.conf]
        for down, up, leaf, spine in self.failures:
            ends = f"{self.first_leaf + leaf} {self.first_leaf + self.leaves + spine}"
            lines += [f"LINK_DOWN {down} {ends}", f"LINK_UP {up} {ends}"]
        return "\n".join(lines) + "\n"

    def flow_file(self) -> str:
        """@return the text of its flow file"""
        lines = [f"{src} {dst} 3 100 {size} {start:.9f}\n" for src, dst, size, start in self.flows]
        return f"{len(lines)}\n" + "".join(lines)

    def workload(self) -> str:
        """@return the text of its workload file"""
        text = POLICY.format(tp=self.tp, gpus=self.gpus, layers=len(self.layers))
        for number, (operation, group, size, compute) in enumerate(self.layers):
            text += (f"layer{number} -1 {compute} {operation}_{group} {size} {compute} NONE 0 {compute} "
                     f"ALLREDUCE_DP {size} 10\n")
        return text

    @property
    def has_engines(self) -> bool:
        """Whether NICs carry out collectives, as only packets have it"""
        return self.has_workload and "COLLECTIVE_ENGINE" in dict(self.conf)

    @property
    def is_lossless(self) -> bool:
        """Whether no frame may be lost"""
        return not self.failures and not dict(self.conf).get("ERROR_RATE_PER_LINK")


def _conf(chance: random.Random) -> tuple[Setting, ...]:
    chosen = {key: chance.choice(values) for key, values in CONF.items() if chance.random() < 0.3}
    # Losses are rare: they need time-outs, which take long.
    if chance.random() < 0.7:
        chosen.pop("ERROR_RATE_PER_LINK", None)
    return tuple((key, value) for key, value in chosen.items() if value != CONF[key][0])


def _failures(chance: random.Random, leaves: int, spines: int) -> tuple[tuple[int, int, int, int], ...]:
    if spines < 2 or chance.random() < 0.8:
        return ()
    down = chance.randrange(1, 200)
    return ((down, down + chance.randrange(1, 500), chance.randrange(leaves), chance.randrange(spines)),)


def scenario(seed: int | str, number: int) -> Scenario:
    """@return the scenario of that number; the same for the same seed"""
    chance = random.Random(f"{seed} {number}")
    gpus_per_server = chance.choice((1, 1, 2, 4))
    servers = chance.randrange(2, 9 if gpus_per_server == 1 else 5)
    leaves = chance.randrange(1, 4)
    spines = chance.randrange(1, 4) if leaves > 1 else 0
    nic = chance.choice(RATES)
    bare = Scenario(f"{seed}-{number}", servers, gpus_per_server, leaves, spines, nic, chance.choice((nic, *RATES)),
                    chance.choice(DELAYS), _conf(chance), _failures(chance, leaves, spines),
                    seed=chance.randrange(1, 1000))
    gpus = servers * gpus_per_server
    if chance.random() < 0.5:
        flows = []
        for _ in range(1 if chance.random() < 0.2 else chance.randrange(2, 30)):
            source, destination = chance.sample(range(gpus), 2)
            flows.append((source, destination, int(10 ** chance.uniform(0, 5.3)), chance.uniform(0, 1e-4)))
        return dataclasses.replace(bare, flows=tuple(sorted(flows, key=lambda flow: flow[3])))
    tp = chance.choice([size for size in (1, 2, 4) if gpus % size == 0])
    # In a fifth of the scenarios some are so large that NCCL takes NVLS-Tree for them. The draws do not depend on it.
    most = 7 if number % 5 == 4 else 5.3
    layers = tuple((chance.choice(OPERATIONS), chance.choice(("TP", "DP")), int(10 ** chance.uniform(0, most)),
                    chance.randrange(0, 20000)) for _ in range(chance.randrange(1, 4)))
    return dataclasses.replace(bare, layers=layers, tp=tp, passes=chance.randrange(1, 3))


def without_one(entries: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """Yields the entries without each of them."""
    for i in range(len(entries)):
        yield entries[:i] + entries[i + 1:]


def halves(entries: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """Yields both halves of more than three entries."""
    if len(entries) > 3:
        middle = len(entries) // 2
        yield entries[:middle]
        yield entries[middle:]


def smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Yields scenarios that have one thing less, the largest steps first."""
    replace = dataclasses.replace
    for flows in (*halves(scenario.flows), *without_one(scenario.flows)):
        if flows:
            yield replace(scenario, flows=flows)
    for layers in without_one(scenario.layers):
        if layers:
            yield replace(scenario, layers=layers)
    if scenario.failures:
        yield replace(scenario, failures=())
    for conf in without_one(scenario.conf):
        yield replace(scenario, conf=conf)
    if scenario.passes > 1:
        yield replace(scenario, passes=1)
    if scenario.servers > 2 and not scenario.flows:
        yield replace(scenario, servers=2, tp=1)
    for leaves, spines in ((1, 0), (scenario.leaves, 1)):
        if not scenario.failures and (leaves, spines) < (scenario.leaves, scenario.spines):
            yield replace(scenario, leaves=leaves, spines=spines)
    if scenario.spine_gbps != scenario.nic_gbps:
        yield replace(scenario, spine_gbps=scenario.nic_gbps)
    for i, (source, destination, size, start) in enumerate(scenario.flows):
        if size > 1:
            flow = (source, destination, size // 2, start)
            yield replace(scenario, flows=scenario.flows[:i] + (flow,) + scenario.flows[i + 1:])
    for i, (operation, group, size, compute) in enumerate(scenario.layers):
        if size > 1 or compute > 0:
            layer = (operation, group, max(size // 2, 1), compute // 2)
            yield replace(scenario, layers=scenario.layers[:i] + (layer,) + scenario.layers[i + 1:])
