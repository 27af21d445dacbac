# SPDX-License-Identifier: GPL-2.0-only
"""How a model is spread over GPUs: Megatron-LM's parallelism, checked."""
import dataclasses
from typing import Optional, Tuple, TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.workload.plan import exchange, pipeline, schedules
from clustersim.workload.plan.adapters import Adapters
from clustersim.workload.plan.exchange import Exchange
from clustersim.workload.plan.keeping import Keeping
from clustersim.workload.plan.precision import Precise, Precision
from clustersim.workload.plan.recompute import KINDS as RECOMPUTATION

if TYPE_CHECKING:
    from clustersim.workload.plan.planned import Planned


@dataclasses.dataclass(frozen=True)
class Parallelism:
    """Ranks are numbered with tensor parallelism innermost, then context and data parallelism, the pipeline
    outermost."""
    world_size: int
    tp: int = 1  # tensor parallel
    pp: int = 1  # pipeline stages
    virtual: int = 1  # chunks of layers per stage: interleaving
    ep: int = 1  # expert parallel: part of context x data parallel, and of tensor parallel where etp is less
    cp: int = 1  # context parallel: a sequence is cut into cp parts
    etp: int = 0  # parts that an expert is cut into; 0: tp
    sequence_parallel: bool = False
    zero: int = 0  # stage of ZeRO; 1 is Megatron's distributed optimizer
    copies: int = 1  # of what ZeRO shards: groups of replicas that each hold all of it (hybrid sharding)
    recompute: str = "none"
    micro_batch: int = 1  # sequences
    global_batch: int = 0  # sequences; 0: as many micro-batches as fill the pipeline
    sequence: int = 4096  # tokens
    split: pipeline.Split = pipeline.Split()
    schedule: str = schedules.USUAL  # of schedules.yaml
    modules: Tuple[str, ...] = ()  # of selective recomputation; none: recompute.DEFAULT
    recompute_layers: int = 0  # of each chunk, the first ones; 0: all of them
    offload_layers: int = 0  # of each chunk, whose kept activations wait in the host's memory
    document: int = 0  # tokens of a document, of which a sequence holds several; 0: a sequence is one
    adapters: Optional[Adapters] = None  # LoRA
    precision: Precision = Precision()
    precise: Precise = Precise()
    keeping: Keeping = Keeping()
    exchange: Exchange = Exchange()
    redundant_experts: int = 0  # copies of experts that get many tokens, in servers

    def local_experts(self, experts: int) -> int:
        """@return experts of the rank that has most, copies included"""
        return -(-(experts + self.redundant_experts) // self.ep)

    @property
    def expert_tp(self) -> int:
        """Parts that an expert is cut into"""
        return self.etp or self.tp

    @property
    def dp(self) -> int:
        """Data-parallel replicas"""
        return self.world_size // (self.tp * self.pp * self.cp)

    @property
    def replicas(self) -> int:
        """Ranks that hold the same dense weights, and reduce their gradients: data x context parallel."""
        return self.dp * self.cp

    @property
    def expert_replicas(self) -> int:
        """Ranks that hold the same experts, and reduce their gradients."""
        return self.replicas * self.tp // (self.expert_tp * self.ep)

    @property
    def shards(self) -> int:
        """Consecutive ranks among which ZeRO shards dense weights, gradients and states: all replicas, or those of one
        copy."""
        return self.replicas // self.copies

    @property
    def expert_shards(self) -> int:
        """The same of experts."""
        return self.expert_replicas // self.copies

    @property
    def groups(self) -> dict[str, tuple[int, int]]:
        """How far apart the ranks of a group are, and their number, by the kind of group"""
        return {"TP": (1, self.tp), "ETP": (1, self.expert_tp), "EP": (self.expert_tp, self.ep),
                "CP": (self.tp, self.cp), "DP": (self.tp, self.shards),
                "DP_EP": (self.expert_tp * self.ep, self.expert_shards),
                "DP_COPIES": (self.tp * self.shards, self.copies), "PP": (self.world_size // self.pp, self.pp)}

    @property
    def shards_weights(self) -> bool:
        """Whether a layer's weights are gathered for each pass. A pipeline keeps them whole, as torchtitan does."""
        return self.zero == 3 and self.pp == 1

    @property
    def shards_gradients(self) -> bool:
        """Whether gradients are reduced after each micro-batch. A pipeline accumulates them whole."""
        return self.zero >= 2 and self.pp == 1

    @property
    def document_tokens(self) -> int:
        """Tokens of a document: those that a token may attend to"""
        return self.document or self.sequence

    @property
    def documents(self) -> int:
        """Documents of a sequence"""
        return self.sequence // self.document_tokens

    @property
    def micro_batches(self) -> int:
        """Micro-batches of a replica in an iteration"""
        if self.global_batch:
            return self.global_batch // (self.micro_batch * self.dp)
        return 4 * self.pp if self.pp > 1 else 1

    @property
    def sequences(self) -> int:
        """Of a global batch."""
        return self.micro_batches * self.micro_batch * self.dp

    @property
    def tokens(self) -> int:
        """Of a micro-batch on a rank, before sequence parallelism."""
        return self.micro_batch * self.sequence // self.cp

    @property
    def local_tokens(self) -> int:
        """The same where sequence parallelism cuts them."""
        return self.tokens // self.tp if self.sequence_parallel else self.tokens

    @property
    def input_tokens(self) -> int:
        """Of the inputs of products that a rank keeps."""
        return self.tokens if self.keeping.gathered_inputs else self.local_tokens

    def uncut(self) -> "Parallelism":
        """@return the plan of one GPU that computes the same micro-batches, with equal experts"""
        return dataclasses.replace(self, world_size=1, tp=1, pp=1, virtual=1, ep=1, cp=1, etp=0, copies=1,
                                   sequence_parallel=False, split=pipeline.Split(), schedule=schedules.USUAL,
                                   redundant_experts=0, exchange=self.exchange.evened())

    def stage_layers(self, layers: int) -> list[int]:
        """@return layers of each stage; if they do not divide, the last stages, which have the head, get fewer"""
        return [sum(len(place.layers) for place in pipeline.places(self, layers)[stage::self.pp])
                for stage in range(self.pp)]

    def describe(self) -> str:
        """@return the plan in words"""
        parts = [f"TP {self.tp}", f"DP {self.dp}", f"PP {self.pp}"]
        parts += [f"{name} {value}" for name, value in (("VPP", self.virtual), ("EP", self.ep), ("CP", self.cp))
                  if value > 1]
        parts += [f"ETP {self.etp}"] if self.expert_tp != self.tp else []
        parts += [self.schedule] if self.schedule != schedules.USUAL else []
        parts += ["SP"] if self.sequence_parallel else []
        parts += [f"ZeRO-{self.zero}" + (f" in {self.copies} copies" if self.copies > 1 else "")] if self.zero else []
        parts += [self._recomputation()] if self.recompute != "none" else []
        parts += [f"LoRA of rank {self.adapters.rank}"] if self.adapters else []
        parts += [self.precise.describe()] if self.precise != Precise() else []
        parts += [f"documents of {self.document} tokens"] if self.document else []
        return ", ".join(parts + ([self.split.describe()] if self.split.describe() else []))

    def _recomputation(self) -> str:
        what = f" of {', '.join(self.modules)}" if self.recompute == "selective" and self.modules else ""
        return f"{self.recompute} recomputation{what}" + (f" in {self.recompute_layers} layers" if self.recompute_layers
                                                          else "")


def _divides(part: int, whole: int, what: str, expected: str) -> None:
    if whole % part:
        raise InputError(f"{what}; expected {expected}")


def check(model: "Planned", plan: "Parallelism") -> None:
    """Refuses what Megatron-LM would refuse, and what cannot be."""
    for name, value in (("world_size", plan.world_size), ("TP", plan.tp), ("PP", plan.pp), ("EP", plan.ep),
                        ("CP", plan.cp),
                        ("VPP", plan.virtual), ("micro_batch", plan.micro_batch), ("seq_length", plan.sequence)):
        if value < 1:
            raise InputError(f"{name} is {value}; expected at least 1")
    inner = plan.tp * plan.pp * plan.cp
    _divides(inner, plan.world_size, f"TP {plan.tp} x PP {plan.pp} x CP {plan.cp} = {inner} does not divide "
             f"{plan.world_size} GPUs", "TP x PP x CP x DP = world_size")
    for shaped in model.variants():
        _check_tensor_parallel(shaped, plan)
    if plan.ep > 1 and not model.experts:
        raise InputError(f"EP {plan.ep} for a model without experts; expected EP 1")
    _divides(plan.ep, max(model.experts, 1), f"EP {plan.ep} does not divide the model's {model.experts} experts",
             "a divisor of the experts")
    if model.experts:
        _check_experts(model, plan)
        exchange.check(model, plan)
    _check_recurrent(model, plan)
    _check_sequence(model, plan)
    _check_copies(model, plan)
    if plan.virtual > 1 and plan.pp == 1:
        raise InputError("VPP without a pipeline; expected PP of at least 2")
    pipeline.places(plan, model.layers, model.predictions)
    _check_batch(plan)
    schedules.check(plan)


def _check_tensor_parallel(model: "Planned", plan: "Parallelism") -> None:
    _divides(plan.tp, model.heads, f"TP {plan.tp} does not divide the {model.heads} attention heads",
             "a divisor of the heads")
    _divides(plan.tp, model.ffn, f"TP {plan.tp} does not divide the FFN size {model.ffn}", "a divisor")
    if max(model.kv_heads, plan.tp) % min(model.kv_heads, plan.tp):
        raise InputError(f"TP {plan.tp} and {model.kv_heads} key-value heads do not divide one another; "
                         "expected a divisor or a multiple")


def _check_experts(model: "Planned", plan: "Parallelism") -> None:
    etp = plan.expert_tp
    _divides(etp, model.expert_ffn, f"TP {etp} does not divide the experts' FFN size {model.expert_ffn}", "a divisor")
    if etp not in (1, plan.tp):
        raise InputError(f"experts in {etp} parts with TP {plan.tp} are not supported; expected "
                         f"--expert_tensor_parallel_size 1 or TP")
    if etp == plan.tp:
        folded = plan.tp * plan.replicas % plan.ep == 0 and plan.tp > 1
        _divides(plan.ep, plan.replicas, f"EP {plan.ep} does not divide DP x CP = {plan.replicas}",
                 "EP x DP_EP = DP x CP" +
                 (", or --expert_tensor_parallel_size 1, with which EP spans TP, too" if folded else ""))
    _divides(plan.ep * etp, plan.tp * plan.replicas,
             f"EP {plan.ep} does not divide TP x CP x DP = {plan.tp * plan.replicas}",
             "EP x DP_EP = TP x CP x DP")


def _check_copies(model: "Planned", plan: "Parallelism") -> None:
    if plan.copies < 1:
        raise InputError(f"the data parallel replicate degree is {plan.copies}; expected at least 1")
    if plan.copies > 1 and not plan.zero:
        raise InputError(f"{plan.copies} copies of what ZeRO shards, but ZeRO-0 shards nothing; expected --zero 1, 2 "
                         f"or 3")
    if plan.copies == plan.replicas > 1:
        raise InputError(f"{plan.copies} copies on {plan.replicas} replicas shard nothing; expected --zero 0, or a "
                         f"smaller data parallel "
                         "replicate degree")
    _divides(plan.copies, plan.dp, f"a data parallel replicate degree of {plan.copies} does not divide DP {plan.dp}",
             "a divisor")
    if model.experts:
        _divides(plan.copies, plan.expert_replicas,
                 f"a data parallel replicate degree of {plan.copies} does not divide the "
                 f"{plan.expert_replicas} ranks that hold an expert", "a divisor, or fewer expert-parallel ranks")


def _check_recurrent(model: "Planned", plan: "Parallelism") -> None:
    for count, layers in model.split_heads():
        _divides(plan.tp * plan.cp, count, f"TP {plan.tp} x CP {plan.cp} does not divide the {count} heads of {layers}",
                 "a divisor of the heads")


def _check_sequence(model: "Planned", plan: "Parallelism") -> None:
    cut = plan.cp * (plan.tp if plan.sequence_parallel else 1)
    _divides(cut, plan.sequence, f"CP and sequence parallelism cut {plan.sequence} tokens into {cut} parts",
             "a seq_length that they divide")
    if model.experts and plan.tp > 1 and not plan.sequence_parallel:
        raise InputError("experts with tensor parallelism need sequence parallelism, as in Megatron-LM; expected --sp")
    if plan.zero not in (0, 1, 2, 3):
        raise InputError(f"ZeRO stage {plan.zero}; expected 0 to 3")
    if plan.recompute not in RECOMPUTATION:
        raise InputError(f'"{plan.recompute}" is not a kind of recomputation; expected {", ".join(RECOMPUTATION)}')
    for name, value in (("recompute_num_layers", plan.recompute_layers), ("offload_num_layers", plan.offload_layers),
                        ("document_length", plan.document)):
        if value < 0:
            raise InputError(f"--{name} is {value}; expected at least 1")
    if plan.document and plan.sequence % plan.document:
        raise InputError(f"documents of {plan.document} tokens do not fill a sequence of {plan.sequence}; expected a "
                         f"divisor")


def _check_batch(plan: "Parallelism") -> None:
    if plan.global_batch < 0:
        raise InputError(f"global_batch is {plan.global_batch}; expected at least 1")
    if plan.global_batch:
        step = plan.micro_batch * plan.dp
        _divides(step, plan.global_batch, f"a global batch of {plan.global_batch} is not a multiple of micro-batch "
                 f"{plan.micro_batch} x DP {plan.dp}", f"a multiple of {step}")
