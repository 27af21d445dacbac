# SPDX-License-Identifier: GPL-2.0-only
"""NVLink rates of GPUs, and what --preset sets: the GPU type; presets of whole machines also GPUs of a server, their
NICs and rates.

A100 and A800 have the nominal rate. From Hopper on it is 80 % of the nominal rate, as in SimAI's files of H100 (2880 of
3600 Gb/s). AMD's GPUs have a link to each other GPU of their server, with the rate that
copies reach (AMD, Understanding RCCL Bandwidth and xGMI Performance on AMD Instinct MI300X, 2025). Huawei's have the
nominal rate (HCCS: 56 GB/s both ways between two 910B; 910C: Zuo et al., Serving Large Language Models on Huawei
CloudMatrix384, 2025, 392 GB/s one way of a package of two dies), and the simulator caps what copies make of it.
"""
import argparse

from clustersim import gpu_rows
from clustersim.topology.cluster import InputError, Lanes, most_lanes, rate_bps

SIMAIS_RATE = "2880Gbps"  # which SimAI's generator writes whatever the GPU is
SIMAIS_TYPES = ("A100", "A800", "H100", "H800", "H20")


def nvlink() -> dict[str, str]:
    """@return by type the rate of all links of a GPU to its NVSwitches, in one direction"""
    return gpu_rows.of("switched")


def mesh() -> dict[str, str]:
    """@return by type the rate of one link of a mesh, in one direction"""
    return gpu_rows.of("meshed")


def lanes() -> dict[str, tuple[str, tuple[Lanes, ...]]]:
    """@return by type the rate of a lane, in one direction, and the links as (GPU, GPU, lanes), of servers where links
    of several lanes join some GPUs"""
    return {name: (each["rate"], tuple((a, b, count) for a, b, count in each["links"])) for name,
            each in gpu_rows.of("lanes").items()}


# A rack of NVL36 or NVL72 is one server, as its NVSwitches join all its GPUs.
MACHINES: dict[str, tuple[str, dict[str, int | str]]] = {
    "GH200-quad": ("GH200", dict(gpu_per_server=4, bandwidth="200Gbps")),     # Alps: 4 NICs of Slingshot-11
    "GB200-NVL36": ("GB200", dict(gpu_per_server=36)),                        # 1 x 400 Gb/s per GPU
    "GB200-NVL72": ("GB200", dict(gpu_per_server=72)),
    "GB300-NVL36": ("GB300", dict(gpu_per_server=36, bandwidth="800Gbps")),   # ConnectX-8
    "GB300-NVL72": ("GB300", dict(gpu_per_server=72, bandwidth="800Gbps")),
    "B300-HGX": ("B300", dict(gpu_per_server=8, bandwidth="800Gbps")),
    "A100-2NIC": ("A100", dict(nics_per_gpu=2, bandwidth="100Gbps")),         # 16 x 100 Gb/s: OCI BM.GPU4.8
    "H100-2NIC": ("H100", dict(nics_per_gpu=2, bandwidth="200Gbps")),         # 16 x 200 Gb/s: OCI BM.GPU.H100.8
    "A100-4NIC": ("A100", dict(gpus_per_nic=2, bandwidth="100Gbps")),         # 4 x 100 Gb/s: p4d, p4de
    "H100-4NIC": ("H100", dict(gpus_per_nic=2)),                              # 4 x 400 Gb/s
    "Ascend-A2": ("Ascend910B", dict(gpu_per_server=8, bandwidth="200Gbps")),   # Atlas 800T A2: a NIC of 200 Gb/s each
    "Ascend-A3": ("Ascend910C", dict(gpu_per_server=16,
                                     bandwidth="200Gbps")),  # Atlas 800T A3: 16 dies, 400 Gb/s for two
    "MI250X-4NIC": ("MI250X", dict(gpus_per_nic=2,
                                   bandwidth="200Gbps")),     # Frontier, LUMI: Slingshot-11, one for two dies
    "H100-1NIC": ("H100", dict(gpus_per_nic=8)),                              # one 400 Gb/s NIC for 8 GPUs
}


def presets() -> list[str]:
    """@return the names that --preset takes"""
    return [*nvlink(), *mesh(), *lanes(), *MACHINES]


def preset(name: str) -> dict[str, int | str]:
    gpu_type, machine = MACHINES.get(name, (name, {}))
    return {"gpu_type": gpu_type, **machine}


def choose_mesh(options: argparse.Namespace) -> None:
    """Sets whether links join every two GPUs of a server: as a flag says, or where the GPU is made so. NVSwitches come
    where there is no mesh; a GPU whose links have lanes gets one of its own, which passes on what goes further."""
    options.lanes = lanes()[options.gpu_type][1] if options.gpu_type in lanes() and not (options.mesh
        or options.nv_switch_per_server) else ()
    if options.lanes:
        gpus = 1 + max(later for _, later, _ in options.lanes)
        if options.gpu_per_server != gpus:
            raise InputError(f"servers of {options.gpu_per_server} {options.gpu_type} are not known; expected {gpus} "
                             f"GPUs (dies) per "
                             "server, or --nv_switch_per_server 1")
        options.nv_switch_per_server = options.gpu_per_server
    if options.mesh is None:
        options.mesh = options.gpu_type in mesh() and not options.nv_switch_per_server
    if options.mesh and options.nv_switch_per_server:
        raise InputError(f"--mesh and --nv_switch_per_server {options.nv_switch_per_server} contradict each other; "
                         f"expected one of them")
    if options.nv_switch_per_server is None:
        options.nv_switch_per_server = 0 if options.mesh else 1


def set_nvlink_rate(options: argparse.Namespace) -> list[str]:
    """Sets the rate of an NVLink line of the file, unless a flag gave it: a GPU's over its NVSwitches, or over its
    links to the others of a mesh. SimAI's generator writes the same for every GPU, and files of its GPU types stay as
    they are there. @return warnings"""
    if options.mesh and not options.nvlink_bw and (options.gpu_type in mesh() or options.gpu_type in nvlink()):
        others = max(1, options.gpu_per_server - 1)
        options.nvlink_bw = (
            mesh().get(options.gpu_type) or f"{rate_bps(nvlink()[options.gpu_type]) / others / 1e9:.10g}Gbps"
        )
    if options.lanes:
        options.nvlink_bw = options.nvlink_bw or lanes()[options.gpu_type][0]
        return []
    switches = options.nv_switch_per_server
    if options.nvlink_bw or switches < 1:
        options.nvlink_bw = options.nvlink_bw or SIMAIS_RATE
        return []
    own = nvlink().get(options.gpu_type)
    if options.gpu_type in mesh():  # a switch in the place of a mesh
        own = f"{rate_bps(mesh()[options.gpu_type]) * (options.gpu_per_server - 1) / 1e9:.10g}Gbps"
    if options.gpu_type in lanes():
        lane, links = lanes()[options.gpu_type]
        own = f"{rate_bps(lane) * most_lanes(links) / 1e9:.10g}Gbps"
    if own is None:
        options.nvlink_bw = SIMAIS_RATE
        return [f"the NVLink rate of {options.gpu_type} is not known, {SIMAIS_RATE} of an H100 is written; expected "
                f"-nvbw RATE"]
    share = f"{rate_bps(own) / switches / 1e9:.10g}Gbps"
    options.nvlink_bw = share if options.preset or options.gpu_type not in SIMAIS_TYPES else SIMAIS_RATE
    if rate_bps(options.nvlink_bw) == rate_bps(share):
        return []
    return [f"NVLinks of {options.gpu_type} are written with {options.nvlink_bw}"
            f"{' to each NVSwitch' if switches > 1 else ''}, as "
            f"SimAI's generator does, and carry {own} in all; expected -nvbw {share}, or --preset {options.gpu_type}"]
