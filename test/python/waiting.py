# SPDX-License-Identifier: GPL-2.0-only
"""How tests wait for programs. Machines are busy: only a program that hangs takes as long as HANGS."""
import pathlib
import time

HANGS = 1800  # seconds; less than a test has (pyproject.toml), so that the program is named


def wait_until(condition, what="it"):
    """Waits until condition() is true and returns its value."""
    deadline = time.monotonic() + HANGS
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what} did not happen in {HANGS} s"
        time.sleep(0.01)
    return value


def is_alive(pid):
    """@return whether the process runs; one that has ended and is not waited for does not"""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
