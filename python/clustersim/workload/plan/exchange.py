# SPDX-License-Identifier: GPL-2.0-only
"""How tokens reach their experts: which bytes a dispatcher sends, and how uneven experts' shares are.

Megatron-Core's dispatchers: `alltoall` sends a token once for each of its experts; DeepEP's (`deepep`) once to each
server, where it is forwarded over NVLink; its low-latency kernels (`deepep_ll`) once for each expert. A dispatch may be
of 8-bit floats; a combination is of bfloat16. Backward, the gradient of a dispatch is a combination, and the reverse.
"""
import dataclasses
import os
import random
from collections.abc import Sequence
from math import comb
from typing import Tuple, TYPE_CHECKING

from clustersim import input_file
from clustersim.errors import InputError

if TYPE_CHECKING:
    from clustersim.workload.plan.parallel import Parallelism
    from clustersim.workload.plan.planned import Planned

DISPATCHERS = ("alltoall", "deepep", "deepep_ll")
# Bytes of a number that is sent. With 8 bits, 128 numbers share a float32 (DeepSeek-V3, arXiv 2412.19437, section 3.3).
BYTES = {"bf16": 2.0, "bfloat16": 2.0, "fp8": 1 + 4 / 128}


@dataclasses.dataclass(frozen=True)
class Exchange:
    """Its flags."""
    dispatcher: str = "alltoall"
    dispatch_bytes: float = 2.0  # of a number
    node_limit: int = 0  # servers that a token's experts are on at most; 0: any
    gpus_per_server: int = 8
    loads: Tuple[float, ...] = ()  # of each expert, relative to the mean; none: all alike
    capacity: float = 0.0  # the most that an expert takes, relative to the mean; 0: whatever comes
    padded: bool = False  # whether each expert computes its whole capacity

    def _kept(self, experts: int) -> Sequence[float]:
        """@return what each expert takes of its load"""
        loads = self.loads or (1.0,) * experts
        return [min(load, self.capacity) for load in loads] if self.capacity else loads

    def slowest(self, experts: int, ep: int) -> float:
        """@return tokens that the fullest of `ep` ranks takes, relative to the mean that was sent: the others wait for
        it"""
        return max(_by_rank(self._kept(experts), ep))

    def computed(self, experts: int, ep: int) -> float:
        """@return tokens that the fullest rank computes, relative to the same mean: padded experts compute their whole
        capacity"""
        return self.capacity if self.padded else self.slowest(experts, ep)

    def dropped(self, experts: int) -> float:
        """@return the share of tokens' choices that no expert takes"""
        return 1 - sum(self._kept(experts)) / experts

    def evened(self) -> "Exchange":
        """@return the same with equal experts, which together compute as much"""
        if not self.loads:
            return self
        drops = 0 < self.capacity < max(self.loads)
        computed = self.capacity if self.padded else 1 - self.dropped(len(self.loads)) if drops else 0.0
        return dataclasses.replace(self, loads=(), capacity=computed)

    def describe(self) -> str:
        parts = [self.dispatcher] + ([f"at most {self.node_limit} servers"] if self.node_limit else [])
        parts += [f"fullest expert {max(self.loads):.2f} of the mean"] if self.loads else []
        return ", ".join(parts + ([f"capacity {self.capacity:g}"] if self.capacity else []))


def _by_rank(loads: Sequence[float], ep: int) -> list[float]:
    each = len(loads) // ep
    return [sum(loads[first:first + each]) / each for first in range(0, each * ep, each)]


def distinct(units: int, experts: int, topk: int, limit: int = 0) -> float:
    """@return how many of `units` (servers or ranks), which share the experts evenly, a token's `topk` experts are on,
    as expected

    The choice is uniform: first of `limit` units, then of experts on these.
    """
    chosen = min(limit or units, units)
    each = experts / units
    if each != int(each):  # a unit holds less than an expert, or experts that do not share out
        return min(topk, chosen) if each < 1 else chosen * (1 - (1 - 1 / chosen) ** topk)
    each = int(each)
    return chosen * (1 - comb((chosen - 1) * each, topk) / comb(chosen * each, topk))


def copies(model: "Planned", plan: "Parallelism") -> tuple[int, float]:
    """@return (servers of an EP group, how many servers or ranks of the group a token is sent to, itself included)

    Where the group is within a server, and for dispatchers that do not forward, it counts ranks, or experts.
    """
    exchange = plan.exchange
    inside = max(1, min(plan.ep, exchange.gpus_per_server // plan.expert_tp))
    servers = -(-plan.ep // inside)
    if exchange.dispatcher != "deepep":
        return servers, model.experts_per_token
    if servers == 1:
        return 1, distinct(plan.ep, model.experts, model.experts_per_token)
    return servers, distinct(servers, model.experts, model.experts_per_token, exchange.node_limit)


def all_to_all_bytes(model: "Planned", plan: "Parallelism", number_bytes: float) -> int:
    """@return bytes of the AllToAll that has the exchange's bytes between servers, or between ranks if there is one
    server

    An AllToAll of B bytes sends B / EP to each rank. The slowest rank decides, so its excess counts for all.
    """
    _, count = copies(model, plan)
    # To each of the servers (or ranks) a token goes with the same probability, its own included; so does an AllToAll's
    # share.
    return int(model.expert_hidden * number_bytes * plan.local_tokens * count * plan.exchange.slowest(model.experts,
        plan.ep))


def zipf(experts: int, exponent: float, seed: int) -> tuple[float, ...]:
    """@return loads relative to their mean: the i-th most popular expert's is proportional to i to the power of
    -exponent; a seeded shuffle says which expert that is"""
    weights = [rank ** -exponent for rank in range(1, experts + 1)]
    random.Random(seed).shuffle(weights)
    mean = sum(weights) / experts
    return tuple(weight / mean for weight in weights)


def read_loads(path: str | os.PathLike, experts: int) -> tuple[float, ...]:
    """@return loads relative to their mean, from a file with a number of tokens for each expert, one a line"""
    lines = [line.strip() for line in input_file.read_input(path, "a number of tokens for each expert").splitlines()]
    counts = []
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        try:
            counts.append(float(line))
        except ValueError:
            counts.append(-1.0)
        if not 0 <= counts[-1] < float("inf"):
            raise InputError(f'{path}:{number}: "{line}" is not a valid number of tokens; expected a number, 0 or more')
    if len(counts) != experts or not sum(counts):
        raise InputError(
            f"{path}: {len(counts)} numbers; expected one for each of {experts} experts, not all of them 0"
        )
    return tuple(count * experts / sum(counts) for count in counts)


def check(model: "Planned", plan: "Parallelism") -> None:
    """Refuses a limit under which a token's experts cannot be."""
    exchange = plan.exchange
    if not exchange.node_limit:
        return
    inside = max(1, min(plan.ep, exchange.gpus_per_server // plan.expert_tp))
    servers = -(-plan.ep // inside)
    if min(exchange.node_limit, servers) * model.experts < model.experts_per_token * servers:
        raise InputError(f"--moe_node_limit {exchange.node_limit}: {servers} servers share {model.experts} experts, "
                         f"too few for "
                         f"{model.experts_per_token} of a token; expected a higher limit")
