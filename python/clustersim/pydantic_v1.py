# SPDX-License-Identifier: GPL-2.0-only
"""pydantic's interface of version 1: that of the package, or the copy that version 2 has of it.

Debian 12 and Ubuntu 24.04 have version 1, Debian 13 has version 2.
"""
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # A type checker knows the version of Python alone: Debian 13's, and each pydantic for it has the copy.
    if sys.version_info >= (3, 13):
        from pydantic import v1 as pydantic
    else:
        import pydantic as pydantic
else:
    try:
        from pydantic import v1 as pydantic
    except ImportError:
        import pydantic

__all__ = ["pydantic"]
