# SPDX-License-Identifier: GPL-2.0-only
"""Tables that compare runs. all_tables(runs) makes those for which there are results."""
from clusterresults.tables.collectives import busbw_table, requests_table
from clusterresults.tables.flows import slowdown_table
from clusterresults.tables.links import hottest_table, utilisation_table
from clusterresults.tables.overview import (completion_table, differences_table, layers_table,
                                            runs_table)
from clusterresults.tables.switches import origins_table, pause_table, queue_table
from clusterresults.tables.table import Table, as_markdown, as_text, write_csv

MAKERS = (runs_table, differences_table, completion_table, layers_table, busbw_table, requests_table,
          slowdown_table, pause_table, origins_table, queue_table, utilisation_table, hottest_table)

__all__ = ["Table", "all_tables", "as_markdown", "as_text", "write_csv"]


def all_tables(runs):
    """@return the tables that have rows"""
    return [table for table in (make(runs) for make in MAKERS) if table.rows]
