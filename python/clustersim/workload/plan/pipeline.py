# SPDX-License-Identifier: GPL-2.0-only
"""Which layers each chunk of a pipeline has: equal chunks, the embedding and the loss as layers, uneven ends, or a
layout."""
import dataclasses
import functools
import re
from typing import NamedTuple, Tuple, TYPE_CHECKING
from collections.abc import Sequence

from clustersim.errors import InputError
from clustersim.workload.plan import schedules

if TYPE_CHECKING:
    from clustersim.workload.plan.parallel import Parallelism
    from clustersim.workload.plan.planned import Planned


class Place(NamedTuple):
    """The layers of a chunk of a pipeline stage."""
    layers: range
    embedding: bool
    predictions: int  # layers that predict further tokens
    loss: bool


@dataclasses.dataclass(frozen=True)
class Split:
    """How layers are spread, with the names of Megatron-Core's flags; equally by default."""
    first: int = 0  # layers of the first stage, all of its chunks together; 0: as many as others
    last: int = 0
    embedding: bool = False  # counts as a layer
    loss: bool = False  # counts as a layer
    layout: Tuple[str, ...] = ()  # of each chunk its letters: E, t, m, L
    costs: Tuple[float, float] = (0.0,
                                  0.0)  # of a layer and of the loss: stages of equal cost, as in Nanotron; 0: not so

    def describe(self) -> str:
        parts = [f"first stage {self.first} layers"] if self.first else []
        parts += [f"last stage {self.last} layers"] if self.last else []
        counted = [name for name, wanted in (("embedding", self.embedding), ("loss", self.loss)) if wanted]
        parts += [" and ".join(counted) + " as layers"] if counted else []
        parts += ["stages of equal cost"] if any(self.costs) else []
        return ", ".join(parts + (["layout " + "|".join(self.layout)] if self.layout else []))


def parse(text: str) -> tuple[str, ...]:
    """@return the chunks of a layout in Megatron-Core's language: letters, `|` between chunks, `(...)*n` and `t*n`,
    commas"""
    left = re.sub(r"[\s,]", "", text)
    if not re.fullmatch(r"[EtmL|()*\d]+", left):
        raise InputError(f'"{text}" is not a layout of a pipeline; expected letters E, t, m and L, such as '
                         f'"Et|(tt|)*30L"')
    repeated = re.compile(r"(?:\(([EtmL|]*)\)|([EtmL]))\*(\d{1,4})|\(([EtmL|]*)\)")
    while True:
        more = repeated.sub(lambda m: m[4] if m[4] is not None else (m[1] if m[1] is not None else m[2]) * int(m[3]),
                            left, 1)
        if more == left or len(more) > 100_000:
            break
        left = more
    if not re.fullmatch("[EtmL|]+", left):
        raise InputError(f'"{text}" is not a layout of a pipeline; expected closed brackets, and counts after them or '
                         f'a letter')
    return tuple(left.split("|"))


def _of_letters(layout: Sequence[str], chunks: int, layers: int, predictions: int) -> list[Place]:
    whole = "".join(layout)
    if len(layout) != chunks:
        raise InputError(f"the layout has {len(layout)} chunks; expected PP x VPP = {chunks}, with | between them")
    for letter, count, what in (("E", 1, "the embedding"), ("t", layers, "layers"),
                                ("m", predictions, "layers of --mtp_num_layers"), ("L", 1, "the loss")):
        if whole.count(letter) != count:
            raise InputError(f'the layout has "{letter}" {whole.count(letter)} times; expected {count} for {what}')
    if not re.fullmatch("Et*m*L", whole):
        raise InputError("the layout is out of order; expected E first, then every t, m and L")
    places, first = [], 0
    for letters in layout:
        count = letters.count("t")
        places.append(Place(range(first, first + count), "E" in letters, letters.count("m"), "L" in letters))
        first += count
    return places


def _uneven(split: "Split", plan: "Parallelism", layers: int) -> list[int]:
    """@return layers of each chunk where the first or the last stage has a number of its own"""
    middle = plan.pp - bool(split.first) - bool(split.last)
    rest = layers - split.first - split.last
    if rest < 0 or (middle == 0 and rest):
        raise InputError(f"first and last stage have {split.first + split.last} layers; expected at most {layers} of "
                         f"the model, and all of "
                         "them if there are no other stages")
    each = rest // middle if middle else 0
    stages = [each] * plan.pp
    if split.first:
        stages[0] = split.first
    if split.last:
        stages[-1] = split.last
    for count in stages:
        if count % plan.virtual or each * middle != rest:
            raise InputError(f"stages of {stages[0]}, {each} and {stages[-1]} layers do not share {layers} layers in "
                             f"VPP {plan.virtual} "
                             "chunks; expected equal chunks, and equal stages but the first and the last")
    return [stages[chunk % plan.pp] // plan.virtual for chunk in range(plan.pp * plan.virtual)]


def counted(chunks: int, layers: int, embedding: int, loss: int) -> list[int]:
    """@return layers of each chunk, where the embedding and the loss take the place of a layer; the first ones get one
    more"""
    least, more = divmod(layers + embedding + loss, chunks)
    counts = [least + (chunk < more) for chunk in range(chunks)]
    counts[0] -= embedding
    counts[-1] -= loss
    return counts


def counts_of(plan: "Parallelism", layers: int) -> list[int]:
    """@return layers of each chunk without a layout, chunks in the pipeline's order"""
    split, chunks = plan.split, plan.pp * plan.virtual
    if chunks > layers + 2:
        raise InputError(f"PP {plan.pp} x VPP {plan.virtual} is more than {layers} layers with embedding and loss; "
                         "expected a layer for every virtual stage")
    if any(split.costs):
        return _by_cost(plan, layers)
    if split.first or split.last:
        return _uneven(split, plan, layers)
    if split.embedding or split.loss:
        if (layers + split.embedding + split.loss) % chunks:
            raise InputError(f"PP {plan.pp} x VPP {plan.virtual} does not divide {layers} layers and "
                             f"{split.describe()}; expected equal "
                             "chunks, or --pipeline_model_parallel_layout")
        return counted(chunks, layers, split.embedding, split.loss)
    if layers % chunks == 0 or (plan.virtual == 1 and chunks <= layers):
        return counted(chunks, layers, 0, 0)
    return counted(chunks, layers, 1, 1)


def _by_cost(plan: "Parallelism", layers: int) -> list[int]:
    """@return layers of each stage. Nanotron adds layers to a stage until the costs so far reach its part of all costs;
    the loss is a cost, too"""
    each, loss = plan.split.costs
    if plan.virtual > 1:
        raise InputError(f"stages of equal cost have one chunk, not VPP {plan.virtual}; expected no --vpp")
    counts, stage = [0] * plan.pp, 0
    for layer in range(layers):
        counts[stage] += 1
        if stage + 1 < plan.pp and (layer + 1) * each >= (layers * each + loss) * (stage + 1) / plan.pp:
            stage += 1
    return counts


@functools.lru_cache(4096)
def places(plan: "Parallelism", layers: int, predictions: int = 0) -> "Sequence[Place]":
    """@return a Place for each chunk, in the order in which a micro-batch passes them: chunk i is of stage i modulo PP

    Where chunks do not divide the layers, the embedding and the loss count as layers, as in torchtitan.
    """
    chunks = plan.pp * plan.virtual
    if plan.split.layout:
        return tuple(_of_letters(plan.split.layout, chunks, layers, predictions))
    found, first = [], 0
    for chunk, count in enumerate(counts_of(plan, layers)):
        is_last = chunk == chunks - 1
        found.append(Place(range(first, first + count), chunk == 0, predictions if is_last else 0, is_last))
        first += count
    return tuple(found)


def of_stage(plan: "Parallelism", model: "Planned", stage: int) -> Sequence[Place]:
    """@return the Places of a stage's chunks, with both of its parts of the model if micro-batches enter at both
    ends"""
    found = places(plan, model.layers, model.predictions)
    return [place for part in schedules.stages_of(plan, stage) for place in found[part::plan.pp]]
