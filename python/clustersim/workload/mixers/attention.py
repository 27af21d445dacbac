# SPDX-License-Identifier: GPL-2.0-only
"""Attention of heads to keys and values of all earlier tokens, of those in a window, or of those that an indexer
chooses."""
from collections.abc import Iterator
from typing import ClassVar, Optional, Tuple, TYPE_CHECKING

from clustersim.workload.mixers import indexer
from clustersim.workload.model.mixer import LayerKind, Mixer, Served, Serving, register
from clustersim.workload.model.operator import ELEMENT, Heads, Operator, matmul, norm
from clustersim.workload.model.reach import Chosen, Chunks, Reach

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.parallel import Parallelism


def attended(model: "Model", plan: "Parallelism", has_window: bool) -> float:
    """@return pairs of a token and one that it attends to in a sequence, which may hold several documents"""
    return plan.documents * model.attended(plan.document_tokens, has_window)


class AnyAttention(Mixer, frozen=True):
    """Attention by the sizes of a model: heads, groups of heads that share keys and values, and their columns. Kinds of
    attention differ from it."""
    block = "attention"
    beside = {"column": ("qkv", "query", "query_up", "key_value_up"), "row": ("projection",)}
    is_latent: ClassVar[bool] = False

    # -- widths

    def query_width(self, model: "Model") -> int:
        """@return columns of all heads' queries"""
        return model.heads * self.head_dims(model)[0]

    def value_width(self, model: "Model") -> int:
        """@return columns of all heads' results"""
        return model.heads * self.head_dims(model)[1]

    def head_dims(self, model: "Model") -> Tuple[int, int]:
        """@return columns of a head's keys and values"""
        return model.head_dim, model.value_size

    def key_columns(self, model: "Model", tp: int) -> int:
        """@return columns of a rank's keys"""
        return max(model.kv_heads // tp, 1) * model.head_dim

    def kept_columns(self, model: "Model", tp: int) -> int:
        """@return columns of a rank's keys and values that backward needs"""
        return 2 * self.key_columns(model, tp)

    def chosen_dims(self, model: "Model") -> Tuple[int, int]:
        """@return columns of a token's keys and values, as attention to chosen tokens reads them"""
        return self.head_dims(model)

    def indexer_rank(self, model: "Model") -> int:
        """@return columns of the queries that an indexer reads"""
        return model.hidden

    # -- training

    def operators(self, model: "Model", plan: "Parallelism", kind: LayerKind) -> Iterator[Operator]:
        yield norm("input_norm", model, plan.local_tokens)
        yield from self.inward(model, plan)
        if model.sparse and model.indexer != "none":
            if model.indexer == "own":
                yield from indexer.operators(model, plan, self.indexer_rank(model), plan.document_tokens)
            yield indexer.attention(model, plan, *self.chosen_dims(model),
                                    plan.documents * model.attended_of(plan.document_tokens, model.sparse.top))
        else:
            yield self.core(model, plan, kind.windowed)
        yield from self.outward(model, plan)

    def inward(self, model: "Model", plan: "Parallelism") -> Iterator[Operator]:
        """@return products that make a rank's queries, keys and values of a layer's input"""
        h, query = model.hidden, self.query_width(model) // plan.tp
        keys, values = (max(width // plan.tp, min(width, size)) for width,
                        size in zip(model.key_value_widths, (model.head_dim, model.value_size)))
        gate = self.value_width(model) // plan.tp if model.output_gate else 0
        norms = self._norms(model, query, keys)
        kept = ELEMENT * plan.input_tokens * h
        if model.query_rank:
            yield matmul("query_down", plan.local_tokens, model.query_rank, h, bias=model.query_rank, kept=0,
                         is_local=True, after_norm=True)
            yield matmul("query_up", plan.tokens, query, model.query_rank)
            yield matmul("key_value", plan.tokens, keys + values + gate, h, bias=norms, kept=kept, after_norm=True)
        else:
            width = query + gate + keys + values
            bias = width if model.bias or model.qkv_bias else 0
            yield matmul("qkv", plan.tokens, width, h, bias=bias + norms, kept=kept, after_norm=True, keeps_norm=True)

    def _norms(self, model: "Model", query: int, keys: int) -> int:
        """@return parameters of the norms of so many columns of queries and keys"""
        if model.qk_norm_whole:
            return query + keys
        return 2 * model.head_dim if model.qk_norm else 0

    def heads(self, model: "Model", plan: "Parallelism", has_window: bool) -> Heads:
        """@return the arguments of a rank's kernel"""
        count = model.heads // plan.tp
        return Heads(plan.micro_batch, max(plan.sequence // plan.cp, 1), count,
                     count if self.is_latent else max(model.kv_heads // plan.tp, 1),
                     *self.head_dims(model), model.window if has_window else 0, plan.sequence)

    def core(self, model: "Model", plan: "Parallelism", has_window: bool) -> Operator:
        """@return attention itself, of queries to keys and of the scores to values"""
        tokens, query, value = plan.tokens, self.query_width(model) // plan.tp, self.value_width(model) // plan.tp
        scores = plan.micro_batch * attended(model, plan, has_window) / plan.cp
        return Operator("attention", "attention", ELEMENT * tokens * (query + self.key_columns(model, plan.tp)
            + 2 * value),
                        2 * scores * (query + value),
                        kept=ELEMENT * tokens * (query + self.kept_columns(model, plan.tp)),
                        heads=self.heads(model, plan, has_window))

    def outward(self, model: "Model", plan: "Parallelism") -> Iterator[Operator]:
        """@return the gate and the product that follow attention"""
        value = self.value_width(model) // plan.tp
        if model.output_gate:
            yield Operator("output_gate", "memory", ELEMENT * plan.tokens * 3 * value,
                           kept=ELEMENT * plan.tokens * 2 * value)
        yield matmul("projection", plan.tokens, model.hidden, value, bias=model.hidden if model.bias else 0)

    def context_columns(self, model: "Model", plan: "Parallelism") -> Optional[int]:
        return max(model.kv_heads // plan.tp, 1) * (model.head_dim + model.value_size)

    def parameters(self, model: "Model", kind: LayerKind) -> int:
        h, (keys, values) = model.hidden, model.key_value_widths
        gate, query = self.value_width(model) if model.output_gate else 0, self.query_width(model)
        biases = (h if model.bias else 0) + (query + gate + keys + values if model.bias or model.qkv_bias else 0)
        queries = model.query_rank * (h + 1 + query) if model.query_rank else h * query
        norms = self._norms(model, query, keys)
        return queries + h * (gate + keys
                              + values) + self.value_width(model) * h + biases + norms + self.indexer_parameters(model)

    def indexer_parameters(self, model: "Model") -> int:
        """@return those of the layer's own indexer"""
        return indexer.parameters(model, self.indexer_rank(model)) if model.sparse and model.indexer == "own" else 0

    # -- serving

    def cached_heads(self, model: "Model") -> int:
        return model.kv_heads

    def cached(self, model: "Model", tp: int, element: int) -> float:
        if model.borrows_keys:
            return 0
        return max(model.kv_heads // tp, 1) * element * (model.head_dim + model.value_size) + self.cached_index(model,
            element)

    def cached_index(self, model: "Model", element: int) -> int:
        """@return bytes that the layer's own indexer caches for each token"""
        return element * model.sparse.head_dim if model.sparse and model.indexer == "own" else 0

    def token_bytes(self, model: "Model", kind: LayerKind, tp: int, element: int) -> float:
        return self.cached(model, tp, element)

    def served(self, model: "Model", kind: LayerKind, operator: Operator, serving: Serving) -> Optional[Served]:
        if operator.name == indexer.SCORES:
            return indexer.served_scores(model, serving.element, kind.variant or 1)
        return self.served_core(model, kind, serving) if operator.kind == "attention" else self.served_chosen(model,
            kind, serving)

    def served_core(self, model: "Model", kind: LayerKind, serving: Serving) -> Served:
        """@return attention to all tokens, or to those of a window; caches keep all tokens of layers whose attention
        has chunks"""
        tp, element, cached = serving.tp, serving.element, self.cached(model, serving.tp, serving.element)
        columns = self.query_width(model) // tp + self.value_width(model) // tp
        # Layers that borrow keys and values read as many as others.
        read = cached or self.cached(model.copy(update={"borrows_keys": False}), tp, element)
        has_chunks = kind.windowed and model.window_is_chunk
        return Served(2 * columns, read, ELEMENT * columns + cached,
                      kind.windowed and not has_chunks and model.window > 0,
                      Chunks.of_requests(model.window, serving.lengths) if has_chunks else None,
                      self.heads(model, serving.plan, kind.windowed), self.latent_columns())

    def latent_columns(self) -> int:
        """@return columns of a token in a cache of latents; 0: it has keys and values"""
        return 0

    def served_chosen(self, model: "Model", kind: LayerKind, serving: Serving) -> Served:
        """@return attention to some tokens, whose keys every head reads"""
        heads, columns = model.heads // serving.tp, sum(self.chosen_dims(model))
        return Served(2 * heads * columns, serving.element * self.chosen_columns(model, serving.tp),
                      ELEMENT * heads * columns, reach=self.reach(model, kind))

    def chosen_columns(self, model: "Model", tp: int) -> int:
        """@return columns of a chosen token that a rank reads"""
        return max(model.kv_heads // tp, 1) * sum(self.chosen_dims(model))

    def reach(self, model: "Model", kind: LayerKind) -> Reach:
        """@return which tokens are chosen"""
        return Chosen(indexer.sizes(model).top)


@register
class Attention(AnyAttention, frozen=True):
    """With nothing of its own."""
    name = "attention"
    letter = "*"
    has_window = True
    layer_types = ("full_attention", "global_attention", "global", "G", "attention", "deepseek_sparse_attention")
    windowed_types = ("sliding_attention", "sliding_window_attention", "local", "L", "chunked_attention")
