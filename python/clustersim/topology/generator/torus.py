# SPDX-License-Identifier: GPL-2.0-only
"""A torus of any number of dimensions: one router for each server, all its GPUs on it."""
import argparse
import math
import re
from collections.abc import Iterator, Sequence

from clustersim.topology.cluster import Cable, Cluster, InputError, count_nvswitches, nvlinks


def build(options: argparse.Namespace) -> tuple[Cluster, list[str]]:
    if not re.fullmatch(r"\d+(x\d+)*", options.dims):
        raise InputError(f"--dims '{options.dims}' is not a shape; expected one such as 4x4x4")
    dims = [int(size) for size in options.dims.split("x")]
    if min(dims) < 2:
        raise InputError(f"--dims {options.dims} has a dimension below 2; expected 2 or more")
    gpus = math.prod(dims) * options.gpu_per_server
    if options.gpu not in (None, gpus):
        raise InputError(f"a {options.dims} torus of servers of {options.gpu_per_server} has {gpus} "
                         f"GPUs, not {options.gpu}; expected --gpu {gpus} or other --dims")
    nvswitches = count_nvswitches(gpus, options)
    name = (f"Torus_{options.dims}_{gpus}g_{options.gpu_per_server}gps_{options.bandwidth}_"
            f"{options.gpu_type}")
    return Cluster(name, gpus, options.gpu_per_server, nvswitches, math.prod(dims), options.gpu_type,
                   links(options, gpus, nvswitches, dims), options.error_rate), []


def links(options: argparse.Namespace, gpus: int, nvswitches: int, dims: Sequence[int]) -> Iterator[Cable]:
    first = gpus + nvswitches
    for gpu in range(gpus):
        yield from nvlinks(gpu, options, gpus)
        yield gpu, first + gpu // options.gpu_per_server, options.bandwidth, options.latency
    for router in range(math.prod(dims)):
        stride = 1
        for size in dims:
            place = router // stride % size
            # A ring of two is one cable, not two.
            if size > 2 or place == 0:
                neighbour = router + ((place + 1) % size - place) * stride
                yield first + router, first + neighbour, options.ap_bandwidth, options.latency
            stride *= size
