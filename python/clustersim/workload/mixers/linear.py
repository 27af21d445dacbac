# SPDX-License-Identifier: GPL-2.0-only
"""Linear attention, which keeps a state instead of keys and values."""
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clustersim.workload.model.mixer import Keys, LayerKind, Mixer, register
from clustersim.workload.model.operator import ELEMENT, STATE, Operator, convolution, matmul, norm
from clustersim.workload.model.whole import NonNegativeInt, PositiveInt

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.parallel import Parallelism

LIGHTNING = ("minimax", "bailing")  # families with lightning attention


@register
class LinearAttention(Mixer, frozen=True):
    """A gated delta network (Yang et al., arXiv 2412.06464), as in Qwen3-Next; Kimi's delta attention (arXiv
    2510.26692), whose decays are those of channels; or lightning attention (arXiv 2501.08313), without convolution,
    decay and delta rule."""
    name = "linear"
    block = "delta"
    title = "linear attention"
    layer_types = ("linear_attention", "lightning_attention")
    families = ("rwkv7",)

    key_heads: PositiveInt
    key_dim: PositiveInt
    value_heads: PositiveInt
    value_dim: PositiveInt
    conv: NonNegativeInt = 4
    chunk: PositiveInt = 64
    scalars: NonNegativeInt = 2  # that the input gives a head: decay and strength
    gate_rank: NonNegativeInt = 0  # of the product that gates the result; 0: a full one
    decay_rank: NonNegativeInt = 0  # of the product that gives channels their decay; 0: there is none
    has_delta: bool = True

    @property
    def keys(self) -> int:
        return self.key_heads * self.key_dim

    @property
    def values(self) -> int:
        return self.value_heads * self.value_dim

    @property
    def convolved(self) -> int:
        return 2 * self.keys + self.values

    @property
    def inward(self) -> int:
        """Columns of the product that reads the layer's input."""
        return self.convolved + (self.gate_rank or self.values) + self.decay_rank + self.scalars * self.value_heads

    def split_heads(self) -> int:
        return self.key_heads

    def operators(self, model: "Model", plan: "Parallelism", kind: LayerKind) -> Iterator[Operator]:
        """A gated delta network in chunks of C tokens (arXiv 2412.06464, section 3.3): for each head and token the
        products of a chunk's keys with each other (2 C K), the inverse of that triangle (C C), what it makes of keys
        and values (2 C K + 2 C V), queries with keys and their sum of values (2 C K + 2 C V), and three products with
        the state (6 K V)."""
        tokens, heads = plan.tokens, self.value_heads // plan.tp
        values, convolved = heads * self.value_dim, self.convolved // plan.tp
        yield norm("input_norm", model, plan.local_tokens)
        gate, scalars = self.gate_rank or values, self.scalars * heads
        yield matmul("delta_in", tokens, convolved + gate + self.decay_rank + scalars, model.hidden,
                     kept=ELEMENT * plan.input_tokens * model.hidden, keeps_norm=True)
        if self.gate_rank:
            yield matmul("delta_gate", tokens, values, self.gate_rank)
        if self.decay_rank:
            yield matmul("delta_decay", tokens, self.keys // plan.tp, self.decay_rank)
        if self.conv:
            yield convolution("delta_conv", tokens, convolved, self.conv, kernel="conv")
        states = 4 * tokens / self.chunk * values * self.key_dim  # float32
        decays = self.keys // plan.tp if self.decay_rank else 0
        yield Operator("delta_scan", "fused", ELEMENT * tokens * (convolved + values + scalars + decays) + 2 * states,
                       tokens * heads * self._flops(),
                       parameters=2 * heads, kept=ELEMENT * tokens * (convolved + scalars + decays) + states,
                       kernel="delta_scan")
        yield Operator("delta_norm", "memory", ELEMENT * 3 * tokens * values, parameters=self.value_dim,
                       kept=ELEMENT * 2 * tokens * values)
        yield matmul("delta_out", tokens, model.hidden, values)

    def _flops(self) -> int:
        """@return operations of a token and a head"""
        chunk, key, value = self.chunk, self.key_dim, self.value_dim
        if not self.has_delta:  # queries with keys, their sum of values, and two products with the state
            return chunk * (2 * key + 2 * value) + 4 * key * value
        return chunk * (6 * key + 4 * value + chunk) + 6 * key * value

    def parameters(self, model: "Model", kind: LayerKind) -> int:
        ranks = self.gate_rank * self.values + self.decay_rank * self.keys
        own = ranks + self.conv * self.convolved + 2 * self.value_heads + self.value_dim
        return model.hidden * self.inward + own + self.values * model.hidden

    def state_bytes(self, model: "Model", kind: LayerKind, tp: int, element: int) -> float:
        return (STATE * self.values * self.key_dim + ELEMENT * max(self.conv - 1, 0) * self.convolved) / tp

    @classmethod
    def is_all(cls, keys: Keys, family: str) -> bool:
        return family in cls.families

    @classmethod
    def read(cls, keys: Keys, family: str, layers: int) -> "LinearAttention":
        delta = keys.get("linear_attn_config")
        if isinstance(delta, dict):  # Kimi's
            heads, dim = delta["num_heads"], delta["head_dim"]
            return cls(key_heads=heads, key_dim=dim, value_heads=heads, value_dim=dim,
                       conv=delta.get("short_conv_kernel_size", 4), scalars=1,
                       gate_rank=0 if delta.get("use_full_rank_gate") else dim, decay_rank=dim)
        keys.only("linear_use_gate", True)
        if family == "rwkv7":  # arXiv 2503.14456
            dim = keys.get("head_dim", default=64)
            heads = keys.need("hidden_size") // dim
            ranks = [keys.get(f"{name}_low_rank_dim", default=default) for name,
                     default in (("decay", 64), ("a", 64), ("v", 32))]
            return cls(key_heads=heads, key_dim=dim, value_heads=heads, value_dim=dim, conv=0, scalars=0,
                       gate_rank=keys.get("gate_low_rank_dim", default=128), decay_rank=sum(ranks))
        if not family.startswith(LIGHTNING):
            return cls(key_heads=keys.need("linear_num_key_heads"), key_dim=keys.need("linear_key_head_dim"),
                       value_heads=keys.need("linear_num_value_heads"), value_dim=keys.need("linear_value_head_dim"),
                       conv=keys.get("linear_conv_kernel_dim", default=4))
        heads = keys.need("num_attention_heads")
        keys.only("num_kv_heads_for_linear_attn", heads)
        dim = keys.get("head_dim", default=keys.need("hidden_size") // heads)
        return cls(key_heads=heads, key_dim=dim, value_heads=heads, value_dim=dim, conv=0,
                   chunk=keys.get("block_size", default=256), scalars=0, has_delta=False)
