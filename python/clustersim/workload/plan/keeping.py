# SPDX-License-Identifier: GPL-2.0-only
"""Tensors that a framework keeps in a GPU's memory, where another recomputes, fuses or works in place."""
import dataclasses

from clustersim.errors import InputError


@dataclasses.dataclass(frozen=True)
class Keeping:
    """Bytes, of each logit and of each weight; and inputs that are kept beside what backward must have."""
    # Megatron-Core's vocabulary-parallel loss: logits in bfloat16, and in float32 in place of which it computes
    # everything else.
    logit: float = 6
    gradient_copy: float = 0  # of a gradient in the weight's type, beside the one in which micro-batches add up
    activated_gate: bool = False  # an MLP with a gate keeps its activation, too: it is not fused with the product
    sharded_copy: bool = (
        True  # sharded weights are stored beside the optimizer's; else those are cast as they are gathered
    )
    gathered_inputs: bool = (
        False  # sequence parallelism keeps the gathered inputs of products, and does not gather them again
    )


FRAMEWORKS = {
    "megatron": Keeping(),
    # PyTorch's cross_entropy of bfloat16 logits (2) casts them to float32 (4) and keeps the logarithms (4); backward,
    # the gradient (4) is in place of the cast. FSDP shards float32 weights alone.
    "torch": Keeping(logit=10, sharded_copy=False),
    # src/nanotron: parallel/tensor_parallel/functional.py computes the loss out of place, with three copies in float32;
    # nn/activations.py multiplies in two kernels, and optim/gradient_accumulator.py adds bfloat16 gradients up in
    # float32.
    "nanotron": Keeping(logit=14, gradient_copy=2, activated_gate=True, gathered_inputs=True),
}


def find(name: str) -> "Keeping":
    if name not in FRAMEWORKS:
        raise InputError(f'"{name}" is not a framework whose memory is known; expected one of {", ".join(FRAMEWORKS)}')
    return FRAMEWORKS[name]
