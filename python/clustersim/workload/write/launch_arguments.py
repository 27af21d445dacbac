# SPDX-License-Identifier: GPL-2.0-only
"""A plan as the arguments of a training framework, to be pasted: parallelism, batches, recomputation. The model is the
framework's own.

Names are those of Megatron-LM's pretrain_gpt.py (megatron/training/arguments.py), torchtitan
(torchtitan/config/job_config.py) and NeMo 2.0 (`nemo llm pretrain --factory RECIPE ...`).
"""
import math
from typing import TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.workload.plan import pipeline, recompute, schedules

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.parallel import Parallelism


def _megatron_zero(plan: "Parallelism") -> list[str]:
    sharded = ("no_shard", "optim", "optim_grads", "optim_grads_params")[plan.zero]
    copies = f" --num-distributed-optimizer-instances {plan.copies}" if plan.copies > 1 else ""
    if plan.zero < 2:
        return ["--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"
                + copies] if plan.zero else []
    kinds: dict[float, str] = {4: "fp32", 2: "bf16"}
    return [f"--use-megatron-fsdp --data-parallel-sharding-strategy {sharded} --use-distributed-optimizer "
            f"--no-gradient-accumulation-fusion "
            "--ckpt-format fsdp_dtensor" + copies,
            f"--megatron-fsdp-main-grads-dtype {kinds[plan.precision.gradient]} --megatron-fsdp-grad-comm-dtype "
            f"{kinds[plan.precision.reduced]}"]


def _layout(model: "Model", plan: "Parallelism") -> str:
    """@return the chunks' layers in Megatron-Core's letters where its other arguments cannot say them; empty: they can

    Stages, and chunks of a stage, have equal numbers of layers in Megatron-Core but for the ends that are named.
    """
    split, chunks = plan.split, plan.pp * plan.virtual
    if split.layout:
        return "|".join(split.layout)
    named = split.first or split.last or split.embedding or split.loss
    if any(split.costs) or not named and model.layers % chunks:
        return "|".join("E" * place.embedding + "t" * len(place.layers) + "m" * place.predictions + "L" * place.loss
                        for place in pipeline.places(plan, model.layers, model.predictions))
    return ""


def _megatron_pipeline(model: "Model", plan: "Parallelism") -> list[str]:
    split, layout = plan.split, _layout(model, plan)
    if layout:
        return [f"--pipeline-model-parallel-layout '{layout}'"]
    found = [f"--num-virtual-stages-per-pipeline-rank {plan.virtual}"] if plan.virtual > 1 else []
    for name, value in (("first", split.first), ("last", split.last)):
        found += [f"--decoder-{name}-pipeline-num-layers {value}"] if value else []
    for name, wanted in (("embedding", split.embedding), ("loss", split.loss)):
        found += [f"--account-for-{name}-in-pipeline-split"] if wanted else []
    return found


def _megatron_recomputation(plan: "Parallelism") -> list[str]:
    if plan.recompute == "selective":
        return ["--recompute-granularity selective --recompute-modules " + " ".join(plan.modules or recompute.DEFAULT)]
    if plan.recompute == "full":
        how = (
            f"block --recompute-num-layers {plan.recompute_layers}"
            if plan.recompute_layers
            else "uniform --recompute-num-layers 1"
        )
        return [f"--recompute-granularity full --recompute-method {how}"]
    return []


def _megatron_experts(plan: "Parallelism") -> list[str]:
    exchange = plan.exchange
    found = [f"--expert-model-parallel-size {plan.ep} --expert-tensor-parallel-size {plan.expert_tp}"]
    if exchange.dispatcher == "alltoall":
        found.append("--moe-token-dispatcher-type alltoall")
    else:
        found.append("--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep")
    found += [f"--moe-router-group-topk {exchange.node_limit}"] if exchange.node_limit else []
    found += [f"--moe-expert-capacity-factor {exchange.capacity:g}"] if exchange.capacity else []
    return found + (["--moe-pad-expert-input-to-capacity"] if exchange.padded else [])


def megatron(model: "Model", plan: "Parallelism", per_server: int) -> list[str]:
    lines = [f"--tensor-model-parallel-size {plan.tp}" + (" --sequence-parallel" if plan.sequence_parallel else ""),
             f"--pipeline-model-parallel-size {plan.pp}", *_megatron_pipeline(model, plan),
             f"--context-parallel-size {plan.cp}"]
    lines += _megatron_experts(plan) if model.experts else []
    lines += [
        f"--micro-batch-size {plan.micro_batch} --global-batch-size {plan.sequences} --seq-length {plan.sequence}"
    ]
    return lines + _megatron_zero(plan) + _megatron_recomputation(plan)


def _torchtitan_stages(model: "Model", plan: "Parallelism") -> tuple[int, int, int | None]:
    """@return layers that torchtitan takes off the first and off the last stage, and layers of a stage (None: no
    number), for which its stages are the plan's

    It makes as many stages as the layers and those taken off need, rounded up, and spreads both evenly
    (torchtitan/distributed/pipeline_parallel.py).
    """
    stages = plan.pp * plan.virtual
    wanted = [len(place.layers) for place in pipeline.places(plan, model.layers, model.predictions)]
    for first, last in ((0, 0), (1, 1), (1, 0), (0, 1)):
        if pipeline.counted(stages, model.layers, first, last) == wanted:
            each = -(-(model.layers + first + last) // stages)
            if -(-(model.layers + first + last) // each) == stages:
                return first, last, each
            if plan.virtual <= 2:  # one stage with 1F1B and two with Interleaved1F1B are torchtitan's defaults
                return first, last, None
    raise InputError(f"torchtitan cannot spread {model.layers} layers over PP {plan.pp} x VPP {plan.virtual} as in "
                     f"this plan; "
                     "expected --print-arguments megatron")


def torchtitan(model: "Model", plan: "Parallelism", per_server: int) -> list[str]:
    """ZeRO-1 and 2 are FSDP that keeps gathered weights, ZeRO-0 is replication. A pipeline's micro-batches are parts of
    a local batch."""
    replicated = plan.copies if plan.zero else plan.dp
    sharded = plan.dp // replicated
    parallelism = {"data_parallel_shard_degree": sharded, "data_parallel_replicate_degree": replicated,
                   "tensor_parallel_degree": plan.tp,
                   "context_parallel_degree": plan.cp, "pipeline_parallel_degree": plan.pp,
                   "fsdp_reshard_after_forward": "always" if plan.shards_weights else "never"}
    if plan.pp > 1:
        first, last, each = _torchtitan_stages(model, plan)
        parallelism |= {"pipeline_parallel_schedule": "GPipe" if plan.schedule == "gpipe" else "Interleaved1F1B"
                        if plan.virtual > 1 else "1F1B", "pipeline_parallel_microbatch_size": plan.micro_batch,
                        "pipeline_parallel_first_stage_less_layers": first,
                        "pipeline_parallel_last_stage_less_layers": last}
        parallelism |= {"pipeline_parallel_layers_per_stage": each} if each else {}
    if model.experts:
        parallelism |= {"expert_parallel_degree": plan.ep, "expert_tensor_parallel_degree": plan.expert_tp}
    local = plan.micro_batch * (plan.micro_batches if plan.pp > 1 else 1)
    training = {"local_batch_size": local, "global_batch_size": plan.sequences, "seq_len": plan.sequence}
    return ([f"--parallelism.{key}={value}" for key, value in parallelism.items()]
            + [f"--training.{key}={value}" for key, value in training.items()]
            + [f"--activation_checkpoint.mode={plan.recompute}"] + (["--activation_checkpoint.selective_ac_option=op"]
                                                                    if plan.recompute == "selective" else []))


def nemo(model: "Model", plan: "Parallelism", per_server: int) -> list[str]:
    devices = math.gcd(plan.world_size, per_server)  # of as many nodes as that makes
    strategy: dict[str, object] = {"tensor_model_parallel_size": plan.tp, "sequence_parallel": plan.sequence_parallel,
                                   "pipeline_model_parallel_size": plan.pp,
                "virtual_pipeline_model_parallel_size": plan.virtual if plan.virtual > 1 else None,
                                   "context_parallel_size": plan.cp}
    strategy |= {"expert_model_parallel_size": plan.ep,
                 "expert_tensor_parallel_size": plan.expert_tp} if model.experts else {}
    strategy |= {f"num_layers_in_{name}_pipeline_stage": value for name,
                 value in (("first", plan.split.first), ("last", plan.split.last)) if value}
    strategy |= {f"account_for_{name}_in_pipeline_split": True
                 for name, wanted in (("embedding", plan.split.embedding), ("loss", plan.split.loss)) if wanted}
    layout = _layout(model, plan)
    if layout:
        strategy["pipeline_model_parallel_layout"] = f"'{layout}'"
    strategy["ddp.use_distributed_optimizer"] = plan.zero > 0
    config: dict[str, object] = {}
    if plan.recompute == "selective":
        config = {"recompute_granularity": "selective",
                  "recompute_modules": f'"{list(plan.modules or recompute.DEFAULT)}"'}
    elif plan.recompute == "full":
        config = {"recompute_granularity": "full", "recompute_method": "block" if plan.recompute_layers else "uniform",
                  "recompute_num_layers": plan.recompute_layers or 1}
    data = {"micro_batch_size": plan.micro_batch, "global_batch_size": plan.sequences, "seq_length": plan.sequence}
    return ([f"trainer.num_nodes={plan.world_size // devices} trainer.devices={devices}"]
            + [f"trainer.strategy.{key}={value}" for key, value in strategy.items()]
            + [f"model.config.{key}={value}" for key, value in config.items()]
            + [f"data.{key}={value}" for key, value in data.items()])


WRITERS = {"megatron": megatron, "torchtitan": torchtitan, "nemo": nemo}


def check(name: str) -> None:
    """@raise InputError for a framework whose arguments are not known"""
    if name not in WRITERS:
        raise InputError(f'"{name}" is not a framework whose arguments are known; expected one of {", ".join(WRITERS)}')


def text(name: str, model: "Model", plan: "Parallelism", gpus_per_server: int = 8) -> str:
    """@return the arguments of framework `name`, a few on each line, with backslashes between them"""
    check(name)
    if plan.schedule != schedules.USUAL and not (name == "torchtitan" and plan.schedule == "gpipe"
                                                 and plan.virtual == 1):
        raise InputError(f"no argument of {name} is known to mean schedule {plan.schedule} with VPP {plan.virtual}; "
                         f"expected --pipeline_schedule {schedules.USUAL}")
    if name == "nemo" and (plan.zero > 1 or plan.copies > 1):
        raise InputError(f"NeMo's strategy has no {'hybrid sharding' if plan.copies > 1 else f'ZeRO-{plan.zero}'} "
                         f"that can be set by an argument; expected --print-arguments megatron")
    return " \\\n".join(WRITERS[name](model, plan, gpus_per_server))
