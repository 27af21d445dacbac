# SPDX-License-Identifier: GPL-2.0-only
"""Command lines of Megatron-LM, pasted behind workload.py: each flag is taken, takes effect, or is refused by its name.

The lines are those of Megatron-LM's repository (August 2026): its MoE guide, and its examples of Mixtral 8x7B, GPT-3 175B and Llama 3 8B.
"""
import pathlib
import shlex
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.workload.command import training_command  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism  # noqa: E402
from clustersim.workload.reading import megatron_line  # noqa: E402
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
LAUNCH = "torchrun --nproc_per_node 8 --nnodes {} --node_rank 0 --master_addr localhost --master_port 29500 pretrain_gpt.py "
LINES = {
    "moe guide": LAUNCH.format(4) + MIXTRAL + """ --global-batch-size 128 --moe-permute-fusion --num-layers-per-virtual-pipeline-stage 8
        --ckpt-format torch_dist --auto-detect-ckpt-format""",
    "mixtral": LAUNCH.format(8) + MIXTRAL + " --global-batch-size 256 --use-mcore-models --rotary-base 1000000 --no-load-optim --no-load-rng",
    "gpt3": LAUNCH.format(16) + """--num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 --max-position-embeddings 2048
        --attention-backend auto --micro-batch-size 1 --global-batch-size 1536
        --step-batch-size-schedule "0:16 2.4B:320 4.8B:624 7.2B:928 9.6B:1232 12B:1536" --train-iters 500000 --weight-decay 0.1
        --adam-beta1 0.9 --adam-beta2 0.95 --init-method-std 0.006 --clip-grad 1.0 --fp16 --lr 6.0e-5 --lr-decay-style cosine --min-lr 6.0e-6
        --lr-warmup-fraction .001 --lr-decay-iters 430000 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 --data-path data
        --vocab-file v --merge-file m --split 949,50,1 --log-interval 100 --save-interval 10000 --eval-interval 1000 --save there --load there
        --eval-iters 10 --tensorboard-dir there""",
    "llama3": LAUNCH.format(1) + """--use-mcore-models --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
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
    model = training_command.find_model(given)
    return model, training_command.find_plan(given, model)


def test_the_moe_guides_line_is_mixtral_on_32_gpus():
    model, plan = read(LINES["moe guide"])
    mixtral = catalogue.find("mixtral_8x7b")
    assert model.copy(update={"name": mixtral.name}) == mixtral
    assert plan == Parallelism(32, pp=4, ep=8, sequence_parallel=True, zero=1, micro_batch=1, global_batch=128, sequence=4096)


def test_gpt3s_line_has_megatrons_defaults():
    """Learned positions, biases, LayerNorm, one matrix for both ends, and no distributed optimizer; float16's gradients stay so."""
    model, plan = read(LINES["gpt3"])
    h = 12288
    layer = (4 * h * h + 4 * h) + (8 * h * h + 5 * h) + 2 * 2 * h
    assert model.parameters() == 96 * layer + (32000 + 2048) * h + 2 * h
    assert (plan.world_size, plan.tp, plan.pp, plan.dp, plan.zero, plan.precision.gradient) == (128, 8, 16, 1, 0, 2)


def test_llama3s_line_is_llama3_in_8_bits():
    model, plan = read(LINES["llama3"])
    llama = catalogue.find("llama3_8b")
    assert model.copy(update={"name": llama.name}) == llama
    assert (plan.world_size, plan.cp, plan.dp, plan.precision.gradient, plan.precision.stores_copies) == (8, 2, 4, 2, True)


@pytest.mark.parametrize("name", LINES)
def test_a_published_line_runs_unchanged(name, tmp_path, capsys):
    training_command.run([*shlex.split(LINES[name]), "--force", "-o", str(tmp_path)], "")
    assert len(list(tmp_path.glob("*.txt"))) == 1
    said = capsys.readouterr().err
    assert "change neither time nor memory: " in said and "--lr " in said


@pytest.mark.parametrize("flags, field, value", [
    ("--normalization LayerNorm", "norm", "layer"), ("--untie-embeddings-and-output-weights", "tied", False), ("--qk-layernorm", "qk_norm", True),
    ("--add-qkv-bias", "qkv_bias", True), ("--position-embedding-type learned_absolute --max-position-embeddings 99", "positions", 99),
    ("--position-embedding-type rope", "positions", 0), ("--num-experts 4 --moe-shared-expert-intermediate-size 640", "shared_ffn", 640),
    ("--num-experts 4 --moe-layer-freq ([0]*1+[1]*3)", "dense_layers", 1), ("--num-experts 4 --moe-layer-freq 1", "dense_layers", 0),
    ("--disable-bias-linear", "bias", False), ("pretrain_gpt.py", "bias", True), ("pretrain_gpt.py", "tied", True), ("pretrain_gpt.py", "norm", "layer")])
def test_a_flag_changes_the_model(flags, field, value):
    assert getattr(read(f"{SMALL} {flags}")[0], field) == value


@pytest.mark.parametrize("flags, field, value", [
    ("", "world_size", 8), ("--nnodes 3", "world_size", 24), ("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1", "virtual", 2),
    ("pretrain_gpt.py", "zero", 0), ("pretrain_gpt.py --use-distributed-optimizer", "zero", 1),
    ("--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params", "zero", 3),
    ("--recompute-granularity full --recompute-method block --recompute-num-layers 2", "recompute_layers", 2),
    ("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1", "recompute_layers", 0)])
def test_a_flag_changes_the_plan(flags, field, value):
    assert getattr(read(f"{SMALL} {flags}")[1], field) == value


@pytest.mark.parametrize("flags, dtype", [("--fp8-format hybrid", "fp8"), ("--fp8-format e4m3 --fp8-recipe blockwise", "fp8_blockwise"),
                                          ("--fp8-format e4m3 --fp8-recipe mxfp8", "mxfp8"), ("--fp4-format e2m1", "nvfp4"), ("--bf16", "bfloat16")])
def test_a_flag_says_the_type_of_products(flags, dtype):
    given = training_command.make_parser("").parse_args(flags.split())
    megatron_line.apply(given)
    assert given.dtype == dtype


@pytest.mark.parametrize("flags, gradient", [("--bf16", 4), ("--fp16", 2), ("--fp16 --accumulate-allreduce-grads-in-fp32", 4), ("--grad-reduce-in-bf16", 2)])
def test_float16_has_gradients_of_its_own(flags, gradient):
    assert read(f"{SMALL} {flags}")[1].precision.gradient == gradient


WRONG = [(flag, flag) for flag in megatron_line.CONTRADICT] + [(f"{flag} 0.5x", flag) for flag in megatron_line.HOLDS] + [
    ("--hidden-dropout 0.1", "nothing is dropped"), ("--fp16 --bf16", "--fp16 and --bf16 contradict"), ("--fp8-recipe mxfp8", "expected --fp8-format"),
    ("--fp8-format hybrid --dtype mxfp8", "means --dtype fp8, but --dtype is mxfp8"), ("--world_size 4", "means --world_size 8"),
    ("--disable-bias-linear --add-bias-linear", "contradict each other"), ("--num-layers-per-virtual-pipeline-stage 3", "does not divide the 4 layers"),
    ("--num-layers-per-virtual-pipeline-stage 2 --vpp 4", "means --vpp 2"), ("--num-experts 4 --moe-layer-freq [0,1]*2", 'expected 1, or ([0]*N+[1]*M)'),
    ("--recompute full --recompute-method uniform --recompute-num-layers 2", "the input of each layer is kept"), ("pretrain_t5.py", "expected pretrain_gpt.py"),
    ("--data-parallel-sharding-strategy optim", "expected --use-megatron-fsdp"), ("--normalization BatchNorm", "choose from 'RMSNorm', 'LayerNorm'"),
    ("--use-megatron-fsdp --data-parallel-sharding-strategy optim --zero 3", "but --zero is 3"),
    ("--num-layrs 3", "the nearest is --num-layers"), ("--tensor-model-parallel-sise 2", "the nearest is --tensor-model-parallel-size"),
    ("--moe-router-topc 2", "the nearest is --moe-router-topk"), ("frobnicate", '"frobnicate" is not a word of these flags')]


@pytest.mark.parametrize("flags, message", WRONG)
def test_a_flag_that_contradicts_or_is_unknown_is_refused_by_its_name(flags, message):
    with pytest.raises(InputError) as refusal:
        read(f"{SMALL} {flags}")
    assert message in str(refusal.value) and "; expected " in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_the_arguments_that_plan_prints_are_read_back(zero):
    model = catalogue.find("llama3_8b")
    plan = Parallelism(world_size=64, tp=4, sequence_parallel=True, cp=2, zero=zero, micro_batch=2, global_batch=64, sequence=8192)
    printed = launch_arguments.text("megatron", model, plan).replace("\\\n", " ")
    assert read(f"pretrain_gpt.py --model llama3_8b --world_size 64 {printed}")[1] == plan


def test_each_flag_is_of_one_kind():
    kinds = [megatron_line.SWITCHES, megatron_line.VALUES, megatron_line.LISTS, megatron_line.OVERLAPS, megatron_line.HOLDS, megatron_line.CONTRADICT]
    every = [flag for kind in kinds for flag in kind]
    assert len(every) == len(set(every))
