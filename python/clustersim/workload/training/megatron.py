# SPDX-License-Identifier: GPL-2.0-only
"""The rows of a training iteration as Megatron-LM carries it out.

A row computes and then communicates. So the rows of a block are where its collectives are: `attention_column` has what
is before the gathering of its input, `attention_row` what is between that and the scattering of its output. Backward,
the same collectives come in the opposite order, gathering for scattering (Korthikanti et al., arXiv 2205.05198, figure
6).
"""
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clustersim.workload.model import operators
from clustersim.workload.model.operators import ELEMENT
from clustersim.workload.plan import adapters, exchange, pipeline, recompute, schedules
from clustersim.workload.plan.parallel import check
from clustersim.workload.training import memory
from clustersim.workload.training.rows import NOTHING, Collective, Row

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.model.mixer import Mixer
    from clustersim.workload.model.operators import Operator
    from clustersim.workload.model.transformer import LayerKind
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.parallel import Parallelism

COUNT = 8  # bytes of a number of tokens that ranks tell each other before they exchange tokens


class Iteration:
    """One iteration of a model: rows of each pipeline stage, for one micro-batch. A stage has the chunks of both
    directions of its schedule."""

    def __init__(self, model: "Model", plan: "Parallelism", gpu: "Gpu") -> None:
        check(model, plan)
        self.model, self.plan, self.gpu = model, plan, gpu

    def of_plan(self, plan: "Parallelism") -> "Iteration":
        """@return the same of another plan"""
        return Iteration(self.model, plan, self.gpu)

    def needed(self) -> memory.Memory:
        """@return Memory of the GPU that needs most"""
        return memory.needed(self.model, self.plan)

    @property
    def pipeline_bytes(self) -> int:
        """Bytes that a rank sends to the next stage for each micro-batch."""
        return ELEMENT * self.plan.local_tokens * self.model.hidden * self.model.streams if self.plan.pp > 1 else 0

    @property
    def tied_bytes(self) -> int:
        """Bytes of gradients that the first and the last stage tell each other: both hold the embedding's words, unless
        a stage is both ends."""
        model, plan = self.model, self.plan
        if not model.tied or plan.pp == 1 or plan.adapters or schedules.directions(plan) > 1:
            return 0
        return int(plan.precision.reduced * operators.vocabulary_part(model, plan) * model.hidden)

    @property
    def reduces_each(self) -> bool:
        """Whether gradients are reduced after each micro-batch, not after the last."""
        return self.plan.shards_gradients and self.plan.micro_batches > 1

    @property
    def chunk_batches(self) -> int:
        """Micro-batches that a chunk of a stage carries out."""
        return self.plan.micro_batches // schedules.directions(self.plan)

    def compute_ns(self, stage: int) -> float:
        """@return nanoseconds that a rank of `stage` computes in an iteration, with recomputation and the optimizer's
        step"""
        rows = [row for chunk in self.chunks(stage) for row in chunk]
        each = sum(row.compute_ns for row in rows) + sum(row.forward_ns for row in self.recomputed(rows))
        return each * self.chunk_batches + sum(row.weight_ns for row in self.once(stage))

    def recomputed(self, rows: "Sequence[Row]") -> "list[Row]":
        """@return those of a micro-batch's rows whose forward pass is carried out again before their backward pass"""
        return [again for number, row in enumerate(rows) for again in rows[number - row.again:number]]

    def flops(self) -> float:
        """@return floating-point operations of an iteration on all GPUs: the model's, without recomputation and what
        ranks compute in common. Ranks share experts' tokens, of which the fullest has most"""
        whole, total = self.plan.uncut(), 0.0
        layers, ends = memory.stage_operators(self.model, whole, 0)
        for operator in [o for layer in layers for o in layer] + ends:
            total += operator.flops * (3 if adapters.is_trained(whole, operator) or operator.kind != "matmul" else 2)
        return total * self.plan.micro_batches * self.plan.dp

    def blocks(self, stage: int) -> "list[list[tuple[int | None, Sequence[Row]]]]":
        """@return for each chunk of pipeline stage `stage` (layer, its rows), with None for the embedding and the head;
        layers that are alike have the same object"""
        return [self._chunk(place) for place in pipeline.of_stage(self.plan, self.model, stage)]

    def _chunk(self, place: pipeline.Place) -> list[tuple[int | None, Sequence[Row]]]:
        kinds = operators.kinds(self.model, self.plan)
        blocks: list[tuple[int | None, Sequence[Row]]] = [(None, self._embedding())] if place.embedding else []
        blocks += [(index, self._layer(kinds[index], recompute.is_whole(self.plan, position))) for position,
                   index in enumerate(place.layers)]
        blocks += [(None, self._prediction())] * place.predictions
        blocks += [(None, self._head())] if place.loss else []
        return blocks or [(None, [Row("empty")])]  # readers want a row in each chunk

    def chunks(self, stage: int) -> "list[list[Row]]":
        """@return rows of a micro-batch in each chunk of pipeline stage `stage`"""
        return [[row if layer is None else row.of_layer(layer) for layer, rows in chunk for row in rows]
                for chunk in self.blocks(stage)]

    def stage_rows(self, stage: int) -> "list[Row]":
        """@return rows of pipeline stage `stage`: those of an iteration, then those of a micro-batch"""
        return self.once(stage) + [row for chunk in self.chunks(stage) for row in chunk]

    def checkpoints(self, stage: int) -> list[tuple[int, int]]:
        """@return the numbers of the first and the last row in `stage_rows`, from 0, of what is computed again

        A reader computes again from the first to the one before the last, as ASTRA-sim does: the last is an empty row.
        """
        return [(number - row.again, number) for number, row in enumerate(self.stage_rows(stage)) if row.again]

    # -- times of a layer's operators

    @functools.lru_cache(None)
    def _times(self, kind: "LayerKind") -> "dict[str, tuple[Operator, tuple[float, float, float]]]":
        return {o.name: (o, self._times_of(o)) for o in operators.of_kind(self.model, self.plan, kind)}

    def _times_of(self, operator: "Operator") -> tuple[float, float, float]:
        forward, backward, weight = self.gpu.times_ns(operator)
        return forward, backward, weight if adapters.is_trained(self.plan, operator) else 0.0

    def _sum(self, known: "Mapping[str, tuple[Operator, tuple[float, float, float]]]", names: Sequence[str],
             which: int) -> float:
        total = sum(known[name][1][which] for name in names)
        if which == 1:
            total += sum(known[name][1][0] for name in names if name in recompute.again(self.plan))
        return total

    @functools.lru_cache(None)
    def _layer(self, kind: "LayerKind", is_recomputed: bool) -> "Sequence[Row]":
        known = self._times(kind)
        rows = self._mixer(kind, known)
        if kind.experts:
            rows += self._moe(known)
        elif kind.feeds:
            rows += self._block("mlp", known, [name for name in known if name in ("feed_streams", "post_norm")
                                               or name.startswith("mlp_")])
        rows = self._with_copies(self._gathered_weights([o for o, _ in known.values()], self._selected(rows, kind)))
        return (*rows, Row("recompute", again=len(rows))) if is_recomputed else tuple(rows)

    def _mixer(self, kind: "LayerKind",
               known: "Mapping[str, tuple[Operator, tuple[float, float, float]]]") -> "list[Row]":
        """@return rows of what mixes tokens: a block for each part of it, the first with the streams that all of them
        read"""
        model, rows = self.model.shaped(kind), []
        parts = operators.mixer_parts(model, self.plan, kind)
        for number, (part, some) in enumerate(parts):
            own = {operator.name for operator in some} | ({"mixer_streams"} if number == 0 else set())
            names = [name for name in known if adapters.base(name) in own]
            block = self._block(part.block, known, names, gathered=ELEMENT * self.plan.tokens * part.gathered(model))
            rows += self._in_context(block, known, names, part, model) if self.plan.cp > 1 and number == 0 else block
        return rows

    def _in_context(self, rows: "list[Row]", known: "Mapping[str, tuple[Operator, tuple[float, float, float]]]",
                    names: Sequence[str], part: "Mixer", model: "Model") -> "list[Row]":
        """@return rows of a block with the collectives of context parallelism"""
        columns = part.context_columns(model, self.plan)
        return self._with_exchange(rows, known, names, part.block) if columns is None else self._with_context(rows,
            known, names, columns)

    def _selected(self, rows: list[Row], kind: "LayerKind") -> list[Row]:
        """@return the rows of a layer, with an empty one after those that a module computes again with their
        communication"""
        beginning = recompute.rows(self.plan, kind.experts)
        numbers = [number for number, row in enumerate(rows) if beginning and row.name.startswith(beginning)]
        if not numbers:
            return rows
        return [*rows[:numbers[-1] + 1], Row("recompute", again=len(numbers)), *rows[numbers[-1] + 1:]]

    def _tp(self, op: str, bytes_: int) -> "Collective":
        return Collective(op, "TP", int(bytes_)) if self.plan.tp > 1 else NOTHING

    def _expert_tp(self, op: str, bytes_: int) -> "Collective":
        """Of the ranks that hold parts of the same experts: those of TP, unless experts are whole."""
        return self._tp(op, bytes_ * self.plan.tp) if self.plan.expert_tp > 1 else NOTHING

    def _sequence_bytes(self) -> int:
        return ELEMENT * self.plan.tokens * self.model.hidden

    def _block(self, name: str, known: "Mapping[str, tuple[Operator, tuple[float, float, float]]]",
               names: Sequence[str], gathered: int | None = None) -> "list[Row]":
        """Column-parallel, then row-parallel layers."""
        local = [n for n in names if known[n][0].is_local]
        split = [n for n in names if n not in local]
        whole = self._sequence_bytes()
        gathered = whole if gathered is None else gathered
        sequence = self.plan.sequence_parallel
        column = Row(f"{name}_column", self._sum(known, local, 0),
                     self._tp("ALLGATHER", gathered) if sequence else NOTHING,
                     self._sum(known, names, 1), self._tp("REDUCESCATTER" if sequence else "ALLREDUCE", gathered),
                     self._sum(known, names, 2), self._gradients(known, names))
        row = Row(f"{name}_row", self._sum(known, split, 0),
                  self._tp("REDUCESCATTER" if sequence else "ALLREDUCE", whole),
                  0.0, self._tp("ALLGATHER", whole) if sequence else NOTHING)
        return [column, row]

    def _with_context(self, rows: "Sequence[Row]", known: "Mapping[str, tuple[Operator, tuple[float, float, float]]]",
                      names: Sequence[str], width: int) -> "list[Row]":
        """Keys and values of a sequence's parts are gathered, their gradients scattered (arXiv 2407.21783, section
        3.3.2)."""
        column, row = rows
        plan = self.plan
        whole = ELEMENT * plan.tokens * plan.cp * width
        projection = [name for name in names if adapters.base(name) == "projection"]
        projection += [name for name in ("output_gate", "output_down") if name in names]
        late = self._sum(known, ["attention", *projection], 0)
        of_projection = self._sum(known, projection, 1)
        of_core = self._sum(known, ["attention"], 1)
        context = Row(row.name.replace("_row", "_context"), row.forward_ns - late, Collective("ALLGATHER", "CP", whole),
                      of_core, Collective("REDUCESCATTER", "CP", whole))
        again = Row(row.name.replace("_row", "_context_again"), input_ns=of_projection,
                    input=Collective("ALLGATHER", "CP", whole))
        row.forward_ns = late
        column.input_ns -= of_core + of_projection
        return [column, context, again, row]

    def _with_exchange(self, rows: "Sequence[Row]", known: "Mapping[str, tuple[Operator, tuple[float, float, float]]]",
                       names: Sequence[str], prefix: str) -> "list[Row]":
        """Recurrent layers exchange parts of a sequence for heads before their convolution, and back after their norm
        (Megatron-Core's mamba_context_parallel)."""
        column, row = rows
        inward, outward = known[f"{prefix}_in"][0].shape[1], known[f"{prefix}_out"][0].shape[2]
        first, last = [f"{prefix}_in"], [f"{prefix}_out"]
        core = [name for name in names if name not in ("mixer_streams", "input_norm", *first, *last)]
        into, back = (Collective("ALLTOALL", "CP", ELEMENT * self.plan.tokens * width) for width in (inward, outward))
        late, of_last, of_core = self._sum(known, core, 0), self._sum(known, last, 1), self._sum(known, core, 1)
        context = Row(f"{prefix}_context", self._sum(known, first, 0), into, of_core, into)
        again = Row(f"{prefix}_context_again", late, back, of_last, back)
        row.forward_ns = self._sum(known, last, 0)
        column.input_ns -= of_core + of_last
        return [column, context, again, row]

    def _moe(self, known: "Mapping[str, tuple[Operator, tuple[float, float, float]]]") -> "list[Row]":
        model, plan = self.model, self.plan
        slowest = plan.exchange.slowest(model.experts, plan.ep)
        tokens = int(ELEMENT * plan.local_tokens * model.experts_per_token * model.expert_hidden * slowest)
        dispatched, combined = self._exchange(plan.exchange.dispatch_bytes), self._exchange(ELEMENT)
        counts = Collective("ALLGATHER", "EP", COUNT * model.experts * plan.ep) if plan.ep > 1 else NOTHING
        routing = [n for n in ("feed_streams", "post_norm", "router", "shared_gate", "latent_down") if n in known]
        work = ["expert_up", "expert_activation", "expert_down"]
        router = Row("mlp_router", self._sum(known, routing, 0), counts, self._sum(known, routing, 1), NOTHING,
                     self._sum(known, routing, 2), self._gradients(known, routing))
        dispatch = Row("mlp_dispatch", self._sum(known, ["dispatch"], 0), dispatched, self._sum(known, ["dispatch"], 1),
                       combined)
        gather = Row("mlp_gather", 0.0, self._expert_tp("ALLGATHER", tokens), self._sum(known, work, 1),
                     self._expert_tp("REDUCESCATTER", tokens), self._sum(known, work, 2),
                     self._gradients(known, work, expert=True))
        scatter = Row("mlp_experts", self._sum(known, work, 0), self._expert_tp("REDUCESCATTER", tokens),
                      0.0, self._expert_tp("ALLGATHER", tokens))
        combine = Row("mlp_combine", self._sum(known, ["combine"], 0), combined, self._sum(known, ["combine"], 1),
                      dispatched)
        rows = [router, dispatch, gather, scatter, combine]
        if model.expert_latent:
            up = ["latent_up"]
            rows.append(Row("mlp_latent_up", self._sum(known, up, 0), NOTHING, self._sum(known, up, 1), NOTHING,
                            self._sum(known, up, 2), self._gradients(known, up)))
        if model.shared_ffn:
            rows += self._block("mlp_shared", known,
                                [name for name in known if name.startswith("shared_") and name != "shared_gate"])
        return rows

    def _exchange(self, number_bytes: float) -> "Collective":
        if self.plan.ep < 2:
            return NOTHING
        return Collective("ALLTOALL", "EP", exchange.all_to_all_bytes(self.model, self.plan, number_bytes))

    # -- weights and their gradients

    def _group(self, expert: bool) -> tuple[str, int]:
        plan = self.plan
        return ("DP_EP", plan.expert_shards) if expert else ("DP", plan.shards)

    def _gradients(self, known: "Mapping[str, tuple[Operator, tuple[float, float, float]]]", names: Sequence[str],
                   expert: bool = False) -> "Collective":
        return self._reduce([known[name][0] for name in names], expert)

    def _reduce(self, some: "Sequence[Operator]", expert: bool = False) -> "Collective":
        parameters = adapters.trained(self.plan, some)
        group, size = self._group(expert)
        reduced = int(self.plan.precision.reduced * parameters)
        if not reduced or size < 2 and self.plan.copies < 2:
            return NOTHING
        if size < 2:  # of experts that one rank of each copy holds
            return Collective("ALLREDUCE", "DP_COPIES", reduced)
        return Collective("REDUCESCATTER" if self.plan.zero else "ALLREDUCE", group, reduced)

    def _gathered_weights(self, some: "Sequence[Operator]", rows: list[Row], again: bool = True) -> list[Row]:
        """ZeRO-3 gathers the weights of operators before their forward pass and, unless they are kept until then, again
        before their backward pass."""
        if not self.plan.shards_weights:
            return rows
        plan, before, after = self.plan, [], []
        for expert in (False, True):
            group, size = self._group(expert)
            gathered = [o for o in some if memory.is_expert(o) == expert and o.parameters]
            if size > 1 and gathered:
                gather = Collective("ALLGATHER", group, int(memory.gathered_bytes(plan, gathered)))
                prefix = "expert_weights" if expert else "weights"
                before.append(Row(prefix, forward=gather, gathers=sum(o.parameters for o in gathered)))
                after.append(Row(prefix + "_again", input=gather))
        return before + rows + (after if again else [])

    def _with_copies(self, rows: list[Row]) -> list[Row]:
        """Hybrid sharding: what a group has reduced is summed up over the groups that hold copies, after all of a
        block's gradients."""
        plan = self.plan
        sizes = {"DP": plan.shards, "DP_EP": plan.expert_shards}
        scattered = sum(row.weight.bytes // sizes[row.weight.group] for row in rows if row.weight.op == "REDUCESCATTER")
        if plan.copies < 2 or not scattered:
            return rows
        return [Row(f"copies_of_{rows[0].name}", weight=Collective("ALLREDUCE", "DP_COPIES", scattered)), *rows]

    def _trained(self, stage: int, expert: bool) -> "list[Operator]":
        """@return operators of a stage whose weights are trained"""
        layers, ends = memory.stage_operators(self.model, self.plan, stage)
        every = [o for layer in layers for o in layer] + ends
        return [o for o in every if memory.is_expert(o) == expert and adapters.is_trained(self.plan, o)]

    @functools.lru_cache(None)
    def once(self, stage: int) -> "list[Row]":
        """@return rows that a stage carries out once, when all gradients are there, the last row first: the optimizer's
        step, and with ZeRO-1 and 2 the AllGather of the updated weights"""
        plan = self.plan
        gathered, moved = [], 0.0
        for expert in (True, False):
            group, size = self._group(expert)
            trained = self._trained(stage, expert)
            weights = memory.gathered_bytes(plan, trained)
            moved += (sum(o.parameters for o in trained) * plan.precision.update
                      + weights) / (size * schedules.holders(plan) if plan.zero else 1)
            if plan.zero and not plan.shards_weights and size > 1 and weights:
                name = "expert_parameters" if expert else "parameters"
                gathered.append(Row(name, weight=Collective("ALLGATHER", group, int(weights))))
        measured = self.gpu.measured.get("optimizer")
        update = measured[0] if measured else self.gpu.optimizer_ns(moved)
        return [*gathered, Row("optimizer", weight_ns=update)]

    # -- the ends

    def _embedding(self) -> "list[Row]":
        whole, sequence = self._sequence_bytes(), self.plan.sequence_parallel
        [operator] = operators.embedding(self.model, self.plan)
        forward, backward, _ = self.gpu.times_ns(operator)
        backward = backward if adapters.is_trained(self.plan, operator) else 0.0
        row = Row("embedding", forward, self._tp("REDUCESCATTER" if sequence else "ALLREDUCE", whole),
                  backward, self._tp("ALLGATHER", whole) if sequence else NOTHING, 0.0, self._reduce([operator]))
        return self._with_copies(self._gathered_weights([operator], [row]))

    @functools.lru_cache(None)
    def _prediction(self) -> "list[Row]":
        """The module that predicts a further token: the next embedding is taken to be here, and the input that joins it
        is gathered."""
        model, plan = self.model, self.plan
        known = {o.name: (o, self._times_of(o)) for o in operators.prediction(model, plan)}
        whole, norms, join = self._sequence_bytes(), ["prediction_norms"], ["prediction_join"]
        sequence = plan.sequence_parallel
        rows = [Row("prediction_norms", self._sum(known, norms, 0),
                    self._tp("ALLGATHER", 2 * whole) if sequence else NOTHING, self._sum(known, norms + join, 1),
                    self._tp("REDUCESCATTER" if sequence else "ALLREDUCE", 2 * whole),
                    self._sum(known, join, 2), self._gradients(known, norms + join)),
                Row("prediction_join", self._sum(known, join, 0), self._tp("ALLGATHER", whole), 0.0,
                    self._tp("ALLGATHER", whole) if sequence else NOTHING)]
        rows = self._with_copies(rows)
        for kind in operators.prediction_kinds(model, plan):
            rows += self._layer(kind, False)
        return [dataclasses.replace(row, name=row.name if row.name.startswith("prediction")
                                    else "prediction_" + row.name)
                for row in rows + self._head(operators.prediction_head(model, plan))]

    def _head(self, found: "Sequence[Operator] | None" = None) -> "list[Row]":
        model, plan = self.model, self.plan
        sequence, whole = plan.sequence_parallel, self._sequence_bytes()
        found = list(found or operators.head(model, plan, owns_weights=not model.tied or plan.pp > 1))
        known = {o.name: (o, self._times_of(o)) for o in found}
        names = list(known)
        column = Row("head_column", self._sum(known, ["final_norm"], 0),
                     self._tp("ALLGATHER", whole) if sequence else NOTHING, self._sum(known, names, 1),
                     self._tp("REDUCESCATTER" if sequence else "ALLREDUCE", whole), self._sum(known, names, 2),
                     self._gradients(known, names))
        loss = self._tp("ALLREDUCE", 4 * plan.tokens)  # the largest logit, the target's logit, the sum of exponentials
        rows = [column, Row("cross_entropy1", self._sum(known, ["logits", "loss"], 0), loss)]
        if plan.tp > 1:
            rows += [Row("cross_entropy2", forward=loss), Row("cross_entropy3", forward=loss)]
        return self._with_copies(self._gathered_weights(found, rows, again=False))  # its backward pass comes at once
