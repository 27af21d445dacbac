# SPDX-License-Identifier: GPL-2.0-only
"""Random runs, what must hold of every one of them, and the smallest run in which it does not.

    for number in range(200):
        drawn = NETWORKS.draw(seed, number)
        failure = NETWORKS.check(drawn, programs, directory)
        if failure:
            smallest = shrink(drawn, failure.check, programs, directory, kind=NETWORKS)
"""
from clustersim_lab.scenarios.checks import Drawn, Failure, Refused, check
from clustersim_lab.scenarios.generate import Scenario, scenario
from clustersim_lab.scenarios.kinds import KINDS, NETWORKS, WAYS
from clustersim_lab.scenarios.shrink import shrink

__all__ = ["KINDS", "NETWORKS", "WAYS", "Drawn", "Failure", "Refused", "Scenario", "check", "scenario", "shrink"]
