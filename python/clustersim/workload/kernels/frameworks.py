# SPDX-License-Identifier: GPL-2.0-only
"""Training frameworks: what each fuses, overlaps, launches and leaves exposed. frameworks.yaml has the constants and
their sources."""
import functools
import pathlib
from typing import Any, Literal, TYPE_CHECKING

import yaml

from clustersim import gpu_rows
from clustersim.errors import InputError, nearest
from clustersim.pydantic_v1 import pydantic
from clustersim.workload.kernels import gpus
from clustersim.workload.kernels.streams import LOGIT, OTHER_BACKWARD

if TYPE_CHECKING:
    from clustersim.workload.kernels.work import AttentionHeads, Passes, Work

FACTOR_BYTES = 2  # of bfloat16
# Unfused attention, forward: scores are written, read and written by the softmax, written and read by the dropout, read
# by the last product; each once. Backward twice as much.
SCORE_ACCESSES = 6
SCORE_ACCESSES_BACKWARD = 10

# Tensor cores take 16-bit factors whose rows are multiples of 16 bytes; an A100's other units reach 19.5 TFLOP/s
# (NVIDIA, A100 data sheet).
ALIGNMENT, FP32_TFLOPS = 8, 19.5


class Framework(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
    """A profile; frameworks.yaml says what each constant means."""
    name: str
    tuned: bool
    attention: Literal["newest", "flash2", "flash1", "unfused"]
    stream_passes: float
    extra_bytes: float
    fp8_bytes: float
    stops_early: bool
    again: float
    launch_ns: float
    graphs: bool
    extra_kernels: int
    moe_kernels: int
    expert_kernels: int
    exchange_bytes: float
    bias_bytes: float
    loss_bytes: float
    step_ns: float
    tp: Literal["exposed", "backward", "products"]
    dp: Literal["exposed", "gradients", "buckets"]
    fsdp: bool
    gather_bytes: float
    scatter_bytes: float
    cp: Literal["exposed", "ring"]
    ep: Literal["exposed", "beside"]
    pp: Literal["exposed", "hidden"]
    sms: int
    bandwidth: float


def clock(watts: float, usual: float) -> float:
    """@return the clock of a GPU whose products are bound by a power limit, relative to that with the usual limit"""
    idle = _table()["watts"]["idle"]
    return ((watts - idle) / (usual - idle)) ** (1 / 3)


def _generation(gpu: gpus.Gpu) -> str:
    """@return the generation whose constants count; no run on AMD's GPUs or Huawei's has been compared"""
    return {"Ampere": "ampere", "Blackwell": "blackwell"}.get(gpu.generation, "hopper")


class Constants(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
    """The fitted constants of all frameworks; `fitted` in frameworks.yaml says what each means."""
    ampere: float
    hopper: float
    blackwell: float
    spread: float
    others: float

    def of(self, gpu: gpus.Gpu, framework: Framework) -> tuple[str, ...]:
        """@return the names of those that matter on a Gpu with a Framework"""
        return (_generation(gpu), "spread") + (() if framework.tuned else ("others",))

    def sustained(self, gpu: gpus.Gpu) -> float:
        """@return the share of the rate of short measurements that a GPU's products keep in training"""
        if gpu.generation.startswith("CDNA"):
            return gpu.loaded  # AMD measures under lasting load
        fitted = gpu_rows.rows().get(_table()["watts"].get(_generation(gpu), ""), {}).get("watts")
        return min(1.0, getattr(self, _generation(gpu)) * (clock(gpu.watts, fitted) if gpu.watts and fitted else 1.0))


class ProfiledGpu(gpus.Gpu, frozen=True):
    """A GPU that runs a framework's kernels."""
    framework: Framework
    sustained: float
    spread: float
    slower: float  # time of kernels / that of NVIDIA's builds

    def times_ns(self, operator: "Work") -> "Passes":
        if operator.name in self.measured:
            return super().times_ns(operator)
        forward, data, weight = self._times_ns(operator)
        return self.slower * forward, self.slower * data, self.slower * weight

    def _times_ns(self, operator: "Work") -> "Passes":
        forward, data, weight = super().times_ns(operator)
        has_tables = self.kernels == "measured"
        if operator.kind == "attention" and self.framework.attention in (("flash1",) if has_tables
            else ("flash1", "flash2")):
            return self._by_version(operator)
        if operator.kind != "memory" and not has_tables:
            forward, data, weight = (each / self.sustained for each in (forward, data, weight))
        profile = self.framework
        if operator.kind == "memory":
            extra = self._extra_ns(operator)
            return forward * profile.stream_passes + extra, data * profile.stream_passes + 1.5 * extra, weight
        if operator.kind == "attention" and profile.attention == "unfused" and operator.heads:
            return self._unfused(operator.heads)
        if operator.kind == "matmul" and self.product and not has_tables:
            cast = self._cast_ns(operator)
            return forward + cast, data + cast, weight
        if operator.name == "expert_down":
            bias = self._bias_ns(operator)
            return forward + bias, data + OTHER_BACKWARD * bias, weight
        return forward, data, weight

    def _bias_ns(self, operator: "Work") -> float:
        """Of biases that are added to experts' results by kernels of their own."""
        m, n, k, count = operator.shape
        has_bias = operator.parameters > n * k * count
        return has_bias * self.framework.bias_bytes * m * n * count / self.stream_rate

    def _by_version(self, operator: "Work") -> "Passes":
        """Of a FlashAttention before the newest; it draws too little power to be slowed down."""
        shares = _table()["attention"][self.framework.attention]
        forward, backward = (operator.flops / (self.tflops * 1e3 * share) for share in shares[_generation(self)])
        return forward, 2.5 * backward, 0.0

    def _extra_ns(self, operator: "Work") -> float:
        """Of kernels beside those that every framework has, half of them at each of a layer's norms."""
        rate = self.memory_gbps * self.stream
        if operator.name in ("dispatch", "combine"):  # both read and write each token for each of its experts
            return operator.bytes / (2 * FACTOR_BYTES) * self.framework.exchange_bytes / 2 / rate
        if operator.name == "loss":
            return operator.bytes / LOGIT * self.framework.loss_bytes / rate
        if operator.name not in ("input_norm", "post_norm"):
            return 0.0
        # A norm reads and writes two numbers for each token and hidden unit.
        return operator.bytes / (4 * FACTOR_BYTES) * self.framework.extra_bytes / 2 / rate

    def _cast_ns(self, operator: "Work") -> float:
        """Type that a product's input, or its result's gradient, is turned into."""
        m, n, k, count = operator.shape
        return self.framework.fp8_bytes * m * k * count / (self.memory_gbps * self.stream)

    def _unfused(self, heads: "AttentionHeads") -> "Passes":
        """Two batched products over all pairs of a rank's queries and a sequence's keys, and the scores' way through
        memory."""
        scores = heads.sequences * heads.heads * heads.tokens * (heads.keys or heads.tokens)
        peak = self.tflops * self.matmul * self.sustained
        if heads.head_dim % ALIGNMENT:  # no tensor cores
            peak = FP32_TFLOPS
        product = 2 * scores * (heads.head_dim + heads.value_dim) / (peak * 1e3)
        moved = FACTOR_BYTES * scores / (self.memory_gbps * self.stream)
        return product + SCORE_ACCESSES * moved, 2 * product + SCORE_ACCESSES_BACKWARD * moved, 0.0


@functools.lru_cache(None)
def _table() -> dict[str, dict[str, Any]]:
    return yaml.safe_load((pathlib.Path(__file__).parent / "frameworks.yaml").read_text(encoding="utf-8"))


def names() -> list[str]:
    """@return the names of the profiles of frameworks.yaml"""
    return list(_table()["frameworks"])


@functools.lru_cache(None)
def fitted() -> Constants:
    """@return the Constants that are shipped"""
    return Constants(**_table()["fitted"])


def start() -> Constants:
    """@return the Constants around which a fit searches"""
    return Constants(**_table()["start"])


def _fields(name: str) -> dict[str, Any]:
    own = dict(_table()["frameworks"][name])
    like = own.pop("like", None)
    return {**(_fields(like) if like else {}), **own}


@functools.lru_cache(None)
def find(name: str) -> Framework:
    """@return the Framework of that name"""
    if name not in names():
        raise InputError(f'"{name}" is not a known framework; expected one of {", ".join(names())}'
                         f'{nearest(name, names())}')
    return Framework(name=name, **_fields(name))


def apply(gpu: gpus.Gpu, framework: Framework, constants: Constants | None = None) -> ProfiledGpu:
    """@param constants fitted ones; those that are shipped if None @return the Gpu with the framework's kernels"""
    constants = constants or fitted()
    sustained = constants.sustained(gpu)
    library = "flash" if framework.attention == "flash2" else gpu.attention_library
    return ProfiledGpu(**{**gpu.dict(), "loaded": sustained, "attention_library": library}, framework=framework,
                       sustained=sustained,
                       spread=constants.spread, slower=1.0 if framework.tuned else constants.others)
