# SPDX-License-Identifier: GPL-2.0-only
"""The top of the page: which run is fastest, and where the time of each went."""
import dataclasses

from clustersim.results.breakdown import breakdowns, parts_that_occur
from clustersim.results.verdict import sentences_of

@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    colour: int  # of the page's palette, from 1
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


def _bar(breakdown, longest, first):
    parts = [Part(part.name, part.colour + 1, 100 * part.us / longest, time_text(part.us))
             for part in breakdown.parts]
    relative = f"{breakdown.total_us / first:.2f} x" if first else ""
    return Bar(breakdown.name, time_text(breakdown.total_us), relative, parts)


def _sentences(runs, jobs):
    found = []
    if len(runs) > 1 and len(jobs) == len(runs):
        ordered = sorted(jobs, key=lambda job: job.total_us)
        best, worst = ordered[0], ordered[-1]
        found.append(f"{best.name} is fastest with {time_text(best.total_us)}; {worst.name} takes "
                     f"{worst.total_us / best.total_us:.2f} times as long." if best.total_us else
                     f"{best.name} is fastest.")
    elif len(jobs) == 1:
        row = next(run.summary.iloc[0] for run in runs if run.summary is not None and len(run.summary))
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
    jobs = breakdowns(runs)
    longest = max((job.total_us for job in jobs), default=0)
    first = jobs[0].total_us if len(jobs) > 1 else 0
    return Glance(_sentences(runs, jobs), [_bar(job, longest, first) for job in jobs],
                  [(name, colour + 1) for name, colour in parts_that_occur(jobs)])
