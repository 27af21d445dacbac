# SPDX-License-Identifier: GPL-2.0-only
"""Workloads that were written."""
import dataclasses
import json
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any, TYPE_CHECKING

from clustersim.shown import Shown, Table
from clustersim.whole_file import write_text

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True, repr=False)
class Workload(Shown):
    """A workload in a directory: path is what SimAI_simulator -w takes, facts are those of NAME.json beside it.

    facts has bytes and nanoseconds: `memory_bytes`, `compute_ns`, `flops`, sizes of the plan, and with a framework
    `estimate`; of inference `pools`.
    """
    path: pathlib.Path
    written: Sequence[pathlib.Path]
    facts: dict[str, Any]
    text: Sequence[str]

    def __fspath__(self) -> str:
        return str(self.path)

    def lines(self) -> Iterable[str]:
        return self.text

    @property
    def memory(self) -> "pd.DataFrame | None":
        """Parts of the memory of the GPU that needs most: part, GB (10^9 bytes); None of inference"""
        if "memory_bytes" not in self.facts:
            return None
        import pandas as pd
        return pd.DataFrame([(part, count / 1e9) for part, count in self.facts["memory_bytes"].items()],
                            columns=["part", "GB"])

    @property
    def step_ms(self) -> float | None:
        """The estimated time of a step in milliseconds; None without a framework"""
        estimate = self.facts.get("estimate")
        return estimate["step_ns"] / 1e6 if estimate else None

    @property
    def pools(self) -> "pd.DataFrame | None":
        """A row per role of serving instances: GPUs, parallelism, blocks of the cache; None of training"""
        if "pools" not in self.facts:
            return None
        import pandas as pd
        return pd.DataFrame(self.facts["pools"])

    def headline(self) -> str:
        return "; ".join([*self.text[:2], f"workload {self.path}"])

    def tables(self) -> Iterable[Table]:
        for title, frame in (("memory of a GPU", self.memory), ("serving instances", self.pools)):
            if frame is not None:
                yield title, frame


def write_facts(facts: dict[str, Any], path: pathlib.Path) -> None:
    """Writes NAME.json"""
    write_text(path, json.dumps(facts, indent=1) + "\n")
