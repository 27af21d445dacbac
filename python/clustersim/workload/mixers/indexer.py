# SPDX-License-Identifier: GPL-2.0-only
"""Attention to the tokens that an indexer of its own heads chooses (DeepSeek-V3.2, arXiv 2512.02556), for the kinds of
attention that have one."""
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clustersim.workload.model.mixer import Served
from clustersim.workload.model.operator import ELEMENT, Operator, matmul

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model, SparseAttention
    from clustersim.workload.plan.parallel import Parallelism

SCORES, KERNEL = "index_scores", "sparse"


def sizes(model: "Model") -> "SparseAttention":
    """@return the sizes of the model's indexer"""
    assert model.sparse
    return model.sparse


def parameters(model: "Model", q_rank: int) -> int:
    """Its queries come from those that attention compresses, its keys and the weights of its heads from the input."""
    i = sizes(model)
    return q_rank * i.heads * i.head_dim + model.hidden * (i.head_dim + i.heads)


def operators(model: "Model", plan: "Parallelism", q_rank: int, entries: int) -> Iterator[Operator]:
    """@return scores of a document's earlier entries for each token, of which the highest are chosen. Every rank of a
    TP group computes them"""
    i, tokens = sizes(model), plan.tokens
    yield matmul("index_query", tokens, i.heads * i.head_dim, q_rank, kept=0)
    yield matmul("index_key", tokens, i.head_dim, model.hidden, kept=0)
    yield matmul("index_weights", tokens, i.heads, model.hidden, kept=0)
    pairs = plan.micro_batch * plan.sequence * entries / 2 / plan.cp
    moved = ELEMENT * tokens * i.head_dim * (i.heads + 1) + 4 * tokens * min(i.top, entries)
    yield Operator(SCORES, "fused", moved, 2 * pairs * i.heads * i.head_dim, kept=moved, kernel=KERNEL)


def attention(model: "Model", plan: "Parallelism", key_dim: int, value_dim: int, pairs: float) -> Operator:
    """@return attention of every head to the keys of one, whose first columns are values"""
    heads, tokens = model.heads // plan.tp, plan.tokens
    columns = heads * (key_dim + value_dim) + key_dim
    flops = 2 * plan.micro_batch * pairs / plan.cp * heads * (key_dim + value_dim)
    return Operator("attention", "fused", ELEMENT * tokens * columns, flops,
                    kept=ELEMENT * tokens * (heads * key_dim + key_dim), kernel=KERNEL)


def served_scores(model: "Model", element: int, ratio: int) -> Served:
    """@return the scores of a token's entries, one for `ratio` tokens each"""
    i = sizes(model)
    return Served(2 * i.heads * i.head_dim / ratio, element * i.head_dim / ratio, ELEMENT * i.head_dim * (i.heads + 1))
