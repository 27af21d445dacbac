# SPDX-License-Identifier: GPL-2.0-only
"""The limits of each group of a run: worked out from collectives.csv, links.csv and run.json.

    from clustersim.results.verdict import findings_of, sentences_of
    for sentence in sentences_of(run):
        print(sentence)

For each operation and kind of group (such as AllReduce DP):

- It was *active* in the union of the times from the last rank's start to the last rank's end.
- A class of links (NVLink, GPU to switch, switch up, ...) is as *busy* with it as the busiest link of the
  class: the part of the active time in which that link sent the group's bytes. The busiest class is what
  bounds the group.
- The rest of the active time that link was busy with *others*, *paused* by PFC, or *idle*.
- How much congestion control costs is known where a run of the same inputs with ``--network flow`` is
  compared: links shared fairly, without queues or marks. What is idle there, too, are steps of the algorithm that
  wait for each other, each for AS_SEND_LAT first if that is set. Without such a run the idle time bounds the cost
  where receivers reported congestion (CNPs), or senders of an algorithm without CNPs met above the access switches;
  a bound says nothing of whether another algorithm would be faster.
"""
import collections
import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TYPE_CHECKING

from clustersim import gpu_rows
from clustersim.results.nodes import links_with_kinds
from clustersim.results.reading import run_json

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.run import Run

Intervals = list[list[float]]  # disjoint, in order: start and end
Activity = dict[tuple[str, str], tuple[Intervals,
                                       Any]]  # by operation and kind of group, the times and rows of collectives.csv
Busy = tuple[float, dict[str, Any], dict[str, float]]  # the time that a link is busy, its row, its shares by purpose
ITEM = re.compile(r"(.+?) (\d+)%$")
FULL = 0.9  # busy above it: bandwidth is what counts
SMALL = 0.05  # parts below it are not worth a sentence
LONGEST_USUAL_LATENCY_NS = 1e6  # AS_SEND_LAT above it is a mistake in the unit
UNEVEN = 1.5  # the busiest link over the mean of its class
WITHOUT_CNPS = {"HPCC", "TIMELY", "TIMELY-paper", "HPCC-PINT", "Swift"}
INSIDE = {"NVLink"}
CLASSES = {"NVLink": "NVLinks", "GPU to switch": "links from GPUs to switches",
           "switch to GPU": "links from switches to GPUs", "switch up": "uplinks of switches",
           "switch down": "downlinks of switches", "switch to switch": "links between switches",
           "GPU to GPU": "links between GPUs", "all links": "links"}
ABOVE = ("switch up", "switch down", "switch to switch")


@dataclasses.dataclass(frozen=True)
class Finding:
    """One operation of one kind of group; shares are parts of the time in which it was active."""
    op: str
    group: str
    ranks: int
    algorithms: str
    count: int
    active_ns: float
    waited_ns: float  # from first to last start, the mean of its collectives
    bound: str        # the busiest class of links
    link: dict[str, Any]  # its busiest link: a row of links.csv
    link_name: str
    busy: float
    others: float
    paused: float
    idle: float
    uneven: float     # the busiest link of the class over the mean of those it uses
    above: float      # part of its network bytes that went above the access switches
    lost: float       # to congestion control; an upper bound unless fair_ns is known
    congestion_control: str
    cnps: int
    mean_ns: float    # from last start to end, the mean of its collectives
    fair_ns: float    # the same in a run that shares links fairly; 0 if there is none
    fair_idle: float  # idle in that run; as idle here where its links are not known
    send_latency_ns: float  # what AS_SEND_LAT adds before each message; 0 if it is not set

    @property
    def name(self) -> str:
        """The operation and the group of its collectives"""
        return f"{self.op} {self.group}"


def uses(text: object) -> dict[str, float]:
    """@return what used a link: name -> share from 0 to 1 of its bytes"""
    found = {}
    for item in str(text or "").split("; "):
        match = ITEM.match(item)
        if match:
            found[match[1]] = int(match[2]) / 100
    return found


def union(intervals: Iterable[tuple[float, float]]) -> Intervals:
    """@return disjoint intervals, in order"""
    merged: list[list[float]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        elif end > start:
            merged.append([start, end])
    return merged


def length(intervals: Intervals) -> float:
    return sum(end - start for start, end in intervals)


def overlap(one: Intervals, two: Intervals) -> float:
    """@return how long two unions of intervals overlap"""
    total, i, j = 0.0, 0, 0
    while i < len(one) and j < len(two):
        total += max(0, min(one[i][1], two[j][1]) - max(one[i][0], two[j][0]))
        if one[i][1] < two[j][1]:
            i += 1
        else:
            j += 1
    return total


def _activity(frame: "pd.DataFrame") -> Activity:
    """@return the intervals of each purpose, and its rows"""
    found = {}
    for (op, kind), rows in frame.groupby(["op", "kind"]):
        # Links know the kind of group; a group of no kind is only known by its operation.
        starts = rows["last_start_ns"] if "last_start_ns" in rows else rows["start_ns"]
        found[op, kind] = (union(zip(starts, rows["end_ns"])), rows)
    return found


def _busy_links(links: "pd.DataFrame") -> dict[str, list[Busy]]:
    """@return purpose -> rows of links with the time they were busy with it"""
    found = collections.defaultdict(list)
    for row in links.to_dict("records"):
        shares = uses(row.get("used_by"))
        for purpose, share in shares.items():
            found[purpose].append((row["busy_ns"] * share, row, shares))
    return found


def _class_means(rows: Iterable[Busy]) -> dict[str, float]:
    by_class = collections.defaultdict(list)
    for busy, row, _ in rows:
        by_class[row["kind"]].append(busy)
    return {kind: sum(values) / len(values) for kind, values in by_class.items()}


def _others(row: Mapping[str, Any], shares: Mapping[str, float], purpose: str, activity: Activity,
            mine: Intervals) -> float:
    """@return how long a link is busy with other traffic while this purpose is active, taking other traffic as
    even over the times of its own activity"""
    total = 0
    for other, share in shares.items():
        if other == purpose:
            continue
        theirs = next((intervals for (op, kind), (intervals, _) in activity.items()
                       if f"{op} {kind}" == other), None)
        part = overlap(mine, theirs) / length(theirs) if theirs and length(theirs) else 1
        total += row["busy_ns"] * share * part
    return total


def _may_lose(run: "Run", bound: str, cnps: int) -> bool:
    """@return whether congestion control may have kept that class of links idle"""
    if bound in INSIDE or not run.packets or run.congestion_control in ("", "none"):
        return False
    return bound in ABOVE if run.congestion_control in WITHOUT_CNPS else cnps > 0


def _cnps(run: "Run") -> int:
    if "cnps" in run.info:
        return int(run.info["cnps"])
    if run.cnps is None or run.cnps.empty:
        return 0
    return int(run.cnps.groupby(["src", "dst", "sport", "dport", "qpn"])["cnps"].max().sum())


def _identity(run: "Run") -> tuple[str, ...] | None:
    """@return what tells that two runs have the same inputs, or None"""
    found = tuple(str(run_json.input_of(run.info, role).get("sha256", "")) for role in ("workload", "topology"))
    return found if all(found) else None


def fair_run_of(run: "Run", runs: "Sequence[Run]") -> "Run | None":
    """@return the run among others that shares links fairly and has the same workload and topology, or None"""
    if not run.packets:
        return None
    return next((each for each in runs if each.backend == "flow" and _identity(each)
                 and _identity(each) == _identity(run)), None)


def _mean_ns(rows: "pd.DataFrame") -> float:
    starts = rows["last_start_ns"] if "last_start_ns" in rows else rows["start_ns"]
    return float((rows["end_ns"] - starts).mean())


def _time_in(run: "Run", op: str, kind: str) -> float:
    """@return how long the collectives of a run take on average, 0 if it has none of these"""
    if run.collectives is None:
        return 0.0
    rows = run.collectives[(run.collectives["op"] == op) & (run.collectives["kind"] == kind)]
    return _mean_ns(rows) if len(rows) else 0.0


def _send_latency_ns(run: "Run") -> float:
    """@return what AS_SEND_LAT (us) adds before each message"""
    variables = run.options.get("nccl_environment") or {}
    try:
        return 1e3 * float(variables.get("AS_SEND_LAT") or 0)
    except (TypeError, ValueError):
        return 0.0


def findings_of(run: "Run", runs: "Sequence[Run]" = ()) -> list[Finding]:
    """@param runs that it is compared with @return a Finding for each operation and kind of group, the longest active
    first"""
    links = links_with_kinds(run)
    if links is None or run.collectives is None or run.collectives.empty or "used_by" not in links:
        return []
    activity = _activity(run.collectives)
    by_purpose = _busy_links(links)
    fair = fair_run_of(run, runs)
    fair_findings = {each.name: each for each in findings_of(fair)} if fair else {}
    cnps, found = _cnps(run), []
    for (op, kind), (intervals, rows) in activity.items():
        purpose, active = f"{op} {kind}", length(intervals)
        mine = by_purpose.get(purpose, [])
        if not mine or not active:
            continue
        busy, link, shares = max(mine, key=lambda item: (item[0], -item[1]["node"], -item[1]["port"]))
        if not busy:
            continue  # its share of every link is rounded to 0%
        share = min(1.0, busy / active)
        others = min(1 - share, _others(link, shares, purpose, activity, intervals) / active)
        paused = min(1 - share - others, link["pause_ns"] * shares[purpose] / active)
        idle = max(0.0, 1 - share - others - paused)
        network = sum(row["tx_bytes"] * part[purpose] for _, row, part in mine if row["kind"] == "GPU to switch")
        up = sum(row["tx_bytes"] * part[purpose] for _, row, part in mine if row["kind"] == "switch up"
                 and run.nodes.kind(row["node"]) == "tier 1")
        waited = (rows["last_start_ns"] - rows["start_ns"]).mean() if "last_start_ns" in rows else 0.0
        mean_ns = _mean_ns(rows)
        fair_ns = _time_in(fair, op, kind) if fair else 0.0
        fair_idle = fair_findings[purpose].idle if purpose in fair_findings else idle
        latency_ns = _send_latency_ns(run)
        lost = idle if _may_lose(run, link["kind"], cnps) and latency_ns <= SMALL * mean_ns else 0.0
        if fair_ns and link["kind"] not in INSIDE:
            lost = max(0.0, 1 - fair_ns / mean_ns)
        found.append(Finding(
            op, kind, int(rows["ranks"].max()), "/".join(sorted(set(rows["algorithm"]))), len(rows), active,
            float(waited), link["kind"], link,
            f"{run.nodes.name(link['node'])} to {run.nodes.name(link['peer'])}",
            share, others, paused, idle, busy / _class_means(mine)[link["kind"]],
            up / network if network else 0.0, lost, run.congestion_control, cnps, mean_ns, fair_ns, fair_idle,
            latency_ns))
    return sorted(found, key=lambda finding: -finding.active_ns)


def percent(share: float) -> str:
    """@return a share between 0 and 1 in per cent"""
    return f"{100 * share:.0f}%"


def _bounding(finding: Finding) -> str:
    links = CLASSES[finding.bound]
    what = (f"bounded by the bandwidth of the {links}" if finding.busy + finding.others >= FULL else
            f"busiest on the {links}, which it does not fill")
    parts = [f"sends for {percent(finding.busy)} of the time"]
    if finding.others >= SMALL:
        parts.append(f"carries other traffic for {percent(finding.others)}")
    if finding.paused >= SMALL:
        parts.append(f"is paused for {percent(finding.paused)}")
    if finding.idle >= SMALL:
        parts.append(f"is idle for {percent(finding.idle)}")
    last = f" and {parts.pop()}" if len(parts) > 1 else ""
    return (f"{finding.name} ({finding.ranks} ranks, {finding.algorithms}) is {what}: {finding.link_name} "
            f"({finding.link['rate_bps'] / 1e9:g} Gb/s) " + ", ".join(parts) + last + ".")


def _spines(run: "Run", finding: Finding) -> str:
    tiers = len(run.nodes.graph.tiers) if run.nodes.graph else 0
    if finding.bound == "NVLink" and not finding.above or tiers < 2:
        return ""
    if not finding.above:
        return "No byte of it goes above the access switches: spines do not matter to it."
    return f"{percent(min(1.0, finding.above))} of its network bytes go through spines."


def _waits_for_send_latency(finding: Finding) -> bool:
    return finding.idle >= SMALL and finding.send_latency_ns > SMALL * finding.mean_ns


def _idle(finding: Finding) -> str:
    """@return what the idle time of the busiest link is, if not congestion control"""
    if _waits_for_send_latency(finding):
        return (f"The idle {percent(finding.idle)} are messages that wait for the send latency, AS_SEND_LAT "
                f"({finding.send_latency_ns / 1e3:.4g} us before each), and for each other: a collective takes "
                f"{finding.mean_ns / finding.send_latency_ns:.3g} times that latency.")
    also = ", and the speed at which GPUs copy" if finding.bound in INSIDE else ""
    if finding.fair_ns and finding.idle - finding.fair_idle >= SMALL:
        return (f"Of the idle {percent(finding.idle)}, {percent(finding.fair_idle)} are steps that wait for each "
                f"other{also}, "
                f"as with links shared fairly, where it takes {finding.fair_ns / 1e3:.4g} us instead of "
                f"{finding.mean_ns / 1e3:.4g} us.")
    return f"The idle {percent(finding.idle)} are steps that wait for each other{also}."


def _losses(finding: Finding) -> list[str]:
    found = []
    why = (f"{finding.cnps} congestion notifications slowed senders" if finding.cnps else
           "senders hold back to keep queues short")
    if finding.lost >= SMALL and finding.fair_ns:
        found.append(f"{percent(finding.lost)} of its time is lost to congestion control "
                     f"({finding.congestion_control}): {why}; with links shared fairly it takes "
                     f"{finding.fair_ns / 1e3:.4g} us instead of {finding.mean_ns / 1e3:.4g} us.")
    elif finding.lost >= SMALL:
        found.append(f"The idle {percent(finding.lost)} are steps that wait for each other, and what congestion "
                     f"control "
                     f"({finding.congestion_control}) costs: {why}. The same run with --network flow shows how much.")
    elif finding.idle >= SMALL:
        found.append(_idle(finding))
    if finding.waited_ns > SMALL * finding.mean_ns:
        found.append(f"Its ranks start {finding.waited_ns / 1e3:.4g} us apart on average, which busbw counts and "
                     f"busbw from the last start does not.")
    return found


def _switches_reduce(run: "Run", gpu: str) -> bool:
    """@return whether NVSwitches reduce for a type of GPU, by the table of the run if it had one"""
    path = run_json.input_of(run.info, "GPU table").get("path")
    file = next((place for place in run_json.places_of(path, run.info) if place.is_file()), None) if path else None
    with gpu_rows.using(file):
        return gpu_rows.reduces(gpu)


def _nvls(run: "Run", finding: Finding) -> str:
    topology = run.topology
    if (finding.bound != "NVLink" or topology is None or not topology.nvswitches
            or "NVLS" in finding.algorithms or finding.op not in ("AllReduce", "AllGather", "ReduceScatter")):
        return ""
    if str(run.options.get("nvls", "")).lower() in ("true", "1") or not _switches_reduce(run, topology.gpu_type):
        return ""
    return f"NVLS is off, so the NVSwitches of {topology.gpu_type} reduce nothing: try AS_NVLS_ENABLE=1."


def _other_control(run: "Run", finding: Finding, runs: "Sequence[Run]") -> str:
    """@return which congestion control to take instead: the fastest of the compared runs of the same inputs"""
    times = {}
    for each in runs:
        if each.packets and _identity(each) and _identity(each) == _identity(run) and \
                each.congestion_control != run.congestion_control:
            times[each.congestion_control] = _time_in(each, finding.op, finding.group)
    times = {name: ns for name, ns in times.items() if ns and name}
    if not times:
        # That idle time may be due to congestion control is no reason for another one.
        return "" if finding.congestion_control == "HPCC" or not finding.fair_ns else \
            "another congestion control, such as conf/HPCC.conf"
    best = min(times, key=lambda name: times[name])
    if times[best] >= finding.mean_ns:
        return ""
    return f"{best} as congestion control ({times[best] / 1e3:.4g} us instead of {finding.mean_ns / 1e3:.4g} us)"


def _changes(run: "Run", finding: Finding, runs: "Sequence[Run]") -> str:
    """@return what to change, the most effective first"""
    found = []
    if _waits_for_send_latency(finding):
        shorter = f"{finding.send_latency_ns / 1e6:g}" if finding.send_latency_ns > LONGEST_USUAL_LATENCY_NS else ""
        found.append(f"AS_SEND_LAT={shorter}, which is in microseconds" if shorter else "a shorter AS_SEND_LAT")
    if finding.lost >= SMALL:
        other = _other_control(run, finding, runs)
        found += [other] if other else []
    ratios = dict(run.nodes.graph.oversubscription()) if run.nodes.graph else {}
    if finding.bound in ABOVE and finding.uneven >= UNEVEN:
        found.append(f"ROUTING adaptive or spray, as the link carries {finding.uneven:.2g} times the mean of its "
                     f"class")
    over = max(ratios.values(), default=1)
    if finding.bound in ABOVE and over > 1.01:
        found.append(f"more capacity above the access switches (oversubscribed {over:.3g}:1)")
    if finding.bound in ("GPU to switch", "switch to GPU") and finding.busy + finding.others >= FULL:
        found.append("faster NICs, or fewer bytes")
    if finding.paused >= SMALL:
        found.append("larger buffers (BUFFER_SIZE) or earlier marks (KMIN_MAP)")
    return f"To change: {'; '.join(found)}." if found else ""


def sentences_of(run: "Run", runs: "Sequence[Run]" = ()) -> list[str]:
    """@param runs that it is compared with @return what limited the run, a sentence or two for each group, the longest
    active first"""
    found = []
    if not run.has_whole_network and run.collectives is not None and len(run.collectives):
        found.append("With --fast-forward, links.csv lacks the traffic: what limits the groups, and how busy links "
                     "are, is known of a "
                     "run without it.")
    for finding in findings_of(run, runs):
        parts = [_bounding(finding), _spines(run, finding), *_losses(finding), _nvls(run, finding),
                 _changes(run, finding, runs)]
        found.append(" ".join(part for part in parts if part))
    return found
