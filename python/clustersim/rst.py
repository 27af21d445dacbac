# SPDX-License-Identifier: GPL-2.0-only
"""Words and tables of pages, in reStructuredText."""
from collections.abc import Iterable, Sequence


def percent(value: float) -> str:
    """@return a fraction in per cent"""
    return f"{value * 100:.1f} %"


def signed(value: float) -> str:
    """@return a fraction in per cent, with its sign"""
    return f"{value * 100:+.1f} %"


def table_link(name: str) -> str:
    """@return a reference to a table's section of the accuracy card"""
    return f":ref:`{name} <accuracy-{name.lower()}>`"


def escape(text: str) -> str:
    """@return the text without a meaning in reStructuredText"""
    return text.replace("\\", "\\\\").replace("*", "\\*").replace("_", "\\_").replace("`", "\\`")


def list_table(header: Sequence[object], rows: Iterable[Sequence[object]], widths: Sequence[int] = ()) -> str:
    """@return a list-table directive @param widths of columns, relative to each other; none: equal"""
    lines = [".. list-table::", "   :header-rows: 1",
             *([f"   :widths: {' '.join(map(str, widths))}"] if widths else []), ""]
    for row in (header, *rows):
        lines += [f"   {'*' if i == 0 else ' '} - {cell}".rstrip() for i, cell in enumerate(row)]
    return "\n".join(lines) + "\n\n"
