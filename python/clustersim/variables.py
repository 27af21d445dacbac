# SPDX-License-Identifier: GPL-2.0-only
"""Environment variables for the programs that are started meanwhile."""
import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def setting(**values: str | os.PathLike | None) -> Iterator[None]:
    """Sets variables, and restores what they were. @param values of each; None or an empty text: as it is"""
    given = {name: os.fspath(value) for name, value in values.items() if value}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
