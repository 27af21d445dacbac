# SPDX-License-Identifier: GPL-2.0-only
"""Reads config.json of a Hugging Face model: every decoder-only transformer that `Model` can describe."""
import json
import pathlib

import pydantic

from clustersim import input_file
from clustersim.workload.errors import InputError
from clustersim.workload.model import LatentAttention, Model

OLD_GPT = {"gpt2", "gpt_neo", "gpt_neox", "opt", "gptj", "bloom", "phi"}
# What a layer of this kind does is not what the operators of this package do.
OTHER_KINDS = {"mamba": "state-space layers", "qwen3_next": "linear attention", "jamba": "state-space layers",
               "t5": "an encoder", "bert": "an encoder", "whisper": "an encoder", "rwkv": "recurrent layers"}


class _Config:
    """A file's keys by any of their names."""

    def __init__(self, path, keys):
        self.path, self.keys = path, keys

    def get(self, *names, default=None):
        for name in names:
            if self.keys.get(name) is not None:
                return self.keys[name]
        return default

    def need(self, *names):
        value = self.get(*names)
        if value is None:
            raise InputError(f"{self.path}: there is no {names[0]}; expected the config.json of a transformer")
        return value


def _load(path):
    try:
        keys = json.loads(input_file.read_text(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected a config.json") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a text file; expected a config.json") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: {error.msg}; expected JSON") from None
    if not isinstance(keys, dict):
        raise InputError(f"{path}:1: not an object; expected the keys of a model's configuration")
    return _Config(path, keys.get("text_config") or keys)


def _attention(config):
    heads = config.need("num_attention_heads", "n_head")
    hidden = config.need("hidden_size", "n_embd", "d_model")
    if config.get("kv_lora_rank"):
        latent = LatentAttention(q_rank=config.get("q_lora_rank", default=0), kv_rank=config.need("kv_lora_rank"),
                                 nope_dim=config.need("qk_nope_head_dim"), rope_dim=config.need("qk_rope_head_dim"),
                                 value_dim=config.need("v_head_dim"))
        return dict(heads=heads, kv_heads=heads, head_dim=latent.nope_dim + latent.rope_dim, latent=latent)
    if not config.get("head_dim") and hidden % heads:
        raise InputError(f"{config.path}: {heads} heads do not divide hidden_size {hidden}; expected head_dim")
    return dict(heads=heads, kv_heads=config.get("num_key_value_heads", default=heads),
                head_dim=config.get("head_dim", default=hidden // heads))


def _experts(config, kind, layers, ffn):
    experts = config.get("n_routed_experts", "num_routed_experts", "num_local_experts", "num_experts", default=0)
    if not experts:
        return {}
    expert_ffn = config.get("moe_intermediate_size", default=config.get("intermediate_size", default=ffn))
    shared = config.get("n_shared_experts", "num_shared_experts", default=1 if kind.startswith("llama4") else 0)
    return dict(experts=experts,
                experts_per_token=config.need("num_experts_per_tok", "num_experts_per_token", "experts_per_token"),
                expert_ffn=expert_ffn,
                shared_ffn=config.get("shared_expert_intermediate_size", default=shared * expert_ffn),
                shared_gate=kind == "qwen2_moe" and bool(config.get("shared_expert_intermediate_size")),
                router_bias=config.get("topk_method") == "noaux_tc",
                dense_layers=min(config.get("first_k_dense_replace", default=0), layers),
                moe_every=config.get("moe_layer_freq", "interleave_moe_layer_step", "decoder_sparse_step", default=1))


def read(path):
    """@return the Model that the file describes"""
    config = _load(path)
    kind = str(config.get("model_type", default=""))
    for other, what in OTHER_KINDS.items():
        if kind.startswith(other):
            raise InputError(f"{path}: a {kind} model has {what}; expected a decoder-only transformer")
    old = kind in OLD_GPT
    try:
        hidden = config.need("hidden_size", "n_embd", "d_model")
        layers = config.need("num_hidden_layers", "n_layer", "num_layers")
        ffn = config.get("intermediate_size_mlp", "intermediate_size", "ffn_dim", "n_inner", default=4 * hidden)
        attention = _attention(config)
        return Model(
            name=str(config.get("_name_or_path", default="") or kind or pathlib.Path(path).stem).split("/")[-1],
            layers=layers, hidden=hidden, ffn=ffn, vocabulary=config.need("vocab_size"),
            positions=config.get("n_positions", "max_position_embeddings", default=0) if kind in ("gpt2", "opt", "gpt_neo") else 0,
            gated=not old, norm="layer" if old else "rms", bias=old,
            qkv_bias=bool(config.get("attention_bias", "qkv_bias", default=kind in ("qwen2", "qwen2_moe"))),
            qk_norm=kind.startswith("qwen3"),
            tied=bool(config.get("tie_word_embeddings", default=kind == "gpt2")),
            **attention, **_experts(config, kind, layers, ffn))
    except (pydantic.ValidationError, TypeError) as error:
        reason = error.errors()[0] if isinstance(error, pydantic.ValidationError) else {"loc": (), "msg": str(error)}
        where = ".".join(map(str, reason["loc"])).removeprefix("__root__")
        raise InputError(f"{path}: {where + ': ' if where else ''}{reason['msg']}; "
                         "expected the config.json of a transformer") from None
