# SPDX-License-Identifier: GPL-2.0-only
"""Writes rows as SimAI's text."""
import itertools
import os
from collections.abc import Mapping, Sequence

from typing import Protocol, TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.whole_file import write_text
from clustersim.workload.plan import schedules
from clustersim.workload.training.rows import Row

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.parallel import Parallelism

class Written(Protocol):
    """An iteration of a model: rows of each pipeline stage."""
    model: "Model"
    plan: "Parallelism"

    @property
    def pipeline_bytes(self) -> int: ...
    @property
    def tied_bytes(self) -> int: ...
    @property
    def reduces_each(self) -> bool: ...
    def once(self, stage: int) -> list[Row]: ...
    def chunks(self, stage: int) -> list[list[Row]]: ...
    def stage_rows(self, stage: int) -> list[Row]: ...
    def checkpoints(self, stage: int) -> list[tuple[int, int]]: ...


_DEFAULT_GROUP = {"forward": "TP", "input": "TP", "weight": "DP"}


# The text has no names for the groups of hybrid sharding. Those of experts are the same ranks where a group of EP is a
# copy.
_HYBRID = {"DP": "EP", "DP_COPIES": "DP_EP"}


def _cells(row: "Row", phase: str, names: Mapping[str, str]) -> list[str]:
    nanoseconds = max(0, round(getattr(row, f"{phase}_ns")))
    collective = getattr(row, phase)
    name, group = collective.op, names.get(collective.group, collective.group)
    if name != "NONE" and group != _DEFAULT_GROUP[phase]:
        name += "_" + group
    return [str(nanoseconds), name, str(collective.bytes)]


def _row_line(row: "Row", names: Mapping[str, str]) -> str:
    cells = [row.name, "-1", *_cells(row, "forward", names), *_cells(row, "input", names),
             *_cells(row, "weight", names), str(max(0, round(row.update_ns)))]
    return "\t".join(cells)


def text(header: Sequence[tuple[str, int | str]], rows: "Sequence[Row]", names: Mapping[str, str] | None = None) -> str:
    """@param names SimAI's names of groups, by our names, where they differ
    @return the text of a workload with these header fields (key, value) and rows"""
    first = "HYBRID_TRANSFORMER_FWD_IN_BCKWD " + " ".join(f"{key}: {value}" for key, value in header)
    return "\n".join([first, str(len(rows)), *(_row_line(row, names or {}) for row in rows), ""])


def sizes(plan: "Parallelism") -> list[tuple[str, int]]:
    """@return the header fields with the sizes of groups"""
    found = [("model_parallel_NPU_group", plan.tp), ("ep", plan.shards if plan.copies > 1 else plan.ep)]
    found += [("etp", plan.etp)] if plan.expert_tp != plan.tp else []
    found += [("pp", plan.pp)]
    return found + ([("cp", plan.cp)] if plan.cp > 1 else [])


def render(iteration: Written) -> str:
    """@return the iteration as text, with rows of each stage"""
    plan = iteration.plan
    if plan.copies > 1 and iteration.model.experts:
        raise InputError("SimAI's text has no groups for hybrid sharding of a model with experts; expected --format "
                         "chakra")
    rows: list[Row] = []
    counts, spans = [], []
    for stage in range(plan.pp):
        spans += [(len(rows) + first, len(rows) + last) for first, last in iteration.checkpoints(stage)]
        counts += [len(iteration.once(stage)), *map(len, iteration.chunks(stage))]
        rows += iteration.stage_rows(stage)
    header: list[tuple[str, int | str]] = [*sizes(plan), ("vpp", plan.virtual), ("ga", plan.micro_batches),
                                           ("all_gpus", plan.world_size)]
    header += [(key, _list(numbers)) for key, numbers in (("checkpoints", [first for first, _ in spans]),
                                                          ("checkpoint_initiates", [last for _, last in spans]),
                                                          ("stage_rows", counts))]
    header += [(key, _list(pairs)) for key, pairs in _overlaps(rows, counts) if pairs]
    header += [("schedule", plan.schedule)] if plan.schedule != schedules.USUAL else []
    header += [("tied_comm", iteration.tied_bytes)] if iteration.tied_bytes else []
    header += [("reduce_each", 1)] if iteration.reduces_each else []
    return text([*header, ("pp_comm", iteration.pipeline_bytes)], rows, _HYBRID if plan.copies > 1 else None)


def _overlaps(rows: Sequence[Row], counts: Sequence[int]) -> list[tuple[str, list[int]]]:
    """@param counts rows of each chunk @return each row whose collective runs beside others, with the row that waits
    for it: the last of the chunk at the latest"""
    forward, backward = [], []
    first = [number - within for count, end in zip(counts, itertools.accumulate(counts))
             for within, number in enumerate(range(end - count, end))]
    for number, row in enumerate(rows):
        if row.forward_rows > 0 and row.forward.bytes and number + 1 < len(rows):
            forward += [number, min(number + row.forward_rows, len(rows) - 1)]
        if row.input_rows >= 0 and row.input.bytes:
            backward += [number, max(number - row.input_rows, first[number])]
    return [("forward_until", forward), ("input_until", backward)]


def _list(numbers: Sequence[int]) -> str:
    return " ".join(map(str, [len(numbers), *numbers]))


def write(iteration: Written, path: str | os.PathLike) -> None:
    """Writes SimAI's text format. @raise OSError"""
    write_text(path, render(iteration))
