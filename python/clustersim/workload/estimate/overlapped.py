# SPDX-License-Identifier: GPL-2.0-only
"""A training iteration whose rows say what a framework does beside what, so that a simulation of its text does it, too.

The estimate adds up what the same overlaps leave exposed on an idle network. Here the collectives themselves run beside
the computation that hides them, and meet those of other groups. What the CPU and copies take, and what collectives take
from kernels beside them, are computation, as long as on an idle network.

    text = simai_text.render(overlapped.Iteration(iteration, machine, framework))
    simulated_ns * overlapped.waiting_for_the_slowest(iteration)
"""
import dataclasses
import functools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from clustersim.workload.estimate import estimate
from clustersim.workload.estimate.collective_times import CollectiveTimes, Machine
from clustersim.workload.kernels.frameworks import ProfiledGpu
from clustersim.workload.training import megatron
from clustersim.workload.training.rows import NOTHING, Collective, Row

if TYPE_CHECKING:
    from clustersim.workload.kernels.frameworks import Framework
    from clustersim.workload.plan.parallel import Parallelism

BUCKETS = 10  # of a chunk's gradients


def waiting_for_the_slowest(iteration: megatron.Iteration) -> float:
    """@return the factor by which a step grows as its GPUs wait for the slowest one, which no row says"""
    gpu = iteration.gpu
    return 1 + (gpu.spread * math.log2(iteration.plan.world_size) if isinstance(gpu, ProfiledGpu) else 0)


def _take(rows: Sequence[Row], numbers: Iterable[int], field: str, wanted: float) -> float:
    """Takes nanoseconds of computation from the first row that has as many. @return those taken"""
    for number in numbers:
        if getattr(rows[number], field) >= wanted > 0:
            setattr(rows[number], field, getattr(rows[number], field) - wanted)
            return wanted
    return 0.0


class _Layer:
    """The rows of a layer, which collectives leave for later ones. Rows keep their order in both directions."""

    def __init__(self, rows: Sequence[Row], products: estimate.Products, framework: "Framework",
                 times: CollectiveTimes, plan: "Parallelism", beside: estimate.Beside) -> None:
        self.rows = [dataclasses.replace(row) for row in rows]
        self.products, self.framework, self.times, self.plan, self.beside = products, framework, times, plan, beside

    def _slowed(self, compute_ns: float, collective: Collective) -> float:
        """@return nanoseconds that a kernel takes longer beside a collective"""
        return self.beside.slowed(compute_ns, self.times(collective))

    def _in_pieces(self, product_ns: float, collective: Collective) -> float:
        """@return nanoseconds of a product beside a collective in as many pieces as ranks, one of which has nothing
        beside it"""
        piece = self.times(collective) / self.plan.tp
        return product_ns + piece + self.beside.slowed(product_ns, self.times(collective) - piece)

    def carried_out(self) -> list[Row]:
        """@return the rows with what runs beside what"""
        for name in [row.name for row in self.rows]:
            if self.framework.tp == "products":
                self._gather_beside_product(name)
                self._scatter_beside_product(name)
                self._gather_gradient_beside_product(name)
            if self.framework.tp != "exposed":
                self._scatter_gradient_beside_weights(name)
            if self.framework.cp == "ring":
                self._context_beside_attention(name)
        if self.framework.ep == "beside":
            self._exchange_beside_all()
        return self.rows

    def _number(self, name: str) -> int:
        return next(number for number, row in enumerate(self.rows) if row.name == name)

    def _insert(self, number: int, row: Row) -> None:
        """Before that row; a row that computes others again covers it, too."""
        again = next((each for each in range(number, len(self.rows)) if self.rows[each].again), None)
        if again is not None and number > again - self.rows[again].again:
            self.rows[again].again += 1
        self.rows.insert(number, row)

    def _of_product(self, name: str, which: int, is_column: bool) -> float:
        """@return nanoseconds of the product beside which a row's collective runs, or 0"""
        row = self.rows[self._number(name)]
        collective = row.input if which else row.forward
        fits = collective.group == "TP" and collective.bytes and ("column" in name) == is_column
        return self.products[name][which] if fits and name in self.products else 0.0

    def _gather_beside_product(self, name: str) -> None:
        """The product of each piece comes when it is there."""
        product = self._of_product(name, 0, True)
        number = self._number(name)
        if _take(self.rows, range(number + 1, len(self.rows)), "forward_ns", product):
            row = self.rows[number]
            self._insert(number + 1, Row(f"{name}_product", forward_ns=self._in_pieces(product, row.forward)))
            row.forward_rows = 2

    def _scatter_beside_product(self, name: str) -> None:
        """Parts of a product's result are scattered while the next ones are computed."""
        product = self._of_product(name, 0, False)
        number = self._number(name)
        if _take(self.rows, [number], "forward_ns", product):
            row, first = self.rows[number], product / self.plan.tp
            later = self._in_pieces(product, row.forward) - first
            self._insert(number + 1, Row(f"{name}_product", forward_ns=later))
            self._insert(number + 2, Row(f"{name}_end"))
            row.forward_ns += first
            row.forward_rows = 2

    def _gather_gradient_beside_product(self, name: str) -> None:
        """Backward, rows come in the opposite order."""
        product = self._of_product(name, 1, False)
        number = self._number(name)
        if _take(self.rows, range(number - 1, -1, -1), "input_ns", product):
            row = self.rows[number]
            self._insert(number, Row(f"{name}_gradient", input_ns=self._in_pieces(product, row.input)))
            row.input_rows = 2

    def _scatter_gradient_beside_weights(self, name: str) -> None:
        row = self.rows[self._number(name)]
        if self._of_product(name, 1, True) and row.weight_ns > 0:
            row.weight_ns += self._slowed(self.products[name][2], row.input)
            row.input_rows = 0

    def _context_beside_attention(self, name: str) -> None:
        """Keys and values go around beside attention: forward beside all of it but a rank's own part, backward beside
        one half, and their gradients beside the other."""
        number = self._number(name)
        row = self.rows[number]
        if row.forward.group == "CP" and row.forward.op == "ALLGATHER" and number + 2 < len(self.rows):
            later = next(each for each in range(number + 1, len(self.rows)) if self.rows[each].forward_ns > 0)
            taken = self.rows[later].forward_ns * (1 - 1 / self.plan.cp)
            self.rows[later].forward_ns -= taken
            self._insert(number + 1, Row(f"{name}_ring", forward_ns=taken + self._slowed(taken, row.forward)))
            row.forward_rows = 2
        if row.input.group == "CP" and row.input.op == "REDUCESCATTER" and row.input_ns > 0:
            again = self.rows[self._number(f"{name}_again")]
            half, row.input_ns = row.input_ns / 2, row.input_ns / 2
            self._insert(number, Row(f"{name}_scattered", input_ns=half + self._slowed(half, row.input)))
            self._insert(number, Row(f"{name}_before"))
            row.input_ns += self._slowed(half, again.input)
            row.input_rows = 2
            again.input_rows = self._number(again.name) - self._number(f"{name}_scattered")

    def _exchange_beside_all(self) -> None:
        """A micro-batch's exchange runs beside what the layer computes for another one, until the next exchange."""
        exchanging = [number for number, row in enumerate(self.rows) if row.forward.group == "EP" and row.forward.bytes]
        for number, following in zip(exchanging, [*exchanging[1:], None]):
            self.rows[number].forward_rows = (len(self.rows) if following is None else following) - number
        exchanging = [number for number, row in enumerate(self.rows) if row.input.group == "EP" and row.input.bytes]
        for number, before in zip(exchanging, [None, *exchanging]):
            self.rows[number].input_rows = number + 1 if before is None else number - before


Block = tuple[int | None, list[Row]]


class Iteration:
    """An iteration as a framework carries it out: what simai_text writes."""

    def __init__(self, iteration: megatron.Iteration, machine: Machine, framework: "Framework") -> None:
        self.own, self.model, self.plan, self.framework = iteration, iteration.model, iteration.plan, framework
        self.times = CollectiveTimes(iteration, machine, estimate.collectives(iteration, framework))
        self.passes = estimate.Passes(iteration, self.times, framework)
        self.beside = estimate.Beside(framework, iteration.gpu)
        self.pipeline_bytes, self.tied_bytes = iteration.pipeline_bytes, iteration.tied_bytes
        self.reduces_each = iteration.reduces_each

    def chunks(self, stage: int) -> list[list[Row]]:
        """@return rows of a micro-batch in each chunk of a stage"""
        return self._all(stage)[1]

    def once(self, stage: int) -> list[Row]:
        """@return rows that a stage carries out once"""
        return self._all(stage)[0]

    def stage_rows(self, stage: int) -> list[Row]:
        """@return those of an iteration, then those of a micro-batch"""
        return self.once(stage) + [row for chunk in self.chunks(stage) for row in chunk]

    def checkpoints(self, stage: int) -> list[tuple[int, int]]:
        """@return the first and the last row in `stage_rows`, from 0, of what is computed again"""
        return [(number - row.again, number) for number, row in enumerate(self.stage_rows(stage)) if row.again]

    @functools.lru_cache(None)
    def _all(self, stage: int) -> tuple[list[Row], list[list[Row]]]:
        parts = estimate.Stage(self.own, stage, self.passes, self.times, self.framework)
        blocks = [[self._block(layer, rows) for layer, rows in chunk] for chunk in self.own.blocks(stage)]
        once = self._once(stage, parts, blocks)
        chunks = []
        for number, chunk in enumerate(blocks):
            if self.framework.fsdp and self.plan.shards_weights:
                chunk = _gathering_ahead(chunk)
            self._put_gradients_in_buckets(chunk)
            rows = [dataclasses.replace(row) if layer is None else row.of_layer(layer)
                    for layer, some in chunk for row in some]
            rows[0].forward_ns += parts.forward[number]["launch"] + self._sending(parts)
            rows[-1].input_ns += parts.backward[number]["launch"] + self._sending(parts)
            if self.framework.fsdp and self.plan.shards_weights:
                self._add_copies(parts, number, rows)
            chunks.append(rows)
        return self._with_gathered_weights(once, chunks), chunks

    def _block(self, layer: int | None, rows: Sequence[Row]) -> Block:
        products = self.passes.products(layer)
        found = _Layer(rows, products, self.framework, self.times, self.plan, self.beside).carried_out()
        # A framework's own way to recompute takes more, or ends early.
        _, backward = self.passes.of_block(layer, rows)
        more = backward["recomputation"] - sum(again.forward_ns for again in self.own.recomputed(rows))
        longest = max(found, key=lambda row: row.input_ns)
        longest.input_ns = max(0.0, longest.input_ns + more)
        return layer, found

    def _sending(self, parts: "estimate.Stage") -> float:
        """@return nanoseconds that a stage waits for its own message"""
        return self.times.pipeline_ns if self.framework.pp == "exposed" and self.plan.pp > 1 else 0.0

    def _add_copies(self, parts: "estimate.Stage", number: int, rows: Sequence[Row]) -> None:
        """Copies of gathered weights and of gradients take kernels' time."""
        moved = sum(row.gathers for _, some in self.own.blocks(parts.stage)[number]
                    for row in some) / self.own.gpu.stream_rate
        rows[0].forward_ns += self.framework.gather_bytes * moved
        rows[-1].input_ns += (self.framework.gather_bytes + self.framework.scatter_bytes) * moved

    # -- gradients and weights

    def _put_gradients_in_buckets(self, chunk: Sequence[Block]) -> None:
        """Collectives of the gradients of some layers become one, when the last of them is there."""
        layers = [rows for _, rows in chunk]
        each = max(1, math.ceil(len(layers) / BUCKETS)) if not self.reduces_each else 1
        for first in range(0, len(layers), each):
            bucket = [row for rows in layers[first:first + each] for row in rows if row.weight.bytes]
            sums: dict[tuple[str, str], int] = {}
            for row in bucket:
                key = row.weight.op, row.weight.group
                sums[key] = sums.get(key, 0) + row.weight.bytes
                row.weight = NOTHING
            ready = list(bucket)
            for (op, group), size in sums.items():
                ready.pop(0).weight = Collective(op, group, size)

    def _once(self, stage: int, parts: "estimate.Stage", blocks: Sequence[Sequence[Block]]) -> list[Row]:
        """@return rows of the step, the last one first, with the CPU's time; those of gradients that nothing hides"""
        rows = [dataclasses.replace(row) for row in self.own.once(stage)]
        rows.insert(0, Row("host", weight_ns=self.framework.step_ns))
        if self.framework.dp != "exposed" or self.reduces_each:
            return rows
        every = [(layer, some) for chunk in blocks for layer, some in chunk]
        exposed = estimate.gradients(every, self.framework)
        for _, some in every:
            for row in some:
                row.weight = NOTHING
        return rows + [Row(f"gradients{number}", input=each) for number, each in enumerate(exposed)]

    def _with_gathered_weights(self, once: list[Row], chunks: Sequence[Sequence[Row]]) -> list[Row]:
        """The first tenth of the updated weights has nothing beside it; others come beside the first forward passes, of
        a chunk's last layers at the latest."""
        gathering = [row for row in once if row.weight.op == "ALLGATHER"]
        if self.framework.dp != "buckets" or not gathering:
            return once
        ahead: list[tuple[Row, int]] = []  # and the row of the chunks that needs it
        begin = 0
        for number, chunk in enumerate(chunks):
            for row in gathering:
                whole = row.weight.bytes // len(chunks)
                first = whole // BUCKETS if number == 0 else 0
                if first:
                    ahead.append((Row(f"{row.name}_first", forward=dataclasses.replace(row.weight, bytes=first)), -1))
                needed = begin + (len(chunk) - 1 if number == 0 else 0)
                ahead.append((Row(f"{row.name}_{number}", forward=dataclasses.replace(row.weight, bytes=whole - first)),
                              needed))
            begin += len(chunk)
        for row in gathering:
            row.weight = NOTHING
        ahead.sort(key=lambda each: each[1] >= 0)
        found = [row for row, _ in ahead] + once
        for number, (row, needed) in enumerate(ahead):
            row.forward_rows = 0 if needed < 0 else len(found) - number + needed
        return found


def _gathering_ahead(chunk: Sequence[Block]) -> list[Block]:
    """@return the blocks with the weights of each gathered while the one before computes, in both directions"""
    def gathers(row: Row) -> bool:
        return estimate.Stage.gathers(row)

    ahead = [[row for row in rows if gathers(row) and row.forward.bytes] for _, rows in chunk]
    back = [[row for row in rows if gathers(row) and row.input.bytes] for _, rows in chunk]
    inner = [[row for row in rows if not gathers(row)] for _, rows in chunk]
    for (_, rows), own in zip(chunk, inner):
        for number, row in enumerate(own):
            if row.again:  # what was gathered for the backward pass serves the forward pass that precedes it
                row.again = min(row.again, number)
    found: list[Block] = []
    for number, (layer, _) in enumerate(chunk):
        first = [(number, row) for row in ahead[number]] if number == 0 else []
        following = [(number + 1, row) for row in ahead[number + 1]] if number + 1 < len(chunk) else []
        before = [row for row in back[number - 1]] if number > 0 else []
        last = back[number] if number + 1 == len(chunk) else []
        rows = [*(row for _, row in first), *(row for _, row in following), *inner[number], *before, *last]
        for place, row in enumerate(rows):
            if any(row is each for _, each in following):
                row.forward_rows = len(rows) - place
            if any(row is each for each in before):
                row.input_rows = place + 1
        found.append((layer, rows))
    return found
