# SPDX-License-Identifier: GPL-2.0-only
"""Names in pictures are text: two dollar signs in one make no formula."""
import contextlib
import warnings
from collections.abc import Iterator

import matplotlib


@contextlib.contextmanager
def plain_text() -> Iterator[None]:
    """Inside, pictures are made and written. Matplotlib's formatters of logarithmic axes write formulas, so that such
    an axis needs one of its own."""
    with matplotlib.rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from ")  # the picture has a box there
        yield
