# SPDX-License-Identifier: GPL-2.0-only
"""Which ranks are in a group: tensor parallelism innermost, the pipeline outermost (the simulators' RankLayout)."""


def group_of(plan, kind, rank):
    """@return the number of the group of `kind` that `rank` is in, and its ranks in order"""
    in_stage = plan.world_size // plan.pp
    stage, in_tp, replica = rank // in_stage, rank % plan.tp, rank % in_stage // plan.tp
    replicas = plan.replicas

    def member(other):
        return stage * in_stage + other * plan.tp + in_tp

    if kind == "TP":
        return rank // plan.tp, [rank - in_tp + other for other in range(plan.tp)]
    if kind == "DP":
        return stage * plan.tp + in_tp, [member(other) for other in range(replicas)]
    if kind in ("EP", "CP"):
        size = plan.ep if kind == "EP" else plan.cp
        first = replica // size * size
        return ((stage * (replicas // size) + replica // size) * plan.tp + in_tp,
                [member(other) for other in range(first, first + size)])
    if kind == "DP_EP":
        return ((stage * plan.ep + replica % plan.ep) * plan.tp + in_tp,
                [member(other) for other in range(replica % plan.ep, replicas, plan.ep)])
    if kind == "PP":
        return rank % in_stage, [rank % in_stage + other * in_stage for other in range(plan.pp)]
    raise ValueError(kind)


def size_of(plan, kind):
    return {"TP": plan.tp, "DP": plan.replicas, "EP": plan.ep, "CP": plan.cp, "DP_EP": plan.expert_replicas,
            "PP": plan.pp}[kind]
