# SPDX-License-Identifier: GPL-2.0-only
"""The rows that AICB writes for Megatron-LM, with its errors, to compare with its files row by row.

Three releases differ: 1.0 (the files of 2024 in aliyun/aicb), 1.1 (the example of aliyun/SimAI) and 2.1. Where these
rows differ from `megatron`'s, that is AICB's error, and the documentation names it (workloads.rst, "Rows as AICB writes
them").
"""
import dataclasses

from clustersim.errors import InputError
from clustersim.workload.model.transformer import Model
from clustersim.workload.plan import schedules
from clustersim.workload.plan.parallel import Parallelism
from clustersim.workload.training.megatron import Iteration
from clustersim.workload.training.rows import NOTHING, Collective, Row
from clustersim.workload.write.simai_text import text

RELEASES = ("1.0", "1.1", "2.1")
ELEMENT, GRADIENT = 2, 4


def _nothing_if(condition: bool, op: str, group: str, bytes_: int) -> "Collective":
    return NOTHING if condition else Collective(op, group, int(bytes_))


@dataclasses.dataclass(frozen=True)
class AicbIteration:
    """`profiled` is AICB's --aiob_enable, which changes the rows, not only their times."""
    model: Model
    plan: Parallelism
    iteration: Iteration  # that the rows' times are taken from
    release: str = "2.1"
    profiled: bool = False

    def __post_init__(self) -> None:
        model, plan = self.model, self.plan
        if self.release not in RELEASES:
            raise InputError(f'AICB {self.release} is not known; expected one of {", ".join(RELEASES)}')
        if plan.adapters or plan.split.layout or plan.expert_tp != plan.tp:
            raise InputError("AICB knows no adapters, layouts and experts that span TP; expected --layout megatron")
        if (
            model.sizes
            or model.lists_layers
            or model.predictions
            or model.shared_ffn
            or model.dense_layers
            or model.moe_every > 1
        ):
            raise InputError(f"AICB has no Megatron rows for {model.name}'s attention or experts; expected --layout "
                             f"megatron")
        if model.layers % plan.pp:
            raise InputError(f"AICB needs equal stages, but PP {plan.pp} does not divide {model.layers} layers; "
                             "expected --layout megatron")
        if plan.cp > 1 or plan.zero > 1 or plan.virtual > 1 or plan.schedule != schedules.USUAL:
            raise InputError("AICB knows no CP, VPP, ZeRO-2, ZeRO-3 and schedules of a pipeline; expected --layout "
                             "megatron")
        if self.release == "1.1" and not (plan.sequence_parallel and model.experts):
            raise InputError("the example of AICB 1.1 has experts and sequence parallelism; expected --sp and a model "
                             "with experts")

    # -- sizes as AICB counts them

    @property
    def sequence_bytes(self) -> int:
        return ELEMENT * self.plan.micro_batch * self.plan.sequence * self.model.hidden

    def parameters(self) -> tuple[int, int]:
        """@return AICB's count of a rank's weights, and of its experts' among them"""
        model, plan, old = self.model, self.plan, self.release == "1.0"
        h, vocabulary = model.hidden, self._vocabulary()
        layers = model.layers // plan.pp
        attention = 4 * h * h // plan.tp
        matrices = 3 if old and model.gated else 2
        mlp = 0 if model.experts else matrices * h * (model.ffn // plan.tp)
        experts = 2 * h * (model.expert_ffn * (model.experts // plan.ep) // plan.tp) if model.experts else 0
        norms = 2 * h if plan.sequence_parallel and not old else 0
        embedding = (1 if old else 4) * vocabulary // plan.tp * h + plan.sequence * h
        head = vocabulary // plan.tp * h if plan.sequence_parallel or old else 0
        return embedding + head + layers * (attention + mlp + experts + norms), layers * experts

    def _vocabulary(self) -> int:
        step = 128 * (1 if self.release == "1.0" else self.plan.tp)
        return -(-self.model.vocabulary // step) * step

    # -- rows

    def rows(self) -> "list[Row]":
        body = self._micro_batch()
        copies = 1 if self.release == "1.0" else self.plan.micro_batches
        return self._before() + body * copies + self._after()

    def _before(self) -> "list[Row]":
        total, experts = self.parameters()
        old, plan = self.release == "1.0", self.plan
        profiled = self.profiled or self.release == "1.1"
        rows = [Row("norm", forward=Collective("BROADCAST", "TP", 8 * plan.micro_batch * plan.sequence))] if old else []
        dense = total - experts if profiled else total
        if profiled:
            rows += [Row("grad_gather", weight=Collective("ALLGATHER", "DP", ELEMENT * dense)),
                     Row("grad_param_comm", weight=Collective("REDUCESCATTER", "DP", GRADIENT * dense)),
                     Row("grad_param_compute", input_ns=self._update_ns())]
        else:
            rows.append(Row("grad_norm", forward=Collective("ALLGATHER", "TP", ELEMENT * dense),
                            weight=Collective("REDUCESCATTER", "DP", GRADIENT * dense), update_ns=self._update_ns()))
        if old or not plan.sequence_parallel:
            rows.append(Row("layernorm", input=Collective("ALLREDUCE", "TP", ELEMENT * total)))
        if profiled:
            rows.append(Row("embedding_grads", input=_nothing_if(plan.tp == 1, "ALLREDUCE", "TP", self.sequence_bytes)))
        if not old and plan.ep != plan.dp:
            rows += [Row("moe_grad_norm1", weight=Collective("ALLGATHER", "DP_EP", ELEMENT * experts)),
                     Row("moe_grad_norm2", weight=Collective("REDUCESCATTER", "DP_EP", GRADIENT * experts))]
        return rows

    def _after(self) -> "list[Row]":
        entropy = Collective("ALLREDUCE", "TP", 4 * self.plan.sequence * self.plan.micro_batch)
        rows = [Row(f"cross_entropy{i}", forward=entropy) for i in (1, 2, 3)]
        rows += [Row(f"optimizer{i}", forward=Collective("ALLREDUCE", "TP", 4)) for i in (1, 2, 3, 4)]
        return ([self._embedding_norm()] if self.release == "1.0" else []) + rows

    def _embedding_norm(self) -> "Row":
        return Row("embedding_norm", forward=Collective("ALLREDUCE", "TP",
                                                        ELEMENT * self._vocabulary() * self.model.hidden))

    def _micro_batch(self) -> "list[Row]":
        sequence, old = self.plan.sequence_parallel, self.release == "1.0"
        profiled = self.profiled or self.release == "1.1"
        whole = self.sequence_bytes
        alone = self.plan.tp == 1 and profiled
        forward = _nothing_if(alone or (sequence and not profiled and not old), "ALLREDUCE", "TP", whole)
        backward = _nothing_if(alone or profiled or (sequence and not old), "ALLREDUCE", "TP", whole)
        rows = [self._timed(Row("embedding_layer", forward=forward, input=backward), "embedding")]
        for _ in range(self.model.layers // self.plan.pp):
            rows += self._layer(sequence)
        if sequence and not old:
            rows.append(self._column("final_column", whole))
        if not profiled and not old:
            rows.append(self._embedding_norm())
        return rows

    def _layer(self, sequence: bool) -> "list[Row]":
        suffix = "_layer" if self.release == "1.0" else ""
        # AICB moves twice the bytes where Megatron-LM computes, and communicates, once more.
        twice = self.plan.recompute != "none" and self.release == "2.1" and not self.profiled
        again = self.sequence_bytes * (2 if twice else 1)
        if not sequence:
            return [self._plain("attention_layer", again), self._plain("mlp_layer", self.sequence_bytes)]
        rows = [self._column("attention_column" + suffix, again), self._row("attention_row" + suffix, again)]
        if self.model.experts:
            return rows + self._experts()
        return rows + [self._column("mlp_column" + suffix, self.sequence_bytes),
                       self._row("mlp_row" + suffix, self.sequence_bytes)]

    def _plain(self, name: str, forward: int) -> "Row":
        backward = NOTHING if self.profiled else Collective("ALLREDUCE", "TP", self.sequence_bytes)
        return self._timed(Row(name, forward=self._split("ALLREDUCE", forward), input=backward), name.split("_")[0])

    def _column(self, name: str, forward: int) -> Row:
        back = {"1.0": Collective("REDUCESCATTER", "TP", self.sequence_bytes),
                "1.1": Collective("REDUCESCATTER", "TP", 0),
                "2.1": Collective("REDUCESCATTER", "TP", 0) if self.profiled else NOTHING}[self.release]
        gather = self._split("ALLGATHER", forward)
        return self._timed(Row(name, forward=gather, input=back if gather is not NOTHING else NOTHING),
                           name.split("_")[0], 2)

    def _row(self, name: str, forward: int) -> Row:
        back = self._split("ALLGATHER", self.sequence_bytes) if self.profiled or self.release != "2.1" else NOTHING
        return self._timed(Row(name, forward=self._split("REDUCESCATTER", forward), input=back), name.split("_")[0], 2)

    def _split(self, op: str, bytes_: int) -> "Collective":
        return _nothing_if(self.plan.tp == 1 and self.profiled, op, "TP", bytes_)

    def _experts(self) -> list[Row]:
        model, plan, new = self.model, self.plan, self.release == "2.1"
        whole = self.sequence_bytes * model.experts_per_token
        counts = ELEMENT * (plan.ep * model.experts * plan.tp if new else model.hidden * model.experts)
        gather = Collective("ALLGATHER", "TP", counts)
        exchange = Collective("ALLTOALL", "EP", whole // plan.tp)
        own = Collective("ALLTOALL", "TP", self.sequence_bytes // plan.tp)
        ends = [] if new else [Row("mlp_moelayer", forward=own, input=own)]
        rows = [self._timed(Row("mlp_moelayer", forward=gather, input=NOTHING if new else gather), "mlp"), *ends,
                Row("mlp_moelayer", forward=exchange, input=exchange)]
        scatter, together = self._split("REDUCESCATTER", whole), self._split("ALLGATHER", whole)
        rows += [Row("mlp_moelayer", forward=together, input=scatter),
                 Row("mlp_moelayer", forward=scatter, input=together)]
        return rows + [Row("mlp_moelayer", forward=exchange, input=exchange), *ends]

    # -- times: those of Megatron's rows, shared out

    def _update_ns(self) -> float:
        return sum(row.weight_ns for row in self.iteration.once(0))

    def _timed(self, row: "Row", block: str, parts: int = 1) -> "Row":
        """Gives `row` the times of a block's rows of the first layer, or its share of them."""
        known = [r for r in self.iteration.stage_rows(0)
                 if r.name == block or (r.name.startswith(block + "_") and r.name.endswith("_0"))]
        return dataclasses.replace(row, forward_ns=sum(r.forward_ns for r in known) / parts,
                                   input_ns=sum(r.input_ns for r in known) / parts,
                                   weight_ns=sum(r.weight_ns for r in known) / parts)


def render(iteration: "AicbIteration") -> str:
    """@return AICB's rows as text; the header says what Megatron-LM does (AICB writes the layers as `vpp`)"""
    plan = iteration.plan
    micro_batches = 1 if iteration.release == "1.0" else plan.micro_batches
    header = [("model_parallel_NPU_group", plan.tp), ("ep", plan.ep), ("pp", plan.pp), ("vpp", 1),
              ("ga", micro_batches), ("all_gpus", plan.world_size), ("checkpoints", 0), ("checkpoint_initiates", 0),
              ("pp_comm", iteration.iteration.pipeline_bytes)]
    return text(header, iteration.rows())
