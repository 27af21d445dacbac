# SPDX-License-Identifier: GPL-2.0-only
"""scripts/goodput.py: Young's and Daly's closed forms, and histories that agree with them."""
import math
import pathlib
import sys

import numpy as np
import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from clustersim.goodput import (Part, daly_interval, effective_ratio, simulate, simulate_many,  # noqa: E402
                                system_mtbf, young_interval)


def test_failures_of_parts_add_up():
    # 1000 parts of 50,000 h fail every 50 h, 100 of 10,000 h every 100 h: together 3 in 100 h.
    assert system_mtbf([Part("a", 1000, 50000), Part("b", 100, 10000)]) == pytest.approx(100 / 3)


@pytest.mark.parametrize("mtbf", [5.0, 24.0, 500.0])
def test_daly_s_interval_is_the_best_and_young_s_is_near_it(mtbf):
    checkpoint, restart = 1 / 60, 1 / 6
    intervals = np.geomspace(0.05, 5, 20001)
    best = intervals[np.argmax([effective_ratio(mtbf, each, checkpoint, restart) for each in intervals])]
    assert daly_interval(mtbf, checkpoint) == pytest.approx(best, rel=2e-3)
    assert young_interval(mtbf, checkpoint) == math.sqrt(2 * checkpoint * mtbf)
    loss = [1 - effective_ratio(mtbf, each, checkpoint, restart) for each in (young_interval(mtbf, checkpoint), best)]
    assert loss[0] < 1.01 * loss[1]
    # To first order the loss is checkpoints, half an interval and a restart for each failure.
    first_order = checkpoint / best + best / 2 / mtbf + restart / mtbf
    assert loss[1] == pytest.approx(first_order, rel=0.25 if mtbf == 5 else 0.1)


def test_histories_agree_with_the_closed_form():
    mtbf, interval, checkpoint, restart = 8.0, 1.2, 0.1, 0.25
    ratios, failures = simulate_many(mtbf, interval, checkpoint, restart, 20000.0, 20, seed=3)
    assert ratios.mean() == pytest.approx(effective_ratio(mtbf, interval, checkpoint, restart), rel=0.01)
    assert failures.mean() == pytest.approx(20000 / mtbf, rel=0.02)


def test_without_failures_only_checkpoints_cost():
    kept, failures = simulate(math.inf, 1.0, 0.25, 1.0, 100.0, np.random.default_rng(1))
    assert (kept, failures) == (80.0, 0)
    assert effective_ratio(math.inf, 1.0, 0.25, 1.0) == 0.8


class Scripted:
    """Failures at given times apart."""
    def __init__(self, *gaps):
        self.gaps = iter(gaps)

    def exponential(self, _):
        return next(self.gaps)


def test_a_history_by_hand():
    # Work of 2 h and 0.5 h of checkpoint: kept 4 h by 5 h; failure at 6 loses an hour; one at 6.5 comes within the
    # restart of 1 h, which begins anew and ends at 7.5; from there to 10 one whole segment.
    kept, failures = simulate(1.0, 2.0, 0.5, 1.0, 10.0, Scripted(6.0, 0.5, 100.0))
    assert (kept, failures) == (6.0, 2)


def run(*arguments):
    return run_script([ROOT / "scripts/goodput.py", *arguments])


def test_the_command_prints_both_and_refuses_mistakes():
    result = run("--part", "GPU=1000:50000", "--part", "switch=100:10000", "--checkpoint", "60", "--restart", "600",
                 "--histories", "50")
    assert result.returncode == 0, result.stderr
    assert "a failure each 33.3 h" in result.stdout and "66.7%" in result.stdout
    assert f"{daly_interval(100 / 3, 1 / 60) * 3600:.0f} s by Daly" in result.stdout
    for wrong in (("--part", "GPU", "--checkpoint", "60", "--restart", "600"),
                  ("--part", "GPU=1:5", "--checkpoint", "0", "--restart", "600"),
                  ("--part", "GPU=1:5", "--checkpoint", "1", "--restart", "600", "--run", "/nowhere")):
        refused = run(*wrong)
        assert refused.returncode == 2 and "expected" in refused.stderr, refused.stderr
