# SPDX-License-Identifier: GPL-2.0-only
"""scripts/workload.py --inference: writes an INFERENCE file from a model's name, GPUs and requests."""
import argparse
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any, TYPE_CHECKING

from clustersim import command, gpu_rows, notices
from clustersim.errors import InputError
from clustersim.whole_file import write_text
from clustersim.workload.flags import exchange_flags, kernel_flags, model_flags
from clustersim.workload.flags.parser import Parser, checked_name
from clustersim.workload.inference import aisimulate
from clustersim.workload.inference.flags import (
    COUNTS, POOL, RANDOM, REQUESTS, SCALING, SERVING, SPECULATION, TIERS, check, draw_as_benchmarks, values_of)
from clustersim.workload.kernels import gpus
from clustersim.workload.plan import precision
from clustersim.workload.result.written import Workload, write_facts
from clustersim.workload.serve import engine, layout, lora, placement, quantization, scaling, tiers
from clustersim.workload.serve.instance import DTYPES, Instance
from clustersim.workload.serve.times import Timed, beside_kernels, with_reaches

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.model.transformer import Model

DESCRIPTION = """Writes the workload of instances that serve requests, without a GPU.

    scripts/workload.py --inference --model_name llama3_8b --world_size 8 --tp 2 \\
      --requests 100 --rate 8 --prompt_tokens 1024 --output_tokens 128
    scripts/workload.py --inference --model_name llama3_8b --world_size 1 --num-prompts 500 \\
      --max-concurrency 16 --random-input-len 1024 --random-output-len 128
    scripts/workload.py --inference --model_name llama3_8b --prefill_gpus 4 --prefill_tp 2 \\
      --decode_gpus 4 --decode_tp 4 --trace AzureLLMInferenceTrace_conv.csv

Without --prefill_gpus and --decode_gpus, instances of TP x PP x DP on all GPUs do both (colocated). DP is --ep without
--dp and --enable_expert_parallel.
"""
# Of AICB's main program, and of `vllm bench serve`.
OTHER_NAMES = {"prompt_tokens": ["num_prefill_tokens", "random_input_len"],
               "output_tokens": ["num_decode_tokens", "random_output_len"],
               "requests": ["num_prompts"], "rate": ["request_rate"], "max_concurrency": ["concurrency"],
               "speculative_tokens": ["num_speculative_tokens", "speculative_num_steps"]}


def make_parser() -> "Parser":
    parser = Parser(prog="workload.py --inference", usage="%(prog)s [flags]",
                                     description=DESCRIPTION, allow_abbrev=False,
                                     formatter_class=command.HelpFormatter)
    parser.add_argument("--inference", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--workload_type", choices=["inference"], help=argparse.SUPPRESS)
    model_flags.add_model_flags(parser)
    group = parser.add_argument_group("instances")
    group.add_argument("--aisimulate", metavar="FILE",
                       help="a prediction of AISimulate (aisimulate predict --config FILE): its model, GPUs, engine, "
                       "instances and requests. Flags win over it")
    group.add_argument("--world_size", "--gpus", type=int, metavar="N",
                       help="GPUs of instances that both prefill and decode")
    layout.add_flags(group)
    group.add_argument("--gpu_type", "--gpu-type", "-gt", default="H100", metavar="GPU",
                       help=f"GPU that computes (default: H100), of {', '.join(gpus.names())}")
    for role in ("prefill", "decode"):
        group.add_argument(*(f"--{role}{spelt}" for spelt in ("_gpu_type", "-gpu-type")), metavar="GPU",
                           help=f"GPU of {role} instances (default: --gpu_type)")
    kernel_flags.add_gpu_table(group)
    group.add_argument("--engine", default="vLLM", metavar="ENGINE",
                       help=f"engine whose kernels, limits and time beside kernels count: {', '.join(engine.names())}, "
                       f"or {engine.NONE}: rooflines, and steps that take the time of their kernels (default: vLLM). "
                       "Other flags win over its defaults")
    group.add_argument("--gpu_memory_utilization", type=float, metavar="X",
                       help="share of a GPU's memory for weights and cache (default: the engine's, or 0.9)")
    group.add_argument("--dtype", default="bfloat16", metavar="TYPE",
                       help=f"type of weights and of the numbers of GEMMs: {', '.join(DTYPES)} (default: bfloat16)")
    group.add_argument("--quantization", choices=quantization.KINDS,
                       help="4-bit weights whose products compute with bfloat16: awq and gptq (but for the router and "
                       "the logits), or mxfp4 (experts, as gpt-oss has it). Default: as quantization_config of --config "
                       "says, or none")
    group.add_argument("--kv_cache_dtype", "--kv-cache-dtype", default="auto", choices=["auto", "bfloat16", "fp8"],
                       help="type of keys and values in the cache (default: auto, which is bfloat16)")
    group.add_argument("--kernels", choices=gpus.KERNELS,
                       help="source of operators' times: measured kernels (default with an engine) or a roofline "
                       "(default without)")
    kernel_flags.add_operator_dtype(group)
    exchange_flags.add_imbalance(group)
    for title, keys in (("requests", {**REQUESTS, **COUNTS, **RANDOM}), ("serving", SERVING), ("each instance", POOL),
                        ("caches outside the GPUs", TIERS), ("autoscaling", SCALING),
                        ("speculative decoding", SPECULATION)):
        group = parser.add_argument_group(title)
        for key, flag in keys.items():
            several: dict[str, Any] = {"nargs": "+"} if flag.repeats else {}
            group.add_argument(*_spellings(key), metavar="V", help=flag.text, **several)
    lora.add_flags(parser.add_argument_group("adapters"))
    group = parser.add_argument_group("output")
    group.add_argument("--output_dir", "--output-dir", "-o", default="results/workload", metavar="DIR",
                       help="directory for the files (default: results/workload)")
    group.add_argument("--name", metavar="NAME",
                       help="name of the files, without ending (default: from model and instances)")
    return parser


def _spellings(key: str) -> list[str]:
    """@return a flag's names, each with underscores and with hyphens"""
    names = [key, *OTHER_NAMES.get(key, [])]
    return list(dict.fromkeys(f"--{spelt}" for name in names for spelt in (name, name.replace("_", "-"))))


def find_pools(given: argparse.Namespace, model: "Model") -> "list[tuple[str, Instance]]":
    """@return role and Instance of each pool"""
    disaggregated = given.prefill_gpus, given.decode_gpus
    if any(disaggregated) != all(disaggregated) or any(disaggregated) == bool(given.world_size):
        raise InputError("the instances have no GPUs; expected --world_size, or --prefill_gpus and --decode_gpus")
    if kernel_flags.dtype_of(given) not in DTYPES:
        raise InputError(f'--dtype "{given.dtype}" is not modelled for inference; expected {", ".join(DTYPES)}')
    kinds: dict[str, Any] = {"dtype": kernel_flags.dtype_of(given),
                             "cache": "fp8" if given.kv_cache_dtype == "fp8" else "bfloat16",
             "precise": kernel_flags.check_operator_dtypes(given, model, precision.precise(
                 0, 0, False, given.operator_dtype,
                 {name: kind for name, kind in gpus.PRECISIONS.items() if kind in DTYPES})),
             "lengths": _lengths(given),
             "quantization": quantization.find(given.quantization, kernel_flags.dtype_of(given), model),
             "adapters": lora.find(given, model)}
    by_layer = placement.of_layers(given.moe_imbalance, model)
    loads = () if by_layer else exchange_flags.loads_of(given, model)

    def instance(role: str, size: int) -> Instance:
        sizes = layout.sizes(given, role)
        sent = layout.exchange_of(given, role, sizes["dp"], loads)
        if given.moe_dispatcher or given.moe_dispatch_dtype:
            exchange_flags.require_experts(sent, model)
        return Instance(model, size, **sizes, exchange=sent, redundant=layout.redundant(given, role),
                        layer_loads=by_layer, **kinds)

    if given.world_size:
        return [("colocated", instance("", given.world_size))]
    return [(role, instance(role, getattr(given, f"{role}_gpus"))) for role in ("prefill", "decode")]


def _lengths(given: argparse.Namespace) -> tuple[int, int] | None:
    """@return tokens of the prompt and the output where all requests have as many"""
    counts = [getattr(given, key) or "" for key in COUNTS]
    if not all(count.isdigit() for count in counts):
        return None
    prompt, output = map(int, counts)
    return prompt, output


def _whole(given: argparse.Namespace, key: str, default: int) -> int:
    text = getattr(given, key)
    return default if text is None else int(text)


def _lines(given: argparse.Namespace, keys: Sequence[str]) -> list[str]:
    return [f"{key} {value}" for key in keys for value in values_of(given, key)]


def _trace(given: argparse.Namespace, directory: pathlib.Path) -> None:
    """The path of the trace, as the file in `directory` names it."""
    if given.trace is None:
        return
    path = pathlib.Path(given.trace)
    if not path.is_file():
        raise InputError(f"{given.trace}: no such file; expected a trace of requests")
    given.trace = str(path.resolve())


def _kept_lines(given: argparse.Namespace, model: "Model", pools: "Sequence[tuple[str, Instance]]") -> list[str]:
    """@return lines of windows; refuses what is not modelled for layers that do not keep all tokens"""
    kept = pools[0][1].kept
    what = ("layers with a window" if kept.window_layers else "layers with a state" if kept.has_states else
            "layers that keep different numbers of bytes")
    if kept.moves:
        return []
    if len(pools) > 1:
        raise InputError(f"{model.name} has {what}, whose transfers are not modelled; expected --world_size")
    if given.preemption_mode == "swap":
        raise InputError(f"{model.name} has {what}, for which swapping is not modelled; expected --preemption_mode "
                         f"recompute")
    if not kept.window_layers and not kept.has_states:
        return []
    if given.enable_prefix_caching == "1":
        raise InputError(f"{model.name} has {what}, for which prefix caching is not modelled; expected "
                         "--enable_prefix_caching 0")
    given.enable_prefix_caching = "0"
    return [f"window {pools[0][1].window}", f"window_layers {kept.window_layers}"] if kept.window_layers else []


def render(given: argparse.Namespace, model: "Model", pools: "Sequence[tuple[str, Instance]]", gpu: "Gpu",
           served_by: engine.Engine | None, own: "dict[str, Gpu] | None" = None) -> tuple[str, list[int]]:
    """Sets the flags that were not given. @return the file's text and, for each pool, its blocks
    @param own the GPUs of roles that have others than `gpu`"""
    own = own or {}
    lacking = [key for key in POOL if getattr(given, key) is None]
    engine.apply(served_by, gpu, max(pool.tp for _, pool in pools), given)
    if not 0 < given.gpu_memory_utilization <= 1:
        raise InputError(f"--gpu_memory_utilization {given.gpu_memory_utilization:g} is not valid; expected above 0, "
                         f"at most 1")
    instance = pools[0][1]
    lines = ["INFERENCE", f"# {model.name}: {model.parameters() / 1e9:.2f} billion parameters, on {gpu.name}"]
    lines += _lines(given, [*REQUESTS, *COUNTS, *SERVING])
    added = _all_reduce(served_by, pools, gpu, own)
    lines += [f"all_reduce {added}"] if added else []
    lines += [f"layers {model.layers}", f"kv_heads {instance.cached_heads}", f"kv_bytes {instance.head_bytes}"]
    lines += _kept_lines(given, model, pools)
    lines += _lines(given, [key for key in POOL if key != "num_gpu_blocks"])
    lines += tiers.lines(given, pools)
    lines += scaling.lines(given, pools[0][1])
    drafts = int(given.speculative_tokens or 0)
    if drafts:
        share = given.draft_share or f"{1 / model.layers:.6g}"
        lines.append(f"speculative_decoding {drafts} {given.acceptance} {share}")
    used = {pool.dtype for _, pool in pools} | {kind for _, pool in pools for _, kind in pool.precise.operators}
    lines.append(_gpu_line(gpu, used))
    first, counts, common = 0, [], gpu
    for role, pool in pools:
        gpu = own.get(role, common)
        limits = _own_limits(served_by, common, gpu, pool, {key: getattr(given, key) for key in POOL}, lacking)
        tokens, sequences = int(limits["max_num_batched_tokens"] or 8192), int(limits["max_num_seqs"] or 256)
        counts.append(_whole(given, "num_gpu_blocks", 0) or
                      pool.blocks(gpu, given.gpu_memory_utilization, _whole(given, "block_size", 16), tokens,
                                  sequences))
        lines += ["", f"instances {role} {first}-{first + pool.gpus - 1} tp: {pool.tp} pp: {pool.pp} "
                  f"{f'dp: {pool.dp} ' if pool.dp else ''}ep: {pool.exchange_ranks}",
                  f"num_gpu_blocks {counts[-1]}"]
        if role in own:
            lines += [_gpu_line(gpu, used), *(f"{key} {value}" for key, value in limits.items()
                                              if value != getattr(given, key))]
        if pool.pp > 1:
            lines.append(f"pp_comm {2 * model.hidden}")
        rows = (Timed(pool, gpu, tokens, sequences, served_by, 1 + drafts).rows()
                if gpu.kernels == "measured" else with_reaches(pool.rows(), gpu, tokens, sequences, 1 + drafts))
        lines += [row.text() for row in (beside_kernels(rows, served_by, pool, gpu, tokens) if served_by else rows)]
        first += pool.gpus
    return "\n".join(lines) + "\n", counts


def _gpu_line(gpu: "Gpu", used: set[str]) -> str:
    """@return the line of a GPU @param used types of products"""
    rates = {bits: gpu.peak_and_ceiling(kind) for bits, kind in ((8, "fp8"), (4, "nvfp4")) if kind in used}
    fewer = "".join(f"fp{bits}_tflops: {peak:g} fp{bits}_matmul: {ceiling:g} " for bits,
                    (peak, ceiling) in rates.items())
    return (f"gpu tflops: {gpu.tflops:g} matmul: {gpu.matmul:g} {fewer}attention: {gpu.attention[0]:g} "
            f"memory_gbps: {gpu.memory_gbps:g} stream: {gpu.stream:g} sms: {gpu.sms}")


def _own_limits(served_by: engine.Engine | None, common: "Gpu", gpu: "Gpu", pool: "Instance",
                limits: dict[str, str | None], lacking: Sequence[str]) -> dict[str, str | None]:
    """@return flags of a pool: those that were not given are the engine's on its own GPU"""
    if not served_by or gpu is common:
        return limits
    most = None if "max_num_seqs" in lacking else int(limits["max_num_seqs"] or 0)
    defaults = served_by.defaults(gpu, pool.tp, most)
    return {key: defaults.get(key, value) if key in lacking else value for key, value in limits.items()}


def _own_gpus(given: argparse.Namespace, pools: "Sequence[tuple[str, Instance]]", kernels: str) -> "dict[str, Gpu]":
    """@return the GPUs of roles that name them"""
    roles = [role for role, _ in pools]
    found = {}
    for role in ("prefill", "decode"):
        name = getattr(given, f"{role}_gpu_type")
        if name is not None and role not in roles:
            raise InputError(f"--{role}_gpu_type has no effect without --{role}_gpus; expected both or neither")
        if name is not None:
            found[role] = gpus.find(name, kernel_flags.dtype_of(given), kernels)
    return found


def file_name(model: "Model", pools: "Sequence[tuple[str, Instance]]") -> str:
    return "-".join([model.name, *(f"{role}{pool.gpus}_tp{pool.tp}_pp{pool.pp}{f'_dp{pool.dp}' if pool.dp else ''}"
                                 f"_ep{pool.ep}" for role, pool in pools)])


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """@return the flags @raise InputError one of them is wrong"""
    parser = make_parser()
    given = parser.parse_args(arguments)
    if given.aisimulate is not None:
        given = parser.parse_args([*aisimulate.flags(given.aisimulate), *arguments])
    given.parser = parser
    return given


def run(arguments: Sequence[str]) -> None:
    print(write(parse(arguments)))


def write(given: argparse.Namespace) -> Workload:
    """Writes the instances and requests that the flags describe. @param given what parse() returned"""
    with gpu_rows.using(given.gpu_table):
        return _write(given)


def _write(given: argparse.Namespace) -> Workload:
    draw_as_benchmarks(given)
    check(given)
    served_by = engine.find(given.engine)
    model = model_flags.find_model(_with_all_sizes(given))
    roles = given.prefill_gpu_type, given.decode_gpu_type
    gpu = gpus.find(roles[0] if all(roles) else given.gpu_type, kernel_flags.dtype_of(given),
                    given.kernels or ("measured" if served_by else "roofline"))
    pools = find_pools(given, model)
    own = _own_gpus(given, pools, gpu.kernels)
    command.tell_idle(given.parser, given, [
        (any(pool.ep > 1 for _, pool in pools), exchange_flags.WITHOUT_SPREAD, ("moe_imbalance",)),
        *layout.idle_rules(pools)])
    for line in min((gpu_rows.idle(own.get(role, gpu).name) for role, _ in pools), key=len):
        notices.warn(line, given.parser.prog)
    directory = pathlib.Path(given.output_dir)
    _trace(given, directory)
    text, blocks = render(given, model, pools, gpu, served_by, own)
    name = checked_name(given.name) or file_name(model, pools)
    path = directory / f"{name}.txt"
    directory.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    facts = {"model": model.name, "parameters": model.parameters(), "active_parameters": model.active_parameters(),
             "gpu_type": gpu.name, "engine": given.engine, "kernels": gpu.kernels,
             "quantization": given.quantization or "none", "all_reduce": _all_reduce(served_by, pools, gpu, own),
             "world_size": sum(pool.gpus for _, pool in pools) + int(given.remote_cache_gpus or 0)
             + int(given.weights_store_gpus or 0),
             "pools": [{"role": role, "gpu_type": own.get(role, gpu).name, "gpus": pool.gpus, "tp": pool.tp,
                        "pp": pool.pp, "dp": pool.replicas, "ep": pool.ep, "blocks": count,
                        "cache_bytes_per_token_and_rank": pool.kept.of_fullest(pool),
                        "state_bytes_per_sequence_and_rank": pool.kept.of_fullest(pool, "states"),
                        "adapter_bytes_per_rank": max(pool.weights_of_stage(stage, only_adapters=True)
                                                      for stage in range(pool.pp))}
                       for (role, pool), count in zip(pools, blocks)]}
    write_facts(facts, directory / f"{name}.json")
    return Workload(path, [path], facts, [model.headline(), *_pool_lines(pools, blocks, gpu, own), f"written: {path}"])


def _pool_lines(pools: "Sequence[tuple[str, Instance]]", blocks: Sequence[int], gpu: "Gpu",
                own: "dict[str, Gpu]") -> Iterator[str]:
    for (role, pool), count in zip(pools, blocks):
        number = pool.gpus // (pool.tp * pool.pp * pool.replicas)
        yield (f"{number} {role} instance{'s' if number > 1 else ''} of {pool.describe()} on "
               f"{pool.gpus} {own.get(role, gpu).name}: {count} blocks of the cache on each replica")


def _all_reduce(served_by: engine.Engine | None, pools: "Sequence[tuple[str, Instance]]", gpu: "Gpu",
                own: "dict[str, Gpu]") -> str | None:
    """@return the engine whose AllReduce adds up what ranks have; None where NCCL's does"""
    adds = any(own.get(role, gpu).generation in engine.GENERATIONS and pool.tp > 1 for role, pool in pools)
    return served_by.allreduce if served_by and adds else None


def _with_all_sizes(given: argparse.Namespace) -> argparse.Namespace:
    """The flags of training that find_model() reads, and the kind of weights that a config.json says."""
    given.frame = "Megatron"
    if given.config and given.quantization is None and given.dtype == "bfloat16":
        given.quantization = quantization.of_config(given.config)
    given.tell = lambda line: None if given.quantization and "quantization_config has" in line else notices.warn(line)
    return given
