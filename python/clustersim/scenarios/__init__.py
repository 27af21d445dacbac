# SPDX-License-Identifier: GPL-2.0-only
"""Random runs, what must hold of every one of them, and the smallest run in which it does not.

    for number in range(200):
        failure = check(scenario(seed, number), programs, directory)
        if failure:
            smallest = shrink(scenario(seed, number), failure.check, programs, directory)
"""
from clustersim.scenarios.checks import Failure, Refused, check
from clustersim.scenarios.generate import Scenario, scenario
from clustersim.scenarios.shrink import shrink

__all__ = ["Failure", "Refused", "Scenario", "check", "scenario", "shrink"]
