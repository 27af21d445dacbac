# SPDX-License-Identifier: GPL-2.0-only
"""A decoder-only transformer: its shape, and how many parameters that makes."""
from typing import Literal, NamedTuple, Optional, Tuple

from pydantic import BaseModel, Extra, NonNegativeInt, PositiveInt, root_validator


class LatentAttention(BaseModel, extra=Extra.forbid, frozen=True):
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): keys and values come from a small latent."""
    q_rank: NonNegativeInt = 0  # 0: queries are not compressed
    kv_rank: PositiveInt
    nope_dim: PositiveInt
    rope_dim: PositiveInt
    value_dim: PositiveInt


class LayerKind(NamedTuple):
    """Layers of one kind have the same operators."""
    experts: bool
    windowed: bool


class Model(BaseModel, extra=Extra.forbid, frozen=True):
    """Sizes are numbers of elements; `layers` are transformer layers."""
    name: str
    layers: PositiveInt
    hidden: PositiveInt
    heads: PositiveInt
    kv_heads: PositiveInt
    head_dim: PositiveInt
    ffn: PositiveInt  # of a dense layer
    vocabulary: PositiveInt
    positions: NonNegativeInt = 0  # learned positions; 0 for rotary ones
    gated: bool = True  # SwiGLU and its like: three matrices instead of two
    norm: Literal["rms", "layer"] = "rms"
    bias: bool = False  # of every linear layer
    qkv_bias: bool = False
    qk_norm: bool = False  # a norm of each head's queries and keys
    tied: bool = False  # the output layer shares the embedding's weights
    latent: Optional[LatentAttention] = None
    experts: NonNegativeInt = 0  # routed; 0: every layer is dense
    experts_per_token: NonNegativeInt = 0
    expert_ffn: NonNegativeInt = 0
    shared_ffn: NonNegativeInt = 0  # of all shared experts together
    shared_gate: bool = False
    router_bias: bool = False
    dense_layers: NonNegativeInt = 0  # the first ones
    moe_every: PositiveInt = 1  # of the layers after those, each n-th has experts
    predictions: NonNegativeInt = 0  # layers that predict further tokens (multi-token prediction)
    window: NonNegativeInt = 0  # tokens that a token attends to at most, in layers with a window; 0: there are none
    window_is_chunk: bool = False  # of chunks of so many tokens each attends to its own, as in Llama 4
    windowed: Tuple[bool, ...] = (True,)  # which layers have the window; repeated

    @root_validator(skip_on_failure=True)
    def _agrees(cls, values):
        if values["experts"]:
            for key in ("experts_per_token", "expert_ffn"):
                if not values[key]:
                    raise ValueError(f"{key} is 0, but there are {values['experts']} experts")
            if values["experts_per_token"] > values["experts"]:
                raise ValueError(f"a token goes to {values['experts_per_token']} of {values['experts']} experts")
        if not values["windowed"]:
            raise ValueError("windowed is empty")
        if values["heads"] % values["kv_heads"]:
            raise ValueError(f"{values['kv_heads']} key-value heads do not divide {values['heads']} heads")
        return values

    def has_experts(self, layer):
        """@return whether layer `layer`, from 0, has experts"""
        after = layer - self.dense_layers
        return bool(self.experts) and after >= 0 and (after + 1) % self.moe_every == 0

    def layer_kind(self, layer):
        """@return all that tells layer `layer` from others"""
        return LayerKind(self.has_experts(layer), self.has_window(layer))

    def has_window(self, layer):
        return bool(self.window) and self.windowed[layer % len(self.windowed)]

    def attended(self, tokens, has_window):
        """@return pairs of a token and one that it attends to in a sequence of so many tokens: half of all, or those of windows"""
        window = min(self.window, tokens) if has_window else tokens
        if self.window_is_chunk and has_window:
            whole, rest = divmod(tokens, window)
            return (whole * window ** 2 + rest ** 2) / 2
        return tokens * window - window ** 2 / 2

    @property
    def moe_layers(self):
        return sum(self.has_experts(layer) for layer in range(self.layers))

    @property
    def query_width(self):
        return self.heads * (self.latent.nope_dim + self.latent.rope_dim if self.latent else self.head_dim)

    @property
    def value_width(self):
        return self.heads * (self.latent.value_dim if self.latent else self.head_dim)

    @property
    def norm_parameters(self):
        return self.hidden * (2 if self.norm == "layer" else 1)

    def attention_parameters(self):
        h = self.hidden
        biases = h if self.bias else 0
        if self.latent:
            a = self.latent
            queries = h * a.q_rank + a.q_rank + a.q_rank * self.query_width if a.q_rank else h * self.query_width
            keys = h * (a.kv_rank + a.rope_dim) + a.kv_rank + a.kv_rank * self.heads * (a.nope_dim + a.value_dim)
            return queries + keys + self.value_width * h + biases
        qkv = (self.heads + 2 * self.kv_heads) * self.head_dim
        biases += qkv if self.bias or self.qkv_bias else 0
        return h * qkv + self.value_width * h + biases + (2 * self.head_dim if self.qk_norm else 0)

    def mlp_parameters(self, ffn):
        inward = 2 if self.gated else 1
        return self.hidden * ffn * (inward + 1) + (inward * ffn + self.hidden if self.bias else 0)

    def expert_parameters(self):
        """Of the routed experts of one layer."""
        return self.experts * self.mlp_parameters(self.expert_ffn)

    def layer_parameters(self, layer):
        common = self.attention_parameters() + 2 * self.norm_parameters
        if not self.has_experts(layer):
            return common + self.mlp_parameters(self.ffn)
        router = self.experts * (self.hidden + (1 if self.router_bias else 0))
        shared = self.mlp_parameters(self.shared_ffn) if self.shared_ffn else 0
        return common + router + self.expert_parameters() + shared + (self.hidden if self.shared_gate else 0)

    def parameters(self):
        embedding = (self.vocabulary + self.positions) * self.hidden
        head = 0 if self.tied else self.vocabulary * self.hidden
        return embedding + head + self.norm_parameters + sum(map(self.layer_parameters, range(self.layers)))

    def active_parameters(self):
        """What one token passes through, without the embedding."""
        idle = self.moe_layers * (self.experts - self.experts_per_token) * self.mlp_parameters(self.expert_ffn)
        unused = (self.vocabulary + self.positions) * self.hidden
        return self.parameters() - (idle if self.experts else 0) - (0 if self.tied else unused)
