# SPDX-License-Identifier: GPL-2.0-only
"""How long kernels take on a GPU.

`roofline` works from peaks and ceilings alone. With tables (`products`, `attention`, `streams`;
scripts/maintain/kernel_tables.py makes them) a kernel reaches the share of its roofline that such kernels were measured
to reach. `launch` has what the CPU takes to start kernels.
"""
from typing import TYPE_CHECKING

from clustersim.workload.kernels import attention, fused, products, roofline, streams

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.kernels.work import Passes, Work


def times_ns(gpu: "Gpu", operator: "Work") -> "Passes":
    """@return nanoseconds of the operator's forward, input-gradient and weight-gradient pass on the Gpu"""
    if gpu.kernels == "roofline":
        return roofline.times_ns(gpu, operator)
    kind = {"matmul": products, "attention": attention, "memory": streams, "fused": roofline}[operator.kind]
    slower = fused.slower(gpu, operator)
    forward, by_input, by_weight = kind.times_ns(gpu, operator)
    return slower * forward, slower * by_input, slower * by_weight


def optimizer_ns(gpu: "Gpu", bytes_: float) -> float:
    """@return nanoseconds of Adam's step, which moves so many bytes of weights, gradients and states"""
    return bytes_ / gpu.stream_rate if gpu.kernels == "roofline" else streams.optimizer_ns(gpu, bytes_)
