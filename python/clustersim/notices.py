# SPDX-License-Identifier: GPL-2.0-only
"""Warnings and remarks on what a user asked for: commands print them, and functions of the package collect them.

    with notices.collected() as said:
        workload = training_command.write(given)
    # said has what the command would have printed
"""
import contextlib
import contextvars
import sys
import typing
from collections.abc import Iterator

_collected: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar("collected", default=None)


def remark(text: str, program: str = "", stream: typing.TextIO | None = None) -> None:
    """Says a line. @param program that says it @param stream None: standard error"""
    said = _collected.get()
    if said is None:
        print(f"{program}: {text}" if program else text, file=stream or sys.stderr)
    else:
        said.append(text.removeprefix("warning: "))


def warn(text: str, program: str = "") -> None:
    """Says a line, as a warning"""
    remark(f"warning: {text}", program)


@contextlib.contextmanager
def collected() -> Iterator[list[str]]:
    """Keeps what is said meanwhile from standard error. @return the lines, without program and "warning: " """
    said: list[str] = []
    token = _collected.set(said)
    try:
        yield said
    finally:
        _collected.reset(token)
