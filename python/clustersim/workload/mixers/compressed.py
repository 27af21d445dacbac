# SPDX-License-Identifier: GPL-2.0-only
"""DeepSeek-V4's attention: to a window, and to entries of several tokens each, all of them or those that an indexer
chooses."""
from collections.abc import Iterator, Mapping
from typing import Any, Optional, Tuple, TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.workload.mixers import indexer
from clustersim.workload.mixers.attention import AnyAttention
from clustersim.workload.model.mixer import Keys, LayerKind, register
from clustersim.workload.model.operator import ELEMENT, Operator, matmul, norm
from clustersim.workload.model.reach import Entries, Reach
from clustersim.workload.model.whole import NonNegativeInt, PositiveInt

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.parallel import Parallelism


@register
class CompressedAttention(AnyAttention, frozen=True):
    """Attention to the tokens of a window and to compressed entries of all earlier tokens.

    An entry compresses `ratio` tokens to one vector, which serves all heads as key and value. A layer's variant is its
    ratio. Entries of the ratio `indexed` overlap, so that a token is part of two, and an indexer chooses among them.
    """
    name = "compressed"
    stands_for = "attention"
    lists_layers = True

    q_rank: PositiveInt
    output_rank: PositiveInt  # of each group of heads
    output_groups: PositiveInt
    ratios: Tuple[NonNegativeInt, ...]  # of each layer; 0: the window alone
    indexed: PositiveInt = 4

    def agrees(self, fields: Mapping[str, Any]) -> None:
        if not (fields["sparse"] and fields["window"] and len(self.ratios) == fields["layers"]):
            raise ValueError("compressed attention needs sparse, window, and a ratio for each layer")

    def variant(self, layer: int) -> int:
        return self.ratios[layer]

    def _parts(self, ratio: int) -> int:
        """@return the number of compressed entries that a token is part of"""
        return 0 if not ratio else 2 if ratio == self.indexed else 1

    def operators(self, model: "Model", plan: "Parallelism", kind: LayerKind) -> Iterator[Operator]:
        h, tokens, dim, ratio, document = model.hidden, plan.tokens, model.head_dim, kind.variant, plan.document_tokens
        query, parts, sparse = self.query_width(model) // plan.tp, self._parts(ratio), indexer.sizes(model)
        yield norm("input_norm", model, plan.local_tokens)
        yield matmul("query_down", plan.local_tokens, self.q_rank, h, bias=self.q_rank, is_local=True, after_norm=True)
        yield matmul("query_up", tokens, query, self.q_rank)
        yield matmul("key_value_down", plan.local_tokens, dim, h, kept=0, is_local=True, after_norm=True,
                     keeps_norm=True)
        pairs = model.attended_of(document, model.window)
        if ratio:
            entries = max(document // ratio, 1)
            yield matmul("compress", tokens, 2 * parts * dim, h, kept=ELEMENT * tokens * 2 * parts * dim)
            if ratio == self.indexed:
                yield matmul("index_compress", tokens, (2 * parts - 1) * sparse.head_dim, h, kept=0)
                yield from indexer.operators(model, plan, self.q_rank, entries)
                pairs += ratio * model.attended_of(entries, min(sparse.top, entries))
            else:
                pairs += document * entries / 2
        yield indexer.attention(model, plan, dim, dim, plan.documents * pairs)
        groups = max(self.output_groups // plan.tp, 1)
        yield matmul("output_down", tokens, self.output_rank, query // groups, groups)
        yield matmul("projection", tokens, h, groups * self.output_rank)

    def gathered(self, model: "Model") -> int:
        """Compression and the indexer need the input itself."""
        return self.q_rank + model.head_dim + model.hidden

    def context_columns(self, model: "Model", plan: "Parallelism") -> Optional[int]:
        return model.head_dim + indexer.sizes(model).head_dim

    def parameters(self, model: "Model", kind: LayerKind) -> int:
        h, query, parts = model.hidden, self.query_width(model), self._parts(kind.variant)
        queries = h * self.q_rank + self.q_rank + self.q_rank * query
        output = query * self.output_rank + self.output_groups * self.output_rank * h
        # An entry is a gated sum of its tokens; so is one of the indexer.
        entries = 2 * parts * h * model.head_dim
        if kind.variant == self.indexed:
            entries += indexer.parameters(model, self.q_rank) + (2 * parts - 1) * h * indexer.sizes(model).head_dim
        return queries + h * model.head_dim + output + entries

    def cached_heads(self, model: "Model") -> int:
        return 1

    def token_bytes(self, model: "Model", kind: LayerKind, tp: int, element: int) -> float:
        """An entry for each `ratio` tokens, and one of the indexer."""
        if not kind.variant:
            return 0
        return element * (model.head_dim + (indexer.sizes(model).head_dim if kind.variant == self.indexed
                                            else 0)) / kind.variant

    def state_bytes(self, model: "Model", kind: LayerKind, tp: int, element: int) -> float:
        return element * model.window * model.head_dim

    def chosen_dims(self, model: "Model") -> Tuple[int, int]:
        return model.head_dim, model.head_dim

    def chosen_columns(self, model: "Model", tp: int) -> int:
        return model.head_dim

    def reach(self, model: "Model", kind: LayerKind) -> Reach:
        return Entries(model.window, kind.variant, indexer.sizes(model).top if kind.variant == self.indexed else 0)

    @classmethod
    def is_attention(cls, keys: Keys) -> bool:
        return bool(keys.get("compress_ratios"))

    @classmethod
    def attention_fields(cls, keys: Keys, heads: int) -> Optional[dict[str, Any]]:
        if not cls.is_attention(keys):
            return None
        ratios = keys.get("compress_ratios")
        layers = keys.need("num_hidden_layers", "n_layer", "num_layers")
        if not isinstance(ratios, list) or len(ratios) < layers:
            raise InputError(
                f"{keys.path}: compress_ratios are not those of {layers} layers; expected a ratio for each"
            )
        keys.get("qk_rope_head_dim", "num_hash_layers", "compress_rope_theta", "hc_sinkhorn_iters", "hc_eps",
                 "expert_dtype")
        sizes = cls(q_rank=keys.need("q_lora_rank"), output_rank=keys.need("o_lora_rank"),
                    output_groups=keys.need("o_groups"), ratios=tuple(ratios[:layers]))
        return dict(heads=heads, kv_heads=keys.get("num_key_value_heads", default=1), head_dim=keys.need("head_dim"),
                    compressed=sizes, ffn=keys.need("moe_intermediate_size"), streams=keys.get("hc_mult", default=1))
