# SPDX-License-Identifier: GPL-2.0-only
"""Pods of access and aggregation switches: Spectrum-X, AlibabaHPN, DCN+, NVL36, NVL72 and what the
flags --ro, --dt and --dp make; one pod, or several under a core layer.
"""
import argparse
import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

from clustersim.topology.cluster import (Cable, Cluster, InputError, count_nvswitches, nvlinks, rate_bps,
                                         require_at_least_one)
from clustersim.topology.generator.bundles import Bundles, largest
from clustersim.topology.presets import preset

BASE = dict(gpu=32, bandwidth="400Gbps", asw_switch_num=None, nics_per_aswitch=64, psw_switch_num=64,
            asw_per_psw=64, rail_optimized=False, dual_tor=False, dual_plane=False)
SPECTRUM_X = BASE | dict(gpu=4096, rail_optimized=True)
ALIBABA_HPN = BASE | dict(gpu=15360, bandwidth="200Gbps", nics_per_aswitch=128,
                          psw_switch_num=120, asw_per_psw=240, rail_optimized=True, dual_tor=True)
ALIBABA_HPN_DUAL_PLANE = ALIBABA_HPN | dict(asw_per_psw=120, dual_plane=True)
DCN = BASE | dict(gpu=512, psw_switch_num=8, asw_per_psw=8)
DCN_DUAL_TOR = DCN | dict(bandwidth="200Gbps", nics_per_aswitch=128, dual_tor=True)
# A rack is one NVLink domain; its trays of four GPUs are what the rails are counted in.
NVL72 = BASE | preset("GB200") | dict(gpu=576, gpu_per_server=72, rails=4, rail_optimized=True,
                                      nics_per_aswitch=72)
NVL36 = NVL72 | dict(gpu=288, gpu_per_server=36)

TEMPLATES = {
    "Spectrum-X": ("Spectrum-X", SPECTRUM_X),
    "AlibabaHPN": ("AlibabaHPN", ALIBABA_HPN),
    "AlibabaHPN-SinglePlane": ("AlibabaHPN", ALIBABA_HPN),
    "AlibabaHPN-DualPlane": ("AlibabaHPN", ALIBABA_HPN_DUAL_PLANE),
    "DCN+": ("DCN+", DCN),
    "DCN-SingleToR": ("DCN+", DCN),
    "DCN-DualToR": ("DCN+", DCN_DUAL_TOR),
    "NVL36": ("NVL36", NVL36),
    "NVL72": ("NVL72", NVL72),
}

OURS = ("NVL36", "NVL72")  # not SimAI's
POD = 4096  # GPUs that SimAI's flags hold without a template: 64 access switches of 64 NICs

# Templates without variants: a topology has the name of its template.
NAMED = ("AlibabaHPN-SinglePlane", "AlibabaHPN-DualPlane", "DCN-SingleToR", "DCN-DualToR")


def defaults(topology: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """@return what the template sets, where two flags choose a variant of it"""
    family, template = TEMPLATES.get(topology, ("", BASE))
    name = topology if topology in NAMED else ""
    if family == "AlibabaHPN" and given["dual_plane"]:
        template = ALIBABA_HPN_DUAL_PLANE
    if family == "DCN+" and given["dual_tor"]:
        template = DCN_DUAL_TOR
    if given["fit"] or outgrows(family, template, given):
        template = template | dict(psw_switch_num=None)  # as many as the GPUs need
    return dict(family=family, template_name=name) | template


def outgrows(family: str, template: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """@return whether SimAI's number of PSWs is none for so many GPUs: there are more than the template has, or than a
    pod of the flags without a template holds, or the template is ours"""
    if given["gpu"] is None or given["core_switch_num"]:
        return False
    if family in OURS:
        return given["gpu"] != template["gpu"]
    return given["gpu"] > (template["gpu"] if family else POD)


def balanced(options: argparse.Namespace) -> Bundles:
    """@return PSWs of all planes by which the fullest access switch sends up what it takes from its NICs, or a little
    more, and the links to each: as asked for, or with --switch_ports as many as make the fewest PSWs"""
    s = shape(options)
    nics = min(options.nics_per_aswitch, math.ceil(options.gpu / s.rails))
    up = math.ceil(nics * rate_bps(options.bandwidth) / rate_bps(options.ap_bandwidth))
    links = options.links_per_psw or 1
    if options.switch_ports and not options.links_per_psw:
        below = min(s.segments_per_pod, math.ceil(options.gpu / s.segment_gpus)) * s.asws_per_segment // s.planes
        links = largest(range(1, up + 1), lambda size: max(below * size, nics + math.ceil(up / size) * size)
                        <= options.switch_ports)
    psws = math.ceil(up / links)
    return Bundles(s.planes * psws, options.links_per_psw or math.ceil(up / psws))


@dataclasses.dataclass(frozen=True)
class Shape:
    """Counts that follow from the options."""
    tors: int
    planes: int
    rails: int
    asws_per_segment: int
    asws_of_psw: int  # access switches of a segment that an aggregation switch is linked to
    segment_gpus: int
    segments_per_pod: int
    pods: int


def shape(options: argparse.Namespace) -> Shape:
    tors = 2 if options.dual_tor else 1
    planes = 2 if options.dual_plane else 1
    rails = options.rails or options.gpu_per_server if options.rail_optimized else 1
    asws_per_segment = tors * rails
    segment_gpus = options.nics_per_aswitch * rails
    halves = 2 if options.rail_optimized and options.dual_tor else 1
    asws_of_psw = asws_per_segment // halves
    segments_per_pod = options.asw_per_psw // asws_of_psw
    segments = math.ceil(options.gpu / segment_gpus)
    pods = math.ceil(segments / segments_per_pod) if segments_per_pod else segments + 1
    return Shape(tors, planes, rails, asws_per_segment, asws_of_psw, segment_gpus, segments_per_pod, pods)


def hold_a_segment(options: argparse.Namespace) -> None:
    """Templates are for servers of 8 GPUs: a rack of 72 has more access switches than their aggregation switches."""
    options.asw_per_psw = max(options.asw_per_psw, shape(options).asws_of_psw)


def check(options: argparse.Namespace) -> tuple[int, Shape, list[str]]:
    """@return the number of access switches that the GPUs need, the shape, and warnings"""
    require_at_least_one(options, "gpu", "nics_per_aswitch", "asw_per_psw")
    if options.psw_switch_num is None:
        options.psw_switch_num, options.links_per_psw = dataclasses.astuple(balanced(options))
    if options.links_per_core is not None and not options.core_switch_num:
        raise InputError(f"--links_per_core {options.links_per_core} is for several pods; expected --core_switch_num "
                         f"too")
    options.links_per_psw = options.links_per_psw or 1
    options.links_per_core = options.links_per_core or 1
    if options.asw_switch_num is not None:
        require_at_least_one(options, "asw_switch_num")
    require_at_least_one(options, "psw_switch_num")
    count_nvswitches(options.gpu, options)
    if options.dual_plane and not (options.rail_optimized and options.dual_tor):
        raise InputError("--dp (dual plane) needs --ro and --dt: each plane has one ToR of a rail")
    if options.rails is not None and not options.rail_optimized:
        raise InputError("--rails is for rail-optimised networks; expected --ro, too")
    s = shape(options)
    if options.gpu_per_server % s.rails:
        raise InputError(f"--rails {s.rails} do not divide the {options.gpu_per_server} GPUs of a "
                         f"server; expected a divisor")
    if options.psw_switch_num % s.planes:
        raise InputError(f"{options.psw_switch_num} PSWs cannot be split over two planes; "
                         f"expected an even number")
    if not s.segments_per_pod:
        raise InputError(f"--asw_per_psw {options.asw_per_psw} holds no segment, of which an aggregation switch has "
                         f"{s.asws_of_psw} access switches; expected {s.asws_of_psw} or more")
    segments = math.ceil(options.gpu / s.segment_gpus)
    if segments > s.segments_per_pod and not options.core_switch_num:
        raise InputError(f"{options.gpu} GPUs need {segments} segments and a pod holds "
                         f"{s.segments_per_pod}; expected at most "
                         f"{s.segments_per_pod * s.segment_gpus} GPUs, larger --asw_per_psw, or "
                         f"several pods under --core_switch_num switches")
    if options.core_switch_num:
        if options.core_switch_num % options.psw_switch_num:
            raise InputError(f"{options.core_switch_num} core switches cannot be shared out to "
                             f"{options.psw_switch_num} PSWs of a pod; expected a multiple")
    needed = segments * s.asws_per_segment
    warnings = []
    if options.asw_switch_num not in (None, needed):
        warnings.append(f"{options.gpu} GPUs need {needed} access switches, not "
                        f"{options.asw_switch_num}; {needed} are used")
    return needed, s, warnings


def build(options: argparse.Namespace) -> tuple[Cluster, list[str]]:
    """@return the cluster and warnings"""
    asws, s, warnings = check(options)
    core = options.core_switch_num
    nvswitches = count_nvswitches(options.gpu, options)
    return Cluster(file_name(options, s), options.gpu, options.gpu_per_server, nvswitches,
                   asws + options.psw_switch_num * s.pods + core, options.gpu_type,
                   links(options, s, nvswitches, asws), options.error_rate), warnings


def links(options: argparse.Namespace, s: Shape, nvswitches: int, asws: int) -> Iterator[Cable]:
    first_asw = options.gpu + nvswitches
    asws_per_tor = asws // s.tors
    for gpu in range(options.gpu):
        yield from nvlinks(gpu, options, options.gpu)
        if options.rail_optimized:
            asw = gpu // s.segment_gpus * s.rails + gpu % s.rails
        else:
            asw = gpu // options.nics_per_aswitch
        for tor in range(s.tors):
            yield gpu, first_asw + tor * asws_per_tor + asw, options.bandwidth, options.latency

    first_psw = first_asw + asws
    psws = options.psw_switch_num // s.planes
    asws_per_pod = s.segments_per_pod * s.asws_per_segment // s.tors
    for asw in range(asws):
        plane = asw // asws_per_tor if s.planes == 2 else 0
        pod = asw % asws_per_tor // asws_per_pod
        first = first_psw + (plane * s.pods + pod) * psws
        for psw in range(first, first + psws):
            yield from [(first_asw + asw, psw, options.ap_bandwidth, options.latency)] * options.links_per_psw

    # The PSWs at the same place of their pods share their core switches, so planes stay apart.
    cores = options.core_switch_num // options.psw_switch_num
    first_core = first_psw + options.psw_switch_num * s.pods
    for plane in range(s.planes):
        for pod in range(s.pods):
            for place in range(psws):
                psw = first_psw + (plane * s.pods + pod) * psws + place
                first = first_core + (plane * psws + place) * cores
                for switch in range(first, first + cores):
                    yield from [(psw, switch, options.core_bandwidth, options.latency)] * options.links_per_core


def file_name(options: argparse.Namespace, s: Shape) -> str:
    size = f"{options.gpu}g_{options.gpu_per_server}gps"
    if options.core_switch_num:
        size += f"_{s.pods}pods"
    tor = "DualToR" if options.dual_tor else "SingleToR"
    plane = "DualPlane" if options.dual_plane else "SinglePlane"
    ending = f"{options.bandwidth}_{options.gpu_type}"
    if options.template_name:
        return f"{options.template_name}_{size}_{ending}"
    if options.family in ("Spectrum-X", "NVL36", "NVL72"):
        return f"{options.family}_{size}_{ending}"
    if options.family == "AlibabaHPN":
        return f"AlibabaHPN_{size}_{tor}_{plane}_{ending}"
    if options.family == "DCN+":
        return f"DCN+{tor}_{size}_{ending}"
    if not options.rail_optimized:
        return f"No_Rail_Opti_{size}_{tor}_{ending}"
    if options.dual_tor:
        return f"Rail_Opti_{size}_{tor}_{plane}_{ending}"
    return f"Rail_Opti_{tor}_{size}_{ending}"
