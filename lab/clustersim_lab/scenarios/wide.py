# SPDX-License-Identifier: GPL-2.0-only
"""Random scenarios on every architecture of the topology generator, with all kinds of configurations and traffic."""
import dataclasses
import functools
import random
from collections.abc import Iterator, Sequence
from typing import Any

from clustersim.topology.cluster import Cluster, InputError, text_of, with_nics
from clustersim.topology.generator.command_line import make_parser, options_of
from clustersim_lab.scenarios.generate import Setting, halves, without_one

RATES = (25, 50, 100, 200, 400)  # Gb/s
OPERATIONS = ("ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL")
POLICY = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: {ep} pp: {pp} vpp: 1 ga: {ga} "
          "all_gpus: {gpus} checkpoints: 0 checkpoint_initiates: 0 pp_comm: {pp_bytes}\n{layers}\n")
Event = tuple[str, str]  # lines of the configuration: the failure of a link or node, and its end
Flow = tuple[int, int, int, int, float]  # source, destination, priority, bytes, start in seconds
Phase = tuple[int, str, int]  # nanoseconds of compute, collective, bytes
# Each key with the values that it may have; the first is the default.
CONF: dict[str, Sequence[int | float | str]] = {
    "CC_MODE": (1, 0, 3, 7, 8, 10, "ns3::RdmaSwift"),
    "PACKET_PAYLOAD_SIZE": (1000, 256, 1500, 4096, 9000),
    "HAS_WIN": (1, 0),
    "VAR_WIN": (1, 0),
    "GLOBAL_T": (0, 1),
    "L2_ACK_INTERVAL": (1, 4, 10000),
    "L2_BACK_TO_ZERO": (0, 1),
    "ACK_HIGH_PRIO": (0, 1),
    "USE_DYNAMIC_PFC_THRESHOLD": (1, 0),
    "BUFFER_SIZE": (16, 4, 32),
    "RATE_BOUND": (1, 0),
    "ENABLE_QCN": (1, 0),
    "ROUTING": ("ecmp", "spray", "adaptive", "flowlet", "adaptive-flowlet", "random-spray"),
    "LOSS_RECOVERY": ("gbn", "irn"),
    "QPS_PER_CONNECTION": (1, 2, 3),
    "QP_MODE": ("per_flow", "persistent"),
    "ERROR_RATE_PER_LINK": (0, 0.001),
    "LINK_CREDITS": (0, 100000),
    "LINK_RETRY": (0, 1),
    "LINK_RETRY_BUFFER": (0, 20000),
    "NIC_TOTAL_PAUSE_TIME": (0, 20),
    "PAUSE_TIME": (5, 1),
    "PFC_WATCHDOG": (10000, 20),
    "PFC_WATCHDOG_ACTION": ("alert", "drop", "forward"),
    "QUEUE_WEIGHT": ("3 1", "3 5"),
    "IN_NETWORK_REDUCTION": (0, 1),
    "COLLECTIVE_ENGINE": ("NCCL", "ACCL", "ACCL TP EP", "ACCL DP"),
    "MON_END": (20000, 0, 100),
    "QLEN_MON_INTERVAL": (10000, 2),
    "BW_MON_INTERVAL": (10000, 3),
    "QP_MON_INTERVAL": (100, 5),
}
RARE = ("ERROR_RATE_PER_LINK", "IN_NETWORK_REDUCTION", "NIC_TOTAL_PAUSE_TIME")  # slow, or not for threads
ENVIRONMENT = {
    "NCCL_ALGO": ("Ring", "Tree", "NVLS", "NVLSTree", "PAT", "Ring,Tree"),
    "NCCL_PROTO": ("LL", "LL128", "Simple"),
    "NCCL_MIN_NCHANNELS": ("2", "5"),
    "NCCL_MAX_NCHANNELS": ("1", "3"),
    "NCCL_CROSS_NIC": ("0", "1"),
    "NCCL_NVLS_ENABLE": ("0",),
    "NCCL_SELECT": ("rules",),
    "AS_PXN_ENABLE": ("1",),
    "AS_SEND_LAT": ("3", "0.7"),
    "NCCL_TUNING": ("2.18", "2.20", "2.23", "2.28", "2.29.2", "2.29"),
}


@dataclasses.dataclass(frozen=True)
class WideScenario:
    """Everything that a run is made from; shrinking makes these smaller one by one."""
    name: str
    cluster: tuple[str, ...]  # words for the topology generator
    conf: tuple[Setting, ...] = ()  # that are not the default
    events: tuple[Event, ...] = ()
    flows: tuple[Flow, ...] = ()  # without layers, all that there is
    layers: tuple[tuple[Phase, ...], ...] = ()  # of a workload, three phases each
    micro: tuple[tuple[int, str, int, str],
                 ...] = ()  # (passes, operation, bytes, group): micro lines instead of layers
    tp: int = 1
    ep: int = 1
    pp: int = 1
    ga: int = 1
    pp_bytes: int = 0
    flags: tuple[tuple[str, int | str | None], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    seed: int = 1

    @functools.cached_property
    def _built(self) -> Cluster:
        build, options, _ = options_of(vars(make_parser("").parse_args(self.cluster)))
        built = build(options)[0]
        built = with_nics(built, options.nics_per_gpu, options.gpus_per_nic)
        return dataclasses.replace(built, links=list(built.links))

    @property
    def gpus(self) -> int:
        """GPUs of the cluster"""
        return self._built.gpus

    @property
    def has_workload(self) -> bool:
        """Whether it runs a workload, and not flows alone"""
        return bool(self.layers or self.micro)

    @property
    def is_lossless(self) -> bool:
        """Whether no frame may be lost"""
        conf = dict(self.conf)
        return not self.events and not conf.get("ERROR_RATE_PER_LINK") and conf.get("PFC_WATCHDOG_ACTION") != "drop"

    def links(self) -> list[tuple[int, int]]:
        """@return pairs of nodes"""
        return [link[:2] for link in self._built.links]

    def nodes(self) -> int:
        """@return the number of nodes: GPUs, NVSwitches, other switches"""
        return self._built.gpus + self._built.nvswitches + self._built.switches

    def nvswitches(self) -> range:
        """@return the numbers of the NVSwitches' nodes"""
        return range(self._built.gpus, self._built.gpus + self._built.nvswitches)

    def topology(self) -> str:
        """@return the text of its topology file @raise InputError if the generator refuses the cluster"""
        return text_of(self._built)

    def configuration(self) -> str:
        """@return the text of its configuration, with failures of links and nodes"""
        return "".join(f"{line}\n" for line in (*(f"{key} {value}" for key, value in self.conf),
                                                *(line for event in self.events for line in event)))

    def flow_file(self) -> str:
        """@return the text of its flow file"""
        lines = [f"{src} {dst} {priority} 100 {size} {start:.9f}\n" for src, dst, priority, size, start in self.flows]
        return f"{len(lines)}\n" + "".join(lines)

    def workload(self) -> str:
        """@return the text of its workload file"""
        if self.micro:
            return "".join(f"{passes} {operation} {size} {group}\n" for passes, operation, size, group in self.micro)
        text = POLICY.format(tp=self.tp, ep=self.ep, pp=self.pp, ga=self.ga, pp_bytes=self.pp_bytes, gpus=self.gpus,
                             layers=len(self.layers))
        for number, phases in enumerate(self.layers):
            columns = "\t".join(f"{compute}\t{operation}\t{size}" for compute, operation, size in phases)
            text += f"layer{number}\t-1\t{columns}\t{phases[0][0] // 2}\n"
        return text


def _cluster(chance: random.Random) -> tuple[str, ...]:
    """@return words for the generator: 2 to 32 GPUs"""
    gps = chance.choice((1, 2, 3, 4, 8))
    servers = chance.randrange(2, 3 + 8 // gps)
    spines = chance.choice((1, 2, 3))
    common: list[object] = ["-gps", gps, "-g", gps * servers, "-gt", chance.choice(("A100", "H100")),
                            "-bw", f"{chance.choice(RATES)}Gbps", "-apbw", f"{chance.choice(RATES)}Gbps",
                            "-l", chance.choice(("0.0005ms", "0.0001ms", "0.005ms", "0.00033ms"))]
    if chance.random() < 0.2 and gps > 1:
        common += ["-nsps", "2"]
    nics = []
    if chance.random() < 0.25:
        nics = ["--nics_per_gpu", "2"] if gps == 1 or chance.random() < 0.5 else ["--gpus_per_nic", "2"]
    rails: list[object] = ["-psn", spines, "-npa", chance.choice((2, 4))]
    kind = chance.choice(("Spectrum-X", "AlibabaHPN-SinglePlane", "AlibabaHPN-DualPlane", "DCN-SingleToR",
                          "DCN-DualToR", "pods",
                          "NVL36", "FatTree", "Clos2", "Clos3", "Dragonfly", "Torus", "RailOnly"))
    if kind == "NVL36":
        common[1:4:2] = [gps := 4, 4 * servers]
    if "Dual" in kind or "Alibaba" in kind:
        nics = [word for word in nics if nics[0] == "--nics_per_gpu"]
    if kind == "pods":
        words = ["-topo", "Spectrum-X", *common, "-psn", 2, "-npa", 2, "-app", gps, "-csn", 2]
    elif kind == "FatTree":
        words = ["-topo", kind, *common, "--radix", 4]
    elif kind in ("Clos2", "Clos3"):
        words = ["-topo", kind, *common, "--nics_per_leaf", chance.choice((2, 4)), "--oversubscription",
                 chance.choice((1, 2))]
        words += ["--leaves_per_pod", 2] if kind == "Clos3" else []
    elif kind == "Dragonfly":
        common[1:4:2] = [gps := chance.choice((1, 2)), 12]
        words = ["-topo", kind, *common, "--routers_per_group", 2, "--gpus_per_router", 2, "--global_links", 1]
    elif kind == "Torus":
        dims = chance.choice(("2x2", "3x2", "2x2x2", "4"))
        count = 1
        for extent in dims.split("x"):
            count *= int(extent)
        gps = min(gps, 4)
        common[1:4:2] = [gps, gps * count]
        words = ["-topo", kind, *common, "--dims", dims]
    elif kind == "RailOnly":
        words = ["-topo", kind, *common]
    else:
        words = ["-topo", kind, *common, *rails]
    return tuple(map(str, (*words, *nics)))


def _buildable(chance: random.Random, name: str) -> WideScenario:
    while True:
        bare = WideScenario(name, _cluster(chance))
        try:
            bare.links()
            return bare
        except InputError:  # the generator knows which counts do not go together
            continue


def _events(chance: random.Random, bare: WideScenario) -> tuple[Event, ...]:
    if chance.random() < 0.8:
        return ()
    events = []
    for _ in range(chance.randrange(1, 3)):
        down = chance.randrange(1, 200)
        up = down + chance.randrange(1, 500)
        if chance.random() < 0.2:
            node = chance.randrange(bare.gpus, bare.nodes())
            events.append((f"NODE_DOWN {down} {node}", f"NODE_UP {up} {node}"))
        else:
            a, b = chance.choice(bare.links())
            events.append((f"LINK_DOWN {down} {a} {b}", f"LINK_UP {up} {a} {b}"))
    return tuple(events)


def _flows(chance: random.Random, gpus: int, most: int) -> tuple[Flow, ...]:
    flows: list[tuple[int, int, int, int, float]] = []
    for _ in range(chance.randrange(1, most)):
        source, destination = chance.sample(range(gpus), 2)
        start = flows[-1][4] if flows and chance.random() < 0.3 else chance.randrange(100_000) / 1e9
        flows.append((source, destination, chance.choice((3, 3, 4)), int(10 ** chance.uniform(0, 5.3)), start))
    return tuple(sorted(flows, key=lambda flow: flow[4]))


def _divisor(chance: random.Random, number: int, *wanted: int) -> int:
    return chance.choice([size for size in wanted if number % size == 0] or [1])


def _with_workload(chance: random.Random, bare: WideScenario, gpus: int) -> WideScenario:
    """@return the scenario with a workload for so many GPUs"""
    if chance.random() < 0.2:
        return dataclasses.replace(bare, micro=tuple(
            (chance.randrange(1, 3), chance.choice(OPERATIONS), int(10 ** chance.uniform(1, 5.5)),
             chance.choice(("TP", "DP")))
            for _ in range(chance.randrange(1, 3))))
    tp = _divisor(chance, gpus, 1, 2, 3, 4, 8)
    pp = _divisor(chance, gpus // tp, 1, 1, 2, 3)
    ep = _divisor(chance, gpus // tp // pp, 1, 2, 4)

    def phase(groups: Sequence[str]) -> Phase:
        if chance.random() < 0.4:
            return chance.randrange(20000), "NONE", 0
        return (chance.randrange(20000), chance.choice(OPERATIONS) + chance.choice(groups),
                int(10 ** chance.uniform(0, 5.5)))

    groups = ("", "_TP", "_EP", "_DP", "_DP_EP")
    return dataclasses.replace(
        bare, tp=tp, pp=pp, ep=ep, ga=chance.choice((1, 1, 2, 3)),
        pp_bytes=int(10 ** chance.uniform(1, 5)) if pp > 1 else 0,
        layers=tuple((phase(groups), phase(groups), phase(("", "_DP_EP"))) for _ in range(chance.randrange(1, 4))))


def _conf(chance: random.Random) -> tuple[Setting, ...]:
    chosen = {key: chance.choice(values) for key, values in CONF.items()
              if chance.random() < (0.05 if key in RARE else 0.25)}
    return tuple((key, value) for key, value in chosen.items() if value != CONF[key][0])


def wide_scenario(seed: int | str, number: int) -> WideScenario:
    """@return the scenario of that number; the same for the same seed"""
    chance = random.Random(f"wide {seed} {number}")
    bare = _buildable(chance, f"{seed}-{number}")
    gpus = bare.gpus
    drawn = dataclasses.replace(bare, conf=_conf(chance), events=_events(chance, bare), seed=chance.randrange(1, 1000))
    if chance.random() < 0.4:
        return dataclasses.replace(drawn, flows=_flows(chance, gpus, 30))
    drawn = _with_workload(chance, drawn, gpus)
    if chance.random() < 0.1:
        drawn = dataclasses.replace(drawn, flows=_flows(chance, gpus, 5))
    flags: list[tuple[str, int | str | None]] = []
    if chance.random() < 0.2:
        flags.append(("--timeline-ranks", chance.randrange(1, 5)))
    if chance.random() < 0.2:
        flags.append(("--passes", 2))
        if chance.random() < 0.3:
            flags.append(("--separate-passes", None))
    environment = [(name, chance.choice(values)) for name, values in ENVIRONMENT.items() if chance.random() < 0.12]
    if ("IN_NETWORK_REDUCTION", 1) in drawn.conf and chance.random() < 0.5:
        environment.append(("NCCL_COLLNET_ENABLE", "1"))
    return dataclasses.replace(drawn, environment=tuple(environment), flags=tuple(flags))


def _with(scenario: WideScenario, field: str, value: Any) -> WideScenario:
    changes: dict[str, Any] = {field: value}
    return dataclasses.replace(scenario, **changes)


def smaller_wide(scenario: WideScenario) -> Iterator[WideScenario]:
    """Yields scenarios that have one thing less, the largest steps first."""
    for field in ("flows", "layers", "micro"):
        for part in halves(getattr(scenario, field)):
            yield _with(scenario, field, part)
    if scenario.flows and scenario.has_workload:
        yield dataclasses.replace(scenario, flows=())
    for field in ("events", "flags", "environment", "conf", "flows", "layers", "micro"):
        entries = getattr(scenario, field)
        if field in ("flows", "layers", "micro") and len(entries) == 1:
            continue  # something is to be sent
        for rest in without_one(entries):
            yield _with(scenario, field, rest)
    for field in ("pp", "ep", "ga", "tp"):
        if getattr(scenario, field) > 1:
            yield _with(scenario, field, 1)
    for number, layer in enumerate(scenario.layers):
        for column, (compute, operation, size) in enumerate(layer):
            changed = [(compute // 2, operation, size)] if compute else []
            if operation != "NONE":
                changed += [(compute, "NONE", 0), *([(compute, operation, size // 2)] if size > 1 else [])]
            for phase in changed:
                yield dataclasses.replace(scenario, layers=scenario.layers[:number] + (
                    layer[:column] + (phase,) + layer[column + 1:],) + scenario.layers[number + 1:])
