# SPDX-License-Identifier: GPL-2.0-only
"""Queues and pauses."""
import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from clustersim.results.tables.percentiles import percentiles
from clustersim.results.tables.table import Table

if TYPE_CHECKING:
    from clustersim.results.run import Run


def pfc_table(runs: "Sequence[Run]") -> Table:
    """@return one row per run and kind of node whose ports were paused, and one for runs without any"""
    rows: list[tuple[object, ...]] = []
    for run in runs:
        if run.pauses is None:
            continue
        if run.pauses.empty:
            rows.append((run.name, "all", 0, 0, 0.0, None, None, None))
            continue
        frame = run.pauses.assign(kind=[run.nodes.kind(node) for node in run.pauses["node"]],
                                  us=(run.pauses["end_ns"] - run.pauses["start_ns"]) / 1e3)
        for kind, group in frame.groupby("kind"):
            ports = group.groupby(["node", "port"])["us"].sum()
            node, port = ports.idxmax()
            rows.append((run.name, kind, len(group), len(ports), float(ports.sum()),
                         float(group["us"].max()), f"{run.nodes.name(node)} port {port}",
                         float(ports.max())))
    rows.sort(key=lambda row: str(row[1]))  # stable: runs stay in their order
    return Table("pfc", "PFC pauses", ("run", "paused", "pauses", "ports", "paused us", "longest us",
                                       "most paused", "its us"), rows,
                 note="Times are summed over ports; the kind of node is that of the side that had to wait.")


def _behind(waits: Mapping[int, Sequence[tuple[int, int]]], nodes: Iterable[int]) -> list[int]:
    """@return the queues that wait for these nodes, at once or for others that do"""
    found, todo, seen = [], list(nodes), set(nodes)
    while todo:
        for queue, node in waits.get(todo.pop(), ()):
            found.append(queue)
            if node not in seen:
                seen.add(node)
                todo.append(node)
    return found


def origins_table(runs: "Sequence[Run]", count: int | None = None) -> Table:
    """@param count rows per run (default: 10, or 5 of several runs)

    @return the nodes that paused others without being paused themselves, and what waited for them
    """
    rows, count = [], count or (10 if len(runs) == 1 else 5)
    for run in runs:
        queues = run.paused_queues
        if queues is None or queues.empty:
            continue
        waits = collections.defaultdict(list)
        for i, (node, by) in enumerate(zip(queues["node"], queues["paused_by"])):
            waits[by].append((i, node))
        paused = set(queues["node"])
        mine = []
        for origin in set(queues["paused_by"]) - paused:
            direct = queues[queues["paused_by"] == origin]
            behind = queues.iloc[sorted(set(_behind(waits, [origin])))]
            mine.append((run.name, run.nodes.name(origin), len(direct), float(direct["paused_ns"].sum()) / 1e3,
                         float(direct["longest_ns"].max()) / 1e3, int(direct["storms"].sum()),
                         len(behind), float(behind["paused_ns"].sum()) / 1e3))
        rows += sorted(mine, key=lambda row: (-row[-1], row[1]))[:count]
    return Table("origins", "Origins of PFC pauses",
                 ("run", "origin", "queues it paused", "paused us", "longest us", "storms",
                  "queues behind it", "paused in all us"), rows,
                 note="Nodes that paused others and were not paused themselves. Behind them are the "
                      "queues that they paused and those that these made wait; a queue may wait for several.",
                 optional=("storms",))


def port_counts(run: "Run") -> Mapping[str, int]:
    """@return number of ports by kind of switch; empty if unknown"""
    counts: collections.Counter[str] = collections.Counter()
    if run.topology is not None:
        for link in run.topology.links:
            for node in (link.a, link.b):
                counts[run.nodes.kind(node)] += 1
    return counts


def queues_table(runs: "Sequence[Run]") -> Table:
    """@return one row per run and kind of switch"""
    rows = []
    for run in runs:
        if run.queues is None or run.queues.empty:
            continue
        # A port has a line for each of its queues, with the port's length in each.
        histogram = "samples" in run.queues
        frame = run.queues if histogram else run.queues.drop_duplicates(["time_ns", "node", "port"])
        kinds = {node: run.nodes.kind(node) for node in frame["node"].unique()}
        ports = port_counts(run)
        for kind, group in frame.groupby(frame["node"].map(kinds)):
            lengths = group["port_bytes"].to_numpy() / 1e3
            weights = group["samples"].to_numpy() if histogram else None
            filled = int(group.loc[group["port_bytes"] > 0, "samples"].sum()) if histogram else len(group)
            total = int(weights.sum()) if weights is not None else (
                run.queue_samples * ports[kind] if run.queue_samples and ports[kind] else None)
            zeros = 0 if histogram or total is None else max(total - len(group), 0)
            rows.append((run.name, kind, total, 100 * filled / total if total else None,
                         *percentiles(lengths, (50, 95, 99, 99.9), weights, zeros),
                         float(lengths.max())))
    rows.sort(key=lambda row: row[1])
    return Table("queues", "Queue lengths of switch ports",
                 ("run", "switches", "samples", "not empty %", "p50 KB", "p95 KB", "p99 KB", "p99.9 KB",
                  "max KB"), rows,
                 note="Over all ports and samples, empty ones included; where the number of samples is "
                      "unknown, over those that were not empty.", digits={"not empty %": 1})
