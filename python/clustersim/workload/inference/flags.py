# SPDX-License-Identifier: GPL-2.0-only
"""The flags of scripts/workload.py --inference that go into the file as they are, and which values they may have."""
import argparse
import csv
import dataclasses
import math
import pathlib
import re
import typing

from clustersim.errors import InputError

# As contrib/astra-frontend/model/inference/input/serving-reader.cc has them.
MOST_REQUESTS = 10_000_000
MOST_TOKENS = 1 << 24
MOST = (1 << 32) - 1


@dataclasses.dataclass(frozen=True)
class Flag:
    """A flag's meaning, its valid values, and their names in a refusal."""
    text: str
    is_valid: typing.Callable[[str], bool]
    expected: str
    repeats: bool = False  # it takes several values, each a line of the file


def _is_whole(text: str, least: int, most: int) -> bool:
    return bool(re.fullmatch("[0-9]{1,20}", text)) and least <= int(text) <= most


def _is_real(text: str, least: float, most: float) -> bool:
    return bool(re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?",
                             text)) and least <= float(text) <= most


def _whole(text: str, least: int = 1, most: int = MOST) -> "Flag":
    return Flag(text, lambda value: _is_whole(value, least, most), f"a whole number from {least} to {most}")


def _real(text: str, least: float = 1e-9, most: float = 1e18) -> "Flag":
    return Flag(text, lambda value: _is_real(value, least, most), f"a number from {least:g} to {most:g}")


def _real_or_inf(text: str, least: float) -> "Flag":
    return Flag(text, lambda value: value == "inf" or _is_real(value, least, 1e18),
                f"a number from {least:g} to 1e+18, or inf")


def _one_of(text: str, *values: str) -> "Flag":
    return Flag(text, lambda value: value in values, f"{', '.join(values[:-1])} or {values[-1]}")


CLASS_KEYS = ("share:", "priority:", "ttft_limit_ms:", "tpot_limit_ms:", "e2e_limit_ms:", "max_running:",
              "max_queued:")


def _is_class(text: str) -> bool:
    """@return whether it is a name, then keys with numbers"""
    name, *words = text.split() or [""]
    return bool(re.fullmatch("[^,\"]+", name)) and len(words) % 2 == 0 and all(
        key in CLASS_KEYS and _is_real(value, 0, 1e18) for key, value in zip(words[::2], words[1::2]))


def _policy(key: str, text: str, standard: str) -> "Flag":
    """The name of a policy: one of the simulator's, which its registry has written down, or one of the user's own."""
    with pathlib.Path(__file__).with_name("policies.csv").open(newline="", encoding="utf-8") as file:
        names = [name + " (default)" * (name == standard) for each, name, _ in csv.reader(file) if each == key]
    return Flag(f"{text}: {', '.join(names)}, or one of your own",
                lambda value: bool(re.fullmatch("[A-Za-z_]+[A-Za-z0-9_]*", value)), "a policy's name")


DISTRIBUTIONS = {"fixed": 1, "uniform": 2, "exponential": 1, "lognormal": 2}  # and their numbers


def _count(text: str, unit: str = "tokens") -> "Flag":
    def is_valid(value: str) -> bool:
        words = value.split()
        kind = words.pop(0) if words and words[0] in DISTRIBUTIONS and words[0] != "fixed" else "fixed"
        counts = [int(word) for word in words if _is_whole(word, 1, MOST_TOKENS)]
        return len(counts) == len(words) == DISTRIBUTIONS[kind] and (kind != "uniform" or counts == sorted(counts))

    return Flag(text, is_valid, 'N, "uniform LOW HIGH", "exponential MEAN" or "lognormal MEAN DEVIATION", '
                f'of 1 to {MOST_TOKENS} {unit}')


def _sizes(text: str) -> "Flag":
    def is_valid(value: str) -> bool:
        words = value.split()
        return bool(words) and all(_is_whole(word, 1, MOST) for word in words) and all(
            int(low) < int(high) for low, high in zip(words, words[1:]))

    return Flag(text, is_valid, f"whole numbers from 1 to {MOST} in ascending order, between spaces")


def _milliseconds(text: str) -> "Flag":
    return _real(text, 1e-9, 9e9)  # a millionth of a nanosecond, 104 days


REQUESTS = {
    "requests": _whole("number of requests (default with a trace: all of it)", most=MOST_REQUESTS),
    "rate": _real_or_inf("requests per second; arrivals are a Poisson process. inf: all at once (default with "
                         "--max_concurrency)", 1e-9),
    "max_concurrency": _whole("closed loop: most requests under way; others arrive when one ends (default: no limit)"),
    "burstiness": _real_or_inf("shape of the gamma distribution of the gaps between arrivals: 1 is a Poisson process "
                               "(default), less is more uneven, inf has equal gaps", 0.01),
    "burst": _whole("requests that arrive together (default: 1)", most=MOST_REQUESTS),
    "seed": _whole("seed of the random numbers (default: 1)", 0, (1 << 63) - 1),
    "trace": Flag("file with requests: CSV with Azure's, Vidur's or BurstGPT's columns, or with "
                  "arrival_s,prompt_tokens,output_tokens; or Mooncake's JSON lines", lambda path: True, ""),
    "trace_model": Flag("the requests of the trace that have this name in their column model (or BurstGPT's Model)",
                        lambda name: bool(name) and len(name.split()) == 1, "a name without spaces"),
    "time_scale": _real("factor on the arrival times of a trace (default: 1)"),
    "turns": _count("requests of a session, each of which begins with the conversation so far and comes when the one "
                    "before it has been answered (default: no sessions)", "turns"),
    "turn_tokens": _count("tokens that each further turn adds to the conversation (default: as --prompt_tokens)"),
    "think_ms": _count("milliseconds from an answer to the user's next request (default: 0)", "milliseconds"),
    "shared_prefix_tokens": _whole("tokens at the beginning of each prompt that other prompts share", most=MOST_TOKENS),
    "shared_prefixes": _whole("number of different beginnings (default: 1)")}
_FORMS = 'N, "uniform LOW HIGH", "exponential MEAN" or "lognormal MEAN DEVIATION"'
COUNTS = {"prompt_tokens": _count(f"tokens of a prompt (of a session, of its first one): {_FORMS}"),
          "output_tokens": _count(f"tokens of an output: {_FORMS}")}
ROUTER = _policy("router", "policy that chooses the instance of a request", "least_loaded")
SERVING = {
    "router": ROUTER,
    "decode_router": Flag("policy that chooses the decoding instance of a request (default: --router's)",
                          ROUTER.is_valid, ROUTER.expected),
    "ttft_limit_ms": _milliseconds("limit of the time to the first token, for the goodput (default: none)"),
    "tpot_limit_ms": _milliseconds("limit of the time per further token, for the goodput (default: none)"),
    "e2e_limit_ms": _milliseconds("limit of the time of a request, for the goodput (default: none)"),
    "frontend_ns": _real("nanoseconds of a server's CPU for each request before its instance has it; requests at hand "
                         "take turns (default: the engine's, or 0)", 0, 9e15),
    "frontend_latency_ns": _real("nanoseconds of each request beside that, which keep no CPU busy (default: the "
                                 "engine's, or 0)", 0, 9e15),
    "report_interval_ms": _real("milliseconds between a replica's reports of its load and free blocks to routers "
                                "(default: 0, routers know the present state)", 0, 9e9),
    "fail_instance": Flag('"INSTANCE SECONDS": the instance fails at that time, and its requests go to others '
                          "(default: none)", lambda value: len(value.split()) == 2 and _is_whole(
                              value.split()[0], 0, MOST) and _is_real(value.split()[1], 0, 1e6),
                          '"INSTANCE SECONDS", such as "0 30"'),
    "request_class": Flag("classes of requests, each a text: name, share: of the requests that are drawn (a trace has a "
                         "column class), ttft_limit_ms:, tpot_limit_ms:, e2e_limit_ms:, priority:, and most requests "
                         "that instances have (max_running:) and that wait (max_queued:) at a time (default: none)",
                         _is_class, '"NAME PROPERTY: VALUE...", such as "chat share: 3 ttft_limit_ms: 500"', True),
    "max_queued": _whole("most requests that wait for their first step; further ones are refused, with 0 all of them "
                         "(default: no limit)", 0),
    "max_predicted_ttft_ms": _milliseconds("most predicted time to the first token, else refused (default: none)"),
    "max_wait_ms": _milliseconds("a request that has waited so long for its first step is dropped (default: none)"),
    "gpu_hour": _real("price of a GPU for an hour, for the cost of a million tokens (default: none)"),
    "gpu_watts": _real("watts of a GPU with its part of the rest, for the energy of a million tokens (default: none)"),
    "max_model_len": _whole("most tokens of a request, prompt and output; longer ones are refused (default: no limit)",
                            2, 2 * MOST_TOKENS),
    "kv_transfer": _one_of("when a cache moves: each layer when it is computed (layers, default), or all at once "
    "(whole)",
                           "layers", "whole"),
    "kv_layers_per_message": _whole("layers of a cache that leave together (default: 1)", most=100_000),
    "first_token": _one_of("side that answers with the first token: decode (default), from the cache that it receives, "
                           "as vLLM, SGLang and Dynamo report it; "
                           "or prefill", "decode", "prefill")}
# Caches outside the GPUs. Sizes are in GB here and in blocks in the file (tiers.py).
TIERS = {
    "host_cache_gb": _real("GB of the host's memory that keep blocks of a GPU's cache, written as soon as they are "
                           "computed (default: none)"),
    "host_cache_gbps": _real("GB/s between a GPU and its host's memory, in each direction (default: 25)"),
    "host_cache_latency_ns": _real("nanoseconds of a transfer besides its bytes (default: 0)", 0, 9e15),
    "nvme_cache_gb": _real("GB of NVMe drives for the same (default: none)"),
    "nvme_cache_gbps": _real("GB/s between a GPU and its drives, in each direction (default: 7)"),
    "nvme_cache_latency_ns": _real("nanoseconds of a transfer besides its bytes (default: 0)", 0, 9e15),
    "remote_cache_gpus": _whole("ranks after those of the instances, whose NICs serve a pool of blocks in the memory "
                                "of their hosts (Mooncake's store, LMCache; default: none)", most=1 << 20),
    "remote_cache_gb": _real("GB of the pool, of all its hosts together"),
    "remote_cache_latency_ns": _real("nanoseconds of a look-up in the pool (default: 0)", 0, 9e15),
    "cache_load": _one_of("how blocks come to the GPUs from there: each layer before it is computed (layers, default), "
                          "or all before the prompt's first step (whole)", "layers", "whole")}
# Instances that start and stop with the load. The weights of one are as many bytes as its model has (scaling.py).
SCALING = {
    "autoscale": Flag("number of instances by load, as Kubernetes' autoscaler has it: each has N requests, N that wait, "
                      "or that share of its cache in use (default: all serve all the time)",
                      lambda value: bool(re.fullmatch("(concurrency|queue|kv_use) [^ ]+", value))
                      and _is_real(value.split()[1], 1e-9, 1e18), '"concurrency N", "queue N" or "kv_use SHARE"'),
    "min_instances": _whole("instances that always serve (default: 1)"),
    "autoscale_interval_s": _real("seconds between decisions (default: 15)", 1e-9, 1e6),
    "scale_down_window_s": _real("seconds in which no more instances may have been wanted (default: 300)", 0, 1e6),
    "startup_s": _real("seconds from an instance's start, or its weights, to its first request (default: 0)", 0, 1e6),
    "weights_store_gpus": _whole("ranks after all others that send weights to instances that start (default: none)",
                                 most=1 << 20)}
# Of `vllm bench serve`, for its random requests.
RANDOM = {
    "random_range_ratio": Flag("tokens of prompts and outputs are drawn evenly from (1 - X) to (1 + X) of their number",
                               lambda value: _is_real(value, 0, 1) and float(value) < 1,
                               "a number from 0 to below 1"),
    "random_prefix_len": _whole("tokens before each prompt that all prompts share, besides --prompt_tokens",
                                most=MOST_TOKENS)}
SPECULATION = {
    "speculative_tokens": _whole("speculative decoding: tokens that a draft proposes for each decoding sequence, which "
                                 "the next step verifies (default: 0)", 0, 64),
    "acceptance": _real("probability that a token of a draft is accepted if those before it are", 0, 1),
    "draft_share": _real("time of a token of a draft, as a share of that of all layers for one token; its logits come "
                         "on top (default: one layer's share, as DeepSeek V3's MTP and EAGLE have one layer)", 0, 1)}
DECODE_KEYS = ("decode_router", "kv_transfer", "kv_layers_per_message",
               "first_token")  # of no use without instances that decode alone
POOL = {
    "max_num_seqs": _whole("most sequences that run at a time (default: the engine's, or 256)"),
    "max_num_batched_tokens": _whole("most tokens of a step (default: the engine's, or 8192)", most=MOST_TOKENS),
    "block_size": _whole("tokens of a block of the cache (default: the engine's, or 16)", most=MOST_TOKENS),
    "num_gpu_blocks": _whole("blocks of a replica's cache (default: as many as fit)", most=MOST - 1),
    "enable_chunked_prefill": _one_of("whether a step may compute parts of prompts: 0 or 1 (default: the engine's, or "
                                      "1)", "0", "1"),
    "enable_mixed_batches": _one_of("whether steps with whole prompts decode, too: 0 or 1 (default: the engine's, or "
                                    "0)", "0", "1"),
    "enable_prefix_caching": _one_of("whether prompts reuse the caches of equal beginnings: 0 or 1 (default)",
                                     "0", "1"),
    "scheduling_policy": _policy("scheduling_policy", "policy that chooses the sequence that begins next", "fcfs"),
    "preemption_mode": _policy("preemption_mode", "policy that makes room in a full cache", "recompute"),
    "capacity_scheduler_policy": _policy("capacity_scheduler_policy", "policy that decides when a sequence begins",
                                         "max_utilization"),
    "swap_gbps": _real("GB/s between a GPU and its host (default: 25)"),
    "step_overhead_ns": _real("nanoseconds of the scheduler before each step (default: the engine's, or 0)", 0, 9e15),
    "launch_ns": _real("nanoseconds of the CPU to launch a kernel; a step takes no less than its launches (default: "
                       "the engine's, or 0)",
                       0, 9e15),
    "cudagraph_capture_sizes": _sizes("numbers of sequences with a CUDA graph, in ascending order; a step that only "
                                      "decodes takes the next larger one, and one launch (default: the engine's, or "
                                      "none)")}


def values_of(given: argparse.Namespace, key: str) -> list[str]:
    """@return the values of a flag; none if it was not given"""
    value = getattr(given, key)
    return [] if value is None else value if isinstance(value, list) else [value]


def check(given: argparse.Namespace) -> None:
    """@raise InputError if the simulator would refuse what the flags say"""
    for key, flag in {**REQUESTS, **COUNTS, **SERVING, **POOL, **TIERS, **SPECULATION, **SCALING}.items():
        for value in values_of(given, key):
            if not flag.is_valid(value):
                raise InputError(f'--{key} "{value[:60]}" is not valid; expected {flag.expected}')
    _check_partners(given)
    if given.fail_instance and given.decode_gpus:
        raise InputError("--fail_instance is modelled for instances that both prefill and decode; expected "
                         "--world_size")
    if given.autoscale and (given.decode_gpus or given.fail_instance):
        raise InputError("--autoscale is modelled for instances that both prefill and decode, and none of which fails; "
                         "expected --world_size, and no --fail_instance")
    drawn = ("requests", "rate", *COUNTS)
    if given.trace is None:
        missing = [key for key in drawn if getattr(given, key) is None
                   and not (key == "rate" and given.max_concurrency)]
        if missing:
            raise InputError(
                f"--{missing[0]} is missing; expected --trace, or {', '.join('--' + key for key in drawn)}"
            )
        return
    for key in ("rate", *COUNTS, "shared_prefix_tokens", "turns", "think_ms", *RANDOM):
        if getattr(given, key) is not None:
            raise InputError(f"--trace and --{key} exclude each other; expected one of them")


def _check_partners(given: argparse.Namespace) -> None:
    """@raise InputError for a flag that has no effect without another one"""
    is_paced = given.rate is not None and given.rate != "inf"
    for key, needed, does in (("time_scale", "trace", given.trace), ("trace_model", "trace", given.trace),
                              ("shared_prefixes", "shared_prefix_tokens",
                               given.shared_prefix_tokens or given.random_prefix_len),
                              ("seed", "rate", given.trace is None),
                              ("burstiness", "rate below inf", is_paced), ("burst", "rate below inf", is_paced),
                              ("turn_tokens", "turns", given.turns),
                              ("think_ms", "turns or --max_concurrency", given.turns or given.max_concurrency),
                              ("swap_gbps", "preemption_mode swap", given.preemption_mode == "swap"),
                              *((key, "autoscale", given.autoscale) for key in SCALING if key != "autoscale"),
                              ("acceptance", "speculative_tokens", given.speculative_tokens is not None),
                              ("draft_share", "speculative_tokens", given.speculative_tokens is not None),
                              *((f"{tier}_cache_{key}", f"{tier}_cache_gb", getattr(given, f"{tier}_cache_gb"))
                                for tier in ("host", "nvme") for key in ("gbps", "latency_ns")),
                              ("remote_cache_gb", "remote_cache_gpus", given.remote_cache_gpus),
                              ("remote_cache_latency_ns", "remote_cache_gpus", given.remote_cache_gpus),
                              ("cache_load", "host_cache_gb, nvme_cache_gb or remote_cache_gpus",
                               given.host_cache_gb or given.nvme_cache_gb or given.remote_cache_gpus),
                              *((key, "decode_gpus", given.decode_gpus or key == "kv_layers_per_message" and
                                 given.remote_cache_gpus) for key in DECODE_KEYS)):
        if getattr(given, key) is not None and not does:
            raise InputError(f"--{key} has no effect without --{needed}; expected both or neither")
    if int(given.speculative_tokens or 0) and given.acceptance is None:
        raise InputError("--speculative_tokens needs --acceptance; expected the probability that a token is accepted")
    if given.remote_cache_gpus and given.remote_cache_gb is None:
        raise InputError("--remote_cache_gpus needs --remote_cache_gb; expected the size of the pool")


def draw_as_benchmarks(given: argparse.Namespace) -> None:
    """Turns --random_range_ratio and --random_prefix_len of `vllm bench serve` into keys of the file: tokens are drawn
    from LENGTH * (1 - RATIO) to LENGTH * (1 + RATIO), and prompts begin with a common prefix of further tokens."""
    for key, flag in RANDOM.items():
        value = getattr(given, key)
        if value is not None and not flag.is_valid(value):
            raise InputError(f'--{key} "{value[:60]}" is not valid; expected {flag.expected}')
    ratio, prefix = float(given.random_range_ratio or 0), int(given.random_prefix_len or 0)
    if prefix and given.shared_prefix_tokens is not None:
        raise InputError("--random_prefix_len and --shared_prefix_tokens exclude each other; expected one of them")
    for key, added in zip(COUNTS, (prefix, 0)):
        text = getattr(given, key)
        if text is None or not (added or given.random_range_ratio):
            continue
        if not text.isdigit():
            raise InputError(f'--random_range_ratio and --random_prefix_len need one length; expected a number in '
                             f'--{key}, not "{text[:60]}"')
        low, high = max(math.floor(int(text) * (1 - ratio)), 1) + added, math.ceil(int(text) * (1 + ratio)) + added
        setattr(given, key, f"uniform {low} {high}" if high > low else str(low))
    if prefix:
        given.shared_prefix_tokens = str(prefix)
