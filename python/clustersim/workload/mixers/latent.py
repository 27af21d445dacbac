# SPDX-License-Identifier: GPL-2.0-only
"""Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434)."""
from collections.abc import Iterator
from typing import Any, Optional, Tuple, TYPE_CHECKING

from clustersim.workload.mixers.attention import AnyAttention
from clustersim.workload.model.mixer import Keys, LayerKind, register
from clustersim.workload.model.operator import Operator, matmul
from clustersim.workload.model.whole import NonNegativeInt, PositiveInt

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.parallel import Parallelism


@register
class LatentAttention(AnyAttention, frozen=True):
    """Keys and values come from a small latent, which is all that serving keeps of a token."""
    name = "latent"
    stands_for = "attention"
    has_window = True
    is_latent = True
    recomputed = ("mla_up_proj",)
    flags = {"--q_lora_rank": "q_rank", "--kv_lora_rank": "kv_rank", "--qk_nope_dim": "nope_dim",
             "--qk_rope_dim": "rope_dim", "--v_head_dim": "value_dim"}
    replaced_flags = {"head_dim": "latent attention has sizes of its own (--qk_head_dim, --v_head_dim)"}
    config_keys = ("q_lora_rank", "qk_head_dim", "v_head_dim")

    q_rank: NonNegativeInt = 0  # 0: queries are not compressed
    kv_rank: PositiveInt
    nope_dim: PositiveInt
    rope_dim: PositiveInt
    value_dim: PositiveInt

    def head_dims(self, model: "Model") -> Tuple[int, int]:
        return self.nope_dim + self.rope_dim, self.value_dim

    def key_columns(self, model: "Model", tp: int) -> int:
        return self.query_width(model) // tp

    def kept_columns(self, model: "Model", tp: int) -> int:
        return self.query_width(model) // tp + self.value_width(model) // tp

    def chosen_dims(self, model: "Model") -> Tuple[int, int]:
        return self.kv_rank + self.rope_dim, self.kv_rank

    def indexer_rank(self, model: "Model") -> int:
        return self.q_rank

    def inward(self, model: "Model", plan: "Parallelism") -> Iterator[Operator]:
        h, local, tokens, query = model.hidden, plan.local_tokens, plan.tokens, self.query_width(model) // plan.tp
        if self.q_rank:
            yield matmul("query_down", local, self.q_rank, h, bias=self.q_rank, kept=0, is_local=True, after_norm=True)
            yield matmul("query_up", tokens, query, self.q_rank)
        else:
            yield matmul("query", tokens, query, h, kept=0, after_norm=True)
        yield matmul("key_value_down", local, self.kv_rank + self.rope_dim, h, bias=self.kv_rank, is_local=True,
                     after_norm=True, keeps_norm=True)
        yield matmul("key_value_up", tokens, model.heads // plan.tp * (self.nope_dim + self.value_dim), self.kv_rank)
        if model.output_gate:
            yield matmul("gate", tokens, self.value_width(model) // plan.tp, h, kept=0, after_norm=True)

    def gathered(self, model: "Model") -> int:
        """Its compressed queries, keys and values, not its input."""
        return (self.q_rank or model.hidden) + self.kv_rank + self.rope_dim

    def context_columns(self, model: "Model", plan: "Parallelism") -> Optional[int]:
        if model.sparse:
            return self.kv_rank + self.rope_dim + model.sparse.head_dim
        return model.heads // plan.tp * (self.nope_dim + self.rope_dim + self.value_dim)

    def parameters(self, model: "Model", kind: LayerKind) -> int:
        h, query, value = model.hidden, self.query_width(model), self.value_width(model)
        queries = h * self.q_rank + self.q_rank + self.q_rank * query if self.q_rank else h * query
        keys = h * (self.kv_rank + self.rope_dim) + self.kv_rank + self.kv_rank * model.heads * (self.nope_dim
            + self.value_dim)
        gate = h * value if model.output_gate else 0
        return queries + keys + gate + value * h + (h if model.bias else 0) + self.indexer_parameters(model)

    def cached_heads(self, model: "Model") -> int:
        return 1  # which every rank keeps

    def cached(self, model: "Model", tp: int, element: int) -> float:
        return element * (self.kv_rank + self.rope_dim) + self.cached_index(model, element)

    def latent_columns(self) -> int:
        return self.kv_rank + self.rope_dim

    def chosen_columns(self, model: "Model", tp: int) -> int:
        return self.kv_rank + self.rope_dim

    @classmethod
    def is_attention(cls, keys: Keys) -> bool:
        return bool(keys.get("kv_lora_rank"))

    @classmethod
    def attention_fields(cls, keys: Keys, heads: int) -> Optional[dict[str, Any]]:
        if not cls.is_attention(keys):
            return None
        sizes = cls(q_rank=keys.get("q_lora_rank", default=0), kv_rank=keys.need("kv_lora_rank"),
                    nope_dim=keys.need("qk_nope_head_dim"),
                    rope_dim=keys.need("qk_rope_head_dim"), value_dim=keys.need("v_head_dim"))
        return dict(heads=heads, kv_heads=heads, head_dim=sizes.nope_dim + sizes.rope_dim, latent=sizes)
