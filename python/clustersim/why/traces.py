# SPDX-License-Identifier: GPL-2.0-only
"""Chakra traces whose GPUs are faster."""
import gzip
import json
import os
import pathlib
from collections.abc import Iterator

from clustersim.errors import InputError
from clustersim.workload.write import chakra

GZIP = b"\x1f\x8b"


def _messages(data: bytes, path: str | os.PathLike) -> Iterator[bytes]:
    """Yields the bytes of each message of a trace: a length as a varint stands before each."""
    place = 0
    while place < len(data):
        length = shift = 0
        while True:
            if place >= len(data) or shift > 28:
                raise InputError(f"{path}: the trace is cut off; expected whole messages")
            length |= (data[place] & 0x7F) << shift
            shift += 7
            place += 1
            if not data[place - 1] & 0x80:
                break
        if place + length > len(data):
            raise InputError(f"{path}: the trace is cut off; expected whole messages")
        yield data[place:place + length]
        place += length


def write_faster(source: str | os.PathLike, target: str | os.PathLike, factor: float) -> None:
    """Writes the trace `source` to `target` with shorter computations

    Times are whole microseconds: each is rounded so that their sum stays right.
    """
    data = pathlib.Path(source).read_bytes()
    if data.startswith(GZIP):
        data = gzip.decompress(data)
    proto = chakra.messages()
    written, due, result = 0, 0.0, []
    for number, message in enumerate(_messages(data, source)):
        if number > 0:
            node = proto.Node.FromString(message)
            if node.type == proto.COMP_NODE:
                due += node.duration_micros / factor
                node.duration_micros = round(due) - written
                written += node.duration_micros
                message = node.SerializeToString()
        result += [chakra.varint(len(message)), message]
    pathlib.Path(target).write_bytes(b"".join(result))


def write_faster_system(source: str | os.PathLike, target: str | os.PathLike, factor: float) -> None:
    """Writes the system file `source` to `target` with a faster roofline, if it has one"""
    system = json.loads(pathlib.Path(source).read_text())
    for key in ("peak-perf", "local-mem-bw"):
        if system.get("roofline-enabled") and key in system:
            system[key] = system[key] * factor
    pathlib.Path(target).write_text(json.dumps(system))
