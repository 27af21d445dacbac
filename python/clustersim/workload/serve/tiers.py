# SPDX-License-Identifier: GPL-2.0-only
"""Lines of an INFERENCE file for caches outside the GPUs: the sizes of memories as blocks."""
import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.workload.inference.flags import TIERS

if TYPE_CHECKING:
    from clustersim.workload.serve.instance import Instance

MOST_BLOCKS = 1 << 40
KEYS = [key for key in TIERS if not key.endswith("_gb") and key != "remote_cache_gpus"]


def _blocks(given: argparse.Namespace, key: str, bytes_of_block: float) -> int:
    """@return the blocks that a size has room for"""
    found = int(float(getattr(given, key)) * 1e9 // bytes_of_block)
    if not 1 <= found <= MOST_BLOCKS:
        raise InputError(f"--{key} {getattr(given, key)} has room for {found} blocks of {bytes_of_block:.0f} bytes; "
                         f"expected 1 to {MOST_BLOCKS}")
    return found


def lines(given: argparse.Namespace, pools: "Sequence[tuple[str, Instance]]") -> list[str]:
    """@return lines of the file @param pools the first computes prompts; ranks of the remote pool follow the last"""
    pool = pools[0][1]
    if not any((given.host_cache_gb, given.nvme_cache_gb, given.remote_cache_gpus)):
        return []
    if not pool.kept.moves:
        raise InputError(f"{pool.model.name} has layers that do not keep all tokens, whose caches outside the GPUs are "
                         "not modelled; expected no --host_cache_gb, --nvme_cache_gb or --remote_cache_gpus")
    if given.enable_prefix_caching == "0":
        raise InputError("caches outside the GPUs keep blocks that prompts share; expected --enable_prefix_caching 1")
    tokens = int(given.block_size or 16)
    found = [f"{tier}_cache_blocks {_blocks(given, f'{tier}_cache_gb', tokens * pool.kept.of_fullest(pool))}"
             for tier in ("host", "nvme") if getattr(given, f"{tier}_cache_gb")]
    if given.remote_cache_gpus:
        first = sum(each.gpus for _, each in pools)
        whole = tokens * pool.model.layers * pool.cached_heads * pool.head_bytes
        found += [f"remote_cache {first}-{first + int(given.remote_cache_gpus) - 1}",
                  f"remote_cache_blocks {_blocks(given, 'remote_cache_gb', whole)}"]
    return found + [f"{key} {getattr(given, key)}" for key in KEYS if getattr(given, key) is not None]
