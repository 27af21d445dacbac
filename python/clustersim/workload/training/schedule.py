# SPDX-License-Identifier: GPL-2.0-only
"""The order in which a pipeline stage works through its rows: one forward, one backward, interleaved if there are chunks.

Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM (arXiv 2104.04473).
"""
import dataclasses
from typing import Tuple, TYPE_CHECKING
from collections.abc import Sequence

from clustersim.workload.training.rows import Collective

if TYPE_CHECKING:
    from clustersim.workload.plan.parallel import Parallelism
    from clustersim.workload.training.megatron import Iteration
    from clustersim.workload.training.rows import Row


@dataclasses.dataclass(frozen=True)
class Step:
    """`kind` is compute, blocking, beside (a collective nobody waits for yet), issue (one that the next join waits for), join, optimizer, send, receive, or the same of the
    gradients that the ends of the pipeline exchange: send_tied, receive_tied."""
    kind: str
    name: str
    ns: float = 0.0
    collective: Collective = Collective()
    message: Tuple[int, int, bool] = (0, 0, True)  # micro-batch, virtual stage that sends, forward


def units(plan: "Parallelism", stage: int) -> list[tuple[bool, int, int]]:
    """@return (forward, micro-batch, chunk) in order"""
    count, chunks, stages = plan.micro_batches, plan.virtual, plan.pp
    total = count * chunks
    warm_up = stages - stage - 1
    if chunks > 1:
        warm_up = 2 * warm_up + (chunks - 1) * stages
    warm_up = min(warm_up, total)

    def unit(number: int) -> tuple[int, int]:
        group, within = divmod(number, stages * chunks)
        size = min(stages, count - group * stages)
        return group * stages + within % size, within // size

    def backward(number: int) -> tuple[bool, int, int]:
        micro_batch, chunk = unit(number)
        return False, micro_batch, chunks - 1 - chunk

    order = [(True, *unit(number)) for number in range(warm_up)]
    for number in range(warm_up, total):
        order += [(True, *unit(number)), backward(number - warm_up)]
    return order + [backward(number) for number in range(total - warm_up, total)]


class Program:
    """The steps of the ranks of one stage."""

    def __init__(self, iteration: "Iteration", stage: int) -> None:
        self.iteration, self.plan, self.stage = iteration, iteration.plan, stage
        self.chunks = iteration.chunks(stage)
        self.steps: list[Step] = []
        for forward, micro_batch, chunk in units(self.plan, stage):
            (self._forward if forward else self._backward)(micro_batch, chunk)
        self._once(iteration.once(stage))

    def hides(self, row: "Row") -> bool:
        """@return whether the framework, if there is one, carries out a row's input gradient's collective beside its product"""
        framework = getattr(self.iteration.gpu, "framework", None)
        return framework is not None and framework.tp != "exposed" and row.input.group == "TP" and row.input.bytes > 0 and row.weight_ns > 0

    def _once(self, rows: "Sequence[Row]") -> None:
        """After the last micro-batch."""
        if self.iteration.tied_bytes and self.stage in (0, self.plan.pp - 1):
            for kind, sender in (("send_tied", self.stage), ("receive_tied", self.plan.pp - 1 - self.stage)):
                self._message(kind, self.plan.micro_batches, sender, False)
        for row in reversed(rows):
            self._collective("blocking", row.name, row.input)
            if row.weight_ns > 0:
                self.steps.append(Step("optimizer", row.name, row.weight_ns))
            self._collective("beside", row.name, row.weight)

    def _compute(self, name: str, nanoseconds: float) -> None:
        if nanoseconds > 0:
            self.steps.append(Step("compute", name, nanoseconds))

    def _collective(self, kind: str, name: str, collective: "Collective") -> None:
        if collective.op != "NONE" and collective.bytes:
            self.steps.append(Step(kind, name, collective=collective))

    def _message(self, kind: str, micro_batch: int, sender: int, forward: bool) -> None:
        self.steps.append(Step(kind, f"{kind} {'activations' if forward else 'gradients'}",
                               message=(micro_batch, sender, forward)))

    def _forward_rows(self, rows: "Sequence[Row]") -> None:
        for row in rows:
            self._compute(row.name, row.forward_ns)
            self._collective("blocking", row.name, row.forward)

    def _forward(self, micro_batch: int, chunk: int) -> None:
        here = chunk * self.plan.pp + self.stage
        if here > 0:
            self._message("receive", micro_batch, here - 1, True)
        self._forward_rows(self.chunks[chunk])
        if here + 1 < self.plan.pp * self.plan.virtual:
            self._message("send", micro_batch, here, True)

    def _backward(self, micro_batch: int, chunk: int) -> None:
        here = chunk * self.plan.pp + self.stage
        if here + 1 < self.plan.pp * self.plan.virtual:
            self._message("receive", micro_batch, here + 1, False)
        reduces = self.iteration.reduces_each or micro_batch == self.plan.micro_batches - 1
        rows = self.chunks[chunk]
        for number in reversed(range(len(rows))):
            row = rows[number]
            self._forward_rows(rows[number - row.again:number])
            self._compute(row.name, row.input_ns)
            # A framework may scatter the input's gradient while the product of the weights' gradient is computed.
            beside = self.hides(row)
            self._collective("issue" if beside else "blocking", row.name, row.input)
            self._compute(row.name, row.weight_ns)
            if beside:
                self.steps.append(Step("join", row.name))
            if reduces:
                self._collective("beside", row.name, row.weight)
        if here > 0:
            self._message("send", micro_batch, here, False)
