# SPDX-License-Identifier: GPL-2.0-only
"""Flags of scripts/workload.py: AICB's, in both of its spellings, and ours."""
import argparse
import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any, TYPE_CHECKING

from clustersim import command, gpu_rows, notices
from clustersim.aicb_flags import VALUES_WITHOUT_EFFECT, WITHOUT_EFFECT
from clustersim.errors import InputError
from clustersim.whole_file import write_text
from clustersim.workload.estimate import estimate, plans
from clustersim.workload.flags import exchange_flags, kernel_flags, model_flags
from clustersim.workload.flags.parser import Parser, checked_name, spellings, tell_idle
from clustersim.workload.kernels import frameworks, gpus
from clustersim.workload.megatron import megatron_line
from clustersim.workload.model.transformer import Model
from clustersim.workload.plan import adapters, keeping, pipeline, precision, recompute, schedules
from clustersim.workload.plan.parallel import RECOMPUTATION, Parallelism
from clustersim.workload.result.written import Workload, write_facts
from clustersim.workload.training import megatron, memory
from clustersim.workload.write import aicb, chakra, simai_text

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.plan.pipeline import Split
    from clustersim.workload.plan.precision import Precise
    from clustersim.workload.plan.precision import Precision
    from clustersim.workload.training.megatron import Iteration
    from clustersim.workload.training.memory import Memory

# Types of numbers that the optimizer and its communication use, by Megatron-Core's flags.
NUMBERS = (("--main_grads_dtype", "fp32", "in which gradients add up"),
           ("--grad_reduce_dtype", None, "in which ranks reduce gradients"),
           ("--main_params_dtype", "fp32", "of the optimizer's weights"),
           ("--exp_avg_dtype", "fp32", "of the optimizer's first moment"),
           ("--exp_avg_sq_dtype", "fp32", "of the optimizer's second moment"))


def add_plan_flags(parser: "Parser") -> None:
    exchange_flags.add(parser)
    group = parser.add_argument_group("parallelism")
    add = group.add_argument
    add("--world_size", "--world-size", "--gpus", type=int, metavar="N", help="number of GPUs")
    add("--tp", "--tensor_model_parallel_size", "--tensor-model-parallel-size", type=int, default=1, metavar="N",
        help="GPUs of a tensor-parallel group (default: 1)")
    add("--pp", "--pipeline_model_parallel", "--pipeline-model-parallel", "--pipeline_model_parallel_size",
        "--pipeline-model-parallel-size", type=int,
        default=1, metavar="N", help="stages of the pipeline (default: 1)")
    add("--vpp", "--virtual_pipeline", "--num-virtual-stages-per-pipeline-rank", type=int, metavar="N",
        help="interleaved chunks of layers on each stage (default: those of the layout, or 1)")
    add("--ep", "--expert_model_parallel_size", "--expert-model-parallel-size", type=int, default=1, metavar="N",
        help="ranks that share out the experts (default: 1)")
    add("--cp", "--context_parallel_size", "--context-parallel-size", type=int, default=1, metavar="N",
        help="ranks that share out a sequence, context parallelism (default: 1)")
    add("--etp", "--expert_tensor_parallel_size", "--expert-tensor-parallel-size", type=int, metavar="N",
        help="parts that an expert is cut into: TP (default), or 1, with which EP spans TP, too")
    add(*spellings("--decoder_first_pipeline_num_layers"), type=int, default=0, metavar="N",
        help="the first stage has N layers (default: its share)")
    add(*spellings("--decoder_last_pipeline_num_layers"), type=int, default=0, metavar="N",
        help="the last stage has N layers (default: its share)")
    add(*spellings("--account_for_embedding_in_pipeline_split"), action="store_true",
        help="the embedding counts as a layer of the first chunk")
    add(*spellings("--account_for_loss_in_pipeline_split"), action="store_true",
        help="the loss counts as a layer of the last chunk")
    add(*spellings("--pipeline_model_parallel_layout"), metavar="LAYOUT",
        help='the layers of each chunk, in Megatron-Core\'s language: "Et|(tt|)*30L"')
    add("--pipeline_schedule", "--pipeline-schedule", default=schedules.USUAL, metavar="NAME",
        help=f"the order of micro-batches in the pipeline: {', '.join(schedules.names())} (default: {schedules.USUAL})")
    add("--pipeline_split_by_cost", "--pipeline-split-by-cost", action="store_true",
        help="stages have equal costs instead of equal numbers of layers, as with Nanotron")
    add("--dp", "--data_parallel_size", type=int, metavar="N",
        help="replicas of the model (default: the GPUs over TP, PP and CP; another number is an error)")
    add("--sp", "--sp-enable", "--sequence-parallel", "--enable_sequence_parallel", "--enable-sequence-parallel",
        dest="sequence_parallel", action="store_true",
        help="sequence parallelism: AllGather and ReduceScatter take the place of AllReduce")
    add("--zero", "--zero_stage", "--stage", type=int, metavar="0..3",
        help="stage of ZeRO (default: 1, Megatron's distributed optimizer)")
    add(*spellings("--data_parallel_replicate_degree"), "--parallelism.data_parallel_replicate_degree",
        *spellings("--num_distributed_optimizer_instances"), dest="replicate", type=int, metavar="N",
        help="hybrid sharding: ZeRO shards within DP / N replicas, and N such groups have a copy each (default: 1)")
    add(*spellings("--data_parallel_shard_degree"), "--parallelism.data_parallel_shard_degree", dest="shard", type=int,
        metavar="N", help="hybrid sharding, too: ZeRO shards within N replicas (default: all)")
    add("--use-distributed-optimizer", "--use_distributed_optimizer", action="store_true", help="the same as --zero 1")
    add("--recompute", "--recompute_activations", "--recompute-activations", "--recompute-granularity", nargs="?",
        const="selective", default="none", metavar="KIND", help="activations that the backward pass computes again: "
        f"{', '.join(RECOMPUTATION)} (default: none; without KIND: selective)")
    add("--recompute_modules", "--recompute-modules", nargs="+", default=[], metavar="MODULE",
        help=f"modules that selective recomputation computes again, of {', '.join(recompute.MODULES)} "
        f"(default: {' '.join(recompute.DEFAULT)})")
    add("--recompute_num_layers", "--recompute-num-layers", type=int, default=0, metavar="N",
        help="full recomputation of the first N layers of each chunk alone (default: of all)")
    add("--offload_num_layers", "--cpu_offloading_num_layers", "--cpu-offloading-num-layers", type=int, default=0,
        metavar="N", help="the first N layers of each chunk keep their activations in the host's memory (default: 0)")
    add("--micro_batch", "--micro-batch", "--micro-batch-size", type=int, default=1, metavar="N",
        help="sequences of a micro-batch (default: 1)")
    add("--global_batch", "--global-batch", "--global-batch-size", type=int, default=0, metavar="N",
        help="sequences of an iteration (default: a micro-batch for each replica, with a pipeline four for each stage)")
    add("--seq_length", "--seq-length", "--seq_len", type=int, default=2048, metavar="N",
        help="tokens of a sequence (default: 2048)")
    add("--document_length", "--document-length", type=int, default=0, metavar="N",
        help="a sequence is packed with documents of N tokens that do not attend to each other (default: one document)")
    add("--lora_rank", "--lora-rank", type=int, metavar="R",
        help="low-rank adapters of rank R are trained alone (LoRA); all other weights are frozen")
    add("--lora_targets", "--lora-targets", nargs="+", default=[], metavar="LAYER",
        help=f"layers that have adapters, of {', '.join(adapters.TARGETS)} (default: linear_qkv linear_proj)")
    add("--frame", choices=["Megatron", "DeepSpeed", "DeepSeek"], default="Megatron",
        help="AICB's name of a framework (default: Megatron); with DeepSpeed, ZeRO's stage is --stage (default: 3)")


def make_parser(description: str) -> "Parser":
    parser = Parser(prog="workload.py", usage="%(prog)s [flags]", description=description, allow_abbrev=False,
                    formatter_class=command.HelpFormatter,
                    epilog="These sizes change the model, or describe a new one: "
                    f"{' '.join([*model_flags.SIZES, *dict(model_flags.mixer_flags())])} --n_shared_expert "
                    "--max_position_embeddings --swiglu --add_bias_linear.")
    parser.add_argument("--workload_type", choices=["training"], help=argparse.SUPPRESS)  # of AICB's main program
    model_flags.add_model_flags(parser)
    add_plan_flags(parser)
    group = parser.add_argument_group("time and memory")
    group.add_argument("--gpu_type", "--gpu-type", "-gt", default="H100", metavar="GPU",
                       help=f"GPU that computes (default: H100), of {', '.join(gpus.names())}")
    kernel_flags.add_gpu_table(group)
    kernel_flags.add_kernel_flags(group)
    group.add_argument("--framework", metavar="NAME", help="framework whose kernels and overlaps count in times: "
                       f"{', '.join(frameworks.names())}; an estimate of the step is printed, too (default: none)")
    group.add_argument("--aiob_enable", "--aiob", action="store_true",
                       help="AICB's: with --layout aicb, its profiled rows are written")
    group.add_argument("--reserved_gb", type=float, default=memory.RESERVED_GB, metavar="GB",
                       help=f"memory of each GPU that is left to CUDA and NCCL (default: {memory.RESERVED_GB:g})")
    group.add_argument("--dtype", default="bfloat16", metavar="TYPE",
                       help=f"type of the numbers of GEMMs: {kernel_flags.DTYPES} (default: bfloat16)")
    for flag, what in (("--fp8_param_gather", "weights are stored and gathered in the type of GEMMs"),
                       ("--grad_reduce_in_bf16", "gradients add up and are reduced in bfloat16")):
        group.add_argument(*spellings(flag), action="store_true", help=what)
    for flag, what in (("--num_layers_at_start_in_bf16", "first"), ("--num_layers_at_end_in_bf16", "last")):
        group.add_argument(*spellings(flag), type=int, metavar="N",
                           help=f"GEMMs of the {what} N layers keep bfloat16 (default: 0)")
    group.add_argument(*spellings("--keep_mtp_spec_in_bf16"), action="store_true",
                       help="GEMMs of layers that predict further tokens keep bfloat16")
    kernel_flags.add_operator_dtype(group)
    for flag, default, what in NUMBERS:
        group.add_argument(*spellings(flag), default=default, metavar="TYPE",
                           help=f"type of the numbers {what} (default: {default or 'as they add up'})")
    group.add_argument("--keeps", default="megatron", metavar="FRAMEWORK",
                       help="framework whose memory layout counts, which tensors it keeps: "
                       f"{', '.join(keeping.FRAMEWORKS)} (default: megatron)")
    group.add_argument("--force", action="store_true",
                       help="write a plan that does not fit into memory, with a warning")
    group = parser.add_argument_group("output")
    group.add_argument("--output_dir", "--output-dir", "-o", default="results/workload", metavar="DIR",
                       help="directory for the files (default: results/workload)")
    group.add_argument("--name", metavar="NAME",
                       help="name of the files, without ending (default: from model and parallelism)")
    group.add_argument("--format", choices=["text", "chakra", "both"], default="text",
                       help="SimAI's text, Chakra traces or both (default: text)")
    group.add_argument("--layout", choices=["megatron", *(f"aicb-{r}" for r in aicb.RELEASES), "aicb"],
                       default="megatron", help="rows as Megatron-LM's layers have them, or as a release of AICB "
                       "writes them, with its errors (default: megatron; aicb: 2.1)")
    megatron_line.add_flags(parser)
    for flag in WITHOUT_EFFECT:
        parser.add_argument(*spellings(flag), dest="no_effect", action="append_const", const=flag,
                            help=argparse.SUPPRESS)
    for flag in VALUES_WITHOUT_EFFECT:
        parser.add_argument(*spellings(flag), dest="no_effect_" + flag[2:], metavar="V", help=argparse.SUPPRESS)
    return parser


def _warn(parser: "Parser", given: argparse.Namespace) -> None:
    reasons = {flag: WITHOUT_EFFECT[flag] for flag in given.no_effect or []}
    reasons |= {flag: why for flag, why in VALUES_WITHOUT_EFFECT.items()
                if getattr(given, "no_effect_" + flag[2:]) is not None}
    if given.pp > 1 and _zero(given) > 1:
        stage = f"--zero {given.zero}" if given.zero else f"ZeRO-{_zero(given)} of --frame {given.frame}"
        reasons[stage] = "with a pipeline, gradients add up whole and weights are gathered once, as --zero 1 says"
    tell_idle(reasons)
    megatron_line.tell(given, lambda line: notices.remark(line, command.name()))
    command.tell_idle(parser, given, (
        (given.recompute == "selective", "it is for --recompute selective", ("recompute_modules",)),
        (given.recompute == "full", "it is for --recompute full", ("recompute_num_layers",)),
        (kernel_flags.dtype_of(given) != "bfloat16" or given.operator_dtype, "all products are bfloat16 (--dtype)",
         ("fp8_param_gather", "num_layers_at_start_in_bf16", "num_layers_at_end_in_bf16", "keep_mtp_spec_in_bf16")),
        (not given.pasted or getattr(given, "megatron_first_last_layers_bf16"),
         "Megatron-LM looks at it with --first-last-layers-bf16 alone",
         ("num_layers_at_start_in_bf16", "num_layers_at_end_in_bf16")),
        (given.layout.startswith("aicb"), "it is for --layout aicb", ("aiob_enable",)),
        (given.layout == "megatron", "AICB's rows have tokens in bfloat16", ("moe_dispatch_dtype",)),
        *exchange_flags.idle_rules(given, given.ep > 1)))


def _zero(given: argparse.Namespace) -> int:
    """@return the stage of ZeRO: as given, or the frame's"""
    return (3 if given.frame == "DeepSpeed" else 1) if given.zero is None else given.zero


def find_plan(given: argparse.Namespace, model: Model) -> Parallelism:
    """@return the Parallelism that the flags describe"""
    for name in ("world_size", "tp", "pp", "cp", "dp"):
        if getattr(given, name) is not None and getattr(given, name) < 1:  # 0 is not "what is left"
            raise InputError(f"{name} is {getattr(given, name)}; expected at least 1")
    inner = given.tp * given.pp * given.cp
    world = given.world_size or inner * (given.dp or 1)
    if given.dp and inner * given.dp != world:
        raise InputError(f"TP {given.tp} x PP {given.pp} x CP {given.cp} x DP {given.dp} = {inner * given.dp}, but "
                         f"world_size is {world}; expected them to be equal")
    if given.zero == 0 and given.use_distributed_optimizer:
        raise InputError("--use-distributed-optimizer means --zero 1, but --zero is 0; expected one of them")
    split = _split(given, model)
    return Parallelism(world_size=world, copies=_copies(given, world // inner), tp=given.tp, pp=given.pp,
                       virtual=_virtual(given, split, model), ep=given.ep,
                       cp=given.cp, etp=_expert_parts(given, model), split=split, schedule=given.pipeline_schedule,
                       sequence_parallel=given.sequence_parallel, zero=_zero(given), recompute=given.recompute,
                       modules=recompute.parse(given.recompute_modules), recompute_layers=given.recompute_num_layers,
                       offload_layers=given.offload_num_layers, document=given.document_length,
                       adapters=_adapters(given), precision=_precision(given), precise=_precise(given, model),
                       keeping=keeping.find(given.keeps), exchange=exchange_flags.find(given, model),
                       micro_batch=given.micro_batch, global_batch=given.global_batch, sequence=given.seq_length)


def _virtual(given: argparse.Namespace, split: "Split", model: Model) -> int:
    """@return chunks of a stage: as given, or, as in Megatron-Core, those of the layout"""
    found = megatron_line.virtual(given, model)
    return found or (max(1, len(split.layout) // given.pp) if given.vpp is None else given.vpp)


def _copies(given: argparse.Namespace, replicas: int) -> int:
    """@return the groups of replicas that each hold a copy of what ZeRO shards; the number of replicas does not count
    context parallelism"""
    for flag, value in (("replicate", given.replicate), ("shard", given.shard)):
        if value is not None and value < 1:
            raise InputError(f"--data_parallel_{flag}_degree is {value}; expected at least 1")
    if not (given.replicate or given.shard):
        return 1
    shard = given.shard or replicas // (given.replicate or 1)
    copies = given.replicate or replicas // shard
    if copies * shard != replicas:
        raise InputError(f"a data parallel shard degree of {shard} x a replicate degree of {copies} is not DP "
                         f"{replicas}; expected their product")
    return copies


def _adapters(given: argparse.Namespace) -> adapters.Adapters | None:
    if given.lora_rank is None and given.lora_targets:
        raise InputError("--lora_targets has no adapters; expected --lora_rank")
    return adapters.make(given.lora_rank, given.lora_targets) if given.lora_rank is not None else None


def _precise(given: argparse.Namespace, model: "Model") -> "Precise":
    return kernel_flags.check_operator_dtypes(given, model, precision.precise(
        *megatron_line.precise_ends(given), given.keep_mtp_spec_in_bf16, given.operator_dtype, gpus.PRECISIONS))


def _precision(given: argparse.Namespace) -> "Precision":
    types = {flag: getattr(given, flag[2:]) for flag, _, _ in NUMBERS}
    for flag, name in types.items():
        if name and name not in precision.BYTES:
            raise InputError(f'{flag} "{name}" is not a type of numbers; expected one of {", ".join(precision.BYTES)}')
    gradient = "bf16" if given.grad_reduce_in_bf16 else types["--main_grads_dtype"]
    return precision.of(kernel_flags.dtype_of(given), given.fp8_param_gather, gradient, types["--grad_reduce_dtype"],
                        types["--main_params_dtype"], (types["--exp_avg_dtype"], types["--exp_avg_sq_dtype"]),
                        reads_either_order=bool(gpus.find(given.gpu_type, kernel_flags.dtype_of(given)).fp4))


def _expert_parts(given: argparse.Namespace, model: "Model") -> int:
    if given.etp is not None and given.etp < 1:
        raise InputError(f"--expert_tensor_parallel_size is {given.etp}; expected at least 1")
    return given.etp or 0 if model.experts else 0


def _split(given: argparse.Namespace, model: "Model") -> "Split":
    first, last = given.decoder_first_pipeline_num_layers, given.decoder_last_pipeline_num_layers
    counted = given.account_for_embedding_in_pipeline_split, given.account_for_loss_in_pipeline_split
    layout = pipeline.parse(given.pipeline_model_parallel_layout) if given.pipeline_model_parallel_layout else ()
    if first < 0 or last < 0:
        raise InputError(f"the first stage has {first} layers and the last one {last}; expected at least 1, or no "
                         f"such flag")
    if sum(map(bool, (first or last, any(counted), layout, given.pipeline_split_by_cost))) > 1:
        raise InputError("the layers of stages are given in several ways; expected uneven ends, embedding and loss as "
                         "layers, stages of equal cost, or a layout")
    costs = (model.layer_parameters(0), model.vocabulary * model.hidden) if given.pipeline_split_by_cost else (0.0, 0.0)
    return pipeline.Split(first, last, *counted, layout, costs)


def find_gpu(given: argparse.Namespace, model: "Model") -> "Gpu":
    gpu = kernel_flags.with_times(gpus.find(given.gpu_type, kernel_flags.dtype_of(given), given.kernels), given, model)
    return frameworks.apply(gpu, _framework(given)) if given.framework else gpu


def _framework(given: argparse.Namespace) -> frameworks.Framework:
    """@return the profile that the flags name, with CUDA graphs or without, if they say so"""
    found, graphs = frameworks.find(given.framework), megatron_line.graphs(given)
    return found if graphs is None else found.copy(update={"graphs": graphs})


def file_name(model: "Model", plan: "Parallelism") -> str:
    parts = [model.name, f"world_size{plan.world_size}", f"tp{plan.tp}", f"pp{plan.pp}"]
    parts += [f"{key}{value}" for key, value in (("vpp", plan.virtual), ("ep", plan.ep), ("cp", plan.cp)) if value > 1]
    parts += [f"gbs{plan.sequences}", f"mbs{plan.micro_batch}", f"seq{plan.sequence}"]
    return "-".join(parts)


def check_memory(given: argparse.Namespace, iteration: "Iteration") -> "tuple[Memory, list[str]]":
    """@return Memory of the GPU that needs most, and warnings; with --force a plan that does not fit is one of them"""
    used, line = memory.excess(iteration.model, iteration.plan, iteration.gpu, given.reserved_gb)
    if line and not given.force:
        raise InputError(f"{line}; --force writes it nevertheless")
    return used, [line] if line else []


def summary(iteration: "Iteration", used: "Memory", gpu: "Gpu", warnings: Sequence[str] = ()) -> dict[str, Any]:
    """@return what is written beside the workload, for people and for scripts"""
    model, plan = iteration.model, iteration.plan
    return {"model": model.name, "parameters": model.parameters(), "active_parameters": model.active_parameters(),
            "parallelism": plan.describe(), "world_size": plan.world_size, "tp": plan.tp, "dp": plan.dp, "pp": plan.pp,
            "vpp": plan.virtual, "ep": plan.ep, "etp": plan.expert_tp, "cp": plan.cp, "zero": plan.zero,
            "copies": plan.copies,
            "exchange": plan.exchange.describe() if model.experts else None, "recompute": plan.recompute,
            "recompute_modules": list(plan.modules), "lora_rank": plan.adapters.rank if plan.adapters else 0,
            "precision": dataclasses.asdict(plan.precision), "sequence_parallel": plan.sequence_parallel,
            "micro_batch": plan.micro_batch, "micro_batches": plan.micro_batches,
            "global_batch": plan.sequences, "seq_length": plan.sequence, "gpu_type": gpu.name, "kernels": gpu.kernels,
            "memory_bytes": {"total": used.total, "weights": used.weights, "gradients": used.gradients,
                             "optimizer": used.optimizer, "activations": used.activations},
            "warnings": list(warnings), "flops": iteration.flops(),
            "compute_ns": max(map(iteration.compute_ns, range(plan.pp)))}


def _iteration(given: argparse.Namespace, model: "Model", plan: "Parallelism", gpu: "Gpu") -> "Iteration":
    if not given.framework:
        return megatron.Iteration(model, plan, gpu)
    return plans.iteration_of(_framework(given), model, plan, gpu, estimate.usual_machine(gpu, plan).line_rates())


def estimate_step(given: argparse.Namespace, iteration: "Iteration") -> estimate.Estimate | None:
    """@return the Estimate with the framework of the flags on usual servers; None without one"""
    if not given.framework:
        return None
    try:
        return estimate.estimate(iteration, estimate.usual_machine(iteration.gpu, iteration.plan), _framework(given))
    except FileNotFoundError as error:
        notices.warn(f"no estimate of the step: {error}", "workload.py")
        return None


def _write(given: argparse.Namespace, iteration: "Iteration", directory: pathlib.Path, name: str) -> list[pathlib.Path]:
    written = []
    if given.layout != "megatron":
        if iteration.plan.copies > 1:
            raise InputError(f"--layout {given.layout} has no hybrid sharding; expected no data parallel replicate "
                             f"degree")
        if given.format != "text":
            raise InputError(f"--layout {given.layout} has rows for SimAI's text only; expected --format text")
        release = given.layout.removeprefix("aicb-") if "-" in given.layout else aicb.RELEASES[-1]
        rows = aicb.AicbIteration(iteration.model, iteration.plan, iteration, release, given.aiob_enable)
        contents = aicb.render(rows)
    else:
        contents = simai_text.render(iteration)
    directory.mkdir(parents=True, exist_ok=True)
    if given.format in ("text", "both"):
        written.append(directory / f"{name}.txt")
        write_text(written[-1], contents)
    if given.format in ("chakra", "both"):
        chakra.write(iteration, directory / name)
        written.append(directory / f"{name}.*.et")
    return written


def parse(arguments: Sequence[str], description: str = "") -> argparse.Namespace:
    """@return the flags, also those of a pasted line of Megatron-LM @raise InputError one of them is wrong"""
    parser = make_parser(description)
    words, pasted = megatron_line.without_launcher(arguments)
    given = parser.parse_args(words)
    given.pasted, given.parser = pasted, parser
    megatron_line.apply(given)
    return given


def run(arguments: Sequence[str], description: str) -> None:
    print(write(parse(arguments, description)))


def write(given: argparse.Namespace) -> Workload:
    """Writes the workload that the flags describe. @param given what parse() returned"""
    with gpu_rows.using(given.gpu_table):
        return _write_all(given)


def _write_all(given: argparse.Namespace) -> Workload:
    model = model_flags.find_model(given)
    gpu = find_gpu(given, model)
    plan = find_plan(given, model)
    iteration = _iteration(given, model, plan, gpu)
    used, warnings = check_memory(given, iteration)
    _warn(given.parser, given)
    for line in warnings + gpu_rows.idle(gpu.name):
        notices.warn(line, "workload.py")
    directory, name = pathlib.Path(given.output_dir), checked_name(given.name) or file_name(model, plan)
    written = _write(given, iteration, directory, name)
    facts = summary(iteration, used, gpu, warnings)
    step = estimate_step(given, iteration)
    if step:
        facts["estimate"] = {"step_ns": step.total_ns, "framework": given.framework, **step.shares}
    write_facts(facts, directory / f"{name}.json")
    text = [model.headline(),
            f"{plan.world_size} {gpu.name}: {plan.describe()}; {plan.micro_batches} "
            f"micro-batch{'es' if plan.micro_batches > 1 else ''} of {plan.micro_batch} x {plan.sequence} tokens",
            f"memory of a GPU: {used.describe()}",
            f"computation of a GPU: {facts['compute_ns'] / 1e6:.1f} ms of an iteration"]
    if step:
        text.append(f"estimated step with {given.framework}: {step.describe()}")
    text.append("written: " + ", ".join(map(str, written)))
    return Workload(directory / (name if given.format == "chakra" else f"{name}.txt"), written, facts, text)
