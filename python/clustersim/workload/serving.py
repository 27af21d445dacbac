# SPDX-License-Identifier: GPL-2.0-only
"""Computation and communication of a serving instance's ranks, as rows of an INFERENCE file.

An instance has TP x EP x PP ranks: EP replicas of the attention layers share their experts. The operators are those of
training (`operators`), by token: the simulator knows how many tokens a step has, and times each operator's roofline, or interpolates the
measured times that `serving_times` adds to the rows.
"""
import dataclasses
import math
from typing import Optional

from clustersim.workload import memory, operators
from clustersim.workload.errors import InputError
from clustersim.workload.exchange import Exchange, distinct
from clustersim.workload.kernels.roofline import FACTOR_BYTES
from clustersim.workload.operators import ALWAYS_BFLOAT16, ELEMENT
from clustersim.workload.parallel import Parallelism
from clustersim.workload.precision import Precise
from clustersim.workload.serving_reach import Chunks, Reach

DTYPES = ("bfloat16", "fp8", "nvfp4")  # of products
DISPATCHERS = ("alltoall", "deepep", "allgather")
CACHE_BYTES = {"bfloat16": 2, "fp8": 1}  # of a number of keys and values


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    layers: str  # all, first, last, or a range
    kind: str
    figures: tuple
    collective: str = "NONE"
    bytes: float = 0.0  # per token
    times: tuple = ()  # lines of times
    reach: Optional[Reach] = None  # of attention to some of the tokens before a token

    def text(self):
        figures = " ".join(f"{figure:.12g}" for figure in self.figures)
        return "\n".join([f"row {self.name} {self.layers} {self.kind} {figures} {self.collective} {self.bytes:.12g}", *self.times])

    def followed_by(self, collective, bytes_):
        return dataclasses.replace(self, collective=collective, bytes=bytes_)


@dataclasses.dataclass(frozen=True)
class Instance:
    """One instance of a model. `gpus` are those of all instances of its pool.

    `dtype` is that of weights and factors of products, `cache` that of keys and values. `precise` has products of another type,
    `exchange` says how tokens reach their experts, and how uneven these are.
    """
    model: object
    gpus: int
    tp: int = 1
    pp: int = 1
    ep: int = 1
    dtype: str = "bfloat16"
    cache: str = "bfloat16"
    exchange: Exchange = Exchange()
    precise: Precise = Precise()

    def __post_init__(self):
        model, per_instance = self.model, self.tp * self.pp * self.ep
        for name, size in (("GPUs", self.gpus), ("TP", self.tp), ("PP", self.pp), ("EP", self.ep)):
            if size < 1:
                raise InputError(f"{name} is {size}; expected at least 1")
        if self.gpus % per_instance:
            raise InputError(f"TP {self.tp} x PP {self.pp} x EP {self.ep} = {per_instance} does not divide {self.gpus} GPUs; "
                             "expected whole instances")
        for size, what in ((model.heads, "attention heads"), (model.ffn, "of the FFN's columns"),
                           (model.expert_ffn, "of the experts' columns")):
            if size % self.tp:
                raise InputError(f"TP {self.tp} does not divide {size} {what}; expected a divisor")
        if max(model.kv_heads, self.tp) % min(model.kv_heads, self.tp):
            raise InputError(f"TP {self.tp} and {model.kv_heads} key-value heads do not divide one another; "
                             "expected a divisor or a multiple")
        if max(model.experts, 1) % self.ep:
            raise InputError(f"EP {self.ep} does not divide the model's {model.experts} experts; expected a divisor")
        if model.pattern or model.linear or model.expert_latent or model.output_gate or model.sparse:
            raise InputError(f"{model.name} has layers whose state is no cache of keys and values; expected a model of attention alone")
        if self.pp > model.layers:
            raise InputError(f"PP {self.pp} is more than {model.layers} layers; expected a layer for every stage")

    @property
    def one_token(self):
        """A plan of one token, for figures per token."""
        return Parallelism(world_size=self.tp * self.pp * self.ep, tp=self.tp, pp=self.pp, ep=self.ep, sequence=1)

    # -- the cache

    @property
    def cached_heads(self):
        """Of a layer: a latent cache is one, which every rank keeps."""
        return 1 if self.model.latent else self.model.kv_heads

    @property
    def head_bytes(self):
        """Of a token, a layer and a head."""
        latent, element = self.model.latent, CACHE_BYTES[self.cache]
        return element * (latent.kv_rank + latent.rope_dim) if latent else 2 * element * self.model.head_dim

    @property
    def rank_bytes(self):
        """Of a token and a layer, on one rank."""
        return max(self.cached_heads // self.tp, 1) * self.head_bytes

    # -- rows

    def rows(self):
        model = self.model
        kinds = [model.layer_kind(index) for index in range(model.layers)]
        result = self._embedding()
        for first, last, kind in _runs(kinds):
            layers = "all" if last - first + 1 == model.layers else f"{first}-{last}"
            result += [dataclasses.replace(row, layers=layers) for row in self._layer(kind)]
        return result + self._head()

    @property
    def window(self):
        """Tokens of a window of attention, or 0. Caches keep all tokens of layers whose attention has chunks."""
        return 0 if self.model.window_is_chunk else self.model.window

    @property
    def window_layers(self):
        return sum(map(self.model.has_window, range(self.model.layers))) if self.window else 0

    @property
    def layers_of_block(self):
        """Layers whose keys and values a block of the cache holds: with windows, as many as divide layers with and without one."""
        layers, windowed = self.model.layers, self.window_layers
        return math.gcd(layers - windowed, windowed) if windowed else layers

    def _row(self, operator, layers="all", has_window=False):
        """An operator of one token as a row."""
        if operator.kind == "attention":
            model = self.model
            query, value = model.query_width // self.tp, model.value_width // self.tp
            moved = ELEMENT * (query + value) + self.rank_bytes
            reach = Chunks(model.window) if has_window and model.window_is_chunk else None
            kind = "attention_window" if has_window and self.window else "attention"
            return Row(operator.name, layers, kind, (2 * (query + value), self.rank_bytes, moved), reach=reach)
        if operator.kind == "memory":
            return Row(operator.name, layers, "memory", (operator.bytes,))
        _, n, k, count = operator.shape
        return Row(operator.name, layers, f"matmul{self._suffix(operator)}", (n, k, count))

    def dtype_of(self, operator):
        """@return the type of the operator's weights"""
        if operator.kind != "matmul" or operator.name in ALWAYS_BFLOAT16:
            return "bfloat16"
        return self.precise.of_operator(operator.name) or self.dtype

    def _suffix(self, operator):
        dtype = self.dtype_of(operator)
        return "" if dtype == "bfloat16" else f"_{dtype}"

    def weight_bytes(self, operator):
        """Biases and the like count as weights: they are few."""
        return operator.parameters * FACTOR_BYTES[self.dtype_of(operator)]

    @property
    def fullest(self):
        """Tokens that come to the fullest rank's experts / the mean: the others wait for it."""
        return self.exchange.slowest(self.model.experts, self.ep) if self.model.experts else 1

    def _expert_row(self, operator):
        share = self.model.experts_per_token / self.ep * self.fullest  # tokens that come per token of the instance
        if operator.kind == "memory":
            # That of one token for each of the rank's experts.
            local = self.model.experts // self.ep
            return Row(operator.name, "all", "expert_memory", (operator.bytes / local, share))
        _, n, k, local = operator.shape
        return Row(operator.name, "all", f"experts{self._suffix(operator)}", (n, k, local, share))

    def _reduced(self, row):
        return row.followed_by("ALLREDUCE_TP", ELEMENT * self.model.hidden) if self.tp > 1 else row

    def _layer(self, kind):
        plan, model = self.one_token, self.model
        rows = [self._row(operator, has_window=kind.windowed) for operator in operators.attention(model, plan)]
        rows[-1] = self._reduced(rows[-1])
        if not kind.experts:
            rows += [self._row(operator) for operator in operators.dense_mlp(model, plan)]
        else:
            rows += self._experts()
        if rows[-1].collective == "NONE":
            rows[-1] = self._reduced(rows[-1])
        return rows

    def _sent(self, number_bytes):
        """@return bytes of a token that a replica sends to all ranks' experts, or gets back from them: an EP-th for each"""
        model, dispatcher = self.model, self.exchange.dispatcher
        if dispatcher == "allgather":
            return number_bytes * self.ep * model.hidden
        copies = model.experts_per_token if dispatcher == "alltoall" else distinct(self.ep, model.experts, model.experts_per_token)
        return number_bytes * copies * model.hidden * self.fullest

    def _experts(self):
        plan, model = self.one_token, self.model
        rows = [self._row(operator) for operator in operators.router(model, plan)]
        dispatch = self._row(operators.permute("dispatch", model, plan))
        work = [self._expert_row(operator) for operator in operators.experts(model, plan)]
        combine = self._row(operators.permute("combine", model, plan))
        if self.ep > 1:
            # The ranks of a tensor-parallel group have the same tokens: each sends its part of them.
            dispatch = dispatch.followed_by("ALLTOALL_EP", self._sent(self.exchange.dispatch_bytes) / self.tp)
            combine = combine.followed_by("ALLTOALL_EP", self._sent(ELEMENT) / self.tp)
            if self.tp > 1:
                tokens = ELEMENT * model.experts_per_token * model.hidden * self.fullest
                work = [Row("gather", "all", "memory", (0,), "ALLGATHER_TP", tokens), *work]
                work[-1] = work[-1].followed_by("REDUCESCATTER_TP", tokens)
        rows += [dispatch, *work, combine]
        if model.shared_ffn:
            rows += [self._row(operator) for operator in operators.shared_experts(model, plan)]
        elif self.ep > 1 and self.tp > 1:
            rows.append(Row("collect", "all", "memory", (0,), "ALLGATHER_TP", ELEMENT * model.hidden))
        return rows

    def _embedding(self):
        [operator] = operators.embedding(self.model, self.one_token)
        return [self._reduced(self._row(operator, "first"))]

    def _head(self):
        norm, logits, _ = operators.head(self.model, self.one_token)
        row = self._row(logits, "last")
        if self.tp > 1:
            row = row.followed_by("ALLGATHER_TP", ELEMENT * self.model.vocabulary)
        return [self._row(norm, "last"), row]

    # -- memory

    def blocks(self, gpu, utilization, block_size, batch_tokens, sequences):
        """@return blocks of the cache that fit on the GPU that has least room, as vLLM counts them; refuses none"""
        room = gpu.memory_gb * 1e9 * utilization
        fewest = None
        counts = self.one_token.stage_layers(self.model.layers)
        parts = self.model.layers // self.layers_of_block
        for stage in range(self.pp):
            layers, ends = memory.stage_operators(self.model, self.one_token, stage)
            weights = sum(self.weight_bytes(operator) for operator in [*(o for layer in layers for o in layer), *ends])
            free = room - weights - self._activations(batch_tokens, sequences)
            count = int(free * parts // (block_size * self.rank_bytes * counts[stage]))
            if count < 1:
                raise InputError(f"{self.model.name} with TP {self.tp}, PP {self.pp} and EP {self.ep} leaves no room for a cache: its "
                                 f"weights take {weights / 1e9:.1f} GB of the {room / 1e9:.1f} GB of {gpu.name} that may be used; "
                                 "expected more GPUs for an instance")
            fewest = count if fewest is None else min(fewest, count)
        return fewest

    def _activations(self, tokens, sequences):
        """Bytes that a step needs at its peak: the residual stream, the widest product, and float32 logits."""
        model = self.model
        inward = 2 if model.gated else 1
        width = max(inward * model.ffn // self.tp, model.experts_per_token * (model.hidden + inward * model.expert_ffn // self.tp))
        return ELEMENT * tokens * (4 * model.hidden + width) + 4 * sequences * model.vocabulary


def _runs(kinds):
    """Yields first and last index of neighbours that are alike, and what they are."""
    first = 0
    for index in range(1, len(kinds) + 1):
        if index == len(kinds) or kinds[index] != kinds[first]:
            yield first, index - 1, kinds[first]
            first = index
