# SPDX-License-Identifier: GPL-2.0-only
"""Plots as parts of a page: SVG whose paper and ink are those of the page, in light and in dark."""
import base64
import dataclasses
import html
import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib

from clustersim.results import ResultsError
from clustersim.results.plots import KINDS, style

if TYPE_CHECKING:
    from clustersim.results.run import Run
    from matplotlib.figure import Figure as Drawing

MOST_RUNS_EACH = 4  # that have figures of their own: a figure takes a second, and nobody reads dozens
LARGEST_SVG = 600_000  # characters; a larger picture becomes two PNG, for light and for dark
# Colours that nothing else has, for the page's variables to take their place.
COLOURS = {"paper": "#fefdfb", "ink": "#1b1c19", "soft": "#757874", "grid": "#dddedb"}
VARIABLES = {"paper": "--paper", "ink": "--ink", "soft": "--soft", "grid": "--rule"}


@dataclasses.dataclass(frozen=True)
class Figure:
    run: str     # whose it is; empty: it compares the runs
    kind: str
    markup: str  # HTML


def _svg(figure: "Drawing", prefix: str, title: str) -> str:
    """@return the figure as an SVG element that takes its colours from the page"""
    text = io.StringIO()
    style.lay_out(figure)
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg"):], flags=re.S)
    # Ids are those of one document now.
    svg = re.sub(r'\sid="', f' id="{prefix}', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}", svg)
    for name, variable in VARIABLES.items():
        svg = re.sub(re.escape(COLOURS[name]) + r"\b", f"var({variable})", svg,
                     flags=re.I)
    # Where a picture says nothing SVG means black.
    return svg.replace("<svg ", '<svg style="fill: var(--ink)" role="img" '
                       f'aria-label="{html.escape(title)}" ', 1)


def _png(figure: "Drawing") -> str:
    data = io.BytesIO()
    style.lay_out(figure)
    figure.savefig(data, format="png", dpi=130)
    return "data:image/png;base64," + base64.b64encode(data.getvalue()).decode()



def _markup(kind: str, runs: "Sequence[Run]", prefix: str, title: str) -> str:
    with style.theme(colours=COLOURS):
        svg = _svg(KINDS[kind].draw(runs), prefix, title)
    if len(svg) <= LARGEST_SVG:
        return svg
    pictures = []
    for theme in ("light", "dark"):
        with style.theme(theme):
            pictures.append(_png(KINDS[kind].draw(runs)))
    light, dark = pictures
    return (f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
            f'<img src="{light}" alt="{html.escape(title)}"></picture>')


def draws_each(runs: "Sequence[Run]") -> bool:
    """@return whether the runs are few enough for figures of each"""
    return len(runs) <= MOST_RUNS_EACH


def figures_of(runs: "Sequence[Run]", each: bool | None = None) -> list[Figure]:
    """
    @param each whether to draw those of each run (default: draws_each())
    @return figures that compare the runs, then those of each run; without those that have no data
    """
    each = draws_each(runs) if each is None else each
    # The page begins with where the time goes.
    wanted = [(kind, runs) for kind in KINDS if KINDS[kind].compares and kind != "breakdown"]
    wanted += [(kind, [run]) for run in runs if each for kind in KINDS if not KINDS[kind].compares]
    found = []
    for number, (kind, of_runs) in enumerate(wanted):
        run = "" if KINDS[kind].compares else of_runs[0].name
        title = f"{run}: {KINDS[kind].summary}" if run else KINDS[kind].summary
        try:
            found.append(Figure(run, kind, _markup(kind, of_runs, f"f{number}-", title)))
        except ResultsError:
            continue  # nothing to draw; what is missing is among the warnings
    return found
