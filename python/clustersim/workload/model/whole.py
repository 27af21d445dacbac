# SPDX-License-Identifier: GPL-2.0-only
"""Types of whole numbers in the fields of a model."""
from collections.abc import Callable, Iterator
from typing import Any, TYPE_CHECKING

from clustersim.pydantic_v1 import pydantic


def _whole(value: Any) -> int:
    """pydantic would cut 1.5 to 1, and read true and "8" as numbers."""
    if isinstance(value, (bool, str)) or isinstance(value, float) and not value.is_integer():
        raise TypeError(f"{value!r:.40} is not a whole number")
    return value


if TYPE_CHECKING:
    PositiveInt = int
    LayerCount = int
    NonNegativeInt = int
else:
    class _Whole:
        @classmethod
        def __get_validators__(cls) -> Iterator[Callable[..., Any]]:
            yield _whole
            yield from super().__get_validators__()

    class PositiveInt(_Whole, pydantic.PositiveInt):
        pass

    class LayerCount(PositiveInt):
        le = 10_000  # the published models have 160 at most; rows of millions would take hours

    class NonNegativeInt(_Whole, pydantic.NonNegativeInt):
        pass
