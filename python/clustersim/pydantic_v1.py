# SPDX-License-Identifier: GPL-2.0-only
"""pydantic's interface of version 1: that of the package, or the copy that version 2 has of it.

Debian 12 and Ubuntu 24.04 have version 1, Debian 13 has version 2.
"""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pydantic as pydantic
else:
    try:
        from pydantic import v1 as pydantic
    except ImportError:
        import pydantic

__all__ = ["pydantic"]
