# SPDX-License-Identifier: GPL-2.0-only
"""The computation of a rank for one micro-batch: the operators of a layer, of the embedding and of the head."""
import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from clustersim.workload.model.mixer import LayerKind, Mixer
from clustersim.workload.model.operator import ALWAYS_BFLOAT16, ELEMENT, Heads, Operator, matmul, norm
from clustersim.workload.plan import adapters

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.parallel import Parallelism
    from clustersim.workload.plan.precision import Precise

__all__ = ["ALWAYS_BFLOAT16", "ELEMENT", "Heads", "Operator", "matmul",
           "norm"]  # of operator, for who reads layers, too


def streams(name: str, model: "Model", tokens: int) -> "list[Operator]":
    """@return the operators of a block's residual streams, if there are several"""
    return [_streams(name, model, tokens)] if model.streams > 1 else []


def _streams(name: str, model: "Model", tokens: int) -> "Operator":
    """Hyper-connections: a block reads n streams and writes their mixture, then reads all and its result and writes
    all: 3 n + 2 times the width of one (arXiv 2512.24880)."""
    moved = ELEMENT * tokens * model.hidden
    return Operator(name, "memory", (3 * model.streams + 2) * moved, parameters=model.stream_parameters,
                    kept=model.streams * moved, kernel="streams", is_local=True)


def mixer_parts(model: "Model", plan: "Parallelism", kind: "LayerKind") -> "list[tuple[Mixer, list[Operator]]]":
    """@return what mixes tokens in a layer, and the operators of each part; the norm of what the parts read is of the
    first"""
    found: list[tuple[Mixer, list[Operator]]] = []
    for part in model.parts(kind):
        names = {operator.name for _, some in found for operator in some}
        found.append((part, [operator for operator in part.operators(model, plan, kind) if operator.name not in names]))
    return found


def mixer(model: "Model", plan: "Parallelism", kind: "LayerKind") -> "list[Operator]":
    """@return operators of what mixes tokens in a layer"""
    return [operator for _, some in mixer_parts(model, plan, kind) for operator in some]


def _mlp(model: "Model", plan: "Parallelism", prefix: str, width: int, tokens: int, count: int = 1,
         kept_input: bool = True, hidden: int | None = None) -> "Iterator[Operator]":
    inward, hidden = 2 if model.gated else 1, hidden or model.hidden
    bias = count * inward * width if model.bias else 0
    kept = ELEMENT * hidden * (plan.input_tokens if kept_input else tokens * count)
    activated = inward + (model.gated and plan.keeping.activated_gate)
    is_first = prefix != "expert_"
    yield matmul(prefix + "up", tokens, inward * width, hidden, count, bias, kept, after_norm=is_first,
                 keeps_norm=is_first)
    yield Operator(prefix + "activation", "memory", ELEMENT * tokens * count * (inward + 1) * width,
                   kept=ELEMENT * tokens * count * activated * width)
    yield matmul(prefix + "down", tokens, hidden, width, count, count * hidden if model.bias else 0)


def dense_mlp(model: "Model", plan: "Parallelism") -> "Iterator[Operator]":
    yield norm("post_norm", model, plan.local_tokens)
    yield from _mlp(model, plan, "mlp_", model.ffn // plan.tp, plan.tokens)
    if model.layer_inputs:  # of the layer's own embedding, which gates (Gemma 3n)
        yield matmul("mlp_input_gate", plan.tokens, model.layer_inputs // plan.tp, model.hidden)
        yield matmul("mlp_input_up", plan.tokens, model.hidden, model.layer_inputs // plan.tp)


def router(model: "Model", plan: "Parallelism") -> "Iterator[Operator]":
    yield norm("post_norm", model, plan.local_tokens)
    yield matmul("router", plan.local_tokens, model.experts, model.hidden,
                  bias=model.experts if model.router_bias else 0, kept=0, after_norm=True)
    if model.shared_gate:
        yield matmul("shared_gate", plan.local_tokens, 1, model.hidden, kept=0, after_norm=True)
    if model.expert_latent:
        yield matmul("latent_down", plan.local_tokens, model.expert_latent, model.hidden, kept=0)


def permute(name: str, model: "Model", plan: "Parallelism") -> "Operator":
    """Moves tokens into the order of their experts, or back."""
    moved = ELEMENT * plan.local_tokens * model.experts_per_token * model.expert_hidden
    return Operator(name, "memory", 2 * moved)


def experts(model: "Model", plan: "Parallelism") -> "Iterator[Operator]":
    """The routed experts of the rank that computes most of them."""
    local = plan.local_experts(model.experts)
    # Tokens of all ranks that exchange, times the experts of each, over all experts. Sequence parallelism cuts tokens.
    tokens = plan.local_tokens * plan.expert_tp if plan.sequence_parallel else plan.tokens
    arriving = int(tokens * plan.ep * model.experts_per_token
                   / model.experts * plan.exchange.computed(model.experts, plan.ep))
    yield from _mlp(model, plan, "expert_", model.expert_ffn // plan.expert_tp, max(arriving, 1), local,
                    kept_input=False, hidden=model.expert_hidden)


def latent_up(model: "Model", plan: "Parallelism") -> "Operator":
    return matmul("latent_up", plan.local_tokens, model.hidden, model.expert_latent)


def shared_experts(model: "Model", plan: "Parallelism") -> "Iterator[Operator]":
    yield from _mlp(model, plan, "shared_", model.shared_ffn // plan.tp, plan.tokens)


def vocabulary_part(model: "Model", plan: "Parallelism") -> int:
    """@return words that a rank holds"""
    return -(-model.vocabulary // plan.tp)


def embedding(model: "Model", plan: "Parallelism") -> "list[Operator]":
    """Words, and words of each layer's own embedding with the product that the layers' inputs add to it, whose time is
    left out."""
    own = model.layers * model.layer_inputs
    moved = ELEMENT * plan.tokens * (model.hidden + own)
    layers = (-(-model.layer_vocabulary // plan.tp) + model.hidden // plan.tp) * own
    return [Operator("embedding", "memory", 2 * moved,
                     parameters=(vocabulary_part(model, plan) + model.positions) * model.hidden + layers)]


def head(model: "Model", plan: "Parallelism", owns_weights: bool = True) -> Iterator[Operator]:
    """The last norm, the logits and the loss."""
    columns = vocabulary_part(model, plan)
    yield norm("final_norm", model, plan.local_tokens)
    logits = matmul("logits", plan.tokens, columns, model.hidden, kept=ELEMENT * plan.input_tokens * model.hidden,
                    after_norm=True)
    yield logits if owns_weights else dataclasses.replace(logits, parameters=0)
    yield Operator("loss", "memory", 3 * 4 * plan.tokens * columns, kept=plan.keeping.logit * plan.tokens * columns)


def _experts_of(model: "Model", plan: "Parallelism") -> "Iterator[Operator]":
    yield from router(model, plan)
    yield permute("dispatch", model, plan)
    yield from experts(model, plan)
    yield permute("combine", model, plan)
    if model.expert_latent:
        yield latent_up(model, plan)
    if model.shared_ffn:
        yield from shared_experts(model, plan)


@functools.lru_cache(4096)
def of_kind(model: "Model", plan: "Parallelism", kind: "LayerKind") -> "Sequence[Operator]":
    """@return every operator of a layer of this kind"""
    model = model.shaped(kind)
    every = mixer(model, plan, kind)
    every = (streams("mixer_streams", model, plan.local_tokens) if every else []) + every
    if kind.feeds:
        every += streams("feed_streams", model, plan.local_tokens)
        every += _experts_of(model, plan) if kind.experts else dense_mlp(model, plan)
    return tuple(_typed(plan, kind.precise, operator) for operator in with_adapters(plan, every))


def _typed(plan: "Parallelism", precise: bool, operator: "Operator") -> "Operator":
    """@return the operator with the type of its factors, where the plan says it"""
    kind = "bfloat16" if precise else plan.precise.of_operator(operator.name)
    if operator.kind != "matmul" or operator.precision or not kind:
        return operator
    return dataclasses.replace(operator, precision=kind)


def kinds(model: "Model", plan: "Parallelism") -> "Sequence[LayerKind]":
    """@return the kind of each layer, whose products may keep 16 bits"""
    return _kinds(model, plan.precise)


@functools.lru_cache(256)
def _kinds(model: "Model", precise: "Precise") -> "Sequence[LayerKind]":
    return tuple(model.layer_kind(index)._replace(precise=precise.has(index, model.layers))
                 for index in range(model.layers))


def prediction_kinds(model: "Model", plan: "Parallelism") -> "list[LayerKind]":
    return [kind._replace(precise=plan.precise.predictions) for kind in model.prediction_kinds()]


def prediction(model: "Model", plan: "Parallelism") -> "Iterator[Operator]":
    """The module that predicts one further token joins the last layer's output with the next token's embedding (arXiv
    2412.19437, section 2.2); its layers and a head of its own follow."""
    local = plan.local_tokens
    yield dataclasses.replace(norm("prediction_norms", model, 2 * local), parameters=2 * model.norm_parameters)
    yield _typed(plan, plan.precise.predictions, matmul("prediction_join", plan.tokens, model.hidden // plan.tp,
                                                        2 * model.hidden,
                                                         kept=ELEMENT * 2 * plan.input_tokens * model.hidden))


def prediction_head(model: "Model", plan: "Parallelism") -> "list[Operator]":
    """@return the operators of a further token's head, which has the weights of the first one, but for its norm"""
    return [operator if operator.name == "final_norm" else dataclasses.replace(operator, parameters=0)
            for operator in head(model, plan)]


def with_adapters(plan: "Parallelism", every: Iterable[Operator]) -> tuple[Operator, ...]:
    """@return the operators, each that has an adapter followed by the adapter's two"""
    if not plan.adapters:
        return tuple(every)
    targets, rank, slots = plan.adapters.operators, plan.adapters.rank, max(plan.adapters.slots, 1)
    found: list[Operator] = []
    for operator in every:
        found.append(operator)
        if operator.name in targets:
            m, n, k, count = operator.shape
            width = plan.adapters.width(operator.name)
            # Both products read one input, which the frozen one keeps.
            thin = (matmul(operator.name + adapters.INWARD, m, width, k, count, kept=0, is_local=operator.is_local),
                    matmul(operator.name + adapters.OUTWARD, m, n, rank, count, is_local=operator.is_local))
            found += [dataclasses.replace(each, parameters=slots * each.parameters) for each in thin]
    return tuple(found)


def layer(model: "Model", plan: "Parallelism", index: int) -> Sequence[Operator]:
    """@return every operator of transformer layer `index`"""
    return of_kind(model, plan, kinds(model, plan)[index])
