# SPDX-License-Identifier: GPL-2.0-only
"""The parser of the commands' flags."""
import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from clustersim import command, notices
from clustersim.errors import InputError, nearest


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; expected the flags of --help")

    def parse_args(self, args: Sequence[str] | None = None,  # type: ignore[override]
                   namespace: None = None) -> argparse.Namespace:
        given, more = self.parse_known_args(args, namespace)
        for word in more:
            flag = word.partition("=")[0]
            kind = "flag" if flag.startswith("-") else "word of these flags"
            raise InputError(f'"{flag}" is not a {kind}; expected the flags of '
                             f'--help{nearest(flag, self._option_string_actions)}')
        command.tell_repetitions(self, sys.argv[1:] if args is None else args)  # Megatron-LM takes the last, too
        for name, value in vars(given).items():
            if value == "":  # else it would count as left out
                raise InputError(f"--{name} is empty; expected a value")
        return given


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
