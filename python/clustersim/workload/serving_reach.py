# SPDX-License-Identifier: GPL-2.0-only
"""How many of a sequence's tokens a token attends to, where these are not all before it and not those of a sliding window.

Steps know how many tokens full attention would reach: on average over the new tokens of prompts, and over decoding sequences.
"""
import dataclasses


class Reach:
    """Full attention."""

    def of_prompt(self, attended):
        """@return tokens that a prompt's token attends to, where full attention reaches `attended` on average"""
        return attended

    def of_decoding(self, cached):
        """@return tokens that a decoding sequence of so many tokens attends to"""
        return cached


WHOLE = Reach()


@dataclasses.dataclass(frozen=True)
class Chunks(Reach):
    """Attention to a token's own chunk of `size` tokens, as in Llama 4."""
    size: int

    def of_prompt(self, attended):
        tokens = max(2 * attended, 1)
        whole, rest = divmod(tokens, self.size)
        return (whole * self.size ** 2 + rest ** 2) / 2 / tokens

    def of_decoding(self, cached):
        """Longer sequences are anywhere in their last chunk."""
        return self.size / 2 if cached > self.size else cached
