# SPDX-License-Identifier: GPL-2.0-only
"""How many bytes training keeps and sends for each weight, and for each input of a matrix product."""
import dataclasses
from typing import Tuple, TYPE_CHECKING
from collections.abc import Iterable, Mapping

from clustersim.errors import InputError

if TYPE_CHECKING:
    from clustersim.workload.plan.planned import Weighted

# Bytes of a number. The scales of blocks count: one byte for 32 numbers of MXFP8, for 16 of NVFP4.
BYTES = {"fp32": 4, "float32": 4, "bf16": 2, "bfloat16": 2, "fp16": 2, "float16": 2, "fp8": 1, "fp8_block": 1,
         "mxfp8": 33 / 32, "nvfp4": 9 / 16}
# Copies of a weight that products with fewer bits read, by rows and by columns (Transformer Engine keeps both for the
# whole iteration). From Blackwell on, products of 8-bit floats with a scale for a whole matrix read one copy in either
# order.
COPIES = 2


@dataclasses.dataclass(frozen=True)
class Precision:
    """Bytes of one number. The default is Megatron-LM's mixed precision: bfloat16 weights, float32 gradients, Adam in
    float32."""
    weight: float = 2  # of products with the GPU's type of factors: what they read, and what is updated
    gathered: float = 2  # of such a weight, as ranks gather it
    gradient: float = 4  # as micro-batches add up in it
    reduced: float = 4  # of a gradient, as ranks reduce it
    optimizer: float = 12  # master weight and two moments
    kept: float = 2  # of an input that a product keeps for backward
    stores_copies: bool = False  # whether weights are stored and gathered in the type of the products that read them
    reads_either_order: bool = False

    @property
    def update(self) -> float:
        """Bytes that Adam moves for a weight beside writing it: it reads the gradient and its states, and writes the
        states."""
        return self.gradient + 2 * self.optimizer

    def of_weight(self, operator: "Weighted") -> tuple[float, float]:
        """@return bytes of an operator's weights in memory, and as ranks gather them. Only matrices of products have
        copies with fewer bits"""
        if operator.kind != "matmul":
            return 2 * operator.parameters, 2 * operator.parameters
        stored, gathered = (_weight(operator.precision, self.stores_copies, self.reads_either_order)
                            if operator.precision
                            else (self.weight, self.gathered))
        _, columns, rows, count = operator.shape
        factors = min(operator.parameters, columns * rows * count)
        vectors = 2 * (operator.parameters - factors)  # biases, and norms beside the product
        return stored * factors + vectors, gathered * factors + vectors


@dataclasses.dataclass(frozen=True)
class Precise:
    """Products with more bits than others: all of the first and last layers, those of layers that predict further
    tokens, and by operator."""
    first: int = 0
    last: int = 0
    predictions: bool = False
    operators: Tuple[Tuple[str, str], ...] = ()

    def has(self, layer: int, layers: int) -> bool:
        """@return whether a layer of so many is one whose products keep 16 bits"""
        return layer < self.first or layer >= layers - self.last

    def of_operator(self, name: str) -> str:
        """@return the type of an operator's factors, or "" for the GPU's"""
        return dict(self.operators).get(name, "")

    def describe(self) -> str:
        parts = [f"{count} {end} layers" for count, end in ((self.first, "first"), (self.last, "last")) if count]
        parts += ["further tokens"] if self.predictions else []
        parts += [name for name, kind in self.operators if kind == "bfloat16"]
        other = [f"{name} in {kind}" for name, kind in self.operators if kind != "bfloat16"]
        return ", ".join([*(["bfloat16 in " + " and ".join(parts)] if parts else []), *other])


def precise(first: int, last: int, predictions: bool, named: Iterable[str], types: Mapping[str, str]) -> "Precise":
    """@param named texts such as linear_qkv=bf16, with operators or names of adapters.TARGETS @param types what flags
    call types @return Precise"""
    from clustersim.workload.plan.adapters import TARGETS  # which knows operators
    if first < 0 or last < 0:
        raise InputError(f"{first} first and {last} last layers in bf16; expected 0 or more")
    found: dict[str, str] = {}
    for text in named:
        name, _, kind = text.partition("=")
        if kind not in types:
            raise InputError(f'--operator_dtype "{text}" is not valid; expected OPERATOR=TYPE with one of '
                             f'{", ".join(dict.fromkeys(types))}')
        found.update((operator, types[kind]) for operator in TARGETS.get(name, (name,)))
    return Precise(first, last, predictions, tuple(found.items()))


def _weight(product: str, stores_copies: bool, reads_either_order: bool) -> tuple[float, float]:
    """@return bytes of a weight whose products have factors of type `product`, in memory and as ranks gather it"""
    few = BYTES[product]
    if few >= 2:
        return 2, 2
    copies = (1 if reads_either_order and product == "fp8" else COPIES) * few
    return (copies, few) if stores_copies else (2 + copies, 2)


def of(product: str = "bfloat16", gathered_as_product: bool = False, gradient: str = "fp32", reduced: str | None = None,
       master: str = "fp32", moments: tuple[str, str] = ("fp32", "fp32"),
       reads_either_order: bool = False) -> "Precision":
    """
    @param product type of the factors of matrix products, of gpus.PRECISIONS
    @param gathered_as_product whether weights are stored and gathered in that type (Megatron-Core's --fp8-param-gather)
    @param reads_either_order whether the GPU is of Blackwell or later
    @param reduced type in which ranks reduce gradients, if not the one in which they add up
    """
    few, states = BYTES[product], BYTES[master] + sum(BYTES[moment] for moment in moments)
    weight, gathered = _weight(product, gathered_as_product, reads_either_order)
    return Precision(weight, gathered, BYTES[gradient], BYTES[reduced or gradient], states, few, gathered_as_product,
                     reads_either_order)
