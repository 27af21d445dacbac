# SPDX-License-Identifier: GPL-2.0-only
"""Which ranks are in a group: tensor parallelism innermost, the pipeline outermost (the simulators' RankLayout)."""
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from clustersim.workload.plan.parallel import Parallelism


def group_of(plan: "Parallelism", kind: str, rank: int) -> tuple[int, list[int]]:
    """@return the number of the group of `kind` that `rank` is in, and its ranks in order"""
    in_stage = plan.world_size // plan.pp
    stage, in_tp, replica = rank // in_stage, rank % plan.tp, rank % in_stage // plan.tp
    shards, replicas = plan.shards, plan.replicas

    def member(other: int) -> int:
        return stage * in_stage + other * plan.tp + in_tp

    if kind == "TP":
        return rank // plan.tp, [rank - in_tp + other for other in range(plan.tp)]
    if kind == "DP":
        copy = replica // shards
        return ((stage * plan.copies + copy) * plan.tp + in_tp,
                [member(other) for other in range(copy * shards, (copy + 1) * shards)])
    if kind == "DP_COPIES":
        return ((stage * shards + replica % shards) * plan.tp + in_tp,
                [member(other) for other in range(replica % shards, replicas, shards)])
    if kind == "CP":
        first = replica // plan.cp * plan.cp
        return ((stage * (replicas // plan.cp) + replica // plan.cp) * plan.tp + in_tp,
                [member(other) for other in range(first, first + plan.cp)])
    if kind in ("EP", "DP_EP"):
        return _of_experts(plan, kind, stage * in_stage, rank % in_stage)
    if kind == "PP":
        return rank % in_stage, [rank % in_stage + other * in_stage for other in range(plan.pp)]
    raise ValueError(kind)


def _of_experts(plan: "Parallelism", kind: str, first_rank: int, in_stage: int) -> tuple[int, list[int]]:
    """Experts have a tensor parallel size of their own: with 1, EP groups are consecutive ranks."""
    tp, ep, copies = plan.expert_tp, plan.ep, plan.expert_replicas
    in_tp, replica = in_stage % tp, in_stage // tp
    same = [first_rank + other * tp + in_tp for other in range(ep * copies)]
    stage = first_rank // (plan.world_size // plan.pp)
    if kind == "EP":
        return (stage * copies + replica // ep) * tp + in_tp, same[replica // ep * ep:replica // ep * ep + ep]
    shards = plan.expert_shards
    copy = replica // ep // shards
    return (((stage * plan.copies + copy) * ep + replica % ep) * tp + in_tp,
            same[replica % ep::ep][copy * shards:(copy + 1) * shards])


def size_of(plan: "Parallelism", kind: str) -> int:
    return {"TP": plan.tp, "DP": plan.shards, "DP_COPIES": plan.copies, "EP": plan.ep, "CP": plan.cp,
            "DP_EP": plan.expert_shards, "PP": plan.pp}[kind]
