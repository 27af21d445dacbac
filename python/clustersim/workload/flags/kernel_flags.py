# SPDX-License-Identifier: GPL-2.0-only
"""Flags that say how long operators take: types of numbers, tables of kernels, GPUs."""
import argparse
import dataclasses
import pathlib
from typing import TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.workload.kernels import gpus, measured
from clustersim.workload.model import operators
from clustersim.workload.plan import adapters
from clustersim.workload.plan.parallel import Parallelism

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.model.operator import Operator
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.precision import Precise

DTYPES = "bfloat16, fp8 (a scale per tensor), fp8_blockwise, mxfp8 or nvfp4"


def add_gpu_table(group: argparse._ActionsContainer) -> None:
    group.add_argument("--gpu_table", "--gpu-table", metavar="FILE",
                       help="file with further GPU types (YAML)")


def add_kernel_flags(group: argparse._ActionsContainer) -> None:
    group.add_argument("--kernels", choices=gpus.KERNELS, default=gpus.KERNELS[0],
                       help="source of operators' times: tables of measured kernels, or the GPU's peaks times the "
                       "share that the best kernels reach (default: measured)")
    group.add_argument("--measured", "--comp_filepath", metavar="FILE",
                       help="your operators' times: CSV, AICB's AIOB file, or a directory of kernel_tables.py")


def add_operator_dtype(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--operator_dtype", "--operator-dtype", nargs="+", default=[], metavar="OPERATOR=TYPE",
                       help="other types of numbers for some GEMMs, such as linear_qkv=bf16 mamba_out=mxfp8")


def dtype_of(given: argparse.Namespace) -> str:
    if given.dtype not in gpus.PRECISIONS:
        raise InputError(f'--dtype "{given.dtype}" is not supported; expected {DTYPES}')
    return gpus.PRECISIONS[given.dtype]


def with_times(gpu: "Gpu", given: argparse.Namespace, model: "Model") -> "Gpu":
    """@return the Gpu with the times of the model's operators, or the tables, of --measured"""
    if not given.measured:
        return gpu
    if pathlib.Path(given.measured).is_dir():
        return gpu.copy(update={"tables": gpus.tables_of(gpu, given.measured)})
    return gpu.copy(update={"measured": measured.read(given.measured,
                                                      {operator.name for operator in _operators_of(model)})})


def _operators_of(model: "Model") -> "list[Operator]":
    """@return operators of all layers"""
    bare = Parallelism(1)
    return [operator for kind in set(operators.kinds(model, bare)) for operator in operators.of_kind(model, bare, kind)]


def check_operator_dtypes(given: argparse.Namespace, model: "Model", found: "Precise") -> "Precise":
    """@return the Precise, whose operators are products of the model"""
    known = {o.name for o in _operators_of(model) if o.kind == "matmul"} - operators.ALWAYS_BFLOAT16
    for text in given.operator_dtype:
        name = text.partition("=")[0]
        if known.isdisjoint(adapters.TARGETS.get(name, (name,))):
            raise InputError(f'--operator_dtype: "{name}" is not a product of {model.name} whose type can be chosen; '
                             f'expected one of '
                             f"{', '.join(sorted(known))}")
    for _, kind in found.operators:
        gpus.find(given.gpu_type, kind)  # refuses what it has not got
    return dataclasses.replace(found, operators=tuple(item for item in found.operators if item[0] in known))
