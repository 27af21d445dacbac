# SPDX-License-Identifier: GPL-2.0-only
"""The top of the page: which run is fastest, and where the time of each went."""
import dataclasses

from clustersim.results.verdict import sentences_of

# Part of the time, its name, and its place in Okabe and Ito's palette.
PARTS = (("compute", "computation", 3), ("exposed_tp", "exposed TP", 1), ("exposed_dp", "exposed DP", 2),
         ("exposed_dp_ep", "exposed DP_EP", 5), ("exposed_ep", "exposed EP", 4),
         ("exposed_pp", "exposed PP", 6), ("bubble", "bubble", 7))
SHOWN = 0.02  # a part with a smaller share of the longest time has no label in its bar


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    colour: int
    percent: float  # of the longest time of all runs
    text: str


@dataclasses.dataclass(frozen=True)
class Bar:
    name: str
    total: str
    relative: str
    parts: list


@dataclasses.dataclass(frozen=True)
class Glance:
    sentences: list
    bars: list
    legend: list  # (name, colour) of the parts that occur


VERDICTS = 2  # at the top; the section "What limits each group" has all


def time_text(microseconds):
    """@return a time with the unit that suits it, such as "2.747 ms" """
    for factor, unit in ((1e6, "s"), (1e3, "ms"), (1, "\u00b5s")):
        if microseconds >= factor:
            return f"{microseconds / factor:.4g} {unit}"
    return f"{microseconds * 1e3:.4g} ns"


def _jobs(run):
    """@return (name, row of the summary) of each job; of a run with one, the run's name"""
    rows = [] if run.summary is None else run.summary.to_dict("records")
    return [(run.name if len(rows) == 1 else f"{run.name}: {row['job']}", row) for row in rows]


def _bar(name, row, longest, first):
    parts = []
    for key, title, colour in PARTS:
        share = row[key] / longest if longest else 0
        if share > 0:
            parts.append(Part(title, colour, 100 * share, time_text(row[key])))
    rest = row["total"] - sum(row[key] for key, _, _ in PARTS)
    if longest and rest / longest > 1e-3:
        parts.append(Part("other", 8, 100 * rest / longest, time_text(rest)))
    relative = f"{row['total'] / first:.2f} x" if first else ""
    return Bar(name, time_text(row["total"]), relative, parts)


def _sentences(runs, jobs):
    found = []
    if len(runs) > 1 and len(jobs) == len(runs):
        ordered = sorted(jobs, key=lambda job: job[1]["total"])
        (best, low), (worst, high) = ordered[0], ordered[-1]
        found.append(f"{best} is fastest with {time_text(low['total'])}; {worst} takes "
                     f"{high['total'] / low['total']:.2f} times as long." if low["total"] else
                     f"{best} is fastest.")
    elif len(jobs) == 1:
        row = jobs[0][1]
        share = 100 * row["exposed"] / row["total"] if row["total"] else 0
        found.append(f"It takes {time_text(row['total'])}, {share:.0f}% of it communication that no "
                     f"computation hides.")
    for run in runs:
        if not jobs and run.flows is not None and len(run.flows):
            found.append(f"{run.name}: {len(run.flows)} flows, the last done at "
                         f"{time_text(run.simulated_ns / 1e3)}, median slowdown "
                         f"{run.flows['slowdown'].median():.2f}.")
        if run.info.get("drops"):
            found.append(f"{run.name}: {run.info['drops']} frames were lost.")
    if len(runs) == 1:
        found += sentences_of(runs[0])[:VERDICTS]
    return found


def glance_of(runs):
    """@return what stands at the top of the page"""
    jobs = [job for run in runs for job in _jobs(run)]
    longest = max((row["total"] for _, row in jobs), default=0)
    first = jobs[0][1]["total"] if len(jobs) > 1 else 0
    bars = [_bar(name, row, longest, first) for name, row in jobs]
    legend = list(dict.fromkeys((part.name, part.colour) for bar in bars for part in bar.parts))
    order = {title: i for i, (_, title, _) in enumerate(PARTS)}
    return Glance(_sentences(runs, jobs), bars, sorted(legend, key=lambda entry: order.get(entry[0], 99)))
