# SPDX-License-Identifier: GPL-2.0-only
"""Messages for people: whatever a damaged file puts into one, it stays short and moves no cursor."""
from __future__ import annotations

import re
import typing

LONGEST = 80  # characters of a token; of a longer one the first are shown
LONGEST_PATH = 512  # the same, of one with a slash
MOST = 2000  # characters of a message, which is cut in its middle

# Text in quotes, which end where no letter follows; or a word.
_TOKEN = re.compile(r"""(?<!\w)(['"])(?:(?!\1(?!\w)).)*\1(?!\w)|\S+""", re.DOTALL)
_AROUND = "'\",;:()"


def printable(text: object, keep: str = "") -> str:
    """@return the text with escapes in the place of characters that move the cursor, cut a line or stand for no
    character"""
    return "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in str(text))


def _cut(token: re.Match[str]) -> str:
    text = token[0]
    ours = "; expected " in token.string[:token.start()]  # a list of columns, say
    if len(text) <= (LONGEST_PATH if ours or "/" in text else LONGEST):
        return text
    return f"{text[:LONGEST]}...{text[len(text.rstrip(_AROUND)):]}"


def legible(text: object) -> str:
    """@return the text with its long tokens cut, and control characters but line feeds as escapes"""
    whole = str(text)
    if len(whole) > MOST:
        whole = f"{whole[:MOST // 2]}...{whole[-MOST // 2:]}"
    lines = (line if line.startswith(("usage: ", " ")) else _TOKEN.sub(_cut, line) for line in whole.split("\n"))
    return printable("\n".join(lines), keep="\n")


def shortened_path(path: object) -> str:
    """@return the path, blanks or not; of one that no file has, the first characters"""
    text = str(path)
    return text if len(text) <= LONGEST_PATH else f"{text[:LONGEST]}..."


class Messages:
    """A stream that makes everything legible, whoever prints it."""

    def __init__(self, stream: typing.TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes text, legibly. @return the number of its letters"""
        self._stream.write(legible(text))
        return len(text)

    def __getattr__(self, name: str) -> typing.Any:
        return getattr(self._stream, name)
