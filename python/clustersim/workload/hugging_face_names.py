# SPDX-License-Identifier: GPL-2.0-only
"""Other names and nestings of a config.json's keys, made those of Llama's."""

# Of single families: MPT and DBRX (llm-foundry), BLOOM, Falcon, Gemma 2, ERNIE 4.5, Hunyuan.
NAMES = {
    "n_embed": "hidden_size", "n_heads": "num_attention_heads", "n_layers": "num_hidden_layers", "kv_n_heads": "num_key_value_heads",
    "num_kv_heads": "num_key_value_heads", "ffn_hidden_size": "intermediate_size", "sliding_window_size": "sliding_window",
    "moe_num_experts": "num_experts", "moe_k": "num_experts_per_tok", "moe_top_k": "num_experts_per_tok", "moe_topk": "num_experts_per_tok",
    "moe_num_shared_experts": "num_shared_experts", "num_shared_expert": "num_shared_experts",
    "moe_layer_start_index": "first_k_dense_replace", "max_seq_len": "max_position_embeddings",
    "use_embedding_sharing": "tie_word_embeddings",
}
NESTED = ("attn_config", "ffn_config")
# Lists with a value for each layer, which is the same for all where this program can read the file.
OF_LAYERS = ("num_experts_per_tok", "moe_intermediate_size", "num_shared_experts", "moe_layer_freq")
# Families whose classes share the embedding's weights with the output layer where a file does not say.
TIED = ("gpt2", "gpt_neo", "gpt_bigcode", "opt", "bloom", "mpt", "falcon", "gemma", "cohere", "starcoder2", "smollm3")


def _without_nests(keys):
    flat = {key: value for key, value in keys.items() if key not in NESTED}
    for nest in NESTED:
        flat.update(keys[nest] if isinstance(keys.get(nest), dict) else {})
    return flat


def _family(kind, keys):
    """@return what a family's classes add to its keys"""
    hidden = keys.get("hidden_size", keys.get("d_model", 0))
    if kind == "mpt":
        return {"intermediate_size": keys.get("expansion_ratio", 4) * hidden, "use_bias": not keys.get("no_bias", True)}
    if kind == "falcon":
        several = keys.get("new_decoder_architecture") or not keys.get("multi_query", True)
        return {"intermediate_size": 4 * hidden, "num_key_value_heads": keys.get("num_attention_heads", 1) if several else 1}
    return {}


def common(keys, beside):
    """@param beside keys of the whole model, of which those of the text decoder are a part @return the keys by Llama's names"""
    keys, kind = _without_nests(keys), str(keys.get("model_type", ""))
    found = {}
    for key, value in keys.items():
        name = NAMES.get(key, key)
        if name not in found or key == name:
            found[name] = value
    for key in OF_LAYERS:
        value = found.get(key)
        if isinstance(value, list) and value and all(entry == value[0] for entry in value):
            found[key] = value[0]
    if "vocab_size" not in found and "vocab_size" in beside:
        found["vocab_size"] = beside["vocab_size"]
    for key, value in _family(kind, found).items():
        if found.get(key) is None:
            found[key] = value
    return found
