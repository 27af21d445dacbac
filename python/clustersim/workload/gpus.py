# SPDX-License-Identifier: GPL-2.0-only
"""How long an operator takes on a GPU: a roofline with measured ceilings."""
import functools
import pathlib
from typing import Dict, Optional, Tuple

import yaml
from pydantic import BaseModel, Extra

from clustersim.workload.errors import InputError, nearest

# Outputs of a matrix product that one block of threads computes (NVIDIA, Matrix Multiplication Background User's Guide).
TILES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64))


class Gpu(BaseModel, extra=Extra.forbid, frozen=True):
    """Rates as in gpus.yaml; `measured` has times in ns of operators by name: forward, input and weight gradient."""
    name: str
    tflops: float
    sms: int
    memory_gb: float
    memory_gbps: float
    matmul: float
    attention: Tuple[float, float]
    stream: float
    fp8: Optional[Tuple[float, float]] = None  # peak and ceiling of products of 8-bit floats
    product: Optional[Tuple[float, float]] = None  # peak and ceiling of matrix products, if not those of bfloat16
    measured: Dict[str, Tuple[float, float, float]] = {}

    def times_ns(self, operator):
        """@return nanoseconds of the operator's forward, input-gradient and weight-gradient pass"""
        if operator.name in self.measured:
            return self.measured[operator.name]
        rate = self.memory_gbps * self.stream  # 10^9 bytes/s: bytes per nanosecond
        moved = operator.bytes / rate
        if operator.kind == "matmul":
            m, n, k, count = operator.shape
            if self.product:  # factors of one byte, results of two
                moved = count * (m * k + k * n + 2 * m * n) / rate
            passes = ((m, n, k), (m, k, n), (k, n, m))
            return tuple(max(self._matmul_ns(*shape, count), moved) for shape in passes)
        if operator.kind == "attention":
            forward, backward = self.attention
            # The backward pass computes the scores again: five products instead of two.
            return (operator.flops / (self.tflops * 1e3 * forward),
                    2.5 * operator.flops / (self.tflops * 1e3 * backward), 0.0)
        # Backward reads the incoming gradient as well.
        return moved, 1.5 * moved, 0.0

    def _matmul_ns(self, m, n, k, count):
        peak, ceiling = self.product or (self.tflops, self.matmul)
        return 2 * m * n * k * count / (peak * 1e3 * ceiling * _filled(m, n, count, self.sms))


@functools.lru_cache(None)
def _filled(m, n, count, sms):
    """@return the share of the SMs' time that outputs take, with the best tile: the rest is tile and wave quantization"""
    best = 0.0
    for rows, columns in TILES:
        tiles = -(-m // rows) * -(-n // columns) * count
        waves = -(-tiles // sms)
        best = max(best, m * n * count / (waves * sms * rows * columns))
    return best


@functools.lru_cache(None)
def _table():
    return yaml.safe_load((pathlib.Path(__file__).parent / "gpus.yaml").read_text())


def names():
    return list(_table())


def find(name, dtype="bfloat16"):
    """@return the Gpu of that name; with `dtype` fp8 its matrix products are of 8-bit floats, attention is not"""
    for known, fields in _table().items():
        if known.lower() == name.strip().lower():
            gpu = Gpu(name=known, **fields)
            if dtype != "fp8":
                return gpu
            if not gpu.fp8:
                raise InputError(f"{known} has no 8-bit floats; expected --dtype bfloat16")
            return gpu.copy(update={"product": gpu.fp8})
    raise InputError(f'"{name}" is not a known GPU type; expected one of {", ".join(names())}{nearest(name, names())}')
