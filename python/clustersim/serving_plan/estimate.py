# SPDX-License-Identifier: GPL-2.0-only
"""Means of the times of requests that come as a Poisson process to instances, from the times of steps and closed forms
of queues.

A step of a pool that prefills computes all prompts that wait, so it is an M/G/1 queue with gated batches; where a step
has room for one prompt, it is an M/D/1 queue. The batch that decodes follows from Little's law:
sequences = rate x tokens x step time, where more sequences make a longer step. A colocated pool does both: an arriving
prompt waits for the end of a step (M/G/1), then in an M/D/1 queue, and each prompt lengthens a step of all that decode.
"""
import dataclasses
import math
from collections.abc import Iterator

from clustersim.serving_plan.queueing import fixed_point, gated_response, md1_wait, residual
from clustersim.serving_plan.steps import Shape, Step, Steps

NETWORK_LIMIT = 0.9  # of a NIC's rate: beyond, messages queue
MS = 1e6  # ns
MOST_SEQUENCES = 4  # times --max_num_seqs, where the search for a batch ends


@dataclasses.dataclass(frozen=True)
class Load:
    """The requests and their limits."""
    prompt: int
    output: int
    rate: float  # per second
    ttft_ms: float
    tpot_ms: float


@dataclasses.dataclass(frozen=True)
class Layout:
    """A kind of instance in a role: prefill, decode or colocated."""
    role: str
    gpu: str
    steps: Steps
    blocks: int  # of a replica's cache
    block_size: int
    mixes: bool  # whether steps with prompts decode, too
    common: tuple[str, ...]  # flags of workload.py --inference that say so, those of all layouts
    sizes: tuple[tuple[str, str], ...]  # its own ones, without hyphens

    @property
    def gpus(self) -> int:
        return self.steps.instance.tp * self.steps.instance.replicas

    @property
    def name(self) -> str:
        instance = self.steps.instance
        return " ".join([f"TP {instance.tp}", *(f"{name} {size}" for name, size in
                                                (("DP", instance.replicas), ("EP", instance.ep)) if size > 1)])

    def words(self, role: str = "") -> list[str]:
        """@return the flags that are its own @param role of a pool: prefill_ or decode_"""
        return [word for key, value in self.sizes for word in (f"--{role}{key}", value)]


@dataclasses.dataclass(frozen=True)
class State:
    """An instance in balance. Times in ms; a share above 1 is a broken limit."""
    ttft: float = 0.0
    tpot: float = 0.0
    batch: float = 0.0  # sequences that a replica decodes
    prompt_ms: float = 0.0  # of the step that computes a prompt
    memory: float = 0.0  # share of the cache's blocks
    slots: float = 0.0  # share of --max_num_seqs
    nic: float = 0.0  # share of a NIC's rate
    network: float = 0.0  # share of a decoding step, or of a prompt's, in collectives between servers

    def limits(self, load: Load) -> Iterator[tuple[str, float]]:
        """@return each limit's name, and the share of it that is in use"""
        yield "KV memory", self.memory
        yield "max_num_seqs", self.slots
        yield "network", self.nic / NETWORK_LIMIT
        yield "TTFT", self.ttft / load.ttft_ms
        yield "TPOT", self.tpot / load.tpot_ms

    def broken(self, load: Load) -> str:
        """@return the first limit that is broken, or ''"""
        return next((name for name, share in self.limits(load) if share > 1), "")


class Estimate:
    """Estimates an instance of a Layout under a Load."""

    def __init__(self, layout: Layout, load: Load) -> None:
        self.layout, self.load, self.steps = layout, load, layout.steps
        self.replicas = layout.steps.instance.replicas
        kept = layout.steps.instance.kept
        self.cache_bytes = kept.of_fullest(layout.steps.instance) * load.prompt
        self.budget = int(self.steps.flags["max_num_batched_tokens"])
        self.most = self.steps.flags["max_num_seqs"]

    def state(self, rate: float) -> State:
        """@param rate requests per second of the instance"""
        return {"prefill": self._prefill, "decode": self._decode, "colocated": self._colocated}[self.layout.role](rate)

    # -- steps

    def decoding(self, batch: float) -> Step:
        """@return a step in which each replica decodes so many sequences, half-way through their outputs"""
        return self.steps.step(Shape(batch, self.load.prompt + self.load.output / 2))

    def prompts(self, count: float, batch: float = 0.0) -> Step:
        """@return steps that compute prompts of an instance, on one replica each where it has enough

        @param batch sequences that each replica decodes beside them
        """
        length, cached = self.load.prompt, self.load.prompt + self.load.output / 2
        each = max(1.0, count / self.replicas)
        chunks = max(1.0, each * length / max(self.budget - batch, 1))
        step = self.steps.step(Shape(batch, cached, each * length, length, max(count, 1.0) * length, each))
        more = (chunks - 1) * self.steps.step(Shape(batch, cached)).time if chunks > 1 and batch else 0.0
        return dataclasses.replace(step, time=step.time + more)

    # -- roles

    def _nic_share(self, sent: float, time: float) -> float:
        return sent / time / self.steps.machine.nic_gbps if time else 0.0

    def _prefill(self, rate: float) -> State:
        most = self.replicas * max(1, self.budget // self.load.prompt)  # prompts of a step
        alone = self.prompts(1)
        if most == 1:
            response, count = md1_wait(rate, alone.time / 1e9) + alone.time / 1e9, 1.0
        else:
            each = max(self.prompts(most).time - alone.time, 0.0) / (most - 1) / 1e9
            fixed = alone.time / 1e9 - each
            response = gated_response(rate, fixed, each)
            count = max(1.0, rate * fixed / (1 - rate * each)) if rate * each < 1 else math.inf
        if math.isinf(response) or count > most:
            return State(ttft=math.inf)
        step = self.prompts(count)
        moved = rate * self.cache_bytes / self.replicas / 1e9  # GB/s of a rank
        return State(ttft=1e3 * response + self.last_layer_ms(), prompt_ms=step.time / MS,
                     nic=self._nic_share(step.sent * rate / self.replicas, 1e9) + moved / self.steps.machine.nic_gbps,
                     network=step.network / step.time, memory=self._memory(count / self.replicas, self.load.prompt))

    def last_layer_ms(self) -> float:
        """The cache of a layer leaves when it is computed; the last one is waited for."""
        return self.cache_bytes / self.steps.instance.model.layers / self.steps.machine.nic_gbps / MS

    def _memory(self, batch: float, tokens: float) -> float:
        return batch * math.ceil(tokens / self.layout.block_size) / self.layout.blocks

    def _capacity(self, batch: float) -> dict[str, float]:
        # A sequence is half-way on average.
        return {"batch": batch, "slots": batch / self.most,
                "memory": self._memory(batch, self.load.prompt + self.load.output / 2)}

    def _overloaded(self) -> State:
        """The batch has outgrown MOST_SEQUENCES times the limit: more than a cache or a server takes."""
        return State(**self._capacity(self.most * MOST_SEQUENCES), tpot=math.inf, ttft=math.inf)

    def _decode(self, rate: float) -> State:
        each = rate / self.replicas * self.load.output / 1e9
        batch = fixed_point(lambda b: each * self.decoding(b).time, 1e-3, self.most * MOST_SEQUENCES)
        if math.isinf(batch):
            return self._overloaded()
        step = self.decoding(max(batch, 1.0))
        moved = rate * self.cache_bytes / self.replicas / 1e9
        return State(ttft=step.time / MS, tpot=step.time / MS, network=step.network / step.time,
                     nic=self._nic_share(step.sent, step.time) + moved / self.steps.machine.nic_gbps,
                     **self._capacity(batch))

    def mixed(self, rate: float, batch: float) -> tuple[float, Step, Step]:
        """@return the share of steps that compute prompts, such a step, and one that only decodes"""
        alone = self.decoding(max(batch, 1.0))
        time, share, step = alone.time, 0.0, alone
        for _ in range(12):
            arriving = rate * time / 1e9
            share = 1 - math.exp(-arriving)
            count = arriving / share if share else 1.0
            step = self.prompts(count, max(batch, 1.0) if self.layout.mixes else 0.0)
            before, time = time, share * step.time + (1 - share if self.layout.mixes else 1) * alone.time
            if time > 1e12 or abs(time - before) < 1e-3 * time:
                break
        return share, step, alone

    def _colocated(self, rate: float) -> State:
        each = rate / self.replicas * self.load.output / 1e9

        def mean(batch: float) -> float:
            share, step, alone = self.mixed(rate, batch)
            return share * step.time + (1 - share if self.layout.mixes else 1) * alone.time

        batch = fixed_point(lambda b: each * mean(b), 1e-3, self.most * MOST_SEQUENCES)
        if math.isinf(batch):
            return self._overloaded()
        share, step, alone = self.mixed(rate, batch)
        time, together = mean(batch), max(1, self.budget // self.load.prompt)
        wait = md1_wait(rate / self.replicas / together, step.time / 1e9) * 1e3
        sent = share * step.sent + alone.sent
        network = (share * step.network + (1 - share) * alone.network) / time
        return State(ttft=residual(share, step.time, alone.time) / MS + wait + step.time / MS, tpot=time / MS,
                     prompt_ms=step.time / MS, nic=self._nic_share(sent, time), network=network,
                     **self._capacity(batch))
