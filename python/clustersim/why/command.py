# SPDX-License-Identifier: GPL-2.0-only
"""Output of scripts/why.py."""
import argparse
import collections
import csv
import dataclasses
import json
import pathlib
import re
import tempfile
from collections.abc import Callable, Sequence

from clustersim.errors import InputError
from clustersim.simulation import find_program
from clustersim.topology.cluster import InputError as TopologyError
from clustersim.whole_file import whole_file, write_text
from clustersim.why import path as paths, records as recorded
from clustersim.why.machine import CARRIERS, Machine
from clustersim.why.what_if import CHANGES, Runner, bound_us, worked_out

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


def _lines(rows: Sequence[Share], limit: int | None = None) -> list[str]:
    return [f"  {100 * share:6.2f}%  {microseconds:14.3f} us  {count:6d} x  {name}" for name, microseconds, share,
            count in
            rows[:limit]]


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


def _links(machine: Machine) -> list[str]:
    lines = []
    for carrier in CARRIERS:
        link = machine.busiest(carrier)
        if link:
            lines.append(f"  {carrier:7} {link.node} -> {link.peer}: busy {100 * link.busy_share:.1f}% of the time" +
                         (f", {link.used_by}" if link.used_by else ""))
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


def run(given: argparse.Namespace) -> None:
    """Explains a run. @param given what commands/why.py has parsed"""
    directory = pathlib.Path(given.run)
    output = pathlib.Path(given.output) if given.output else directory / "why"
    runner = Runner(directory, given.program or find_program())
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
    expected = worked_out(bound, total, given.factor)
    _write_path(segments, machine, known, output)
    print(f"{directory}: {total:.3f} us; the critical path has {len(segments)} parts on "
          f"{len({segment.rank for segment in segments})} of {len(known.spans)} ranks")
    kinds = _shares(segments, total, lambda segment: _kind(segment, machine, known))
    print("\n".join(["where the time goes", *_lines(kinds)]))
    print("\n".join(["the longest parts", *_lines(_shares(segments, total, _what), given.top)]))
    print("\n".join(["the busiest links", *_links(machine)]))
    tuner = runner.record["options"].get("tuner")
    if tuner:
        print(f"NCCL's choices: by the tuner {tuner} where it has a row, else by the cost model")
    measured = {} if given.no_confirm else _confirm(runner, machine, given.factor, output)
    print(f"what if, {100 * (given.factor - 1):+.0f}%: worked out on the path"
          + ("" if given.no_confirm else ", and as run"))
    for change in CHANGES:
        told = f", run {100 * (measured[change.name] / total - 1):+.2f}%" if change.name in measured else ""
        print(f"  {change.name:17} {100 * expected[change.name]:+.2f}%{told}")
    facts = {"total_us": total, "parts": [dict(zip(("name", "us", "share", "count"), row)) for row in kinds],
             "bound_us": bound, "factor": given.factor, "worked_out": expected,
             "run": {name: value / total - 1 for name, value in measured.items()}} | ({"tuner": tuner} if tuner else {})
    write_text(output / "why.json", json.dumps(facts, indent=1) + "\n")
    print(f"every part of the path: {output / 'path.csv'}")
