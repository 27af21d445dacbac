# SPDX-License-Identifier: GPL-2.0-only
"""Flags of Megatron-LM's pretrain_gpt.py, so that its command line can be pasted behind workload.py, with torchrun before it.

Flags that other files do not know are of five kinds: those that say nothing about time and memory, those that have the value that is
simulated, those that change the model or the plan, those that say what overlaps, and those that contradict what is simulated.
"""
import argparse
import re
from typing import Any

from clustersim.errors import InputError

LAUNCHERS = ("torchrun", "python", "python3")
SCRIPT = "pretrain_gpt.py"
# They choose data, initial weights, learning, checkpoints, logs, or how a kernel computes the same.
SWITCHES = """--use-mcore-models --apply-layernorm-1p --no-masked-softmax-fusion --attention-softmax-in-fp32 --rotary-interleaved --use-rope-scaling
    --group-query-attention --multi-latent-attention --moe-permute-fusion --moe-router-fusion --moe-router-pre-softmax --moe-router-enable-expert-bias
    --moe-router-padding-for-fp8 --moe-router-padding-for-quantization --cross-entropy-loss-fusion --calculate-per-token-loss
    --no-gradient-accumulation-fusion --no-persist-layer-norm --use-precision-aware-optimizer --manual-gc --no-check-for-nan-in-loss-and-grad
    --check-for-nan-in-loss-and-grad --check-for-spiky-loss --check-for-large-grads --no-create-attention-mask-in-dataloader --no-mmap-bin-files --mock-data
    --reset-position-ids --reset-attention-mask --eod-mask-loss --no-load-optim --no-load-rng --no-save-optim --no-save-rng --finetune
    --auto-detect-ckpt-format --async-save --use-dist-ckpt --use-checkpoint-args --exit-on-missing-checkpoint --override-opt-param-scheduler
    --use-checkpoint-opt-param-scheduler --log-throughput --log-params-norm --log-num-zeros-in-grad --log-progress --log-timers-to-tensorboard
    --log-memory-to-tensorboard --log-validation-ppl-to-tensorboard --log-world-size-to-tensorboard --no-log-loss-scale-to-tensorboard
    --no-log-learning-rate-to-tensorboard --profile --use-pytorch-profiler --record-memory-history --use-cpu-initialization --enable-experimental
    --exit-signal-handler --bf16""".split()
VALUES = """--init-method-std --norm-epsilon --lr --min-lr --lr-decay-style --lr-decay-iters --lr-decay-samples --lr-warmup-iters --lr-warmup-samples
    --lr-warmup-fraction --lr-warmup-init --lr-wsd-decay-style --lr-wsd-decay-iters --lr-wsd-decay-samples --decoupled-lr --decoupled-min-lr
    --train-iters --train-samples --weight-decay --start-weight-decay --end-weight-decay --weight-decay-incr-style --adam-beta1 --adam-beta2
    --adam-eps --clip-grad --seed --exit-interval --exit-duration-in-mins --manual-gc-interval --empty-unused-memory-level --loss-scale
    --initial-loss-scale --min-loss-scale --loss-scale-window --hysteresis --split --data-cache-path --vocab-file --merge-file --tokenizer-type
    --tokenizer-model --tiktoken-pattern --num-workers --dataloader-type --save --load --save-interval --ckpt-format --ckpt-step
    --pretrained-checkpoint --dist-ckpt-strictness --eval-iters --eval-interval --log-interval --tensorboard-dir --tensorboard-log-interval
    --tensorboard-queue-size --timing-log-level --timing-log-option --wandb-project --wandb-exp-name --wandb-save-dir --wandb-entity
    --profile-step-start --profile-step-end --distributed-backend --distributed-timeout-minutes --rotary-base --rotary-percent
    --rotary-scaling-factor --rotary-seq-len-interpolation-factor --rope-scaling-factor --mscale --mscale-all-dim --moe-router-load-balancing-type
    --moe-aux-loss-coeff --moe-z-loss-coeff --moe-router-dtype --moe-router-score-function --moe-router-topk-scaling-factor
    --moe-router-bias-update-rate --moe-router-num-groups --mtp-loss-scaling-factor --cross-entropy-fusion-impl --fp8-amax-history-len
    --fp8-amax-compute-algo --fp8-margin --fp8-interval --ddp-bucket-size --ddp-num-buckets --rerun-mode --step-batch-size-schedule
    --node-rank --master-addr --master-port --rdzv-id --rdzv-backend --rdzv-endpoint""".split()
LISTS = "--data-path --train-data-path --valid-data-path --test-data-path --profile-ranks --rampup-batch-size".split()
OVERLAPS = "--overlap-param-gather --tp-comm-overlap --delay-wgrad-compute --overlap-moe-expert-parallel-comm --moe-shared-expert-overlap".split()
# The only values that are simulated, and why.
FUSED = "kernels are those of Transformer Engine, with fused attention"
HOLDS = {"--attention-dropout": ("0", "nothing is dropped"), "--hidden-dropout": ("0", "nothing is dropped"),
         "--transformer-impl": ("transformer_engine", FUSED), "--attention-backend": ("auto flash fused", FUSED),
         "--optimizer": ("adam", "the optimizer is Adam"), "--moe-token-drop-policy": ("probs position", "dropped tokens are of each expert")}
CONTRADICT = {**dict.fromkeys("--no-bias-swiglu-fusion --no-bias-gelu-fusion --no-bias-dropout-fusion --no-rope-fusion --use-legacy-models".split(), FUSED),
              "--use-tp-pp-dp-mapping": "ranks are in the order TP, CP, DP, PP",
              "--optimizer-cpu-offload": "the optimizer and its states are in the GPU's memory",
              "--fine-grained-activation-offloading": "whole layers move to the host's memory (--offload_num_layers)",
              **dict.fromkeys("--spec --hybrid-layer-pattern --hybrid-override-pattern --is-hybrid-model --experimental-attention-variant --window-size".split(),
                              "layers are alike (--config FILE describes others)")}
RECIPES = {"delayed": "fp8", "tensorwise": "fp8", "blockwise": "fp8_blockwise", "mxfp8": "mxfp8"}
SHARDING = ("no_shard", "optim", "optim_grads", "optim_grads_params")  # of ZeRO's stages
NORMS = {"RMSNorm": "rms", "LayerNorm": "layer"}
POSITIONS = ("rope", "learned_absolute", "none")


def _spellings(flag):
    return list(dict.fromkeys([flag, "--" + flag[2:].replace("-", "_")]))


def _dest(flag):
    return "megatron_" + flag[2:].replace("-", "_")


def add_model_flags(group) -> None:
    """Adds the flags that change a model."""
    def add(flag, **what) -> None:
        group.add_argument(*_spellings(flag), dest=_dest(flag), help=argparse.SUPPRESS, **what)
    for flag in "--untie-embeddings-and-output-weights --disable-bias-linear --qk-layernorm --add-qkv-bias --no-position-embedding".split():
        add(flag, action="store_true")
    add("--use-rotary-position-embeddings", action="store_true")
    add("--normalization", choices=NORMS)
    add("--position-embedding-type", choices=POSITIONS)
    add("--moe-shared-expert-intermediate-size", type=int, metavar="N")
    add("--moe-layer-freq", metavar="PATTERN")
    group.set_defaults(pasted=False)


def add_flags(parser) -> None:
    """Adds all others."""
    def add(flag, **what) -> None:
        parser.add_argument(*_spellings(flag), dest=_dest(flag), help=argparse.SUPPRESS, **what)
    for flag in (*SWITCHES, *OVERLAPS, "--fp16", "--accumulate-allreduce-grads-in-fp32", "--use-megatron-fsdp"):
        add(flag, action="store_true", default=None)
    for flag in (*VALUES, *HOLDS):
        add(flag, metavar="V")
    for flag in (*LISTS, *CONTRADICT):
        add(flag, nargs="*", metavar="V")
    add("--fp8-format", choices=("e4m3", "hybrid"))
    add("--fp8-recipe", choices=RECIPES, default=None)
    add("--fp4-format", choices=("e2m1",))
    add("--data-parallel-sharding-strategy", choices=SHARDING)
    add("--recompute-method", choices=("uniform", "block"))
    for flag in ("--num-layers-per-virtual-pipeline-stage", "--nproc-per-node", "--nnodes"):
        add(flag, type=int, metavar="N")


def without_launcher(words):
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


def _value(given, flag):
    return getattr(given, _dest(flag), None)


def _holds(flag, text) -> bool:
    wanted = HOLDS[flag][0].split()
    if wanted == ["0"]:
        try:
            return float(text) == 0
        except ValueError:
            return False
    return text in wanted


def _set(given, name, unset, value, flag) -> None:
    """Sets a flag of ours to what one of Megatron-LM's says."""
    if getattr(given, name) not in (unset, value):
        raise InputError(f"{flag} means --{name} {value}, but --{name} is {getattr(given, name)}; expected one of them")
    setattr(given, name, value)


def apply(given) -> None:
    """Refuses flags that contradict what is simulated, and sets ours to what the others say."""
    for flag, why in CONTRADICT.items():
        if _value(given, flag) is not None:
            raise InputError(f"{flag} is not simulated: {why}; expected no such flag")
    for flag, (wanted, why) in HOLDS.items():
        if _value(given, flag) is not None and not _holds(flag, _value(given, flag)):
            raise InputError(f"{flag} {_value(given, flag)} is not simulated: {why}; expected {flag} {wanted.replace(' ', ' or ')}")
    _apply_types(given)
    nodes, each = _value(given, "--nnodes"), _value(given, "--nproc-per-node")
    if each is not None or nodes is not None:
        _set(given, "world_size", None, (1 if nodes is None else nodes) * (1 if each is None else each), "--nnodes x --nproc_per_node")
    if given.pasted and given.zero is None:
        given.zero = int(given.use_distributed_optimizer)
    if _value(given, "--use-megatron-fsdp"):
        strategy = _value(given, "--data-parallel-sharding-strategy") or SHARDING[0]
        _set(given, "zero", int(given.use_distributed_optimizer) if given.pasted else None, SHARDING.index(strategy), f"--data-parallel-sharding-strategy {strategy}")
    elif _value(given, "--data-parallel-sharding-strategy"):
        raise InputError("--data-parallel-sharding-strategy has nothing to shard; expected --use-megatron-fsdp")
    _apply_recomputation(given)


def _apply_types(given) -> None:
    recipe = _value(given, "--fp8-recipe")
    if recipe and not _value(given, "--fp8-format"):
        raise InputError("--fp8-recipe is for products of 8-bit floats; expected --fp8-format")
    if _value(given, "--fp8-format"):
        _set(given, "dtype", "bfloat16", RECIPES[recipe or "delayed"], f"--fp8-format with the recipe {recipe or 'delayed'}")
    if _value(given, "--fp4-format"):
        _set(given, "dtype", "bfloat16", "nvfp4", "--fp4-format")
    if _value(given, "--fp16") and _value(given, "--bf16"):
        raise InputError("--fp16 and --bf16 contradict each other; expected one of them")
    if _value(given, "--fp16") and not _value(given, "--accumulate-allreduce-grads-in-fp32"):
        _set(given, "main_grads_dtype", "fp32", "fp16", "--fp16")  # which Megatron-LM adds up and reduces as they are


def _apply_recomputation(given) -> None:
    method = _value(given, "--recompute-method")
    if method == "uniform" and given.recompute_num_layers > 1:
        raise InputError(f"--recompute-method uniform of {given.recompute_num_layers} layers at once is not simulated: the input of each layer is kept; "
                         "expected --recompute-num-layers 1, or --recompute-method block")
    if method == "uniform":
        given.recompute_num_layers = 0  # of all layers


def virtual(given, model):
    """@return chunks of a stage by the layers of a chunk, or None"""
    each = _value(given, "--num-layers-per-virtual-pipeline-stage")
    if each is None:
        return None
    if each < 1 or model.layers % (given.pp * each):
        raise InputError(f"--num-layers-per-virtual-pipeline-stage {each} does not divide the {model.layers} layers of {given.pp} stages; expected a divisor")
    found = model.layers // given.pp // each
    if given.vpp not in (None, found):
        raise InputError(f"--num-layers-per-virtual-pipeline-stage {each} means --vpp {found}, but --vpp is {given.vpp}; expected one of them")
    return found


def _dense_layers(pattern, layers):
    """@return the layers before the first with experts, by Megatron-LM's pattern: every layer (1), or a list as Python writes it"""
    parts = re.fullmatch(r"\(?(?:\[0\](?:\*(\d+))?\+)?\[1\](?:\*(\d+))?\)?", pattern.replace(" ", ""))
    if pattern == "1":
        return 0
    first = int(parts[1] or 1) if parts and "[0]" in pattern else 0
    if not parts or first + int(parts[2] or 1) != layers:
        raise InputError(f'--moe-layer-freq "{pattern}" is not supported; expected 1, or ([0]*N+[1]*M) with N + M = {layers} layers')
    return first


def model_fields(given, fields):
    """@return fields of the model that the flags change. In a pasted line, flags that are left out have Megatron-LM's defaults."""
    found: dict[str, Any] = {}
    if _value(given, "--normalization"):
        found["norm"] = NORMS[_value(given, "--normalization")]
    for flag, field, value in (("--untie-embeddings-and-output-weights", "tied", False), ("--disable-bias-linear", "bias", False),
                               ("--qk-layernorm", "qk_norm", True), ("--add-qkv-bias", "qkv_bias", True)):
        if _value(given, flag):
            found[field] = value
    if found.get("bias") is False and given.add_bias_linear:
        raise InputError("--disable-bias-linear and --add_bias_linear contradict each other; expected one of them")
    kind = _value(given, "--position-embedding-type") or (
        "rope" if _value(given, "--no-position-embedding") or _value(given, "--use-rotary-position-embeddings") else None)
    if given.pasted and not (given.model_name or given.model_size or given.config):
        found = {"norm": "layer", "tied": True, "bias": True, **found}
        kind = kind or "learned_absolute"
    if kind == "learned_absolute":
        found["positions"] = given.max_position_embeddings or fields.get("positions") or getattr(given, "seq_length", 0)
    elif kind:
        found["positions"] = 0
    if _value(given, "--moe-shared-expert-intermediate-size") is not None:
        found["shared_ffn"] = _value(given, "--moe-shared-expert-intermediate-size")
    if _value(given, "--moe-layer-freq"):
        found["dense_layers"] = _dense_layers(_value(given, "--moe-layer-freq"), fields["layers"])
    return found


def tell(given, say) -> None:
    """Says once which flags changed nothing, and that a pasted line has a vocabulary of ours. @param say prints a line"""
    without = [flag for flag in (*SWITCHES, *VALUES, *LISTS, *HOLDS) if _value(given, flag) is not None]
    if without:
        say(f"{len(without)} flags of Megatron-LM change neither time nor memory: {' '.join(without)}")
    overlaps = [flag for flag in OVERLAPS if _value(given, flag) is not None]
    if overlaps:
        say(f"warning: {' '.join(overlaps)} {'has' if len(overlaps) == 1 else 'have'} no effect: --framework, or the simulator, says what overlaps")
    if given.pasted and given.vocabulary is None and not (given.model_name or given.model_size or given.config):
        say("warning: the line does not say how many words the tokenizer has; 32000 are taken, expected --vocab-size")
