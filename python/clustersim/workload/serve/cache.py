# SPDX-License-Identifier: GPL-2.0-only
"""The bytes that a rank of a serving instance keeps of each sequence: keys and values of tokens, and states of layers without these.

A layer's own bytes, for the simulator's blocks: it knows one number of layers with a window among all, and gives each of both the same bytes. So the
numbers here are in proportion to bytes where layers differ.
"""
import math
from typing import TYPE_CHECKING

from clustersim.workload.model.operators import ELEMENT

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import LayerKind
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.serve.instance import Instance

STATE = 4  # bytes of a number of a state, a float32
CACHE_BYTES = {"bfloat16": 2, "fp8": 1}  # of a number of keys and values


def of_token(model: "Model", tp: int, element: int) -> int:
    """@return bytes that a rank keeps of a token in a layer of attention with the model's sizes"""
    index = element * model.sparse.head_dim if model.sparse and model.indexer == "own" else 0
    if model.latent:  # one, which every rank keeps
        return element * (model.latent.kv_rank + model.latent.rope_dim) + index
    if model.borrows_keys:
        return 0
    return max(model.kv_heads // tp, 1) * element * (model.head_dim + model.value_size) + index


def _of_compressed(model, ratio, element):
    """Of DeepSeek-V4: an entry for each `ratio` tokens, and one of the indexer."""
    if not ratio:
        return 0
    return element * (model.head_dim + (model.sparse.head_dim if ratio == model.compressed.indexed else 0)) / ratio


def of_layer(model: "Model", kind: "LayerKind", tp: int, element: int) -> int:
    """@return bytes that a rank keeps of a token in a layer"""
    if kind.mixer == "compressed":
        return _of_compressed(model, kind.ratio, element)
    return of_token(model.shaped(kind), tp, element) if kind.mixer in ("attention", "parallel") else 0


def of_sequence(model, kind, tp, element):
    """@return bytes of a layer's state that a rank keeps of a sequence, however long it is"""
    space, linear = model.state_space, model.linear
    if kind.mixer in ("state_space", "parallel"):
        return (STATE * space.width * space.state + ELEMENT * (space.conv - 1) * space.convolved) / tp
    if kind.mixer == "linear":
        return (STATE * linear.values * linear.key_dim + ELEMENT * max(linear.conv - 1, 0) * linear.convolved) / tp
    if kind.mixer == "convolution":
        return ELEMENT * (model.convolution - 1) * model.hidden / tp
    return element * model.window * model.head_dim if kind.mixer == "compressed" else 0


class Cache:
    """The bytes that a rank of an Instance keeps, layer by layer."""

    def __init__(self, instance: "Instance") -> None:
        model, element = instance.model, CACHE_BYTES[instance.cache]
        kinds = [model.layer_kind(index) for index in range(model.layers)]
        self.tokens = [of_layer(model, kind, instance.tp, element) for kind in kinds]
        self.states = [of_sequence(model, kind, instance.tp, element) for kind in kinds]
        self.in_window = [kind.windowed and not model.window_is_chunk for kind in kinds]

    @property
    def window_layers(self) -> int:
        """Layers with a window, of as many as the model has, as far as they keep bytes of a token."""
        windowed = sum(size for size, has_window in zip(self.tokens, self.in_window) if has_window)
        return max(1, round(len(self.tokens) * windowed / sum(self.tokens))) if windowed else 0

    @property
    def parts(self) -> int:
        """Blocks of so many layers each divide layers with and without a window."""
        return len(self.tokens) // math.gcd(len(self.tokens) - self.window_layers, self.window_layers)

    @property
    def moves(self) -> bool:
        """Whether caches can leave a rank, layer by layer: all layers keep as many bytes of each token."""
        return len(set(self.tokens)) == 1 and not any(self.in_window) and not any(self.states)

    @property
    def has_states(self) -> bool:
        return any(self.states)

    def of_fullest(self, instance: "Instance", what: str = "tokens") -> float:
        """@return bytes of a token, or of the states of a sequence, on a rank of the stage that keeps most"""
        sizes = getattr(self, what)
        return max(sum(sizes[own]) for own in instance.stages())
