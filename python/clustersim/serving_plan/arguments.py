# SPDX-License-Identifier: GPL-2.0-only
"""Arguments with which engines start an instance of a deployment. MODEL stands for the path of weights of the type that
the plan has."""
import json
import math
from collections.abc import Callable

from clustersim.serving_plan.deployments import Deployment, Pool
from clustersim.serving_plan.estimate import Load

TRANSFERS = json.dumps({"kv_connector": "NixlConnector", "kv_role": "kv_both"})


def _servers(pool: Pool) -> int:
    return math.ceil(pool.layout.gpus / pool.layout.steps.machine.gpus_per_server)


def _vllm_flags(pool: Pool, load: Load) -> list[str]:
    layout = pool.layout
    instance, flags = layout.steps.instance, layout.steps.flags
    words = ["--tensor-parallel-size", str(instance.tp)]
    if instance.replicas > 1:
        words += ["--data-parallel-size", str(instance.replicas)]
    if instance.ep > 1:
        words.append("--enable-expert-parallel")
    if instance.exchanges:
        deepep = f"deepep_{'high_throughput' if layout.role == 'prefill' else 'low_latency'}"
        words += ["--all2all-backend", "allgather_reducescatter" if instance.exchange.dispatcher == "allgather" else
                  deepep]
    if _servers(pool) > 1 and instance.replicas > 1:
        words += ["--data-parallel-size-local", str(instance.replicas // _servers(pool)), "--data-parallel-address",
                  "HOST"]
    words += ["--max-model-len", str(load.prompt + load.output), "--max-num-seqs", f"{flags['max_num_seqs']:.0f}",
              "--max-num-batched-tokens", f"{flags['max_num_batched_tokens']:.0f}"]
    if layout.role != "colocated":
        words += ["--kv-transfer-config", f"'{TRANSFERS}'"]
    return words


def vllm(pool: Pool, load: Load) -> str:
    """@return a command that starts an instance with vLLM"""
    return " ".join(["vllm serve MODEL", *_vllm_flags(pool, load)])


def sglang(pool: Pool, load: Load) -> str:
    """@return a command that starts an instance with SGLang; its --tp-size counts all GPUs of an instance"""
    layout = pool.layout
    instance, flags = layout.steps.instance, layout.steps.flags
    words = ["python3 -m sglang.launch_server --model-path MODEL --tp-size", str(layout.gpus)]
    if instance.replicas > 1:
        words += ["--dp-size", str(instance.replicas), "--enable-dp-attention"]
    if instance.ep > 1:
        words += ["--ep-size", str(layout.gpus)]
    if instance.exchange.dispatcher != "allgather" and instance.exchanges:
        words += ["--moe-a2a-backend", "deepep"]
    if _servers(pool) > 1:
        words += ["--nnodes", str(_servers(pool)), "--node-rank", "RANK", "--dist-init-addr", "HOST:PORT"]
    words += ["--context-length", str(load.prompt + load.output), "--chunked-prefill-size",
              f"{flags['max_num_batched_tokens']:.0f}"]
    if layout.role != "colocated":
        words += ["--disaggregation-mode", layout.role]
    return " ".join(words)


def dynamo(pool: Pool, load: Load) -> str:
    """@return a command that starts a worker of Dynamo, which runs vLLM"""
    words = ["python3 -m dynamo.vllm --model MODEL", *_vllm_flags(pool, load)]
    if pool.layout.role != "colocated":
        words += ["--disaggregation-mode", pool.layout.role]
    return " ".join(words)


ENGINES: dict[str, Callable[[Pool, Load], str]] = {"vLLM": vllm, "SGLang": sglang, "Dynamo": dynamo}


def of_deployment(deployment: Deployment) -> list[str]:
    """@return lines with a command of each engine for an instance of each pool"""
    return [f"{name}, {pool.instances} {pool.layout.role} instance{'s' if pool.instances > 1 else ''}: "
            f"{write(pool, deployment.load)}" for name, write in ENGINES.items() for pool in deployment.pools]
