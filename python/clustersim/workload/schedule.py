# SPDX-License-Identifier: GPL-2.0-only
"""The order in which a pipeline stage works through its rows: one forward, one backward, interleaved if there are chunks.

Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM (arXiv 2104.04473).
"""
import dataclasses
from typing import Tuple

from clustersim.workload.rows import Collective

ONCE = ("parameters", "expert_parameters", "optimizer")


@dataclasses.dataclass(frozen=True)
class Step:
    """`kind` is compute, blocking, beside (a collective nobody waits for yet), send, receive or optimizer."""
    kind: str
    name: str
    ns: float = 0.0
    collective: Collective = Collective()
    message: Tuple[int, int, bool] = (0, 0, True)  # micro-batch, virtual stage that sends, forward


def units(plan, stage):
    """@return (forward, micro-batch, chunk) in order"""
    count, chunks, stages = plan.micro_batches, plan.virtual, plan.pp
    total = count * chunks
    warm_up = stages - stage - 1
    if chunks > 1:
        warm_up = 2 * warm_up + (chunks - 1) * stages
    warm_up = min(warm_up, total)

    def unit(number):
        group, within = divmod(number, stages * chunks)
        size = min(stages, count - group * stages)
        return group * stages + within % size, within // size

    def backward(number):
        micro_batch, chunk = unit(number)
        return False, micro_batch, chunks - 1 - chunk

    order = [(True, *unit(number)) for number in range(warm_up)]
    for number in range(warm_up, total):
        order += [(True, *unit(number)), backward(number - warm_up)]
    return order + [backward(number) for number in range(total - warm_up, total)]


def _chunks(rows, count):
    """Cuts a stage's rows between layers; what is before the first and after the last layer stays at the ends."""
    numbers = [int(last) if (last := row.name.rsplit("_", 1)[-1]).isdigit() else None for row in rows]
    layers = sorted({number for number in numbers if number is not None})
    first_of = [layers[len(layers) * chunk // count] for chunk in range(count)]
    result = [[] for _ in range(count)]
    for place, (row, number) in enumerate(zip(rows, numbers)):
        if number is None:
            after = any(n is not None for n in numbers[:place])
            result[-1 if after else 0].append(row)
        else:
            result[sum(number >= first for first in first_of) - 1].append(row)
    return result


class Program:
    """The steps of the ranks of one stage."""

    def __init__(self, iteration, stage):
        self.iteration, self.plan, self.stage = iteration, iteration.plan, stage
        rows = iteration.stage_rows(stage)
        self.once = [row for row in rows if row.name in ONCE]
        self.update_ns = (max(row.update_ns for row in rows) +
                          sum(row.weight_ns * self.plan.micro_batches for row in self.once))
        self.chunks = _chunks([row for row in rows if row not in self.once], self.plan.virtual)
        self.steps = []
        for forward, micro_batch, chunk in units(self.plan, stage):
            (self._forward if forward else self._backward)(micro_batch, chunk)
        self.steps.append(Step("optimizer", "optimizer", self.update_ns))
        self.steps += [Step("beside", row.name, collective=row.weight) for row in self.once if row.weight.op != "NONE"]

    def _compute(self, name, nanoseconds):
        if nanoseconds > 0:
            self.steps.append(Step("compute", name, nanoseconds))

    def _collective(self, kind, name, collective):
        if collective.op != "NONE" and collective.bytes:
            self.steps.append(Step(kind, name, collective=collective))

    def _message(self, kind, micro_batch, sender, forward):
        self.steps.append(Step(kind, f"{kind} {'activations' if forward else 'gradients'}",
                               message=(micro_batch, sender, forward)))

    def _forward_rows(self, rows):
        for row in rows:
            self._compute(row.name, row.forward_ns)
            self._collective("blocking", row.name, row.forward)

    def _forward(self, micro_batch, chunk):
        here = chunk * self.plan.pp + self.stage
        if here > 0:
            self._message("receive", micro_batch, here - 1, True)
        self._forward_rows(self.chunks[chunk])
        if here + 1 < self.plan.pp * self.plan.virtual:
            self._message("send", micro_batch, here, True)

    def _backward(self, micro_batch, chunk):
        here = chunk * self.plan.pp + self.stage
        if here + 1 < self.plan.pp * self.plan.virtual:
            self._message("receive", micro_batch, here + 1, False)
        reduces = self.iteration.lists_micro_batches or micro_batch == self.plan.micro_batches - 1
        rows = self.chunks[chunk]
        again = None
        for row in reversed(rows):
            layer = row.name.rsplit("_", 1)[-1]
            if self.plan.recompute == "full" and layer.isdigit() and layer != again:
                again = layer
                self._forward_rows([r for r in rows if r.name.rsplit("_", 1)[-1] == layer])
            self._compute(row.name, row.input_ns)
            self._collective("blocking", row.name, row.input)
            self._compute(row.name, row.weight_ns)
            if reduces:
                self._collective("beside", row.name, row.weight)
        if here > 0:
            self._message("send", micro_batch, here, False)
