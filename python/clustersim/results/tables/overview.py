# SPDX-License-Identifier: GPL-2.0-only
"""The runs, their differences, and their times by kind."""
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clustersim.results.breakdown import comparable_of
from clustersim.results.tables.table import Table

if TYPE_CHECKING:
    from clustersim.results.run import Run

EXPOSED = ("exposed_dp", "exposed_dp_ep", "exposed_tp", "exposed_ep", "exposed_pp", "exposed_cp",
           "exposed_other")
NAMES = {"exposed_dp": "exposed DP us", "exposed_dp_ep": "exposed DP_EP us",
         "exposed_tp": "exposed TP us", "exposed_ep": "exposed EP us", "exposed_pp": "exposed PP us",
         "exposed_cp": "exposed CP us", "exposed_other": "exposed other us"}
# Say the same as another option, or as the table of runs.
NOT_COMPARED = {"TOPOLOGY_FILE", "FLOW_FILE", "cc_mode", "payload_bytes", "qps_per_connection", "set",
                "ECN_ENABLED"}


def runs_table(runs: "Sequence[Run]") -> Table:
    """@return one row per run: inputs, status and cost"""
    rows = []
    for run in runs:
        info = run.info
        memory = info.get("peak_memory_bytes")
        rows.append((run.name, info.get("status", "unknown"), run.workload, run.topology_name,
                     run.congestion_control, run.backend,
                     None if run.simulated_ns is None else run.simulated_ns / 1e3,
                     info.get("wall_s"), None if memory is None else memory / 1e6,
                     info.get("packet_hops"), info.get("drops"), info.get("pauses"),
                     info.get("retransmitted_bytes"), info.get("trimmed_packets") or None,
                     info.get("out_of_order_packets") or None, info.get("reorder_bytes") or None))
    columns = ("run", "status", "workload", "topology", "CC", "network", "simulated us", "wall s",
               "memory MB", "packet-hops", "drops", "pauses", "retransmitted bytes",
               "trimmed packets", "out of order", "bytes ahead")
    keep = [i for i in range(len(columns))
            if i < 2 or any(row[i] not in (None, "") for row in rows)]
    return Table("runs", "Runs", tuple(columns[i] for i in keep),
                 [tuple(row[i] for i in keep) for row in rows], digits={"wall s": 2, "memory MB": 1})


def differences_table(runs: "Sequence[Run]") -> Table:
    """@return one row per option that is not the same in all runs"""
    names = sorted({name for run in runs for name in run.options} - NOT_COMPARED)
    names = [name for name in names if not name.endswith(("_OUTPUT_FILE", "_MON_FILE"))]
    rows = []
    for name in names:
        values = [text_of(run.options.get(name)) for run in runs if run.info]
        if len(set(values)) > 1:
            rows.append((name, *(text_of(run.options.get(name)) if run.info else None for run in runs)))
    return Table("differences", "Options in which the runs differ",
                 ("option", *(run.name for run in runs)), rows)


def text_of(value: object) -> str:
    if isinstance(value, (dict, list)):
        pairs = value.items() if isinstance(value, dict) else ((None, each) for each in value)
        return " ".join(f"{k}={v}" if k else str(v) for k, v in pairs)
    return "" if value is None else str(value)


def completion_table(runs: "Sequence[Run]") -> Table:
    """@return one row per job of each run: total time and its parts"""
    several = any(run.summary is not None and len(run.summary) > 1 for run in runs)
    rows = []
    first: dict[object, float] = {}
    for run in runs:
        for number, row in enumerate(() if run.summary is None else run.summary.to_dict("records")):
            total = row["total"]
            comparable = comparable_of(run, number)
            base = first.setdefault(comparable, total) if comparable else 0
            rows.append((run.name, *((row["job"],) if several else ()), total,
                         total / base if base else None, row["compute"], row["exposed"],
                         100 * row["exposed"] / total if total else None, row["bubble"],
                         *(row[name] for name in EXPOSED)))
    return Table("completion", "Completion time and exposed communication",
                 ("run", *(("job",) if several else ()), "total us", "x first run", "compute us",
                  "exposed us", "exposed %", "bubble us", *NAMES.values()), rows,
                 note="Exposed communication is waiting that no computation hides, the mean over ranks; "
                      "total is that of the last rank. Only runs of the same workload are compared, and none that "
                 "serves requests, "
                      "which lasts as long as they come.", digits={"exposed %": 1},
                 optional=("bubble us", *NAMES.values()))


def layers_table(runs: "Sequence[Run]", count: int = 10) -> Table:
    """@return the layers whose exposed communication differs most between the runs (or is largest)"""
    exposed: dict[str, dict[str, float]] = {}
    for run in runs:
        if run.layers is None:
            continue
        columns = ["fwd_exposed_us", "ig_exposed_us", "wg_exposed_us"]
        names = run.layers["layer"]
        if run.layers["job"].nunique() > 1:
            names = run.layers["job"] + ": " + names
        sums = run.layers[columns].sum(axis=1).groupby(names, sort=False).sum()
        for layer, value in sums.items():
            exposed.setdefault(layer, {})[run.name] = value
    def spread(layer: str) -> float:
        values = [exposed[layer].get(run.name, 0.0) for run in runs]
        return max(values) - (min(values) if len(values) > 1 else 0)
    chosen = sorted(exposed, key=spread, reverse=True)[:count]
    rows = [(layer, *(exposed[layer].get(run.name) for run in runs)) for layer in chosen
            if spread(layer) > 0]
    title = ("Layers whose exposed communication differs most (us)" if len(runs) > 1 else
             "Layers with the most exposed communication (us)")
    return Table("layers", title, ("layer", *(run.name for run in runs)), rows)
