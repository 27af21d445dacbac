# SPDX-License-Identifier: GPL-2.0-only
"""Generates the topology of a GPU cluster from a template, as a file in the current directory.

Templates: Spectrum-X (rail-optimised, one ToR), AlibabaHPN (rail-optimised, dual ToR, one or two
planes), DCN+ (not rail-optimised, one or two ToRs), NVL36 and NVL72 (racks as NVLink domains);
without a template --ro, --dt and --dp choose. Also FatTree, Clos2, Clos3, Dragonfly, Torus and RailOnly. A flag
wins over its template. Examples:

    gen_Topo_Template.py -topo Spectrum-X -g 128 -gt A100 -bw 100Gbps
    gen_Topo_Template.py -topo Clos2 -g 256 --oversubscription 2
    gen_Topo_Template.py --check FILE

Nodes are numbered GPUs first, then NVSwitches, access switches (ASW), aggregation switches (PSW) and
core switches.
"""
from clustersim import command
from clustersim.required_modules import require

require("networkx", "yaml")

from clustersim.topology.generator import command_line  # noqa: E402


def main(arguments: list[str]) -> int:
    return command_line.main(arguments, __doc__)


def run() -> None:
    command.run(command.name(), main)
