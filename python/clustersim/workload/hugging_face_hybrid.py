# SPDX-License-Identifier: GPL-2.0-only
"""Keys of a config.json of hybrid models: state-space layers as in Nemotron-H, linear attention as in Qwen3-Next."""
import json

from clustersim.workload.errors import InputError
from clustersim.workload.model import BLOCKS, LinearAttention, StateSpace

LETTERS = {"mamba": "M", "mamba2": "M", "attention": "*", "full_attention": "*", "mlp": "-", "moe": "E"}


def _letters(config):
    """@return a letter for each layer: the pattern itself, or its letters for names of blocks"""
    named = config.get("layers_block_type", "layer_block_types")
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
    config.get("mtp_layers_block_type", "mtp_hybrid_override_pattern", "expand", "mamba_hidden_act", "mlp_hidden_act", "time_step_limit",
               "time_step_min", "time_step_max", "time_step_floor", "time_step_rank", "mamba_ssm_cache_dtype", "use_mamba_kernels",
               "num_logits_to_keep", "residual_in_fp32", "rescale_prenorm_residual", "mamba_num_groups", "moe_shared_expert_overlap")
    pattern = _letters(config)
    space = StateSpace(heads=config.need("mamba_num_heads"), head_dim=config.need("mamba_head_dim"), groups=config.need("n_groups"),
                       state=config.need("ssm_state_size"), conv=config.get("conv_kernel", default=4),
                       chunk=config.get("chunk_size", default=128))
    return dict(pattern=pattern, layers=len(pattern), state_space=space if "M" in pattern else None, gated=False,
                expert_latent=config.get("moe_latent_size", default=0))


def _qwen(config, layers):
    config.get("mamba_ssm_dtype", "output_gate_type", "attn_output_gate", "mtp_num_hidden_layers", "mtp_use_dedicated_embeddings")
    named = config.get("layer_types")
    every = config.get("full_attention_interval", default=4)
    expected = ["linear_attention" if (index + 1) % every else "full_attention" for index in range(layers)]
    if named is not None and named != expected:
        raise InputError(f"{config.path}: layer_types are not full attention in each {every}th of {layers} layers; expected that, or "
                         "full_attention_interval")
    attention = LinearAttention(key_heads=config.need("linear_num_key_heads"), key_dim=config.need("linear_key_head_dim"),
                                value_heads=config.need("linear_num_value_heads"), value_dim=config.need("linear_value_head_dim"),
                                conv=config.get("linear_conv_kernel_dim", default=4))
    return dict(linear=attention, full_every=every, output_gate=True)


def is_linear(kind):
    """@return whether a model_type has linear attention with a gate, as in Qwen3-Next and Qwen3.5"""
    return kind.startswith(("qwen3_next", "qwen3_5"))


def read(config, kind, layers):
    """@return fields of Model that a hybrid model has beside those of others"""
    if kind.startswith("nemotron_h"):
        return _nemotron(config)
    return _qwen(config, layers) if is_linear(kind) else {}
