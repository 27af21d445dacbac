# SPDX-License-Identifier: GPL-2.0-only
"""Flags, and what they lead to."""
import argparse
import dataclasses
import os
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clustersim import command, gpu_rows
from clustersim.errors import InputError, nearest
from clustersim.topology.cluster import (
    Cluster,
    check_units,
    oversubscription_of,
    rate_bps,
    require_at_least_one,
    with_nics,
    write,
)
from clustersim.topology.generator import astra_network, clos, dragonfly, fat_tree, rail_only, rails, torus
from clustersim.topology.generator.bundles import check_ports
from clustersim.topology.layers.describe import describe, network_of_gpus, rate
from clustersim.topology.layers.prices import Prices, cost_lines
from clustersim.topology.presets import choose_mesh, mesh, preset, presets, set_nvlink_rate
from clustersim.topology.reader import Topology, find_unreachable, read

SHARED = dict(preset=None, gpu=None, gpu_per_server=8, gpu_type="H100", nv_switch_per_server=None, mesh=None,
              nvlink_bw=None, nv_latency="0.000025ms", latency="0.0005ms",
              bandwidth="400Gbps", ap_bandwidth="400Gbps", core_bandwidth="400Gbps", error_rate="0",
              rails=None, psw_switch_num=None, core_switch_num=0, links_per_psw=None, links_per_core=None,
              switch_ports=None, radix=8, nics_per_leaf=None, leaves_per_pod=None,
              oversubscription=1.0, routers_per_group=4, gpus_per_router=2, global_links=2,
              groups=None, dims="4x4", nics_per_gpu=1, gpus_per_nic=1)
OTHERS = {
    "FatTree": fat_tree.build,
    "Clos2": lambda options: clos.build(options, 2),
    "Clos3": lambda options: clos.build(options, 3),
    "Dragonfly": dragonfly.build,
    "Torus": torus.build,
    "RailOnly": rail_only.build,
}
# Flags that only some architectures read; another would silently ignore them.
OF_RAILS = {"rail_optimized", "dual_tor", "dual_plane", "asw_switch_num", "nics_per_aswitch",
            "psw_switch_num", "asw_per_psw", "core_switch_num", "rails", "fit", "links_per_psw", "links_per_core"}
OF_OTHERS: dict[str, set[str]] = {
    "FatTree": {"radix"},
    "Clos2": {"nics_per_leaf", "oversubscription", "psw_switch_num", "links_per_psw"},
    "Clos3": {"nics_per_leaf", "oversubscription", "psw_switch_num", "links_per_psw", "leaves_per_pod",
              "core_switch_num", "links_per_core"},
    "Dragonfly": {"routers_per_group", "gpus_per_router", "global_links", "groups"},
    "Torus": {"dims"},
    "RailOnly": set(),
}
COUNTS = ("switch_ports", "links_per_psw", "links_per_core")  # 1 or more where they are given
MOST_GPUS = 1 << 20
Builder = Callable[["Options"], tuple[Cluster, list[str]]]


class Options(argparse.Namespace):
    """Options that know which of them a builder has looked at."""

    def __init__(self, **options: Any) -> None:
        object.__setattr__(self, "looked_at", set())
        super().__init__(**options)

    def __getattribute__(self, name: str) -> Any:
        object.__getattribute__(self, "looked_at").add(name)
        return object.__getattribute__(self, name)


def make_parser(description: str) -> command.Parser:
    # Names may be cut, as SimAI's generator lets them: --topo is --topology.
    parser = command.Parser(usage="%(prog)s [flags]", description=description, formatter_class=command.HelpFormatter)
    topologies = [*rails.TEMPLATES, *OTHERS]
    add = parser.add_argument
    add("-topo", "--topology", choices=topologies, metavar="NAME",
        help=f"template of the network (default: none), of {', '.join(topologies)}")
    add("--preset", metavar="NAME",
        help="kind of server, which sets the GPU type and the NVLink rate; those with a dash also the GPUs and NICs "
        f"of a server: {', '.join(presets())}")
    add("-g", "--gpu", type=int, help="number of GPUs (default: the template's)")
    add("-ro", "--ro", "--rail_optimized", dest="rail_optimized", action="store_true", default=None,
        help="GPU k of every server of a segment is on the same access switch")
    add("-dt", "--dt", "--dual_ToR", dest="dual_tor", action="store_true", default=None,
        help="every NIC is on two access switches")
    add("-dp", "--dp", "--dual_plane", dest="dual_plane", action="store_true", default=None,
        help="the two access switches belong to separate planes")
    add("-gps", "--gpu_per_server", type=int, help="GPUs per server (default: 8)")
    add("-gt", "--gpu_type", help="GPU type (default: H100)")
    add("--gpu_table", metavar="FILE", help="file with further GPU types (YAML), as --gpu-table of the simulator")
    add("-nsps", "--nv_switch_per_server", type=int,
        help="NVSwitches per server (default: 1; with a mesh 0; with MI250X one for each GPU)")
    add("--mesh", action="store_true", default=None,
        help=f"a link between every two GPUs of a server, without NVSwitches (default for {', '.join(mesh())})")
    add("-nvbw", "--nvlink_bw", help="rate of a link between GPU and NVSwitch, of each link of a mesh, or of a lane "
        "(default: the GPU's; for SimAI's types 2880Gbps)")
    add("-nl", "--nv_latency", help="delay of NVLinks (default: 0.000025ms)")
    add("-l", "--latency", help="delay of all other links (default: 0.0005ms)")
    add("-bw", "--bandwidth", help="rate of a link between NIC and ASW; with --dt, as in AlibabaHPN, each NIC has two "
        "(default: the template's)")
    add("--nics_per_gpu", type=int, help="NICs of each GPU (default: 1); the k-th NICs are on the k-th copy of all "
        "switches (a plane)")
    add("--gpus_per_nic", type=int, help="GPUs that share a NIC, neighbours in a server (default: 1)")
    add("-apbw", "--ap_bandwidth",
        help="rate of a link between ASW and PSW, or between two switches (default: 400Gbps)")
    add("-er", "--error_rate", help="packet error rate of every link (default: 0)")
    add("-asn", "-asw", "--asw_switch_num", type=int, help="number of access switches; another number than the GPUs "
        "need brings a warning (default: as many as they need)")
    add("-npa", "-nps", "--nics_per_aswitch", type=int, help="NICs per access switch (default: the template's)")
    add("-psn", "--psw_switch_num", type=int, help="number of aggregation switches, or spines, of each pod (default: "
        "SimAI's; --fit where -g is above the template's size; in Clos2 and Clos3 one for each uplink of a leaf)")
    add("--fit", action="store_true", default=None,
        help="take as many aggregation switches as make capacity up and down equal (1:1)")
    add("-app", "--asw_per_psw", type=int,
        help="access switches that an aggregation switch joins (default: the template's)")
    add("-lpp", "--links_per_psw", type=int, help="links between an access switch, or leaf, and each aggregation "
        "switch, or spine, above it (default: 1; with --switch_ports, Clos2, Clos3 and --fit take as many as ports "
        "allow)")
    add("-sp", "--switch_ports", type=int, help="ports of every switch; a network that needs more is refused, and "
        "Clos2, Clos3 and --fit take the fewest switches that have the ports (default: any number)")
    pods = parser.add_argument_group("several pods").add_argument
    pods("-csn", "--core_switch_num", type=int,
         help="number of core switches over the pods, a multiple of -psn (default: 0, one pod; in Clos3 "
         "one for each uplink of a spine)")
    pods("-cbw", "--core_bandwidth",
         help="rate of a link between PSW or spine and core, or between groups (default: 400Gbps)")
    pods("-lpc", "--links_per_core", type=int, help="links between an aggregation switch, or spine, and each core "
         "switch above it (default: 1; with --switch_ports, Clos3 takes as many as ports allow)")
    pods("--rails", type=int, help="number of rails of a rail-optimised network (default: GPUs per server; 4 for "
         "NVL36, NVL72)")
    other = parser.add_argument_group("other architectures").add_argument
    other("--radix", type=int, help="FatTree: ports of each switch (default: 8)")
    other("--nics_per_leaf", type=int, help="Clos2, Clos3: NICs on a leaf (default: 32; with --switch_ports "
          "as many as leave ports for their uplinks)")
    other("--leaves_per_pod", type=int, help="Clos3: leaves of a pod (default: 8; with --switch_ports as many "
          "as spines have ports for, in at least two pods)")
    other("--oversubscription", type=float,
          help="Clos2, Clos3: capacity down over capacity up, of each tier (default: 1)")
    other("--routers_per_group", type=int, help="Dragonfly: routers of a group (default: 4)")
    other("--gpus_per_router", type=int, help="Dragonfly: GPUs on a router (default: 2)")
    other("--global_links", type=int, help="Dragonfly: links of a router to other groups (default: 2)")
    other("--groups", type=int, help="Dragonfly: number of groups (default: as many as the global links reach)")
    other("--dims", help="Torus: servers in each dimension (default: 4x4)")
    made = parser.add_argument_group("the file that is made").add_argument
    made("-o", "--output", metavar="FILE",
         help="file to write; with DIR/, a file in that directory, named after the flags (default: in the "
              "current directory); with --draw, FILE.png and FILE.svg")
    made("--force", action="store_true", help="overwrite a file that holds another topology")
    astra = parser.add_argument_group("from ASTRA-sim").add_argument
    astra("--astra_network", metavar="FILE",
          help="network file of ASTRA-sim's analytical back ends (YAML), from which the topology is made; with -gt")
    astra("--decimal_gb", action="store_true",
          help="GB/s of that file are 10^9 bytes/s (default: 2^30, as in ASTRA-sim)")
    files = parser.add_argument_group("instead of generating").add_argument
    files("--check", metavar="FILE", help="check a topology by every rule of the format")
    files("--describe", metavar="FILE",
          help="print layers, oversubscription, path lengths, bisection and parts of a topology")
    files("--prices", metavar="FILE",
          help="price list, such as prices.yaml: --describe also prints prices and watts of the parts")
    files("--draw", metavar="FILE", help="draw a topology of up to 1,024 GPUs, into FILE.png and FILE.svg")
    return parser


def options_of(given: dict[str, Any]) -> tuple[Builder, Options, list[str]]:
    """@return the builder, the effective options (a flag wins over a preset over a template), and warnings"""
    topology = given.pop("topology")
    other = topology in OTHERS
    ours = OF_OTHERS.get(topology, OF_RAILS)
    foreign = [name for name in OF_RAILS.union(*OF_OTHERS.values()) - ours
               if given[name] is not None]
    if foreign:
        raise InputError(f"--{min(foreign)} means nothing for {topology or 'no template'}; expected "
                         f"its own flags, see --help")
    if given["fit"] and given["psw_switch_num"] is not None:
        raise InputError("--fit and --psw_switch_num are both given; expected one of them")
    template = {} if other else rails.defaults(topology, given)
    if given["preset"] and given["preset"] not in presets():
        raise InputError(f'--preset "{given["preset"]}" is not a valid preset; expected one of {", ".join(presets())}'
                         f'{nearest(given["preset"], presets())}')
    chosen = preset(given["preset"]) if given["preset"] else {}
    flags = {name: value for name, value in given.items() if value is not None}
    options = Options(**(SHARED | template | chosen | flags))
    if options.gpu is not None:
        require_at_least_one(options, "gpu")  # 0 is not "as the template has it"
    choose_mesh(options)
    if not other and given["asw_per_psw"] is None:
        rails.hold_a_segment(options)
    warnings = set_nvlink_rate(options)
    check_units(options)
    require_at_least_one(options, "nics_per_gpu", "gpus_per_nic",
                         *(name for name in COUNTS if getattr(options, name) is not None))
    return OTHERS.get(topology, rails.build), options, warnings


def idle(given: Mapping[str, Any], options: Options) -> list[str]:
    """@return warnings of rates and delays that were asked for, and are those of no link of this network"""
    rates = ("bandwidth", "ap_bandwidth", "core_bandwidth", "nvlink_bw", "nv_latency", "latency", "error_rate")
    return [f"--{name} {given[name]} has no effect: no link of this network is of that kind"
            for name in rates if given[name] is not None and name not in options.looked_at]


def output_path(wanted: str | None, name: str) -> pathlib.Path:
    """@return the file to write: as wanted, or of that name in a directory that is wanted"""
    if not wanted:
        return pathlib.Path(name)
    path = pathlib.Path(wanted)
    if wanted.endswith("/") or path.is_dir():
        path /= name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def check_gpu_type(name: str, said: str = "-gt") -> None:
    """Refuses a GPU type that the simulator would. @param said where it is named"""
    if name not in gpu_rows.rows():
        raise InputError(f"{said} '{name}' is not a known GPU type; expected one of {', '.join(gpu_rows.rows())}, or "
                         f"a row of --gpu_table{nearest(name, gpu_rows.rows())}")


def of_astra_sim(given: Mapping[str, Any]) -> Cluster:
    """@return the cluster of --astra_network, which leaves nothing else to choose but the GPU type"""
    allowed = {"astra_network", "decimal_gb", "gpu_type", "gpu_table", "output", "force"}
    foreign = sorted(name for name, value in given.items() if value not in (None, False) and name not in allowed)
    if foreign:
        raise InputError(f"--{foreign[0]} means nothing beside --astra_network; expected -gt, --decimal_gb, --output")
    unit = 10**9 if given["decimal_gb"] else astra_network.ASTRA_GB
    return astra_network.build(given["astra_network"], unit, given["gpu_type"] or str(SHARED["gpu_type"]))


def with_all_links(cluster: Cluster) -> Cluster:
    """@return the cluster with a list of links in the place of what would generate them"""
    if cluster.gpus > MOST_GPUS:
        raise InputError(f"{cluster.gpus} GPUs are more than a simulation holds; expected at most {MOST_GPUS}")
    return dataclasses.replace(cluster, links=list(cluster.links))


def generate(given: dict[str, Any]) -> tuple[pathlib.Path, list[str], list[str]]:
    """Writes the file that the flags ask for. @return its path, lines about it, and warnings"""
    with gpu_rows.using(given["gpu_table"]):
        return _generate(given)


def _generate(given: dict[str, Any]) -> tuple[pathlib.Path, list[str], list[str]]:
    warnings: list[str] = []
    if given["gpu_type"]:
        check_gpu_type(given["gpu_type"])
    if given["astra_network"]:
        cluster = with_all_links(of_astra_sim(given))
    else:
        if given.pop("decimal_gb"):
            raise InputError("--decimal_gb is for --astra_network; expected that flag too")
        build, options, warnings = options_of(given)
        options.looked_at.clear()
        cluster, more = build(options)
        cluster = with_all_links(with_nics(cluster, options.nics_per_gpu, options.gpus_per_nic))
        if options.switch_ports:
            check_ports(cluster, options.switch_ports)
        warnings += more + idle(given, options) + two_ports(given, options)
    warnings += gpu_rows.idle(cluster.gpu_type)
    tiers = oversubscription_of(cluster)
    if not given["astra_network"] and given["oversubscription"] is None:
        warnings += uneven_tiers(tiers, options, build)
    path = output_path(given["output"], cluster.name)
    write(cluster, path, given["force"])
    return path, [network_line(cluster), oversubscription_line(tiers)], warnings


def two_ports(given: Mapping[str, Any], options: Options) -> list[str]:
    """@return a warning of a rate that was asked for where the template, not a flag, gives each NIC two links"""
    if given["bandwidth"] is None or given["dual_tor"] or not getattr(options, "dual_tor", False):
        return []
    bps = rate_bps(given["bandwidth"])
    return [f"-bw {given['bandwidth']} is the rate of each of two links of a NIC, to two access switches (dual ToR), so "
            f"a GPU has {rate(2 * bps)}; expected -bw {bps / 2e9:g}Gbps for {rate(bps)}"]


def network_line(cluster: Cluster) -> str:
    """@return the rate at which a GPU reaches the network, whatever the architecture makes of -bw"""
    first, end = cluster.gpus + cluster.nvswitches, cluster.gpus + cluster.nvswitches + cluster.switches
    own = ((a, b, rate_bps(bps)) for a, b, bps, _ in cluster.links if a < cluster.gpus and b >= first)
    return "network of each GPU: " + network_of_gpus(range(cluster.gpus), own, range(end - cluster.shared_nics, end))


def uneven_tiers(tiers: Sequence[tuple[int, float]], options: Options, build: Builder) -> list[str]:
    """@return warnings of tiers that carry up less than half of what comes from below, or more than twice as much"""
    # NICs that GPUs share are a tier, and leave some access switches without a NIC, as the flag asks for.
    uneven = [(tier, ratio) for tier, ratio in tiers if not 0.5 <= ratio <= 2 and options.gpus_per_nic == 1]
    hint = (
        f"--fit or -psn {rails.balanced(options).above} for 1:1"
        if build is rails.build and not options.core_switch_num
        else "other numbers of switches, or other rates"
    )
    shares = ((tier, f"{ratio:.3g} times as much capacity down as up" if ratio > 1 else
               f"{1 / ratio:.3g} times as much capacity up as down") for tier, ratio in uneven)
    return [f"the switches of tier {tier} have {share}, which counts in comparisons with other networks; expected "
            f"{hint}" for tier, share in shares]


def oversubscription_line(tiers: Sequence[tuple[int, float]]) -> str:
    return "oversubscription (capacity down / up): " + (
        ", ".join(f"tier {tier} {ratio:.3g}:1" for tier, ratio in tiers) or "no tier has another above it")


def warn(warnings: Sequence[str]) -> None:
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)


def checked(path: str, gpu_table: str | os.PathLike | None) -> tuple[Topology, list[str]]:
    """@return a topology by every rule of the format, and warnings"""
    topology, warnings = read(path), []
    if topology.gpu_type:
        with gpu_rows.using(gpu_table):
            warnings = gpu_rows.idle(topology.gpu_type)
            check_gpu_type(topology.gpu_type, f"{path}:1:")
    return topology, warnings


def look(given: Mapping[str, Any]) -> None:
    path = given["check"] or given["describe"] or given["draw"]
    if given["check"]:
        topology, warnings = checked(path, given["gpu_table"])
        warn(warnings)
        print(f"{path}: {len(topology.gpus)} GPUs, {len(topology.nvswitches)} NVSwitches, "
              f"{len(topology.switches)} switches, {len(topology.links)} links: no mistake")
        pair = find_unreachable(topology, over_nvlink=False)
        if pair:
            print(f"{path}: GPU {pair[0]} and GPU {pair[1]} meet only in another GPU's NVLink (rail-only): "
                  "no message passes between them but those of an AllToAll, by PXN")
    elif given["describe"]:
        topology, prices = read(path), Prices(given["prices"]) if given["prices"] else None
        print("\n".join([*describe(topology), *(cost_lines(topology, prices) if prices else ())]))
    else:
        try:
            from clustersim.topology.layers.draw import draw  # matplotlib takes a second to load
        except ModuleNotFoundError as missing:
            raise InputError(f"{sys.executable} has no module '{missing.name}'; expected a Python that has it, "
                             f"such as /usr/bin/python3 with the package python3-{missing.name}") from missing
        print("\n".join(draw(read(path), given["output"] or path)))


def main(arguments: list[str], description: str) -> int:
    try:
        parser = make_parser(description)
        given = vars(parser.parse_args(arguments))
        command.tell_repetitions(parser, arguments)
        if sum(given[name] is not None for name in ("check", "describe", "draw")) > 1:
            raise InputError("--check, --describe and --draw are one at a time; expected one of them")
        if given["gpu_table"] and (given["describe"] or given["draw"]):
            warn([f"--gpu_table {given['gpu_table']} has no effect: it is for --check and for files that are made"])
        if given["prices"] and not given["describe"]:
            raise InputError("--prices is for --describe; expected --describe FILE --prices FILE")
        if given["check"] or given["describe"] or given["draw"]:
            look(given)
        else:
            path, lines, warnings = generate(given)
            print("\n".join(lines), file=sys.stderr)  # so that $(...) has the path alone
            warn(warnings)
            print(path)
    except InputError as error:
        print(f"{command.name()}: {error}", file=sys.stderr)
        return 2
    return 0
