# SPDX-License-Identifier: GPL-2.0-only
"""How long DeepEP's kernels take to dispatch tokens to experts and to combine results (github.com/deepseek-ai/DeepEP).

Normal kernels send a token once to each server, from where it is forwarded over NVLink; SMs do the copying. Low-latency
kernels send a token once for each of its experts, straight to the expert's GPU. Times are without the exchange of
counts before them.

SM_*, START_NS and the shares of the links come from measurements on one and two servers of 8 H100 with 400 Gb/s NICs
(AIConfigurator's tables of SGLang 0.5, hidden sizes 2048 to 7168); more servers and other GPUs are predicted. A server
beyond four is one that node-limited routing leaves out.

    deepep.time_ns("normal", "dispatch", deepep.Group(servers=4), hidden=7168, tokens=4096, topk=8, experts=256)
"""
import dataclasses

from clustersim.workload.plan.exchange import distinct

FP8 = 1 + 4 / 128  # bytes of a number: one, and a float32 for each 128
BF16 = 2
NODE_LIMIT = 4  # of DeepEP's own benchmark, as DeepSeek-V3 routes
# Nanoseconds of an SM: for a token, for a byte of it, for a byte of each copy over NVLink, and for a byte of each copy
# of a server.
SM_DISPATCH = (438.0, 0.0, 0.0447, 0.065)
SM_COMBINE = (0.0, 0.121, 0.0288, 0.156)
# Of a kernel without tokens: on one server, on more.
START_NS = {("normal", "dispatch"): (26e3, 27e3), ("normal", "combine"): (48e3, 50e3),
            ("ll", "dispatch"): (15e3, 22e3), ("ll", "combine"): (13e3, 22e3)}
# Shares of the line rate that the kernels reach.
NVLINK = {"normal": 0.755, "ll": 0.5}
NIC = {"normal": 0.95, "ll": 0.88}


@dataclasses.dataclass(frozen=True)
class Group:
    """Ranks that exchange tokens: servers of `gpus` GPUs. Rates in bytes/ns of a GPU, one direction."""
    servers: int = 1
    gpus: int = 8
    nvlink: float = 450.0
    nic: float = 50.0


def _normal_ns(phase: str, group: Group, experts: int, topk: int, token: float, sms: int) -> float:
    servers = distinct(group.servers, experts, topk, NODE_LIMIT)
    copies = distinct(group.servers * group.gpus, experts, topk, NODE_LIMIT * group.gpus)
    of_token, of_byte, of_copy, of_server = SM_DISPATCH if phase == "dispatch" else SM_COMBINE
    crossing = servers * (group.servers - 1) / group.servers
    between = of_server * servers if group.servers > 1 else 0.0
    return max((of_token + token * (of_byte + of_copy * copies + between)) / sms,
               token * copies / (group.nvlink * NVLINK["normal"]), token * crossing / (group.nic * NIC["normal"]))


def _low_latency_ns(group: Group, topk: int, token: float) -> float:
    inside = topk * token / group.servers
    return max(inside / (group.nvlink * NVLINK["ll"]), (topk * token - inside) / (group.nic * NIC["ll"]))


def time_ns(mode: str, phase: str, group: Group, hidden: int, tokens: int, topk: int, experts: int,
            sms: int = 24) -> float:
    """
    @param mode normal or ll (low latency) @param phase dispatch (8-bit floats) or combine (bfloat16)
    @param tokens of each rank @param experts of the model, `topk` of them for each token @param sms streaming
    multiprocessors of a GPU @return nanoseconds of the kernel
    """
    token = hidden * (FP8 if phase == "dispatch" else BF16)
    each = _low_latency_ns(group, topk, token) if mode == "ll" else _normal_ns(phase, group, experts, topk, token, sms)
    return START_NS[mode, phase][group.servers > 1] + tokens * each
