# SPDX-License-Identifier: GPL-2.0-only
"""Layers with two mixers, and layers without one."""
from clustersim.workload.model.mixer import Keys, Mixer, register


@register
class AttentionBesideStateSpace(Mixer, frozen=True):
    """Attention and a state-space mixer side by side on the output of one norm, as in Falcon-H1 (arXiv 2507.22448)."""
    name = "parallel"
    parts = ("attention", "state_space")
    has_window = True
    layer_types = ("hybrid",)

    @classmethod
    def is_all(cls, keys: Keys, family: str) -> bool:
        return family.startswith("falcon_h1")


@register
class NoMixer(Mixer, frozen=True):
    """Of blocks that are an MLP or experts alone, or whose attention has been taken away."""
    name = "none"
    parts = ()
