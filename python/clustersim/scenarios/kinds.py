# SPDX-License-Identifier: GPL-2.0-only
"""Kinds of random runs that can be compared."""
import dataclasses
from collections.abc import Callable

from clustersim.scenarios import checks, generate, reuse, ways, wide


@dataclasses.dataclass(frozen=True)
class Kind:
    """How scenarios of a kind are drawn, run, checked and made smaller."""
    draw: Callable
    check: Callable
    smaller: Callable
    command: Callable


NETWORKS = Kind(generate.scenario, checks.check, generate.smaller, checks.command)
WAYS = Kind(wide.wide_scenario, ways.check, wide.smaller_wide, ways.command)
REUSE = Kind(reuse.reuse_scenario, reuse.check, wide.smaller_wide, ways.command)
KINDS = {"networks": NETWORKS, "ways": WAYS, "reuse": REUSE}
