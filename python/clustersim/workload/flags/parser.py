# SPDX-License-Identifier: GPL-2.0-only
"""The parser of the commands' flags."""
import argparse
import sys
from collections.abc import Mapping, Sequence

from clustersim import command, notices
from clustersim.errors import InputError


class Parser(command.Parser):
    """That of commands whose flags have many names, of which a later one replaces an earlier one."""

    def parse_args(self, args: Sequence[str] | None = None,  # type: ignore[override]
                   namespace: None = None) -> argparse.Namespace:
        given = super().parse_args(args, namespace)
        command.tell_repetitions(self, sys.argv[1:] if args is None else args)  # Megatron-LM takes the last, too
        for name, value in vars(given).items():
            if value == "":  # else it would count as left out
                raise InputError(f"--{name} is empty; expected a value")
        return given


def checked_name(name: str | None) -> str | None:
    """@return --name @raise InputError it leads into another directory"""
    if name and "/" in name:
        raise InputError(f'--name "{name}" has a slash; expected the name of a file; --output_dir has its directory')
    return name


OTHER_SPELLINGS = {"--num_experts": ["--experts"], "--moe_router_topk": ["--topk"],
                   "--n_dense_layers": ["--n_dense_layer"]}
OTHER_SPELLINGS |= {"--qk_nope_dim": ["--qk_head_dim", "--qk-head-dim"],
                    "--qk_rope_dim": ["--qk_pos_emb_head_dim", "--qk-pos-emb-head-dim"]}


def spellings(name: str) -> list[str]:
    """AICB writes some flags with hyphens and some with underscores; both are read."""
    hyphens, underscores = "--" + name[2:].replace("_", "-"), "--" + name[2:].replace("-", "_")
    return list(dict.fromkeys([name, underscores, hyphens, *OTHER_SPELLINGS.get(name, [])]))


def tell_idle(reasons: Mapping[str, str]) -> None:
    """Warns of flags that change nothing. @param reasons of each, why"""
    for flag, why in reasons.items():
        notices.warn(f"{flag} has no effect: {why}", command.name())
