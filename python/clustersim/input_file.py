# SPDX-License-Identifier: GPL-2.0-only
"""Reads files that users name: what is none is refused instead of waited for, or read without end."""
import errno
import io
import os
import stat

LARGEST = 1 << 28  # bytes
LARGEST_YAML = 1 << 20  # PyYAML takes ten seconds for it

_KINDS = ((stat.S_ISFIFO, "is a pipe"), (stat.S_ISCHR, "is a device"),
          (stat.S_ISBLK, "is a device"), (stat.S_ISSOCK, "is a socket"))


def _open(path, most=LARGEST):
    # Opening a pipe waits for its other end, unless told not to.
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
    status = os.fstat(file.fileno())
    reason = next((text for is_kind, text in _KINDS if is_kind(status.st_mode)), None)
    if reason is None and status.st_size > most:
        reason = f"is larger than {most >> 20} MiB"
    if reason is None:
        return file
    file.close()
    raise OSError(errno.EINVAL, reason, str(path))


def read_text(path, errors="strict", most=LARGEST):
    """@return the text of a file of so many bytes at most, without the byte order mark that editors on Windows put before it

    @raise OSError it cannot be read, is no file or too large @raise UnicodeDecodeError
    """
    with _open(path, most) as file:
        return io.TextIOWrapper(file, encoding="utf-8-sig", errors=errors).read()


def check(path) -> None:
    """@raise OSError a program that is given the file could not read it"""
    _open(path).close()
