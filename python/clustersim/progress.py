# SPDX-License-Identifier: GPL-2.0-only
"""Long commands say each minute how far they are, as the programs do."""
import json
import os
import pathlib
import time

INTERVAL_S = 60.0


class Minutes:
    """Says when the next minute is over."""

    def __init__(self) -> None:
        self._told = time.monotonic()

    def left(self) -> float:
        """@return seconds until then"""
        return max(0.0, self._told + INTERVAL_S - time.monotonic())

    def is_over(self) -> bool:
        """@return whether a minute has passed since the last one that was over"""
        if self.left() > 0:
            return False
        self._told = time.monotonic()
        return True


def of_run(directory: str | os.PathLike) -> str:
    """@return how far a run is by the run.json in its directory; empty if that does not say"""
    try:
        found = json.loads(pathlib.Path(directory, "run.json").read_text(encoding="utf-8"))["progress"]
        of = f" of {found['of']}" if found["of"] else ""
        work = f", {found['done']}{of} {found['unit']}" if found["unit"] else ""
        simulated = f", {found['simulated_ns'] / 1e6:.3f} ms simulated" if "simulated_ns" in found else ""
        return f"{found['wall_s']:.0f} s{simulated}{work}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
