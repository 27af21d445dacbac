# SPDX-License-Identifier: GPL-2.0-only
"""What a rank computes for one micro-batch: operators with their work, weights, and what they keep for backward.

Activations are bfloat16. What is kept follows Korthikanti et al., Reducing Activation Recomputation in Large Transformer
Models (arXiv 2205.05198), for attention that does not store its scores.
"""
import dataclasses
import functools
from typing import Optional, Tuple

from clustersim.workload import adapters

ELEMENT = 2  # bytes of a bfloat16


# Products that training and inference leave in bfloat16 when others have 8-bit or 4-bit factors.
ALWAYS_BFLOAT16 = {"logits", "router", "shared_gate"}


@dataclasses.dataclass(frozen=True)
class Heads:
    """What a rank's kernel of fused, causal attention is called with. Widths are in elements."""
    sequences: int
    tokens: int  # queries of a sequence on this rank
    heads: int
    kv_heads: int
    head_dim: int  # of queries and keys
    value_dim: int
    window: int = 0  # tokens that a token attends to at most; 0: all before it


@dataclasses.dataclass(frozen=True)
class Operator:
    """One kernel, or a few of the same kind. All figures are of one rank and one micro-batch."""
    name: str
    kind: str  # matmul, attention, memory, or fused: products and what is between them, as a scan of chunks
    bytes: float  # that it reads and writes, forward
    flops: float = 0.0  # forward
    shape: Tuple[int, int, int, int] = (0, 0, 0, 1)  # of products: m, n, k and how many, of experts one each
    parameters: int = 0
    kept: float = 0.0  # bytes that backward needs
    heads: Optional[Heads] = None  # of attention
    precision: str = ""  # of a product's factors; "": the GPU's


def _matmul(name, m, n, k, count=1, bias=0, kept=None):
    m = max(m, 1)
    return Operator(name, "matmul", ELEMENT * count * (m * k + k * n + m * n), 2.0 * m * n * k * count, (m, n, k, count),
                    count * k * n + bias, ELEMENT * m * k * count if kept is None else kept,
                    precision="bfloat16" if name in ALWAYS_BFLOAT16 else "")


def _norm(name, model, tokens):
    moved = ELEMENT * tokens * model.hidden
    # Two reads and two writes: the residual stream is updated in the same kernel.
    return Operator(name, "memory", 4 * moved, parameters=model.norm_parameters, kept=moved)


def _heads(model, plan, has_window):
    heads, latent = model.heads // plan.tp, model.latent
    return Heads(plan.micro_batch, max(plan.sequence // plan.cp, 1), heads,
                 heads if latent else max(model.kv_heads // plan.tp, 1),
                 latent.nope_dim + latent.rope_dim if latent else model.head_dim,
                 latent.value_dim if latent else model.head_dim, model.window if has_window else 0)


def attention(model, plan, has_window=False):
    """@return operators of a layer's attention, in their order"""
    h, tokens, local = model.hidden, plan.tokens, plan.local_tokens
    heads = model.heads // plan.tp
    query, value = model.query_width // plan.tp, model.value_width // plan.tp
    yield _norm("input_norm", model, local)
    if model.latent:
        a = model.latent
        keys, cached = query, heads * (a.nope_dim + a.value_dim)
        if a.q_rank:
            yield _matmul("query_down", local, a.q_rank, h, bias=a.q_rank, kept=0)
            yield _matmul("query_up", tokens, query, a.q_rank)
        else:
            yield _matmul("query", tokens, query, h, kept=0)
        yield _matmul("key_value_down", local, a.kv_rank + a.rope_dim, h, bias=a.kv_rank)
        yield _matmul("key_value_up", tokens, cached, a.kv_rank)
    else:
        keys = value_of_kv = max(model.kv_heads // plan.tp, 1) * model.head_dim
        width = query + keys + value_of_kv
        biases = (width if model.bias or model.qkv_bias else 0) + (2 * model.head_dim if model.qk_norm else 0)
        kept = ELEMENT * plan.input_tokens * h
        yield _matmul("qkv", tokens, width, h, bias=biases, kept=kept)
    scores = plan.micro_batch * attended(model, plan, has_window) / plan.cp
    kept_kv = query + value if model.latent else 2 * keys
    yield Operator("attention", "attention", ELEMENT * tokens * (query + keys + 2 * value), 2 * scores * (query + value),
                   kept=ELEMENT * tokens * (query + kept_kv), heads=_heads(model, plan, has_window))
    yield _matmul("projection", tokens, h, value, bias=h if model.bias else 0)


def attended(model, plan, has_window):
    """@return pairs of a token and one that it attends to in a sequence, which may hold several documents"""
    document = plan.document or plan.sequence
    return plan.sequence // document * model.attended(document, has_window)


def _mlp(model, plan, prefix, width, tokens, count=1, kept_input=True):
    inward = 2 if model.gated else 1
    bias = count * inward * width if model.bias else 0
    kept = ELEMENT * (plan.input_tokens * model.hidden if kept_input else tokens * count * model.hidden)
    activated = inward + (model.gated and plan.keeping.activated_gate)
    yield _matmul(prefix + "up", tokens, inward * width, model.hidden, count, bias, kept)
    yield Operator(prefix + "activation", "memory", ELEMENT * tokens * count * (inward + 1) * width,
                   kept=ELEMENT * tokens * count * activated * width)
    yield _matmul(prefix + "down", tokens, model.hidden, width, count, count * model.hidden if model.bias else 0)


def dense_mlp(model, plan):
    yield _norm("post_norm", model, plan.local_tokens)
    yield from _mlp(model, plan, "mlp_", model.ffn // plan.tp, plan.tokens)


def router(model, plan):
    yield _norm("post_norm", model, plan.local_tokens)
    yield _matmul("router", plan.local_tokens, model.experts, model.hidden,
                  bias=model.experts if model.router_bias else 0, kept=0)
    if model.shared_gate:
        yield _matmul("shared_gate", plan.local_tokens, 1, model.hidden, kept=0)


def permute(name, model, plan):
    """Moves tokens into the order of their experts, or back."""
    moved = ELEMENT * plan.local_tokens * model.experts_per_token * model.hidden
    return Operator(name, "memory", 2 * moved)


def experts(model, plan):
    """The routed experts of a rank, each with its fair share of the tokens."""
    local = model.experts // plan.ep
    # Tokens of all ranks that exchange, times the experts of each, over all experts. Sequence parallelism cuts tokens.
    tokens = plan.local_tokens * plan.expert_tp if plan.sequence_parallel else plan.tokens
    arriving = tokens * plan.ep * model.experts_per_token // model.experts
    yield from _mlp(model, plan, "expert_", model.expert_ffn // plan.expert_tp, max(arriving, 1), local, kept_input=False)


def shared_experts(model, plan):
    yield from _mlp(model, plan, "shared_", model.shared_ffn // plan.tp, plan.tokens)


def vocabulary_part(model, plan):
    """@return words that a rank holds"""
    return -(-model.vocabulary // plan.tp)


def embedding(model, plan):
    moved = ELEMENT * plan.tokens * model.hidden
    return [Operator("embedding", "memory", 2 * moved,
                     parameters=(vocabulary_part(model, plan) + model.positions) * model.hidden)]


def head(model, plan, owns_weights=True):
    """The last norm, the logits and the loss."""
    columns = vocabulary_part(model, plan)
    yield _norm("final_norm", model, plan.local_tokens)
    logits = _matmul("logits", plan.tokens, columns, model.hidden, kept=ELEMENT * plan.input_tokens * model.hidden)
    yield logits if owns_weights else dataclasses.replace(logits, parameters=0)
    yield Operator("loss", "memory", 3 * 4 * plan.tokens * columns, kept=plan.keeping.logit * plan.tokens * columns)


@functools.lru_cache(4096)
def _layer(model, plan, kind):
    every = [*attention(model, plan, kind.windowed)]
    if not kind.experts:
        return (*every, *dense_mlp(model, plan))
    every += [*router(model, plan), permute("dispatch", model, plan), *experts(model, plan), permute("combine", model, plan)]
    return (*every, *(shared_experts(model, plan) if model.shared_ffn else ()))


def with_adapters(plan, every):
    """@return the operators, each that has an adapter followed by the adapter's two"""
    targets = plan.adapters.operators if plan.adapters else ()
    found = []
    for operator in every:
        found.append(operator)
        if operator.name in targets:
            m, n, k, count = operator.shape
            rank = plan.adapters.rank
            # Both products read one input, which the frozen one keeps.
            found += [_matmul(operator.name + adapters.INWARD, m, rank, k, count, kept=0),
                      _matmul(operator.name + adapters.OUTWARD, m, n, rank, count)]
    return tuple(found)


def layer(model, plan, index):
    """@return every operator of transformer layer `index`"""
    return with_adapters(plan, _layer(model, plan, model.layer_kind(index)))
