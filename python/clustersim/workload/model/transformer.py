# SPDX-License-Identifier: GPL-2.0-only
"""A decoder-only transformer: its shape, and how many parameters that makes."""
import functools
from typing import Any, Literal, NamedTuple, Optional, Tuple, TYPE_CHECKING
from collections.abc import Callable, Iterator

from clustersim.pydantic_v1 import pydantic


def _whole(value) -> int:
    """pydantic would cut 1.5 to 1, and read true and "8" as numbers."""
    if isinstance(value, (bool, str)) or isinstance(value, float) and not value.is_integer():
        raise TypeError(f"{value!r:.40} is not a whole number")
    return value


if TYPE_CHECKING:
    PositiveInt = int
    NonNegativeInt = int
else:
    class _Whole:
        @classmethod
        def __get_validators__(cls) -> Iterator[Callable[..., Any]]:
            yield _whole
            yield from super().__get_validators__()

    class PositiveInt(_Whole, pydantic.PositiveInt):
        pass

    class NonNegativeInt(_Whole, pydantic.NonNegativeInt):
        pass


class LatentAttention(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): keys and values come from a small latent."""
    q_rank: NonNegativeInt = 0  # 0: queries are not compressed
    kv_rank: PositiveInt
    nope_dim: PositiveInt
    rope_dim: PositiveInt
    value_dim: PositiveInt


class StateSpace(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
    """Mamba-2 (Dao and Gu, arXiv 2405.21060), or Mamba (arXiv 2312.00752) with one channel a head."""
    heads: PositiveInt
    head_dim: PositiveInt
    groups: PositiveInt  # of heads that share what goes into and out of their states
    state: PositiveInt  # columns of a head's state
    conv: PositiveInt = 4  # tokens of the convolution
    chunk: PositiveInt = 128  # tokens that are multiplied at once
    step_rank: NonNegativeInt = 0  # of Mamba: its steps come from a product of this rank, after the convolution

    @property
    def width(self) -> int:
        return self.heads * self.head_dim

    @property
    def convolved(self) -> int:
        return self.width + (0 if self.step_rank else 2 * self.groups * self.state)

    @property
    def inward(self) -> int:
        """Columns of the product that reads the layer's input."""
        return self.width + self.convolved + (0 if self.step_rank else self.heads)


class LinearAttention(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
    """A gated delta network (Yang et al., arXiv 2412.06464), as in Qwen3-Next; Kimi's delta attention (arXiv 2510.26692), whose decays are those of
    channels; or lightning attention (arXiv 2501.08313), without convolution, decay and delta rule."""
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


class SparseAttention(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
    """Attention to the `top` tokens that an indexer of its own heads scores highest (DeepSeek-V3.2, arXiv 2512.02556)."""
    heads: PositiveInt
    head_dim: PositiveInt
    top: PositiveInt


class CompressedAttention(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
    """DeepSeek-V4's: a window, and keys that are values, too, of one head, each of `ratio` tokens. Among those of the ratio `indexed`, whose
    tokens overlap, an indexer chooses."""
    q_rank: PositiveInt
    output_rank: PositiveInt  # of each group of heads
    output_groups: PositiveInt
    ratios: Tuple[NonNegativeInt, ...]  # of each layer; 0: the window alone
    indexed: PositiveInt = 4

    def parts(self, ratio: int) -> int:
        """@return how many entries a token takes part in"""
        return 0 if not ratio else 2 if ratio == self.indexed else 1


class Shape(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
    """Sizes of layers where those of a model differ; None: the model's."""
    heads: Optional[PositiveInt]
    kv_heads: Optional[PositiveInt]
    head_dim: Optional[PositiveInt]
    value_dim: Optional[PositiveInt]
    ffn: Optional[PositiveInt]
    keys_are_values: Optional[bool]
    borrows_keys: Optional[bool]
    indexer: Optional[Literal["own", "shared", "none"]]
    feeds: Optional[bool]


class LayerKind(NamedTuple):
    """Layers of one kind have the same operators."""
    experts: bool
    windowed: bool
    mixer: str = "attention"  # of tokens: one of MIXERS, or none
    feeds: bool = True  # whether there is an MLP, or experts
    ratio: int = 0  # of compressed attention
    precise: bool = False  # whether its products keep 16 bits where others have fewer
    shape: int = -1  # which of the model's shapes it has; -1: none


MIXERS = ("attention", "compressed", "state_space", "linear", "convolution", "parallel", "none")
# Blocks of a hybrid model, each a layer of its own, in the letters of Nemotron-H.
BLOCKS = {"M": LayerKind(False, False, "state_space", False), "*": LayerKind(False, False, "attention", False),
          "-": LayerKind(False, False, "none", True), "E": LayerKind(True, False, "none", True)}


class Model(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
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
    value_dim: NonNegativeInt = 0  # 0: head_dim
    query_rank: NonNegativeInt = 0  # of queries that come from a product of this rank, without latent keys; 0: they do not
    keys_are_values: bool = False
    borrows_keys: bool = False  # keys and values are those of an earlier layer
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
    expert_latent: NonNegativeInt = 0  # width in which routed experts compute and are sent to; 0: hidden
    output_gate: bool = False  # attention's result is gated by as many columns as it has
    mixers: Tuple[Literal["attention", "state_space", "linear", "convolution", "parallel", "none"], ...] = ()  # of layers, repeated
    expert_layers: Tuple[bool, ...] = ()  # which layers have experts, repeated; empty: dense_layers and moe_every say it
    shapes: Tuple[Shape, ...] = ()
    shape_of: Tuple[NonNegativeInt, ...] = ()  # which of the shapes a layer has, repeated
    convolution: NonNegativeInt = 0  # tokens of the gated convolution that mixes tokens, as in LFM2
    layer_inputs: NonNegativeInt = 0  # columns of a second embedding for each layer (Gemma 3n)
    layer_vocabulary: NonNegativeInt = 0  # its words
    feeds: bool = True
    pattern: str = ""  # of a hybrid model, a letter of BLOCKS for each layer
    state_space: Optional[StateSpace] = None
    linear: Optional[LinearAttention] = None
    full_every: PositiveInt = 1  # of layers with linear attention, each n-th has full attention instead
    sparse: Optional[SparseAttention] = None
    indexer: Literal["own", "shared", "none"] = "own"  # of sparse attention: none attends to all tokens, shared to those of an earlier layer's
    compressed: Optional[CompressedAttention] = None
    streams: PositiveInt = 1  # residual streams, which each block mixes (hyper-connections, arXiv 2512.24880)
    predictions: NonNegativeInt = 0  # layers that predict further tokens (multi-token prediction)
    window: NonNegativeInt = 0  # tokens that a token attends to at most, in layers with a window; 0: there are none
    window_is_chunk: bool = False  # of chunks of so many tokens each attends to its own, as in Llama 4
    windowed: Tuple[bool, ...] = (True,)  # which layers have the window; repeated

    @pydantic.root_validator(skip_on_failure=True)
    def _agrees(cls, values):
        if values["experts"]:
            for key in ("experts_per_token", "expert_ffn"):
                if not values[key]:
                    raise ValueError(f"{key} is 0, but there are {values['experts']} experts")
            if values["experts_per_token"] > values["experts"]:
                raise ValueError(f"a token goes to {values['experts_per_token']} of {values['experts']} experts")
        pattern = values["pattern"]
        if pattern and (len(pattern) != values["layers"] or set(pattern) - set(BLOCKS)):
            raise ValueError(f"the pattern has {len(pattern)} letters for {values['layers']} layers, or others than {' '.join(BLOCKS)}")
        if pattern and ("M" in pattern) != bool(values["state_space"]) or ("E" in pattern and not values["experts"]):
            raise ValueError("state_space and experts do not agree with the pattern")
        if values["compressed"] and not (values["sparse"] and values["window"] and len(values["compressed"].ratios) == values["layers"]):
            raise ValueError("compressed attention needs sparse, window, and a ratio for each layer")
        if not values["windowed"]:
            raise ValueError("windowed is empty")
        for mixer, fields in (("state_space", ["state_space"]), ("parallel", ["state_space"]), ("linear", ["linear"]), ("convolution", ["convolution"])):
            if mixer in values["mixers"] and not all(values[field] for field in fields):
                raise ValueError(f"there are {mixer} layers without sizes")
        if any(index >= len(values["shapes"]) for index in values["shape_of"]):
            raise ValueError("a layer has a shape that there is not")
        for shape in (Shape(), *values["shapes"]):
            heads, kv_heads = shape.heads or values["heads"], shape.kv_heads or values["kv_heads"]
            if heads % kv_heads:
                raise ValueError(f"{kv_heads} key-value heads do not divide {heads} heads")
        return values

    def has_experts(self, layer: int) -> bool:
        """@return whether layer `layer`, from 0, has experts"""
        if self.pattern:
            return self.pattern[layer] == "E"
        if self.expert_layers:
            return self.expert_layers[layer % len(self.expert_layers)]
        after = layer - self.dense_layers
        return bool(self.experts) and after >= 0 and (after + 1) % self.moe_every == 0

    def layer_kind(self, layer: int) -> "LayerKind":
        """@return all that tells layer `layer` from others"""
        if self.pattern:
            return BLOCKS[self.pattern[layer]]
        if self.compressed:
            return LayerKind(self.has_experts(layer), False, "compressed", True, self.compressed.ratios[layer])
        mixer, shape = self.mixer_of(layer), self.shape_of[layer % len(self.shape_of)] if self.shape_of else -1
        attends = mixer in ("attention", "parallel")
        feeds = self.shapes[shape].feeds is not False if shape >= 0 else self.feeds
        return LayerKind(self.has_experts(layer), attends and self.has_window(layer), mixer, feeds, shape=shape)

    def mixer_of(self, layer: int) -> str:
        """@return what mixes tokens in layer `layer` of a model without a pattern"""
        if self.mixers:
            return self.mixers[layer % len(self.mixers)]
        return "attention" if not self.linear or (layer + 1) % self.full_every == 0 else "linear"

    def variants(self) -> "list[Model]":
        """@return the model with the sizes of each of its shapes, or as it is"""
        return [_shaped(self, index) for index in range(len(self.shapes))] or [self]

    def shaped(self, kind: "LayerKind") -> "Model":
        """@return the model with the sizes of layers of this kind"""
        return _shaped(self, kind.shape) if kind.shape >= 0 else self

    def prediction_kinds(self) -> "list[LayerKind]":
        """@return the kinds of layers that predict one further token"""
        if self.pattern:  # Nemotron 3: arXiv 2512.20856
            return [BLOCKS["*"], BLOCKS["E" if self.experts else "-"]]
        return [self.layer_kind(self.layers - 1)]

    @property
    def expert_hidden(self) -> int:
        return self.expert_latent or self.hidden

    def has_window(self, layer: int) -> bool:
        return bool(self.window) and self.windowed[layer % len(self.windowed)]

    def attended(self, tokens: int, has_window: bool) -> float:
        """@return pairs of a token and one that it attends to in a sequence of so many tokens: half of all, or those of windows"""
        window = min(self.window, tokens) if has_window else tokens
        if self.window_is_chunk and has_window:
            whole, rest = divmod(tokens, window)
            return (whole * window ** 2 + rest ** 2) / 2
        return self.attended_of(tokens, window)

    @staticmethod
    def attended_of(tokens: int, window: int) -> float:
        """@return the same where a token attends to at most `window` of those before it"""
        window = min(window, tokens)
        return tokens * window - window ** 2 / 2

    @property
    def moe_layers(self) -> int:
        return sum(self.has_experts(layer) for layer in range(self.layers))

    @property
    def has_dense_mlps(self) -> bool:
        return any(kind.feeds and not kind.experts for kind in map(self.layer_kind, range(self.layers)))

    @property
    def query_width(self) -> int:
        return self.heads * (self.latent.nope_dim + self.latent.rope_dim if self.latent else self.head_dim)

    @property
    def value_width(self) -> int:
        return self.heads * (self.latent.value_dim if self.latent else self.value_size)

    @property
    def value_size(self) -> int:
        """Columns of a head's values, without latent attention."""
        return self.value_dim or self.head_dim

    @property
    def key_value_widths(self) -> tuple[int, int]:
        """Columns that products of the input have for keys and for values, without latent attention."""
        if self.borrows_keys:
            return 0, 0
        return self.kv_heads * self.head_dim, 0 if self.keys_are_values else self.kv_heads * self.value_size

    @property
    def norm_parameters(self) -> int:
        return self.hidden * (2 if self.norm == "layer" else 1)

    def attention_parameters(self) -> int:
        h = self.hidden
        biases = h if self.bias else 0
        if self.latent:
            a = self.latent
            queries = h * a.q_rank + a.q_rank + a.q_rank * self.query_width if a.q_rank else h * self.query_width
            keys = h * (a.kv_rank + a.rope_dim) + a.kv_rank + a.kv_rank * self.heads * (a.nope_dim + a.value_dim)
            gate = h * self.value_width if self.output_gate else 0
            return queries + keys + gate + self.value_width * h + biases + self._own_indexer(a.q_rank)
        keys, values = self.key_value_widths
        gate = self.value_width if self.output_gate else 0
        biases += self.query_width + gate + keys + values if self.bias or self.qkv_bias else 0
        queries = self.query_rank * (h + 1 + self.query_width) if self.query_rank else h * self.query_width
        norms = 2 * self.head_dim if self.qk_norm else 0
        return queries + h * (gate + keys + values) + self.value_width * h + biases + norms + self._own_indexer(h)

    def _own_indexer(self, q_rank: int) -> int:
        return self.indexer_parameters(q_rank) if self.sparse and self.indexer == "own" else 0

    def state_space_parameters(self) -> int:
        m, h = self.state_space, self.hidden
        assert m
        # Of the heads: decay, skip and step; of the channels: a convolution with its bias, and a norm.
        own = (m.conv + 1) * m.convolved + 3 * m.heads + m.width
        if m.step_rank:  # of each channel and column of its state a decay
            own += m.width * (m.step_rank + 2 * m.state) + m.step_rank * m.width + m.width * (m.state - 1)
        return h * m.inward + own + m.width * h

    def linear_parameters(self) -> int:
        a, h = self.linear, self.hidden
        assert a
        ranks = a.gate_rank * a.values + a.decay_rank * a.keys
        return h * a.inward + ranks + a.conv * a.convolved + 2 * a.value_heads + a.value_dim + a.values * h

    def convolution_parameters(self):
        return self.hidden * (4 * self.hidden + self.convolution)

    def indexer_parameters(self, q_rank: int) -> int:
        """Its queries come from those that attention compresses, its keys and the weights of its heads from the input."""
        i = self.sparse
        assert i
        return q_rank * i.heads * i.head_dim + self.hidden * (i.head_dim + i.heads)

    def compressed_parameters(self, ratio: int) -> int:
        a, h = self.compressed, self.hidden
        assert a and self.sparse
        parts = a.parts(ratio)
        queries = h * a.q_rank + a.q_rank + a.q_rank * self.query_width
        output = self.query_width * a.output_rank + a.output_groups * a.output_rank * h
        # An entry is a gated sum of its tokens; so is one of the indexer.
        entries = 2 * parts * h * self.head_dim
        if ratio == a.indexed:
            entries += self.indexer_parameters(a.q_rank) + (2 * parts - 1) * h * self.sparse.head_dim
        return queries + h * self.head_dim + output + entries

    def mixer_parameters(self, kind: "LayerKind") -> int:
        return {"attention": self.attention_parameters, "state_space": self.state_space_parameters,
                "compressed": lambda: self.compressed_parameters(kind.ratio), "linear": self.linear_parameters,
                "convolution": self.convolution_parameters, "none": lambda: 0,
                "parallel": lambda: self.attention_parameters() + self.state_space_parameters()}[kind.mixer]()

    @property
    def stream_parameters(self) -> int:
        """Of a block: the weights with which streams are read, written and mixed come from all of them."""
        return self.streams * self.hidden * (self.streams ** 2 + 2 * self.streams) if self.streams > 1 else 0

    def mlp_parameters(self, ffn: int, hidden: int | None = None) -> int:
        inward, hidden = 2 if self.gated else 1, hidden or self.hidden
        return hidden * ffn * (inward + 1) + (inward * ffn + hidden if self.bias else 0)

    def expert_parameters(self) -> int:
        """Of the routed experts of one layer."""
        return self.experts * self.mlp_parameters(self.expert_ffn, self.expert_hidden)

    def moe_parameters(self) -> int:
        """Parameters of one layer's router, experts, and projections to their width."""
        router = self.experts * (self.hidden + (1 if self.router_bias else 0))
        shared = self.mlp_parameters(self.shared_ffn) if self.shared_ffn else 0
        latent = 2 * self.hidden * self.expert_latent
        return router + self.expert_parameters() + shared + latent + (self.hidden if self.shared_gate else 0)

    def kind_parameters(self, kind: "LayerKind") -> int:
        norms = (kind.mixer != "none") + kind.feeds
        feed = (self.moe_parameters() if kind.experts else self.mlp_parameters(self.ffn)) if kind.feeds else 0
        inputs = 2 * self.hidden * self.layer_inputs
        return norms * (self.norm_parameters + self.stream_parameters) + self.mixer_parameters(kind) + feed + inputs

    def layer_parameters(self, layer: int) -> int:
        kind = self.layer_kind(layer)
        return self.shaped(kind).kind_parameters(kind)

    @property
    def layer_embedding(self) -> int:
        return self.layer_vocabulary * self.layers * self.layer_inputs

    def prediction_parameters(self) -> int:
        """Parameters of the module that predicts one further token: norms of the last layer and of the next embedding, a product that joins them, layers, and
        the norm of a head."""
        layers = sum(self.shaped(kind).kind_parameters(kind) for kind in self.prediction_kinds())
        return 2 * self.hidden ** 2 + 3 * self.norm_parameters + layers

    def parameters(self) -> int:
        embedding = (self.vocabulary + self.positions) * self.hidden
        embedding += self.layer_embedding + self.hidden * self.layers * self.layer_inputs
        head = 0 if self.tied else self.vocabulary * self.hidden
        layers = sum(map(self.layer_parameters, range(self.layers))) + self.predictions * self.prediction_parameters()
        return embedding + head + self.norm_parameters + layers

    def active_parameters(self) -> int:
        """Parameters that one token passes through, without embeddings."""
        idle = self.moe_layers * (self.experts - self.experts_per_token) * self.mlp_parameters(self.expert_ffn, self.expert_hidden)
        unused = (self.vocabulary + self.positions) * self.hidden
        return self.parameters() - self.layer_embedding - (idle if self.experts else 0) - (0 if self.tied else unused)


@functools.lru_cache(4096)
def _shaped(model, index):
    own = {field: value for field, value in model.shapes[index].dict().items() if value is not None}
    return model.copy(update={**own, "shapes": (), "shape_of": ()})
