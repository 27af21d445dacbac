# SPDX-License-Identifier: GPL-2.0-only
"""Time of the CPU to start kernels. A layer whose kernels take less than that is bound by the CPU."""
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clustersim.workload.kernels.work import Work

# Kernels of an operator's forward, input-gradient and weight-gradient pass, where each is fused as far as libraries
# fuse it: attention's backward pass has the product of results and their gradients, and the conversion of the queries'
# gradients beside its own kernel; that of a norm sums the gradients of its weights in a second one.
KERNELS = {"matmul": (1, 1, 1), "attention": (1, 3, 0), "memory": (1, 1, 0), "fused": (1, 3, 0)}
NORM = (1, 2, 0)


def kernels(operator: "Work") -> tuple[int, int, int]:
    """@return number of kernels of the forward, input-gradient and weight-gradient pass"""
    return NORM if operator.kind == "memory" and operator.name.endswith("norm") else KERNELS[operator.kind]


def count(operators: "Iterable[Work]") -> tuple[int, ...]:
    """@return number of kernels of the three passes of all `operators`"""
    return tuple(map(sum, zip((0, 0, 0), *map(kernels, operators))))


def bound_ns(gpu_ns: float, kernels: int, launch_ns: float, graphs: bool = False) -> float:
    """@return nanoseconds of work that takes the GPU `gpu_ns` in `kernels` kernels, each of which takes the CPU
    `launch_ns`

    With CUDA `graphs` the CPU starts all of them at once.
    """
    return gpu_ns if graphs else max(gpu_ns, kernels * launch_ns)
