# SPDX-License-Identifier: GPL-2.0-only
"""Computation and communication of a serving instance's ranks, as rows of an INFERENCE file.

An instance has TP x DP x PP ranks: DP replicas of the attention layers share their experts, and EP ranks hold different
ones. Ranks that have the same experts hold parts of each. The operators are those of training (`operators`), by token:
the simulator knows how many tokens a step has, and times each operator's roofline, or interpolates the measured times
that `serving_times` adds to the rows.
"""
import dataclasses
import functools
import itertools
from typing import Optional, Tuple, TYPE_CHECKING
from collections.abc import Iterator, Sequence

from clustersim.errors import InputError
from clustersim.workload.kernels.roofline import FACTOR_BYTES
from clustersim.workload.model import operators
from clustersim.workload.model.mixer import Serving
from clustersim.workload.model.operators import ALWAYS_BFLOAT16, ELEMENT
from clustersim.workload.model.reach import Reach
from clustersim.workload.model.transformer import Model
from clustersim.workload.plan.adapters import INWARD, Adapters, base, is_thin
from clustersim.workload.plan.exchange import Exchange, distinct
from clustersim.workload.plan.parallel import Parallelism
from clustersim.workload.plan.precision import Precise
from clustersim.workload.serve import cache, placement
from clustersim.workload.serve.cache import CACHE_BYTES
from clustersim.workload.serve.quantization import Quantization
from clustersim.workload.training import memory

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.model.mixer import Mixer
    from clustersim.workload.model.operators import Operator
    from clustersim.workload.model.transformer import LayerKind
    from clustersim.workload.serve.cache import Cache

MOST_BLOCKS = (1 << 32) - 2
MOST_COPIES = 1 << 16  # --redundant_experts
FLOAT32 = 4  # bytes
DTYPES = ("bfloat16", "fp8", "nvfp4")  # of products


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    layers: str  # all, first, last, or a range
    kind: str
    figures: Tuple[float, ...]
    collective: str = "NONE"
    bytes: float = 0.0  # per token
    times: Tuple[str, ...] = ()  # lines of times
    reach: Optional[Reach] = None  # if attention reaches some of the earlier tokens only
    heads: Optional[operators.Heads] = None  # of attention
    latent_width: int = 0  # columns of a token in its cache of latents; 0: it has keys and values
    scan: Optional[
        operators.Operator
    ] = None  # updates a state by one token; figures are then the bytes of a sequence's state
    weight: float = 0.0  # bytes of a weight with fewer bits than the other factor; 0: as many
    thin: Optional[Tuple[operators.Operator, Adapters]] = None  # of adapters: each of a batch has weights of its own

    def text(self) -> str:
        figures = " ".join(f"{figure:.12g}" for figure in self.figures)
        return "\n".join([f"row {self.name} {self.layers} {self.kind} {figures} {self.collective} {self.bytes:.12g}",
                          *self.times])

    def followed_by(self, collective: str, bytes_: float) -> "Row":
        return dataclasses.replace(self, collective=collective, bytes=bytes_)


@dataclasses.dataclass(frozen=True)
class Instance:
    """One instance of a model. `gpus` counts the GPUs of all instances of its pool.

    `dp` is the number of replicas of the attention layers. 0 means `ep` replicas, and then TP divides each expert.
    Otherwise EP is TP x DP (each rank has whole experts) or 1 (TP x DP ranks divide each expert); with one replica, EP
    is any divisor of TP.

    `dtype` is the type of weights and factors of products, `cache` that of keys and values. `precise` lists products of
    another type. `exchange` says how tokens reach their experts, and how unevenly. `lengths` are the tokens of the
    prompt and of the output, if all requests have the same. `quantization` is the type of weights alone.

    `redundant` is the number of experts' copies that EPLB places; without it (None) experts lie in order. `layer_loads`
    has the loads of the experts of each layer, where layers differ. `adapters` are those that requests may choose.
    """
    model: Model
    gpus: int
    tp: int = 1
    pp: int = 1
    ep: int = 1
    dtype: str = "bfloat16"
    cache: str = "bfloat16"
    exchange: Exchange = Exchange()
    precise: Precise = Precise()
    lengths: Optional[Tuple[int, int]] = None
    dp: int = 0
    quantization: Optional[Quantization] = None
    redundant: Optional[int] = None
    layer_loads: Tuple[placement.Loads, ...] = ()
    adapters: Optional[Adapters] = None

    def __post_init__(self) -> None:
        model, per_instance = self.model, self.tp * self.pp * self.replicas
        for name, size in (("GPUs", self.gpus), ("TP", self.tp), ("PP", self.pp), ("EP", self.ep),
                           ("DP", self.replicas)):
            if size < 1:
                raise InputError(f"{name} is {size}; expected at least 1")
        if self.gpus % per_instance:
            raise InputError(f"TP {self.tp} x PP {self.pp} x {f'DP {self.dp}' if self.dp else f'EP {self.ep}'} = "
                             f"{per_instance} does not divide {self.gpus} GPUs; expected whole instances")
        self._check_experts()
        for shaped in model.variants():
            self._check_sizes(shaped)
        if self.pp > model.layers:
            raise InputError(f"PP {self.pp} is more than {model.layers} layers; expected a layer for every stage")

    def _check_experts(self) -> None:
        if self.dp and not self.model.experts and self.dp * self.ep > 1:
            raise InputError(f"{self.model.name} has no experts for replicas or ranks to share; expected --dp 1 and no "
                             "--enable_expert_parallel")
        if self.ep > max(self.model.experts, 1) + (self.redundant or 0):
            raise InputError(f"EP {self.ep} is more than {self.model.experts} experts; expected an expert for each "
                             "rank")
        if self.redundant is not None and (self.ep == 1 or not 0 <= self.redundant <= MOST_COPIES):
            raise InputError(f"--redundant_experts {self.redundant} with EP {self.ep}; expected 0 to {MOST_COPIES}, and "
                             "experts on several ranks (--ep)")
        ranks = self.tp * self.replicas
        if self.ep not in (1, ranks, self.replicas) and (self.replicas > 1 or ranks % self.ep):
            raise InputError(f"EP {self.ep} does not go with TP {self.tp} and DP {self.replicas}; expected "
                             f"{f'1 or {ranks}' if self.replicas > 1 else f'a divisor of {ranks}'}")
        if self.exchange.dispatcher == "allgather":
            return
        if self.replicas > 1 and self.ep == 1:
            raise InputError(f"experts that are cut by TP x DP need the tokens of all replicas; expected "
                             f"--moe_dispatcher allgather, not {self.exchange.dispatcher}")
        if self.replicas == 1 and self.ep not in (1, self.tp):
            raise InputError(f"--moe_dispatcher {self.exchange.dispatcher} sends tokens to whole experts; expected "
                             f"EP {self.tp}, or --moe_dispatcher allgather")

    def _check_sizes(self, model: "Model") -> None:
        if model.expert_ffn % self.expert_parts:
            raise InputError(f"TP {self.expert_parts} does not divide {model.expert_ffn} of the experts' columns; "
                             "expected a divisor")
        for size, what in ((model.heads, "attention heads"), (model.ffn, "of the FFN's columns"),
                           *((count, f"heads of {layers}") for count, layers in model.split_heads())):
            if size % self.tp:
                raise InputError(f"TP {self.tp} does not divide {size} {what}; expected a divisor")
        if max(model.kv_heads, self.tp) % min(model.kv_heads, self.tp):
            raise InputError(f"TP {self.tp} and {model.kv_heads} key-value heads do not divide one another; "
                             "expected a divisor or a multiple")

    def describe(self, last: str = ",") -> str:
        """@return the sizes as text @param last separator before EP"""
        return f"TP {self.tp}, PP {self.pp}{f', DP {self.dp}' if self.dp else ''}{last} EP {self.ep}"

    @property
    def replicas(self) -> int:
        """The number of replicas of the attention layers."""
        return self.dp or self.ep

    @property
    def expert_parts(self) -> int:
        """The number of ranks that divide an expert."""
        return self.tp * self.replicas // self.ep

    @property
    def exchanges(self) -> bool:
        """Whether ranks send tokens to experts. Otherwise each rank of a tensor-parallel group has all tokens, and an
        AllReduce adds up the outputs of its experts (as in vLLM and TensorRT-LLM)."""
        return self.replicas > 1 or self.ep > 1 and self.exchange.dispatcher != "allgather"

    @property
    def exchange_ranks(self) -> int:
        """The size of a group that exchanges tokens: one rank of each replica if all ranks divide all experts."""
        return max(self.ep, self.replicas)

    @property
    def one_token(self) -> "Parallelism":
        """The parallelism of a step of one token, from which figures per token follow."""
        return Parallelism(world_size=self.tp * self.pp * self.replicas, tp=self.tp, pp=self.pp, ep=self.ep,
                           etp=self.expert_parts, redundant_experts=self.redundant or 0, sequence=1,
                           adapters=self.adapters)

    def stages(self) -> list[slice]:
        """@return the layers of each pipeline stage, as slices of all"""
        ends = list(itertools.accumulate(self.one_token.stage_layers(self.model.layers), initial=0))
        return [slice(first, end) for first, end in itertools.pairwise(ends)]

    # -- the cache

    @functools.cached_property
    def kept(self) -> "Cache":
        """The bytes that a rank keeps of sequences."""
        return cache.Cache(self)

    @property
    def cached_heads(self) -> int:
        """Heads that a layer keeps in the cache. A latent cache counts as one, which every rank keeps."""
        return self.model.attention.cached_heads(self.model)

    @property
    def head_bytes(self) -> float:
        """Bytes of a token in one head of a layer, where all layers are alike."""
        return self.model.attention.cached(self.model, self.cached_heads, CACHE_BYTES[self.cache])

    @property
    def serving(self) -> "Serving":
        """The shape of a rank, as mixers ask for it."""
        return Serving(self.one_token, CACHE_BYTES[self.cache], self.lengths)

    # -- rows

    def rows(self) -> "list[Row]":
        model = self.model
        kinds = [model.layer_kind(index) for index in range(model.layers)]
        result = self._embedding()
        for first, last, kind in _runs(kinds):
            layers = "all" if last - first + 1 == model.layers else f"{first}-{last}"
            result += [dataclasses.replace(row, layers=layers) for row in self._layer(kind)]
        return result + self._head()

    @property
    def window(self) -> int:
        """Tokens of a window of attention, or 0. Layers with attention in chunks keep all tokens in the cache."""
        return 0 if self.model.window_is_chunk else self.model.window

    def _row(self, operator: "Operator", layers: str = "all") -> "Row":
        """An operator of one token as a row."""
        if operator.kind == "memory":
            return Row(operator.name, layers, "memory", (operator.bytes,))
        if self.adapters and is_thin(operator.name):
            step = "shrink" if operator.name.endswith(INWARD) else "expand"
            return Row(f"{base(operator.name)}_lora_{step}", layers, "memory", (0,), thin=(operator, self.adapters))
        _, n, k, count = operator.shape
        return Row(operator.name, layers, f"matmul{self._suffix(operator)}", (n, k, count),
                   weight=self._few_bits(operator))

    def _mixer(self, kind: "LayerKind") -> "Iterator[Row]":
        """@return rows of the operators that mix the tokens of a layer: attention, or a state"""
        for part, some in operators.mixer_parts(self.model, self.one_token, kind):
            rows = [self._mixing(operator, part, kind) if operator.kind in ("attention", "fused")
                    else self._row(operator) for operator in operators.with_adapters(self.one_token, some)]
            yield from self._squares_added(_latents_together(rows))

    def _squares_added(self, rows: "Sequence[Row]") -> "Iterator[Row]":
        """@return the rows; where a norm of queries and keys is of all heads together, ranks add up two sums of each
        token in float32 before it"""
        for row in rows:
            if row.kind.startswith("attention") and self.model.qk_norm_whole and self.tp > 1:
                columns = row.heads.head_dim * (row.heads.heads + row.heads.kv_heads) if row.heads else 0
                yield Row("qk_squares", "all", "memory", (ELEMENT * columns,), "ALLREDUCE_TP", 2 * FLOAT32)
            yield row

    def _mixing(self, operator: "Operator", part: "Mixer", kind: "LayerKind") -> "Row":
        """@return the row of an operator that reads the keys and values of earlier tokens, or a state in place of
        them"""
        served = part.served(self.model, kind, operator, self.serving)
        if served is None:
            state = part.state_bytes(self.model, kind, self.tp, CACHE_BYTES[self.cache])
            return Row(operator.name, "all", "linear", (state,), scan=operator)
        return Row(operator.name, "all", "attention_window" if served.windowed else "attention",
                   (served.flops, served.read, served.moved),
                   reach=served.reach, heads=served.heads, latent_width=served.latent_width)

    def dtype_of(self, operator: "Operator") -> str:
        """@return the type of the operator's weights"""
        if operator.kind != "matmul" or operator.name in ALWAYS_BFLOAT16 or is_thin(operator.name):
            return "bfloat16"
        return self.precise.of_operator(operator.name) or self.dtype

    def _suffix(self, operator: "Operator") -> str:
        dtype = self.dtype_of(operator)
        return "" if dtype == "bfloat16" else f"_{dtype}"

    def weight_bytes(self, operator: "Operator") -> float:
        """@return bytes of an operator's parameters; biases are few, and count as weights"""
        return operator.parameters * (self._few_bits(operator) or FACTOR_BYTES[self.dtype_of(operator)])

    def _few_bits(self, operator: "Operator") -> float:
        """@return bytes of a weight if weights are quantized and the product computes with bfloat16; otherwise 0"""
        kind = self.quantization
        if not kind or operator.kind != "matmul" or operator.name in ALWAYS_BFLOAT16 or is_thin(operator.name):
            return 0.0
        return kind.weight_bytes if memory.is_expert(operator) or not kind.experts_only else 0.0

    @property
    def fullest(self) -> float:
        """The tokens of the fullest rank's experts over those of the mean rank, averaged over layers. The other ranks
        wait for the fullest."""
        if not self.model.experts:
            return 1
        layers = self.layer_loads or (self.exchange.loads or (1.0,) * self.model.experts,)
        return sum(placement.fullest(loads, self.ep, self.redundant) for loads in layers) / len(layers)

    @property
    def share(self) -> float:
        """Tokens for experts of the fullest rank, per token of the instance."""
        return self.model.experts_per_token / self.ep * self.fullest

    def _expert_rows(self) -> "Iterator[Row]":
        work = list(operators.experts(self.model, self.one_token))
        tokens, _, _, local = work[0].shape  # tokens of each expert
        for operator in work:
            if operator.kind == "memory":
                yield Row(operator.name, "all", "expert_memory", (operator.bytes / (tokens * local), self.share))
                continue
            _, n, k, _ = operator.shape
            yield Row(operator.name, "all", f"experts{self._suffix(operator)}", (n, k, local, self.share),
                      weight=self._few_bits(operator))

    def _reduced(self, row: "Row") -> "Row":
        return row.followed_by("ALLREDUCE_TP", ELEMENT * self.model.hidden) if self.tp > 1 else row

    def _layer(self, kind: "LayerKind") -> "list[Row]":
        """@return rows of a layer of this kind"""
        if kind.shape >= 0:
            return dataclasses.replace(self, model=self.model.shaped(kind))._layer(kind._replace(shape=-1))
        plan, model = self.one_token, self.model
        rows = list(self._mixer(kind))
        if rows:
            rows[-1] = self._reduced(rows[-1])
            rows = self._streams("mixer_streams") + rows
        if not kind.feeds:
            return rows
        rows += self._streams("feed_streams")
        if not kind.experts:
            rows += [self._row(operator)
                     for operator in operators.with_adapters(plan, operators.dense_mlp(model, plan))]
        else:
            rows += self._experts()
        if rows[-1].collective == "NONE":
            rows[-1] = self._reduced(rows[-1])
        return rows

    def _streams(self, name: str) -> "list[Row]":
        return [self._row(operator) for operator in operators.streams(name, self.model, 1)]

    def _sent(self, number_bytes: float) -> float:
        """@return bytes that a rank sends per token to the ranks of its group together, the same to each, or gets back.
        The ranks of a tensor-parallel group have the same tokens, so each sends its part of them; if all ranks divide
        all experts, each sends all tokens to its peers of the other replicas."""
        model, dispatcher = self.model, self.exchange.dispatcher
        if dispatcher == "allgather":
            return number_bytes * self.exchange_ranks * model.expert_hidden / (self.tp if self.ep > 1 else 1)
        copies = model.experts_per_token if dispatcher == "alltoall" else distinct(self.ep, model.experts,
            model.experts_per_token)
        return number_bytes * copies * model.expert_hidden * self.fullest / self.tp

    def _experts(self) -> "list[Row]":
        plan, model = self.one_token, self.model
        rows = [self._row(operator) for operator in operators.router(model, plan)]
        dispatch, combine = (self._row(operators.permute(name, model, plan)) for name in ("dispatch", "combine"))
        work = list(self._expert_rows())
        if not self.exchanges:
            # Nothing is sent: a rank picks the tokens of its own experts.
            dispatch, combine = (dataclasses.replace(row, figures=(row.figures[0] / self.ep,))
                                 for row in (dispatch, combine))
        else:
            dispatch = dispatch.followed_by("ALLTOALL_EP", self._sent(self.exchange.dispatch_bytes))
            combine = combine.followed_by("ALLTOALL_EP", self._sent(ELEMENT))
            if self.expert_parts == self.tp > 1:
                tokens = ELEMENT * model.experts_per_token * model.expert_hidden * self.fullest
                work = [Row("gather", "all", "memory", (0,), "ALLGATHER_TP", tokens), *work]
                work[-1] = work[-1].followed_by("REDUCESCATTER_TP", tokens)
        rows += [dispatch, *work, combine]
        if model.expert_latent:
            rows.append(self._row(operators.latent_up(model, plan)))
        if model.shared_ffn:
            rows += [self._row(operator) for operator in operators.shared_experts(model, plan)]
        elif self.exchanges and self.tp > 1:
            collective = "ALLGATHER_TP" if self.ep > 1 else "ALLREDUCE_TP"
            rows.append(Row("collect", "all", "memory", (0,), collective, ELEMENT * model.hidden))
        return rows

    def _embedding(self) -> "list[Row]":
        [operator] = operators.embedding(self.model, self.one_token)
        return [self._reduced(self._row(operator, "first"))]

    def _head(self) -> "list[Row]":
        norm, logits, _ = operators.head(self.model, self.one_token)
        row = self._row(logits, "last")
        if self.tp > 1:
            row = row.followed_by("ALLGATHER_TP", ELEMENT * self.model.vocabulary)
        return [self._row(norm, "last"), row]

    # -- memory

    def weights_of_stage(self, stage: int, only_adapters: bool = False) -> float:
        """@return bytes of the weights of a rank of a pipeline stage"""
        layers, ends = memory.stage_operators(self.model, self.one_token, stage)
        return sum(self.weight_bytes(operator) for operator in [*(o for layer in layers for o in layer), *ends]
                   if not only_adapters or is_thin(operator.name))

    def blocks(self, gpu: "Gpu", utilization: float, block_size: int, batch_tokens: int, sequences: int) -> int:
        """@return blocks of the cache on the GPU with the least room, as vLLM counts them @raise InputError: none"""
        room, kept = gpu.memory_bytes * utilization, self.kept
        found = []
        for stage, own in enumerate(self.stages()):
            weights = self.weights_of_stage(stage)
            states = sequences * sum(kept.states[own])
            free = room - weights - states - self._activations(batch_tokens, sequences)
            found.append(int(free * kept.parts // (block_size * sum(kept.tokens[own]))) if sum(kept.tokens[own])
                         else MOST_BLOCKS if free > 0 else 0)
            if found[-1] < 1:
                also = f" and the states of {sequences} sequences {states / 1e9:.1f} GB" if states else ""
                raise InputError(f"{self.model.name} with {self.describe(' and')} leaves no room "
                                 f"for a cache: its "
                                 f"weights take {weights / 1e9:.1f} GB{also} of the {room / 1e9:.1f} GB of {gpu.name} "
                                 f"that may be used; "
                                 f"expected more GPUs for an "
                                 f"instance{', or a smaller --max_num_seqs' if states else ''}")
        return min(found)

    def _activations(self, tokens: int, sequences: int) -> int:
        """Bytes that a step needs at its peak: the residual stream, the widest product, and float32 logits."""
        model = self.model
        inward = 2 if model.gated else 1
        ffn = max(shaped.ffn for shaped in model.variants())
        width = max(inward * ffn // self.tp, model.experts_per_token * (model.hidden
            + inward * model.expert_ffn // self.expert_parts))
        return ELEMENT * tokens * (4 * model.hidden + width) + 4 * sequences * model.vocabulary


def _latents_together(rows: "list[Row]") -> "list[Row]":
    """@return the rows, with one product for the latents of queries, keys and values: servers of all engines join the
    weights (fused_qkv_a_proj of vLLM and SGLang, kv_a_proj_with_mqa of TensorRT-LLM's modeling_deepseekv3.py)"""
    named = {row.name: row for row in rows}
    down, keys = named.get("query_down"), named.get("key_value_down")
    if not down or not keys or (down.kind, down.figures[1:], down.weight) != (keys.kind, keys.figures[1:], keys.weight):
        return rows
    joined = dataclasses.replace(down, name="latent_down",
                                 figures=(down.figures[0] + keys.figures[0], *down.figures[1:]))
    return [joined if row is down else row for row in rows if row is not keys]


def _runs(kinds: "Sequence[LayerKind]") -> "Iterator[tuple[int, int, LayerKind]]":
    """Yields the first and the last index of each run of equal layers, and their kind."""
    first = 0
    for index in range(1, len(kinds) + 1):
        if index == len(kinds) or kinds[index] != kinds[first]:
            yield first, index - 1, kinds[first]
            first = index
