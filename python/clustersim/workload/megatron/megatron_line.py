# SPDX-License-Identifier: GPL-2.0-only
"""Flags of Megatron-LM's pretrain_gpt.py, so that its command line can be pasted behind workload.py, with torchrun
before it.

Flags of the model and the plan take effect here. megatron_flags.py has all others, and why they change nothing, are not
simulated, or are refused.
"""
import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.workload.megatron.megatron_flags import CONTRADICT, HOLDS, LIST_HOLDS, WARNED, WITHOUT

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model

LAUNCHERS = ("torchrun", "python", "python3")
SCRIPT = "pretrain_gpt.py"
RECIPES = {"delayed": "fp8", "tensorwise": "fp8", "blockwise": "fp8_blockwise", "mxfp8": "mxfp8"}
SHARDING = ("no_shard", "optim", "optim_grads", "optim_grads_params")  # of ZeRO's stages
NORMS = {"RMSNorm": "rms", "LayerNorm": "layer"}
POSITIONS = ("rope", "yarn", "mrope", "learned_absolute", "none")  # all but the learned ones have no weights
PADDED = 128  # that a vocabulary is a multiple of for each tensor-parallel rank
# How argparse takes a flag with a mark of megatron_flags.py.
HOW: dict[str, dict[str, Any]] = {"*": {"nargs": "+", "metavar": "V"}, "=": {"metavar": "V"},
                                  "": {"action": "store_true", "default": None}}
# Numbers of Megatron-FSDP, and the flag of ours.
SHARDED = {"--megatron-fsdp-main-params-dtype": "main_params_dtype",
           "--megatron-fsdp-main-grads-dtype": "main_grads_dtype",
           "--megatron-fsdp-grad-comm-dtype": "grad_reduce_dtype"}
GRAPHS = {"none": False, "local": True, "transformer_engine": True, "full_iteration": True}
# Flags that change a field of a model: flag, field, and value or, where the flag has one, None.
FIELDS = (("--untie-embeddings-and-output-weights", "tied", False), ("--disable-bias-linear", "bias", False),
          ("--qk-layernorm", "qk_norm", True), ("--add-qkv-bias", "qkv_bias", True), ("--quick-geglu", "gated", True),
          ("--attention-output-gate", "output_gate", True),
          ("--moe-shared-expert-gate", "shared_gate", True), ("--moe-latent-size", "expert_latent", None),
          ("--moe-shared-expert-intermediate-size", "shared_ffn", None), ("--padded-vocab-size", "vocabulary", None))


def _spellings(flag: str) -> list[str]:
    return list(dict.fromkeys([flag, "--" + flag[2:].replace("_", "-"), "--" + flag[2:].replace("-", "_")]))


def _dest(flag: str) -> str:
    return "megatron_" + flag[2:].replace("-", "_")


def add_model_flags(group: argparse._ArgumentGroup) -> None:
    """Adds the flags that change a model."""
    def add(flag: str, **what: Any) -> None:
        group.add_argument(*_spellings(flag), dest=_dest(flag), help=argparse.SUPPRESS, **what)
    for flag, _, value in FIELDS:
        add(flag, **({"type": int, "metavar": "N"} if value is None else {"action": "store_true"}))
    for (
        flag
    ) in (
        "--no-position-embedding --use-rotary-position-embeddings --enable-mhc-connections --no-pad-vocab-size".split()
    ):
        add(flag, action="store_true")
    group.add_argument(*_spellings("--disable-pad-vocab-size"), dest=_dest("--no-pad-vocab-size"), action="store_true",
                       help=argparse.SUPPRESS)
    add("--normalization", choices=NORMS)
    add("--position-embedding-type", choices=POSITIONS)
    add("--mhc-num-residual-streams", type=int, metavar="N")
    for flag in ("--moe-layer-freq", "--window-size", "--window-attn-skip-freq"):
        add(flag, metavar="V")
    group.set_defaults(pasted=False)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Adds all flags of Megatron-LM beside those of the model and the plan."""
    hidden = parser.add_argument_group()  # of a flag of a parser itself, argparse makes the help, to see whether it can

    def add(flag: str, **what: Any) -> None:
        hidden.add_argument(*_spellings(flag), dest=_dest(flag), help=argparse.SUPPRESS, **what)
    for table in (WITHOUT, *WARNED.values()):
        for flag, mark in table.items():
            add(flag, **HOW[mark])
    for flag in HOLDS:
        add(flag, nargs="+" if flag in LIST_HOLDS else 1, metavar="V")
    for flag in CONTRADICT:
        add(flag, nargs="*", metavar="V")
    for flag in ("--fp16 --accumulate-allreduce-grads-in-fp32 --use-megatron-fsdp --first-last-layers-bf16 "
                 "--fp4-param-gather --moe-layer-recompute").split():
        add(flag, action="store_true", default=None)
    for flag in "--moe-enable-deepep --enable-cuda-graph --external-cuda-graph".split():
        add(flag, action="store_true", default=None)
    for flag in SHARDED:
        add(flag, choices=("fp32", "bf16", "fp16", "auto"))
    add("--cuda-graph-impl", choices=GRAPHS)
    add("--fp8-format", choices=("e4m3", "hybrid"))
    add("--fp8-recipe", choices=RECIPES, default=None)
    add("--fp4-format", choices=("e2m1",))
    add("--data-parallel-sharding-strategy", choices=SHARDING)
    add("--recompute-method", choices=("uniform", "block"))
    for flag in ("--num-layers-per-virtual-pipeline-stage", "--microbatch-group-size-per-virtual-pipeline-stage",
                 "--nproc-per-node", "--nnodes"):
        add(flag, type=int, metavar="N")


def without_launcher(words: Sequence[str]) -> tuple[list[str], bool]:
    """@return the flags, without torchrun and the script, and whether there was the script"""
    words = list(words)
    if words and words[0] in LAUNCHERS:
        del words[0]
    scripts = [place for place, word in enumerate(words) if re.fullmatch(r"(.*/)?pretrain_\w+\.py", word)]
    for place in scripts[:1]:
        if not words[place].endswith(SCRIPT):
            raise InputError(f"{words[place]} trains another kind of model; expected {SCRIPT}")
        del words[place]
    return words, bool(scripts)


def _value(given: argparse.Namespace, flag: str) -> Any:
    return getattr(given, _dest(flag), None)


def _holds(flag: str, texts: Sequence[str]) -> bool:
    wanted = HOLDS[flag][0].split()
    if wanted == ["0"]:
        try:
            return all(float(text) == 0 for text in texts)
        except ValueError:
            return False
    return all(text in wanted for text in texts)


def _set(given: argparse.Namespace, name: str, unset: object, value: object, flag: str) -> None:
    """Sets a flag of ours to what one of Megatron-LM's says."""
    if getattr(given, name) not in (unset, value):
        raise InputError(f"{flag} means --{name} {value}, but --{name} is {getattr(given, name)}; expected one of them")
    setattr(given, name, value)


def apply(given: argparse.Namespace) -> None:
    """Refuses flags that contradict what is simulated, and sets ours to what the others say."""
    for flag, why in CONTRADICT.items():
        if _value(given, flag) is not None:
            raise InputError(f"{flag} is not simulated: {why}; expected no such flag")
    for flag, (wanted, why) in HOLDS.items():
        if _value(given, flag) is not None and not _holds(flag, _value(given, flag)):
            raise InputError(f"{flag} {' '.join(_value(given, flag))} is not simulated: {why}; expected {flag} "
                             f"{wanted.replace(' ', ' or ')}")
    _apply_types(given)
    nodes, each = _value(given, "--nnodes"), _value(given, "--nproc-per-node")
    if each is not None or nodes is not None:
        _set(given, "world_size", None, (1 if nodes is None else nodes) * (1 if each is None else each),
             "--nnodes x --nproc_per_node")
    if given.pasted and given.zero is None:
        given.zero = int(given.use_distributed_optimizer)
    if _value(given, "--use-megatron-fsdp"):
        strategy = _value(given, "--data-parallel-sharding-strategy") or SHARDING[0]
        _set(given, "zero", int(given.use_distributed_optimizer) if given.pasted else None, SHARDING.index(strategy),
             f"--data-parallel-sharding-strategy {strategy}")
        _apply_sharded_types(given)
    elif _value(given, "--data-parallel-sharding-strategy"):
        raise InputError("--data-parallel-sharding-strategy has nothing to shard; expected --use-megatron-fsdp")
    for flag in SHARDED if not _value(given, "--use-megatron-fsdp") else ():
        if _value(given, flag):
            raise InputError(f"{flag} is for Megatron-FSDP; expected --use-megatron-fsdp")
    _apply_recomputation(given)
    if _value(given, "--moe-enable-deepep") and given.moe_dispatcher not in ("flex", "deepep"):
        raise InputError(f"--moe-enable-deepep is for the dispatcher flex, but it is {given.moe_dispatcher}; expected "
                         f"--moe-token-dispatcher-type flex")
    group = _value(given, "--microbatch-group-size-per-virtual-pipeline-stage")
    if group not in (None, given.pp):
        raise InputError(f"--microbatch-group-size-per-virtual-pipeline-stage {group} is not simulated: a chunk "
                         f"computes as many micro-batches in turn as there "
                         f"are stages; expected {given.pp}")


def _apply_sharded_types(given: argparse.Namespace) -> None:
    """Megatron-FSDP's gradients have the type of the model's weights, unless its own flags say another."""
    for flag, name in SHARDED.items():
        kind = _value(given, flag)
        if kind == "auto" or kind is None and flag == "--megatron-fsdp-main-grads-dtype":
            kind = "fp16" if _value(given, "--fp16") else "bf16"
            kind = None if name == "grad_reduce_dtype" else kind  # as gradients add up
        if kind:
            _set(given, name, None if name == "grad_reduce_dtype" else "fp32", kind, flag)


def _apply_types(given: argparse.Namespace) -> None:
    recipe = _value(given, "--fp8-recipe")
    if recipe and not _value(given, "--fp8-format"):
        raise InputError("--fp8-recipe is for products of 8-bit floats; expected --fp8-format")
    if _value(given, "--fp8-format"):
        _set(given, "dtype", "bfloat16", RECIPES[recipe or "delayed"],
             f"--fp8-format with the recipe {recipe or 'delayed'}")
    if _value(given, "--fp4-format"):
        _set(given, "dtype", "bfloat16", "nvfp4", "--fp4-format")
    if _value(given, "--fp16") and _value(given, "--bf16"):
        raise InputError("--fp16 and --bf16 contradict each other; expected one of them")
    if _value(given, "--fp4-param-gather"):
        if not _value(given, "--fp4-format"):
            raise InputError("--fp4-param-gather is for products of 4-bit floats; expected --fp4-format")
        given.fp8_param_gather = True
    if _value(given, "--fp16") and not (_value(given, "--accumulate-allreduce-grads-in-fp32")
                                        or _value(given, "--use-megatron-fsdp")):
        _set(given, "main_grads_dtype", "fp32", "fp16", "--fp16")  # which Megatron-LM adds up and reduces as they are


def precise_ends(given: argparse.Namespace) -> tuple[int, int]:
    """@return the first and the last layers whose products keep bfloat16. Megatron-LM looks at the numbers with a flag
    alone, with which they are 1"""
    ends, first_last = (given.num_layers_at_start_in_bf16, given.num_layers_at_end_in_bf16), _value(given,
        "--first-last-layers-bf16")
    if given.pasted and not first_last:
        return 0, 0
    first, last = (int(bool(first_last)) if count is None else count for count in ends)
    return first, last


def _apply_recomputation(given: argparse.Namespace) -> None:
    if _value(given, "--moe-layer-recompute"):
        _set(given, "recompute", "none", "selective", "--moe-layer-recompute")
        given.recompute_modules = [*(given.recompute_modules or ["core_attn"]), "moe"]
    if given.pasted and given.recompute == "selective" and not given.recompute_modules:
        given.recompute_modules = ["core_attn"]  # Megatron-LM's default
    method = _value(given, "--recompute-method")
    if method == "uniform" and given.recompute_num_layers > 1:
        raise InputError(f"--recompute-method uniform of {given.recompute_num_layers} layers at once is not "
                         f"simulated: the input of each layer is kept; "
                         "expected --recompute-num-layers 1, or --recompute-method block")
    if method == "uniform":
        given.recompute_num_layers = 0  # of all layers


def virtual(given: argparse.Namespace, model: "Model") -> int | None:
    """@return chunks of a stage by the layers of a chunk, or None"""
    each = _value(given, "--num-layers-per-virtual-pipeline-stage")
    if each is None:
        return None
    if each < 1 or model.layers % (given.pp * each):
        raise InputError(f"--num-layers-per-virtual-pipeline-stage {each} does not divide the {model.layers} layers "
                         f"of {given.pp} stages; expected a divisor")
    found = model.layers // given.pp // each
    if given.vpp not in (None, found):
        raise InputError(f"--num-layers-per-virtual-pipeline-stage {each} means --vpp {found}, but --vpp is "
                         f"{given.vpp}; expected one of them")
    return found


def _pattern(flag: str, text: str, layers: int, at: Callable[[int, int], int]) -> list[int]:
    """@param at says what a number N alone means for layer i, from 1 @return 0 or 1 for each layer, from such a number
    or a list as Python writes it"""
    if re.fullmatch(r"[1-9]\d{0,5}", text):
        return [at(layer, int(text)) for layer in range(1, layers + 1)]
    term = r"\[[01](?:,[01])*\](?:\*\d{1,5})?"
    found: list[int] = []
    if re.fullmatch(rf"\(*{term}(?:\+{term})*\)*", text.replace(" ", "")):
        for bits, count in re.findall(r"\[([01,]+)\](?:\*(\d+))?", text.replace(" ", "")):
            found += [int(bit) for bit in bits.split(",")] * int(count or 1)
    if len(found) != layers:
        raise InputError(f'{flag} "{text}" does not describe {layers} layers; expected a number, or a list of 0 and 1 '
                         f'such as ([0]*N+[1]*M) with N + M = {layers}')
    return found


def _layers_with_experts(given: argparse.Namespace, layers: int) -> dict[str, Any]:
    """@return fields that say which layers have experts: all after the first ones, or one by one"""
    text = _value(given, "--moe-layer-freq")
    found = _pattern("--moe-layer-freq", text, layers, lambda layer, each: int((layer - 1) % each == 0))
    dense = found.index(1) if 1 in found else layers
    if all(found[dense:]) and dense < layers:
        return {"dense_layers": dense}
    if dense == layers:
        raise InputError(f'--moe-layer-freq "{text}" has no layer with experts; expected a 1, or no --num-experts')
    return {"expert_layers": tuple(map(bool, found))}


def _windows(given: argparse.Namespace, layers: int) -> dict[str, Any]:
    """@return fields of attention to a window: tokens before, and the token itself"""
    size, skipped = _value(given, "--window-size"), _value(given, "--window-attn-skip-freq")
    if size is None:
        if skipped:
            raise InputError("--window-attn-skip-freq has no window to skip; expected --window-size")
        return {}
    sides = re.fullmatch(r"\(?(\d{1,9}),(0)\)?", size.replace(" ", ""))
    if not sides:
        raise InputError(f'--window-size "{size}" is not simulated: a token attends to itself and those before it; '
                         f'expected LEFT,0')
    pattern = _pattern("--window-attn-skip-freq", skipped, layers, lambda layer,
                       each: int(layer % each != 0)) if skipped else [1]
    return {"window": int(sides[1]) + 1, "windowed": tuple(map(bool, pattern))}


def padding(given: argparse.Namespace) -> int:
    """@return the number that a tensor-parallel rank's share of the vocabulary is padded to a multiple of; 1 leaves the
    vocabulary as it is"""
    if _value(given, "--padded-vocab-size") or _value(given, "--no-pad-vocab-size"):
        return 1
    has_defaults = given.pasted and not (given.model_name or given.model_size or given.config)
    return given.make_vocab_size_divisible_by or (PADDED if has_defaults else 1)


def graphs(given: argparse.Namespace) -> bool | None:
    """@return whether CUDA graphs launch whole layers; None if no flag says so, or for parts of layers"""
    graph = _value(given, "--cuda-graph-impl") or next((name for flag,
                                                        name in (("--enable-cuda-graph", "local"),
                                                            ("--external-cuda-graph", "transformer_engine"))
                                                        if _value(given, flag)), None)
    parts = {*(_value(given, "--cuda-graph-modules") or []), *(_value(given, "--cuda-graph-scope") or [])} - {"full",
        "full_iteration"}
    return None if graph is None or GRAPHS[graph] and parts else GRAPHS[graph]


def model_fields(given: argparse.Namespace, fields: Mapping[str, Any]) -> dict[str, Any]:
    """@return fields of the model that the flags change. In a pasted line, flags that are left out have Megatron-LM's
    defaults."""
    found: dict[str, Any] = {}
    if _value(given, "--normalization"):
        found["norm"] = NORMS[_value(given, "--normalization")]
    for flag, field, value in FIELDS:
        said = _value(given, flag)
        if said is not None and said is not False:
            found[field] = said if value is None else value
    if found.get("bias") is False and given.add_bias_linear:
        raise InputError("--disable-bias-linear and --add_bias_linear contradict each other; expected one of them")
    kind = _value(given, "--position-embedding-type") or (
        "rope" if _value(given, "--no-position-embedding") or _value(given, "--use-rotary-position-embeddings")
        else None)
    if given.pasted and not (given.model_name or given.model_size or given.config):
        found = {"norm": "layer", "tied": True, "bias": True, **found}
        kind = kind or "learned_absolute"
    if kind == "learned_absolute":
        found["positions"] = given.max_position_embeddings or fields.get("positions") or getattr(given, "seq_length", 0)
    elif kind:
        found["positions"] = 0
    streams = _value(given, "--mhc-num-residual-streams")
    if _value(given, "--enable-mhc-connections"):
        found["streams"] = 4 if streams is None else streams
    elif streams is not None:
        raise InputError("--mhc-num-residual-streams has no connections; expected --enable-mhc-connections")
    if _value(given, "--moe-layer-freq") and fields.get("experts"):
        found.update(_layers_with_experts(given, fields["layers"]))
    return {**found, **_windows(given, fields["layers"])}


def of_experts(given: argparse.Namespace) -> dict[str, Any]:
    """@return flags that say nothing about a model without experts, and their values"""
    return {flag: _value(given, flag) for flag in ("--moe-layer-freq", "--moe-latent-size", "--moe-shared-expert-gate",
                                                   "--moe-shared-expert-intermediate-size")}


def tell(given: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Says once which flags changed nothing, and that a pasted line has a vocabulary of ours. @param say prints a
    line"""
    without = [flag for flag in (*WITHOUT, *HOLDS) if _value(given, flag) is not None]
    if without:
        say(f"{len(without)} flags of Megatron-LM change neither time nor memory: {' '.join(without)}")
    for why, table in WARNED.items():
        idle = [flag for flag in table if _value(given, flag) is not None]
        if idle:
            say(f"warning: {' '.join(idle)} {'has' if len(idle) == 1 else 'have'} no effect: {why}")
    if graphs(given) is not None and not getattr(given, "framework", None):
        say("warning: --cuda-graph-impl has no effect: without --framework launches take no time")
    if given.pasted and given.vocabulary is None and _value(given,
                                                            "--padded-vocab-size") is None and not (given.model_name
                                                                or given.model_size or given.config):
        say("warning: the line does not say how many words the tokenizer has; 32000 are taken, expected --vocab-size")
