# SPDX-License-Identifier: GPL-2.0-only
"""Weights of 4 bits whose products compute with bfloat16: AWQ, GPTQ, MXFP4."""
import json
import os
from typing import NamedTuple

from clustersim import input_file


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
