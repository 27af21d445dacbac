# SPDX-License-Identifier: GPL-2.0-only
"""Models by name."""
import functools
import pathlib
import re
from typing import Any

import yaml

from clustersim.errors import InputError, nearest
from clustersim.workload.model.transformer import Model

# Names that others use. A Llama without a generation is the newest of its size.
OTHER_NAMES = {
    "llama_8b": "llama3_8b", "llama_13b": "llama2_13b", "llama_70b": "llama3_70b", "llama_405b": "llama3_405b",
    "mixtral_8*7b": "mixtral_8x7b", "mistral_8*7b": "mixtral_8x7b", "mixtral_8*22b": "mixtral_8x22b",
    "moe": "mixtral_8x7b",
    "deepseek_671b": "deepseek_v3", "deepseek_236b": "deepseek_v2", "deepseek_16b": "deepseek_v2_lite",
    "deepseek": "deepseek_v3", "deepseek671": "deepseek_v3", "deepseek236": "deepseek_v2",
    "deepseek16": "deepseek_v2_lite", "deepseek_r1": "deepseek_v3", "deepseek_v3.1": "deepseek_v3",
    "llama4_scout_17b_16e": "llama4_scout", "llama4_maverick_17b_128e": "llama4_maverick", "glm_4.6": "glm_4.5",
    "moonlight_16b_a3b": "moonlight_16b", "bloom": "bloom_176b",
    "13": "gpt_13b", "22": "gpt_22b", "175": "gpt_175b", "7": "llama_7b", "65": "llama_65b", "405": "llama3_405b",
}


@functools.lru_cache(None)
def entries() -> dict[str, dict[str, Any]]:
    """@return each name's entry: the fields of a Model, and `published` and `outside` in 10^9 parameters"""
    return yaml.safe_load((pathlib.Path(__file__).parent / "models.yaml").read_text())


# Ends of Hugging Face's names that change no size.
VARIANT = re.compile(r"_(instruct|it|chat|base|hf|pt|exp|thinking|v0\.\d|\d{4})$")


def _spelt(name: str) -> str:
    word = re.sub(r"[\s\-]+", "_", name.strip().lower().rpartition("/")[2]).removeprefix("meta_")
    word = re.sub(r"_?llama_([234])", r"llama\1", word)
    word = re.sub(r"^gemma_([23])", r"gemma\1", word)
    return re.sub(r"llama3\.[13]_(8b|70b|405b)", r"llama3_\1", word)  # the same sizes


def _known_as(name: str) -> str:
    word = _spelt(name)
    while word not in entries() and word not in OTHER_NAMES and VARIANT.search(word):
        word = VARIANT.sub("", word)
    return OTHER_NAMES.get(word, word)


def has(name: str) -> bool:
    """@return whether there is a Model called `name`"""
    return _known_as(name) in entries()


def find(name: str) -> "Model":
    """@return the Model called `name`, here or at Hugging Face, in any case, with blanks, hyphens or underscores"""
    word = _known_as(name)
    if word not in entries():
        raise InputError(f'"{name}" is not a model of the catalogue; expected one of --list_models, or --config'
                         f'{nearest(word, entries())}')
    fields = {key: value for key, value in entries()[word].items() if key not in ("published", "outside")}
    return Model(name=word, **fields)


COLUMNS = ("model", "parameters", "active", "layers", "hidden size", "experts")


def table() -> list[tuple[str, ...]]:
    """@return a row of COLUMNS for each model; parameters in 10^9, without layers that predict further tokens"""
    models = map(find, entries())
    return [(model.name, f"{model.parameters() / 1e9:.2f}", f"{model.active_parameters() / 1e9:.2f}", str(model.layers),
             str(model.hidden), f"{model.experts_per_token} of {model.experts}" if model.experts else "")
            for model in models]


def listing() -> str:
    """@return the table as lines of text"""
    rows = [COLUMNS, *table()]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join([f"{name:{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(cells, widths[1:]))])
                     for name, *cells in rows)
