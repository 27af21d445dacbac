# SPDX-License-Identifier: GPL-2.0-only
"""Tables that compare runs. all_tables(runs) makes those for which there are results."""
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from clustersim.results.tables.collectives import busbw_table, requests_table
from clustersim.results.tables.flows import slowdown_table
from clustersim.results.tables.links import hottest_table, utilisation_table
from clustersim.results.tables.overview import (completion_table, differences_table, layers_table,
                                            runs_table)
from clustersim.results.tables.serving import instances_table, phases_table, serving_table
from clustersim.results.tables.switches import origins_table, pfc_table, queues_table
from clustersim.results.tables.verdict import verdict_table
from clustersim.results.tables.table import Table, as_markdown, as_text, write_csv

if TYPE_CHECKING:
    from clustersim.results.run import Run

__all__ = ["MAKER_OF", "Table", "all_tables", "as_markdown", "as_text", "write_csv"]

MAKERS: tuple[Callable[..., Table], ...] = (
    runs_table, differences_table, completion_table, verdict_table, layers_table, serving_table, phases_table,
    instances_table,
    busbw_table, requests_table, slowdown_table, pfc_table, origins_table, queues_table, utilisation_table,
    hottest_table)
MAKER_OF = {make.__name__.removesuffix("_table"): make for make in MAKERS}  # by Table.key


def all_tables(runs: "Sequence[Run]", keys: Collection[str] = ()) -> list[Table]:
    """@param keys of the tables to make, so that files of others are not read; none: all @return the tables that have
    rows"""
    tables = (make(runs) for key, make in MAKER_OF.items() if not keys or key in keys)
    return [table for table in tables if table.rows]
