# SPDX-License-Identifier: GPL-2.0-only
"""The one exception for a user's mistake: its text is the whole message."""
import difflib
from collections.abc import Iterable


class InputError(Exception):
    """`what is wrong; expected what`, after `file:line: ` where there is a file"""


def nearest(word: object, known: Iterable[object]) -> str:
    """@return ', such as X' for the known word that resembles `word` most, or ''"""
    found = difflib.get_close_matches(str(word), [str(k) for k in known], 1, 0.5)
    return f"; the nearest is {found[0]}" if found else ""
