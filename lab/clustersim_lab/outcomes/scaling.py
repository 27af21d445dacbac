# SPDX-License-Identifier: GPL-2.0-only
"""Curves of one job on more and more GPUs: does the estimate grow as what was published?"""
import dataclasses
from collections.abc import Iterable

import pandas as pd

Curve = dict[str, str | tuple[str, ...]]  # cells of its rows by column, or their ids
CURVES: dict[str, Curve] = {
    "Llama 3.1 405B, 512 to 8,192 H100, fp8 (MLPerf)": dict(family="MLPerf", model="Llama 3.1 405B", gpu="H100"),
    "Llama 3.1 405B, 256 to 2,496 GB200, fp8 (MLPerf)": dict(family="MLPerf", model="Llama 3.1 405B", gpu="GB200",
        precision="FP8"),
    "Llama 3.1 405B, 512 to 5,120 GB200, fp4 (MLPerf)": dict(family="MLPerf", model="Llama 3.1 405B", gpu="GB200",
        precision="FP4"),
    "Llama 3.1 405B, 128 to 512 GB200, bf16": dict(family="DGX Cloud", model="Llama 3.1 405B", precision="BF16"),
    "Grok-1, 128 to 512 GB200, bf16": dict(family="DGX Cloud", model="Grok1 314B", precision="BF16"),
    "GPT-3 175B (MLPerf)": dict(family="MLPerf", model="GPT-3 175B", gpu="H100"),
    "Llama 3.1 8B, 8 to 128 H100, bf16 (torchtitan)": dict(family="torchtitan", ids=("E546", "E549")),
    "The same, not compiled (torchtitan)": dict(family="torchtitan", ids=("E545", "E548")),
    "The same, fp8 (torchtitan)": dict(family="torchtitan", ids=("E547", "E550")),
    "MPT-30b, 128 to 512 H100 (llm-foundry)": dict(family="llm-foundry", ids=("E298", "E299", "E300")),
    "MPT-13b, 128 to 512 H100 (llm-foundry)": dict(family="llm-foundry", ids=("E301", "E302", "E303")),
    "MPT-7b, 128 to 512 H100 (llm-foundry)": dict(family="llm-foundry", ids=("E304", "E305", "E306")),
}


@dataclasses.dataclass(frozen=True)
class Point:
    """Sequences per second and GPU, relative to the smallest job's."""
    curve: str
    gpus: int
    published: float
    predicted: float

    @property
    def error(self) -> float:
        """The relative error of the predicted work per GPU"""
        return self.predicted / self.published - 1


def _rows(frame: pd.DataFrame, wanted: Curve) -> pd.DataFrame:
    rows = frame[frame["id"].isin(wanted["ids"])] if "ids" in wanted else frame
    for column, value in wanted.items():
        if column != "ids":
            rows = rows[rows[column] == value]
    return rows.sort_values("gpus")


def points(frame: pd.DataFrame) -> list[Point]:
    """@return Points of each curve of which two sizes are in the frame"""
    found = []
    for curve, wanted in CURVES.items():
        rows = _rows(frame, wanted)
        if rows["gpus"].nunique() < 2:
            continue
        work = rows["global_batch"] / rows["gpus"]
        published, predicted = work / rows["published_s"], work / rows["predicted_s"]
        found += [Point(curve, int(gpus), a / published.iloc[0], b / predicted.iloc[0])
                  for gpus, a, b in zip(rows["gpus"], published, predicted)]
    return found


def frame_of(found: Iterable[Point]) -> pd.DataFrame:
    """@return a frame with a row for each Point"""
    return pd.DataFrame([{**dataclasses.asdict(point), "error": point.error} for point in found])
