# SPDX-License-Identifier: GPL-2.0-only
"""What a framework keeps in a GPU's memory, where another recomputes, fuses or works in place."""
import dataclasses

from clustersim.workload.errors import InputError


@dataclasses.dataclass(frozen=True)
class Keeping:
    """Bytes, of each logit and of each weight; and inputs that are kept beside what backward must have."""
    # Megatron-Core's vocabulary-parallel loss: logits in bfloat16, and in float32 in place of which it computes everything else.
    logit: float = 6
    gradient_copy: float = 0  # of a gradient in the weight's type, beside the one in which micro-batches add up
    activated_gate: bool = False  # an MLP with a gate keeps its activation, too: it is not fused with the product
    gathered_inputs: bool = False  # sequence parallelism keeps the gathered inputs of products, and does not gather them again


# PyTorch's cross_entropy has logits in bfloat16 (2) and float32 (4), their logarithms (4) and the gradient (4) at once.
EAGER_LOGIT = 14
FRAMEWORKS = {
    "megatron": Keeping(),
    "torch": Keeping(logit=EAGER_LOGIT),
    # src/nanotron: nn/activations.py multiplies in two kernels, parallel/tensor_parallel/functional.py computes the loss out of place, and
    # optim/gradient_accumulator.py adds bfloat16 gradients up in float32.
    "nanotron": Keeping(EAGER_LOGIT, 2, True, True),
}


def find(name):
    if name not in FRAMEWORKS:
        raise InputError(f'"{name}" is not a framework whose memory is known; expected one of {", ".join(FRAMEWORKS)}')
    return FRAMEWORKS[name]
