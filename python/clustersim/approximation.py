# SPDX-License-Identifier: GPL-2.0-only
"""Whether --fast-forward may have changed the times of a run."""
from collections.abc import Mapping
from typing import Any


def approximations_of(record: Mapping[str, Any]) -> str:
    """@param record run.json @return a warning with the reasons, or an empty string"""
    reuse = record.get("fast_forward")
    reasons = reuse.get("approximate") if isinstance(reuse, dict) else None
    return f"approximate with --fast-forward ({'; '.join(map(str, reasons))})" if reasons and isinstance(reasons,
        list) else ""
