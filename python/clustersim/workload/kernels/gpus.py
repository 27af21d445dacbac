# SPDX-License-Identifier: GPL-2.0-only
"""Types of GPUs: rates, and how long an operator takes on them."""
import os
import pathlib
from typing import Any, Dict, Optional, Tuple, TYPE_CHECKING
from collections.abc import Mapping

from clustersim import gpu_rows
from clustersim.errors import InputError, nearest
from clustersim.pydantic_v1 import pydantic
from clustersim.workload import kernels

if TYPE_CHECKING:
    from clustersim.workload.kernels.work import Work

# A flag's name of a type of numbers, and ours. Factors of products have 8 or 4 bits in all but the first.
PRECISIONS = {"bfloat16": "bfloat16", "bf16": "bfloat16", "float16": "bfloat16", "fp16": "bfloat16", "fp8": "fp8",
              "fp8_block": "fp8_block", "fp8_blockwise": "fp8_block", "mxfp8": "mxfp8", "nvfp4": "nvfp4"}
KERNELS = ("measured", "roofline")
# Fields that a row must have for times of kernels.
NEEDED = ("generation", "nvlink_gbps", "tflops", "sms", "memory_gb", "memory_gbps", "matmul", "attention", "stream")


class Gpu(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
    """Rates as in clustersim/gpus.yaml; `measured` has times in ns of operators by name: forward, input and weight
    gradient."""
    name: str
    generation: str
    nvlink_gbps: float  # GB/s of all links to the GPUs of its server, one direction
    tflops: float
    sms: int
    memory_gb: float
    memory_mib: float = 0.0  # that the driver reports; 0: it is not known
    memory_gbps: float
    matmul: float
    attention: Tuple[float, float]
    stream: float
    fp8: Optional[Tuple[float, float]] = None  # peak and ceiling of products of 8-bit floats
    fp4: Optional[Tuple[float, float]] = None  # the same of 4-bit floats
    product: Optional[Tuple[float, float]] = None  # peak and ceiling of matrix products, if not those of bfloat16
    precision: str = "bfloat16"  # of the factors of matrix products
    like: str = ""  # the GPU whose kernels reach the same shares of their rooflines; "": it has tables of its own
    kernels: str = "roofline"  # where times come from: measured or roofline
    watts: float = 0.0  # power limit; 0: it makes no difference to that of the GPU that constants were fitted to
    loaded: float = 1.0  # rate of products under lasting load / that of the tables
    attention_table: str = "tensorrt"  # the library that the table of attention stands for
    attention_library: str = "cudnn"  # the one that is used: cudnn, or flash (FlashAttention-2)
    tables: str = ""  # directory of the tables, if not that of the package
    measured: Dict[str, Tuple[float, float, float]] = {}

    def times_ns(self, operator: "Work") -> tuple[float, float, float]:
        """@return nanoseconds of the operator's forward, input-gradient and weight-gradient pass"""
        return self.measured.get(operator.name) or kernels.times_ns(self, operator)

    def optimizer_ns(self, bytes_: float) -> float:
        """@return nanoseconds of Adam's step, which moves so many bytes of weights, gradients and states"""
        return kernels.optimizer_ns(self, bytes_)

    def table(self, kind: str) -> str:
        """@return the table of `kind` of the GPU whose tables it takes"""
        return os.path.join(self.tables, f"{kind}-{self.like or self.name}.csv")

    def precision_of(self, operator: "Work") -> str:
        return operator.precision or self.precision

    def peak_and_ceiling(self, precision: str) -> tuple[float, float]:
        """@return TFLOP/s of dense products, and the share of them that the best product reaches"""
        found = {"bfloat16": (self.tflops, self.matmul), "nvfp4": self.fp4}.get(precision, self.fp8)
        assert found is not None  # find() refuses a type of numbers that the GPU lacks
        return found

    @property
    def memory_bytes(self) -> float:
        """Bytes that the driver reports, as far as they are known. Data sheets round them."""
        return self.memory_mib * 2**20 or self.memory_gb * 1e9

    @property
    def stream_rate(self) -> float:
        """Bytes per nanosecond of kernels that only move data."""
        return self.memory_gbps * self.stream


def names() -> list[str]:
    """@return the names of the GPU types whose kernels are known"""
    return list(gpu_rows.rows())


def _refuse_precision(known: str, fields: Mapping[str, Any], precision: str) -> None:
    bits = 4 if precision == "nvfp4" else 8
    if precision != "bfloat16" and f"fp{bits}" not in fields:
        raise InputError(f"{known} has no {bits}-bit floats; expected --dtype "
                         f"bfloat16{' or fp8' if 'fp8' in fields else ''}")
    if precision == "mxfp8" and "fp4" not in fields:
        raise InputError(f"{known} has no MXFP8, which came with Blackwell; expected --dtype fp8 or fp8_blockwise")


def tables_of(gpu: Gpu, directory: str | os.PathLike) -> str:
    """@return the directory, which must have the GPU's tables"""
    for kind in ("products", "attention"):
        name = gpu.table(kind)
        if not (pathlib.Path(directory) / name).is_file():
            raise InputError(f"{directory}: has no {name}; expected the tables that scripts/maintain/kernel_tables.py "
                             f"writes")
    return str(pathlib.Path(directory).resolve())


def _of_row(name: str, precision: str, times: str) -> Gpu:
    fields = gpu_rows.need(name, *NEEDED)
    own = {field: value for field, value in fields.items() if field in Gpu.__fields__}
    gpu = Gpu(name=name, precision=precision, kernels=times, **own)
    if not (pathlib.Path(__file__).parent / gpu.table("products")).is_file():
        raise InputError(f"{gpu_rows.table().places[name]}: GPU {name} "
                         f"{f'is like {gpu.like}, which' if gpu.like else 'lacks like, and'} has no "
                         "tables of kernels; expected like: GPU, whose shares of the rooflines it takes, such as H100")
    return gpu


def find(name: str, dtype: str = "bfloat16", kernels: str = "measured") -> "Gpu":
    """@return the Gpu of that name, whose matrix products have factors of type `dtype`; attention and logits are of
    bfloat16

    @param kernels measured: times from tables (GPUs without one take the shares of the GPU that they are `like`), or
    roofline
    """
    precision = PRECISIONS[dtype]
    for known, fields in gpu_rows.rows().items():
        if known.lower() == name.strip().lower():
            _refuse_precision(known, fields, precision)
            gpu = _of_row(known, precision, kernels)
            return gpu if precision == "bfloat16" else gpu.copy(update={"product": gpu.peak_and_ceiling(precision)})
    raise InputError(f'"{name}" is not a known GPU type; expected one of {", ".join(names())}{nearest(name, names())}')
