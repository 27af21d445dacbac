# SPDX-License-Identifier: GPL-2.0-only
"""The bytes that a rank of a serving instance keeps of each sequence: keys and values of tokens, or a state
in layers without them.

The simulator's blocks assume that all layers keep as many bytes of a token, and know only how many layers have
a window. If layers keep different bytes, window_layers therefore counts bytes instead of layers.
"""
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import LayerKind
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.serve.instance import Instance

CACHE_BYTES = {"bfloat16": 2, "fp8": 1}  # of a number of keys and values


def of_layer(model: "Model", kind: "LayerKind", tp: int, element: int) -> float:
    """@return bytes that a rank keeps of a token in a layer"""
    model = model.shaped(kind)
    return sum(part.token_bytes(model, kind, tp, element) for part in model.parts(kind))


def of_sequence(model: "Model", kind: "LayerKind", tp: int, element: int) -> float:
    """@return bytes of the state of a layer that a rank keeps of a sequence of any length"""
    model = model.shaped(kind)
    return sum(part.state_bytes(model, kind, tp, element) for part in model.parts(kind))


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
        """The number of layers, weighted by the part of a token's cached bytes in layers with a window; 1 or more if
        there are any."""
        windowed = sum(size for size, has_window in zip(self.tokens, self.in_window) if has_window)
        return max(1, round(len(self.tokens) * windowed / sum(self.tokens))) if windowed else 0

    @property
    def parts(self) -> int:
        """The number of blocks for block_size tokens of all layers (InstancePool::BlocksOf() in serving-config.h)."""
        return len(self.tokens) // math.gcd(len(self.tokens) - self.window_layers, self.window_layers)

    @property
    def moves(self) -> bool:
        """Whether caches can leave a rank layer by layer, since all layers keep the same bytes of each token."""
        return len(set(self.tokens)) == 1 and not any(self.in_window) and not any(self.states)

    @property
    def has_states(self) -> bool:
        return any(self.states)

    def of_fullest(self, instance: "Instance", what: str = "tokens") -> float:
        """@return bytes of a token, or of the states of a sequence, on a rank of the pipeline stage that keeps most"""
        sizes = getattr(self, what)
        return max(sum(sizes[own]) for own in instance.stages())
