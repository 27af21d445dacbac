# SPDX-License-Identifier: GPL-2.0-only
"""How many of a sequence's tokens a token attends to, where these are not all before it and not those of a sliding
window.

Steps know how many tokens full attention would reach: on average over the new tokens of prompts, and over decoding
sequences.
"""
import dataclasses
from typing import Optional, Tuple


class Reach:
    """Full attention. `kernel` is the column of kernels/fused.csv that says how much slower than its roofline it is."""
    kernel = ""

    @property
    def places(self) -> Tuple[int, ...]:
        """Tokens of decoding sequences beyond which it reaches fewer."""
        return ()

    def of_prompt(self, attended: float) -> float:
        """@return tokens that a prompt's token attends to, where full attention reaches `attended` on average"""
        return attended

    def of_decoding(self, cached: float) -> float:
        """@return tokens that a decoding sequence of so many tokens attends to"""
        return cached


WHOLE = Reach()


@dataclasses.dataclass(frozen=True)
class Chunks(Reach):
    """Attention to a token's own chunk of `size` tokens, as in Llama 4. All sequences decode in the chunk after
    `before` tokens; None: anywhere."""
    size: int
    before: Optional[int] = None

    @classmethod
    def of_requests(cls, size: int, lengths: Optional[Tuple[int, int]]) -> "Chunks":
        """@param lengths tokens of each request's prompt and output, or None where requests differ"""
        first, last = (lengths[0], sum(lengths) - 1) if lengths else (0, size)
        return cls(size, first // size * size if first // size == last // size else None)

    @property
    def places(self) -> Tuple[int, ...]:
        return tuple(self.before + (1 << power) for power in range(self.size.bit_length())) if self.before else ()

    def of_prompt(self, attended: float) -> float:
        tokens = max(2 * attended, 1)
        whole, rest = divmod(tokens, self.size)
        return (whole * self.size ** 2 + rest ** 2) / 2 / tokens

    def of_decoding(self, cached: float) -> float:
        if self.before is not None:
            return max(cached - self.before, 1)
        return self.size / 2 if cached > self.size else cached


def _least(tokens: float, most: float) -> float:
    """@return tokens that each of a sequence's tokens attends to on average, which are at most `most`"""
    most = min(tokens, most)
    return most - most ** 2 / 2 / tokens


@dataclasses.dataclass(frozen=True)
class Chosen(Reach):
    """Attention to the `top` tokens that an indexer chooses (DeepSeek-V3.2)."""
    top: int
    kernel = "sparse"

    def of_prompt(self, attended: float) -> float:
        return _least(max(2 * attended, 1), self.top)

    def of_decoding(self, cached: float) -> float:
        return min(cached, self.top)


@dataclasses.dataclass(frozen=True)
class Entries(Reach):
    """Attention to a window, and to entries of `ratio` tokens each, of which an indexer chooses `top`; 0: to all of
    them (DeepSeek-V4)."""
    window: int
    ratio: int
    top: int
    kernel = "sparse"

    def of_prompt(self, attended: float) -> float:
        tokens = max(2 * attended, 1)
        reached = _least(tokens, self.window)
        if self.ratio:
            entries = max(tokens / self.ratio, 1)
            reached += _least(entries, self.top or entries)
        return reached

    def of_decoding(self, cached: float) -> float:
        entries = cached / self.ratio if self.ratio else 0
        return min(cached, self.window) + min(entries, self.top or entries)
