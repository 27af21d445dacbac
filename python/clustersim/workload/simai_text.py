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


def _repeated(iteration, stage):
    """@return all rows, with each micro-batch's if their gradients are reduced one by one"""
    rows = iteration.stage_rows(stage)
    if not iteration.lists_micro_batches:
        return rows, iteration.checkpoints(stage)
    once = [row for row in rows if row.name in ("parameters", "expert_parameters", "optimizer")]
    each = [row for row in rows if row not in once]
    spans = [(first + copy * len(each), last + copy * len(each)) for copy in range(iteration.plan.micro_batches)
             for first, last in iteration.checkpoints(stage)]
    return once + each * iteration.plan.micro_batches, spans


def render(iteration):
    """@return the iteration as text: the rows of the stage that computes longest stand for every stage"""
    plan = iteration.plan
    rows, spans = _repeated(iteration, iteration.heaviest_stage())
    header = [("model_parallel_NPU_group", plan.tp), ("ep", plan.ep), ("pp", plan.pp)]
    header += [("cp", plan.cp)] if plan.cp > 1 else []
    header += [("vpp", plan.virtual), ("ga", plan.micro_batches), ("all_gpus", plan.world_size)]
    for key, numbers in (("checkpoints", [first for first, _ in spans]),
                         ("checkpoint_initiates", [last for _, last in spans])):
        header.append((key, " ".join(map(str, [len(numbers), *numbers]))))
    header.append(("pp_comm", iteration.pipeline_bytes))
    return text(header, rows)


def write(iteration, path):
    write_text(path, render(iteration))
