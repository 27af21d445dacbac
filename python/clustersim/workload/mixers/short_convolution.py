# SPDX-License-Identifier: GPL-2.0-only
"""A convolution of a few tokens between two gates, as in LFM2 (arXiv 2511.23404)."""
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clustersim.workload.model.mixer import Keys, LayerKind, Mixer, register
from clustersim.workload.model.operator import ELEMENT, Operator, convolution, matmul, norm
from clustersim.workload.model.whole import PositiveInt

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.parallel import Parallelism


@register
class ShortConvolution(Mixer, frozen=True):
    """Serving keeps the tokens of a sequence that the next one's convolution reads."""
    name = "convolution"
    block = "short"
    title = "convolutions"
    layer_types = ("conv",)

    taps: PositiveInt  # tokens of the convolution

    def operators(self, model: "Model", plan: "Parallelism", kind: LayerKind) -> Iterator[Operator]:
        h, tokens, width = model.hidden, plan.tokens, model.hidden // plan.tp
        yield norm("input_norm", model, plan.local_tokens)
        yield matmul("short_in", tokens, 3 * width, h, kept=ELEMENT * plan.input_tokens * h)
        yield convolution("short_conv", tokens, width, self.taps)
        yield Operator("short_gates", "memory", ELEMENT * tokens * 6 * width, kept=ELEMENT * tokens * 3 * width)
        yield matmul("short_out", tokens, h, width)

    def parameters(self, model: "Model", kind: LayerKind) -> int:
        return model.hidden * (4 * model.hidden + self.taps)

    def state_bytes(self, model: "Model", kind: LayerKind, tp: int, element: int) -> float:
        return ELEMENT * (self.taps - 1) * model.hidden / tp

    @classmethod
    def alternates(cls, keys: Keys, family: str) -> bool:
        return family.startswith("lfm2")

    @classmethod
    def read(cls, keys: Keys, family: str, layers: int) -> "ShortConvolution":
        return cls(taps=keys.get("conv_L_cache", default=3))
