# SPDX-License-Identifier: GPL-2.0-only
"""Makes a failing scenario as small as it gets."""
from clustersim.scenarios.checks import Refused
from clustersim.scenarios.kinds import NETWORKS


def shrink(scenario, name, programs, directory, limit=200, kind=NETWORKS):
    """@return the smallest scenario found that fails the check of that name, in at most limit tries"""
    tries = 0
    progress = True
    while progress and tries < limit:
        progress = False
        for candidate in kind.smaller(scenario):
            tries += 1
            try:
                failure = kind.check(candidate, programs, directory)
            except Refused:
                continue
            if failure and failure.check == name:
                scenario, progress = candidate, True
                break
            if tries >= limit:
                break
    return scenario
