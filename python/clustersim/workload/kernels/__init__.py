# SPDX-License-Identifier: GPL-2.0-only
"""How long kernels take on a GPU.

`roofline` works from peaks and ceilings alone. `launch` has what the CPU takes to start kernels.
"""
from clustersim.workload.kernels import roofline


def times_ns(gpu, operator):
    """@return nanoseconds of the operator's forward, input-gradient and weight-gradient pass on the Gpu"""
    return roofline.times_ns(gpu, operator)
