# SPDX-License-Identifier: GPL-2.0-only
"""Kinds of random runs that can be compared."""
import dataclasses
import pathlib
from collections.abc import Callable, Iterator
from typing import Any, Generic

from clustersim_lab.scenarios import checks, generate, reuse, ways, wide
from clustersim_lab.scenarios.checks import Check, S


@dataclasses.dataclass(frozen=True)
class Kind(Generic[S]):
    """How scenarios of a kind are drawn, run, checked and made smaller."""
    draw: Callable[[int, int], S]  # seed, number
    check: Check[S]
    smaller: Callable[[S], Iterator[S]]
    command: Callable[[S, pathlib.Path, str], list[str]]  # the programs' directory, that of the results


NETWORKS = Kind(generate.scenario, checks.check, generate.smaller, checks.command)
WAYS = Kind(wide.wide_scenario, ways.check, wide.smaller_wide, ways.command)
REUSE = Kind(reuse.reuse_scenario, reuse.check, wide.smaller_wide, ways.command)
KINDS: dict[str, Kind[Any]] = {"networks": NETWORKS, "ways": WAYS, "reuse": REUSE}
