# SPDX-License-Identifier: GPL-2.0-only
"""The critical path of a run: from its end back to its start, always to what came last.

A computation was preceded by what its rank did before. A wait for a collective ended when the collective did, and that
began in earnest when its last rank joined: the path goes on at that rank. A wait for a message goes on at its sender.
"""
import bisect
import dataclasses
from collections.abc import Sequence
from typing import Any, Optional

from clustersim.why.records import Flow, Records, Span

TOLERANCE = 2e-6  # microseconds: times are written in whole picoseconds
MESSAGES = "PP"  # the group of waits for messages


@dataclasses.dataclass(frozen=True)
class Segment:
    """A part of the path, in microseconds. `collective` and `flow` say what carried a communication."""
    start: float
    end: float
    kind: str  # compute, communication, message, update or other
    rank: int
    layer: str
    detail: str
    collective: Optional[int] = None
    flow: Optional[Flow] = None

    @property
    def duration(self) -> float:
        return self.end - self.start


def _first(messages: Sequence[Flow]) -> Flow | None:
    """@return the message that ends first, or None"""
    return min(messages, key=lambda f: (f.end, f.src)) if messages else None


class _Walk:
    def __init__(self, records: Records) -> None:
        self.records = records
        self.segments: list[Segment] = []
        self.starts = {rank: [span.end for span in spans] for rank, spans in records.spans.items()}
        self.arrivals: dict[int, list[Flow]] = {}
        self.departures: dict[int, list[Flow]] = {}
        for flow in records.flows.get(0, []):
            self.arrivals.setdefault(flow.dst, []).append(flow)
            self.departures.setdefault(flow.src, []).append(flow)

    def _span_at(self, rank: int, time: float) -> Span | None:
        """@return the span of `rank` that ends at `time` or holds it, or the last one before it"""
        spans = self.records.spans[rank]
        place = bisect.bisect_left(self.starts[rank], time - TOLERANCE)
        for span in spans[place:place + 4]:
            if span.start < time - TOLERANCE:
                return span
        return spans[place - 1] if place else None

    def _add(self, start: float, end: float, kind: str, rank: int, layer: str, detail: str, **more: Any) -> None:
        if end - start > TOLERANCE:
            self.segments.append(Segment(start, end, kind, rank, layer, detail, **more))

    def run(self) -> list[Segment]:
        rank, time = self.records.finished
        while time > TOLERANCE:
            rank, time = self._step(rank, time)
        return self.segments[::-1]

    def _step(self, rank: int, time: float) -> tuple[int, float]:
        span = self._span_at(rank, time)
        if span is None or abs(span.end - time) > TOLERANCE:
            # A collective that began while its rank did something else had waited for the one before it in its queue.
            before = self.records.ending_by(rank, time, TOLERANCE)
            if before and self.records.collectives[before[0]].joined[rank] < time - TOLERANCE:
                return self._through_collective(rank, time, before[0])
            if span is not None and span.detail == MESSAGES:
                message = self._message_ending(rank, time)
                if message:
                    return self._through(message, time, span)
        if span is None:
            self._add(0.0, time, "other", rank, "", "before anything")
            return rank, 0.0
        if span.end < time - TOLERANCE:
            self._add(span.end, time, "other", rank, span.layer, "between")
            return rank, span.end
        if span.kind == "compute":
            self._add(span.start, min(span.end, time), "compute", rank, span.layer, span.detail)
            return rank, span.start
        if span.detail == MESSAGES:
            return self._through_message(rank, time, span)
        return self._through_wait(rank, time, span)

    def _through_wait(self, rank: int, time: float, span: Span) -> tuple[int, float]:
        running = self.records.ending_by(rank, time, TOLERANCE)
        same = [n for n in running if self.records.collectives[n].layer == span.layer] or running
        if same:
            return self._through_collective(rank, time, same[0])
        # The wait goes on after its collective: the optimizer's step.
        earlier = [end for end, _ in self.records.ends.get(rank, []) if span.start < end < time]
        start = earlier[-1] if earlier else span.start
        self._add(start, time, "other" if span.detail == "CUSTOM" else "update", rank, span.layer, span.detail)
        return rank, start

    def _through_collective(self, rank: int, time: float, number: int) -> tuple[int, float]:
        one = self.records.collectives[number]
        last = max(one.joined, key=lambda r: (one.joined[r], -r))
        joined = one.joined[last]
        if joined >= time - TOLERANCE:
            # For this rank it was over before others joined: its own part is what it waited for.
            last, joined = rank, one.joined[rank]
        flows = self.records.flows.get(number, [])
        slowest = max((f for f in flows if f.end <= time + TOLERANCE), key=lambda f: f.end, default=None)
        self._add(joined, time, "communication", last, one.layer, one.op, collective=number, flow=slowest)
        return last, joined

    def _arriving(self, rank: int, time: float) -> list[Flow]:
        return [f for f in self.arrivals.get(rank, []) if f.start < time - TOLERANCE and f.end >= time - TOLERANCE]

    def _message_ending(self, rank: int, time: float) -> Flow | None:
        """@return the message to `rank` that came at `time`, or one of its own that ended then, or None"""
        # A sender has its acknowledgement a little after the receiver has the message.
        sent = [f for f in self.departures.get(rank, []) if f.start < time - TOLERANCE
                and abs(f.end - time) <= TOLERANCE]
        return _first(sent) or _first(self._arriving(rank, time))

    def _through(self, message: Flow, time: float, span: Span) -> tuple[int, float]:
        self._add(message.start, time, "message", message.src, span.layer, span.detail, flow=message)
        return message.src, message.start

    def _through_message(self, rank: int, time: float, span: Span) -> tuple[int, float]:
        message = self._message_ending(rank, time)
        if message is None:
            self._add(span.start, time, "message", rank, span.layer, MESSAGES)
            return rank, span.start
        return self._through(message, time, span)


def critical_path(records: Records) -> list[Segment]:
    """@return Segments in order of time; they follow one another without gaps from 0 to the run's end"""
    return _Walk(records).run()
