# SPDX-License-Identifier: GPL-2.0-only
"""Reads config.json of a Hugging Face model: every decoder-only transformer that `Model` can describe."""
import json
import pathlib

import pydantic

from clustersim import input_file
from clustersim.workload import hugging_face_hybrid, hugging_face_keys, hugging_face_names
from clustersim.workload.errors import InputError, nearest
from clustersim.workload.model import CompressedAttention, LatentAttention, Model, SparseAttention

OLD_GPT = {"gpt2", "gpt_neo", "gpt_neox", "gpt_bigcode", "opt", "gptj", "bloom", "phi", "mpt", "falcon", "starcoder2"}
# The operators of this package do not carry out a layer of this kind.
OTHER_KINDS = {"mamba": "state-space layers", "jamba": "state-space layers",
               "t5": "an encoder", "bert": "an encoder", "whisper": "an encoder", "rwkv": "recurrent layers"}


# Kinds of attention that a key of layers may name, and whether a layer of this kind has a window.
ATTENTION_KINDS = {"full_attention": False, "global": False, "G": False, "sliding_attention": True, "local": True, "L": True,
                   "chunked_attention": True}


class _Config:
    """A file's keys by any of their names; remembers which have been asked for."""

    def __init__(self, path, keys, beside):
        self.path, self.keys, self.beside, self.asked = path, keys, beside, set()

    def get(self, *names, default=None):
        self.asked.update(names)
        for name in names:
            if self.keys.get(name) is not None:
                return self.keys[name]
        return default

    def need(self, *names):
        value = self.get(*names)
        if value is None:
            raise InputError(f"{self.path}: there is no {names[0]}; expected the config.json of a transformer")
        return value

    def only(self, name, *values):
        """Refuses a key with a value whose effect this package does not model."""
        value = self.get(name, default=values[0])
        if value not in values:
            raise InputError(f"{self.path}: {name} {json.dumps(value)} is not supported; expected "
                             f"{' or '.join(map(json.dumps, values))}")

    def check_all_known(self, tell):
        """Refuses a key that nobody has asked for, and that is not known to change nothing."""
        for key, value in [*self.keys.items(), *self.beside.items()]:
            if value is None or value is False or key in self.asked or hugging_face_keys.is_without_effect(key):
                continue
            if key not in hugging_face_keys.TOLD:
                raise InputError(f'{self.path}: "{key}" is not a key that this program knows; expected a config.json without it, if it '
                                 f"changes neither sizes nor work{nearest(key, self.asked)}")
            if value:
                tell(f"{self.path}: {key} has no effect: {hugging_face_keys.TOLD[key]}")


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
    text = keys.get("text_config")
    if not isinstance(text, dict):
        return _Config(path, hugging_face_names.common(keys, {}), {})
    beside = {key: value for key, value in keys.items() if key not in ("text_config", "vocab_size", *text)}
    return _Config(path, hugging_face_names.common(text, keys), beside)


def _attention(config, kind):
    heads = config.need("num_attention_heads", "n_head")
    hidden = config.need("hidden_size", "n_embd", "d_model")
    if kind == "deepseek_v4":
        return dict(heads=heads, kv_heads=config.get("num_key_value_heads", default=1), head_dim=config.need("head_dim"))
    if config.get("kv_lora_rank"):
        latent = LatentAttention(q_rank=config.get("q_lora_rank", default=0), kv_rank=config.need("kv_lora_rank"),
                                 nope_dim=config.need("qk_nope_head_dim"), rope_dim=config.need("qk_rope_head_dim"),
                                 value_dim=config.need("v_head_dim"))
        return dict(heads=heads, kv_heads=heads, head_dim=latent.nope_dim + latent.rope_dim, latent=latent)
    if not config.get("head_dim", "attention_head_dim") and hidden % heads:
        raise InputError(f"{config.path}: {heads} heads do not divide hidden_size {hidden}; expected head_dim")
    return dict(heads=heads, kv_heads=config.get("num_key_value_heads", default=heads),
                head_dim=config.get("head_dim", "attention_head_dim", default=hidden // heads))


def _sparse(config, kind, layers):
    """@return the fields of Model of attention to what an indexer chooses, and of DeepSeek-V4's to compressed entries"""
    if not config.get("index_topk"):
        return {}
    fields = dict(sparse=SparseAttention(heads=config.need("index_n_heads"), head_dim=config.need("index_head_dim"),
                                         top=config.need("index_topk")))
    if kind == "deepseek_v4":
        config.get("qk_rope_head_dim", "num_hash_layers", "compress_rope_theta", "hc_sinkhorn_iters", "hc_eps", "expert_dtype")
        ratios = config.need("compress_ratios")
        if not isinstance(ratios, list) or len(ratios) < layers:
            raise InputError(f"{config.path}: compress_ratios are not those of {layers} layers; expected a ratio for each")
        fields.update(compressed=CompressedAttention(q_rank=config.need("q_lora_rank"), output_rank=config.need("o_lora_rank"),
                                                     output_groups=config.need("o_groups"), ratios=ratios[:layers]),
                      streams=config.get("hc_mult", default=1))
    return fields


def _layer_list(config, layers):
    """@return for each layer whether it has a window, as a list of the file says it; None without one"""
    pattern = config.get("sliding_window_pattern", "_sliding_window_pattern")
    named = config.get("layer_types", "attention_layers")
    if named is None and isinstance(pattern, str):  # such as LLLG
        named = [pattern[index % len(pattern)] for index in range(layers)] if pattern else []
    if named is None:
        return None
    if not isinstance(named, list) or len(named) != layers:
        raise InputError(f"{config.path}: the kinds of attention are not those of {layers} layers; expected a kind for each")
    for kind in named:
        if kind not in ATTENTION_KINDS:
            raise InputError(f"{config.path}: {json.dumps(kind)} is not a kind of attention that this program models; expected "
                             f"{', '.join(ATTENTION_KINDS)}")
    return [ATTENTION_KINDS[kind] for kind in named]


def _is_windowed(config, kind, layers):
    """@return for each layer whether it has a window, in models with windows"""
    if hugging_face_hybrid.is_linear(kind):
        return [False] * layers
    listed = _layer_list(config, layers)
    llama4 = kind.startswith("llama4")
    every = config.get("sliding_window_pattern", "_sliding_window_pattern",
                       default=6 if kind.startswith("gemma3") else 2 if kind in ("gemma2", "gpt_oss") else 0)
    ropes = config.get("no_rope_layers")  # Llama 4: layers without positions see all tokens
    interval = config.get("no_rope_layer_interval", default=4)
    first = config.get("max_window_layers", default=0)
    first = first if kind.startswith("qwen") else 0
    if listed is not None:
        return listed
    if llama4 and isinstance(ropes, list) and len(ropes) == layers:
        return [bool(rope) for rope in ropes]
    every = interval if llama4 else every
    if every:
        return [(index + 1) % every != 0 for index in range(layers)]
    return [index >= first for index in range(layers)]


def _windows(config, kind, layers):
    """@return the fields of Model that say which tokens a token attends to"""
    chunk = config.get("attention_chunk_size", default=8192 if kind.startswith("llama4") else None)
    window = config.get("sliding_window", "window_size")
    config.get("attention_types")  # GPT-Neo's attention_layers say the same
    uses = config.get("use_sliding_window", default=not kind.startswith("qwen"))
    windowed = _is_windowed(config, kind, layers)
    size = chunk or (window if uses else None)
    if not size or not any(windowed):
        return {}
    period = next(n for n in range(1, layers + 1) if all(windowed[i] == windowed[i % n] for i in range(layers)))
    return dict(window=size, window_is_chunk=bool(chunk), windowed=tuple(windowed[:period]))


def _experts(config, kind, layers, ffn):
    experts = config.get("n_routed_experts", "num_routed_experts", "num_local_experts", "num_experts", default=0)
    if not experts:
        return {}
    config.only("mlp_only_layers", [])
    config.only("moe_layer_end_index", None, layers - 1)
    every = config.get("moe_layer_freq", "interleave_moe_layer_step", "decoder_sparse_step", default=1)
    dense = config.get("first_k_dense_replace", default=0)
    if isinstance(every, list):  # 1 for each layer with experts
        dense = every.index(1) if 1 in every else len(every)
        if every != [int(layer >= dense) for layer in range(layers)]:
            raise InputError(f"{config.path}: moe_layer_freq is not 0 for the first and 1 for all other layers; expected that, or a number")
        every = 1
    config.only("shared_intermediate_size", 0)
    expert_ffn = config.get("moe_intermediate_size", default=config.get("intermediate_size", default=ffn))
    shared = config.get("n_shared_experts", "num_shared_experts", default=1 if kind.startswith("llama4") else 0)
    return dict(experts=experts,
                experts_per_token=config.need("num_experts_per_tok", "num_experts_per_token", "experts_per_token"),
                expert_ffn=expert_ffn,
                shared_ffn=config.get("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
                                      default=shared * expert_ffn),
                shared_gate=(kind == "qwen2_moe" or hugging_face_hybrid.is_linear(kind)) and
                bool(config.get("shared_expert_intermediate_size")),
                router_bias=config.get("topk_method") == "noaux_tc" or kind.startswith(("nemotron_h", "glm4_moe", "gpt_oss")),
                dense_layers=min(dense, layers), moe_every=every)


def _ask_for_all_of_experts(config):
    """Files of dense models have some of these keys, too: without experts they say nothing."""
    config.get("moe_intermediate_size", "moe_shared_expert_intermediate_size", "num_experts_per_tok", "num_experts_per_token",
               "experts_per_token", "n_shared_experts",
               "num_shared_experts", "shared_expert_intermediate_size", "topk_method", "first_k_dense_replace", "moe_layer_freq",
               "interleave_moe_layer_step", "decoder_sparse_step", "mlp_only_layers", "moe_layers", "intermediate_size_mlp",
               "intermediate_size", "num_key_value_heads", "head_dim", "q_lora_rank", "qk_head_dim")


def _biases(config, kind, old):
    """@return the fields of Model that say which linear layers have a bias"""
    attention = bool(config.get("attention_bias", "qkv_bias", default=kind in ("qwen2", "qwen2_moe")))
    rest = config.get("mlp_bias", "use_bias", "enable_bias", "bias")
    if rest and not attention and not old and "mlp_bias" in config.keys:
        raise InputError(f"{config.path}: mlp_bias true without attention_bias is not supported; expected both or none")
    return dict(bias=old if rest is None else bool(rest), qkv_bias=attention)


def read(path, tell=lambda line: None):
    """@param tell called with a line for each key that one might expect to count @return the Model that the file describes"""
    config = _load(path)
    kind = str(config.get("model_type", default=""))
    for other, what in OTHER_KINDS.items():
        if kind.startswith(other):
            raise InputError(f"{path}: a {kind} model has {what}; expected a decoder-only transformer")
    old = kind in OLD_GPT
    try:
        hidden = config.need("hidden_size", "n_embd", "d_model")
        layers = config.get("num_hidden_layers", "n_layer", "num_layers") or (0 if kind.startswith("nemotron_h") else
                                                                            config.need("num_hidden_layers"))
        hybrid = hugging_face_hybrid.read(config, kind, layers)
        layers = hybrid.pop("layers", layers)
        ffn = config.get("intermediate_size_mlp", "intermediate_size", "ffn_dim", "n_inner", default=4 * hidden)
        ffn = config.get("moe_intermediate_size", default=ffn) if kind == "deepseek_v4" else ffn
        attention = _attention(config, kind)
        config.only("word_embed_proj_dim", hidden)
        config.only("attn_type_list", None, [1] * layers)  # MiniMax: 0 is linear attention
        config.only("mlp_type", "default")
        config.only("use_gated_activation", True)
        learned = config.get("n_positions", "max_position_embeddings", default=0)
        norms = config.get("use_qk_norm", "qk_layernorm", default=kind.startswith(("qwen3", "gemma3")))
        model = Model(
            name=str(config.get("_name_or_path", default="") or kind or pathlib.Path(path).stem).split("/")[-1],
            layers=layers, hidden=hidden, ffn=ffn, vocabulary=config.need("vocab_size"),
            positions=learned if kind in ("gpt2", "opt", "gpt_neo") or config.get("learned_pos_emb", default=kind == "mpt") and not
            config.get("alibi") else 0,
            gated=hybrid.pop("gated", not old), norm="layer" if old else "rms",
            # Llama 4 norms queries and keys without weights.
            qk_norm=bool(norms) and not kind.startswith("llama4"),
            tied=bool(config.get("tie_word_embeddings", default=kind.startswith(hugging_face_names.TIED))),
            **attention, **_biases(config, kind, old), **_windows(config, kind, layers), **_experts(config, kind, layers, ffn),
            **hybrid, **_sparse(config, kind, layers))
        _ask_for_all_of_experts(config)
        config.check_all_known(tell)
        return model
    except (pydantic.ValidationError, TypeError) as error:
        reason = error.errors()[0] if isinstance(error, pydantic.ValidationError) else {"loc": (), "msg": str(error)}
        where = ".".join(map(str, reason["loc"])).removeprefix("__root__")
        raise InputError(f"{path}: {where + ': ' if where else ''}{reason['msg']}; "
                         "expected the config.json of a transformer") from None
