# SPDX-License-Identifier: GPL-2.0-only
"""Results that show themselves: the command's text in a terminal, tables and a picture in a notebook."""
import base64
import html
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

Table = tuple[str, "pd.DataFrame"]  # with a title
MOST_ROWS = 20  # of a table in a notebook; frames have all


def table_html(frame: "pd.DataFrame", title: str = "") -> str:
    """@return a table with its title; of a long one the first rows"""
    def number(value: float) -> str:
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"

    text = frame.head(MOST_ROWS).to_html(index=False, border=0, na_rep="", float_format=number)
    more = f" (the first {MOST_ROWS} of {len(frame)})" if len(frame) > MOST_ROWS else ""
    return (f"<p><b>{html.escape(title)}</b>{more}</p>" if title else "") + text


def picture_html(picture: bytes) -> str:
    """@param picture of a file.svg @return it as part of a page"""
    return f'<img style="max-width: 100%" src="data:image/svg+xml;base64,{base64.b64encode(picture).decode()}">'


class Shown:
    """A result with lines, tables and a picture; a class of results says which it has."""

    def lines(self) -> Iterable[str]:
        """@return what its command prints"""
        raise NotImplementedError

    def headline(self) -> str:
        """@return the sentence over the tables"""
        return next(iter(self.lines()))

    def tables(self) -> Iterable[Table]:
        """@return titles and tables for a notebook"""
        return ()

    def picture(self) -> bytes | None:
        """@return the bytes of a picture for a notebook, as of a file.svg, or None"""
        return None

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        parts = [f"<p>{html.escape(self.headline())}</p>"]
        parts += [table_html(frame, title) for title, frame in self.tables()]
        picture = self.picture()
        if picture:
            parts.append(picture_html(picture))
        return "\n".join(parts)
