# SPDX-License-Identifier: GPL-2.0-only
"""An operator of a rank with its work, its weights and the tensors that it keeps for backward, and makers of the common
ones.

Activations are bfloat16. What is kept follows Korthikanti et al., Reducing Activation Recomputation in Large
Transformer Models (arXiv 2205.05198), for attention that does not store its scores.
"""
import dataclasses
from typing import Optional, Tuple, TYPE_CHECKING

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model

ELEMENT = 2  # bytes of a bfloat16
STATE = 4  # bytes of a number of a state, a float32
# Products that training and inference leave in bfloat16 when others have 8-bit or 4-bit factors.
ALWAYS_BFLOAT16 = {"logits", "router", "shared_gate"}


@dataclasses.dataclass(frozen=True)
class Heads:
    """Arguments of a rank's kernel of fused, causal attention. Widths are in elements."""
    sequences: int
    tokens: int  # queries of a sequence on this rank
    heads: int
    kv_heads: int
    head_dim: int  # of queries and keys
    value_dim: int
    window: int = 0  # tokens that a token attends to at most; 0: all before it
    keys: int = 0  # of a sequence, those of the other ranks of context parallelism included; 0: as many as queries


@dataclasses.dataclass(frozen=True)
class Operator:
    """One kernel, or a few of the same kind. All figures are of one rank and one micro-batch."""
    name: str
    kind: str  # matmul, attention, memory, or fused: products and what is between them, as a scan of chunks
    bytes: float  # that it reads and writes, forward
    flops: float = 0.0  # forward
    shape: Tuple[int, int, int, int] = (0, 0, 0, 1)  # of products: m, n, k and how many, of experts one each
    parameters: int = 0
    kept: float = 0.0  # bytes that backward needs
    heads: Optional[Heads] = None  # of attention
    precision: str = ""  # of a product's factors; "": the GPU's
    kernel: str = ""  # column of kernels/fused.csv that says how much slower than its roofline it is
    is_local: bool = False  # sequence parallelism computes it on a part of the sequence, before it gathers
    after_norm: bool = False  # a product whose input a norm writes in the precision of its factors
    keeps_norm: bool = False  # backward needs the result of a norm, which recomputation of norms makes again


def matmul(name: str, m: int, n: int, k: int, count: int = 1, bias: int = 0, kept: int | None = None,
           is_local: bool = False, after_norm: bool = False, keeps_norm: bool = False) -> Operator:
    """@return a product of m x k and k x n, `count` of them @param kept bytes; None: those of its input"""
    m = max(m, 1)
    return Operator(name, "matmul", ELEMENT * count * (m * k + k * n + m * n), 2.0 * m * n * k * count,
                    (m, n, k, count), count * k * n + bias, ELEMENT * m * k * count if kept is None else kept,
                    precision="bfloat16" if name in ALWAYS_BFLOAT16 else "", is_local=is_local, after_norm=after_norm,
                    keeps_norm=keeps_norm)


def norm(name: str, model: "Model", tokens: int) -> Operator:
    """@return a norm, which adds to the residual stream in the same kernel: two reads and two writes"""
    moved = ELEMENT * tokens * model.hidden
    return Operator(name, "memory", 4 * moved, parameters=model.norm_parameters, kept=moved, is_local=True)


def convolution(name: str, tokens: int, channels: int, taps: int, bias: int = 0, kernel: str = "") -> Operator:
    """@return a depthwise convolution over so many tokens. It reads and writes its channels; its few products hide
    behind that"""
    return Operator(name, "memory", ELEMENT * 2 * tokens * channels, parameters=(taps + bias) * channels,
                    kept=ELEMENT * tokens * channels, kernel=kernel)
