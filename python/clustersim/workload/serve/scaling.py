# SPDX-License-Identifier: GPL-2.0-only
"""Lines of an INFERENCE file for instances that start and stop with the load."""
import argparse
from typing import TYPE_CHECKING

from clustersim.workload.inference.flags import SCALING

if TYPE_CHECKING:
    from clustersim.workload.serve.instance import Instance


def lines(given: argparse.Namespace, pool: "Instance") -> list[str]:
    """@return lines of the file; ranks of the store follow those of the remote cache"""
    found = [f"{key} {getattr(given, key)}" for key in SCALING
             if key != "weights_store_gpus" and getattr(given, key) is not None]
    if given.weights_store_gpus:
        first = pool.gpus + int(given.remote_cache_gpus or 0)
        found += [f"weights_store {first}-{first + int(given.weights_store_gpus) - 1}",
                  f"weights_bytes {round(max(map(pool.weights_of_stage, range(pool.pp))))}"]
    return found
