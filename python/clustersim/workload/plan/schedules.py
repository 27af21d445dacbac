# SPDX-License-Identifier: GPL-2.0-only
"""The order in which a pipeline stage carries out the passes of micro-batches: schedules.yaml, which simulators read,
too.

    for group in schedules.passes(plan, stage):  # one pass, or several that overlap
        for each in group:
            each.kind, each.micro_batch, each.chunk
"""
import collections
import functools
import itertools
import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple, TYPE_CHECKING

from clustersim import yaml_file
from clustersim.errors import InputError

if TYPE_CHECKING:
    from clustersim.workload.plan.parallel import Parallelism

PATH = pathlib.Path(__file__).with_name("schedules.yaml")
USUAL = "1f1b"


Result = tuple[bool, int, int]  # forward, micro-batch, position


class Pass(NamedTuple):
    """A pass of a micro-batch through a chunk of a stage."""
    kind: str  # F forward, B backward, or the halves of B: I gradients of inputs, W gradients of weights
    micro_batch: int
    chunk: int  # of the stage
    position: int  # of the chunk in the pipeline
    source: int | None  # stage that sends what the pass needs
    target: int | None  # stage that waits for its result
    needs: Result | None  # what `source` sends
    gives: Result | None  # what the pass computes; W: nothing that another pass needs
    is_last: bool = False  # all of the chunk's gradients of weights are there after it

    @property
    def forward(self) -> bool:
        return self.kind == "F"

    @property
    def before(self) -> int:
        """The position whose result the pass needs"""
        return self.position + (-1 if self.forward else 1)


@functools.lru_cache(None)
def _descriptions(path: pathlib.Path) -> dict[str, dict[str, Any]]:
    return yaml_file.load(path, "schedules of pipelines", InputError)[0]


def names() -> list[str]:
    """@return the schedules that there are"""
    return list(_descriptions(PATH))


def _find(name: str) -> dict[str, Any]:
    if name not in _descriptions(PATH):
        raise InputError(f'"{name}" is not a known schedule of a pipeline; expected {", ".join(names())}')
    return _descriptions(PATH)[name]


def _number(expression: str | int, known: dict[str, int]) -> int:
    try:  # the file is part of the package, as this line is
        return eval(str(expression).replace("/", "//"), {"__builtins__": {}, "min": min, "max": max}, known)
    except Exception as problem:
        raise InputError(f'{PATH.name}: "{expression}": {problem}; expected a number of {", ".join(known)}') from None


class Pipeline(NamedTuple):
    """A schedule, and the sizes that its numbers follow from."""
    schedule: str
    stages: int
    batches: int
    chunks: int

    def numbers(self, stage: int) -> dict[str, int]:
        """@return what expressions name"""
        known = {"stages": self.stages, "stage": stage, "batches": self.batches, "chunks": self.chunks,
                 "units": self.batches * self.chunks}
        for name, expression in _find(self.schedule).get("names", {}).items():
            known[name] = _number(expression, known)
        return known

    def order(self, stage: int) -> list[tuple[int, list[str]]]:
        """@return how often which passes come one after the other, those that overlap as one word"""
        known = self.numbers(stage)
        lines = _find(self.schedule)["order"]
        return [(_number(times, known), words.split()) for line in lines for times, words in line.items()]

    def describe(self) -> str:
        return f"schedule {self.schedule} with PP {self.stages}, VPP {self.chunks} and {self.batches} micro-batches"


def _of(plan: "Parallelism") -> Pipeline:
    return Pipeline(plan.schedule, plan.pp, plan.micro_batches, plan.virtual)


def directions(plan: "Parallelism") -> int:
    """@return the ends of the pipeline at which micro-batches enter"""
    return _find(plan.schedule).get("directions", 1)


def stages_of(plan: "Parallelism", stage: int) -> list[int]:
    """@return the parts of the model that a stage has: numbers of the stages that have them with one direction"""
    near = min(stage, plan.pp - 1 - stage)
    return [stage] if directions(plan) == 1 else [near, plan.pp - 1 - near]


def holders(plan: "Parallelism") -> int:
    """@return the stages that share the optimizer's states of a part of the model: ZeRO spreads them over both
    holders"""
    return directions(plan) if plan.zero else 1


def check(plan: "Parallelism") -> None:
    """Refuses a plan whose schedule is unknown or impossible."""
    pipeline = _of(plan)
    for words, expression in _find(plan.schedule).get("needs", {}).items():
        if _number(expression, pipeline.numbers(0)):
            raise InputError(f"{pipeline.describe()}; expected {words}")


def passes(plan: "Parallelism", stage: int) -> Sequence[Sequence[Pass]]:
    """@return the passes of a stage in their order, those that overlap together"""
    return _passes(_of(plan), stage)


@functools.lru_cache(256)
def _passes(pipeline: Pipeline, stage: int) -> Sequence[Sequence[Pass]]:
    return _Order(pipeline, stage).groups


class _Order:
    """Gives each pass of an order its micro-batch and its chunk."""

    def __init__(self, pipeline: Pipeline, stage: int) -> None:
        self.pipeline, self.stage, self.directions = pipeline, stage, _find(pipeline.schedule).get("directions", 1)
        self.each = pipeline.batches * pipeline.chunks // self.directions  # passes of each kind and direction
        self.taken: collections.Counter[tuple[bool, int]] = collections.Counter()
        self.waiting: collections.deque[tuple[int, int]] = collections.deque()  # micro-batch and chunk: had I, and no W
        groups = [[self._take(word) for word in group.split("+")]
                  for times, words in pipeline.order(stage) for _ in range(times) for group in words]
        kinds = itertools.product((True, False), range(self.directions))
        if self.waiting or any(self.taken[kind] != self.each for kind in kinds):
            self._refuse()
        last = {each.chunk: (group, number)
                for group in groups for number, each in enumerate(group) if each.kind in "BW"}
        for group, number in last.values():
            group[number] = group[number]._replace(is_last=True)
        self.groups = groups

    def _refuse(self) -> None:
        raise InputError(f"{PATH.name}: {self.pipeline.describe()} has too many or too few passes; "
                         "expected each micro-batch and chunk once")

    def _take(self, word: str) -> Pass:
        kind, end = word[0], int(word[1:] or 0)
        if kind == "W":
            if not self.waiting:
                self._refuse()
            return self._pass(kind, *self.waiting.popleft())
        number = self.taken[kind == "F", end]
        self.taken[kind == "F", end] += 1
        if number == self.each:
            self._refuse()
        micro_batch, chunk = self._unit(number, kind == "F") if self.directions == 1 else self._half(number, end)
        if kind == "I":
            self.waiting.append((micro_batch, chunk))
        return self._pass(kind, micro_batch, chunk)

    def _unit(self, number: int, forward: bool) -> tuple[int, int]:
        """@return micro-batch and chunk: as many micro-batches as there are stages pass a chunk, then the next one"""
        stages, chunks = self.pipeline.stages, self.pipeline.chunks
        group, within = divmod(number, stages * chunks)
        chunk, batch = divmod(within, min(stages, self.pipeline.batches - group * stages))
        return group * stages + batch, chunk if forward else chunks - 1 - chunk

    def _half(self, number: int, end: int) -> tuple[int, int]:
        """The first half of the micro-batches enters at the first stage."""
        upwards = (end == 0) == (2 * self.stage < self.pipeline.stages)
        return number + (0 if upwards else self.each), end

    def _pass(self, kind: str, micro_batch: int, chunk: int) -> Pass:
        stages, stage = self.pipeline.stages, self.stage
        near = min(stage, stages - 1 - stage)
        position = chunk * stages + stage if self.directions == 1 else stages - 1 - near if chunk else near
        if kind == "W":
            return Pass(kind, micro_batch, chunk, position, None, None, None, None)
        step = 1 if self.directions == 1 or micro_batch < self.each else -1  # of stages, from a position to the next
        before = (stage - step) % stages if position > 0 else None
        after = (stage + step) % stages if position + 1 < stages * self.pipeline.chunks else None
        forward = kind == "F"
        source, target = (before, after) if forward else (after, before)
        needs = (forward, micro_batch, position + (-1 if forward else 1)) if source is not None else None
        return Pass(kind, micro_batch, chunk, position, source, target, needs, (forward, micro_batch, position))


def in_flight(plan: "Parallelism", stage: int) -> float:
    """@return micro-batches that a stage holds at most, from F to B or W, in parts of what the stage has"""
    held = most = 0
    for times, words in _of(plan).order(stage):
        changes = [{"F": 1, "B": -1, "W": -1}.get(word[0], 0) for group in words for word in group.split("+")]
        rise = max(itertools.accumulate(changes))
        if times > 0:
            most = max(most, held + rise, held + rise + (times - 1) * sum(changes))
            held += times * sum(changes)
    return most / (plan.virtual * directions(plan))
