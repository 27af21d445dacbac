# SPDX-License-Identifier: GPL-2.0-only
"""The computation of a rank for one micro-batch: operators with their work, weights, and the tensors that they keep for backward.

Activations are bfloat16. What is kept follows Korthikanti et al., Reducing Activation Recomputation in Large Transformer
Models (arXiv 2205.05198), for attention that does not store its scores.
"""
import dataclasses
import functools
from typing import Any, Optional, Tuple, TYPE_CHECKING
from collections.abc import Iterator, Sequence

from clustersim.workload.plan import adapters

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import LayerKind
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.parallel import Parallelism

ELEMENT = 2  # bytes of a bfloat16


# Products that training and inference leave in bfloat16 when others have 8-bit or 4-bit factors.
ALWAYS_BFLOAT16 = {"logits", "router", "shared_gate"}
AFTER_NORM = {"qkv", "query", "query_down", "key_value_down", "key_value", "gate", "mlp_up", "shared_up", "logits", "router", "shared_gate"}


@dataclasses.dataclass(frozen=True)
class Heads:
    """Arguments of a rank's kernel of fused, causal attention. Widths are in elements."""
    sequences: int
    tokens: int  # queries of a sequence on this rank
    heads: int
    kv_heads: int
    head_dim: int  # of queries and keys
    value_dim: int
    window: int = 0  # tokens that a token attends to at most; 0: all before it
    keys: int = 0  # of a sequence, those of the other ranks of context parallelism included; 0: as many as queries


@dataclasses.dataclass(frozen=True)
class Operator:
    """One kernel, or a few of the same kind. All figures are of one rank and one micro-batch."""
    name: str
    kind: str  # matmul, attention, memory, or fused: products and what is between them, as a scan of chunks
    bytes: float  # that it reads and writes, forward
    flops: float = 0.0  # forward
    shape: Tuple[int, int, int, int] = (0, 0, 0, 1)  # of products: m, n, k and how many, of experts one each
    parameters: int = 0
    kept: float = 0.0  # bytes that backward needs
    heads: Optional[Heads] = None  # of attention
    precision: str = ""  # of a product's factors; "": the GPU's

    @property
    def after_norm(self) -> bool:
        """Whether a product reads what a norm has written."""
        return self.name in AFTER_NORM


def _matmul(name: str, m: int, n: int, k: int, count: int = 1, bias: int = 0, kept: int | None = None) -> "Operator":
    m = max(m, 1)
    return Operator(name, "matmul", ELEMENT * count * (m * k + k * n + m * n), 2.0 * m * n * k * count, (m, n, k, count),
                    count * k * n + bias, ELEMENT * m * k * count if kept is None else kept,
                    precision="bfloat16" if name in ALWAYS_BFLOAT16 else "")


def _norm(name: str, model: "Model", tokens: int) -> "Operator":
    moved = ELEMENT * tokens * model.hidden
    # Two reads and two writes: the residual stream is updated in the same kernel.
    return Operator(name, "memory", 4 * moved, parameters=model.norm_parameters, kept=moved)


def heads_of(model: "Model", plan: "Parallelism", has_window: bool) -> "Heads":
    """@return the Heads of a layer's attention on a rank"""
    heads, latent = model.heads // plan.tp, model.latent
    return Heads(plan.micro_batch, max(plan.sequence // plan.cp, 1), heads,
                 heads if latent else max(model.kv_heads // plan.tp, 1),
                 latent.nope_dim + latent.rope_dim if latent else model.head_dim,
                 latent.value_dim if latent else model.value_size, model.window if has_window else 0, plan.sequence)


def attention(model: "Model", plan: "Parallelism", has_window: bool = False) -> "Iterator[Operator]":
    """@return operators of a layer's attention, in their order"""
    h, tokens, local = model.hidden, plan.tokens, plan.local_tokens
    heads = model.heads // plan.tp
    query, value = model.query_width // plan.tp, model.value_width // plan.tp
    yield _norm("input_norm", model, local)
    if model.latent:
        a = model.latent
        keys, cached = query, heads * (a.nope_dim + a.value_dim)
        if a.q_rank:
            yield _matmul("query_down", local, a.q_rank, h, bias=a.q_rank, kept=0)
            yield _matmul("query_up", tokens, query, a.q_rank)
        else:
            yield _matmul("query", tokens, query, h, kept=0)
        yield _matmul("key_value_down", local, a.kv_rank + a.rope_dim, h, bias=a.kv_rank)
        yield _matmul("key_value_up", tokens, cached, a.kv_rank)
        if model.output_gate:
            yield _matmul("gate", tokens, value, h, kept=0)
    else:
        keys = max(model.kv_heads // plan.tp, 1) * model.head_dim
        yield from _queries_keys_values(model, plan)
    if model.sparse and model.indexer != "none":
        yield from _chosen(model, plan)
        yield from _result(model, plan)
        return
    scores = plan.micro_batch * attended(model, plan, has_window) / plan.cp
    kept_kv = query + value if model.latent else 2 * keys
    yield Operator("attention", "attention", ELEMENT * tokens * (query + keys + 2 * value), 2 * scores * (query + value),
                   kept=ELEMENT * tokens * (query + kept_kv), heads=heads_of(model, plan, has_window))
    yield from _result(model, plan)


def _queries_keys_values(model: "Model", plan: "Parallelism") -> "Iterator[Operator]":
    """Products that make a rank's queries, keys and values of a layer's input."""
    h, query = model.hidden, model.query_width // plan.tp
    keys, values = (max(width // plan.tp, min(width, size)) for width, size in zip(model.key_value_widths, (model.head_dim, model.value_size)))
    gate = model.value_width // plan.tp if model.output_gate else 0
    norms = 2 * model.head_dim if model.qk_norm else 0
    kept = ELEMENT * plan.input_tokens * h
    has_bias = model.bias or model.qkv_bias
    if model.query_rank:
        yield _matmul("query_down", plan.local_tokens, model.query_rank, h, bias=model.query_rank, kept=0)
        yield _matmul("query_up", plan.tokens, query, model.query_rank)
        yield _matmul("key_value", plan.tokens, keys + values + gate, h, bias=norms, kept=kept)
    else:
        width = query + gate + keys + values
        yield _matmul("qkv", plan.tokens, width, h, bias=(width if has_bias else 0) + norms, kept=kept)


def _result(model: "Model", plan: "Parallelism") -> "Iterator[Operator]":
    """The gate and the product that follow attention."""
    value = model.value_width // plan.tp
    if model.output_gate:
        yield Operator("output_gate", "memory", ELEMENT * plan.tokens * 3 * value, kept=ELEMENT * plan.tokens * 2 * value)
    yield _matmul("projection", plan.tokens, model.hidden, value, bias=model.hidden if model.bias else 0)


def _chosen(model, plan) -> "Iterator[Operator]":
    """Attention to tokens that an indexer chooses."""
    latent, sequence = model.latent, plan.sequence
    if model.indexer == "own":
        yield from _indexer(model, plan, latent.q_rank if latent else model.hidden, model.hidden, sequence)
    pairs = model.attended_of(sequence, model.sparse.top)
    if latent:
        yield _sparse_attention(model, plan, latent.kv_rank + latent.rope_dim, latent.kv_rank, pairs)
    else:
        yield _sparse_attention(model, plan, model.head_dim, model.value_size, pairs)


def _indexer(model, plan, q_rank, key_inputs, entries) -> "Iterator[Operator]":
    """Scores of a sequence's earlier entries for each token, of which the highest are chosen. Every rank of a TP group computes them."""
    i, tokens = model.sparse, plan.tokens
    yield _matmul("index_query", tokens, i.heads * i.head_dim, q_rank, kept=0)
    yield _matmul("index_key", tokens, i.head_dim, key_inputs, kept=0)
    yield _matmul("index_weights", tokens, i.heads, model.hidden, kept=0)
    pairs = plan.micro_batch * plan.sequence * entries / 2 / plan.cp
    moved = ELEMENT * tokens * i.head_dim * (i.heads + 1) + 4 * tokens * min(i.top, entries)
    yield Operator("index_scores", "fused", moved, 2 * pairs * i.heads * i.head_dim, kept=moved)


def _sparse_attention(model: "Model", plan: "Parallelism", key_dim: int, value_dim: int, pairs: float) -> "Operator":
    """Every head reads the keys of one, whose first columns are values."""
    heads, tokens = model.heads // plan.tp, plan.tokens
    columns = heads * (key_dim + value_dim) + key_dim
    flops = 2 * plan.micro_batch * pairs / plan.cp * heads * (key_dim + value_dim)
    return Operator("attention", "fused", ELEMENT * tokens * columns, flops,
                    kept=ELEMENT * tokens * (heads * key_dim + key_dim))


def compressed_attention(model, plan, ratio) -> "Iterator[Operator]":
    """DeepSeek-V4's attention: to a window, and to entries of `ratio` tokens each, all of them or those that an indexer chooses."""
    a, h, tokens, dim = model.compressed, model.hidden, plan.tokens, model.head_dim
    query, parts, sequence = model.query_width // plan.tp, a.parts(ratio), plan.sequence
    yield _norm("input_norm", model, plan.local_tokens)
    yield _matmul("query_down", plan.local_tokens, a.q_rank, h, bias=a.q_rank)
    yield _matmul("query_up", tokens, query, a.q_rank)
    yield _matmul("key_value_down", plan.local_tokens, dim, h, kept=0)
    pairs = model.attended_of(sequence, model.window)
    if ratio:
        entries = max(sequence // ratio, 1)
        yield _matmul("compress", tokens, 2 * parts * dim, h, kept=ELEMENT * tokens * 2 * parts * dim)
        if ratio == a.indexed:
            yield _matmul("index_compress", tokens, (2 * parts - 1) * model.sparse.head_dim, h, kept=0)
            yield from _indexer(model, plan, a.q_rank, h, entries)
            pairs += ratio * model.attended_of(entries, min(model.sparse.top, entries))
        else:
            pairs += sequence * entries / 2
    yield _sparse_attention(model, plan, dim, dim, pairs)
    groups = max(a.output_groups // plan.tp, 1)
    yield _matmul("output_down", tokens, a.output_rank, query // groups, groups)
    yield _matmul("projection", tokens, h, groups * a.output_rank)


def streams(name: str, model: "Model", tokens: int) -> "list[Operator]":
    """@return the operators of a block's residual streams, if there are several"""
    return [_streams(name, model, tokens)] if model.streams > 1 else []


def _streams(name: str, model: "Model", tokens: int) -> "Operator":
    """Hyper-connections: a block reads n streams and writes their mixture, then reads all and its result and writes all: 3 n + 2 times the
    width of one (arXiv 2512.24880)."""
    moved = ELEMENT * tokens * model.hidden
    return Operator(name, "memory", (3 * model.streams + 2) * moved, parameters=model.stream_parameters, kept=model.streams * moved)


def _convolution(name: str, tokens: int, channels: int, taps: int, bias: int = 0) -> "Operator":
    """A depthwise convolution over so many tokens. It reads and writes its channels; its few products hide behind that."""
    return Operator(name, "memory", ELEMENT * 2 * tokens * channels, parameters=(taps + bias) * channels, kept=ELEMENT * tokens * channels)


def state_space(model, plan) -> "Iterator[Operator]":
    """Mamba-2 (arXiv 2405.21060, section 6): of each chunk of C tokens, scores of its tokens (a product for each group: 2 C N operations
    a token), what they make of the input (2 C P for each head), the chunk's state and what earlier states make (4 N P)."""
    m, tokens = model.state_space, plan.tokens
    heads, groups = m.heads // plan.tp, max(m.groups // plan.tp, 1)
    width, convolved = heads * m.head_dim, heads * m.head_dim + 2 * groups * m.state
    yield _norm("input_norm", model, plan.local_tokens)
    if m.step_rank:
        yield from _channel_space(model, plan)
        return
    yield _matmul("mamba_in", tokens, width + convolved + heads, model.hidden, kept=ELEMENT * plan.input_tokens * model.hidden)
    yield _convolution("mamba_conv", tokens, convolved, m.conv, bias=1)
    states = 4 * tokens / m.chunk * width * m.state  # float32
    scores = 4 * tokens * m.chunk * groups
    flops = tokens * (2 * m.chunk * m.state * groups + width * (2 * m.chunk + 4 * m.state))
    # Its kernels (ops/triton/ssd_combined.py of state-spaces/mamba): scores; states; states passed on from chunk to chunk; the result.
    # So inputs are read twice, scores written and read, and states written and read twice.
    moved = ELEMENT * tokens * (2 * convolved + width + heads) + 2 * scores + 4 * states
    yield Operator("mamba_scan", "fused", moved, flops, parameters=3 * heads, kept=ELEMENT * tokens * (convolved + heads) + states)
    # The norm gates with as many columns.
    yield Operator("mamba_norm", "memory", ELEMENT * 3 * tokens * width, parameters=width, kept=ELEMENT * 2 * tokens * width)
    yield _matmul("mamba_out", tokens, model.hidden, width)


def _channel_space(model, plan) -> Iterator[Any]:
    """Mamba (arXiv 2312.00752, section 3.3): its scan decays and adds to N states of each channel and reads them, 9 operations each, and stays on the
    chip; it reads the channels, steps, what goes into and out of states, and a gate."""
    m, tokens = model.state_space, plan.tokens
    width = m.width // plan.tp
    yield _matmul("mamba_in", tokens, 2 * width, model.hidden, kept=ELEMENT * plan.input_tokens * model.hidden)
    yield _convolution("mamba_conv", tokens, width, m.conv, bias=1)
    yield _matmul("mamba_steps_down", tokens, m.step_rank + 2 * m.state, width)
    yield _matmul("mamba_steps_up", tokens, width, m.step_rank)
    moved = ELEMENT * tokens * (4 * width + 2 * m.state)
    yield Operator("mamba_scan", "fused", moved, 9.0 * tokens * width * m.state, parameters=width * (m.state + 2), kept=moved)
    yield Operator("mamba_norm", "memory", ELEMENT * 3 * tokens * width, parameters=width, kept=ELEMENT * 2 * tokens * width)
    yield _matmul("mamba_out", tokens, model.hidden, width)


def short_convolution(model, plan) -> Iterator[Any]:
    """A convolution of a few tokens between two gates, as in LFM2 (arXiv 2511.23404)."""
    h, tokens = model.hidden, plan.tokens
    width = h // plan.tp
    yield _norm("input_norm", model, plan.local_tokens)
    yield _matmul("short_in", tokens, 3 * width, h, kept=ELEMENT * plan.input_tokens * h)
    yield _convolution("short_conv", tokens, width, model.convolution)
    yield Operator("short_gates", "memory", ELEMENT * tokens * 6 * width, kept=ELEMENT * tokens * 3 * width)
    yield _matmul("short_out", tokens, h, width)


def parallel(model, plan, has_window) -> Iterator[Any]:
    """Attention beside a state space, which read the same norm, as in Falcon-H1 (arXiv 2507.22448)."""
    yield from attention(model, plan, has_window)
    yield from (operator for operator in state_space(model, plan) if operator.name != "input_norm")


def linear_attention(model, plan) -> "Iterator[Operator]":
    """A gated delta network in chunks of C tokens (arXiv 2412.06464, section 3.3): for each head and token the products of a chunk's keys
    with each other (2 C K), the inverse of that triangle (C C), what it makes of keys and values (2 C K + 2 C V), queries with keys and
    their sum of values (2 C K + 2 C V), and three products with the state (6 K V)."""
    a, tokens = model.linear, plan.tokens
    heads = a.value_heads // plan.tp
    values, convolved = heads * a.value_dim, a.convolved // plan.tp
    yield _norm("input_norm", model, plan.local_tokens)
    gate, scalars = a.gate_rank or values, a.scalars * heads
    yield _matmul("delta_in", tokens, convolved + gate + a.decay_rank + scalars, model.hidden, kept=ELEMENT * plan.input_tokens * model.hidden)
    if a.gate_rank:
        yield _matmul("delta_gate", tokens, values, a.gate_rank)
    if a.decay_rank:
        yield _matmul("delta_decay", tokens, a.keys // plan.tp, a.decay_rank)
    if a.conv:
        yield _convolution("delta_conv", tokens, convolved, a.conv)
    states = 4 * tokens / a.chunk * values * a.key_dim  # float32
    decays = a.keys // plan.tp if a.decay_rank else 0
    yield Operator("delta_scan", "fused", ELEMENT * tokens * (convolved + values + scalars + decays) + 2 * states, tokens * heads * _delta_flops(a),
                   parameters=2 * heads, kept=ELEMENT * tokens * (convolved + scalars + decays) + states)
    yield Operator("delta_norm", "memory", ELEMENT * 3 * tokens * values, parameters=a.value_dim, kept=ELEMENT * 2 * tokens * values)
    yield _matmul("delta_out", tokens, model.hidden, values)


def _delta_flops(a) -> int:
    """@return operations of linear attention for a token and a head"""
    chunk, key, value = a.chunk, a.key_dim, a.value_dim
    if not a.has_delta:  # queries with keys, their sum of values, and two products with the state
        return chunk * (2 * key + 2 * value) + 4 * key * value
    return chunk * (6 * key + 4 * value + chunk) + 6 * key * value


def mixer(model: "Model", plan: "Parallelism", kind: "LayerKind"):
    """@return operators of what mixes tokens in a layer"""
    if kind.mixer == "attention":
        return attention(model, plan, kind.windowed)
    if kind.mixer == "parallel":
        return parallel(model, plan, kind.windowed)
    if kind.mixer == "compressed":
        return compressed_attention(model, plan, kind.ratio)
    if kind.mixer == "none":
        return ()
    return {"state_space": state_space, "linear": linear_attention, "convolution": short_convolution}[kind.mixer](model, plan)


def attended(model: "Model", plan: "Parallelism", has_window: bool) -> float:
    """@return pairs of a token and one that it attends to in a sequence, which may hold several documents"""
    document = plan.document or plan.sequence
    return plan.sequence // document * model.attended(document, has_window)


def _mlp(model: "Model", plan: "Parallelism", prefix: str, width: int, tokens: int, count: int = 1, kept_input: bool = True, hidden: int | None = None) -> "Iterator[Operator]":
    inward, hidden = 2 if model.gated else 1, hidden or model.hidden
    bias = count * inward * width if model.bias else 0
    kept = ELEMENT * hidden * (plan.input_tokens if kept_input else tokens * count)
    activated = inward + (model.gated and plan.keeping.activated_gate)
    yield _matmul(prefix + "up", tokens, inward * width, hidden, count, bias, kept)
    yield Operator(prefix + "activation", "memory", ELEMENT * tokens * count * (inward + 1) * width,
                   kept=ELEMENT * tokens * count * activated * width)
    yield _matmul(prefix + "down", tokens, hidden, width, count, count * hidden if model.bias else 0)


def dense_mlp(model: "Model", plan: "Parallelism") -> "Iterator[Operator]":
    yield _norm("post_norm", model, plan.local_tokens)
    yield from _mlp(model, plan, "mlp_", model.ffn // plan.tp, plan.tokens)
    if model.layer_inputs:  # of the layer's own embedding, which gates (Gemma 3n)
        yield _matmul("mlp_input_gate", plan.tokens, model.layer_inputs // plan.tp, model.hidden)
        yield _matmul("mlp_input_up", plan.tokens, model.hidden, model.layer_inputs // plan.tp)


def router(model: "Model", plan: "Parallelism") -> "Iterator[Operator]":
    yield _norm("post_norm", model, plan.local_tokens)
    yield _matmul("router", plan.local_tokens, model.experts, model.hidden,
                  bias=model.experts if model.router_bias else 0, kept=0)
    if model.shared_gate:
        yield _matmul("shared_gate", plan.local_tokens, 1, model.hidden, kept=0)
    if model.expert_latent:
        yield _matmul("latent_down", plan.local_tokens, model.expert_latent, model.hidden, kept=0)


def permute(name: str, model: "Model", plan: "Parallelism") -> "Operator":
    """Moves tokens into the order of their experts, or back."""
    moved = ELEMENT * plan.local_tokens * model.experts_per_token * model.expert_hidden
    return Operator(name, "memory", 2 * moved)


def experts(model: "Model", plan: "Parallelism") -> "Iterator[Operator]":
    """The routed experts of the rank that computes most of them."""
    local = model.experts // plan.ep
    # Tokens of all ranks that exchange, times the experts of each, over all experts. Sequence parallelism cuts tokens.
    tokens = plan.local_tokens * plan.expert_tp if plan.sequence_parallel else plan.tokens
    arriving = int(tokens * plan.ep * model.experts_per_token / model.experts * plan.exchange.computed(model.experts, plan.ep))
    yield from _mlp(model, plan, "expert_", model.expert_ffn // plan.expert_tp, max(arriving, 1), local, kept_input=False,
                    hidden=model.expert_hidden)


def latent_up(model: "Model", plan: "Parallelism") -> "Operator":
    return _matmul("latent_up", plan.local_tokens, model.hidden, model.expert_latent)


def shared_experts(model: "Model", plan: "Parallelism") -> "Iterator[Operator]":
    yield from _mlp(model, plan, "shared_", model.shared_ffn // plan.tp, plan.tokens)


def vocabulary_part(model: "Model", plan: "Parallelism") -> int:
    """@return words that a rank holds"""
    return -(-model.vocabulary // plan.tp)


def embedding(model: "Model", plan: "Parallelism") -> "list[Operator]":
    """Words, and words of each layer's own embedding with the product that the layers' inputs add to it, whose time is left out."""
    own = model.layers * model.layer_inputs
    moved = ELEMENT * plan.tokens * (model.hidden + own)
    layers = (-(-model.layer_vocabulary // plan.tp) + model.hidden // plan.tp) * own
    return [Operator("embedding", "memory", 2 * moved, parameters=(vocabulary_part(model, plan) + model.positions) * model.hidden + layers)]


def head(model, plan, owns_weights=True):
    """The last norm, the logits and the loss."""
    columns = vocabulary_part(model, plan)
    yield _norm("final_norm", model, plan.local_tokens)
    logits = _matmul("logits", plan.tokens, columns, model.hidden, kept=ELEMENT * plan.input_tokens * model.hidden)
    yield logits if owns_weights else dataclasses.replace(logits, parameters=0)
    yield Operator("loss", "memory", 3 * 4 * plan.tokens * columns, kept=plan.keeping.logit * plan.tokens * columns)


def _experts_of(model: "Model", plan: "Parallelism") -> "Iterator[Operator]":
    yield from router(model, plan)
    yield permute("dispatch", model, plan)
    yield from experts(model, plan)
    yield permute("combine", model, plan)
    if model.expert_latent:
        yield latent_up(model, plan)
    if model.shared_ffn:
        yield from shared_experts(model, plan)


@functools.lru_cache(4096)
def of_kind(model: "Model", plan: "Parallelism", kind: "LayerKind") -> "Sequence[Operator]":
    """@return every operator of a layer of this kind"""
    model = model.shaped(kind)
    every = streams("mixer_streams", model, plan.local_tokens) if kind.mixer != "none" else []
    every += mixer(model, plan, kind)
    if kind.feeds:
        every += streams("feed_streams", model, plan.local_tokens)
        every += _experts_of(model, plan) if kind.experts else dense_mlp(model, plan)
    return tuple(_typed(plan, kind.precise, operator) for operator in with_adapters(plan, every))


def _typed(plan: "Parallelism", precise: bool, operator: "Operator") -> "Operator":
    """@return the operator with the type of its factors, where the plan says it"""
    kind = "bfloat16" if precise else plan.precise.of_operator(operator.name)
    if operator.kind != "matmul" or operator.precision or not kind:
        return operator
    return dataclasses.replace(operator, precision=kind)


def kinds(model: "Model", plan: "Parallelism") -> "Sequence[LayerKind]":
    """@return the kind of each layer, whose products may keep 16 bits"""
    return _kinds(model, plan.precise)


@functools.lru_cache(256)
def _kinds(model, precise):
    return tuple(model.layer_kind(index)._replace(precise=precise.has(index, model.layers)) for index in range(model.layers))


def prediction_kinds(model: "Model", plan: "Parallelism") -> "list[LayerKind]":
    return [kind._replace(precise=plan.precise.predictions) for kind in model.prediction_kinds()]


def prediction(model: "Model", plan: "Parallelism") -> "Iterator[Operator]":
    """The module that predicts one further token joins the last layer's output with the next token's embedding (arXiv 2412.19437, section 2.2);
    its layers and a head of its own follow."""
    local = plan.local_tokens
    yield dataclasses.replace(_norm("prediction_norms", model, 2 * local), parameters=2 * model.norm_parameters)
    yield _typed(plan, plan.precise.predictions, _matmul("prediction_join", plan.tokens, model.hidden // plan.tp, 2 * model.hidden,
                                                         kept=ELEMENT * 2 * plan.input_tokens * model.hidden))


def prediction_head(model: "Model", plan: "Parallelism") -> "list[Operator]":
    """@return the operators of a further token's head, which has the weights of the first one, but for its norm"""
    return [operator if operator.name == "final_norm" else dataclasses.replace(operator, parameters=0) for operator in head(model, plan)]


def with_adapters(plan, every):
    """@return the operators, each that has an adapter followed by the adapter's two"""
    targets = plan.adapters.operators if plan.adapters else ()
    found = []
    for operator in every:
        found.append(operator)
        if operator.name in targets:
            m, n, k, count = operator.shape
            rank = plan.adapters.rank
            # Both products read one input, which the frozen one keeps.
            found += [_matmul(operator.name + adapters.INWARD, m, rank, k, count, kept=0),
                      _matmul(operator.name + adapters.OUTWARD, m, n, rank, count)]
    return tuple(found)


def layer(model, plan, index):
    """@return every operator of transformer layer `index`"""
    return of_kind(model, plan, kinds(model, plan)[index])
