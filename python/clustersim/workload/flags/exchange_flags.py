# SPDX-License-Identifier: GPL-2.0-only
"""Flags that say how tokens reach their experts, in Megatron-Core's spellings and ours."""
from collections.abc import Sequence

import argparse
from typing import TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.workload.plan import exchange

if TYPE_CHECKING:
    from clustersim.workload.flags.parser import Parser
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.exchange import Exchange

TYPES = {"alltoall": "alltoall", "flex": "deepep", "deepep": "deepep", "deepep_ll": "deepep_ll"}
WITHOUT_SPREAD = "all experts are on each rank (--ep)"


def add_imbalance(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--moe_imbalance", default="none", metavar="none|zipf:S[:SEED]|FILE",
                       help="imbalance of the experts: none (default), Zipf's law with exponent S, or a file with the "
                       "tokens of each expert, one a line, or for servers with a line for each layer")


def add(parser: "Parser") -> None:
    group = parser.add_argument_group("experts")
    flag = group.add_argument
    flag("--moe_dispatcher", "--moe_token_dispatcher_type", "--moe-token-dispatcher-type", default="alltoall",
         metavar="NAME",
         help="how tokens reach their experts. alltoall (default): once to each expert; deepep (Megatron's flex): once "
         "to each server; deepep_ll: DeepEP's low-latency kernels")
    flag("--moe_flex_dispatcher_backend", "--moe-flex-dispatcher-backend", metavar="NAME",
         help="back end of Megatron's flex dispatcher: deepep")
    flag("--moe_dispatch_dtype", default="bf16", metavar="TYPE",
         help="type of the tokens that are sent to experts: bf16 (default) or fp8; results come back in bf16")
    flag("--moe_node_limit", "--moe_router_group_topk", "--moe-router-group-topk", type=int, default=0, metavar="N",
         help="most servers that have a token's experts (default: any number; DeepSeek-V3: 4)")
    flag("--moe_gpus_per_server", type=int, default=8, metavar="N",
         help="GPUs that forward tokens to each other (default: 8)")
    add_imbalance(group)
    flag("--moe_capacity_factor", "--moe_expert_capacity_factor", "--moe-expert-capacity-factor", type=float,
         default=0.0, metavar="X",
         help="most tokens of an expert, as a multiple of the mean; the rest is dropped (default: 0, no limit)")
    flag("--moe_pad_expert_input_to_capacity", "--moe-pad-expert-input-to-capacity", action="store_true",
         help="each expert computes its whole capacity, padded")


def _loads(text: str, experts: int) -> tuple[float, ...]:
    kind, *values = text.split(":")
    if text == "none":
        return ()
    if kind != "zipf":
        return exchange.read_loads(text, experts)
    try:
        exponent, seed = float(values[0]), int(values[1]) if len(values) > 1 else 1
        if not 0 <= exponent <= 10 or len(values) > 2:
            raise ValueError
    except (ValueError, IndexError):
        raise InputError(f'--moe_imbalance "{text}" is not valid; expected zipf:EXPONENT or zipf:EXPONENT:SEED, with '
                         f'an exponent from 0 to 10') from None
    return exchange.zipf(experts, exponent, seed)


def loads_of(given: argparse.Namespace, model: "Model") -> tuple[float, ...]:
    """@return loads of the model's experts, as --moe_imbalance says"""
    if not model.experts and given.moe_imbalance != "none":
        raise InputError(f"{model.name} has no experts that tokens could be sent to; expected no --moe_ flags")
    return _loads(given.moe_imbalance, model.experts) if model.experts else ()


def _dispatcher(given: argparse.Namespace) -> str:
    name, backend = given.moe_dispatcher, given.moe_flex_dispatcher_backend
    if name not in TYPES:
        raise InputError(f'--moe_dispatcher "{name}" is not supported; expected {", ".join(TYPES)}')
    if backend is not None and (name != "flex" or backend != "deepep"):
        raise InputError(f'--moe_flex_dispatcher_backend "{backend}" with dispatcher {name} is not supported; '
                         f'expected flex with deepep')
    return TYPES[name]


def find(given: argparse.Namespace, model: "Model") -> "Exchange":
    """@return the Exchange that the flags describe"""
    if given.moe_dispatch_dtype not in exchange.BYTES:
        raise InputError(f'--moe_dispatch_dtype "{given.moe_dispatch_dtype}" is not supported; expected '
                         f'{", ".join(exchange.BYTES)}')
    if given.moe_node_limit < 0 or given.moe_gpus_per_server < 1:
        raise InputError("--moe_node_limit or --moe_gpus_per_server is not valid; expected a limit of 0 or more, and "
                         "at least 1 GPU")
    if not 0 <= given.moe_capacity_factor < float("inf"):
        raise InputError(f"--moe_capacity_factor is {given.moe_capacity_factor:g}; expected a number, 0 or more")
    if given.moe_pad_expert_input_to_capacity and not given.moe_capacity_factor:
        raise InputError("--moe_pad_expert_input_to_capacity has no capacity; expected --moe_capacity_factor")
    found = exchange.Exchange(_dispatcher(given), exchange.BYTES[given.moe_dispatch_dtype], given.moe_node_limit,
                              given.moe_gpus_per_server, loads_of(given, model), given.moe_capacity_factor,
                              given.moe_pad_expert_input_to_capacity)
    return require_experts(found, model)


def require_experts(found: "Exchange", model: "Model") -> "Exchange":
    """@return the Exchange of tokens with experts @raise InputError flags ask for one, and the model has no experts"""
    if not model.experts and found != exchange.Exchange():
        raise InputError(f"{model.name} has no experts that tokens could be sent to; expected no --moe_ flags")
    return found


def idle_rules(given: argparse.Namespace, experts_are_spread: bool) -> tuple[tuple[bool, str, Sequence[str]]]:
    """@return rules for command.tell_idle(): flags of how tokens reach experts that change nothing"""
    forwarded = ("moe_node_limit", "moe_gpus_per_server")
    if not experts_are_spread:
        return ((False, WITHOUT_SPREAD, ("moe_dispatcher", "moe_dispatch_dtype", *forwarded)),)
    return ((TYPES[given.moe_dispatcher] != "alltoall", "it is for --moe_dispatcher deepep", forwarded),)
