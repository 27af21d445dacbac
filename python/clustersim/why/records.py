# SPDX-License-Identifier: GPL-2.0-only
"""The work of ranks in a run: timeline.json of all of its ranks, in arrays to walk through."""
import bisect
import collections
import dataclasses
import os
import pathlib
from collections.abc import Mapping
from typing import Any, Dict, List, Tuple

from clustersim.results.reading.problem import Problems
from clustersim.results.reading.timeline import read_events, span_of, whole

from clustersim.errors import InputError


@dataclasses.dataclass(frozen=True)
class Span:
    """A computation or a wait of a rank, in microseconds."""
    start: float
    end: float
    kind: str  # compute, wait or bubble
    layer: str
    detail: str  # the phase of a computation, the group of a wait


@dataclasses.dataclass
class CollectiveRun:
    """A collective of one group: when each rank joined it and when it was over for it."""
    layer: str
    op: str
    bytes: int
    joined: Dict[int, float] = dataclasses.field(default_factory=dict)
    ended: Dict[int, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Flow:
    src: int
    dst: int
    bytes: int
    start: float
    end: float


@dataclasses.dataclass
class Records:
    spans: Dict[int, List[Span]]  # by rank, in order
    collectives: Dict[int, CollectiveRun]
    flows: Dict[int, List[Flow]]  # by collective; 0: messages
    ends: Dict[int, List[Tuple[float, int]]]  # by rank: ends of its collectives, in order

    @property
    def finished(self) -> tuple[int, float]:
        """@return the rank that ends last, and when"""
        rank = max(self.spans, key=lambda r: (self.spans[r][-1].end, -r))
        return rank, self.spans[rank][-1].end

    def ending_by(self, rank: int, time: float, tolerance: float) -> list[int]:
        """@return collectives of `rank` that ended at `time` or not long before, the latest first"""
        ends = self.ends.get(rank, [])
        last = bisect.bisect_right(ends, (time + tolerance, 1 << 62))
        first = bisect.bisect_left(ends, (time - tolerance, -1))
        return [number for _, number in reversed(ends[first:last])]


class _Reader:
    """Takes events in, one after the other."""

    def __init__(self) -> None:
        self.spans: Dict[int, List[Span]] = collections.defaultdict(list)
        self.flows: Dict[int, List[Flow]] = collections.defaultdict(list)
        self.collectives: Dict[int, CollectiveRun] = {}
        self.open_flows: dict[object, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """@raise KeyError, TypeError, ValueError the event lacks something"""
        arguments, kind = event.get("args", {}), event["ph"]
        if kind == "M":
            return  # names of ranks and threads, for viewers
        if kind == "b":
            self.open_flows[event["id"]] = (event, arguments)
        elif kind == "e":
            begun, told = self.open_flows.pop(event["id"])
            self._add_flow(begun, told, whole(event, "ts", float))
        else:
            start, duration = span_of(event)
            self._add_span(event, arguments, start, start + duration)

    def _add_flow(self, begun: Mapping[str, Any], told: Mapping[str, Any], end: float) -> None:
        start, name = whole(begun, "ts", float), begun["name"].split()
        if end < start:
            raise ValueError("ends first")
        dst = int(name[1]) if name[0] == "to" else -1
        self.flows[whole(told, "collective", int)].append(Flow(whole(begun, "pid", int), dst, whole(told, "bytes", int),
            start, end))

    def _add_span(self, event: Mapping[str, Any], arguments: Mapping[str, Any], start: float, end: float) -> None:
        rank, name = whole(event, "pid", int), str(event["name"])
        if event["cat"] == "stream":
            layer, number = str(arguments["layer"]), whole(arguments, "bytes", int)
            one = self.collectives.setdefault(whole(arguments, "collective", int), CollectiveRun(layer, name, 0))
            one.bytes = max(one.bytes, number)
            one.joined[rank] = min(start, one.joined.get(rank, start))
            one.ended[rank] = max(end, one.ended.get(rank, end))
        elif event["cat"] == "compute":
            self.spans[rank].append(Span(start, end, "compute", name, str(arguments["phase"])))
        else:
            kind = "bubble" if name == "bubble" else "wait"
            self.spans[rank].append(Span(start, end, kind, str(arguments["layer"]), str(arguments["group"])))


def read(directory: str | os.PathLike) -> Records:
    """@return Records of the run in `directory`"""
    path = pathlib.Path(directory) / "timeline.json"
    reader, problems = _Reader(), Problems()
    for number, event in read_events(path, problems):
        try:
            reader.add(event)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise InputError(
                f"{path}:{number}: the event lacks a field; expected ph pid ts, and dur name cat args"
            ) from None
        if problems:
            break
    if problems:
        raise InputError(str(problems[0]))
    spans, flows, collectives = reader.spans, reader.flows, reader.collectives
    if not spans:
        raise InputError(f"{path}: no rank computed or waited; expected the run of a SimAI text workload")
    ends = collections.defaultdict(list)
    for number, one in collectives.items():
        for rank, end in one.ended.items():
            ends[rank].append((end, number))
    for rank in spans:
        spans[rank].sort(key=lambda span: (span.end, span.start))
        ends[rank].sort()
    return Records(dict(spans), collectives, dict(flows), dict(ends))
