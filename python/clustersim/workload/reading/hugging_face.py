# SPDX-License-Identifier: GPL-2.0-only
"""Reads config.json of a Hugging Face model: every decoder-only transformer that `Model` can describe."""
import json
import os
import pathlib

from collections.abc import Callable, Mapping
from typing import Any

from clustersim import input_file
from clustersim.errors import InputError, nearest
from clustersim.pydantic_v1 import pydantic
from clustersim.workload.model import mixer as mixers
from clustersim.workload.model.transformer import Model, SparseAttention
from clustersim.workload.reading import hugging_face_hybrid, hugging_face_keys, hugging_face_layers, hugging_face_names

OLD_GPT = {"gpt2", "gpt_neo", "gpt_neox", "gpt_bigcode", "opt", "gptj", "bloom", "phi", "mpt", "falcon", "starcoder2",
           "codegen", "xglm"}
# The operators of this package do not carry out a layer of this kind.
OTHER_KINDS = {**dict.fromkeys(("t5", "mt5", "umt5", "bart", "mbart", "pegasus", "marian", "m2m_100", "blenderbot",
                                "whisper", "switch_transformers", "bert",
                                "roberta", "deberta", "modernbert", "electra", "albert", "distilbert", "clip", "siglip",
                                "vit", "wav2vec2"), "an encoder"),
               **dict.fromkeys(("xlstm", "recurrent_gemma"), "recurrent layers"),
               "zamba": "layers that share their weights", "jetmoe": "experts of attention"}
MOST_LAYERS, MOST = 10_000, 10_000_000  # of sizes
UNGATED = {"relu2", "xielu"}  # activation functions of MLPs of two matrices, but for families that gate with one
GATED = {"bitnet"}


class _Config:
    """A file's keys by any of their names; remembers which have been asked for."""

    def __init__(self, path: str | os.PathLike, keys: dict[str, Any], beside: dict[str, Any]) -> None:
        self.path, self.keys, self.beside = str(path), keys, beside
        self.asked: set[str] = set()

    def get(self, *names: str, default: Any = None) -> Any:
        self.asked.update(names)
        for name in names:
            if self.keys.get(name) is not None:
                return self.keys[name]
        return default

    def need(self, *names: str) -> Any:
        value = self.get(*names)
        if value is None:
            raise InputError(f"{self.path}: there is no {names[0]}; expected the config.json of a transformer")
        return value

    def need_size(self, *names: str) -> int:
        value = _first(self.need(*names))
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError(f"{self.path}: {names[0]} {json.dumps(value)} is not a size; expected a whole number of "
                             f"at least 1")
        return value

    def only(self, name: str, *values: Any) -> None:
        """Refuses a key with a value whose effect this package does not model."""
        value = self.get(name, default=values[0])
        if value not in values:
            raise InputError(f"{self.path}: {name} {json.dumps(value)} is not supported; expected "
                             f"{' or '.join(map(json.dumps, values))}")

    def check_all_known(self, tell: Callable[[str], None]) -> None:
        """Refuses a key that nobody has asked for, and that may be a size; tells of others that are not known to change
        nothing."""
        for key, value in self.keys.items():
            is_told = key in hugging_face_keys.TOLD
            if key in self.asked or not value or not is_told and hugging_face_keys.is_without_effect(key):
                continue
            if is_told:
                tell(f"{self.path}: {key} has no effect: {hugging_face_keys.TOLD[key]}")
            elif hugging_face_keys.may_be_size(key, value):
                raise InputError(f'{self.path}: "{key}" is not a key that this program knows; expected a config.json '
                                 f'without it, if it '
                                 f"changes neither sizes nor work{nearest(key, self.asked)}")
            else:
                tell(f"{self.path}: {key} has no effect: this program does not know it")
        if any(isinstance(value, dict) and key.endswith("_config") and key not in hugging_face_keys.QUANTIZATION
               for key, value in self.beside.items()):
            tell(f"{self.path}: vision_config and the like have no effect: encoders are left out")
        for key in hugging_face_keys.QUANTIZATION:
            if self.beside.get(key):
                tell(f"{self.path}: {key} has no effect: {hugging_face_keys.TOLD[key]}")


def _load(path: str | os.PathLike) -> _Config:
    try:
        keys = json.loads(input_file.read_input(path, "a config.json"))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: {error.msg}; expected JSON") from None
    if not isinstance(keys, dict):
        raise InputError(f"{path}:1: not an object; expected the keys of a model's configuration")
    return _Config(path, *hugging_face_names.of_decoder(keys))


def _attention(config: _Config, kind: str) -> dict[str, Any]:
    hidden = config.need_size("hidden_size", "n_embd", "d_model")
    if kind.startswith(hugging_face_hybrid.without_attention()):
        return dict(heads=max(hidden // 64, 1), kv_heads=max(hidden // 64, 1), head_dim=64)  # of no layer
    heads = config.need_size("num_attention_heads", "n_head")
    for mixer in mixers.known().values():
        fields = mixer.attention_fields(config, heads)
        if fields is not None:
            return fields
    head_dim, kv_heads = config.get("head_dim", "attention_head_dim"), config.get("num_key_value_heads", default=heads)
    if not head_dim and hidden % heads:
        raise InputError(f"{config.path}: {heads} heads do not divide hidden_size {hidden}; expected head_dim")
    head_dim = head_dim[0] if isinstance(head_dim, list) else head_dim or hidden // heads
    value_dim = config.get("v_head_dim", default=0)
    return dict(heads=heads, kv_heads=kv_heads[0] if isinstance(kv_heads, list) else kv_heads, head_dim=head_dim,
                value_dim=0 if value_dim == head_dim else value_dim, query_rank=config.get("share_q_dim", default=0))


def _block_sparse(config: _Config) -> dict[str, SparseAttention]:
    """@return the field `sparse` of Model for attention to blocks of tokens that an indexer chooses (MiniMax-M3); the
    model takes the tokens of the blocks as chosen one by one"""
    keys = config.get("sparse_attention_config", default={})
    if not keys.get("use_sparse_attention", bool(keys)):
        return {}
    return dict(sparse=SparseAttention(heads=keys["sparse_num_index_heads"], head_dim=keys["sparse_index_dim"],
                                       top=keys["sparse_topk_blocks"] * keys["sparse_block_size"]))


def _sparse(config: _Config) -> dict[str, SparseAttention]:
    """@return the field `sparse` of Model for attention to tokens that an indexer chooses"""
    config.get("index_topk_freq", "index_skip_topk_offset", "index_topk_pattern")  # indexer_types say the same
    if not config.get("index_topk"):
        return _block_sparse(config)
    return dict(sparse=SparseAttention(heads=config.need("index_n_heads"), head_dim=config.need("index_head_dim"),
                                       top=config.need("index_topk")))


def _first(value: Any) -> Any:
    """@return the first of a list's values: of ERNIE's kinds of experts those for text"""
    return value[0] if isinstance(value, list) and value else value


def _shared(config: _Config, kind: str, expert_ffn: int) -> int:
    """@return columns of all shared experts of a layer, with those of a dense MLP beside the experts"""
    if config.get("residual_moe", "enable_moe_block"):  # Grok 2, Gemma 4
        return config.need("intermediate_size")
    config.get("parallel_attn_mlp_res", "use_residual")
    if kind == "arctic":
        return config.need("hidden_size")
    count = config.get("n_shared_experts", "num_shared_experts", default=1 if kind.startswith("llama4") else 0)
    together = config.get("shared_expert_intermediate_size", "share_expert_dim")
    each = config.get("moe_shared_expert_intermediate_size", "shared_intermediate_size")
    return (
        together
        if together is not None
        else _first(count) * expert_ffn
        if each is None
        else each * max(_first(count), 1)
    )


def _experts(config: _Config, kind: str, layers: int, ffn: int) -> dict[str, Any]:
    experts = _first(config.get("n_routed_experts", "num_routed_experts", "num_local_experts", "num_experts",
                                default=0))
    if not experts or not config.get("use_moe", default=True):
        return {}
    expert_ffn = _first(config.get("moe_intermediate_size", "expert_ffn_hidden_size",
                                   default=config.get("intermediate_size", default=ffn)))
    return dict(experts=experts,
                experts_per_token=_first(config.need("num_experts_per_tok", "num_experts_per_token",
                                                     "experts_per_token", "top_k_experts")),
                expert_ffn=expert_ffn, shared_ffn=_shared(config, kind, expert_ffn),
                shared_gate=kind.startswith(("qwen2_moe", "qwen3_next", "qwen3_5"))
                and bool(config.get("shared_expert_intermediate_size")),
                router_bias=config.get("topk_method") == "noaux_tc"
                or kind.startswith(("nemotron_h", "glm4_moe", "gpt_oss")) or
                bool(config.get("moe_router_enable_expert_bias", "use_moe_router_bias", "use_expert_bias")),
                expert_latent=config.get("routed_expert_hidden_size", default=0),
                **hugging_face_layers.experts(config, kind, layers))


def _ask_for_idle_keys(config: _Config) -> None:
    """Files of dense models have some keys of experts, too, and files of all models some of mixers: without these they
    say nothing."""
    config.get("moe_intermediate_size", "moe_shared_expert_intermediate_size", "num_experts_per_tok",
               "num_experts_per_token",
               "experts_per_token", "n_shared_experts", "num_shared_experts", "shared_expert_intermediate_size",
               "shared_intermediate_size",
               "topk_method", "first_k_dense_replace", "num_dense_layers", "moe_layer_freq", "is_moe_layer",
               "mlp_layer_types", "moe_layer_interval",
               "moe_layer_frequency", "moe_layer_start_index", "moe_layer_end_index", "expert_layer_period",
               "expert_layer_offset",
               "interleave_moe_layer_step", "decoder_sparse_step", "mlp_only_layers", "moe_layers",
               "intermediate_size_mlp", "top_k_experts",
               "intermediate_size", "num_key_value_heads", "head_dim", "swa_num_attention_heads",
               "moe_router_enable_expert_bias", "use_moe_router_bias", "use_expert_bias", "num_global_key_value_heads")
    for mixer in mixers.known().values():
        config.get(*mixer.config_keys)


def _biases(config: _Config, kind: str, old: bool) -> dict[str, bool]:
    """@return the fields of Model that say which linear layers have a bias"""
    attention = bool(config.get("attention_bias", "qkv_bias", default=kind in ("qwen", "qwen2", "qwen2_moe")))
    rest = config.get("mlp_bias", "use_bias", "enable_bias", "bias")
    if rest and not attention and not old and "mlp_bias" in config.keys:
        raise InputError(f"{config.path}: mlp_bias true without attention_bias is not supported; expected both or none")
    return dict(bias=old if rest is None else bool(rest), qkv_bias=attention)


def _refuse_others(config: _Config, kind: str) -> None:
    for other, what in OTHER_KINDS.items():
        if kind.startswith(other) and not kind.endswith("decoder"):
            raise InputError(f"{config.path}: a {kind} model has {what}; expected a decoder-only transformer")
    if config.get("is_encoder_decoder") is True:
        raise InputError(f"{config.path}: is_encoder_decoder is true; expected a decoder-only transformer")


def _output_gate(config: _Config, kind: str) -> bool:
    return bool(config.get("attn_output_gate", "attention_output_gate", "mla_use_output_gate",
                           default=kind.startswith(("qwen3_next", "qwen3_5", "afmoe"))))


def _ffn(config: _Config, hidden: int) -> int:
    """@return columns of a dense layer's MLP"""
    ffn = config.get("dense_intermediate_size", "intermediate_size_mlp", "intermediate_size", "ffn_dim", "n_inner")
    if not ffn and not config.get("num_local_experts"):  # Granite 4's dense models
        ffn = config.get("shared_intermediate_size")
    return _first(ffn) or 4 * hidden


def _layers(config: _Config, kind: str, hidden: int) -> tuple[int, dict[str, Any]]:
    """@return the number of layers, and the fields of Model that say what they are"""
    layers = config.get("num_hidden_layers", "n_layer",
                        "num_layers") or (0 if kind.startswith("nemotron_h") else config.need("num_hidden_layers"))
    least = 0 if kind.startswith("nemotron_h") else 1
    if not isinstance(layers, int) or isinstance(layers, bool) or not least <= layers <= MOST_LAYERS:
        raise InputError(f"{config.path}: num_hidden_layers {json.dumps(layers)} is not a number of layers; expected "
                         f"1 to {MOST_LAYERS}")
    blocks = hugging_face_hybrid.of_blocks(config, kind, layers)
    if blocks:
        return layers, blocks
    mixing = hugging_face_layers.mixers(config, kind, layers)
    gone = hugging_face_layers.without_attention(config, layers)
    mixing = ["none" if without else mixer for mixer, without in zip(mixing, gone)]
    fields = {**hugging_face_hybrid.of_mixers(config, kind, mixing),
              **hugging_face_layers.windows(config, kind, layers, mixing)}
    period = fields.get("windowed", (False,))
    return layers, {**fields, **hugging_face_layers.shapes(config, layers,
                                                           [period[index % len(period)] for index in range(layers)])}


def _layer_inputs(config: _Config) -> dict[str, int]:
    """@return the fields of Model of a second embedding for each layer (Gemma 3n)"""
    width, words = config.get("hidden_size_per_layer_input", default=0), config.get("vocab_size_per_layer_input",
        default=config.need("vocab_size"))
    return dict(layer_inputs=width, layer_vocabulary=words if width else 0)


def _fp8_block(config: _Config) -> bool:
    """@return whether the file's weights of 8 bits have a scale for each block"""
    return any((keys.get(name) or {}).get("weight_block_size") for keys in (config.keys, config.beside)
               for name in hugging_face_keys.QUANTIZATION if isinstance(keys.get(name), dict))


def _model(config: _Config, kind: str) -> Model:
    old = kind in OLD_GPT
    hidden = config.need_size("hidden_size", "n_embd", "d_model")
    layers, fields = _layers(config, kind, hidden)
    attention = _attention(config, kind)
    ffn = attention.get("ffn") or _ffn(config, hidden)
    config.only("word_embed_proj_dim", hidden)
    config.only("mlp_type", "default")
    config.only("use_gated_activation", True)
    learned = config.get("n_positions", "max_position_embeddings", default=0)
    norms = config.get("use_qk_norm", "qk_layernorm", "qk_norm", default=kind.startswith(("qwen3", "gemma3", "gemma4")))
    gated = not old and kind not in hugging_face_hybrid.without_attention() and config.get("hidden_act",
        "mlp_hidden_act") not in (() if kind in GATED else UNGATED)
    known = dict(
        name=str(config.get("_name_or_path", default="") or kind
                 or pathlib.Path(config.path).stem).rstrip("/").split("/")[-1],
        layers=layers, hidden=hidden, ffn=ffn, vocabulary=config.need("vocab_size"),
        positions=learned if kind in ("gpt2", "opt", "gpt_neo", "gpt_bigcode")
        or config.get("learned_pos_emb", default=kind == "mpt") and not config.get("alibi") else 0,
        gated=gated, norm="layer" if old else "rms",
        # Llama 4 norms queries and keys without weights.
        qk_norm=bool(norms) and not kind.startswith("llama4"),
        qk_norm_whole=bool(norms) and config.get("qk_norm_type") == "per_layer", output_gate=_output_gate(config, kind),
        fp8_block=_fp8_block(config),
        tied=bool(config.get("tie_word_embeddings", default=kind.startswith(hugging_face_names.TIED))),
        **_biases(config, kind, old), **_experts(config, kind, layers, ffn), **_sparse(config), **_layer_inputs(config))
    model = Model(**{**known, **attention, **fields})
    if config.get("intermediate_size") == 0 and model.has_dense_mlps:
        config.need_size("intermediate_size")
    return model


def _check_sizes(path: str | os.PathLike, fields: Mapping[str, Any]) -> None:
    """Refuses sizes that no model has, for which numbers would overflow."""
    for field, value in fields.items():
        if isinstance(value, dict):
            _check_sizes(path, value)
        if field == "shapes":
            for shape in value:
                _check_sizes(path, shape)
        if isinstance(value, int) and value > MOST:
            raise InputError(f"{path}: {field} is not a size that a model has; expected at most {MOST}")


def read(path: str | os.PathLike, tell: Callable[[str], None] = lambda line: None) -> Model:
    """@param tell called with a line for each key that one might expect to count @return the Model that the file
    describes"""
    try:
        config = _load(path)
        kind = str(config.get("model_type", default=""))
        _refuse_others(config, kind)
        model = _model(config, kind)
        _check_sizes(path, model.fields_by_name())
        _ask_for_idle_keys(config)
        config.check_all_known(tell)
        if kind and not hugging_face_names.is_family(kind):
            tell(f'{path}: model_type "{kind}" is not a family that this program knows: its layers count as Llama\'s')
        return model
    except pydantic.ValidationError as error:
        reason = error.errors()[0]
        where = ".".join(map(str, reason["loc"])).removeprefix("__root__").removeprefix("sizes.")
        raise InputError(f"{path}: {where + ': ' if where else ''}{reason['msg']}; expected the config.json of a "
                         f"transformer") from None
    except KeyError as error:
        raise InputError(f"{path}: there is no {error.args[0]}; expected the config.json of a transformer") from None
    except (TypeError, AttributeError, ValueError, IndexError, ArithmeticError) as error:
        raise InputError(f"{path}: {str(error).splitlines()[0]}; expected the config.json of a transformer") from None
