# SPDX-License-Identifier: GPL-2.0-only
"""Layouts of an instance that fit into memory, with the times of their steps."""
import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence

from clustersim.errors import InputError
from clustersim.serving_plan.estimate import Layout, Load
from clustersim.serving_plan.steps import Steps
from clustersim.topology.presets import MACHINES
from clustersim.workload.command import inference_command
from clustersim.workload.flags import kernel_flags, model_flags
from clustersim.workload.estimate.collective_times import Machine
from clustersim.workload.kernels import gpus
from clustersim.workload.model.transformer import Model
from clustersim.workload.serve import engine
from clustersim.workload.serve.engine import Engine

LARGEST = 64  # GPUs of an instance
FLAGS = ("max_num_batched_tokens", "max_num_seqs", "launch_ns", "step_overhead_ns")


def domain(gpu: str) -> int:
    """@return GPUs that NVLinks join: those of the largest machine of the type, 8 where no preset says"""
    return max((int(machine["gpu_per_server"]) for of, machine in MACHINES.values()
                if of == gpu and "gpu_per_server" in machine), default=8)


def dtype_of(gpu: str) -> str:
    """@return fp8 where the GPU has it"""
    try:
        gpus.find(gpu, "fp8")
    except InputError:
        gpus.find(gpu)  # refuses an unknown GPU
        return "bfloat16"
    return "fp8"


def sizes(model: Model, sent: Sequence[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], ...]]:
    """@return flags of instances: TP, and of models with experts DP and EP; powers of two

    @param sent flags of the way of tokens to experts, where they are sent
    """
    powers = [1 << power for power in range(int(math.log2(LARGEST)) + 1)]
    for tp in powers[:4]:
        yield (("tp", str(tp)),)
        for dp in powers if model.experts else ():
            if 1 < tp * dp <= (LARGEST if tp == 1 else LARGEST // 2):
                # Ranks of one replica have all its tokens, and add up what their experts make of them.
                yield (("tp", str(tp)), ("dp", str(dp)), ("ep", str(tp * dp)), *(sent if dp > 1 else ()))


def layout_of(common: tuple[str, ...], own: tuple[tuple[str, str], ...], load: Load, nic_gbps: float,
              served_by: Engine) -> Layout:
    """@param common flags of workload.py --inference @param own sizes of an instance, by flag @return its layout
    @raise InputError it does not fit"""
    words = [*common, *(word for key, value in own for word in (f"--{key}", value))]
    world = math.prod(int(value) for key, value in own if key in ("tp", "dp"))
    given = inference_command.parse([*words, "--world_size", str(world), "--rate", str(load.rate), "--requests", "1",
                                     "--prompt_tokens", str(load.prompt), "--output_tokens", str(load.output)])
    given.frame = "Megatron"
    model = model_flags.find_model(given)
    gpu = gpus.find(given.gpu_type, kernel_flags.dtype_of(given), "measured")
    instance = inference_command.find_pools(given, model)[0][1]
    engine.apply(served_by, gpu, instance.tp, given)
    flags = {key: float(getattr(given, key)) for key in FLAGS}
    blocks = instance.blocks(gpu, given.gpu_memory_utilization, int(given.block_size),
                             int(flags["max_num_batched_tokens"]), int(flags["max_num_seqs"]))
    steps = Steps(instance, gpu, served_by, flags, list(map(int, given.cudagraph_capture_sizes.split())),
                  Machine(gpu.name, domain(gpu.name), nic_gbps))
    mixes = "1" in (given.enable_chunked_prefill, given.enable_mixed_batches)
    return Layout("colocated", gpu.name, steps, blocks, int(given.block_size), mixes, common, own)


def find(model: Model, common: tuple[str, ...], load: Load, nic_gbps: float, served_by: Engine,
         sent: Sequence[tuple[str, str]] = ()) -> tuple[list[Layout], str]:
    """@return the colocated layouts that the model and the GPU's memory allow, and why the last other one is none"""
    found, why = [], ""
    for own in sizes(model, sent):
        try:
            found.append(layout_of(common, own, load, nic_gbps, served_by))
        except InputError as error:
            why = str(error)
    return found, why


def in_role(found: Iterable[Layout], role: str) -> list[Layout]:
    """@return the layouts in another role, which takes caches that can move"""
    return [dataclasses.replace(layout, role=role) for layout in found if layout.steps.instance.kept.moves]
