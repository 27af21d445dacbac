# SPDX-License-Identifier: GPL-2.0-only
"""Requests that were served: how long they took, and where the time went."""
from collections.abc import Iterator, Sequence

from typing import Any, TYPE_CHECKING

from clustersim.results.tables.table import Table

if TYPE_CHECKING:
    from clustersim.results.run import Run

TIMES = (("ttft_us", "to the first token"), ("tpot_us", "per token after it"), ("e2e_us", "to the last token"))
PHASES = ("queue_us", "prefill_us", "transfer_us", "decode_us")


def _jobs(runs: "Sequence[Run]") -> "Iterator[tuple[Run, str, dict[str, dict[str, Any]]]]":
    """Yields run, job and its rows of inference.csv by metric."""
    for run in runs:
        if run.inference is not None:
            for job, frame in run.inference.groupby("job"):
                yield run, job, {row["metric"]: row for row in frame.to_dict("records")}


def serving_table(runs: "Sequence[Run]") -> Table:
    """@return one row per job with an INFERENCE workload"""
    rows = []
    for run, job, found in _jobs(runs):
        def mean(name: str) -> float | None:
            return found[name]["mean"] if name in found else None

        times = [found[name][share] / 1e3 if name in found else None for name, _ in TIMES for share in ("p50", "p99")]
        within = mean("within_limits")
        rows.append((run.name, job, mean("requests"), mean("refused"), mean("requests_per_second"),
                     mean("output_tokens_per_second"),
                     None if within is None else 100 * within, mean("goodput_per_second"), *times))
    names = [f"{name.removesuffix('_us')} {share} ms" for name, _ in TIMES for share in ("p50", "p99")]
    return Table("serving", "Requests that were served",
                 ("run", "job", "requests", "refused", "requests/s", "output tokens/s", "within limits %", "goodput/s",
                  *names), rows,
                 note="ttft: time to the first token; tpot: time per token after it; e2e: to the last token. Goodput "
                 "counts "
                      "requests within the limits of the workload, where it has any.",
                 digits={"requests": 0, "refused": 0}, optional=("refused", "within limits %", "goodput/s"))


def phases_table(runs: "Sequence[Run]") -> Table:
    """@return where the mean request spent its time, one row per job"""
    rows = []
    for run, job, found in _jobs(runs):
        whole = found["e2e_us"]["mean"] if "e2e_us" in found else 0
        parts = [found[name]["mean"] if name in found else 0 for name in PHASES]
        rows.append((run.name, job, whole / 1e3, *(part / 1e3 for part in parts),
                     *(100 * part / whole if whole else None for part in parts)))
    names = [name.removesuffix("_us") for name in PHASES]
    return Table("phases", "Where requests spend their time",
                 ("run", "job", "e2e ms", *(f"{name} ms" for name in names), *(f"{name} %" for name in names)), rows,
                 note="Means. queue: until the first step; prefill: until the first token; transfer: until the cache "
                 "is where it "
                      "is decoded; decode: until the last token.")


def instances_table(runs: "Sequence[Run]") -> Table:
    """@return one row per serving instance"""
    rows = []
    for run in runs:
        if run.instances is None:
            continue
        for row in run.instances.to_dict("records"):
            used = 100 * row["peak_blocks"] / row["blocks"] if row["blocks"] > 0 else None
            rows.append((run.name, row["job"], row["instance"], row["role"], row["steps"], 100 * row["utilization"],
                         row["mean_sequences"], row["prompt_tokens"], row["output_tokens"], row["preemptions"], used))
    return Table("instances", "Serving instances",
                 ("run", "job", "instance", "role", "steps", "busy %", "sequences per step", "prompt tokens",
                  "output tokens", "preemptions", "peak of cache %"), rows)
