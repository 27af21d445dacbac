# SPDX-License-Identifier: GPL-2.0-only
"""The time of a training step, and what it goes into, without a simulation.

Kernels have the times of the iteration's rows, collectives those of their flows on an idle network, and stages wait for
each other in the order of `schedules.passes`. A framework says what runs beside what. Without one, every collective but
the pipeline's holds its rank up, as in SimAI_analytical, which gives the same time.

    found = estimate.estimate(iteration, Machine("H100"), frameworks.find("megatron_2025"))
    found.total_ns, found.shares["TP"]
"""
import collections
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clustersim.workload.estimate.collective_times import CollectiveTimes, Machine
from clustersim.workload.kernels.frameworks import ProfiledGpu
from clustersim.workload.model import operators
from clustersim.workload.plan import schedules
from clustersim.workload.training.rows import Collective, Row

if TYPE_CHECKING:
    from clustersim.workload.kernels.frameworks import Framework
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.plan.parallel import Parallelism
    from clustersim.workload.training.megatron import Iteration

SHARES = ("kernels", "recomputation", "launch", "TP", "CP", "EP", "DP", "PP", "bubble", "optimizer", "host",
          "stragglers")
BACKWARD_KERNELS = 2  # launches of a backward pass, for each of the forward pass
# Products beside which the collectives of a row run: after its forward collective or before it, and the same backward.
# Mixers have theirs.
PRODUCTS = {"mlp_column": ("mlp_up",), "mlp_row": ("mlp_down",), "mlp_shared_column": ("shared_up",),
            "mlp_shared_row": ("shared_down",), "head_column": ("logits",)}


Chunk = Sequence[tuple[int | None, Sequence[Row]]]  # layers and their rows, with None for an end of the model
Products = Mapping[
    str, tuple[float, ...]
]  # by row's name the nanoseconds of products: forward, input gradient, weight gradient
Last = Mapping[int, tuple[float, float]]  # by chunk, the beginning and the end of its last backward pass


def usual_machine(gpu: "Gpu", plan: "Parallelism") -> Machine:
    """@return servers of 8 GPUs, or NVLink domains of 64 with Grace, and a NIC of 400 Gb/s for each GPU"""
    most = 64 if gpu.name.startswith("GB") else 8
    return Machine(gpu.name, max(size for size in range(1, most + 1) if plan.world_size % size == 0))


class Shares(dict[str, float]):
    """Nanoseconds by what they go into; 0 unless given."""

    def __missing__(self, key: str) -> float:
        return 0

    @property
    def total(self) -> float:
        """The sum of all shares, in ns"""
        return sum(self.values())

    def plus(self, other: Mapping[str, float], times: float = 1) -> "Shares":
        """Adds others, taken `times` times. @return itself"""
        for key, value in other.items():
            self[key] += value * times
        return self


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Nanoseconds of a step; the shares are those of the stage that ends last, and sum to the total."""
    total_ns: float
    shares: dict[str, float]
    stage: int

    def describe(self) -> str:
        """@return the step time and its shares in words"""
        parts = [f"{name} {100 * value / self.total_ns:.1f}%" for name,
                 value in self.shares.items() if value > 0.0005 * self.total_ns]
        return f"{self.total_ns / 1e6:.1f} ms: {', '.join(parts)}"


class Beside:
    """How long computation and communication take together."""

    def __init__(self, framework: "Framework", gpu: "Gpu") -> None:
        self.taken = min(0.9, framework.sms / gpu.sms)
        self.slower = 1 + framework.bandwidth

    def excess(self, compute_ns: float, communication_ns: float) -> float:
        """@return nanoseconds beyond the computation alone"""
        return max(communication_ns * self.slower - compute_ns, self.slowed(compute_ns, communication_ns))

    def slowed(self, compute_ns: float, communication_ns: float) -> float:
        """@return nanoseconds that the computation alone takes longer"""
        return self.taken * min(communication_ns * self.slower, compute_ns / (1 - self.taken))


class Passes:
    """Forward and backward pass of a layer's rows, as Shares."""

    def __init__(self, iteration: "Iteration", times: CollectiveTimes, framework: "Framework | None") -> None:
        self.iteration, self.plan, self.times, self.framework = iteration, iteration.plan, times, framework
        self.beside = Beside(framework, iteration.gpu) if framework else None
        self.known: dict[object, tuple[Shares, Shares]] = {}

    def of_block(self, layer: int | None, rows: Sequence[Row]) -> tuple[Shares, Shares]:
        """@return forward and backward Shares"""
        key = id(rows) if layer is not None else tuple(row.name for row in rows)
        if key not in self.known:
            self.known[key] = self._of_block(layer, rows)
        return self.known[key]

    def _of_block(self, layer: int | None, rows: Sequence[Row]) -> tuple[Shares, Shares]:
        products = self.products(layer)
        forward, backward = Shares(), Shares()
        for number, row in enumerate(rows):
            forward["kernels"] += row.forward_ns
            backward["kernels"] += row.input_ns + row.weight_ns
            for again in rows[number - row.again:number]:
                backward["recomputation"] += again.forward_ns
                if not Stage.gathers(again):
                    self._add(backward, again, again.forward, products, 0)
            if not Stage.gathers(row):
                self._add(forward, row, row.forward, products, 0)
                self._add(backward, row, row.input, products, 1)
        if self.framework and layer is not None:
            self._add_recomputation(self.framework, layer, rows, backward)
        if self.framework and self.framework.ep == "beside":
            self._put_exchanges_beside(forward, backward)
        return forward, backward

    def _put_exchanges_beside(self, forward: Shares, backward: Shares) -> None:
        """A layer's exchanges for one micro-batch run beside all that the layer computes for another, forward beside
        backward."""
        exchanged = forward["EP"] + backward["EP"]
        if exchanged:
            computed = sum(shares[key] for shares in (forward, backward) for key in ("kernels", "recomputation"))
            assert self.beside
            left = self.beside.excess(computed, exchanged) / exchanged
            forward["EP"] *= left
            backward["EP"] *= left

    def _add_recomputation(self, framework: "Framework", layer: int, rows: Sequence[Row], backward: Shares) -> None:
        """Adds what the framework's own way to recompute takes more, or less."""
        layers = operators.layer(self.iteration.model, self.plan, layer)
        if self.plan.recompute == "selective":
            products = sum(self.iteration.gpu.times_ns(o)[0] for o in layers if o.kind == "matmul")
            backward["recomputation"] += framework.again * products
        if rows[-1].again and framework.stops_early:
            backward["recomputation"] -= self._last_product_ns(layer)

    def _last_product_ns(self, layer: int) -> float:
        last = [o for o in operators.layer(self.iteration.model, self.plan, layer)
                if o.name in ("mlp_down", "expert_down")]
        return sum(self.iteration.gpu.times_ns(o)[0] for o in last)

    def products(self, layer: int | None) -> Products:
        """@return by row's name the nanoseconds of products: forward, input gradient, weight gradient"""
        model = self.iteration.model
        beside: Mapping[str, tuple[str, ...]] = PRODUCTS
        if layer is None:
            known = [*operators.head(model, self.plan)]
        else:
            known = [*operators.layer(model, self.plan, layer)]
            parts = model.parts(model.layer_kind(layer))
            beside = {**PRODUCTS, **{f"{part.block}_{row}": names for part in parts for row,
                                     names in part.beside.items()}}
        times = {o.name: self.iteration.gpu.times_ns(o) for o in known if o.kind == "matmul"}
        return {row: tuple(sum(times[name][which] for name in names if name in times) for which in range(3))
                for row, names in beside.items()}

    def _add(self, shares: Shares, row: Row, collective: Collective, products: Products, which: int) -> None:
        """Adds what of a row's collective holds the rank up."""
        time = self.times(collective)
        if not time:
            return
        group = collective.group if collective.group in SHARES else {"DP_EP": "DP", "DP_COPIES": "DP",
            "ETP": "TP"}.get(collective.group, "TP")
        shares[group] += self._exposed(row, collective, time, products, which) if self.framework else time

    def _exposed(self, row: Row, collective: Collective, time: float, products: Products, which: int) -> float:
        framework = self.framework
        assert framework and self.beside
        if collective.group == "TP" and row.name in products:
            is_column = "column" in row.name
            forward, data, weight = products[row.name]
            if framework.tp != "exposed" and which == 1 and is_column:
                return self.beside.excess(weight, time)  # the input gradient's, beside the weight gradient's product
            if framework.tp == "products":
                # In as many pieces as ranks: the first (or last) one has nothing beside it.
                piece = time / self.plan.tp
                return piece + self.beside.excess((forward, data)[which], time - piece)
        if collective.group == "CP" and framework.cp == "ring":
            attention = row.input_ns if which else products.get(row.name.replace("_context", "_row"), (0,))[0]
            return self.beside.excess(max(attention, row.forward_ns), time)
        return time

    def launches_ns(self, layer: int | None) -> float:
        """@return nanoseconds that the CPU takes to launch the forward pass of a layer, or of an end of the model"""
        framework = self.framework
        if not framework or framework.graphs:
            return 0.0
        if layer is None:
            return 6 * framework.launch_ns
        count = len(operators.layer(self.iteration.model, self.plan, layer)) + framework.extra_kernels
        if self.iteration.model.layer_kind(layer).experts:
            count += framework.moe_kernels
            if self.iteration.gpu.product:
                count += framework.expert_kernels * self.iteration.model.experts // self.plan.ep
        return count * framework.launch_ns


def gradients(chunk: Chunk, framework: "Framework | None") -> list[Collective]:
    """@return the collectives of a chunk's gradients: a framework fills buckets with those of many layers"""
    each = [row.weight for _, rows in chunk for row in rows if row.weight.op != "NONE"]
    if not framework:
        return each
    sizes: collections.Counter[tuple[str, str]] = collections.Counter()
    for collective in each:
        sizes[collective.op, collective.group] += collective.bytes
    return [Collective(op, group, size) for (op, group), size in sizes.items()]


class Stage:
    """A stage's chunks: what each takes, and what it reduces and gathers."""

    def __init__(self, iteration: "Iteration", stage: int, passes: Passes, times: CollectiveTimes,
                 framework: "Framework | None") -> None:
        self.iteration, self.stage, self.framework, self.times = iteration, stage, framework, times
        self.beside = passes.beside
        self.forward, self.backward, self.reduced, self.copied, self.gathered = [], [], [], [], []
        for chunk in iteration.blocks(stage):
            forward, backward, gathered = Shares(), Shares(), [0.0, 0.0]
            for layer, rows in chunk:
                ahead, back = passes.of_block(layer, rows)
                forward.plus(ahead)
                backward.plus(back)
                for row in rows:
                    if self.gathers(row):
                        gathered[0] += times(row.forward)
                        gathered[1] += times(row.input)
            self._add_launches(chunk, passes, forward, backward)
            self.forward.append(forward)
            self.backward.append(backward)
            reduced = gradients(chunk, framework)
            self.reduced.append(sum(times(each) for each in reduced if each.group != "DP_COPIES"))
            self.copied.append(sum(times(each) for each in reduced if each.group == "DP_COPIES"))
            self.gathered.append(gathered)
        if iteration.reduces_each or iteration.plan.shards_weights:
            self._add_sharded()

    def durations(self) -> dict[str, list[float]]:
        """@return nanoseconds of each kind of schedules.Pass, of one micro-batch, by chunk"""
        backward = [shares.total for shares in self.backward]
        weights = [sum(row.weight_ns for _, rows in chunk for row in rows)
                   for chunk in self.iteration.blocks(self.stage)]
        return {"F": [shares.total for shares in self.forward], "B": backward,
                "I": [whole - part for whole, part in zip(backward, weights)], "W": weights}

    @staticmethod
    def gathers(row: Row) -> bool:
        """@return whether a row gathers weights of ZeRO-3"""
        return row.name.removeprefix("prediction_").startswith(("weights", "expert_weights"))

    def _add_launches(self, chunk: Chunk, passes: Passes, forward: Shares, backward: Shares) -> None:
        """Adds what the CPU takes longer to launch kernels than the GPU takes for them. The CPU runs ahead of the GPU,
        but waits for it where it reads how many tokens experts get."""
        spans, experts = [Shares()], self.iteration.model.experts
        for layer, rows in chunk:
            ahead, back = passes.of_block(layer, rows)
            host = passes.launches_ns(layer)
            spans[-1].plus({"forward": host - ahead.total, "backward": BACKWARD_KERNELS * host - back.total})
            if experts and layer is not None and self.iteration.model.layer_kind(layer).experts:
                spans.append(Shares())
        for span in spans:
            forward["launch"] += max(0.0, span["forward"])
            backward["launch"] += max(0.0, span["backward"])

    def _together(self, within: float, between: float) -> float:
        """@return nanoseconds of collectives within copies of hybrid sharding and between them, which frameworks launch
        on two streams"""
        return max(within, between) if self.framework and self.framework.dp != "exposed" else within + between

    def gradients_ns(self, chunk: int) -> float:
        """@return nanoseconds of a chunk's gradients after the last micro-batch"""
        return self._together(self.reduced[chunk], self.copied[chunk])

    def _add_sharded(self) -> None:
        """Weights are gathered and gradients scattered for each micro-batch: beside computation with prefetching."""
        for chunk, (ahead, back) in enumerate(self.gathered):
            back = self._together(back + self.reduced[chunk], self.copied[chunk])
            for shares, time in ((self.forward[chunk], ahead), (self.backward[chunk], back)):
                beside = self.beside if self.framework and self.framework.fsdp else None
                shares["DP"] += beside.excess(shares.total, time) if beside else time
            self.reduced[chunk] = self.copied[chunk] = 0.0
            if self.framework:
                moved = sum(row.gathers for _, rows in self.iteration.blocks(self.stage)[chunk]
                            for row in rows) / self.iteration.gpu.stream_rate
                self.forward[chunk]["kernels"] += self.framework.gather_bytes * moved
                self.backward[chunk]["kernels"] += (self.framework.gather_bytes + self.framework.scatter_bytes) * moved


def _came(group: Sequence[schedules.Pass], done: Mapping[schedules.Result, float]) -> float | None:
    """@return when the last of what passes that overlap need was there, or None if something is not"""
    latest = -math.inf
    for each in group:
        if each.needs is not None:
            time = done.get(each.needs)
            if time is None:
                return None
            latest = max(latest, time)
    return latest


def _run_pipeline(stages: Sequence[Stage], plan: "Parallelism", send_ns: float,
                  blocks: float) -> tuple[list[Shares], list[float], Sequence[Last]]:
    """@return per stage the Shares until its last pass, and when the last gradients of weights of each chunk begin and
    end"""
    orders = [schedules.passes(plan, stage) for stage in range(plan.pp)]
    position, now = [0] * plan.pp, [0.0] * plan.pp
    waits = [Shares() for _ in stages]
    done: dict[schedules.Result, float] = {}
    last: list[dict[int, tuple[float, float]]] = [{} for _ in stages]
    durations = [stage.durations() for stage in stages]
    progress = True
    while progress:
        progress = False
        for stage, order in enumerate(orders):
            lasts = durations[stage]
            while position[stage] < len(order):
                group = order[position[stage]]
                came = _came(group, done)
                if came is None:
                    break
                late = came + send_ns - now[stage]
                if late > 0:
                    waits[stage]["PP"] += min(late, send_ns)
                    waits[stage]["bubble"] += late - min(late, send_ns)
                    now[stage] += late
                begins = now[stage]
                for each in group:
                    now[stage] += lasts[each.kind][each.chunk]
                    if blocks and each.target is not None:
                        now[stage] += blocks
                        waits[stage]["PP"] += blocks
                for each in group:
                    if each.gives is not None:
                        done[each.gives] = now[stage]
                    if each.is_last:
                        last[stage][each.chunk] = (begins, now[stage])
                position[stage] += 1
                progress = True
    return waits, now, last


def _reduce(stage: Stage, framework: "Framework | None", ended: float, last: Last) -> float:
    """@return nanoseconds between a stage's last backward pass and the end of its gradients' reduction"""
    if not framework or framework.dp == "exposed":
        return sum(map(stage.gradients_ns, range(len(stage.reduced))))
    assert stage.beside
    free = 0.0
    slowed = 0.0
    for chunk in sorted(last, key=lambda c: last[c][1]):
        begins, ends = last[chunk]
        time = stage.gradients_ns(chunk)
        # Gradients come evenly; a bucket is a tenth of a chunk.
        start = max(free, begins + 0.1 * (ends - begins))
        free = max(start + time, ends + 0.1 * time)
        slowed += stage.beside.taken * min(time, max(0.0, ended - start))
    return max(0.0, free - ended) + slowed


def _once(stage: Stage, framework: "Framework | None", times: CollectiveTimes, first_forward_ns: float) -> Shares:
    """@return Shares of the work that a stage does once an iteration: the optimizer's step and collectives on
    weights"""
    shares = Shares()
    for row in stage.iteration.once(stage.stage):
        shares["optimizer"] += row.weight_ns
        time = times(row.weight)
        if framework and framework.dp == "buckets":
            assert stage.beside
            chunks = stage.iteration.plan.virtual
            # The first bucket has nothing beside it; the others come beside the first forward passes.
            time = 0.1 * time / chunks + stage.beside.excess(first_forward_ns, 0.9 * time)
        shares["DP"] += time + times(row.input)  # Nanotron waits for its gradients, then for weights
    if framework:
        shares["host"] += framework.step_ns
    return shares


def collectives(iteration: "Iteration", framework: "Framework | None") -> set[Collective]:
    """@return every collective that an iteration asks for"""
    found: set[Collective] = set()
    seen: set[int] = set()
    for stage in range(iteration.plan.pp):
        found.update(each for row in iteration.once(stage) for each in (row.input, row.weight))
        for chunk in iteration.blocks(stage):
            found.update(gradients(chunk, framework))
            for _, rows in chunk:
                if id(rows) not in seen:
                    seen.add(id(rows))
                    found.update(each for row in rows for each in (row.forward, row.input))
    return found


@dataclasses.dataclass(frozen=True)
class _Place:
    """A place in the pipeline: its stage, what it waits for, when its last pass ends, and by chunk when the last
    backward pass does."""
    stage: Stage
    waits: Shares
    ended: float
    last: Last


def _of_place(place: _Place, iteration: "Iteration", framework: "Framework | None", times: CollectiveTimes) -> Shares:
    """@return Shares of a step, of a rank in that place"""
    shares, stage, plan = Shares(place.waits), place.stage, iteration.plan
    for forward, backward in zip(stage.forward, stage.backward):
        shares.plus(forward, iteration.chunk_batches).plus(backward, iteration.chunk_batches)
    shares["DP"] += _reduce(stage, framework, place.ended, place.last)
    first = sum(each.total for each in stage.forward) * min(plan.pp, plan.micro_batches)
    shares.plus(_once(stage, framework, times, first))
    if stage.stage in (0, plan.pp - 1):
        shares["PP"] += times.tied_ns
    return shares


def estimate(iteration: "Iteration", machine: Machine, framework: "Framework | None" = None) -> Estimate:
    """@return the Estimate of an iteration on a Machine"""
    plan = iteration.plan
    times = CollectiveTimes(iteration, machine, collectives(iteration, framework))
    passes = Passes(iteration, times, framework)
    stages = [Stage(iteration, stage, passes, times, framework) for stage in range(plan.pp)]
    send = times.pipeline_ns if framework or "PP" in dict(machine.hidden) else 0.0
    blocks = send if framework and framework.pp == "exposed" else 0.0
    places = [_Place(*each) for each in zip(stages, *_run_pipeline(stages, plan, send, blocks))]
    best = None
    for place in places:
        shares = _of_place(place, iteration, framework, times)
        if framework:
            assert isinstance(iteration.gpu, ProfiledGpu)
            shares["stragglers"] = iteration.gpu.spread * math.log2(plan.world_size) * shares.total
        if best is None or shares.total > best.total_ns:
            best = Estimate(shares.total, {name: shares[name] for name in SHARES}, place.stage.stage)
    assert best
    return best
