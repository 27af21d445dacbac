# SPDX-License-Identifier: GPL-2.0-only
"""Weights that move from the layout that trains to the layout that serves: bytes for each pair of ranks.

A layer's weights are two tensors: those that tensor parallelism cuts, and experts, which expert parallelism deals out
and tensor parallelism cuts. Ranks hold intervals of them. A rank that serves gets each part of its intervals from one
of the ranks that hold it: itself, else one of its server, else replicas by turns.
"""
import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from clustersim.workload.model import operators
from clustersim.workload.model.operator import ELEMENT
from clustersim.workload.plan import pipeline
from clustersim.workload.plan.parallel import Parallelism

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.serve.instance import Instance

Moves = dict[tuple[int, int], float]  # bytes by source and destination


@dataclasses.dataclass(frozen=True)
class Slice:
    """A rank's part of the tensors of some layers: part `index` of `count` equal ones, of experts both ways."""
    layers: frozenset[int]  # -1: the embedding, -2: the head
    dense: tuple[int, int]  # index, count
    experts: tuple[int, int]
    expert_parts: tuple[int, int]


def _common(one: tuple[int, int], other: tuple[int, int]) -> float:
    """@return the share of a tensor that two parts have in common"""
    low = max(one[0] / one[1], other[0] / other[1])
    return max(0.0, min((one[0] + 1) / one[1], (other[0] + 1) / other[1]) - low)


def of_training(model: "Model", plan: Parallelism) -> list[Slice]:
    """@return what each rank holds"""
    per_stage = plan.world_size // plan.pp
    layers = []
    for stage in range(plan.pp):
        own: set[int] = set()
        for place in pipeline.of_stage(plan, model, stage):
            own |= set(place.layers) | ({-1} if place.embedding else set()) | ({-2} if place.loss else set())
        layers.append(frozenset(own))
    return [Slice(layers[rank // per_stage], (rank % plan.tp, plan.tp),
                  (rank // plan.expert_tp % plan.ep, plan.ep), (rank % plan.expert_tp, plan.expert_tp))
            for rank in range(plan.world_size)]


def of_serving(instance: "Instance") -> list[Slice]:
    """@return what each rank of all instances holds"""
    per_stage = instance.tp * instance.replicas
    stages = instance.stages()
    ends = [{-1} if number == 0 else set() for number in range(len(stages))]
    ends[-1] = ends[-1] | {-2}
    layers = [frozenset(range(instance.model.layers)[own]) | end for own, end in zip(stages, ends)]
    stride = per_stage // instance.ep
    found = []
    for rank in range(instance.gpus):
        stage, place = divmod(rank % (per_stage * instance.pp), per_stage)
        found.append(Slice(frozenset(layers[stage]), (place % instance.tp, instance.tp),
                           (place // stride, instance.ep), (place % stride, stride)))
    return found


def _sizes(model: "Model") -> tuple[dict[int, float], dict[int, float]]:
    """@return bytes of each layer's dense weights and of its experts; -1 and -2: the embedding and the head"""
    whole = Parallelism(1)
    dense, experts = {}, {}
    for layer in range(model.layers):
        found = operators.layer(model, whole, layer)
        routed = sum(o.parameters for o in found if o.name.startswith("expert_"))
        dense[layer] = ELEMENT * float(sum(o.parameters for o in found) - routed)
        experts[layer] = ELEMENT * float(routed)
    dense[-1] = ELEMENT * float(sum(o.parameters for o in operators.embedding(model, whole)))
    dense[-2] = 0.0 if model.tied else ELEMENT * float(sum(o.parameters for o in operators.head(model, whole)))
    return dense, experts


class _Holders:
    """The ranks that hold the same part, and the nearest of them."""

    def __init__(self, keys: Sequence[object], per_server: int) -> None:
        self.per_server = per_server
        self.ranks: dict[object, list[int]] = collections.defaultdict(list)
        self.near: dict[tuple[object, int], list[int]] = collections.defaultdict(list)
        for rank, key in enumerate(keys):
            self.ranks[key].append(rank)
            self.near[key, rank // per_server].append(rank)

    def nearest(self, key: object, rank: int) -> int:
        near = self.near.get((key, rank // self.per_server)) or self.ranks[key]
        return rank if rank in near else near[rank % len(near)]


def _shared(held: Slice, wanted: Slice, sizes: Mapping[int, float]) -> float:
    return sum(sizes.get(layer, 0.0) for layer in held.layers & wanted.layers)


def moves(model: "Model", training: Sequence[Slice], serving: Sequence[Slice], first: int, per_server: int) -> Moves:
    """@return bytes by pairs of ranks; those of a rank with itself are copies on a GPU
    @param first number of the first rank that serves: 0 where the same GPUs train and serve"""
    dense, experts = _sizes(model)
    found: Moves = collections.defaultdict(float)
    of_dense: list[object] = [(each.layers, each.dense) for each in training]
    of_experts: list[object] = [(each.layers, each.experts, each.expert_parts) for each in training]
    for keys, sizes, share in (
            (of_dense, dense, lambda held, wanted: _common(held.dense, wanted.dense)),
            (of_experts, experts, lambda held, wanted: _common(held.experts, wanted.experts) * _common(
                held.expert_parts, wanted.expert_parts))):
        holders = _Holders(keys, per_server)
        parts = {key: training[ranks[0]] for key, ranks in holders.ranks.items()}
        for number, wanted in enumerate(serving):
            for key, held in parts.items():
                size = share(held, wanted) * _shared(held, wanted, sizes)
                if size > 0:
                    found[holders.nearest(key, first + number), first + number] += size
    return dict(found)


def goal(found: Moves, ranks: int) -> Iterator[str]:
    """@return lines of a GOAL schedule: all messages leave at once"""
    yield f"num_ranks {ranks}"
    sent, received = collections.defaultdict(list), collections.defaultdict(list)
    for (source, target), size in sorted(found.items()):
        if source != target:
            sent[source].append((target, round(size)))
            received[target].append((source, round(size)))
    for rank in range(ranks):
        yield f"rank {rank} {{"
        yield from (f"send {size}b to {other} tag 0" for other, size in sent[rank])
        yield from (f"recv {size}b from {other} tag 0" for other, size in received[rank])
        yield "}"
