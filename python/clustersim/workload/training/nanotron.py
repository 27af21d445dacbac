# SPDX-License-Identifier: GPL-2.0-only
"""The rows of a training iteration as Hugging Face's Nanotron carries it out, where it differs from Megatron-LM.

Sources, in huggingface/nanotron: gradients are accumulated in float32 by a kernel of their own
(`optim/gradient_accumulator.py`); with ZeRO-1 one AllReduce of all of them follows the pipeline, without ZeRO they are
reduced beside the last backward pass (`trainer.py`); what ZeRO-1 updates is gathered after the step (`optim/zero.py`);
the loss is a chain of kernels over float32 logits (`parallel/tensor_parallel/functional.py`); stages have equal cost
(`models/base.py`). frameworks.yaml and keeping.py have the rest.
"""
import dataclasses
import functools
from collections.abc import Sequence
from typing import Protocol, TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.workload.model import operators
from clustersim.workload.plan import keeping, pipeline, schedules
from clustersim.workload.training import megatron, memory
from clustersim.workload.training.rows import NOTHING, Collective, Row

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.model.mixer import LayerKind
    from clustersim.workload.model.operator import Operator
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.parallel import Parallelism

# Bytes that the accumulation of a gradient moves: it reads a bfloat16 and a float32, and writes a float32.
ACCUMULATED = 2 + 4 + 4
# Bytes of a logit that the loss moves forward beyond Megatron-LM's fused kernels: to float32 (6), the maximum (4),
# minus it (8), the exponential (8), the sum (4), the quotient (8), instead of 12.
LOSS = 38 - 12


@dataclasses.dataclass(frozen=True)
class Host:
    """Nanoseconds that the CPU takes for a layer of a micro-batch, forward and backward: no GPU can be faster.

    `layer`: to launch its kernels with tensor parallelism; `alone`: without. `slice_`: where the pipeline leaves a
    server, threads that poll the network take a core from the thread that launches, for a slice of the scheduler. Ranks
    of tensor parallelism wait for one another in each layer, so that the slices of all of them add up.

    Measured with the ultra-scale playbook's layouts of its 1B model on 8 to 64 H100, one sequence in a micro-batch: 4.4
    to 4.8 ms of a layer with TP 2, 4 and 8 on one server, of which the ends of the model are a tenth; 10.5, 17 and 26
    ms with TP 2, 4 and 8 and a pipeline over servers. `alone`: no layout shows it; it is less than the 6.5 ms that a
    layer takes the GPU.
    """
    layer: float = 4.0e6
    alone: float = 3.0e6
    slice_: float = 2.7e6

    def of_layer(self, plan: "Parallelism", gpus_per_server: int) -> float:
        if plan.tp == 1:
            return self.alone
        leaves = plan.pp > 1 and plan.world_size > gpus_per_server
        return self.layer + (plan.tp * self.slice_ if leaves else 0)


def _as_nanotron(model: "Model", plan: "Parallelism") -> "Parallelism":
    """@return the plan with its stages and memory"""
    costs = (model.layer_parameters(0),
             model.vocabulary * model.hidden) if plan.virtual == 1 and plan.split == pipeline.Split() else None
    split = pipeline.Split(costs=costs) if costs else plan.split
    return dataclasses.replace(plan, split=split, keeping=keeping.FRAMEWORKS["nanotron"])


class Links(Protocol):
    """The links of a machine, as plans.Machine has them."""
    @property
    def gpus_per_server(self) -> int: ...

    def bandwidth(self, stride: int, size: int) -> float:
        """@return bytes/ns of a group of `size` ranks `stride` apart"""


class Iteration(megatron.Iteration):
    """One iteration on the links of a machine."""

    def __init__(self, model: "Model", plan: "Parallelism", gpu: "Gpu", machine: Links, host: Host = Host()) -> None:
        if plan.copies > 1:
            raise InputError("Nanotron has no hybrid sharding; expected no data parallel replicate degree")
        if plan.shards_gradients:  # it gathers what ZeRO-1 updates once
            raise InputError(f"Nanotron has no ZeRO-{plan.zero}; expected --zero 0 or 1")
        super().__init__(model, _as_nanotron(model, plan), gpu)
        self.machine, self.host = machine, host

    def of_plan(self, plan: "Parallelism") -> "Iteration":
        return Iteration(self.model, plan, self.gpu, self.machine, self.host)

    @functools.lru_cache(None)
    def _layer(self, kind: "LayerKind", is_recomputed: bool) -> Sequence[Row]:
        rows = super()._layer(kind, is_recomputed)
        last = len(rows) - (2 if is_recomputed else 1)
        accumulated = sum(o.parameters for o, _ in self._times(kind).values()) * ACCUMULATED / self.gpu.stream_rate
        busy = sum(row.compute_ns + self._exchange_ns(row.forward) + self._exchange_ns(row.input)
                   for row in rows) + accumulated
        lacking = max(0.0, self.host.of_layer(self.plan, self.machine.gpus_per_server) - busy)
        row = rows[last]
        longer = dataclasses.replace(row, forward_ns=row.forward_ns + lacking / 3,
                                     input_ns=row.input_ns + lacking * 2 / 3, weight_ns=row.weight_ns + accumulated)
        return (*rows[:last], longer, *rows[last + 1:])

    def _exchange_ns(self, collective: Collective) -> float:
        """While the CPU holds up the GPU, collectives of tensor parallelism cost no time of their own."""
        size = self.plan.tp
        if collective.group != "TP" or size < 2:
            return 0.0
        return collective.bytes * (size - 1) / size / self.machine.bandwidth(1, size)

    def _reduce(self, some: "Sequence[Operator]", expert: bool = False) -> Collective:
        return NOTHING if self.plan.zero else super()._reduce(some, expert)

    def _head(self, found: "Sequence[Operator] | None" = None) -> list[Row]:
        rows = super()._head(found)
        longer = self.plan.tokens * operators.vocabulary_part(self.model, self.plan) * LOSS / self.gpu.stream_rate
        return [dataclasses.replace(row, forward_ns=row.forward_ns + longer) if row.name == "cross_entropy1" else row
                for row in rows]

    @functools.lru_cache(None)
    def once(self, stage: int) -> list[Row]:
        layers, ends = memory.stage_operators(self.model, self.plan, stage)
        blocks = [block for block in [*layers, ends] if any(o.parameters for o in block)]
        weights, held = [memory.gathered_bytes(self.plan, block) for block in blocks], sum(o.parameters
            for block in blocks for o in block)
        group, size = self._group(False)
        shared, numbers = size * schedules.holders(self.plan) if self.plan.zero else 1, self.plan.precision
        update = Row("optimizer", weight_ns=(held * numbers.update + sum(weights)) / shared / self.gpu.stream_rate)
        if shared < 2 or not blocks:
            return [update]
        gathered = [Row(f"parameters{number}", input=Collective("ALLGATHER", group, int(each)))
                    for number, each in enumerate(weights)]
        return [*gathered, update, Row("gradients", input=Collective("ALLREDUCE", group, int(numbers.reduced * held)))]
