# SPDX-License-Identifier: GPL-2.0-only
"""The cluster that every architecture builds, and its file."""
import argparse
import dataclasses
import functools
import os
import pathlib
import re
from collections.abc import Iterable, Iterator

from clustersim.errors import InputError  # noqa: F401, of this package, too
from clustersim.topology import tiers
from clustersim.whole_file import write_text

NUMBER = r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"  # as the simulator reads one
RATE_UNITS = {"": 1, "k": 10**3, "K": 10**3, "ki": 2**10, "Ki": 2**10, "M": 10**6, "Mi": 2**20, "G": 10**9,
              "Gi": 2**30, "T": 10**12, "Ti": 2**40}
RATE = re.compile(NUMBER + r"([kKMGT]i|[kKMGT]?)(bps|b/s|Bps|B/s)")
PCIE_DELAY = "0.00005ms"  # of a PCIe switch between a GPU and a NIC that it shares: 50 ns, a guess


Cable = tuple[int, int, str, str]  # source, destination, rate, delay
Lanes = tuple[int, int, int]  # two GPUs of a server, and the lanes of the link between them


def parse_rate(text: object) -> float | None:
    """@return bits per second, or None of what is not a rate"""
    match = RATE.fullmatch(str(text))
    return float(match[1]) * RATE_UNITS[match[2]] * (8 if match[3].startswith("B") else 1) if match else None


def rate_bps(text: object) -> float:
    """@return bits per second of a rate that is one"""
    found = parse_rate(text)
    assert found is not None, text
    return found


@dataclasses.dataclass(frozen=True)
class Cluster:
    """A cluster whose nodes are numbered GPUs first, then NVSwitches, then other switches."""
    name: str
    gpus: int
    gpus_per_server: int
    nvswitches: int
    switches: int
    gpu_type: str
    links: Iterable[Cable]  # in the order of the file
    error_rate: str = "0"
    shared_nics: int = 0  # the last of the switches, which are NICs that several GPUs share


@functools.cache
def most_lanes(links: tuple[Lanes, ...]) -> int:
    """@return the lanes of the GPU that has most. @param links (GPU, GPU, lanes) of a server"""
    return max(sum(lanes for a, b, lanes in links if gpu in (a, b))
               for gpu in {end for a, b, _ in links for end in (a, b)})


def nvlinks(gpu: int, options: argparse.Namespace, gpus: int) -> Iterator[Cable]:
    """Yields the NVLinks of one GPU: one for each NVSwitch of its server, or of a mesh those to later GPUs, or that to
    its own NVSwitch, and from there those to the NVSwitches of later GPUs."""
    if options.lanes:
        server, place = divmod(gpu, options.gpu_per_server)
        first = gpus + server * options.gpu_per_server

        def rate(lanes: int) -> str:
            return f"{rate_bps(options.nvlink_bw) * lanes / 1e9:.10g}Gbps"
        yield gpu, first + place, rate(most_lanes(options.lanes)), options.nv_latency
        for a, b, lanes in options.lanes:
            if a == place:
                yield first + a, first + b, rate(lanes), options.nv_latency
        return
    if options.mesh:
        for peer in range(gpu + 1, gpu // options.gpu_per_server * options.gpu_per_server + options.gpu_per_server):
            yield gpu, peer, options.nvlink_bw, options.nv_latency
    first = gpus + gpu // options.gpu_per_server * options.nv_switch_per_server
    for switch in range(first, first + options.nv_switch_per_server):
        yield gpu, switch, options.nvlink_bw, options.nv_latency


def count_nvswitches(gpus: int, options: argparse.Namespace) -> int:
    """@return the NVSwitches of so many GPUs @raise InputError if these do not fill servers"""
    if gpus % options.gpu_per_server:
        raise InputError(f"{gpus} GPUs do not fill servers of {options.gpu_per_server}; "
                         f"expected a multiple")
    return gpus // options.gpu_per_server * options.nv_switch_per_server


def with_nics(cluster: Cluster, nics_per_gpu: int, gpus_per_nic: int) -> Cluster:
    """@return the cluster with another number of NICs: each further NIC of a GPU is on a copy of the switches (a
    plane), or neighbours in a server share one NIC, a node between them and its switch"""
    if nics_per_gpu > 1 and gpus_per_nic > 1:
        raise InputError("--nics_per_gpu and --gpus_per_nic contradict each other; expected one of them above 1")
    if nics_per_gpu > 1:
        return dataclasses.replace(cluster, name=f"{cluster.name}_{nics_per_gpu}nics",
                                   switches=cluster.switches * nics_per_gpu,
                                   links=_planes(cluster, nics_per_gpu))
    if gpus_per_nic > 1:
        if cluster.gpus_per_server % gpus_per_nic:
            raise InputError(f"--gpus_per_nic {gpus_per_nic} does not divide the {cluster.gpus_per_server} GPUs of a "
                             f"server; expected a divisor")
        return dataclasses.replace(cluster, name=f"{cluster.name}_1nic{gpus_per_nic}g",
                                   switches=cluster.switches + cluster.gpus // gpus_per_nic,
                                   shared_nics=cluster.gpus // gpus_per_nic,
                                   links=_shared_nics(cluster, gpus_per_nic))
    return cluster


def _planes(cluster: Cluster, planes: int) -> Iterator[Cable]:
    first = cluster.gpus + cluster.nvswitches
    links = list(cluster.links)
    yield from links
    for plane in range(1, planes):
        for a, b, rate, delay in links:
            if not (cluster.gpus <= a < first or cluster.gpus <= b < first):
                yield (a + plane * cluster.switches if a >= first else a,
                       b + plane * cluster.switches if b >= first else b, rate, delay)


def _shared_nics(cluster: Cluster, share: int) -> Iterator[Cable]:
    first = cluster.gpus + cluster.nvswitches
    nics = first + cluster.switches
    seen = set()
    for a, b, rate, delay in cluster.links:
        if a < cluster.gpus and b >= first:
            if a in seen:
                raise InputError("--gpus_per_nic with two ToRs for each NIC is not possible; expected a single ToR")
            seen.add(a)
            nic = nics + a // share
            yield a, nic, rate, PCIE_DELAY
            if a % share == 0:
                yield nic, b, rate, delay
        else:
            yield a, b, rate, delay


def require_at_least_one(options: argparse.Namespace, *names: str) -> None:
    for name in names:
        if getattr(options, name) < 1:
            raise InputError(f"--{name} {getattr(options, name)} is not possible; expected 1 or more")


def check_units(options: argparse.Namespace) -> None:
    """Checks what all architectures share: rates, delays, the error rate, NVSwitches."""
    require_at_least_one(options, "gpu_per_server")
    if options.nv_switch_per_server < 0:
        raise InputError("--nv_switch_per_server is negative; expected 0 or more")
    for name in ("bandwidth", "nvlink_bw", "ap_bandwidth", "core_bandwidth"):
        if not re.fullmatch(r"[1-9]\d*(\.\d+)?[KMGT]?(bps|b/s)", getattr(options, name)):
            raise InputError(f"--{name} '{getattr(options, name)}' is not a rate; expected one such "
                             f"as 400Gbps")
    for name in ("latency", "nv_latency"):
        if not re.fullmatch(r"\d+(\.\d+)?(s|ms|us|ns|ps)", getattr(options, name)):
            raise InputError(f"--{name} '{getattr(options, name)}' is not a time; expected one such "
                             f"as 0.0005ms")
    if not re.fullmatch(r"0|1|0\.\d+|1\.0+", options.error_rate):
        raise InputError(f"--error_rate '{options.error_rate}' is not a probability; expected 0 to 1")


def text_of(cluster: Cluster) -> str:
    """@return the content of the cluster's file"""
    nodes = cluster.gpus + cluster.nvswitches + cluster.switches
    lines = [f"{a} {b} {rate} {delay} {cluster.error_rate}\n" for a, b, rate, delay in cluster.links]
    return (f"{nodes} {cluster.gpus_per_server} {cluster.nvswitches} {cluster.switches} "
            f"{len(lines)} {cluster.gpu_type}\n"
            + "".join(f"{node} " for node in range(cluster.gpus, nodes)) + "\n" + "".join(lines))


def _attachments(cluster: Cluster) -> tuple[range, tiers.Capacities, tiers.Capacities]:
    """@return the switches, and what tiers.attachments() finds of them"""
    first = cluster.gpus + cluster.nvswitches
    switches = range(first, first + cluster.switches)
    return switches, *tiers.attachments(range(cluster.gpus), switches,
                                        ((a, b, rate_bps(rate)) for a, b, rate, _ in cluster.links))


def tier_of(cluster: Cluster) -> dict[int, int]:
    """@return the tier of each switch: 1 of those that GPUs are linked to"""
    return tiers.tier_of(*_attachments(cluster))


def oversubscription_of(cluster: Cluster) -> list[tuple[int, float]]:
    """@return each tier that has another above it, and its capacity down over its capacity up"""
    switches, neighbours, tors = _attachments(cluster)
    return list(tiers.oversubscription(tiers.tier_of(switches, neighbours, tors), neighbours, tors))


def write(cluster: Cluster, path: str | os.PathLike, force: bool = False) -> None:
    """Writes the file. @param force whether a file of other content may be overwritten"""
    text = text_of(cluster)
    path = pathlib.Path(path)
    if not force and path.is_file() and path.read_text(encoding="utf-8", errors="replace") != text:
        raise InputError(f"{path}: exists and holds another topology, perhaps one that earlier runs refer "
                         f"to; expected another name (-o FILE), or --force to overwrite it")
    write_text(path, text)
