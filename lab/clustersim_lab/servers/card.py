# SPDX-License-Identifier: GPL-2.0-only
"""How far simulated servers are from published ones: every row, and by group."""
import pathlib
import warnings
from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from clustersim.library.fabric import topology
from clustersim.library.functions import workload
from clustersim.results.run import Run
from clustersim.simulation import SimulationWarning, simulate
from clustersim_lab.outcomes.card import summarize
from clustersim_lab.servers.rows import INFORMS, MEASURES, Row, flags

# Titles of groups, and their columns.
GROUPS = {"constants": ["standing"], "users": ["load"], "model": ["kind"], "model and users": ["kind", "load"],
          "engine": ["profile"], "GPU": ["gpu"], "precision": ["dtype"]}
# Metrics of inference.csv, and the column that counts.
METRICS = {"ttft": ("ttft_us", "p50"), "tpot": ("tpot_us", "p50"), "rate": ("output_tokens_per_second", "mean")}
US_PER_MS = 1e3


def simulated(row: Row, directory: pathlib.Path, network: str) -> dict[str, float]:
    """@return a server's figures, by measure: times in ms, output tokens per second"""
    fabric = topology("Spectrum-X", gpu=row.gpus, gpu_per_server=row.gpus, gpu_type=row.gpu, fit=True,
                                 output=directory / "topology", force=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)  # of fast-forward's files
        served = workload(row.model, inference=True, output_dir=directory, name="workload", **flags(row))
        run = simulate(served, fabric, output=directory / "run", network=network, fast_forward=True)
    if row.is_steady:
        return settled(row.users, run)
    assert run.inference is not None
    found = run.inference.set_index("metric")
    return {measure: float(found[column][metric]) / (1 if measure == "rate" else US_PER_MS)
            for measure, (metric, column) in METRICS.items() if metric in found.index}


def settled(users: int, run: Run) -> dict[str, float]:
    """@return means of the second half of a closed loop's requests; its rate is by Little's law"""
    assert run.served is not None
    requests = run.served[run.served["request"] >= len(run.served) // 2]
    times = {measure: requests[f"{measure}_us"].mean() / US_PER_MS for measure in ("ttft", "tpot")}
    return {**times, "rate": users * requests["output_tokens"].mean() / (requests["e2e_us"].mean() / 1e6)}


def frame_of(rows: Sequence[Row], directory: pathlib.Path, standing: dict[str, str], network: str = "analytical",
             done: Callable[[dict[str, object]], None] = lambda row: None) -> pd.DataFrame:
    """@param standing of each row @param done is called with each row of the frame when it is simulated @return a frame
    with a row for each Row: published and simulated measures, and their ratios, simulated over published"""
    made = []
    for row in rows:
        found = simulated(row, directory / row.id, network)
        made.append({"id": row.id, "profile": row.profile, "engine": row.engine, "model": row.model, "kind": row.kind,
                     "gpu": row.gpu, "gpus": row.gpus, "tp": row.tp, "ep": row.ep, "dtype": row.dtype,
                     "prompt": row.prompt, "output": row.output, "users": row.users, "requests": row.requests,
                     "load": row.load, "standing": standing[row.id],
                     **{f"{measure}_published": row.published.get(measure) for measure in MEASURES},
                     **{f"{measure}_simulated": found.get(measure) for measure in MEASURES},
                     **{f"{measure}_ratio": found[measure] / row.published[measure]
                        if measure in found and measure in row.published else None for measure in MEASURES},
                     "source": row.source})
        done(made[-1])
    return pd.DataFrame(made)


def scored(frame: pd.DataFrame) -> pd.DataFrame:
    """@return the rows that inform no constant"""
    return frame[frame["standing"] != INFORMS]


def groups(frame: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """@return all scored rows, and each group of them: its title, its value and its rows"""
    rows = scored(frame)
    yield "all", "", rows
    for title, columns in GROUPS.items():
        for value, found in rows.groupby(rows[columns].agg(", ".join, axis="columns"), sort=True):
            yield title, str(value), found


def summaries(frame: pd.DataFrame) -> list[dict[str, object]]:
    """@return for each group and measure, a row with how many ratios there are, their median and extremes, and the
    shares within 15% and within 20%"""
    made = []
    for title, value, rows in groups(frame):
        for measure in MEASURES:
            ratios = rows[f"{measure}_ratio"].dropna().astype(float)
            if len(ratios):
                total = summarize(ratios)
                made.append({"group": title, "value": value, "measure": measure, "rows": total["rows"],
                             "median": total["median"], "least": ratios.min(), "most": ratios.max(),
                             "within": total["within"], "within 20%": ((ratios - 1).abs() <= 0.2).mean()})
    return made
