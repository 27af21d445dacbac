# SPDX-License-Identifier: GPL-2.0-only
"""Kernels that do several things at once, and reach neither the memory's rate nor the peak: scans of chunks, short
convolutions, attention to chosen tokens, mixtures of residual streams. fused.csv has their measured forward passes /
what their bytes and work take at least.
"""
import functools
from typing import TYPE_CHECKING

from clustersim.workload.kernels import grid

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.kernels.work import Work


@functools.lru_cache(None)
def _table() -> dict[str, dict[str, float]]:
    header, rows = grid.rows("fused.csv")
    return {row[0]: dict(zip(header[1:], map(float, row[1:]))) for row in rows}


def slower(gpu: "Gpu", operator: "Work") -> float:
    """@return measured time / that of the roofline; 1 for an operator that is no such kernel"""
    return of(gpu, operator.kernel) if operator.kernel else 1.0


def of(gpu: "Gpu", kernel: str) -> float:
    """@return the same for a column of the table"""
    return _table()[gpu.like or gpu.name][kernel]
