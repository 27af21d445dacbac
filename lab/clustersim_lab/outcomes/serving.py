# SPDX-License-Identifier: GPL-2.0-only
"""Published rates of servers whose requests wait in a queue, and the same requests simulated."""
import dataclasses
import math
import pathlib
import re
from collections.abc import Iterable

import pandas as pd

from clustersim.errors import InputError
from clustersim.simulation import simulate
from clustersim.whole_file import write_text
from clustersim.workload.command import inference_command
from clustersim.workload.estimate.collective_times import Machine
from clustersim.workload.kernels import gpus
from clustersim.workload.kernels.roofline import FACTOR_BYTES
from clustersim.workload.mixers.latent import LatentAttention
from clustersim.workload.plan.exchange import Exchange
from clustersim.workload.plan.precision import Precise
from clustersim.workload.serve import engine
from clustersim.workload.serve.instance import CACHE_BYTES, DTYPES, Instance
from clustersim.workload.training import memory
from clustersim_lab.accuracy.simulate import write_topology
from clustersim_lab.accuracy.tables import Machine as Links
from clustersim_lab.outcomes import card, runs
from clustersim_lab.outcomes.facts import Fact

TASK = "serve"
QUEUED = re.compile(r"(\d+) requests queued at once")
AT_ONCE = 1_000_000  # requests per second: they come before the first is served
# How trtllm-bench runs the servers (TensorRT-LLM, docs/source/developer-guide/perf-overview.md,
# tensorrt_llm/bench/benchmark/throughput.py): CUDA graphs of these sizes; blocks of a sequence's whole output before it
# begins; this share of what weights and activations leave for caches.
GRAPHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512, 1024, 2048, 4096, 8192)
POLICY, CACHE_SHARE, BLOCK = "guaranteed_no_evict", 0.9, 32
# Tokens go to all ranks as factors of products (_torch/modules/fused_moe/fused_moe_cutlass.py: where a token has as
# many experts as there are ranks, or GPUs have no NVLink between servers).
DISPATCHER = "allgather"
ENGINE = "TensorRT-LLM"
# nvidia-smi's MiB are the data sheets' GB as GiB: an H100 has 81,559, an H200 143,771, a B200 183,359.
GIB = 1 << 30
MOST = (
    2048,
    8192,
)  # sequences and tokens of a step with latent caches, which trtllm-bench's formula of its limits does not know
LAUNCH_NS = 5000  # PyTorch takes about that to launch a kernel (launch_ns of frameworks.yaml)
# Products that keep 16 bits: nvidia/DeepSeek-R1-0528-FP4-v2 "additionally quantizes the wo module in attention layers"
# (its model card).
PRECISE = {"DeepSeek R1": Precise(operators=tuple((name, "bfloat16")
                                                  for name in ("query_down", "query_up", "key_value_down",
                                                      "key_value_up")))}


@dataclasses.dataclass(frozen=True)
class Server:
    """A published row, written down."""
    fact: Fact
    gpu: gpus.Gpu
    machine: Machine
    instance: Instance
    prompt: int  # tokens of a request
    output: int
    requests: int
    published: float  # output tokens per second and GPU


def write_down(fact: Fact) -> Server:
    """@return the Server of a row; raises CannotBeWritten"""
    queued = QUEUED.search(fact.notes)
    if fact.gpus is None or fact.tp is None or fact.lengths is None or fact.tokens_per_s_gpu is None or not queued:
        raise runs.CannotBeWritten(runs.NO_LAYOUT, "the row does not say GPUs, TP, lengths, tokens per second and GPU "
                                   "and requests queued at once")
    dtype = runs.product_of(fact)
    if dtype not in DTYPES:
        raise runs.CannotBeWritten("precision", f"servers with products of {dtype} are not modelled")
    gpu, machine = runs.machine_of(fact, fact.gpus)
    cache = "bfloat16" if dtype == "bfloat16" else "fp8"
    try:
        instance = Instance(runs.model_of(fact), fact.gpus, fact.tp, fact.pp or 1, fact.ep or 1, dtype=dtype,
                            cache=cache, precise=PRECISE.get(fact.model, Precise()),
                            exchange=Exchange(DISPATCHER, FACTOR_BYTES[dtype]), lengths=fact.lengths)
    except InputError as error:
        raise runs.CannotBeWritten("plan", str(error)) from None
    return Server(fact, gpu, machine, instance, *fact.lengths, int(queued[1]), fact.tokens_per_s_gpu)


def limits(server: Server) -> tuple[int, int, int]:
    """@return sequences and tokens of a step that trtllm-bench allows (tensorrt_llm/bench/build/tuning.py), and blocks
    of the cache"""
    instance, prompt, output = server.instance, server.prompt, server.output
    model = instance.model
    token = 2 * model.layers * max(model.kv_heads, instance.gpus) * model.head_dim * CACHE_BYTES[instance.cache]
    weights = model.parameters() * {"bfloat16": 2, "fp8": 1, "nvfp4": 0.5}[instance.dtype]
    requests = min((server.gpu.memory_gb * GIB * instance.gpus - weights) * 0.95 / (token * (prompt + output)), 4096)
    wide = min(requests * (1 + prompt / output), 32768)

    def up(number: float, step: int) -> int:
        return step * math.ceil(number / step)

    sequences = max(64, up(requests, 32)) if requests < 256 else up(requests, 128 if requests < 1024 else 256)
    tokens = max(2048, up(wide, 256)) if wide < 4096 else up(wide, 512 if wide < 8192 else 1024)
    if model.sizes_of(LatentAttention):  # tuning.py knows no latent caches; the cache alone limits sequences
        sequences, tokens = MOST
    tokens = max(tokens, prompt)  # prompts are not cut into chunks
    gpu = server.gpu.copy(update={"memory_mib": (server.gpu.memory_gb * GIB - memory.RESERVED_GB * 1e9) / 2**20})
    return sequences, tokens, int(CACHE_SHARE * instance.blocks(gpu, 1.0, BLOCK, tokens, sequences))


def write_all_down(facts: Iterable[Fact]) -> tuple[list[Server], list[card.Refused]]:
    """@return Servers of the rows that can be written down, and those that cannot as Refused"""
    return card.write_down_by(write_down, facts, (TASK,))


def _write(server: Server, directory: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """Writes the workload and the machine of a server. @return their paths"""
    sequences, tokens, blocks = limits(server)
    flags = {"requests": server.requests, "rate": AT_ONCE, "prompt_tokens": server.prompt,
             "output_tokens": server.output, "max_num_seqs": sequences,
             "max_num_batched_tokens": tokens, "num_gpu_blocks": blocks, "block_size": BLOCK,
             "capacity_scheduler_policy": POLICY,
             "launch_ns": LAUNCH_NS, "cudagraph_capture_sizes": " ".join(map(str, GRAPHS))}
    given = inference_command.make_parser().parse_args([f"--{name}={value}" for name, value in flags.items()])
    text, _ = inference_command.render(given, server.instance.model, [("colocated", server.instance)], server.gpu,
                                       None)  # kernels and launches alone
    workload, topology = directory / "workload.txt", directory / "topology.txt"
    directory.mkdir(parents=True, exist_ok=True)
    write_text(workload, text)
    machine = server.machine
    write_topology(topology, Links(gpu=machine.gpu_type, servers=server.instance.gpus // machine.gpus_per_server,
                                   gpus_per_server=machine.gpus_per_server,
                                   nvlink_gbps=8 * machine.line_rates().nvlink, nic_gbps=8 * machine.nic_gbps))
    return workload, topology


def rate_of(server: Server, directory: pathlib.Path) -> float:
    """@return output tokens per second and GPU that a server simulates to"""
    workload, topology = _write(server, directory)
    run = simulate(workload, topology, output=directory / "run", network="analytical", fast_forward=True,
                   environment={engine.ALLREDUCE: ENGINE})
    assert run.inference is not None
    return run.inference.set_index("metric").loc["output_tokens_per_second", "mean"] / server.instance.gpus


def row_of(server: Server, rate: float) -> dict[str, object]:
    """@return a row of the table of servers"""
    fact, instance = server.fact, server.instance
    return {"id": fact.id, "model": fact.model, "gpu": fact.gpu, "gpus": fact.gpus, "precision": fact.precision,
            "tp": instance.tp, "ep": instance.ep,
            "prompt_tokens": server.prompt, "output_tokens": server.output, "published": server.published,
            "simulated": rate, "ratio": rate / server.published, "source": fact.source}


def frame_of(servers: Iterable[Server], directory: pathlib.Path) -> pd.DataFrame:
    """@return a frame with a row for each Server; runs are left below the directory"""
    return pd.DataFrame([row_of(server, rate_of(server, directory / server.fact.id)) for server in servers])
