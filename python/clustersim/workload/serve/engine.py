# SPDX-License-Identifier: GPL-2.0-only
"""Engines that serve: their kernels, their defaults, and the time of a step beside kernels. engines.yaml has the
constants and their sources."""
import argparse
import functools
import pathlib
from typing import Any, TYPE_CHECKING

import yaml

from clustersim.errors import InputError, nearest
from clustersim.pydantic_v1 import pydantic
from clustersim.workload.kernels.products import SHORTEST_NS

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.model.transformer import Model

NONE = "none"  # no engine: rooflines only, without launches and the CPU's work
ALLREDUCE = "AS_ENGINE_ALLREDUCE"  # the variable that names an engine's AllReduce to the simulator
GENERATIONS = ("Ampere", "Hopper", "Blackwell")  # of GPUs on which the simulator knows engines' AllReduce


class Limit(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
    """The limits of an engine's server on GPUs with memory_gb or more."""
    memory_gb: float
    without: list[str] = []
    max_num_seqs: int
    max_num_batched_tokens: int


class Engine(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
    """A profile; engines.yaml says what each constant means."""
    name: str
    rows: list[str]
    products: str
    experts: str
    own_fp8: list[str] = []
    allreduce: str
    frontend_ns: float
    frontend_latency_ns: float
    launch_ns: float
    step_ns: float
    sequence_ns: float
    token_ns: float
    extra_kernels: int
    topk_ns: dict[str, float]
    routing_kernels: dict[str, int]
    shared_kernels: int
    mixed_rows: dict[str, int]
    graphs: list[tuple[int, int, int]]
    most_graphs: dict[int, int]
    graphs_per_sequence: int
    limits: list[Limit]
    flags: dict[str, Any]

    def eight_bits(self, model: "Model") -> str:
        """@return the type of a model's 8-bit floats, by their scales"""
        return "fp8_block" if model.fp8_block and not model.name.startswith(tuple(self.own_fp8)) else "fp8"

    def routing(self, model: "Model", gpu: "Gpu") -> float:
        """@return nanoseconds of a layer's choice of experts beside the router's product, and of adding up what shared
        and routed experts return. Experts that were measured on Blackwell begin with the choice"""
        kind = "bias" if model.router_bias else "softmax"
        choice = 0 if gpu.fp4 else self.topk_ns[kind] + self.routing_kernels[kind] * SHORTEST_NS
        return choice + (self.shared_kernels * SHORTEST_NS if model.shared_ffn else 0)

    def limit(self, gpu: "Gpu") -> Limit:
        """@return the limits of a server on a GPU"""
        return next(limit for limit in self.limits
                    if gpu.memory_gb >= limit.memory_gb and gpu.name not in limit.without)

    def captured(self, sequences: int, tp: int) -> list[int]:
        """@return the numbers of sequences with a CUDA graph, on a server that runs at most `sequences`"""
        most = max(size for gpus, size in self.most_graphs.items() if gpus <= tp)
        if self.graphs_per_sequence:
            most = min(most, self.graphs_per_sequence * sequences)
        return [size for first, last, step in self.graphs for size in range(first, last + 1, step) if size <= most]

    def defaults(self, gpu: "Gpu", tp: int, sequences: int | None = None) -> dict[str, str]:
        """@return flags of workload.py --inference, as text @param sequences of --max_num_seqs, if it is given"""
        limit = self.limit(gpu)
        most = sequences or limit.max_num_seqs
        return {"kernels": "measured", "frontend_ns": f"{self.frontend_ns:.12g}",
                "frontend_latency_ns": f"{self.frontend_latency_ns:.12g}", "max_num_seqs": str(most),
                "max_num_batched_tokens": str(limit.max_num_batched_tokens), "launch_ns": f"{self.launch_ns:g}",
                "step_overhead_ns": f"{self.step_ns:.12g}",
                "cudagraph_capture_sizes": " ".join(map(str, self.captured(most, tp))),
                **{key: str(value) for key, value in self.flags.items()}}


@functools.lru_cache(None)
def _table() -> dict[str, dict[str, Any]]:
    text = pathlib.Path(__file__).with_name("engines.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)["engines"]


def names() -> list[str]:
    """@return the names of the profiles of engines.yaml"""
    return list(_table())


def _fields(name: str) -> dict[str, Any]:
    own = dict(_table()[name])
    like = own.pop("like", None)
    return {**(_fields(like) if like else {}), **own}


@functools.lru_cache(None)
def find(name: str) -> Engine | None:
    """@return the Engine of that name, or None for `none`"""
    known = [*names(), NONE]
    if name not in known:
        raise InputError(f'--engine "{name}" is not a known engine; expected one of {", ".join(known)}'
                         f'{nearest(name, known)}')
    return None if name == NONE else Engine(name=name, **_fields(name))


def apply(engine: Engine | None, gpu: "Gpu", tp: int, given: argparse.Namespace) -> None:
    """Sets the flags that were not given to the engine's defaults; a flag wins."""
    defaults = {"kernels": "roofline", "gpu_memory_utilization": "0.9"}
    if engine:
        chosen = given.max_num_seqs
        defaults = engine.defaults(gpu, tp, int(chosen) if chosen else None)
    for key, value in defaults.items():
        if getattr(given, key) is None:
            setattr(given, key, float(value) if key == "gpu_memory_utilization" else value)
