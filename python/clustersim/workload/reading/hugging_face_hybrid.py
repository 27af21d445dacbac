# SPDX-License-Identifier: GPL-2.0-only
"""Keys of a config.json of hybrid models: state-space layers, linear attention, convolutions, and blocks that are layers of their own."""
import json
import math

from clustersim.errors import InputError
from clustersim.workload.model.transformer import BLOCKS, LinearAttention, StateSpace

WITHOUT_ATTENTION = ("mamba", "mamba2", "falcon_mamba", "rwkv7")
LIGHTNING = ("minimax", "bailing")  # families with lightning attention
LETTERS = {"mamba": "M", "mamba2": "M", "attention": "*", "full_attention": "*", "mlp": "-", "moe": "E"}


def _letters(config) -> str:
    """@return a letter for each layer: the pattern itself, or its letters for names of blocks"""
    named = config.get("layers_block_type", "layer_block_types", "layer_types")
    pattern = config.get("hybrid_override_pattern", "hybrid_layer_pattern")
    if named is None:
        named = config.need("hybrid_override_pattern") if pattern is None else pattern
    for block in named:
        if block not in LETTERS and block not in BLOCKS:
            raise InputError(f"{config.path}: {json.dumps(block)} is not a kind of block; expected {', '.join([*LETTERS, *BLOCKS])}")
    return "".join(LETTERS.get(block, block) for block in named)


def _nemotron(config):
    config.only("mamba_proj_bias", False)
    config.only("use_conv_bias", True)
    config.get("mtp_layers_block_type", "mtp_hybrid_override_pattern", "expand", "mamba_num_groups")
    pattern = _letters(config)
    space = StateSpace(heads=config.need("mamba_num_heads"), head_dim=config.need("mamba_head_dim"), groups=config.need("n_groups"),
                       state=config.need("ssm_state_size"), conv=config.get("conv_kernel", default=4),
                       chunk=config.get("chunk_size", default=128))
    return dict(pattern=pattern, layers=len(pattern), state_space=space if "M" in pattern else None, gated=False,
                expert_latent=config.get("moe_latent_size", default=0))


def _mamba(config, layers):
    """Mamba and Mamba-2 alone (Falcon Mamba, Codestral Mamba)."""
    hidden, heads = config.need("hidden_size"), config.get("num_heads")
    width = config.get("intermediate_size", default=config.get("expand", default=2) * hidden)
    state, conv, rank = config.need("state_size"), config.get("conv_kernel", default=4), config.get("time_step_rank")
    dim, groups, chunk = config.get("head_dim"), config.get("n_groups", default=1), config.get("chunk_size", default=256)
    if heads:
        space = StateSpace(heads=heads, head_dim=dim or width // heads, groups=groups, state=state, conv=conv, chunk=chunk)
    else:
        space = StateSpace(heads=width, head_dim=1, groups=1, state=state, conv=conv, step_rank=rank if isinstance(rank, int) else math.ceil(hidden / 16))
    return dict(pattern="M" * layers, state_space=space)


def _longcat(config, layers):
    """LongCat-Flash (arXiv 2509.01322): a layer has attention and an MLP twice, and experts beside them; some experts are empty."""
    empty, experts = config.get("zero_expert_num", default=0), config.need("n_routed_experts")
    config.get("zero_expert_type")
    return dict(pattern="*-*-E" * layers, layers=5 * layers,
                experts_per_token=round(config.need("num_experts_per_tok") * experts / (experts + empty)))


def state_space(config):
    """@return the StateSpace of layers that alternate with attention, as in Jamba, Bamba, Granite 4 and Falcon-H1"""
    hidden, heads = config.need("hidden_size"), config.get("mamba_n_heads")
    width = config.get("mamba_d_ssm", default=config.get("mamba_expand", default=2) * hidden)
    state, conv = config.need("mamba_d_state"), config.get("mamba_d_conv", default=4)
    dim, rank = config.get("mamba_d_head"), config.get("mamba_dt_rank")
    if heads:
        return StateSpace(heads=heads, head_dim=dim if isinstance(dim, int) else width // heads, groups=config.get("mamba_n_groups", default=1),
                          state=state, conv=conv, chunk=config.get("mamba_chunk_size", default=256))
    return StateSpace(heads=width, head_dim=1, groups=1, state=state, conv=conv, step_rank=rank if isinstance(rank, int) else math.ceil(hidden / 16))


def linear(config, kind):
    """@return the LinearAttention of layers that alternate with full attention"""
    delta = config.get("linear_attn_config")
    if isinstance(delta, dict):  # Kimi's
        heads, dim = delta["num_heads"], delta["head_dim"]
        return LinearAttention(key_heads=heads, key_dim=dim, value_heads=heads, value_dim=dim, conv=delta.get("short_conv_kernel_size", 4), scalars=1,
                               gate_rank=0 if delta.get("use_full_rank_gate") else dim, decay_rank=dim)
    config.only("linear_use_gate", True)
    if kind == "rwkv7":  # arXiv 2503.14456
        dim = config.get("head_dim", default=64)
        heads = config.need("hidden_size") // dim
        ranks = [config.get(f"{name}_low_rank_dim", default=default) for name, default in (("decay", 64), ("a", 64), ("v", 32))]
        return LinearAttention(key_heads=heads, key_dim=dim, value_heads=heads, value_dim=dim, conv=0, scalars=0,
                               gate_rank=config.get("gate_low_rank_dim", default=128), decay_rank=sum(ranks))
    if not kind.startswith(LIGHTNING):
        return LinearAttention(key_heads=config.need("linear_num_key_heads"), key_dim=config.need("linear_key_head_dim"),
                               value_heads=config.need("linear_num_value_heads"), value_dim=config.need("linear_value_head_dim"),
                               conv=config.get("linear_conv_kernel_dim", default=4))
    heads = config.need("num_attention_heads")
    config.only("num_kv_heads_for_linear_attn", heads)
    dim = config.get("head_dim", default=config.need("hidden_size") // heads)
    return LinearAttention(key_heads=heads, key_dim=dim, value_heads=heads, value_dim=dim, conv=0, chunk=256, scalars=0, has_delta=False)


def of_blocks(config, kind, layers):
    """@return fields of Model of a model whose blocks are layers of their own"""
    if kind.startswith("nemotron_h"):
        return _nemotron(config)
    if kind.startswith(("mamba", "falcon_mamba")):
        return _mamba(config, layers)
    return _longcat(config, layers) if kind.startswith("longcat_flash") else {}


def of_mixers(config, kind, mixing):
    """@return fields of Model of a model whose layers mix tokens in several ways"""
    if set(mixing) == {"attention"}:
        return {}
    found = {}
    if "linear" in mixing:
        found["linear"] = linear(config, kind)
    if {"state_space", "parallel"} & set(mixing):
        found["state_space"] = state_space(config)
    if "convolution" in mixing:
        found["convolution"] = config.get("conv_L_cache", default=3)
    for every in range(2, 9):
        if mixing == ["attention" if (index + 1) % every == 0 else "linear" for index in range(len(mixing))]:
            return dict(found, full_every=every)
    return dict(found, mixers=tuple(mixing))
