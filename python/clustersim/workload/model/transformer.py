# SPDX-License-Identifier: GPL-2.0-only
"""A decoder-only transformer: its shape, and how many parameters that makes."""
import functools
from typing import Any, Literal, Optional, Tuple, TypeVar

from clustersim.pydantic_v1 import pydantic
from clustersim.workload.model import mixer as mixers
from clustersim.workload.model.mixer import LayerKind, Mixer
from clustersim.workload.model.whole import LayerCount, NonNegativeInt, PositiveInt

Sizes = TypeVar("Sizes", bound=Mixer)


class SparseAttention(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
    """Attention to the `top` tokens that an indexer of its own heads scores highest (DeepSeek-V3.2, arXiv
    2512.02556)."""
    heads: PositiveInt
    head_dim: PositiveInt
    top: PositiveInt


class Shape(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
    """Sizes of layers where those of a model differ; None: the model's."""
    heads: Optional[PositiveInt] = None
    kv_heads: Optional[PositiveInt] = None
    head_dim: Optional[PositiveInt] = None
    value_dim: Optional[PositiveInt] = None
    ffn: Optional[PositiveInt] = None
    keys_are_values: Optional[bool] = None
    borrows_keys: Optional[bool] = None
    indexer: Optional[Literal["own", "shared", "none"]] = None
    feeds: Optional[bool] = None


class Model(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
    """Sizes are numbers of elements; `layers` are transformer layers."""
    name: str
    layers: LayerCount
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
    query_rank: NonNegativeInt = (
        0  # of queries that come from a product of this rank, without latent keys; 0: they do not
    )
    keys_are_values: bool = False
    borrows_keys: bool = False  # keys and values are those of an earlier layer
    bias: bool = False  # of every linear layer
    qkv_bias: bool = False
    qk_norm: bool = False  # a norm of each head's queries and keys
    qk_norm_whole: bool = False  # of all heads together, so ranks of tensor parallelism add up their sums of squares
    tied: bool = False  # the output layer shares the embedding's weights
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
    mixers: Tuple[str, ...] = ()  # of layers, repeated
    sizes: Tuple[Tuple[str, Mixer],
                 ...] = ()  # of the mixers that have some, by name; a Model takes each by its name, too
    expert_layers: Tuple[bool,
                         ...] = ()  # which layers have experts, repeated; empty: dense_layers and moe_every say it
    shapes: Tuple[Shape, ...] = ()
    shape_of: Tuple[NonNegativeInt, ...] = ()  # which of the shapes a layer has, repeated
    layer_inputs: NonNegativeInt = 0  # columns of a second embedding for each layer (Gemma 3n)
    layer_vocabulary: NonNegativeInt = 0  # its words
    feeds: bool = True
    pattern: str = ""  # of a hybrid model, a letter for each layer, which is a block
    full_every: PositiveInt = 1  # of layers with linear attention, each n-th has full attention instead
    sparse: Optional[SparseAttention] = None
    indexer: Literal[
        "own", "shared", "none"
    ] = "own"  # of sparse attention: none attends to all tokens, shared to those of an earlier layer's
    streams: PositiveInt = 1  # residual streams, which each block mixes (hyper-connections, arXiv 2512.24880)
    predictions: NonNegativeInt = 0  # layers that predict further tokens (multi-token prediction)
    window: NonNegativeInt = 0  # tokens that a token attends to at most, in layers with a window; 0: there are none
    window_is_chunk: bool = False  # of chunks of so many tokens each attends to its own, as in Llama 4
    windowed: Tuple[bool, ...] = (True,)  # which layers have the window; repeated
    fp8_block: bool = False  # its publisher's 8-bit floats have a scale for each block of weights

    @pydantic.root_validator(pre=True)
    def _collects_sizes(cls, values: dict[str, Any]) -> dict[str, Any]:
        own = {name: values[name] for name in mixers.known() if values.get(name) is not None}
        found = dict(values.get("sizes", ())) | own
        return {**{field: value for field, value in values.items() if field not in mixers.known()},
                "sizes": tuple(sorted(found.items()))}

    @pydantic.validator("sizes", pre=True)
    def _have_their_classes(cls, sizes: Tuple[Tuple[str, Any], ...]) -> Tuple[Tuple[str, Mixer], ...]:
        found = []
        for name, own in sizes:
            try:
                found.append((name, own if isinstance(own, Mixer) else mixers.known()[name].parse_obj(own)))
            except pydantic.ValidationError as error:
                raise pydantic.ValidationError([pydantic.error_wrappers.ErrorWrapper(error, loc=name)], Model) from None
        return tuple(found)

    @pydantic.validator("mixers", each_item=True)
    def _is_known(cls, name: str) -> str:
        if name not in mixers.known():
            raise ValueError(f'"{name}" is not a mixer; expected one of {", ".join(mixers.known())}')
        return name

    @pydantic.root_validator(skip_on_failure=True)
    def _agrees(cls, values: dict[str, Any]) -> dict[str, Any]:
        if values["experts"]:
            for key in ("experts_per_token", "expert_ffn"):
                if not values[key]:
                    raise ValueError(f"{key} is 0, but there are {values['experts']} experts")
            if values["experts_per_token"] > values["experts"]:
                raise ValueError(f"a token goes to {values['experts_per_token']} of {values['experts']} experts")
        pattern, blocks, sizes = values["pattern"], mixers.blocks(), dict(values["sizes"])
        if pattern and (len(pattern) != values["layers"] or set(pattern) - set(blocks)):
            raise ValueError(f"the pattern has {len(pattern)} letters for {values['layers']} layers, or others than "
                             f"{' '.join(blocks)}")
        for letter, block in blocks.items() if pattern else ():
            kind = mixers.known()[block.mixer]
            if (
                kind.__fields__
                and (letter in pattern) != (kind.name in sizes)
                or block.experts
                and letter in pattern
                and not values["experts"]
            ):
                raise ValueError(f"{kind.name if kind.__fields__ else 'experts'} do not agree with the pattern")
        for own in sizes.values():
            own.agrees(values)
        if not values["windowed"]:
            raise ValueError("windowed is empty")
        for name in (*values["mixers"], *(["linear"] if values["full_every"] > 1 else [])):
            if any(mixers.known()[part].__fields__ and part not in sizes for part in mixers.parts_of(name)):
                raise ValueError(f"there are {name} layers without sizes")
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

    # -- what mixes tokens

    def sizes_of(self, kind: type[Sizes]) -> Optional[Sizes]:
        """@return the sizes of a mixer, such as LatentAttention; None: the model has none"""
        return next((own for _, own in self.sizes if type(own) is kind), None)

    def mixer(self, name: str) -> Mixer:
        """@return what mixes tokens in layers that are called `name`"""
        for _, own in self.sizes:
            if name in (own.name, own.stands_for):
                return own
        return mixers.alone(name)

    def parts(self, kind: "LayerKind") -> list[Mixer]:
        """@return what mixes tokens in a layer: nothing, a mixer, or several beside each other"""
        return [self.mixer(name) for name in mixers.parts_of(kind.mixer)]

    @property
    def attention(self) -> Mixer:
        """The mixer of layers with attention."""
        return self.mixer("attention")

    @property
    def lists_layers(self) -> bool:
        """Whether its fields list the kind of each layer, so that pipeline stages may differ."""
        return bool(self.pattern or self.shapes or self.mixers) or any(own.lists_layers for _, own in self.sizes)

    def split_heads(self) -> list[Tuple[int, str]]:
        """@return each number of heads, beside attention's, that tensor and context parallelism must divide, with its
        mixer's title"""
        return [(own.split_heads(), own.title) for _, own in self.sizes if own.split_heads()]

    def fields_by_name(self) -> dict[str, Any]:
        """@return what makes the same Model, with the sizes of each mixer by its name"""
        return {**{field: value for field, value in self.dict().items() if field != "sizes"},
                **{name: own.dict() for name, own in self.sizes}}

    def layer_kind(self, layer: int) -> "LayerKind":
        """@return all that tells layer `layer` from others"""
        if self.pattern:
            return mixers.blocks()[self.pattern[layer]]
        name, shape = self.mixer_of(layer), self.shape_of[layer % len(self.shape_of)] if self.shape_of else -1
        feeds = self.shapes[shape].feeds is not False if shape >= 0 else self.feeds
        kind = self.mixer(name)
        return LayerKind(self.has_experts(layer), kind.has_window and self.has_window(layer), name, feeds,
                         kind.variant(layer), shape=shape)

    def mixer_of(self, layer: int) -> str:
        """@return what mixes tokens in layer `layer` of a model without a pattern"""
        if self.mixers:
            return self.mixers[layer % len(self.mixers)]
        alternates = self.full_every > 1 and (layer + 1) % self.full_every
        return "linear" if alternates else "attention"

    def variants(self) -> "list[Model]":
        """@return the model with the sizes of each of its shapes, or as it is"""
        return [_shaped(self, index) for index in range(len(self.shapes))] or [self]

    def shaped(self, kind: "LayerKind") -> "Model":
        """@return the model with the sizes of layers of this kind"""
        return _shaped(self, kind.shape) if kind.shape >= 0 else self

    def prediction_kinds(self) -> "list[LayerKind]":
        """@return the kinds of layers that predict one further token"""
        if self.pattern:  # Nemotron 3: arXiv 2512.20856
            return [mixers.blocks()["*"], mixers.blocks()["E" if self.experts else "-"]]
        return [self.layer_kind(self.layers - 1)]

    @property
    def expert_hidden(self) -> int:
        """Columns of the input of experts"""
        return self.expert_latent or self.hidden

    def has_window(self, layer: int) -> bool:
        """@return whether tokens of a layer attend to a window only"""
        return bool(self.window) and self.windowed[layer % len(self.windowed)]

    def attended(self, tokens: int, has_window: bool) -> float:
        """@return pairs of a token and one that it attends to in a sequence of so many tokens: half of all, or those of
        windows"""
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
        """Number of layers with experts"""
        return sum(self.has_experts(layer) for layer in range(self.layers))

    @property
    def has_dense_mlps(self) -> bool:
        """Whether some layer has an MLP without experts"""
        return any(kind.feeds and not kind.experts for kind in map(self.layer_kind, range(self.layers)))

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
        """Parameters of one norm"""
        return self.hidden * (2 if self.norm == "layer" else 1)

    def mixer_parameters(self, kind: "LayerKind") -> int:
        """@return parameters of a layer's mixers, without the norm of their input"""
        return sum(part.parameters(self, kind) for part in self.parts(kind))

    @property
    def stream_parameters(self) -> int:
        """Of a block: the weights with which streams are read, written and mixed come from all of them."""
        return self.streams * self.hidden * (self.streams ** 2 + 2 * self.streams) if self.streams > 1 else 0

    def mlp_parameters(self, ffn: int, hidden: int | None = None) -> int:
        """@return parameters of an MLP of width `ffn` @param hidden columns of its input; None: the model's"""
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
        """@return parameters of a layer of this kind, with its norms"""
        norms = bool(self.parts(kind)) + kind.feeds
        feed = (self.moe_parameters() if kind.experts else self.mlp_parameters(self.ffn)) if kind.feeds else 0
        inputs = 2 * self.hidden * self.layer_inputs
        return norms * (self.norm_parameters + self.stream_parameters) + self.mixer_parameters(kind) + feed + inputs

    def layer_parameters(self, layer: int) -> int:
        """@return parameters of a layer with its own sizes"""
        kind = self.layer_kind(layer)
        return self.shaped(kind).kind_parameters(kind)

    @property
    def layer_embedding(self) -> int:
        """Parameters of the embeddings that layers have of their own"""
        return self.layer_vocabulary * self.layers * self.layer_inputs

    def prediction_parameters(self) -> int:
        """Parameters of the module that predicts one further token: norms of the last layer and of the next embedding,
        a product that joins them, layers, and the norm of a head."""
        layers = sum(self.shaped(kind).kind_parameters(kind) for kind in self.prediction_kinds())
        return 2 * self.hidden ** 2 + 3 * self.norm_parameters + layers

    def parameters(self) -> int:
        """@return parameters of the whole model, with embeddings and head"""
        embedding = (self.vocabulary + self.positions) * self.hidden
        embedding += self.layer_embedding + self.hidden * self.layers * self.layer_inputs
        head = 0 if self.tied else self.vocabulary * self.hidden
        layers = sum(map(self.layer_parameters, range(self.layers))) + self.predictions * self.prediction_parameters()
        return embedding + head + self.norm_parameters + layers

    def active_parameters(self) -> int:
        """Parameters that one token passes through, without embeddings."""
        idle = self.moe_layers * (self.experts - self.experts_per_token) * self.mlp_parameters(self.expert_ffn,
            self.expert_hidden)
        unused = (self.vocabulary + self.positions) * self.hidden
        return self.parameters() - self.layer_embedding - (idle if self.experts else 0) - (0 if self.tied else unused)

    def headline(self) -> str:
        """@return name and size for people"""
        return (f"{self.name}: {self.parameters() / 1e9:.2f} billion parameters, "
                f"{self.active_parameters() / 1e9:.2f} active")


@functools.lru_cache(4096)
def _shaped(model: "Model", index: int) -> "Model":
    own = {field: value for field, value in model.shapes[index].dict().items() if value is not None}
    return model.copy(update={**own, "shapes": (), "shape_of": ()})
