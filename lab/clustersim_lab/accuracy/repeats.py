# SPDX-License-Identifier: GPL-2.0-only
"""How far tables of one test on machines of one description are apart: no model can be closer to all of them."""
import itertools
from collections.abc import Iterable

from clustersim_lab.accuracy.card import BANDS, band_of
from clustersim_lab.accuracy.tables import Table

SAME = ("gpu", "servers", "gpus_per_server", "nics_per_gpu", "gpus_per_nic", "nic_gbps", "network", "test",
        "gpus_per_thread")


def pairs_of(tables: Iterable[Table]) -> list[tuple[Table, Table]]:
    """@return the pairs of tables whose machines and tests have one description"""
    groups: dict[tuple[object, ...], list[Table]] = {}
    for table in tables:
        groups.setdefault((*(getattr(table.machine, field) for field in SAME), str(table.machine.environment)),
                          []).append(table)
    return [pair for group in groups.values() for pair in itertools.combinations(group, 2)]


def apart(first: Table, second: Table) -> dict[str, float]:
    """@return by band, by what part of the shorter time two tables are apart, on average over the sizes that count in
    both"""
    times = {row.size: row.microseconds for row in second.rows if not row.doubt}
    found: dict[str, list[float]] = {band: [] for band in BANDS}
    for row in first.rows:
        if not row.doubt and row.size in times:
            both = sorted((row.microseconds, times[row.size]))
            found[band_of(row.size)].append(both[1] / both[0] - 1)
    return {band: sum(values) / len(values) for band, values in found.items() if values}
