# SPDX-License-Identifier: GPL-2.0-only
"""Weights of 4 bits whose products compute with bfloat16: AWQ, GPTQ, MXFP4."""
import json
import os
from typing import NamedTuple, TYPE_CHECKING

from clustersim import input_file
from clustersim.errors import InputError

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model


class Quantization(NamedTuple):
    """Weights of 4 bits with scales that groups of them share."""
    name: str
    weight_bytes: float  # of a weight, with its share of a scale (and of a zero point)
    experts_only: bool  # whether other products keep bfloat16


GROUP = 128  # weights of a group of AWQ's and GPTQ's checkpoints
KINDS = {kind.name: kind for kind in (
    Quantization("awq", 4 / 8 + (2 + 4 / 8) / GROUP, False),  # a 16-bit scale and a 4-bit zero point
    Quantization("gptq", 4 / 8 + 2 / GROUP, False),  # symmetric
    Quantization("mxfp4", 4 / 8 + 1 / 32, True))}  # a byte for 32 weights; gpt-oss keeps bfloat16 elsewhere


def of_config(path: str | os.PathLike) -> str | None:
    """@return the kind that quantization_config of a config.json names, or None"""
    try:
        found = json.loads(input_file.read_input(path, "a config.json"))["quantization_config"]["quant_method"]
    except (ValueError, KeyError, TypeError):  # a reader of models says that it is wrong
        return None
    return found if found in KINDS else None


def find(name: str | None, dtype: str, model: "Model") -> Quantization | None:
    """@return the kind of that name, if there is one @param dtype of products"""
    if name is None:
        return None
    kind = KINDS[name]
    if dtype != "bfloat16":
        raise InputError(f"--quantization {name} is for products of bfloat16; expected no --dtype {dtype}")
    if kind.experts_only and not model.experts:
        raise InputError(f"--quantization {name} is that of experts, which {model.name} lacks; expected awq or gptq")
    return kind
