# SPDX-License-Identifier: GPL-2.0-only
"""Low-rank adapters (LoRA, arXiv 2106.09685): each adds two thin products to one whose weights are frozen."""
import dataclasses
from collections.abc import Iterable
from typing import Tuple, TYPE_CHECKING

from clustersim.errors import InputError

if TYPE_CHECKING:
    from clustersim.workload.plan.parallel import Parallelism
    from clustersim.workload.plan.planned import Weighted

# Operators by the names of Megatron-Core and of Hugging Face.
TARGETS = {
    "linear_qkv": ("qkv", "query", "query_up", "key_value_down", "key_value_up"), "linear_proj": ("projection",),
    "linear_fc1": ("mlp_up", "shared_up"), "linear_fc2": ("mlp_down", "shared_down"),
}
OTHER_NAMES = {"q_proj": "linear_qkv", "k_proj": "linear_qkv", "v_proj": "linear_qkv", "o_proj": "linear_proj",
               "gate_proj": "linear_fc1", "up_proj": "linear_fc1", "down_proj": "linear_fc2",
               "qkv_proj": "linear_qkv", "gate_up_proj": "linear_fc1"}
INWARD, OUTWARD = "+in", "+out"


@dataclasses.dataclass(frozen=True)
class Adapters:
    """`slots` is the number of adapters that a server keeps, 0 in training, which has one. `joined` are operators in
    which servers join products with an adapter each, and their number: the first thin product is as many times as wide.
    """
    rank: int
    targets: Tuple[str, ...] = ("linear_qkv", "linear_proj")
    slots: int = 0
    joined: Tuple[Tuple[str, int], ...] = ()

    @property
    def operators(self) -> set[str]:
        """@return names of the operators that have an adapter"""
        return {name for target in self.targets for name in TARGETS[target]}

    def width(self, name: str) -> int:
        """@return columns of the first thin product beside an operator"""
        return self.rank * dict(self.joined).get(name, 1)

    def in_batch(self, tokens: float) -> float:
        """@return how many of a server's adapters as many tokens have on average, each of which has any of them"""
        return self.slots * (1 - (1 - 1 / self.slots) ** tokens)


def make(rank: int, names: Iterable[str]) -> Adapters:
    """@param names of targets, Megatron-Core's or Hugging Face's"""
    known = tuple(dict.fromkeys(OTHER_NAMES.get(name, name) for name in names))
    for name in known:
        if name not in TARGETS:
            raise InputError(f'"{name}" is not a layer that can have an adapter; expected some of '
                             f'{", ".join([*TARGETS, *OTHER_NAMES])}')
    if rank < 1:
        raise InputError(f"the rank of adapters is {rank}; expected at least 1")
    return Adapters(rank, known) if known else Adapters(rank)


def served(rank: int, names: Iterable[str], slots: int, gated: bool) -> Adapters:
    """@return adapters of a server @param names of targets, all of them without one @param gated whether an MLP's first
    product joins two"""
    joined = (("qkv", 3), *((name, 2) for name in TARGETS["linear_fc1"] if gated))
    return dataclasses.replace(make(rank, tuple(names) or tuple(TARGETS)), slots=slots, joined=joined)


def base(name: str) -> str:
    """@return the operator that an adapter is beside, or the operator itself"""
    return name.split("+")[0]


def is_thin(name: str) -> bool:
    """@return whether an operator is a product of an adapter"""
    return "+" in name


def is_trained(plan: "Parallelism", operator: "Weighted") -> bool:
    """@return whether an operator's weights are trained: with adapters, theirs alone"""
    return not plan.adapters or is_thin(operator.name)


def trained(plan: "Parallelism", operators: "Iterable[Weighted]") -> int:
    """@return the number of their parameters that are trained"""
    return sum(operator.parameters for operator in operators if is_trained(plan, operator))
