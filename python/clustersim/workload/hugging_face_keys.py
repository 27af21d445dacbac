# SPDX-License-Identifier: GPL-2.0-only
"""Keys of a config.json that change no size of this package, and why. hugging_face.py reads the others."""
import re

# Numerics, training, generation and bookkeeping: nothing that a size or a time here depends on.
WITHOUT_EFFECT = set("""
    architectures auto_map transformers_version model_type name_or_path torch_dtype dtype tokenizer_class license_note
    use_cache cache_implementation initializer_range initializer_factor init_std init_method use_return_dict return_dict
    torchscript pruned_heads is_encoder_decoder is_decoder add_cross_attention chunk_size_feed_forward finetuning_task
    problem_type id2label label2id task_specific_params prefix forced_bos_token_id forced_eos_token_id bos_token_id
    eos_token_id pad_token_id sep_token_id unk_token_id decoder_start_token_id tie_encoder_decoder cross_attention_hidden_size
    max_length min_length do_sample temperature top_k top_p num_beams length_penalty repetition_penalty suppress_tokens
    bad_words_ids use_bfloat16 pretraining_tp scale_attn_weights scale_attn_by_inverse_layer_idx reorder_and_upcast_attn
    gradient_checkpointing attn_implementation use_flash_attn use_flash_attention use_flash_attn_2 attention_softmax_in_fp32
    softmax_in_fp32 attention_scale query_pre_attn_scalar attn_logit_softcapping final_logit_softcapping logits_scaling
    logit_scale embedding_multiplier attention_multiplier residual_multiplier mup_width_multiplier swiglu_limit
    swiglu_alpha attn_temperature_tuning attn_scale floor_scale rms_norm_eps norm_eps layer_norm_eps layer_norm_epsilon
    norm_epsilon norm_topk_prob routed_scaling_factor scoring_func n_group topk_group aux_loss_alpha seq_aux ep_size
    router_aux_loss_coef router_z_loss_coef router_jitter_noise input_jitter_noise output_router_logits moe_router_logit_softcapping
    initial_context_length original_max_position_embeddings use_parallel_residual parallel_attn use_parallel_embedding
    rms_norm apply_residual_connection_post_layernorm hidden_dropout embd_layer_norm resid_pdrop embd_pdrop attn_pdrop
    n_ctx do_layer_norm_before layer_norm_elementwise_affine layerdrop gelu_approximate use_sdpa
    hidden_act hidden_activation hidden_activation_param activation_function use_unit_offset vision_feature_layer
    vision_feature_select_strategy image_seq_length mm_tokens_per_image boi_token_index eoi_token_index
    qk_norm_type use_routing_bias use_mtp num_mtp_modules mtp_transformer_layers rotary_dim rotary_pct alibi_bias_max slow_but_exact skip_bias_add
    skip_bias_add_qkv masked_softmax_fusion offset_alibi seq_length init_config init_device tokenizer_name verbose embedding_fraction emb_pdrop
    no_bias expansion_ratio clip_qkv moe_jitter_eps moe_loss_weight moe_normalize_expert_weights uniform_expert_assignment attn_impl
    moe_capacity moe_gate moe_use_aux_free moe_layer_interval use_mixed_mlp_moe norm_head norm_softmax order_of_interleaved_layers use_parallel_block
    position_embedding_type norm_type new_decoder_architecture multi_query ffn_act_fn
    use_qk_norm_eps attention_chunk_rope no_rope_scaling sliding_window_size_hint use_mrope interleave_rope_dim
    """.split())
# Families of such keys.
PATTERNS = [re.compile(pattern) for pattern in (
    r"_.*", r".*_dropout(_prob)?", r"dropout", r".*_token_(id|index)", r"rope_.*", r"rotary_.*", r"mrope_.*", r"partial_rotary_factor",
    r"summary_.*", r"output_.*", r".*_initializer_range")]
# Parts of a model beside its decoder, or that may have other types: told, since people may expect them to count.
TOLD = {
    "quantization_config": "--dtype gives the type of matrix products",
    "num_nextn_predict_layers": "--mtp_num_layers adds layers that predict further tokens",
    "vision_config": "encoders are left out", "audio_config": "encoders are left out",
}


def is_without_effect(key):
    return key in WITHOUT_EFFECT or any(pattern.fullmatch(key) for pattern in PATTERNS)
