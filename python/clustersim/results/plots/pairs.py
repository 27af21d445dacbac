# SPDX-License-Identifier: GPL-2.0-only
"""Effects of congestion control on queue pairs: their rates, and the notifications that they got."""
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from clustersim.results.plots import style

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.run import Run
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pair = tuple[int, int, int, int, int]
KEY = ["src", "dst", "sport", "dport", "qpn"]  # columns of a Pair
FEW = 12  # pairs, of which every one is shown


def interesting(rates: "pd.DataFrame", cnps: "pd.DataFrame | None", most: int = 6) -> list[Pair]:
    """@return the pairs to show: those with most notifications, then those at the lowest mean rate"""
    heard = {} if cnps is None or not len(cnps) else cnps.groupby(KEY)["cnps"].max().to_dict()
    mean = rates.groupby(KEY)["gbps"].mean()
    order = sorted(mean.index, key=lambda pair: (-heard.get(pair, 0), mean[pair], pair))
    return order[:most]


def with_gaps(times: np.ndarray, values: np.ndarray, interval: float) -> tuple[np.ndarray, np.ndarray]:
    """@return the samples with "not a number" where samples are missing, so that no line crosses"""
    gaps = np.nonzero(np.diff(times) > 1.5 * interval)[0] + 1
    return np.insert(times.astype(float), gaps, np.nan), np.insert(values.astype(float), gaps, np.nan)


def at_line_rate(run: "Run", samples: "pd.DataFrame") -> bool:
    """@return whether every sample is the rate of the fastest link of its sender"""
    links = run.links
    if links is None:
        return samples["gbps"].min() > 0.999 * samples["gbps"].max()
    network = links[[run.nodes.kind(peer) != "NVSwitch" for peer in links["peer"]]]
    line = samples["src"].map(network.groupby("node")["rate_bps"].max() / 1e9)
    return bool((samples["gbps"] >= 0.999 * line).all())


def _name(run: "Run", pair: Pair, pairs: list[Pair]) -> str:
    """@return hosts and source port of a pair, with its number if another pair has the same"""
    source, destination, sport, _, qpn = pair
    alike = sum(other[:4] == pair[:4] for other in pairs)
    return f"{run.nodes.name(source)} → {run.nodes.name(destination)} :{sport}" + (f" QP {qpn}" if alike > 1 else "")


def _draw_line_rates(axes: "Axes", samples: "pd.DataFrame", factor: float, interval: float) -> int:
    """One line for all pairs with the same line rate: separate lines would coincide."""
    groups = samples.groupby(samples["gbps"].round(3))
    for i, (rate, mine) in enumerate(groups):
        times = np.unique(mine["time_ns"].to_numpy())
        x, y = with_gaps(times, np.full(len(times), rate), interval)
        count = mine.groupby(KEY).ngroups
        axes.plot(x / factor, y, linewidth=1.3, marker="." if len(times) < 3 else None,
                  label=f"{count} queue pairs" if count > 1 else "1 queue pair", **style.line(i))
    return len(groups)


def _finish_rates(axes: "Axes", run: "Run", end: float) -> None:
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, end)
    axes.set_ylabel("sending rate (Gb/s)")
    axes.set_title(f"Queue pairs: {style.shorten(run.name)}")


def rates(run: "Run") -> "Figure":
    """Rate of queue pairs over time with the spread of all, and congestion notifications below."""
    style.need_packets(run)
    samples, cnps = run.rates, run.cnps
    if samples is None or not len(samples):
        raise style.NothingToDraw(f"{run.name}: no queue pair was sampled (rate.txt); QP_MON_INTERVAL may be too "
                                  f"long")
    heard = cnps is not None and len(cnps) > 0
    if heard:
        figure, (above, below) = style.new_figure(10, 6.2, rows=2, sharex=True, height_ratios=[2, 1])
    else:
        figure, above = style.new_figure(10, 4.4)
        below = above
    span = max(samples["time_ns"].max(), cnps["time_ns"].max() if heard and cnps is not None else 0)
    factor = style.time_axis(below, span)
    by_time = samples.groupby("time_ns")["gbps"]
    times = np.array(sorted(by_time.groups))
    interval = np.diff(times).min() if len(times) > 1 else 1
    count = samples.groupby(KEY).ngroups
    if not heard and at_line_rate(run, samples):
        lines = _draw_line_rates(above, samples, factor, interval)
        _finish_rates(above, run, span / factor)
        style.legend(above, lines)
        style.remark(above, "line rate throughout, no congestion notification")
        return figure
    if count > FEW:
        low, middle, high = (by_time.quantile(share).to_numpy() for share in (0.05, 0.5, 0.95))
        x, low_gaps = with_gaps(times, low, interval)
        above.fill_between(x / factor, low_gaps, with_gaps(times, high, interval)[1], color=style.soft_colour(),
                           alpha=0.3, linewidth=0, label=f"5% to 95% of {count}")
        above.plot(x / factor, with_gaps(times, middle, interval)[1], color=style.soft_colour(), linewidth=1.2,
                   label="median of all")
    shown = interesting(samples, cnps, 6 if count > FEW else FEW)
    groups = samples.groupby(KEY)
    for i, pair in enumerate(shown):
        mine = groups.get_group(pair)
        x, y = with_gaps(mine["time_ns"].to_numpy(), mine["gbps"].to_numpy(), interval)
        above.plot(x / factor, y, linewidth=1.3, marker="." if len(mine) < 3 else None,
                   label=_name(run, pair, list(groups.groups)), **style.line(i))
    _finish_rates(above, run, span / factor)
    style.legend(above, len(shown), title="queue pairs" + (" with most CNPs" if heard and count > FEW else ""))
    if not heard:
        style.remark(above, "no pair got a congestion notification")
        return figure
    below.set_ylabel("CNPs so far")
    assert cnps is not None  # it was heard
    got = cnps.groupby(KEY)
    for i, pair in enumerate(shown):
        if pair in got.groups:
            mine = got.get_group(pair)
            below.plot(np.append(mine["time_ns"], span) / factor, np.append(mine["cnps"], mine["cnps"].iloc[-1]),
                       drawstyle="steps-post", linewidth=1.3, **style.line(i))
    below.set_ylim(bottom=0)
    below.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    return figure


def reordering(run: "Run") -> "Figure":
    """The depth of reordering of all queue pairs, and of the pairs of hosts with the deepest."""
    style.need_packets(run)
    pairs = run.reordering
    if pairs is None or not len(pairs):
        raise style.NothingToDraw(f"{run.name}: no packet came out of order (reordering.csv)")
    by_hosts = pairs.groupby(["src", "dst"])["reorder_bytes"].max().sort_values(ascending=False, kind="stable")
    deepest = by_hosts.head(style.MOST_ROWS)
    height = style.rows_height(len(deepest))
    figure, (above, axes) = style.new_figure(9.5, height + 1.8, rows=2, height_ratios=[1.6, height - 1])
    depths = np.sort(pairs["reorder_bytes"].to_numpy()) / 1000
    above.step(np.append(0, depths), np.arange(len(depths) + 1) / len(depths), where="post", **style.line(0))
    above.set_ylim(0, 1.02)
    above.set_ylabel("part of queue pairs")
    above.set_title(f"Packets out of order: {style.shorten(run.name)}")
    style.remark(above, f"{len(pairs)} queue pairs, {int(pairs['out_of_order_packets'].sum())} packets"
                        + (f", the {len(deepest)} deepest below" if len(by_hosts) > len(deepest) else ""))
    axes.barh(range(len(deepest)), deepest.to_numpy() / 1000, color=style.colour(0), height=0.7)
    for each in (above, axes):
        each.set_xlim(0, 1.02 * max(depths[-1], 1e-3))
    axes.set_xlabel("farthest ahead of the byte expected (KB)")
    style.name_rows(axes, [f"{run.nodes.name(src)} → {run.nodes.name(dst)}" for src, dst in deepest.index])
    return figure
