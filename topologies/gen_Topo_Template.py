#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Generates the topology of a GPU cluster from a template, as a file in the current directory.

Templates: Spectrum-X (rail-optimised, one ToR), AlibabaHPN (rail-optimised, dual ToR, one or two
planes), DCN+ (not rail-optimised, one or two ToRs); without a template --ro, --dt and --dp choose.
A flag wins over its template. Example:

    gen_Topo_Template.py -topo Spectrum-X -g 128 -gt A100 -bw 100Gbps

Nodes are numbered GPUs first, then NVSwitches, access switches (ASW) and aggregation switches (PSW).
"""
import argparse
import dataclasses
import math
import re
import sys

BASE = dict(gpu=32, bandwidth="400Gbps", asw_switch_num=8, nics_per_aswitch=64, psw_switch_num=64,
            asw_per_psw=64, rail_optimized=False, dual_tor=False, dual_plane=False)
SPECTRUM_X = BASE | dict(gpu=4096, rail_optimized=True)
ALIBABA_HPN = BASE | dict(gpu=15360, bandwidth="200Gbps", asw_switch_num=240, nics_per_aswitch=128,
                          psw_switch_num=120, asw_per_psw=240, rail_optimized=True, dual_tor=True)
ALIBABA_HPN_DUAL_PLANE = ALIBABA_HPN | dict(asw_per_psw=120, dual_plane=True)
DCN = BASE | dict(gpu=512, psw_switch_num=8, asw_per_psw=8)
DCN_DUAL_TOR = DCN | dict(bandwidth="200Gbps", nics_per_aswitch=128, dual_tor=True)

TEMPLATES = {
    "Spectrum-X": ("Spectrum-X", SPECTRUM_X),
    "AlibabaHPN": ("AlibabaHPN", ALIBABA_HPN),
    "AlibabaHPN-SinglePlane": ("AlibabaHPN", ALIBABA_HPN),
    "AlibabaHPN-DualPlane": ("AlibabaHPN", ALIBABA_HPN_DUAL_PLANE),
    "DCN+": ("DCN+", DCN),
    "DCN-SingleToR": ("DCN+", DCN),
    "DCN-DualToR": ("DCN+", DCN_DUAL_TOR),
}


class InputError(Exception):
    """A wrong flag; its text is the line that the user sees."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """The effective parameters of a topology."""
    family: str
    gpu: int
    gpu_per_server: int
    gpu_type: str
    nv_switch_per_server: int
    nvlink_bw: str
    nv_latency: str
    latency: str
    bandwidth: str
    ap_bandwidth: str
    error_rate: str
    asw_switch_num: int
    nics_per_aswitch: int
    psw_switch_num: int
    asw_per_psw: int
    rail_optimized: bool
    dual_tor: bool
    dual_plane: bool

    @property
    def tors(self):
        return 2 if self.dual_tor else 1

    @property
    def planes(self):
        return 2 if self.dual_plane else 1

    @property
    def asws_per_segment(self):
        return self.tors * (self.gpu_per_server if self.rail_optimized else 1)

    @property
    def segment_gpus(self):
        return self.nics_per_aswitch * (self.gpu_per_server if self.rail_optimized else 1)

    @property
    def nv_switches(self):
        return self.gpu // self.gpu_per_server * self.nv_switch_per_server

    def file_name(self):
        size = f"{self.gpu}g_{self.gpu_per_server}gps"
        tor = "DualToR" if self.dual_tor else "SingleToR"
        plane = "DualPlane" if self.dual_plane else "SinglePlane"
        ending = f"{self.bandwidth}_{self.gpu_type}"
        if self.family == "Spectrum-X":
            return f"Spectrum-X_{size}_{ending}"
        if self.family == "AlibabaHPN":
            return f"AlibabaHPN_{size}_{tor}_{plane}_{ending}"
        if self.family == "DCN+":
            return f"DCN+{tor}_{size}_{ending}"
        if not self.rail_optimized:
            return f"No_Rail_Opti_{size}_{tor}_{ending}"
        if self.dual_tor:
            return f"Rail_Opti_{size}_{tor}_{plane}_{ending}"
        return f"Rail_Opti_{tor}_{size}_{ending}"


def check(plan):
    """@return the plan with its count of access switches corrected, and the warnings"""
    for name in ("gpu", "gpu_per_server", "asw_switch_num", "nics_per_aswitch", "psw_switch_num",
                 "asw_per_psw"):
        if getattr(plan, name) < 1:
            raise InputError(f"--{name} {getattr(plan, name)} is not possible; expected 1 or more")
    if plan.nv_switch_per_server < 0:
        raise InputError("--nv_switch_per_server is negative; expected 0 or more")
    if plan.gpu % plan.gpu_per_server:
        raise InputError(f"{plan.gpu} GPUs do not fill servers of {plan.gpu_per_server}; "
                         f"expected a multiple")
    if plan.dual_plane and not (plan.rail_optimized and plan.dual_tor):
        raise InputError("--dp (dual plane) needs --ro and --dt: each plane has one ToR of a rail")
    if plan.psw_switch_num % plan.planes:
        raise InputError(f"{plan.psw_switch_num} PSWs cannot be split over two planes; "
                         f"expected an even number")
    for name in ("bandwidth", "nvlink_bw", "ap_bandwidth"):
        if not re.fullmatch(r"[1-9]\d*(\.\d+)?[KMGT]?(bps|b/s)", getattr(plan, name)):
            raise InputError(f"--{name} '{getattr(plan, name)}' is not a rate; expected one such "
                             f"as 400Gbps")
    for name in ("latency", "nv_latency"):
        if not re.fullmatch(r"\d+(\.\d+)?(s|ms|us|ns|ps)", getattr(plan, name)):
            raise InputError(f"--{name} '{getattr(plan, name)}' is not a time; expected one such "
                             f"as 0.0005ms")
    if not re.fullmatch(r"0|1|0\.\d+|1\.0+", plan.error_rate):
        raise InputError(f"--error_rate '{plan.error_rate}' is not a probability; expected 0 to 1")

    segments = math.ceil(plan.gpu / plan.segment_gpus)
    halves = 2 if plan.rail_optimized and plan.dual_tor else 1
    most = plan.asw_per_psw // (plan.asws_per_segment // halves)
    if segments > most:
        raise InputError(f"{plan.gpu} GPUs need {segments} segments and a pod holds {most}; "
                         f"expected at most {most * plan.segment_gpus} GPUs, or larger "
                         f"--asw_per_psw")
    warnings = []
    needed = segments * plan.asws_per_segment
    if needed != plan.asw_switch_num:
        warnings.append(f"{plan.gpu} GPUs need {needed} access switches, not "
                        f"{plan.asw_switch_num}; {needed} are used")
        plan = dataclasses.replace(plan, asw_switch_num=needed)
    return plan, warnings


def links(plan):
    """Yields (source, destination, rate, delay), in the order of the file."""
    first_asw = plan.gpu + plan.nv_switches
    asws_per_tor = plan.asw_switch_num // plan.tors
    for gpu in range(plan.gpu):
        server = gpu // plan.gpu_per_server
        for k in range(plan.nv_switch_per_server):
            yield (gpu, plan.gpu + server * plan.nv_switch_per_server + k, plan.nvlink_bw,
                   plan.nv_latency)
        if plan.rail_optimized:
            asw = gpu // plan.segment_gpus * plan.gpu_per_server + gpu % plan.gpu_per_server
        else:
            asw = gpu // plan.nics_per_aswitch
        for tor in range(plan.tors):
            yield gpu, first_asw + tor * asws_per_tor + asw, plan.bandwidth, plan.latency

    first_psw = first_asw + plan.asw_switch_num
    psws_per_plane = plan.psw_switch_num // plan.planes
    asws_per_plane = plan.asw_switch_num // plan.planes
    for asw in range(plan.asw_switch_num):
        first = first_psw + asw // asws_per_plane * psws_per_plane
        for psw in range(first, first + psws_per_plane):
            yield first_asw + asw, psw, plan.ap_bandwidth, plan.latency


def write(plan, path):
    switches = plan.asw_switch_num + plan.psw_switch_num
    nodes = plan.gpu + plan.nv_switches + switches
    lines = [f"{a} {b} {rate} {delay} {plan.error_rate}\n" for a, b, rate, delay in links(plan)]
    with open(path, "w") as file:
        file.write(f"{nodes} {plan.gpu_per_server} {plan.nv_switches} {switches} {len(lines)} "
                   f"{plan.gpu_type}\n")
        file.write("".join(f"{node} " for node in range(plan.gpu, nodes)) + "\n")
        file.writelines(lines)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-topo", "--topology", choices=TEMPLATES, metavar="NAME", help=", ".join(TEMPLATES))
    add("-g", "--gpu", type=int, help="number of GPUs")
    add("-ro", "--ro", "--rail_optimized", dest="rail_optimized", action="store_true", default=None,
        help="GPU k of every server of a segment is on the same access switch")
    add("-dt", "--dt", "--dual_ToR", dest="dual_tor", action="store_true", default=None,
        help="every NIC is on two access switches")
    add("-dp", "--dp", "--dual_plane", dest="dual_plane", action="store_true", default=None,
        help="the two access switches belong to separate planes")
    add("-gps", "--gpu_per_server", type=int, default=8, help="GPUs per server (8)")
    add("-gt", "--gpu_type", default="H100", help="GPU type (H100)")
    add("-nsps", "--nv_switch_per_server", type=int, default=1, help="NVSwitches per server (1)")
    add("-nvbw", "--nvlink_bw", default="2880Gbps", help="GPU to NVSwitch (2880Gbps)")
    add("-nl", "--nv_latency", default="0.000025ms", help="delay of NVLinks (0.000025ms)")
    add("-l", "--latency", default="0.0005ms", help="delay of all other links (0.0005ms)")
    add("-bw", "--bandwidth", help="NIC to ASW")
    add("-apbw", "--ap_bandwidth", default="400Gbps", help="ASW to PSW (400Gbps)")
    add("-er", "--error_rate", default="0", help="packet error rate of every link (0)")
    add("-asn", "-asw", "--asw_switch_num", type=int, help="access switches")
    add("-npa", "-nps", "--nics_per_aswitch", type=int, help="NICs per access switch")
    add("-psn", "--psw_switch_num", type=int, help="aggregation switches")
    add("-app", "--asw_per_psw", type=int, help="access switches that an aggregation switch holds")
    given = vars(parser.parse_args(arguments))

    family, template = TEMPLATES.get(given.pop("topology"), ("", BASE))
    if family == "AlibabaHPN" and given["dual_plane"]:
        template = ALIBABA_HPN_DUAL_PLANE
    if family == "DCN+" and given["dual_tor"]:
        template = DCN_DUAL_TOR
    return Plan(family=family, **(template | {k: v for k, v in given.items() if v is not None}))


def main(arguments):
    try:
        plan, warnings = check(parse(arguments))
        for warning in warnings:
            print(f"warning: {warning}", file=sys.stderr)
        write(plan, plan.file_name())
    except (InputError, OSError) as error:
        print(f"gen_Topo_Template.py: {error}", file=sys.stderr)
        return 2
    print(plan.file_name())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
