# SPDX-License-Identifier: GPL-2.0-only
"""Text of a user's as a cell of a comma-separated file; csv-cell.h is the same in C++.

A csv.writer quotes; what is left is that no spreadsheet takes the text for a formula, and no line breaks.

    escape("=1+1") == "'=1+1"
    unescape("'=1+1") == "=1+1"
"""
FORMULA = ("=", "+", "-", "@")


def escape(text: object) -> object:
    """@return the text of a cell; anything but text stays what it is"""
    if not isinstance(text, str):
        return text
    text = "".join(" " if letter < " " else letter for letter in text)
    return "'" + text if text.startswith(FORMULA) else text


def unescape(cell: str) -> str:
    """@return the text that a cell stands for"""
    return cell[1:] if cell.startswith(tuple("'" + sign for sign in FORMULA)) else cell
