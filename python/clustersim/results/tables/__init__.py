# SPDX-License-Identifier: GPL-2.0-only
"""Tables that compare runs. all_tables(runs) makes those for which there are results."""
from clustersim.results.tables.collectives import busbw_table, requests_table
from clustersim.results.tables.flows import slowdown_table
from clustersim.results.tables.links import hottest_table, utilisation_table
from clustersim.results.tables.overview import (completion_table, differences_table, layers_table,
                                            runs_table)
from clustersim.results.tables.serving import instances_table, phases_table, serving_table
from clustersim.results.tables.switches import origins_table, pause_table, queue_table
from clustersim.results.tables.verdict import verdict_table
from clustersim.results.tables.table import Table, as_markdown, as_text, write_csv

MAKERS = (runs_table, differences_table, completion_table, verdict_table, layers_table, serving_table, phases_table,
          instances_table, busbw_table, requests_table, slowdown_table, pause_table, origins_table, queue_table, utilisation_table, hottest_table)

__all__ = ["Table", "all_tables", "as_markdown", "as_text", "write_csv"]


def all_tables(runs):
    """@return the tables that have rows"""
    return [table for table in (make(runs) for make in MAKERS) if table.rows]
