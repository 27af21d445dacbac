# SPDX-License-Identifier: GPL-2.0-only
"""Times of an instance's steps on an idle network: those that `workload.py --inference` writes for the simulator, and
collectives by SimAI_analytical."""
import bisect
import dataclasses
import math
from collections.abc import Iterator, Sequence

from clustersim.workload.estimate import collective_times
from clustersim.workload.estimate.collective_times import Machine
from clustersim.workload.kernels.gpus import Gpu
from clustersim.workload.serve.engine import ALLREDUCE, GENERATIONS, Engine
from clustersim.workload.serve.instance import Instance, Row
from clustersim.workload.serve.times import Timed, beside_kernels
from clustersim.workload.training.rows import Collective

TOKENS = (1, 32, 256, 2048, 16384)  # of a replica, at which collectives are timed
Curve = tuple[list[float], list[float]]


def interpolate(places: Sequence[float], values: Sequence[float], place: float) -> float:
    """@return the value between two points as a power of the place; in proportion beyond the last, as the simulator
    does it"""
    high = bisect.bisect_left(places, place)
    if high == len(places):
        return values[-1] * place / places[-1]
    if high == 0 or places[high] == place or values[high - 1] <= 0 or values[high] <= 0:
        return values[high]
    weight = math.log(place / places[high - 1]) / math.log(places[high] / places[high - 1])
    return values[high - 1] ** (1 - weight) * values[high] ** weight


class _Times:
    """The lines `times` of a row."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.curves: dict[str, tuple[list[float], list[Curve]]] = {}
        for line in lines:
            words = line.split()[1:]
            kind, given = words[0], 1 if words[0] == "tokens" else 2
            points = list(map(float, words[given:]))
            places, curves = self.curves.setdefault(kind, ([], []))
            places.append(float(words[1]) if given == 2 else 1.0)
            curves.append((points[::2], points[1::2]))

    def at(self, kind: str, number: float, place: float) -> float | None:
        """@return nanoseconds, or None without lines of that kind"""
        if kind not in self.curves:
            return None
        places, curves = self.curves[kind]
        high = min(bisect.bisect_left(places, number), len(places) - 1)
        near = range(max(high - 1, 0), high + 1)
        return interpolate([places[i] for i in near], [interpolate(*curves[i], place) for i in near], number)


@dataclasses.dataclass(frozen=True)
class Shape:
    """The work of a step. Means may be fractions."""
    decoding: float = 0  # sequences of a replica
    cached: float = 0  # tokens that each of them attends to
    news: float = 0  # tokens of prompts of the fullest replica
    prompt: float = 0  # tokens of one of these prompts
    all_news: float = 0  # tokens of prompts of all replicas
    prompts: float = 0  # of the fullest replica


@dataclasses.dataclass(frozen=True)
class Step:
    """Times in ns; `network` is the part in collectives that leave a server, `sent` bytes that a rank sends there."""
    time: float
    network: float
    sent: float


@dataclasses.dataclass(frozen=True)
class Part:
    """An operator of a step."""
    row: Row
    count: int  # layers that have it
    kernel_ns: float
    collective: Step  # after it


class Steps:
    """Times of the steps of an instance."""

    def __init__(self, instance: Instance, gpu: Gpu, engine: Engine, flags: dict[str, float], sizes: Sequence[int],
                 machine: Machine) -> None:
        """@param flags max_num_batched_tokens, max_num_seqs, launch_ns, step_overhead_ns @param sizes numbers of
        sequences with a CUDA graph"""
        self.instance, self.gpu, self.flags, self.sizes, self.machine = instance, gpu, flags, sizes, machine
        most = int(flags["max_num_batched_tokens"])
        timed = Timed(instance, gpu, most, int(flags["max_num_seqs"]), engine)
        self.rows = [(row, _Times(row.times), self._count(row))
                     for row in beside_kernels(timed.rows(), engine, instance, gpu, most)]
        self.collectives: dict[tuple[str, float], list[float]] = {
            (row.collective, row.bytes): [] for row, _, _ in self.rows if row.collective != "NONE"}
        adds = gpu.generation in GENERATIONS and instance.tp > 1
        self._time_collectives({ALLREDUCE: engine.allreduce} if adds else {})

    def _count(self, row: Row) -> int:
        """@return layers that have the row"""
        if row.layers in ("first", "last"):
            return 1
        if row.layers == "all":
            return self.instance.model.layers
        first, _, last = row.layers.partition("-")
        return int(last) - int(first) + 1

    def _time_collectives(self, variables: dict[str, str]) -> None:
        wanted = {}
        for key in self.collectives:
            operation, group = key[0].split("_")
            wanted.update({(key, tokens): Collective(operation, group, math.ceil(key[1] * tokens))
                           for tokens in TOKENS})
        if wanted:
            found = collective_times.of_groups(self.instance.one_token, 0, set(wanted.values()), self.machine,
                                                variables)
            for key, times in self.collectives.items():
                times += [found[wanted[key, tokens]] for tokens in TOKENS]

    def crosses(self, group: str) -> bool:
        """@return whether a group's ranks are in several servers"""
        instance, servers = self.instance, self.machine.gpus_per_server
        return (instance.tp if group == "TP" else instance.tp * instance.replicas) > servers

    def _row_ns(self, row: Row, times: _Times, shape: Shape) -> float:
        tokens = shape.decoding + shape.news
        if row.kind == "linear":
            fixed, prompt, sequence, cached = row.figures
            return fixed + prompt * shape.news + sequence * shape.decoding + cached * shape.decoding * shape.cached
        if row.kind.startswith("attention"):
            return self._attention_ns(row, times, shape)
        if row.kind.startswith("experts"):
            tokens = shape.decoding * self.instance.replicas + shape.all_news
        if row.layers == "last":
            tokens = shape.decoding + shape.prompts
        return (times.at("tokens", 1, tokens) or 0.0) if tokens else 0.0

    def _attention_ns(self, row: Row, times: _Times, shape: Shape) -> float:
        cached, mean = shape.cached, (shape.prompt + 1) / 2
        if row.kind == "attention_window":
            cached = min(cached, self.instance.window)
            mean = min(mean, self.instance.window)
        found = 0.0
        decoding = "mixed" if shape.news and "mixed" in times.curves else "decoding"
        for kind, number, place in (("prompts", shape.news, mean), (decoding, shape.decoding, cached)):
            if number:
                time = times.at(kind, number, place)
                scores = number * place
                moved = (row.figures[1] * (number if kind == "prompts" else scores)
                         + row.figures[2] * number) / self.gpu.stream_rate
                found += time if time is not None else max(
                    row.figures[0] * scores / (self.gpu.tflops * 1e3 * self.gpu.attention[0]), moved)
        return found

    def _collective(self, row: Row, shape: Shape) -> Step:
        tokens = shape.decoding + (shape.prompts if row.layers == "last" else shape.news)
        if row.collective == "NONE" or not tokens:
            return Step(0, 0, 0)
        operation, group = row.collective.split("_")
        time = interpolate(TOKENS, self.collectives[row.collective, row.bytes], tokens)
        if not self.crosses(group):
            return Step(time, 0, 0)
        ranks = self.instance.tp if group == "TP" else self.instance.replicas * self.instance.tp
        leaves = 1 - self.machine.gpus_per_server / ranks
        return Step(time, time, leaves * row.bytes * tokens * (2 if operation == "ALLREDUCE" else 1))

    def parts(self, shape: Shape) -> Iterator[Part]:
        """Yields the operators of a step, in their order."""
        for row, times, count in self.rows:
            yield Part(row, count, self._row_ns(row, times, shape), self._collective(row, shape))

    def is_captured(self, shape: Shape) -> bool:
        """@return whether a CUDA graph launches the step"""
        return not shape.news and bool(self.sizes) and shape.decoding <= self.sizes[-1]

    def step(self, shape: Shape) -> Step:
        """@return a step: kernels one after the other, collectives between them, launches beside both"""
        time = network = sent = launches = 0.0
        for part in self.parts(shape):
            time += part.count * (part.kernel_ns + part.collective.time)
            network += part.count * part.collective.network
            sent += part.count * part.collective.sent
            launches += part.count * (part.kernel_ns > 0) * self.flags["launch_ns"]
        least = 0 if self.is_captured(shape) else launches
        return Step(max(time, least) + self.flags["step_overhead_ns"], network, sent)
