# SPDX-License-Identifier: GPL-2.0-only
"""Times of operators that a user has measured.

Either CSV with the header `operator,forward_us,input_gradient_us,weight_gradient_us`, or what AICB's AIOB writes: a
name with a colon, then lines such as `time_gpu_avg: 889`, in microseconds.
"""
import csv
import math
import os
import re
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from clustersim import input_file
from clustersim.errors import InputError, nearest

if TYPE_CHECKING:
    from clustersim.workload.kernels.work import Passes

COLUMNS = ["operator", "forward_us", "input_gradient_us", "weight_gradient_us"]
# AIOB measures forward passes only; AICB takes the same time for each gradient.
AIOB_NAMES = {"layernorm": "input_norm", "atten_qkv": "qkv", "atten_flash": "attention", "atten_linear": "projection",
              "layernorm2": "post_norm", "mlp_linear_1": "mlp_up", "mlp_gelu": "mlp_activation",
              "mlp_linear_2": "mlp_down",
              "Emb": "embedding", "layernorm_post": "final_norm", "logit_time": "logits", "param_time": "optimizer"}
KNOWN = {*AIOB_NAMES.values(), "query", "query_down", "query_up", "key_value_down", "key_value_up", "router",
         "shared_gate",
         "dispatch", "combine", "expert_up", "expert_activation", "expert_down", "shared_up", "shared_activation",
         "shared_down", "loss"}


def _nanoseconds(path: str | os.PathLike, line: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f'{path}:{line}: "{text.strip()}" is not a valid time; expected microseconds, not negative')
    return value * 1000


def _read_csv(path: str | os.PathLike, lines: Sequence[str], known: Set[str]) -> "dict[str, Passes]":
    times: "dict[str, Passes]" = {}
    for number, row in enumerate(csv.reader(lines[1:]), 2):
        if not row:
            continue
        if len(row) != len(COLUMNS):
            raise InputError(f"{path}:{number}: {len(row)} columns; expected {','.join(COLUMNS)}")
        name = row[0].strip()
        if name not in known:
            raise InputError(f'{path}:{number}: "{name}" is not an operator; expected one of {", ".join(sorted(known))}'
                             f'{nearest(name, known)}')
        forward, by_input, by_weight = (_nanoseconds(path, number, cell) for cell in row[1:])
        times[name] = forward, by_input, by_weight
    return times


def _read_aiob(path: str | os.PathLike, lines: Sequence[str]) -> "dict[str, Passes]":
    times: "dict[str, Passes]" = {}
    name = None
    for number, line in enumerate(lines, 1):
        key, colon, value = line.partition(":")
        if line.strip() and not colon:
            raise InputError(f'{path}:{number}: "{line.strip()}" has no colon; expected AIOB\'s "name:" and '
                             f'"time_gpu_avg: us"')
        if colon and not value.strip():
            name = key.strip()
        elif key.strip() == "time_gpu_avg" and name:
            if name in AIOB_NAMES:
                each = _nanoseconds(path, number, value)
                times[AIOB_NAMES[name]] = each, each, each
    return times


def read(path: str | os.PathLike, of_model: Set[str] = frozenset()) -> "dict[str, Passes]":
    """@param of_model names of operators that a model has beside the usual ones
    @return nanoseconds of each operator: forward, input gradient, weight gradient"""
    lines = input_file.read_input(path, "times of operators").splitlines()
    if lines and [cell.strip() for cell in lines[0].split(",")] == COLUMNS:
        times = _read_csv(path, lines, KNOWN | of_model)
    elif lines and re.match(r"\s*(train_iter\s*:|\w+\s*:\s*$)", lines[0]):
        times = _read_aiob(path, lines)
    else:
        raise InputError(f"{path}:1: neither CSV nor AIOB's text; expected the header {','.join(COLUMNS)}")
    if not times:
        raise InputError(f"{path}: there are no times; expected at least one operator")
    return times
