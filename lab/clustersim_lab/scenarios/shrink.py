# SPDX-License-Identifier: GPL-2.0-only
"""Makes a failing scenario as small as it gets."""
import os

from clustersim_lab.scenarios.checks import Refused, S
from clustersim_lab.scenarios.kinds import Kind


def shrink(scenario: S, name: str, programs: str | os.PathLike, directory: str | os.PathLike, kind: Kind[S],
           limit: int = 200) -> S:
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
