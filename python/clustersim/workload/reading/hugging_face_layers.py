# SPDX-License-Identifier: GPL-2.0-only
"""The layers of a config.json: how each mixes tokens, whether it has a window or experts, and sizes of its own."""
import json
from typing import Any, TypeVar
from collections.abc import Iterator, Sequence

from clustersim.errors import InputError
from clustersim.workload.model import mixer as mixer_classes
from clustersim.workload.model.transformer import Shape

Value = TypeVar("Value")

LISTS = ("layer_types", "layers_block_type", "layer_block_types", "attention_layers")


def _kinds() -> dict[str, tuple[str, bool]]:
    """@return kinds of layers that a file may name: what mixes tokens, and whether it has a window"""
    return {word: (name, windowed) for name, mixer in mixer_classes.known().items()
            for words, windowed in ((mixer.layer_types, False), (mixer.windowed_types, True)) for word in words}


def shortest(values: Sequence[Value]) -> tuple[Value, ...]:
    """@return the first values, which repeat as all do"""
    count = len(values)
    return tuple(values[:next(n for n in range(1, count + 1) if all(values[i] == values[i % n] for i in range(count)))])


def _of_layers(config: mixer_classes.Keys, name: str, value: object, layers: int) -> list[Any]:
    if not isinstance(value, list) or len(value) < layers:
        raise InputError(f"{config.path}: {name} is not of {layers} layers; expected a value for each")
    return value[:layers]


def _named(config: mixer_classes.Keys, layers: int) -> list[tuple[str, bool]] | None:
    """@return (mixer, whether it has a window) for each layer, as a list of the file names them; None without one"""
    pattern = config.get("sliding_window_pattern", "_sliding_window_pattern")
    found = config.get(*LISTS)
    if found is None and isinstance(pattern, str):  # such as LLLG
        found = [pattern[index % len(pattern)] for index in range(layers)] if pattern else []
    if found is None or any(mixer.lists_layers and mixer.is_attention(config)
                            for mixer in mixer_classes.known().values()):
        return None
    if not isinstance(found, list) or len(found) < layers:
        raise InputError(f"{config.path}: the kinds of attention are not those of {layers} layers; expected a kind "
                         f"for each")
    kinds = _kinds()
    for kind in found[:layers]:  # Step-3.5 has those of layers that predict further tokens, too
        if kind not in kinds:
            raise InputError(f"{config.path}: {json.dumps(kind)} is not a kind of attention that this program models; "
                             f"expected {', '.join(kinds)}")
    return [kinds[kind] for kind in found[:layers]]


def _attending(config: mixer_classes.Keys, kind: str, layers: int) -> list[bool] | None:
    """@return for each layer whether it has attention, where a file says it by numbers; None where it does not"""
    flags = config.get("attn_type_list")  # MiniMax: 0 is linear attention
    if flags is not None:
        return [bool(flag) for flag in _of_layers(config, "attn_type_list", flags, layers)]
    numbers = config.get("attn_layer_indices", "full_attn_idxs")
    if numbers is None and isinstance(config.get("linear_attn_config"), dict):
        numbers = [number - 1 for number in config.get("linear_attn_config").get("full_attn_layers", [])]
    if numbers is not None:
        return [index in numbers for index in range(layers)]
    period, group = config.get("attn_layer_period"), config.get("layer_group_size", default=1)
    if period:
        return [index % period == config.get("attn_layer_offset", default=0) for index in range(layers)]
    if group > 1:  # layers after the last whole group attend
        return [(index + 1) % group == 0 or index >= layers // group * group for index in range(layers)]
    if config.get("linear_num_key_heads"):
        every = config.get("full_attention_interval", default=4)
        return [(index + 1) % every == 0 for index in range(layers)]
    return None


def mixers(config: mixer_classes.Keys, kind: str, layers: int) -> list[str]:
    """@return what mixes tokens in each layer"""
    for name, mixer in mixer_classes.known().items():
        if mixer.is_all(config, kind):
            return [name] * layers
    named = _named(config, layers)
    config.get("full_attention_interval", "attn_layer_period", "attn_layer_offset", "layer_group_size",
               "full_attn_idxs", "attn_layer_indices")
    if named is not None:
        return [mixer for mixer, _ in named]
    attends = _attending(config, kind, layers)
    if attends is None:
        return ["attention"] * layers
    other = next((name for name, mixer in mixer_classes.known().items() if mixer.alternates(config, kind)), "linear")
    return ["attention" if one else other for one in attends]


def _is_windowed(config: mixer_classes.Keys, kind: str, layers: int) -> list[bool]:
    """@return for each layer whether it has a window, in models with windows"""
    named = _named(config, layers)
    if named is not None:
        return [windowed for _, windowed in named]
    flags = config.get("hybrid_layer_pattern")  # MiMo-V2: 1 is a window
    if isinstance(flags, list):
        return [bool(flag) for flag in _of_layers(config, "hybrid_layer_pattern", flags, layers)]
    numbers = config.get("sliding_window_layers")
    if isinstance(numbers, list):
        return [index in numbers for index in range(layers)]
    llama4 = kind.startswith("llama4")
    every = config.get("sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers",
                       default=6 if kind.startswith("gemma3") else 2 if kind in ("gemma2", "gpt_oss") else 0)
    ropes = config.get("no_rope_layers")  # Llama 4: layers without positions see all tokens
    interval = config.get("no_rope_layer_interval", default=4)
    first = config.get("max_window_layers", default=0)
    first = first if kind.startswith("qwen") else 0
    if llama4 and isinstance(ropes, list) and len(ropes) == layers:
        return [bool(rope) for rope in ropes]
    every = interval if llama4 else every
    if every:
        return [(index + 1) % every != 0 for index in range(layers)]
    return [index >= first for index in range(layers)]


def windows(config: mixer_classes.Keys, kind: str, layers: int, mixing: Sequence[str]) -> dict[str, Any]:
    """@return the fields of Model that say which tokens a token attends to"""
    llama4 = kind.startswith("llama4")
    chunk = config.get("attention_chunk_size", default=8192 if llama4 else None)
    window = config.get("sliding_window", "window_size")
    if window is not None and not isinstance(window, int):
        raise InputError(f"{config.path}: sliding_window {json.dumps(window)[:40]} is not a number of tokens; expected "
                         f"a whole number, or layer_types for the layers that have it")
    config.get("attention_types")  # GPT-Neo's attention_layers say the same
    config.get("global_attn_every_n_layers", "max_window_layers", "sliding_window_layers", "no_rope_layers",
               "no_rope_layer_interval", "hybrid_layer_pattern")
    uses = config.get("use_sliding_window", default=not kind.startswith("qwen"))
    windowed = [one and mixer_classes.known()[mixer].has_window for one,
                mixer in zip(_is_windowed(config, kind, layers), mixing)]
    if window and not llama4:
        chunk = None  # MiMo-V2 has both keys, of the same size
    size = chunk or (window if uses else None)
    longest = config.get("max_position_embeddings")
    size = None if size and isinstance(longest, int) and size >= longest else size
    if not size or size < 0 or not any(windowed):
        return {}
    return dict(window=size, window_is_chunk=bool(chunk), windowed=shortest(windowed))


def _layers_with_experts(config: mixer_classes.Keys, kind: str, layers: int) -> list[bool]:
    """@return for each layer whether it has experts"""
    listed = config.get("moe_layer_freq", "is_moe_layer")
    types, enumerated, numbers = config.get("mlp_layer_types"), config.get("moe_layers_enum"), config.get("moe_layers")
    dense = config.get("first_k_dense_replace", "num_dense_layers", default=0)
    every = config.get("interleave_moe_layer_step", "decoder_sparse_step", "moe_layer_interval", "moe_layer_frequency",
                       "moe_every_n_layer", default=1)
    period, last = config.get("expert_layer_period"), config.get("moe_layer_end_index", default=layers - 1)
    only_dense = config.get("mlp_only_layers", default=[])
    if isinstance(listed, list):
        return [bool(flag) for flag in _of_layers(config, "moe_layer_freq", listed, layers)]
    if types is not None:
        return [one == "sparse" for one in _of_layers(config, "mlp_layer_types", types, layers)]
    if isinstance(enumerated, str):
        numbers = [int(number) for number in enumerated.split(",") if number.strip().isdigit()]
    if isinstance(numbers, list):
        return [index in numbers for index in range(layers)]
    if period:
        return [index % period == config.get("expert_layer_offset", default=0) for index in range(layers)]
    every = listed if isinstance(listed, int) and not isinstance(listed, bool) and listed else every
    last = layers - 1 if last < 0 else last
    counted = dense if listed else 0
    return [dense <= index <= last and (index - counted + 1) % every == 0 and index not in only_dense
            for index in range(layers)]


def experts(config: mixer_classes.Keys, kind: str, layers: int) -> dict[str, Any]:
    """@return the fields of Model that say which layers have experts"""
    having = _layers_with_experts(config, kind, layers)
    dense = having.index(True) if True in having else layers
    for every in (1, 2, 3, 4):
        first = max(dense - every + 1, 0)
        if having == [index >= first and (index - first + 1) % every == 0 for index in range(layers)]:
            return dict(dense_layers=first, moe_every=every)
    return dict(expert_layers=shortest(having))


# -- sizes of single layers

def _listed(config: mixer_classes.Keys, layers: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Sizes that a file gives as lists."""
    for field, name in (("ffn", "intermediate_size"), ("heads", "num_attention_heads"),
                        ("heads", "num_attention_heads_per_layer"),
                        ("kv_heads", "num_key_value_heads"), ("head_dim", "head_dim")):
        values = config.get(name)
        if isinstance(values, list):
            yield from ((index, {field: value}) for index, value in enumerate(_of_layers(config, name, values, layers)))


def _of_windows(config: mixer_classes.Keys, layers: int,
                windowed: Sequence[bool]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Sizes of layers with a window, or of those without one."""
    other = config.get("attention_other_setting", default={})  # Step-3.5
    sizes = {"heads": config.get("swa_num_attention_heads", default=other.get("num_attention_heads")),
             "kv_heads": config.get("swa_num_key_value_heads", default=other.get("num_attention_groups")),
             "head_dim": config.get("swa_head_dim", default=other.get("head_dim")),
             "value_dim": config.get("swa_v_head_dim")}
    yield from ((index, sizes) for index in range(layers) if windowed[index])
    sizes = {"head_dim": config.get("global_head_dim"), "kv_heads": config.get("num_global_key_value_heads"),
             "keys_are_values": config.get("attention_k_eq_v") or None}
    yield from ((index, sizes) for index in range(layers) if not windowed[index])


def _borrowed(config: mixer_classes.Keys, layers: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Layers whose keys and values are those of an earlier one."""
    shared, factor = config.get("num_kv_shared_layers", default=0), config.get("cla_share_factor", default=1)
    wide = config.get("use_double_wide_mlp")
    if not config.get("use_cla"):
        factor = 1
    for index in range(layers):
        if index % factor or index >= layers - shared > 0:
            yield index, {"borrows_keys": True, **({"ffn": 2 * config.get("intermediate_size")} if wide else {})}


def _indexed(config: mixer_classes.Keys, layers: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Layers of sparse attention that attend to all tokens, or to those of an earlier layer's indexer."""
    types, sparse = config.get("indexer_types"), config.get("sparse_attention_config", default={})
    flags = sparse.get("sparse_attention_freq")
    if types is not None:
        yield from ((index, {"indexer": "shared" if one == "shared" else None})
                    for index, one in enumerate(_of_layers(config, "indexer_types", types, layers)))
    if flags is not None:
        yield from ((index, {"indexer": None if flag else "none"}) for index,
                    flag in enumerate(_of_layers(config, "sparse_attention_freq", flags, layers)))


def _blocks(config: mixer_classes.Keys, layers: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Blocks that a search for architectures has changed (Llama-Nemotron, arXiv 2505.00949)."""
    found = config.get("block_configs")
    if found is None:
        return
    hidden, heads = config.get("hidden_size"), config.get("num_attention_heads")
    for index, block in enumerate(_of_layers(config, "block_configs", found, layers)):
        attention, feed = block.get("attention", {}), block.get("ffn", {})
        if attention.get("replace_with_linear") or feed.get("replace_with_linear"):
            raise InputError(f"{config.path}: block_configs replace a block with a product, which is not supported; "
                             f"expected replace_with_linear false")
        ffn = feed.get("intermediate_size") or -(-int(2 * feed["ffn_mult"] * hidden
                                                      / 3) // 256) * 256 if not feed.get("no_op") else None
        group = attention.get("n_heads_in_group")
        yield index, {"ffn": ffn, "kv_heads": attention.get("num_key_value_heads")
                      or (heads // group if group else None), "feeds": False if feed.get("no_op") else None}


def without_attention(config: mixer_classes.Keys, layers: int) -> list[bool]:
    """@return for each layer whether a search for architectures has taken its attention away"""
    found = config.get("block_configs")
    return [bool(found) and bool(found[index].get("attention", {}).get("no_op")) for index in range(layers)]


def shapes(config: mixer_classes.Keys, layers: int, windowed: Sequence[bool]) -> dict[str, Any]:
    """@return the fields of Model that say which layers have sizes of their own"""
    own: list[dict[str, Any]] = [{} for _ in range(layers)]
    for reader in (_listed, _borrowed, _indexed, _blocks):
        for index, sizes in reader(config, layers):
            own[index].update({field: value for field, value in sizes.items() if value is not None})
    for index, sizes in _of_windows(config, layers, windowed):
        own[index].update({field: value for field, value in sizes.items() if value is not None})
    kinds = [Shape(**sizes) for sizes in own]
    different = list(dict.fromkeys(kinds))
    if len(different) == 1:
        return {field: value for field, value in different[0].dict().items() if value is not None}
    return dict(shapes=tuple(different), shape_of=shortest([different.index(kind) for kind in kinds]))
