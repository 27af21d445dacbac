# SPDX-License-Identifier: GPL-2.0-only
"""Other names and nestings of a config.json's keys, made those of Llama's."""
from collections.abc import Mapping
from typing import Any

# Of single families: MPT and DBRX (llm-foundry), BLOOM, Falcon, Gemma 2, ERNIE 4.5, Hunyuan, ChatGLM, Step, LongCat,
# LFM2.
NAMES = {
    "n_embed": "hidden_size", "n_heads": "num_attention_heads", "n_layers": "num_hidden_layers",
    "kv_n_heads": "num_key_value_heads",
    "num_kv_heads": "num_key_value_heads", "ffn_hidden_size": "intermediate_size",
    "sliding_window_size": "sliding_window",
    "moe_num_experts": "num_experts", "moe_k": "num_experts_per_tok", "moe_top_k": "num_experts_per_tok",
    "moe_topk": "num_experts_per_tok",
    "moe_num_shared_experts": "num_shared_experts", "num_shared_expert": "num_shared_experts",
    "moe_layer_start_index": "first_k_dense_replace", "moe_layer_num_skipped": "first_k_dense_replace",
    "max_seq_len": "max_position_embeddings",
    "use_embedding_sharing": "tie_word_embeddings", "tie_embedding": "tie_word_embeddings",
    "padded_vocab_size": "vocab_size",
    "multi_query_group_num": "num_key_value_heads", "kv_channels": "head_dim", "add_qkv_bias": "qkv_bias",
    "use_qkv_bias": "qkv_bias",
    "num_attention_groups": "num_key_value_heads", "expert_intermediate_size": "moe_intermediate_size",
    "moe_router_topk": "num_experts_per_tok",
}
NESTED = ("attn_config", "ffn_config")
# The text decoder of a model that reads pictures or speech, too.
DECODERS = ("text_config", "llm_config", "language_config", "thinker_config")
# Lists with a value for each layer, which is the same for all where this program can read the file.
OF_LAYERS = ("num_experts_per_tok", "moe_intermediate_size", "num_shared_experts", "moe_layer_freq",
             "intermediate_size", "sliding_window")
# Lists of ERNIE 4.5 VL with a value for the experts of each modality, text first.
OF_MODALITIES = ("num_experts", "moe_intermediate_size", "first_k_dense_replace", "moe_layer_end_index")
# Families whose classes share the embedding's weights with the output layer where a file does not say.
TIED = ("gpt2", "gpt_neo", "gpt_bigcode", "opt", "bloom", "mpt", "falcon", "gemma", "vaultgemma", "cohere",
        "starcoder2", "smollm3", "lfm2", "minicpm", "mamba", "xglm", "modernbert")
CORRECTED = ("lfm2", "qwen", "falcon", "gpt_bigcode")  # families whose own sizes replace those of the file
# Sizes of classes, for decoders whose own keys do not say them.
UNSAID = {
    "gemma3_text": dict(num_attention_heads=8, num_key_value_heads=4, head_dim=256, vocab_size=262208,
                        sliding_window=4096),
    "llama": dict(hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32,
                  vocab_size=32000),
    "mistral": dict(hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
                    num_key_value_heads=8, vocab_size=32000),
    "qwen2": dict(hidden_size=4096, intermediate_size=22016, num_hidden_layers=32, num_attention_heads=32,
                  vocab_size=151936),
    "gemma": dict(hidden_size=3072, intermediate_size=24576, num_hidden_layers=28, num_attention_heads=16,
                  num_key_value_heads=16, head_dim=256, vocab_size=256000),
    "gemma2": dict(hidden_size=2304, intermediate_size=9216, num_hidden_layers=26, num_attention_heads=8,
                   num_key_value_heads=4, head_dim=256, vocab_size=256000, sliding_window=4096),
}
# Beginnings of model_type whose layers this program has been compared with; others count as Llama's, which is told.
FAMILIES = tuple("""
    afmoe apertus arcee arctic aria baichuan bailing bamba bitnet bloom chatglm codegen cohere dbrx deepseek dots1 dream
    ernie4_5 exaone falcon flex_olmo gemma git glm gpt2 gpt_ gptj granite grok hunyuan internlm internvl jais jamba kimi
    lfm2 llama llava longcat mamba mimo minicpm minimax ministral mistral mixtral mllama modernbert-decoder moonshot mpt
    nanochat nemotron olmo opt ovis persimmon phi qwen rwkv7 seed_oss smollm3 smolvlm solar stablelm starcoder2 step
    vaultgemma voxtral xglm xverse yi youtu
    """.split())


def is_family(kind: str) -> bool:
    return kind.lower().startswith(FAMILIES)


def _without_nests(keys: Mapping[str, Any]) -> dict[str, Any]:
    flat = {key: value for key, value in keys.items() if key not in NESTED}
    for nest in NESTED:
        flat.update(keys[nest] if isinstance(keys.get(nest), dict) else {})
    return flat


def _family(kind: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """@return what a family's classes add to its keys"""
    hidden = keys.get("hidden_size", keys.get("d_model", 0))
    if kind == "mpt":
        return {"intermediate_size": keys.get("expansion_ratio", 4) * hidden, "use_bias": not keys.get("no_bias", True)}
    if kind == "falcon":  # of whose files those of 7 billion parameters name the heads that a single one replaces
        several = keys.get("new_decoder_architecture") or not keys.get("multi_query", True)
        heads = keys.get("num_key_value_heads") or keys.get("num_attention_heads") or keys.get("n_head", 1)
        return {"intermediate_size": keys.get("intermediate_size") or keys.get("ff_factor", 4) * hidden,
                "num_key_value_heads": heads if several else 1}
    if kind == "gpt_bigcode" and keys.get("multi_query", True):
        return {"num_key_value_heads": 1}
    if kind in ("gpt_neo", "xglm"):
        return {"num_attention_heads": keys.get("num_heads", keys.get("attention_heads"))}
    if kind == "modernbert-decoder":
        layers, every = keys.get("num_hidden_layers", 0), keys.get("global_attn_every_n_layers", 1)
        return {"sliding_window": keys.get("local_attention"),
                "layer_types": ["sliding_attention" if index % every else "full_attention" for index in range(layers)]}
    if kind == "qwen":  # whose files count both matrices that go in
        return {"intermediate_size": keys.get("intermediate_size", 8 * hidden) // 2}
    if kind.startswith("lfm2") and keys.get("block_auto_adjust_ff_dim"):
        width = int(2 * keys.get("block_ff_dim", keys.get("intermediate_size", 0))
                    / 3 * keys.get("block_ffn_dim_multiplier", 1.0))
        step = keys.get("block_multiple_of", 256)
        return {"intermediate_size": -(-width // step) * step}
    return {}


def common(keys: Mapping[str, Any], beside: Mapping[str, Any]) -> dict[str, Any]:
    """@param beside keys of the whole model, of which those of the text decoder are a part @return the keys by Llama's
    names"""
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
    if found.get("multi_query_attention") is False:  # ChatGLM: as many heads of keys and values as of queries
        found.pop("num_key_value_heads", None)
    for key in OF_MODALITIES if kind.startswith("ernie4_5") else ():
        value = found.get(key)
        found[key] = value[0] if isinstance(value, list) and value else value
    for key in ("vocab_size", "tie_word_embeddings", "model_type"):
        if found.get(key) is None and beside.get(key) is not None:
            found[key] = beside[key]
    own = _family(kind, found)
    for key, value in {**(UNSAID.get(kind, {}) if beside else {}), **own}.items():
        if found.get(key) is None or kind.startswith(CORRECTED) and key in own:
            found[key] = value
    return found


def of_decoder(keys: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """@return the text decoder's keys by Llama's names, and those beside them"""
    beside: dict[str, Any] = {}
    while True:
        name = next((name for name in DECODERS if isinstance(keys.get(name), dict)), None)
        if name is None:
            return common(keys, beside), beside
        beside = {**beside, **{key: value for key, value in keys.items() if key != name}}
        keys = keys[name]
