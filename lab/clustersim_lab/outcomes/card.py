# SPDX-License-Identifier: GPL-2.0-only
"""How far estimated step times are from published ones: every row, and by family."""
import collections
import dataclasses
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

import pandas as pd

from clustersim.workload.estimate import estimate, plans
from clustersim.workload.kernels import frameworks
from clustersim.workload.training import megatron
from clustersim_lab.outcomes import baselines, runs
from clustersim_lab.outcomes.facts import Fact

WITHIN = 0.15
MEDIAN = (0.95, 1.05)  # goal of predicted over published
Written = TypeVar("Written")
GOALS = {"written": 0.95, "within": 0.70, "shape": 0.05}


@dataclasses.dataclass(frozen=True)
class Refused:
    """A row that no workload describes."""
    fact: Fact
    group: str
    reason: str


def write_down_by(write: Callable[[Fact], Written], facts: Iterable[Fact],
                  tasks: Collection[str]) -> tuple[list[Written], list[Refused]]:
    """@return what `write` makes of the rows of these tasks, and the rows that cannot be written down"""
    written, refused = [], []
    for fact in (fact for fact in facts if fact.task in tasks):
        try:
            written.append(write(fact))
        except runs.CannotBeWritten as error:
            refused.append(Refused(fact, error.group, str(error)))
    return written, refused


def write_down(facts: Iterable[Fact], tasks: Collection[str] = runs.TRAINING) -> tuple[list[runs.Run], list[Refused]]:
    """@return the rows of these tasks as Runs, and those that cannot be written down"""
    return write_down_by(runs.write_down, facts, tasks)


def estimate_run(run: runs.Run, constants: frameworks.Constants | None = None) -> estimate.Estimate:
    """@param constants fitted ones, or those that are shipped @return the Estimate of a Run"""
    framework = run.profile
    gpu = frameworks.apply(run.gpu, framework, constants)
    return estimate.estimate(plans.iteration_of(framework, run.model, run.plan, gpu, run.machine.line_rates()),
                             run.machine, framework)


def row_of(run: runs.Run, found: estimate.Estimate) -> dict[str, object]:
    """@return a row of the card"""
    fact, plan = run.fact, run.plan
    bare = megatron.Iteration(run.model, plan, run.gpu)
    seconds = found.total_ns / 1e9
    return {"id": fact.id, "task": fact.task, "family": run.family, "framework": run.framework, "model": fact.model,
            "gpu": fact.gpu, "gpus": fact.gpus,
            "precision": fact.precision, "plan": plan.describe(), "micro_batch": plan.micro_batch,
            "global_batch": plan.global_batch,
            "seq_len": plan.sequence, "published_s": run.step_s, "predicted_s": seconds, "ratio": seconds / run.step_s,
            "roofline": baselines.roofline_s(bare, run.gpu) / run.step_s,
            "closed form": baselines.closed_form_s(run) / run.step_s,
            **{name: value / found.total_ns for name, value in found.shares.items()}, "source": fact.source}


def frame_of(written: Sequence[runs.Run],
             constants_of: Callable[[runs.Run], frameworks.Constants | None] = lambda run: None) -> pd.DataFrame:
    """@param constants_of the fitted constants that a Run is estimated with @return a frame with a row for each Run"""
    return pd.DataFrame([row_of(run, estimate_run(run, constants_of(run))) for run in written])


def summarize(ratios: pd.Series) -> dict[str, Any]:
    """@return count, median, p10, p90, share within 15% and signed mean error of a series of ratios"""
    return {"rows": len(ratios), "median": ratios.median(), "p10": ratios.quantile(0.1), "p90": ratios.quantile(0.9),
            "within": ((ratios - 1).abs() <= WITHIN).mean(), "bias": (ratios - 1).mean()}


def by_family(frame: pd.DataFrame, column: str = "ratio") -> pd.DataFrame:
    """@return summaries of each family, and of all rows"""
    rows = [{"family": family, **summarize(rows[column])} for family, rows in frame.groupby("family", sort=True)]
    return pd.DataFrame([*rows, {"family": "all", **summarize(frame[column])}])


def reasons(refused: Sequence[Refused]) -> list[tuple[str, str, int]]:
    """@return (group, reason, rows), the most frequent first"""
    counted = collections.Counter((each.group, each.reason) for each in refused)
    return [(group, reason, count) for (group, reason), count in counted.most_common()]


def share_written(written: Sequence[object], refused: Sequence[Refused]) -> float:
    """@return of the rows whose source gives a full layout, the share that is written down"""
    whole = [each for each in refused if each.group != runs.NO_LAYOUT]
    return len(written) / max(1, len(written) + len(whole))
