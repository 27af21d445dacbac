# SPDX-License-Identifier: GPL-2.0-only
"""The steps of a pipeline stage: it works through its rows in the order of the plan's schedule."""
import dataclasses
from typing import Tuple, TYPE_CHECKING
from collections.abc import Sequence

from clustersim.workload.plan import schedules
from clustersim.workload.training.rows import Collective

if TYPE_CHECKING:
    from clustersim.workload.plan.schedules import Pass
    from clustersim.workload.training.megatron import Iteration
    from clustersim.workload.training.rows import Row


@dataclasses.dataclass(frozen=True)
class Step:
    """`kind` is compute, blocking, beside (a collective nobody waits for yet), issue (one that the next join waits
    for), join, optimizer, send, receive, or the same of the gradients that the ends of the pipeline exchange:
    send_tied, receive_tied."""
    kind: str
    name: str
    ns: float = 0.0
    collective: Collective = Collective()
    message: Tuple[int, int, bool] = (0, 0, True)  # micro-batch, virtual stage that sends, forward
    peer: int = 0  # the other stage of a message


class Program:
    """The steps of the ranks of one stage."""

    def __init__(self, iteration: "Iteration", stage: int) -> None:
        self.iteration, self.plan, self.stage = iteration, iteration.plan, stage
        self.chunks = iteration.chunks(stage)
        self.steps: list[Step] = []
        for group in schedules.passes(self.plan, stage):
            self._carry_out(group)
        self._once(iteration.once(stage))

    def hides(self, row: "Row") -> bool:
        """@return whether the framework, if there is one, reduces a row's input gradient beside the weight's product"""
        framework = getattr(self.iteration.gpu, "framework", None)
        hides = framework is not None and framework.tp != "exposed"
        return hides and row.input.group == "TP" and row.input.bytes > 0 and row.weight_ns > 0

    def _once(self, rows: "Sequence[Row]") -> None:
        """After the last micro-batch."""
        if self.iteration.tied_bytes and self.stage in (0, self.plan.pp - 1):
            for kind, sender in (("send_tied", self.stage), ("receive_tied", self.plan.pp - 1 - self.stage)):
                self._message(kind, self.plan.micro_batches, sender, False, self.plan.pp - 1 - self.stage)
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

    def _message(self, kind: str, micro_batch: int, sender: int, forward: bool, peer: int) -> None:
        name = f"{kind} {'activations' if forward else 'gradients'}"
        self.steps.append(Step(kind, name, message=(micro_batch, sender, forward), peer=peer))

    def _carry_out(self, group: "Sequence[Pass]") -> None:
        """Passes that overlap: messages come before the first and leave after the last."""
        for each in group:
            if each.source is not None:
                self._message("receive", each.micro_batch, each.before, each.forward, each.source)
        for each in group:
            if each.forward:
                self._forward_rows(self.chunks[each.chunk])
            else:
                self._backward(each)
        for each in group:
            if each.target is not None:
                self._message("send", each.micro_batch, each.position, each.forward, each.target)

    def _forward_rows(self, rows: "Sequence[Row]") -> None:
        for row in rows:
            self._compute(row.name, row.forward_ns)
            self._collective("blocking", row.name, row.forward)

    def _backward(self, each: "Pass") -> None:
        rows = self.chunks[each.chunk]
        reduces = self.iteration.reduces_each or each.is_last
        for number in reversed(range(len(rows))):
            row = rows[number]
            # A framework may scatter the input's gradient while the product of the weights' gradient is computed.
            beside = each.kind == "B" and self.hides(row)
            if each.kind != "W":
                self._forward_rows(rows[number - row.again:number])
                self._compute(row.name, row.input_ns)
                self._collective("issue" if beside else "blocking", row.name, row.input)
            if each.kind != "I":
                self._compute(row.name, row.weight_ns)
                if beside:
                    self.steps.append(Step("join", row.name))
                if reduces:
                    self._collective("beside", row.name, row.weight)
