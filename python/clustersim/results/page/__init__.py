# SPDX-License-Identifier: GPL-2.0-only
"""One self-contained HTML page about runs.

    from clustersim.results import open_runs
    from clustersim.results.page import render
    pathlib.Path("report.html").write_text(render(open_runs(["results/a", "results/b"])))

The page needs no network: style, script and plots are in it. It follows the reader's light or dark
setting, and fits a phone.
"""
import pathlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import jinja2

from clustersim.results.page.figures import draws_each, figures_of
from clustersim.results.page.glance import glance_of
from clustersim.results.page.parameters import parameters_of
from clustersim.results.tables import all_tables
from clustersim.results.tables.table import Table, as_cell, is_number

if TYPE_CHECKING:
    from clustersim.results.run import Run

__all__ = ["render"]

HERE = pathlib.Path(__file__).resolve().parent


SHORT = {"fabrics": "Fabrics", "runs": "Runs", "differences": "Differences", "completion": "Completion",
         "verdict": "What limits it",
         "layers": "Layers",
         "busbw": "Bus bandwidth", "requests": "KV-cache", "serving": "Requests", "phases": "Their time",
         "instances": "Instances", "slowdown": "Slowdown", "pfc": "PFC", "origins": "Origins of pauses",
         "queues": "Queues", "utilisation": "Utilisation", "hottest": "Hottest links"}
LONGEST = 60  # characters of a cell; the rest shows when the pointer is over it


def _heading(name: str) -> str:
    """@return a column's name as it is printed"""
    return name.removesuffix(" us") + " \u00b5s" if name.endswith(" us") else name


def _cell(value: object, text: str) -> str:
    """@return a cell's text, with a narrow space between the thousands of large numbers"""
    if is_number(value) and 10000 <= abs(value) < float("inf"):
        whole, point, rest = text.partition(".")
        return f"{int(whole):,}".replace(",", "\u202f") + point + rest
    return text if len(text) <= LONGEST else text[:LONGEST - 1] + "\u2026"


def _sort_key(value: object) -> str:
    """@return what the page sorts a cell by: its number, or its text"""
    return repr(float(value)) if is_number(value) else as_cell(value)


def render(runs: "Sequence[Run]", title: str | None = None, plots: bool = True, each: bool | None = None,
           first: Sequence[Table] = ()) -> str:
    """
    @param plots whether to draw plots (the slow part)
    @param each whether to draw those of each run, too (default: of four runs or fewer)
    @param first tables that stand before all others, and in the place of those of the same keys
    @return the page
    """
    each = draws_each(runs) if each is None else each
    own = {table.key for table in first}
    tables = [table.for_people() for table in [*first, *(each for each in all_tables(runs) if each.key not in own)]]
    figures = figures_of(runs, each) if plots else []
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True,
                                     trim_blocks=True, lstrip_blocks=True,
                                     undefined=jinja2.StrictUndefined)
    environment.filters["units"] = lambda text: re.sub(r"(?<=\d) us\b", " \u00b5s", text)
    environment.globals.update(sort_key=_sort_key, cell=_cell, heading=_heading, short=SHORT)
    names = ", ".join(run.name for run in runs)
    heading = title or (f"Run {names}" if len(runs) == 1 else f"Comparison of {len(runs)} runs")
    return environment.get_template("page.html").render(
        title=heading, runs=runs, glance=glance_of(runs), tables=tables, figures=figures, each=each,
        parameters=parameters_of(runs),
        problems=[str(problem) for run in runs for problem in run.problems],
        style=(HERE / "page.css").read_text(), script=(HERE / "page.js").read_text())
