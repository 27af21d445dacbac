# SPDX-License-Identifier: GPL-2.0-only
"""Flags that name a model, or change its sizes."""
import argparse
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from clustersim import notices
from clustersim.errors import InputError
from clustersim.pydantic_v1 import pydantic
from clustersim.workload.flags.parser import Parser, spellings, tell_idle
from clustersim.workload.megatron import megatron_line
from clustersim.workload.model import catalogue
from clustersim.workload.model import mixer as mixers
from clustersim.workload.model.transformer import Model
from clustersim.workload.reading import hugging_face

# Sizes of a model that flags may give or change: flag, and field of Model.
SIZES = {"--num_layers": "layers", "--hidden_size": "hidden", "--num_attention_heads": "heads",
         "--num_query_groups": "kv_heads",
         "--kv_channels": "head_dim", "--ffn_hidden_size": "ffn", "--vocab_size": "vocabulary",
         "--num_experts": "experts", "--moe_router_topk": "experts_per_token", "--n_dense_layers": "dense_layers",
         "--moe_ffn_hidden_size": "expert_ffn", "--mtp_num_layers": "predictions"}


class ListModels(argparse.Action):
    """Prints the catalogue and ends the program, as --help does."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(catalogue.listing())
        parser.exit()


def mixer_flags() -> list[tuple[str, str]]:
    """@return flags of sizes of mixers, and the fields that have them"""
    return [flag for mixer in mixers.known().values() for flag in mixer.flags.items()]


def add_model_flags(parser: "Parser") -> None:
    group = parser.add_argument_group("the model")
    group.add_argument("--model_name", "--model-name", "--model", metavar="NAME",
                       help=f"a model of the catalogue; --list_models shows all {len(catalogue.entries())}")
    group.add_argument("--list_models", "--list-models", nargs=0, action=ListModels, help="show the catalogue and exit")
    group.add_argument("-m", "--model_size", metavar="SIZE",
                       help="the same by AICB's sizes: 7, 13, 22, 65, 175, 405, moe, deepseek671, ...")
    group.add_argument("--config", metavar="FILE", help="the model is that of a config.json of Hugging Face")
    for flag, field in SIZES.items():
        group.add_argument(*spellings(flag), dest=field, type=int, metavar="N", help=argparse.SUPPRESS)
    for flag, field in mixer_flags():
        group.add_argument(*spellings(flag), dest=field, type=int, metavar="N", help=argparse.SUPPRESS)
    group.add_argument("--n_shared_expert", "--n_shared_experts", type=int, metavar="N", help=argparse.SUPPRESS)
    group.add_argument("--max_position_embeddings", "--max-position-embeddings", type=int, metavar="N",
                       help=argparse.SUPPRESS)
    group.add_argument("--swiglu", "--gated_linear_unit", "--gated-linear-unit", action="store_true",
                       help=argparse.SUPPRESS)
    group.add_argument("--add_bias_linear", "--add-bias-linear", action="store_true", help=argparse.SUPPRESS)
    megatron_line.add_model_flags(group)
    group.add_argument("--make_vocab_size_divisible_by", "--make-vocab-size-divisible-by", type=int, metavar="N",
                       help="the vocabulary is padded to a multiple of N (default: 1; in a pasted line 128)")


def find_model(given: argparse.Namespace) -> "Model":
    """@return the Model that the flags name and change"""
    name = given.model_name or given.model_size
    changes = {field: getattr(given, field) for field in SIZES.values() if getattr(given, field) is not None}
    if given.config:
        base = hugging_face.read(given.config, getattr(given, "tell", notices.warn)).fields_by_name()
    elif {"layers", "hidden"} <= changes.keys() and (not name or "heads" in changes and not catalogue.has(name)):
        base = {}
        if "heads" not in changes:
            changes["heads"] = changes["layers"]
            notices.remark(f"{changes['heads']} attention heads: as many as layers, as AICB takes them to be",
                           stream=sys.stdout)
    elif not name:
        raise InputError("there is no model; expected --model_name, --config, or --num_layers and --hidden_size")
    else:
        base = catalogue.find(name).fields_by_name()
    try:
        return _changed(given, base, changes)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])).removeprefix("__root__").removeprefix("sizes.")
        subject = f"the model's {where}" if where else "the model"
        words = {"value_error.number.not_gt": "more than", "value_error.number.not_ge": "at least",
                 "value_error.number.not_le": "at most"}
        if first["type"] in words:
            raise InputError(f"{subject} are out of range; expected {words[first['type']]} "
                             f"{first['ctx']['limit_value']}") from None
        raise InputError(f"{subject}: {first['msg']}; expected sizes that agree") from None


def _warn_of_lost_sizes(given: argparse.Namespace, fields: Mapping[str, Any]) -> None:
    """Warns of sizes of experts, or of learned positions, for a model without them."""
    lost = {} if fields.get("experts") else {"--moe_router_topk": given.experts_per_token,
                                             "--n_dense_layers": given.dense_layers,
                                             "--n_shared_expert": given.n_shared_expert,
                                             "--moe_ffn_hidden_size": given.expert_ffn,
                                             "--etp": getattr(given, "etp", None), **megatron_line.of_experts(given)}
    reasons = {flag: "the model has no experts" for flag, value in lost.items() if value}
    if given.max_position_embeddings is not None and not fields.get("positions"):
        reasons["--max_position_embeddings"] = "rotary positions have no weights"
    tell_idle(reasons)


def _warn_of_idle_sizes(model: "Model", base: Mapping[str, Any], changes: Mapping[str, int]) -> None:
    """Experts with a width of their own do not follow that of dense layers, nor do kinds of attention with sizes of
    their own."""
    reasons = {}
    if "ffn" in changes and model.ffn != model.expert_ffn and not model.has_dense_mlps:
        reasons["--ffn_hidden_size"] = "every MLP of the model is one of experts (--moe_ffn_hidden_size)"
    flags = {field: flag for flag, field in SIZES.items()}
    for field, why in model.attention.replaced_flags.items():
        if changes.get(field) not in (None, base.get(field)):
            reasons[flags[field]] = why
    tell_idle(reasons)


def _derived(base: Mapping[str, Any], fields: Mapping[str, Any], changes: Mapping[str, int]) -> dict[str, int]:
    """@return sizes that the model derives from others, and that no flag gives; a named model's sizes of its own
    stay"""
    found = {}
    moved = {field for field in ("hidden", "heads") if fields[field] != base.get(field)}
    if moved and "head_dim" not in changes and (not base or base["head_dim"] == base["hidden"] // base["heads"]):
        if fields["heads"] > 0 and fields["hidden"] % fields["heads"]:
            raise InputError(f"{fields['heads']} heads do not divide a hidden size of {fields['hidden']}; expected a "
                             "divisor, or --kv_channels")
        found["head_dim"] = max(1, fields["hidden"] // max(1, fields["heads"]))
    if "heads" in moved and "kv_heads" not in changes and base.get("kv_heads") == base.get("heads"):
        found["kv_heads"] = fields["heads"]
    if "hidden" in moved and "ffn" not in changes and base and not base["gated"] and base["ffn"] == 4 * base["hidden"]:
        found["ffn"] = 4 * fields["hidden"]
    if fields.get("experts") and "expert_ffn" not in changes and base.get("expert_ffn", 0) in (0, base.get("ffn")):
        found["expert_ffn"] = found.get("ffn", fields["ffn"])
    return found


def _changed(given: argparse.Namespace, base: Mapping[str, Any], changes: Mapping[str, int]) -> "Model":
    fields = {**base, **changes}
    fields.update({field: True for field, wanted in (("gated", given.swiglu), ("bias", given.add_bias_linear))
                   if wanted})
    if fields.get("positions") and given.max_position_embeddings is not None:
        fields["positions"] = given.max_position_embeddings
    if not base:
        fields = {"name": given.model_name or "custom", "vocabulary": 32000,
                  "gated": given.swiglu or given.frame == "DeepSeek", "bias": given.add_bias_linear, **changes}
        fields.setdefault("ffn", int(8 * fields["hidden"] / 3) // 64 * 64 if fields["gated"] else 4 * fields["hidden"])
    if fields.get("experts") == 1 and not base.get("experts"):
        fields["experts"] = 0  # AICB's --num_experts 1 is a dense model
    fields.update(_derived(base, fields, changes))
    _warn_of_lost_sizes(given, fields)
    if fields.get("experts") and "experts_per_token" not in changes:
        fields["experts_per_token"] = min(fields.get("experts_per_token") or 1, fields["experts"])
    if not fields.get("experts"):
        fields.update(experts_per_token=0, expert_ffn=0, shared_ffn=0, dense_layers=0)
    for name, mixer in mixers.known().items():
        own = {field: getattr(given, field) for field in mixer.flags.values() if getattr(given, field) is not None}
        if own:
            fields[name] = {**fields.get(name, {}), **own}
    fields.update(megatron_line.model_fields(given, fields))
    if given.n_shared_expert is not None:
        fields["shared_ffn"] = given.n_shared_expert * fields["expert_ffn"]
    if given.make_vocab_size_divisible_by is not None and given.make_vocab_size_divisible_by < 1:
        raise InputError(f"--make_vocab_size_divisible_by is {given.make_vocab_size_divisible_by}; expected at least 1")
    multiple = megatron_line.padding(given)
    step = multiple * given.tp if multiple > 1 else 1
    fields["vocabulary"] = -(-fields["vocabulary"] // step) * step
    model = Model(**fields)
    _warn_of_idle_sizes(model, base, changes)
    return model
