# SPDX-License-Identifier: GPL-2.0-only
"""Fits the few constants that no measurement gives: of all families, and of all but one.

Every row is estimated at the same few values of each constant, whatever was published. Between them the logarithm of a
row's time is interpolated, and the effects of constants add. So families that are left out have no part in the
constants that they are predicted with.

What is made small is the sum of squares of small errors and of the sizes of large ones: odd rows of a family do not
matter much. A family counts as the square root of its rows.
"""
import collections
from collections.abc import Sequence

import numpy as np

from clustersim.workload.kernels import frameworks
from clustersim_lab.outcomes import card
from clustersim_lab.outcomes.runs import Run

GRID = np.log([0.7, 0.85, 1.0, 1.2])  # of a constant, relative to the values that the search starts from
STEPS = np.linspace(GRID[0], GRID[-1], 99)
SWEEPS = 6
LARGE = 0.2  # from here on an error counts by its size (Huber's loss)
NAMES = tuple(frameworks.Constants.__fields__)


def _log(run: Run, constants: frameworks.Constants) -> float:
    return np.log(card.estimate_run(run, constants).total_ns / 1e9)


def _effect(run: Run, start: frameworks.Constants, base: float, name: str) -> np.ndarray:
    """@return what each of STEPS of a constant adds to a row's logarithm"""
    if name not in start.of(run.gpu, run.profile):
        return np.zeros(len(STEPS))
    at = [0.0 if by == 0 else _log(run, start.copy(update={name: getattr(start, name) * float(np.exp(by))})) - base
          for by in GRID]
    return np.interp(STEPS, GRID, at)


def _effects(runs: Sequence[Run], start: frameworks.Constants) -> tuple[np.ndarray, list[np.ndarray]]:
    """@return the rows' logarithms at the start, and by constant what each of STEPS adds to them"""
    base = np.array([_log(run, start) for run in runs])
    return base, [np.array([_effect(run, start, log, name) for run, log in zip(runs, base)]) for name in NAMES]


def _loss(sizes: np.ndarray) -> np.ndarray:
    return np.where(sizes < LARGE, sizes ** 2, LARGE * (2 * sizes - LARGE))


def _best(errors: np.ndarray, effects: Sequence[np.ndarray], families: Sequence[str]) -> list[int]:
    """@return for each constant the number of the step that makes the errors small"""
    count = collections.Counter(families)
    weights = np.array([count[family] ** -0.5 for family in families])
    middle = len(STEPS) // 2
    chosen = [middle] * len(effects)
    for _ in range(SWEEPS):
        for number, effect in enumerate(effects):
            others = errors + sum(e[:, chosen[k]] for k, e in enumerate(effects) if k != number)
            cost = weights @ _loss(np.abs(others[:, None] + effect))
            # Of steps that do equally well, the one nearest to the start.
            equal = [int(step) for step in np.flatnonzero(cost <= cost.min() * (1 + 1e-9))]
            chosen[number] = min(equal, key=lambda step: abs(step - middle))
    return chosen


def fit(runs: Sequence[Run],
        start: frameworks.Constants | None = None) -> tuple[frameworks.Constants, dict[str, frameworks.Constants]]:
    """@param start Constants around which is searched @return Constants of all families, and by family those of all
    others"""
    start = start or frameworks.start()
    families = [run.family for run in runs]
    base, effects = _effects(runs, start)
    errors = base - np.log([run.step_s for run in runs])

    def solve(kept: list[int]) -> frameworks.Constants:
        chosen = _best(errors[kept], [effect[kept] for effect in effects], [families[number] for number in kept])
        return frameworks.Constants(**{name: getattr(start, name) * float(np.exp(STEPS[step])) for name,
                                       step in zip(NAMES, chosen)})

    every = range(len(runs))
    return solve(list(every)), {family: solve([n for n in every if families[n] != family])
                                for family in sorted(set(families))}
