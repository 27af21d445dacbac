# SPDX-License-Identifier: GPL-2.0-only
"""What ranks did in a run: timeline.json of all of its ranks, in arrays to walk through."""
import bisect
import collections
import dataclasses
import json
import pathlib
from typing import Dict, List, Tuple

from clustersim.workload.errors import InputError


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
    def finished(self):
        """@return the rank that ends last, and when"""
        rank = max(self.spans, key=lambda r: (self.spans[r][-1].end, -r))
        return rank, self.spans[rank][-1].end

    def ending_by(self, rank, time, tolerance):
        """@return collectives of `rank` that ended at `time` or not long before, the latest first"""
        ends = self.ends.get(rank, [])
        last = bisect.bisect_right(ends, (time + tolerance, 1 << 62))
        first = bisect.bisect_left(ends, (time - tolerance, -1))
        return [number for _, number in reversed(ends[first:last])]


def _events(path):
    with open(path) as file:
        for number, line in enumerate(file, 1):
            line = line.strip().rstrip(",")
            if line in ("", "[", "]"):
                continue
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                raise InputError(f"{path}:{number}: the timeline is cut off; expected one event a line") from None


def read(directory):
    """@return Records of the run in `directory`"""
    path = pathlib.Path(directory) / "timeline.json"
    spans, flows, open_flows = collections.defaultdict(list), collections.defaultdict(list), {}
    collectives = {}
    for event in _events(path):
        arguments = event.get("args", {})
        if event["ph"] == "M":
            continue  # names of ranks and threads, for viewers
        if event["ph"] == "b":
            open_flows[event["id"]] = (event, arguments)
            continue
        if event["ph"] == "e":
            begun, told = open_flows.pop(event["id"])
            name = begun["name"].split()
            dst = int(name[1]) if name[0] == "to" else -1
            flows[told["collective"]].append(Flow(begun["pid"], dst, told["bytes"], begun["ts"], event["ts"]))
            continue
        start, end, rank = event["ts"], event["ts"] + event["dur"], event["pid"]
        if event["cat"] == "stream":
            one = collectives.setdefault(arguments["collective"], CollectiveRun(arguments["layer"], event["name"], 0))
            one.bytes = max(one.bytes, arguments["bytes"])
            one.joined[rank] = min(start, one.joined.get(rank, start))
            one.ended[rank] = max(end, one.ended.get(rank, end))
        elif event["cat"] == "compute":
            spans[rank].append(Span(start, end, "compute", event["name"], arguments["phase"]))
        else:
            kind = "bubble" if event["name"] == "bubble" else "wait"
            spans[rank].append(Span(start, end, kind, arguments["layer"], arguments["group"]))
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
