# SPDX-License-Identifier: GPL-2.0-only
"""Requests that were served."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clustersim.shown import Shown, Table

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.results.run import Run
    from clustersim.workload.result.written import Workload


TIMES = ("ttft", "tpot", "e2e", "queue", "prefill", "transfer", "decode")


@dataclasses.dataclass(frozen=True, repr=False)
class Serving(Shown):
    """Requests that instances served: the workload, and the run that has all tables."""
    workload: Workload
    run: Run

    @property
    def requests(self) -> pd.DataFrame:
        """A row per request in the order of their ends; times in us"""
        assert self.run.served is not None
        return self.run.served

    @property
    def latencies(self) -> pd.DataFrame:
        """Times of requests in ms, a row each: ttft (to the first token), tpot (per token after it), e2e (to the last),
        and the phases queue, prefill, transfer, decode; columns time, mean, p50, p90, p99, max"""
        assert self.run.inference is not None
        frame = self.run.inference.set_index("metric").drop(columns="job").astype(float)
        times = frame.loc[[f"{time}_us" for time in TIMES if f"{time}_us" in frame.index]] / 1e3
        times.index = [name.removesuffix("_us") for name in times.index]
        return times.rename_axis("time").reset_index()

    @property
    def summary(self) -> dict[str, float]:
        """Means of what is not a time of a request: requests, requests_per_second, output_tokens_per_second, ..."""
        assert self.run.inference is not None
        rows = self.run.inference[~self.run.inference["metric"].str.endswith("_us")]
        return dict(zip(rows["metric"], rows["mean"]))

    def headline(self) -> str:
        times = self.latencies.set_index("time")
        first = f", the median first token after {times['p50']['ttft']:.4g} ms" if "ttft" in times.index else ""
        return f"{'; '.join(self.workload.text[:-1])}; {len(self.requests)} requests{first}"

    def lines(self) -> Iterator[str]:
        from clustersim.results.tables.serving import phases_table, serving_table
        from clustersim.results.tables.table import as_text
        yield from self.workload.text[:-1]
        yield from (as_text(table([self.run])) for table in (serving_table, phases_table))

    def tables(self) -> Iterator[Table]:
        yield "times of requests (ms)", self.latencies
