# SPDX-License-Identifier: GPL-2.0-only
"""Layers of a state space: Mamba-2 (Dao and Gu, arXiv 2405.21060), and Mamba (arXiv 2312.00752) with one channel a
head."""
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clustersim.workload.model.mixer import Keys, LayerKind, Mixer, register
from clustersim.workload.model.operator import ELEMENT, STATE, Operator, convolution, matmul, norm
from clustersim.workload.model.whole import NonNegativeInt, PositiveInt

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.parallel import Parallelism


@register
class StateSpace(Mixer, frozen=True):
    """A convolution of a few tokens, and heads whose states decay and take up what the input gives."""
    name = "state_space"
    block = "mamba"
    title = "state-space layers"
    letter = "M"
    layer_types = ("mamba", "mamba2")
    families = ("mamba", "mamba2", "falcon_mamba")
    config_keys = ("mamba_d_head", "mamba_d_conv", "mamba_d_state", "mamba_dt_rank", "mamba_expand", "mamba_n_groups",
                   "mamba_n_heads", "mamba_chunk_size")

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

    def split_heads(self) -> int:
        return self.heads

    def operators(self, model: "Model", plan: "Parallelism", kind: LayerKind) -> Iterator[Operator]:
        """Mamba-2 (arXiv 2405.21060, section 6): of each chunk of C tokens, scores of its tokens (a product for each
        group: 2 C N operations a token), what they make of the input (2 C P for each head), the chunk's state and what
        earlier states make (4 N P)."""
        tokens, heads, groups = plan.tokens, self.heads // plan.tp, max(self.groups // plan.tp, 1)
        width, convolved = heads * self.head_dim, heads * self.head_dim + 2 * groups * self.state
        yield norm("input_norm", model, plan.local_tokens)
        if self.step_rank:
            yield from self._of_channels(model, plan)
            return
        yield self._first(model, plan, width + convolved + heads)
        yield convolution("mamba_conv", tokens, convolved, self.conv, bias=1, kernel="conv")
        states = 4 * tokens / self.chunk * width * self.state  # float32
        scores = 4 * tokens * self.chunk * groups
        flops = tokens * (2 * self.chunk * self.state * groups + width * (2 * self.chunk + 4 * self.state))
        # Its kernels (ops/triton/ssd_combined.py of state-spaces/mamba): scores; states; states passed on from chunk to
        # chunk; the result. So inputs are read twice, scores written and read, and states written and read twice.
        moved = ELEMENT * tokens * (2 * convolved + width + heads) + 2 * scores + 4 * states
        yield Operator("mamba_scan", "fused", moved, flops, parameters=3 * heads,
                       kept=ELEMENT * tokens * (convolved + heads) + states, kernel="mamba_scan")
        # The norm gates with as many columns.
        yield Operator("mamba_norm", "memory", ELEMENT * 3 * tokens * width, parameters=width,
                       kept=ELEMENT * 2 * tokens * width)
        yield matmul("mamba_out", tokens, model.hidden, width)

    def _first(self, model: "Model", plan: "Parallelism", columns: int) -> Operator:
        return matmul("mamba_in", plan.tokens, columns, model.hidden, kept=ELEMENT * plan.input_tokens * model.hidden,
                      keeps_norm=True)

    def _of_channels(self, model: "Model", plan: "Parallelism") -> Iterator[Operator]:
        """Mamba (arXiv 2312.00752, section 3.3): its scan decays and adds to N states of each channel and reads them, 9
        operations each, and stays on the chip; it reads the channels, steps, what goes into and out of states, and a
        gate."""
        tokens, width = plan.tokens, self.width // plan.tp
        yield self._first(model, plan, 2 * width)
        yield convolution("mamba_conv", tokens, width, self.conv, bias=1, kernel="conv")
        yield matmul("mamba_steps_down", tokens, self.step_rank + 2 * self.state, width)
        yield matmul("mamba_steps_up", tokens, width, self.step_rank)
        moved = ELEMENT * tokens * (4 * width + 2 * self.state)
        yield Operator("mamba_scan", "fused", moved, 9.0 * tokens * width * self.state,
                       parameters=width * (self.state + 2), kept=moved, kernel="mamba_scan")
        yield Operator("mamba_norm", "memory", ELEMENT * 3 * tokens * width, parameters=width,
                       kept=ELEMENT * 2 * tokens * width)
        yield matmul("mamba_out", tokens, model.hidden, width)

    def parameters(self, model: "Model", kind: LayerKind) -> int:
        # Of the heads: decay, skip and step; of the channels: a convolution with its bias, and a norm.
        own = (self.conv + 1) * self.convolved + 3 * self.heads + self.width
        if self.step_rank:  # of each channel and column of its state a decay
            own += self.width * (self.step_rank
                                 + 2 * self.state) + self.step_rank * self.width + self.width * (self.state - 1)
        return model.hidden * self.inward + own + self.width * model.hidden

    def state_bytes(self, model: "Model", kind: LayerKind, tp: int, element: int) -> float:
        return (STATE * self.width * self.state + ELEMENT * (self.conv - 1) * self.convolved) / tp

    @classmethod
    def alternates(cls, keys: Keys, family: str) -> bool:
        return bool(keys.get("mamba_d_state"))

    @classmethod
    def read(cls, keys: Keys, family: str, layers: int) -> "StateSpace":
        if family.startswith("nemotron_h"):
            return cls(heads=keys.need("mamba_num_heads"), head_dim=keys.need("mamba_head_dim"),
                       groups=keys.need("n_groups"),
                       state=keys.need("ssm_state_size"), conv=keys.get("conv_kernel", default=4),
                       chunk=keys.get("chunk_size", default=128))
        if family.startswith(cls.families):
            return cls._read_alone(keys)
        heads = keys.get("mamba_n_heads")
        width = keys.get("mamba_d_ssm", default=keys.get("mamba_expand", default=2) * keys.need("hidden_size"))
        dim = keys.get("mamba_d_head")
        return cls._of(keys, heads, dim if isinstance(dim, int) else None, width, "mamba_d_state", "mamba_d_conv",
                       "mamba_dt_rank", "mamba_n_groups", "mamba_chunk_size")

    @classmethod
    def _read_alone(cls, keys: Keys) -> "StateSpace":
        """Of Falcon Mamba and Codestral Mamba."""
        width = keys.get("intermediate_size", default=keys.get("expand", default=2) * keys.need("hidden_size"))
        return cls._of(keys, keys.get("num_heads"), keys.get("head_dim"), width, "state_size", "conv_kernel",
                       "time_step_rank", "n_groups", "chunk_size")

    @classmethod
    def _of(cls, keys: Keys, heads: int | None, dim: int | None, width: int, state: str, conv: str, rank: str,
            groups: str, chunk: str) -> "StateSpace":
        """@param heads None: it is Mamba, whose heads are channels @param state the key of its columns, and so on"""
        columns, taps, steps = keys.need(state), keys.get(conv, default=4), keys.get(rank)
        group_count, chunk_size = keys.get(groups, default=1), keys.get(chunk, default=256)
        if heads:
            return cls(heads=heads, head_dim=width // heads if dim is None else dim, groups=group_count, state=columns,
                       conv=taps, chunk=chunk_size)
        return cls(heads=width, head_dim=1, groups=1, state=columns, conv=taps,
                   step_rank=steps if isinstance(steps, int) else math.ceil(keys.need("hidden_size") / 16))
