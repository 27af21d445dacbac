# SPDX-License-Identifier: GPL-2.0-only
"""Operators computed again in the backward pass, so that their results need not be kept: Megatron-Core's
--recompute-modules."""
from collections.abc import Iterable
from typing import FrozenSet, NamedTuple, TYPE_CHECKING

from clustersim.errors import InputError

if TYPE_CHECKING:
    from clustersim.workload.plan.parallel import Parallelism
    from clustersim.workload.plan.planned import Weighted

KINDS = ("none", "selective", "full")
DEFAULT = ("layernorm", "mlp_act", "moe_act")  # what needs no matrix product


class Module(NamedTuple):
    again: FrozenSet[str]  # operators that are computed again, without communication
    dropped: FrozenSet[str]  # operators whose kept bytes are not kept
    rows: str = ""  # rows that are carried out again with their communication begin with this


def _module(again: str, dropped: str, rows: str = "") -> "Module":
    return Module(frozenset(again.split()), frozenset(dropped.split()), rows)


# Fused attention keeps no scores, so that to compute it again saves nothing. Inputs of a checkpoint stay.
MODULES = {
    "core_attn": _module("attention", ""),
    "layernorm": _module("input_norm post_norm", ""),
    "mla_up_proj": _module("query_up key_value_up", "attention"),
    "mlp_act": _module("mlp_activation shared_activation", "mlp_down shared_down"),
    "moe_act": _module("expert_activation", "expert_down"),
    "mlp": _module("", "mlp_up mlp_activation mlp_down", "mlp_"),
    "moe": _module("", "router expert_up expert_activation expert_down shared_up shared_activation shared_down",
                   "mlp_"),
    "shared_experts": _module("", "shared_activation shared_down", "mlp_shared"),
}


def parse(names: Iterable[str]) -> tuple[str, ...]:
    """@return the modules of a list of names"""
    for name in names:
        if name not in MODULES:
            raise InputError(f'"{name}" is not a module that can be recomputed; expected some of {", ".join(MODULES)}')
    return tuple(dict.fromkeys(names))


def _selected(plan: "Parallelism") -> "list[Module]":
    return [MODULES[name] for name in plan.modules or DEFAULT] if plan.recompute == "selective" else []


def again(plan: "Parallelism") -> frozenset[str]:
    """@return names of operators that are computed again before their backward pass, alone"""
    return frozenset().union(*(module.again for module in _selected(plan)))


def is_dropped(plan: "Parallelism", operator: "Weighted") -> bool:
    """@return whether an operator's inputs need not be kept"""
    modules = _selected(plan)
    return any(operator.name in module.dropped
               for module in modules) or operator.keeps_norm and MODULES["layernorm"] in modules


def rows(plan: "Parallelism", experts: bool) -> str:
    """@return the beginnings of names of a layer's rows that are carried out again, the widest alone"""
    names = {"moe", "shared_experts"} if experts else {"mlp"}
    found = [MODULES[name].rows for name in plan.modules if name in names] if plan.recompute == "selective" else []
    return min(found, key=len, default="")


def is_whole(plan: "Parallelism", position: int) -> bool:
    """@return whether a chunk's layer at `position` is computed again as a whole"""
    return plan.recompute == "full" and (not plan.recompute_layers or position < plan.recompute_layers)
