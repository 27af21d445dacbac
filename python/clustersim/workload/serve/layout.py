# SPDX-License-Identifier: GPL-2.0-only
"""Flags of an instance's layout: attention by tensor or data parallelism, experts by tensor or expert parallelism."""
import argparse
from collections.abc import Iterator, Sequence
from typing import Any, TYPE_CHECKING

from clustersim.workload.kernels.roofline import FACTOR_BYTES
from clustersim.workload.plan import exchange
from clustersim.workload.plan.exchange import Exchange

if TYPE_CHECKING:
    from clustersim.workload.serve.instance import Instance

DISPATCHERS = ("alltoall", "deepep", "allgather")
DISPATCH_BYTES = {"bf16": exchange.BYTES["bf16"], "fp8": exchange.BYTES["fp8"], "nvfp4": FACTOR_BYTES["nvfp4"]}
SIZES = {"tp": ("tensor_parallel_size", "GPUs of a tensor-parallel group (default: 1)"),
         "pp": ("pipeline_parallel_size", "pipeline stages (default: 1)"),
         "ep": ("expert_parallel_size", "ranks that share out the experts (default: 1). Without --dp and "
                "--enable_expert_parallel, also replicas of the attention layers, on TP GPUs each"),
         "dp": ("data_parallel_size", "replicas of the attention layers. Their TP x DP ranks cut the experts, or share "
                "them out with --enable_expert_parallel (default: as many as EP)")}


def add_flags(group: argparse._ArgumentGroup) -> None:
    """Adds the sizes of instances, and of those of a role."""
    for role in ("", "prefill_", "decode_"):
        def add(name: str, *others: str, role: str = role, **how: Any) -> None:
            names = [f"--{role}{each}" for each in (name, *others)]
            spelt = (one for each in names for one in (each, "--" + each[2:].replace("_", "-")))
            group.add_argument(*dict.fromkeys(spelt), **how)

        whose = f"of {role[:-1]} instances (default: "
        if role:
            add("gpus", type=int, metavar="N", help=f"GPUs of {role[:-1]} instances")
        for size, (name, text) in SIZES.items():
            add(size, name, type=int, metavar="N", help=f"{size.upper()} {whose}--{size})" if role else text)
        add("redundant_experts", "num_redundant_experts", "ep_num_redundant_experts", type=int, metavar="N",
            help=f"redundant experts {whose}--redundant_experts)" if role else
            "copies of the experts that get most tokens; EPLB places experts and copies so that ranks get as many tokens "
            "as each other (0: no copies; default: experts lie in order)")
        add("moe_dispatcher", choices=DISPATCHERS,
            help=f"dispatcher {whose}--moe_dispatcher)" if role else
            "how tokens reach their experts. alltoall (default): once to each expert; deepep: once to each rank that has "
            "some; allgather (default with --dp or --enable_expert_parallel, as in vLLM): to all ranks. With one "
            "replica, its ranks have them already, and an AllReduce adds up the results")
        add("moe_dispatch_dtype", choices=DISPATCH_BYTES,
            help=f"type of dispatched tokens {whose}--moe_dispatch_dtype)" if role else
            "type of the tokens that are sent to experts; results come back in bf16 (default: bf16)")
    group.add_argument("--enable_expert_parallel", "--enable-expert-parallel", action="store_true",
                       help="TP x DP ranks share out whole experts (vLLM's flag). With DP 1, --ep may be less: each "
                       "expert is then cut by TP / EP ranks (TensorRT-LLM's --ep_size)")


def _own(given: argparse.Namespace, role: str, name: str, default: Any = None) -> Any:
    """@return a flag of a role, or of all, or the default"""
    own = getattr(given, f"{role}_{name}") if role else None
    return own if own is not None else default if getattr(given, name) is None else getattr(given, name)


def sizes(given: argparse.Namespace, role: str) -> dict[str, Any]:
    """@return the sizes of an Instance @param role "", or prefill or decode, whose own flags win"""
    tp, pp = _own(given, role, "tp", 1), _own(given, role, "pp", 1)
    if _own(given, role, "dp") is None and not given.enable_expert_parallel:
        return {"tp": tp, "pp": pp, "dp": 0, "ep": _own(given, role, "ep", 1)}
    dp = _own(given, role, "dp", 1)
    return {"tp": tp, "pp": pp, "dp": dp,
            "ep": _own(given, role, "ep", tp * dp if given.enable_expert_parallel else 1)}


def redundant(given: argparse.Namespace, role: str) -> int | None:
    """@return copies of experts, or None without EPLB"""
    found: int | None = _own(given, role, "redundant_experts")
    return found


def exchange_of(given: argparse.Namespace, role: str, dp: int, loads: tuple[float, ...]) -> Exchange:
    """@return how tokens reach the experts of an Instance @param dp of its sizes() @param loads of experts"""
    return Exchange(_own(given, role, "moe_dispatcher", "allgather" if dp else "alltoall"),
                    DISPATCH_BYTES[_own(given, role, "moe_dispatch_dtype", "bf16")], loads=loads)


def idle_rules(pools: "Sequence[tuple[str, Instance]]") -> "Iterator[tuple[bool, str, Sequence[str]]]":
    """@return rules for command.tell_idle(): flags of dispatchers that change nothing"""
    for role in ("", "prefill", "decode"):
        own = [pool for name, pool in pools if role in ("", name)]
        prefix = f"{role}_" if role else ""
        where = f" in {role} instances" if role else ""
        yield (any(pool.ep > 1 or pool.exchanges for pool in own), f"all experts are on each rank{where} (--ep)",
               (f"{prefix}moe_dispatcher",))
        yield any(pool.exchanges for pool in own), f"no tokens are sent{where}", (f"{prefix}moe_dispatch_dtype",)
