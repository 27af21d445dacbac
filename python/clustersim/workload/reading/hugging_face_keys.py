# SPDX-License-Identifier: GPL-2.0-only
"""Keys of a config.json that change no size of this package, and why. hugging_face.py reads the others."""
import re

# Numerics, training, generation and bookkeeping: nothing that a size or a time here depends on.
WITHOUT_EFFECT = set("""
    architectures auto_map transformers_version model_type name_or_path torch_dtype dtype tokenizer_class license_note use_cache
    cache_implementation initializer_range initializer_factor init_std init_method use_return_dict return_dict torchscript pruned_heads
    is_encoder_decoder is_decoder add_cross_attention chunk_size_feed_forward finetuning_task problem_type id2label label2id
    task_specific_params prefix forced_bos_token_id forced_eos_token_id bos_token_id eos_token_id pad_token_id sep_token_id unk_token_id
    decoder_start_token_id tie_encoder_decoder cross_attention_hidden_size max_length min_length do_sample temperature top_k top_p num_beams
    length_penalty repetition_penalty suppress_tokens bad_words_ids use_bfloat16 pretraining_tp scale_attn_weights
    scale_attn_by_inverse_layer_idx reorder_and_upcast_attn gradient_checkpointing attn_implementation use_flash_attn use_flash_attention
    use_flash_attn_2 attention_softmax_in_fp32 softmax_in_fp32 attention_scale query_pre_attn_scalar attn_logit_softcapping
    final_logit_softcapping logits_scaling logit_scale embedding_multiplier attention_multiplier residual_multiplier mup_width_multiplier
    swiglu_limit swiglu_alpha attn_temperature_tuning attn_scale floor_scale rms_norm_eps norm_eps layer_norm_eps layer_norm_epsilon
    norm_epsilon norm_topk_prob routed_scaling_factor scoring_func n_group topk_group aux_loss_alpha seq_aux ep_size router_aux_loss_coef
    router_z_loss_coef router_jitter_noise input_jitter_noise output_router_logits moe_router_logit_softcapping initial_context_length
    original_max_position_embeddings use_parallel_residual parallel_attn use_parallel_embedding rms_norm
    apply_residual_connection_post_layernorm hidden_dropout embd_layer_norm resid_pdrop embd_pdrop attn_pdrop n_ctx do_layer_norm_before
    layer_norm_elementwise_affine layerdrop gelu_approximate use_sdpa hidden_act hidden_activation hidden_activation_param
    activation_function use_unit_offset vision_feature_layer vision_feature_select_strategy image_seq_length mm_tokens_per_image
    boi_token_index eoi_token_index qk_norm_type use_routing_bias use_mtp mtp_transformer_layers rotary_dim rotary_pct alibi_bias_max
    slow_but_exact skip_bias_add skip_bias_add_qkv masked_softmax_fusion offset_alibi seq_length init_config init_device tokenizer_name
    verbose embedding_fraction emb_pdrop no_bias expansion_ratio clip_qkv moe_jitter_eps moe_loss_weight moe_normalize_expert_weights
    uniform_expert_assignment attn_impl moe_capacity moe_gate moe_use_aux_free moe_layer_interval use_mixed_mlp_moe norm_head norm_softmax
    order_of_interleaved_layers use_parallel_block position_embedding_type norm_type new_decoder_architecture multi_query ffn_act_fn
    use_qk_norm_eps attention_chunk_rope no_rope_scaling sliding_window_size_hint use_mrope interleave_rope_dim diversity_penalty
    early_stopping encoder_no_repeat_ngram_size no_repeat_ngram_size num_beam_groups num_return_sequences remove_invalid_values
    return_dict_in_generate exponential_decay_length_penalty begin_suppress_tokens tf_legacy_loss typical_p max_new_tokens
    renormalize_logits is_causal use_bidirectional_attention model_max_length max_sequence_length max_seq_length seq_len max_batch_size
    position_buckets num_logits_to_keep logits_to_keep scale_emb scale_depth dim_model_base z_loss_weight residual_in_fp32
    rescale_prenorm_residual use_mamba_kernels num_expert_group num_limited_groups use_grouped_topk moe_renormalize
    moe_router_activation_func score_function score_func scoring_function route_norm route_scale group_norm_size linear_silu use_nope
    mla_use_nope indexer_rope_interleave index_share_for_mtp_iteration nope_layer_interval qk_nope use_sliding_window_layers
    hidden_size_per_head conv_bias conv_use_xavier_init conv_dim conv_dim_out block_dim block_mlp_init_scale block_norm_eps
    block_out_init_scale block_use_swiglu block_use_xavier_init block_auto_adjust_ff_dim block_ff_dim block_ffn_dim_multiplier
    block_multiple_of num_heads theta use_pos_enc use_rmsnorm mamba_act mamba_conv_bias mamba_inner_layernorms mamba_norm_before_gate
    mamba_proj_bias mamba_rms_norm mamba_hidden_act mlp_hidden_act mamba_use_mlp attn_rotary_emb projectors_bias mlp_expansion_factor
    latent_moe_use_norm use_gemma_norm add_swa_attention_sink_bias add_full_attention_sink_bias swiglu_limits swiglu_limits_shared
    use_head_wise_attn_gate activation_sparsity_pattern mamba_ssm_dtype mamba_ssm_cache_dtype post_layer_norm postnorm use_post_norm
    shared_moe_mode add_bias_linear multi_query_attention original_rope fp32_residual_connection interleaved_qkv attention_softmax_in_fp16
    bias_dropout_fusion apply_query_key_layer_scaling kv_cache_quantization lm_head_bias attention_out_bias norm_after_rope
    dual_chunk_attention_config hidden_dropout_rate normalization_function use_swiglu moe_shared_expert_overlap use_dynamic_ntk
    use_logn_attn layer_switch org_vocab_size rmsnorm partial_rotary_percent partial_rotary_factors capacity_factor pool_type full_attn_mod
    interpolate_factor zero_centered use_rope_layers freq_allocation max_tokenizer_truncation embd_layer use_recompute_moe modality_detach
    attn_temperature_len num_expert_groups load_balance_coeff use_grouped_mm use_rotary_pos_emb attention_method mla_scale_q_lora
    mla_scale_kv_lora moe_train_capacity_factor moe_drop_tokens norm_expert_weight need_fp32_gate att_impl_type yarn_only_types
    qkv_layernorm input_layernorm sandwich_norm use_sandwich_norm output_multiplier_scale num_dense_experts
    ff_factor num_ln_in_parallel_attn activation alibi glu max_attn_value local_attention num_media_embeds
    perceiver_config pixel_shuffle_factor neftune_noise_alpha is_composition lm_head
    pad_vocab_size_multiple d_inner ssm_cfg fused_add_norm use_conv_bias attn_type early_exit_threshold attention_heads
    decoder_bias scale_embedding
    """.split())
# Families of such keys.
PATTERNS = [re.compile(pattern) for pattern in (
    r"_.*", r".*dropout(_prob)?", r".*_token_(id|index)", r".*rope_.*", r".*_rope", r"rotary_.*", r"mrope_.*",
    r"partial_rotary_factor",
    r"summary_.*", r"output_.*", r".*_initializer_range", r".*_theta", r".*_eps(ilon)?", r".*_std", r".*_multipliers?",
    r".*_scaling_factor",
    r".*_coef(f|ficient)?", r"(full|linear)_attn_(alpha|beta)_factor", r"mlp_(alpha|beta)_factor", r"vit_.*",
    r"xdrope_.*", r"bskcn_.*", r".*_dtype", r"(moe_)?router_.*", r"mtp_.*", r"mup_.*", r"activation_.*",
    r"time_step_.*",
    r"layernorm_.*", r".*_scale",
    r"(num_)?(image|video|audio|vision|img|im|mm|pixel)_.*", r"(bf|fp)(16|32)", r"(speech|vision)_lora",
    r"linear_allow_.*",
    r"(spatial|temporal)_(conv|merge|patch)_size", r"moe_(use|multimodal)_.*", r"gating")]
# Parts of a model beside its decoder, or that may have other types, or that are small: told, since people may expect
# them to count.
QUANTIZATION = ("quantization_config", "quantization", "compression_config")
TOLD = {
    **dict.fromkeys(QUANTIZATION, "--dtype gives the type of matrix products (weight_block_size, their scales)"),
    **dict.fromkeys(("num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers", "mtp_num_layers"),
                    "--mtp_num_layers adds layers that predict further tokens"),
    "vision_config": "encoders are left out", "audio_config": "encoders are left out",
    **dict.fromkeys(("altup_num_inputs", "altup_active_idx", "altup_coef_clip", "altup_correct_scale", "laurel_rank"),
                    "mixtures of the residual stream are left out"),
    "attn_res_block_size": "attention to the results of earlier layers is left out",
    "cross_attention_layers": "they count as layers that attend to the text",
    "mamba_d_mlp": "the MLP of a state-space layer is left out",
}


def is_without_effect(key: str) -> bool:
    return key in WITHOUT_EFFECT or any(pattern.fullmatch(key) for pattern in PATTERNS)


# Parts of names of sizes.
SIZE = re.compile(r"dim|size|width|rank|heads|layer|experts?|hidden|group|block|num_|n_|top_?k|freq|interval|pattern"
                  r"|ratio|period|kernel|window|chunk|stride"
                  r"|conv|state|channels|depth|factor|share|index|idx|length|len$|mult|steps|loop|recur|repeat")


def may_be_size(key: str, value: object) -> bool:
    """@return whether a key's value may be a size, or has one: sizes are whole numbers above 1"""
    if isinstance(value, dict):
        return any(may_be_size(name, one) for name, one in value.items())
    if isinstance(value, list):
        return any(may_be_size(key, one) for one in value)
    return isinstance(value, int) and not isinstance(value, bool) and value > 1 and bool(SIZE.search(key))
