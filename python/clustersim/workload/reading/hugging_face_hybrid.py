# SPDX-License-Identifier: GPL-2.0-only
"""A config.json of hybrid models: layers that mix tokens in several ways, and blocks that are layers of their own."""
import json
from collections.abc import Iterable, Sequence
from typing import Any

from clustersim.errors import InputError
from clustersim.workload.model import mixer as mixers

OTHER_LETTERS = {"attention": "*", "full_attention": "*", "mlp": "-", "moe": "E"}


def without_attention() -> tuple[str, ...]:
    """@return families that have no attention"""
    return tuple(family for mixer in mixers.known().values() for family in mixer.families)


def _named_letters() -> dict[str, str]:
    """@return letters of blocks by the names that files give them"""
    return {**{name: mixer.letter for mixer in mixers.known().values() if mixer.letter not in ("", "*")
               for name in mixer.layer_types}, **OTHER_LETTERS}


def _sizes(config: mixers.Keys, kind: str, names: Iterable[str], layers: int) -> dict[str, Any]:
    """@return the sizes of the mixers in @p names, as fields of Model"""
    parts = dict.fromkeys(part for name in names for part in mixers.parts_of(name))
    return {name: mixers.known()[name].read(config, kind, layers) for name in parts if mixers.known()[name].__fields__}


def _letters(config: mixers.Keys) -> str:
    """@return a letter for each layer: the pattern itself, or its letters for names of blocks"""
    named = config.get("layers_block_type", "layer_block_types", "layer_types")
    pattern = config.get("hybrid_override_pattern", "hybrid_layer_pattern")
    if named is None:
        named = config.need("hybrid_override_pattern") if pattern is None else pattern
    letters, blocks = _named_letters(), mixers.blocks()
    for block in named:
        if block not in letters and block not in blocks:
            raise InputError(f"{config.path}: {json.dumps(block)} is not a kind of block; expected "
                             f"{', '.join([*letters, *blocks])}")
    return "".join(letters.get(block, block) for block in named)


def _nemotron(config: mixers.Keys, kind: str) -> dict[str, Any]:
    config.only("mamba_proj_bias", False)
    config.only("use_conv_bias", True)
    config.get("mtp_layers_block_type", "mtp_hybrid_override_pattern", "expand", "mamba_num_groups")
    pattern = _letters(config)
    return dict(pattern=pattern, layers=len(pattern), gated=False,
                expert_latent=config.get("moe_latent_size", default=0),
                **_sizes(config, kind, [mixers.blocks()[letter].mixer for letter in dict.fromkeys(pattern)],
                         len(pattern)))


def _longcat(config: mixers.Keys, layers: int) -> dict[str, Any]:
    """LongCat-Flash (arXiv 2509.01322): a layer has attention and an MLP twice, and experts beside them; some experts
    are empty."""
    empty, experts = config.get("zero_expert_num", default=0), config.need("n_routed_experts")
    config.get("zero_expert_type")
    return dict(pattern="*-*-E" * layers, layers=5 * layers,
                experts_per_token=round(config.need("num_experts_per_tok") * experts / (experts + empty)))


def of_blocks(config: mixers.Keys, kind: str, layers: int) -> dict[str, Any]:
    """@return fields of Model of a model whose blocks are layers of their own"""
    if kind.startswith("nemotron_h"):
        return _nemotron(config, kind)
    for name, mixer in mixers.known().items():  # Falcon Mamba, Codestral Mamba
        if mixer.letter and mixer.families and kind.startswith(mixer.families):
            return dict(pattern=mixer.letter * layers, **_sizes(config, kind, [name], layers))
    return _longcat(config, layers) if kind.startswith("longcat_flash") else {}


def of_mixers(config: mixers.Keys, kind: str, mixing: Sequence[str]) -> dict[str, Any]:
    """@return fields of Model of a model whose layers mix tokens in several ways"""
    if set(mixing) == {"attention"}:
        return {}
    found = _sizes(config, kind, mixing, len(mixing))
    for every in range(2, 9):
        if mixing == ["attention" if (index + 1) % every == 0 else "linear" for index in range(len(mixing))]:
            return dict(found, full_every=every)
    return dict(found, mixers=tuple(mixing))
