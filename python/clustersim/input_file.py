# SPDX-License-Identifier: GPL-2.0-only
"""Reads files that users name: what is none is refused instead of waited for, or read without end."""
import errno
import io
import os
import re
import stat
from typing import BinaryIO

from clustersim.errors import InputError

LARGEST = 1 << 28  # bytes
LARGEST_YAML = 1 << 20  # PyYAML takes ten seconds for it

_KINDS = ((stat.S_ISFIFO, "is a pipe"), (stat.S_ISCHR, "is a device"),
          (stat.S_ISBLK, "is a device"), (stat.S_ISSOCK, "is a socket"))


def _open(path: str | os.PathLike, most: int = LARGEST) -> BinaryIO:
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


def read_text(path: str | os.PathLike, errors: str = "strict", most: int = LARGEST) -> str:
    """@return the text of a file of so many bytes at most, without the byte order mark that editors on Windows put
    before it

    @raise OSError it cannot be read, is no file or too large @raise UnicodeDecodeError
    """
    with _open(path, most) as file:
        return io.TextIOWrapper(file, encoding="utf-8-sig", errors=errors).read()


CHAKRA_TRACES = "Chakra traces PREFIX.0.et, PREFIX.1.et, ... of all ranks, given as PREFIX to SimAI_simulator -w"
TOPOLOGY = "a topology file with servers, NICs and switches, as topologies/gen_Topo_Template.py writes"
# Files of other programs, by their first 4 KiB, each with its name and what to give instead. The C++ readers use the
# same words (base/foreign-file.cc). Many files of JSON have a "version" or a "schema": further words tell these from
# others.
FOREIGN = (
    (r'\{(?=.*"schemaVersion").*"deviceProperties"', "a Kineto trace of PyTorch's profiler", CHAKRA_TRACES),
    (r'\{.*"traceEvents"', "a Kineto trace of PyTorch's profiler", CHAKRA_TRACES),
    (r'\{(?=.*"schema").*"pid"', "an execution trace of PyTorch, before Chakra's converter", CHAKRA_TRACES),
    (r'\{.*_NODE"', "a Chakra trace as JSON", CHAKRA_TRACES),
    (r"(//[^\n]*\s+)*num_ranks\b", "a GOAL schedule", f"a workload as SimAI text, or {CHAKRA_TRACES}"),
    (r"<(.*<)?system\b", "NCCL's topology (an XML file as in NCCL_TOPO_FILE)", TOPOLOGY),
    (r"<(.*<)?graphs\b", "NCCL's graphs (an XML file as in NCCL_GRAPH_FILE)", TOPOLOGY),
)


def refuse_foreign(path: str | os.PathLike, text: str, expected: str) -> None:
    """@param expected of the reader @raise InputError the text is a file of another program, which its name helps to
    replace"""
    beginning = text[:4096].lstrip()
    for pattern, name, instead in FOREIGN:
        if re.match(pattern, beginning, re.DOTALL):
            wanted = (
                instead
                if instead is TOPOLOGY and "topology" in expected
                else f"{expected}; a simulation takes {instead}"
            )
            raise InputError(f"{path}:1: this is {name}, which is not read; expected {wanted}")


def read_input(path: str | os.PathLike, expected: str, most: int = LARGEST) -> str:
    """@param expected what the file should be @return the text of a user's file
    @raise InputError it cannot be read, is not text, or is a file of another program"""
    try:
        text = read_text(path, most=most)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected {expected}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}:1: is not text; expected {expected}") from None
    refuse_foreign(path, text, expected)
    return text


def check(path: str | os.PathLike) -> None:
    """@raise OSError a program that is given the file could not read it"""
    _open(path).close()
