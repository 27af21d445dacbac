# SPDX-License-Identifier: GPL-2.0-only
"""Command lines of Megatron-LM, pasted behind workload.py: each flag is taken, takes effect, or is refused by its name.

The lines are those of Megatron-LM's repository (August 2026): its MoE guide, and its examples of Mixtral 8x7B, GPT-3
175B and Llama 3 8B.
"""
import json
import pathlib
import shlex
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.workload.command import training_command  # noqa: E402
from clustersim.workload.flags import model_flags  # noqa: E402
from clustersim.workload.megatron import megatron_flags, megatron_line  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism  # noqa: E402
from clustersim.workload.write import launch_arguments  # noqa: E402

MIXTRAL = """--disable-bias-linear --seq-length 4096 --max-position-embeddings 32768 --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336
    --num-attention-heads 32 --init-method-std 0.01 --attention-dropout 0.0 --hidden-dropout 0.0 --normalization RMSNorm
    --position-embedding-type rope --swiglu --untie-embeddings-and-output-weights --group-query-attention --num-query-groups 8
    --no-masked-softmax-fusion --no-position-embedding --num-experts 8 --expert-model-parallel-size 8
    --moe-router-load-balancing-type aux_loss --moe-router-topk 2 --moe-aux-loss-coeff 1e-2 --moe-grouped-gemm
    --moe-token-dispatcher-type alltoall --tokenizer-type Llama2Tokenizer --tokenizer-model t.model --data-path data --split 99990,8,2
    --micro-batch-size 1 --lr 1e-4 --train-iters 500000 --lr-decay-iters 320000 --lr-decay-style cosine --min-lr 1.0e-5 --weight-decay 0.1
    --lr-warmup-iters 500 --clip-grad 1.0 --bf16 --overlap-grad-reduce --overlap-param-gather --tensor-model-parallel-size 1
    --pipeline-model-parallel-size 4 --sequence-parallel --use-distributed-optimizer --log-interval 1 --save-interval 10000
    --eval-interval 1000 --eval-iters 10 --save there --load there --tensorboard-dir there/tensorboard"""
LAUNCH = (
    "torchrun --nproc_per_node 8 --nnodes {} --node_rank 0 --master_addr localhost --master_port 29500 pretrain_gpt.py "
)
LINES = {
    "moe guide": LAUNCH.format(4) + MIXTRAL
    + """ --global-batch-size 128 --moe-permute-fusion --num-layers-per-virtual-pipeline-stage 8
        --ckpt-format torch_dist --auto-detect-ckpt-format""",
    "mixtral": LAUNCH.format(8) + MIXTRAL + " --global-batch-size 256 --use-mcore-models --rotary-base 1000000 "
    "--no-load-optim --no-load-rng",
    "gpt3": LAUNCH.format(16)
    + """--num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 --max-position-embeddings 2048
        --attention-backend auto --micro-batch-size 1 --global-batch-size 1536
        --step-batch-size-schedule "0:16 2.4B:320 4.8B:624 7.2B:928 9.6B:1232 12B:1536" --train-iters 500000 --weight-decay 0.1
        --adam-beta1 0.9 --adam-beta2 0.95 --init-method-std 0.006 --clip-grad 1.0 --fp16 --lr 6.0e-5 --lr-decay-style cosine --min-lr 6.0e-6
        --lr-warmup-fraction .001 --lr-decay-iters 430000 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 --data-path data
        --vocab-file v --merge-file m --split 949,50,1 --log-interval 100 --save-interval 10000 --eval-interval 1000 --save there --load there
        --eval-iters 10 --tensorboard-dir there""",
    "llama3": LAUNCH.format(1)
    + """--use-mcore-models --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
        --group-query-attention --num-query-groups 8 --kv-channels 128 --seq-length 8192 --max-position-embeddings 8192
        --position-embedding-type rope --rotary-base 1000000 --rotary-percent 1.0 --attention-dropout 0.0 --hidden-dropout 0.0 --swiglu
        --normalization RMSNorm --init-method-std 0.0134 --attention-backend fused --apply-layernorm-1p --untie-embeddings-and-output-weights
        --disable-bias-linear --micro-batch-size 1 --global-batch-size 128 --train-samples 1953125000 --lr-decay-samples 1949218748
        --lr-warmup-samples 3906252 --lr 0.00015 --min-lr 0.00001 --decoupled-lr 5.0e-4 --decoupled-min-lr 4.5e-5 --lr-decay-style cosine
        --clip-grad 1.0 --weight-decay 0.1 --adam-beta1 0.9 --adam-beta2 0.95 --bf16 --grad-reduce-in-bf16 --cross-entropy-loss-fusion
        --calculate-per-token-loss --manual-gc --empty-unused-memory-level 1 --exit-duration-in-mins 235 --use-distributed-optimizer
        --overlap-grad-reduce --overlap-param-gather --fp8-format hybrid --fp8-amax-history-len 1024 --fp8-amax-compute-algo max
        --fp8-param-gather --tensor-model-parallel-size 1 --context-parallel-size 2 --sequence-parallel --mock-data
        --tokenizer-type NullTokenizer --vocab-size 128256 --data-cache-path cache --tiktoken-pattern v2 --split '99,1,0'
        --no-create-attention-mask-in-dataloader --no-mmap-bin-files --num-workers 1 --log-interval 1 --eval-iters 32 --eval-interval 100
        --save-interval 1000 --log-throughput --profile --profile-step-start 4 --profile-step-end 6 --ckpt-format torch_dist
        --distributed-timeout-minutes 60 --save there --load there --tensorboard-dir there"""}
SMALL = "--num-layers 4 --hidden-size 512 --num-attention-heads 8 --nproc-per-node 8"


def read(line):
    """@return the Model and the Parallelism of a line"""
    words, pasted = megatron_line.without_launcher(shlex.split(line))
    given = training_command.make_parser("").parse_args(words)
    given.pasted = pasted
    megatron_line.apply(given)
    model = model_flags.find_model(given)
    return model, training_command.find_plan(given, model)


def test_the_moe_guides_line_is_mixtral_on_32_gpus():
    model, plan = read(LINES["moe guide"])
    mixtral = catalogue.find("mixtral_8x7b")
    assert model.copy(update={"name": mixtral.name}) == mixtral
    assert plan == Parallelism(32, pp=4, ep=8, sequence_parallel=True, zero=1, micro_batch=1, global_batch=128,
                               sequence=4096)


def test_gpt3s_line_has_megatrons_defaults():
    """Learned positions, biases, LayerNorm, one matrix for both ends, and no distributed optimizer; float16's gradients
    stay so."""
    model, plan = read(LINES["gpt3"])
    h = 12288
    layer = (4 * h * h + 4 * h) + (8 * h * h + 5 * h) + 2 * 2 * h
    padded = -(-32000 // (128 * 8)) * 128 * 8  # so that each of the 8 tensor-parallel ranks has a multiple of 128
    assert model.parameters() == 96 * layer + (padded + 2048) * h + 2 * h
    assert (plan.world_size, plan.tp, plan.pp, plan.dp, plan.zero, plan.precision.gradient) == (128, 8, 16, 1, 0, 2)


def test_llama3s_line_is_llama3_in_8_bits():
    model, plan = read(LINES["llama3"])
    llama = catalogue.find("llama3_8b")
    assert model.copy(update={"name": llama.name}) == llama
    assert (plan.world_size, plan.cp, plan.dp, plan.precision.gradient, plan.precision.stores_copies) == (8, 2, 4, 2,
        True)


@pytest.mark.parametrize("name", LINES)
def test_a_published_line_runs_unchanged(name, tmp_path, capsys):
    training_command.run([*shlex.split(LINES[name]), "--force", "-o", str(tmp_path)], "")
    assert len(list(tmp_path.glob("*.txt"))) == 1
    said = capsys.readouterr().err
    assert "change neither time nor memory: " in said and "--lr " in said


@pytest.mark.parametrize("flags, field, value", [
    ("--normalization LayerNorm", "norm", "layer"), ("--untie-embeddings-and-output-weights", "tied", False),
    ("--qk-layernorm", "qk_norm", True),
    ("--add-qkv-bias", "qkv_bias", True), ("--position-embedding-type learned_absolute --max-position-embeddings 99",
                                           "positions", 99),
    ("--position-embedding-type rope", "positions", 0),
    ("--num-experts 4 --moe-shared-expert-intermediate-size 640", "shared_ffn", 640),
    ("--num-experts 4 --moe-layer-freq ([0]*1+[1]*3)", "dense_layers", 1),
    ("--num-experts 4 --moe-layer-freq 1", "dense_layers", 0),
    ("--num-experts 4 --moe-layer-freq 2", "expert_layers", (True, False, True, False)),
    ("--num-experts 4 --moe-layer-freq ([0,1]*2)", "expert_layers", (False, True, False, True)),
    ("--window-size (127,0)", "window", 128), ("--window-size 127,0 --window-attn-skip-freq 2", "windowed",
                                               (True, False, True, False)),
    ("--window-size 127,0 --window-attn-skip-freq [1,1,1]+[0]", "windowed", (True, True, True, False)),
    ("--quick-geglu", "gated", True),
    ("--quick-geglu", "ffn", 2048), ("--attention-output-gate", "output_gate", True),
    ("--num-experts 4 --moe-latent-size 64", "expert_latent", 64),
    ("--num-experts 4 --moe-shared-expert-intermediate-size 64 --moe-shared-expert-gate", "shared_gate", True),
    ("--enable-mhc-connections", "streams", 4), ("--enable-mhc-connections --mhc-num-residual-streams 2", "streams", 2),
    ("--padded-vocab-size 999 --tp 2", "vocabulary", 999),
    ("pretrain_gpt.py --tp 2 --vocab-size 257", "vocabulary", 512),
    ("pretrain_gpt.py --tp 2 --vocab-size 257 --make-vocab-size-divisible-by 1", "vocabulary", 257),
    ("pretrain_gpt.py --tp 2 --vocab-size 257 --no-pad-vocab-size", "vocabulary", 257),
    ("--tp 2 --vocab-size 257", "vocabulary", 257),
    ("pretrain_gpt.py --tp 2 --vocab-size 257 --padded-vocab-size 300", "vocabulary", 300),
    ("pretrain_gpt.py --position-embedding-type yarn", "positions", 0),
    ("--disable-bias-linear", "bias", False), ("pretrain_gpt.py", "bias", True), ("pretrain_gpt.py", "tied", True),
    ("pretrain_gpt.py", "norm", "layer")])
def test_a_flag_changes_the_model(flags, field, value):
    assert getattr(read(f"{SMALL} {flags}")[0], field) == value


@pytest.mark.parametrize("flags, field, value", [
    ("", "world_size", 8), ("--nnodes 3", "world_size", 24),
    ("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1", "virtual", 2),
    ("pretrain_gpt.py", "zero", 0), ("pretrain_gpt.py --use-distributed-optimizer", "zero", 1),
    ("--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params", "zero", 3),
    ("--recompute-granularity full --recompute-method block --recompute-num-layers 2", "recompute_layers", 2),
    ("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1", "recompute_layers", 0),
    ("--recompute-granularity selective", "modules", ()),
    ("pretrain_gpt.py --recompute-granularity selective", "modules", ("core_attn",)),
    ("--moe-layer-recompute", "modules", ("core_attn", "moe")), ("--moe-layer-recompute", "recompute", "selective"),
    ("--pp 2 --microbatch-group-size-per-virtual-pipeline-stage 2", "pp", 2)])
def test_a_flag_changes_the_plan(flags, field, value):
    assert getattr(read(f"{SMALL} {flags}")[1], field) == value


@pytest.mark.parametrize("flags, dtype", [("--fp8-format hybrid", "fp8"),
                                          ("--fp8-format e4m3 --fp8-recipe blockwise", "fp8_blockwise"),
                                          ("--fp8-format e4m3 --fp8-recipe mxfp8", "mxfp8"),
                                          ("--fp4-format e2m1", "nvfp4"), ("--bf16", "bfloat16")])
def test_a_flag_says_the_type_of_products(flags, dtype):
    given = training_command.make_parser("").parse_args(flags.split())
    megatron_line.apply(given)
    assert given.dtype == dtype


@pytest.mark.parametrize("flags, gradient", [("--bf16", 4), ("--fp16", 2),
                                             ("--fp16 --accumulate-allreduce-grads-in-fp32", 4),
                                             ("--grad-reduce-in-bf16", 2)])
def test_float16_has_gradients_of_its_own(flags, gradient):
    assert read(f"{SMALL} {flags}")[1].precision.gradient == gradient


@pytest.mark.parametrize("flags, gradient, reduced, master", [
    ("", 2, 2, 4), ("--megatron-fsdp-main-grads-dtype fp32", 4, 4, 4),
    ("--megatron-fsdp-main-grads-dtype fp32 --megatron-fsdp-grad-comm-dtype bf16", 4, 2, 4),
    ("--megatron-fsdp-main-grads-dtype auto --megatron-fsdp-grad-comm-dtype auto", 2, 2, 4),
    ("--megatron-fsdp-main-params-dtype bf16", 2, 2, 2)])
def test_megatron_fsdp_has_types_of_its_own(flags, gradient, reduced, master):
    found = read(f"{SMALL} --use-megatron-fsdp {flags}")[1].precision
    assert (found.gradient, found.reduced, found.optimizer) == (gradient, reduced, master + 4 + 4)


@pytest.mark.parametrize("flags, first, last", [
    ("", 0, 0), ("--num-layers-at-start-in-bf16 2", 2, 0), ("--first-last-layers-bf16", 1, 1),
    ("--first-last-layers-bf16 --num-layers-at-end-in-bf16 0", 1, 0),
    ("pretrain_gpt.py --num-layers-at-start-in-bf16 2", 0, 0),
    ("pretrain_gpt.py --first-last-layers-bf16 --num-layers-at-start-in-bf16 2", 2, 1)])
def test_first_and_last_layers_keep_bfloat16_as_megatron_counts_them(flags, first, last):
    found = read(f"{SMALL} --fp8-format e4m3 {flags}")[1].precise
    assert (found.first, found.last) == (first, last)


def step_of(line, tmp_path):
    training_command.run(
        [
            *shlex.split(f"{SMALL} --micro-batch-size 1 --seq-length 64 --framework megatron_2025 {line}"),
            "-o",
            str(tmp_path),
            "--name",
            "n",
        ],
        "",
    )
    return json.loads((tmp_path / "n.json").read_text())["estimate"]["step_ns"]


def test_cuda_graphs_of_whole_layers_shorten_a_step_bound_by_launches(tmp_path, capsys):
    """A layer of 512 columns and 64 tokens computes for less than its launches take."""
    plain = step_of("", tmp_path)
    assert step_of("--cuda-graph-impl local", tmp_path) < plain
    assert step_of("--enable-cuda-graph", tmp_path) < plain
    assert step_of("--cuda-graph-impl none", tmp_path) == plain
    capsys.readouterr()
    assert step_of("--cuda-graph-impl transformer_engine --cuda-graph-modules attn", tmp_path) == plain
    assert "--cuda-graph-modules has no effect: only whole layers" in capsys.readouterr().err


WRONG = [(flag, flag) for flag in megatron_flags.CONTRADICT] + [(f"{flag} 0.5x", flag)
    for flag in megatron_flags.HOLDS] + [
    ("--hidden-dropout 0.1", "nothing is dropped"), ("--fp16 --bf16", "--fp16 and --bf16 contradict"),
    ("--fp8-recipe mxfp8", "expected --fp8-format"),
    ("--fp8-format hybrid --dtype mxfp8", "means --dtype fp8, but --dtype is mxfp8"),
    ("--world_size 4", "means --world_size 8"),
    ("--disable-bias-linear --add-bias-linear", "contradict each other"),
    ("--num-layers-per-virtual-pipeline-stage 3", "does not divide the 4 layers"),
    ("--num-layers-per-virtual-pipeline-stage 2 --vpp 4", "means --vpp 2"),
    ("--num-experts 4 --moe-layer-freq [0,1]*3", "does not describe 4 layers"),
    ("--num-experts 4 --moe-layer-freq [0]*4", "no layer with experts"),
    ("--num-experts 4 --moe-layer-freq __import__('os')", "does not describe 4 layers"),
    ("--window-size 127,3", "expected LEFT,0"),
    ("--window-attn-skip-freq 2", "expected --window-size"),
    ("--window-size 127,0 --window-attn-skip-freq [1,0]", "does not describe 4 layers"),
    ("--cp-comm-type p2p a2a", "--cp-comm-type p2p a2a is not simulated"),
    ("--megatron-fsdp-main-grads-dtype bf16", "expected --use-megatron-fsdp"),
    ("--use-megatron-fsdp --megatron-fsdp-main-grads-dtype fp32 --main-grads-dtype bf16",
     "means --main_grads_dtype fp32, but --main_grads_dtype is bf16"),
    ("--moe-layer-recompute --recompute full", "means --recompute selective, but --recompute is full"),
    ("--fp4-param-gather", "expected --fp4-format"),
    ("--moe-enable-deepep --num-experts 4", "expected --moe-token-dispatcher-type flex"),
    ("--mhc-num-residual-streams 2", "expected --enable-mhc-connections"),
    ("--pp 2 --microbatch-group-size-per-virtual-pipeline-stage 4", "expected 2"),
    ("--cuda-graph-impl some", '--cuda-graph-impl is "some"; expected '),
    ("--recompute full --recompute-method uniform --recompute-num-layers 2", "the input of each layer is kept"),
    ("pretrain_t5.py", "expected pretrain_gpt.py"),
    ("--data-parallel-sharding-strategy optim", "expected --use-megatron-fsdp"),
    ("--normalization BatchNorm", "expected RMSNorm, LayerNorm"),
    ("--use-megatron-fsdp --data-parallel-sharding-strategy optim --zero 3", "but --zero is 3"),
    ("--num-layrs 3", "the nearest is --num-layers"),
    ("--tensor-model-parallel-sise 2", "the nearest is --tensor-model-parallel-size"),
    ("--moe-router-topc 2", "the nearest is --moe-router-topk"),
    ("frobnicate", '"frobnicate" is not a word of these flags')]


@pytest.mark.parametrize("flags, message", WRONG)
def test_a_flag_that_contradicts_or_is_unknown_is_refused_by_its_name(flags, message):
    with pytest.raises(InputError) as refusal:
        read(f"{SMALL} {flags}")
    assert message in str(refusal.value) and "; expected " in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_the_arguments_that_plan_prints_are_read_back(zero):
    model = catalogue.find("llama3_8b")
    plan = Parallelism(world_size=64, tp=4, sequence_parallel=True, cp=2, zero=zero, micro_batch=2, global_batch=64,
                       sequence=8192)
    printed = launch_arguments.text("megatron", model, plan).replace("\\\n", " ")
    assert read(f"pretrain_gpt.py --model llama3_8b --world_size 64 {printed}")[1] == plan


def arguments():
    """@return each spelling of an argument of Megatron-LM, and the number of its values"""
    lines = (ROOT / "test/python/megatron_arguments.txt").read_text().splitlines()
    found = {flag: words.split()[0] for words in lines if not words.startswith("#") for flag in words.split()[1:]}
    assert len(found) > 850 and {"--num-layers", "--cuda-graph-impl", "--enable-gpt-oss"} <= found.keys()
    return found


# Switches whose flag of ours may have a value.
OPTIONAL = ("--recompute-activations",)


def test_each_argument_of_megatron_has_a_kind_and_its_number_of_values():
    options = training_command.make_parser("")._option_string_actions
    for flag, number in arguments().items():
        assert flag in options, flag
        if flag not in (*megatron_flags.CONTRADICT, *OPTIONAL):
            ours = options[flag].nargs
            assert number == ("0" if ours == 0 else "+" if ours in ("+", "*") else "1"), flag


def test_flags_that_megatron_ignores_are_idle_because_of_a_flag_that_is_refused():
    for flag in megatron_flags.IDLE:
        assert flag in ("inference", "other programs",
                        "--moe-flex-dispatcher-backend") or flag in {**megatron_flags.CONTRADICT,
                            **megatron_flags.HOLDS}, flag
    with pytest.raises(InputError, match='"hybridep" with dispatcher flex is not supported'):
        read(f"{SMALL} --num-experts 4 --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep")


def test_each_flag_is_of_one_kind():
    kinds = [megatron_flags.DATA, megatron_flags.LEARNING, megatron_flags.CHECKPOINTS, megatron_flags.LOGS,
             megatron_flags.JOB, megatron_flags.RESTATED,
             *megatron_flags.IDLE.values(), *megatron_flags.WARNED.values(), megatron_flags.HOLDS,
             megatron_flags.CONTRADICT]
    every = [flag for kind in kinds for flag in kind]
    assert len(every) == len(set(every))


def value_of(mark):
    return {"": "", "=": " 1", "*": " 1"}[mark]


def test_flags_without_effect_leave_the_model_and_the_plan_and_are_told(capsys):
    """All of them at once."""
    line = " ".join(flag + value_of(mark) for flag, mark in megatron_flags.WITHOUT.items())
    assert read(f"{SMALL} {line}") == read(SMALL)
    warned = {flag: mark for table in megatron_flags.WARNED.values() for flag, mark in table.items()}
    words, _ = megatron_line.without_launcher(shlex.split(SMALL
                                                          + " ".join([""] + [flag + value_of(mark) for flag,
                                                              mark in warned.items()])))
    given, said = training_command.make_parser("").parse_args(words), []
    megatron_line.tell(given, said.append)
    assert len(said) == len(megatron_flags.WARNED)
    assert all(any(flag in line.split() for line in said) for flag in warned)
