# SPDX-License-Identifier: GPL-2.0-only
"""Why a run takes as long as it does: the answer of scripts/why.py."""
import argparse
import collections
import csv
import dataclasses
import functools
import json
import pathlib
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.evenness import spread
from clustersim.shown import Shown, Table
from clustersim.topology.cluster import InputError as TopologyError
from clustersim.whole_file import whole_file, write_text
from clustersim.why import path as paths, records as recorded
from clustersim.why.machine import CARRIERS, Machine
from clustersim.why.what_if import CHANGES, Runner, bound_us, worked_out

if TYPE_CHECKING:
    import pandas as pd

Share = tuple[str, float, float, int]  # of a label: microseconds, the part of the whole, how many segments
PHASES = {"fwd": "forward", "ig": "input gradient", "wg": "weight gradient"}


def _layer(name: str) -> str:
    """Layers of a kind have the same name with another number."""
    return re.sub(r"_\d+$", "", name)


def _what(segment: paths.Segment) -> str:
    if segment.kind == "compute":
        return f"compute {_layer(segment.layer)}" + (f", {PHASES.get(segment.detail, segment.detail)}" if segment.detail
                                                     else "")
    if segment.kind == "communication":
        return segment.detail + (f" of {_layer(segment.layer)}" if segment.layer != segment.detail else "")
    if segment.kind == "message":
        return "message to another pipeline stage"
    return "optimizer's step" if segment.kind == "update" else "other"


def _kind(segment: paths.Segment, machine: Machine, known: recorded.Records) -> str:
    if segment.kind == "compute":
        return "computation"
    if segment.kind not in ("communication", "message"):
        return segment.kind
    carrier, _ = machine.blame(segment, known)
    return f"communication over {carrier}"


def _shares(segments: Sequence[paths.Segment], total: float, label: Callable[[paths.Segment], str]) -> list[Share]:
    sums: dict[str, float] = collections.defaultdict(float)
    counts: collections.Counter[str] = collections.Counter()
    for segment in segments:
        sums[label(segment)] += segment.duration
        counts[label(segment)] += 1
    return [(name, microseconds, microseconds / total, counts[name]) for name,
            microseconds in sorted(sums.items(), key=lambda item: -item[1])]


def _flow_text(segment: paths.Segment) -> str:
    flow = segment.flow
    if flow is None:
        return ""
    rate = flow.bytes * 8 / (flow.end - flow.start) / 1e3 if flow.end > flow.start else 0
    return f"{flow.src}>{flow.dst} {flow.bytes} bytes at {rate:.1f} Gb/s"


def _write_path(segments: Sequence[paths.Segment], machine: Machine, known: recorded.Records,
                directory: pathlib.Path) -> None:
    with whole_file(directory / "path.csv") as part, open(part, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["start_us", "end_us", "duration_us", "kind", "rank", "layer", "detail", "collective",
                         "carrier", "bandwidth_share", "last_flow"])
        for segment in segments:
            carrier, share = (machine.blame(segment, known) if segment.kind in ("communication", "message")
                              else ("", None))
            writer.writerow([f"{segment.start:.6f}", f"{segment.end:.6f}", f"{segment.duration:.6f}", segment.kind,
                             segment.rank, segment.layer, segment.detail, segment.collective or "", carrier,
                             "" if share is None else f"{share:.4f}", _flow_text(segment)])


def _follow(runner: Runner, directory: pathlib.Path, output: pathlib.Path) -> tuple[pathlib.Path, recorded.Records,
    list[paths.Segment]]:
    """@return the run's directory, or that of a repetition if it has no whole timeline, its Records and its path"""
    if (directory / "timeline.json").is_file():
        known = recorded.read(directory)
        segments = paths.critical_path(known)
        if len(known.spans) == runner.ranks() and all(segment.kind != "other" for segment in segments):
            return directory, known, segments
    repeated = output / "timeline"
    runner.run(repeated, timeline=True)
    known = recorded.read(repeated)
    return repeated, known, paths.critical_path(known)


def _deepest(directory: pathlib.Path) -> str:
    """@return the queue pair whose packets were farthest ahead, in parentheses; empty where no file says it"""
    path = directory / "reordering.csv"
    if not path.is_file():
        return ""
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row.get("reorder_bytes") or "").isdigit()]
    if not rows:
        return ""
    deepest = max(rows, key=lambda row: int(row["reorder_bytes"]))
    return f" (GPU {deepest['src']} -> {deepest['dst']}, queue pair {deepest['qpn']}; {len(rows)} queue pairs)"


def _packets(record: Mapping[str, Any], machine: Machine, directory: pathlib.Path) -> list[str]:
    """@return how packets fared that switches trimmed, that took several paths, or that links sent again"""
    said = []
    if record.get("trimmed_packets"):
        said.append(f"{record['trimmed_packets']} trimmed")
    if record.get("out_of_order_packets"):
        said.append(f"{record['out_of_order_packets']} out of order, at most {record['reorder_bytes']} bytes ahead"
                    f"{_deepest(directory)}")
        even = spread([link.busy_share for link in machine.links
                       if machine.carrier_of_link(link.node, link.peer) == "fabric"])
        said += [f"spread over {100 * even:.0f}% of the fabric's links"] if even else []
    if record.get("link_replays"):
        said.append(f"{record['link_replays']} sent again by links")
    return [f"  packets {', '.join(said)}"] if said else []


def _links(machine: Machine) -> list[str]:
    lines = []
    for carrier in CARRIERS:
        link = machine.busiest(carrier)
        if link:
            lines.append(f"  {carrier:7} {link.node} -> {link.peer}: busy {100 * link.busy_share:.1f}% of the time" +
                         (f", {link.used_by}" if link.used_by else "") +
                         (f", {link.trims} packets trimmed" if link.trims else "") +
                         (f", {link.replays} sent again" if link.replays else ""))
    return lines


def _confirm(runner: Runner, machine: Machine, factor: float, output: pathlib.Path) -> dict[str, float]:
    measured = {}
    with tempfile.TemporaryDirectory(prefix="why-") as scratch:
        for change in CHANGES:
            if change.resource != "computation" and not machine.busiest(change.resource):
                continue
            changed = runner.changed(change, factor, machine, pathlib.Path(scratch))
            measured[change.name] = runner.run(output / change.name.replace(" ", "-"), changed)
    return measured


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Explanation(Shown):
    """Where the time of a run's iteration goes, by its critical path; times in microseconds."""
    run: pathlib.Path
    output: pathlib.Path  # directory of path.csv, why.json and the what-ifs' runs
    total_us: float
    segments: Sequence[paths.Segment]
    ranks: int
    kinds: Sequence[Share]
    whats: Sequence[Share]  # the longest first
    busiest: Sequence[str]
    factor: float
    bound: Mapping[str, float]  # microseconds that each resource is to blame for
    top: int
    confirms: bool
    runner: Runner
    machine: Machine

    @functools.cached_property
    def expected(self) -> Mapping[str, float]:
        """Change of the iteration by what is faster, as a share of it, worked out on the path"""
        return worked_out(self.bound, self.total_us, self.factor)

    @functools.cached_property
    def measured(self) -> Mapping[str, float]:
        """Microseconds of the iteration by what is faster: runs them when it is first asked for, unless --no-confirm
        says otherwise, and writes why.json"""
        found = _confirm(self.runner, self.machine, self.factor, self.output) if self.confirms else {}
        facts = {"total_us": self.total_us,
                 "parts": [dict(zip(("name", "us", "share", "count"), row)) for row in self.kinds],
                 "bound_us": self.bound, "factor": self.factor, "worked_out": self.expected,
                 "run": {name: value / self.total_us - 1 for name, value in found.items()}} | (
                     {"tuner": self.tuner} if self.tuner else {})
        write_text(self.output / "why.json", json.dumps(facts, indent=1) + "\n")
        return found

    @property
    def tuner(self) -> str | None:
        """NCCL's tuner that chose algorithms, or None"""
        return self.runner.record["options"].get("tuner")

    @property
    def parts(self) -> "pd.DataFrame":
        """A row per kind of part, the longest first: part, us, share (of 1), count"""
        return self._frame(self.kinds)

    @property
    def longest(self) -> "pd.DataFrame":
        """The same by layers and operations"""
        return self._frame(self.whats)

    @property
    def what_if(self) -> "pd.DataFrame":
        """A row per what-if: what is faster; the relative change of the iteration, worked out on the path and as run
        (missing where it was not run)"""
        import pandas as pd
        return pd.DataFrame([(change.name, self.factor, self.expected[change.name], self._run(change.name))
                             for change in CHANGES], columns=["faster", "factor", "worked_out", "run"])

    @property
    def path(self) -> "pd.DataFrame":
        """Every part of the path in time order, the columns of path.csv; times in us"""
        import pandas as pd
        return pd.read_csv(self.output / "path.csv")

    @staticmethod
    def _frame(rows: Sequence[Share]) -> "pd.DataFrame":
        import pandas as pd
        return pd.DataFrame(rows, columns=["part", "us", "share", "count"])

    def _run(self, name: str) -> float | None:
        return self.measured[name] / self.total_us - 1 if name in self.measured else None

    def headline(self) -> str:
        return (f"{self.run}: {self.total_us:.3f} us; the critical path has {len(self.segments)} parts on "
                f"{len({segment.rank for segment in self.segments})} of {self.ranks} ranks")

    def lines(self) -> Iterator[str]:
        def shares(rows: Sequence[Share]) -> Iterator[str]:
            for name, microseconds, share, count in rows:
                yield f"  {100 * share:6.2f}%  {microseconds:14.3f} us  {count:6d} x  {name}"

        yield self.headline()
        yield "where the time goes"
        yield from shares(self.kinds)
        yield "the longest parts"
        yield from shares(self.whats[:self.top])
        yield "the busiest links"
        yield from self.busiest
        if self.tuner:
            yield f"NCCL's choices: by the tuner {self.tuner} where it has a row, else by the cost model"
        yield (f"what if, {100 * (self.factor - 1):+.0f}%: worked out on the path"
               + (", and as run" if self.measured else ""))
        for change in CHANGES:
            told = self._run(change.name)
            yield (f"  {change.name:17} {100 * self.expected[change.name]:+.2f}%"
                   + (f", run {100 * told:+.2f}%" if told is not None else ""))
        yield f"every part of the path: {self.output / 'path.csv'}"

    def tables(self) -> Iterator[Table]:
        yield "where the time goes", self.parts
        yield "the longest parts", self.longest.head(self.top)
        yield "what if", self.what_if


def explain(given: argparse.Namespace) -> Explanation:
    """Explains a run. @param given what commands/why.py has parsed"""
    directory = pathlib.Path(given.run)
    output = pathlib.Path(given.output) if given.output else directory / "why"
    runner = Runner(directory, given.program)
    output.mkdir(parents=True, exist_ok=True)
    try:
        followed, known, segments = _follow(runner, directory, output)
        total = known.finished[1]
        machine = Machine(runner.inputs["topology"], followed, total * 1000)
    except TopologyError as error:
        raise InputError(str(error)) from None
    if runner.traces:  # they do not tell forward from backward
        segments = [dataclasses.replace(segment, detail="") if segment.kind == "compute" else segment
                    for segment in segments]
    bound = bound_us(segments, known, machine)
    _write_path(segments, machine, known, output)
    return Explanation(directory, output, total, segments, len(known.spans),
                       _shares(segments, total, lambda segment: _kind(segment, machine, known)),
                       _shares(segments, total, _what), _links(machine) + _packets(runner.record, machine, directory),
                       given.factor, bound, given.top, not given.no_confirm, runner, machine)
