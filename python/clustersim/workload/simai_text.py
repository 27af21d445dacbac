# SPDX-License-Identifier: GPL-2.0-only
"""Writes rows as SimAI's text."""
import pathlib
from clustersim.whole_file import write_text

_DEFAULT_GROUP = {"forward": "TP", "input": "TP", "weight": "DP"}


def _cells(row, phase):
    nanoseconds = max(0, round(getattr(row, f"{phase}_ns")))
    collective = getattr(row, phase)
    name = collective.op
    if name != "NONE" and collective.group != _DEFAULT_GROUP[phase]:
        name += "_" + collective.group
    return [str(nanoseconds), name, str(collective.bytes)]


def row_line(row):
    cells = [row.name, "-1", *_cells(row, "forward"), *_cells(row, "input"), *_cells(row, "weight"),
             str(max(0, round(row.update_ns)))]
    return "\t".join(cells)


def text(header, rows):
    """@return a workload of these header fields (key, value) and rows"""
    first = "HYBRID_TRANSFORMER_FWD_IN_BCKWD " + " ".join(f"{key}: {value}" for key, value in header)
    return "\n".join([first, str(len(rows)), *map(row_line, rows), ""])


def render(iteration):
    """@return the iteration as text, with rows of each stage"""
    plan = iteration.plan
    rows, counts, spans = [], [], []
    for stage in range(plan.pp):
        spans += [(len(rows) + first, len(rows) + last) for first, last in iteration.checkpoints(stage)]
        counts += [len(iteration.once(stage)), *map(len, iteration.chunks(stage))]
        rows += iteration.stage_rows(stage)
    header = [("model_parallel_NPU_group", plan.tp), ("ep", plan.ep)]
    header += [("etp", plan.etp)] if plan.expert_tp != plan.tp else []
    header += [("pp", plan.pp)]
    header += [("cp", plan.cp)] if plan.cp > 1 else []
    header += [("vpp", plan.virtual), ("ga", plan.micro_batches), ("all_gpus", plan.world_size)]
    header += [(key, _list(numbers)) for key, numbers in (("checkpoints", [first for first, _ in spans]),
                                                          ("checkpoint_initiates", [last for _, last in spans]),
                                                          ("stage_rows", counts))]
    header += [("tied_comm", iteration.tied_bytes)] if iteration.tied_bytes else []
    header += [("reduce_each", 1)] if iteration.reduces_each else []
    return text([*header, ("pp_comm", iteration.pipeline_bytes)], rows)


def _list(numbers):
    return " ".join(map(str, [len(numbers), *numbers]))


def write(iteration, path):
    write_text(path, render(iteration))
