# SPDX-License-Identifier: GPL-2.0-only
"""requests.csv, of KV-cache and INFERENCE workloads, with inference.csv and instances.csv; and the trace of local
memory.

served: requests of an INFERENCE workload: job, and requests-columns.csv, with prefill_instance and decode_instance -1
where there is none and other numbers not a number where they are empty. inference: job, metric, mean, p50, p90, p99,
max. instances: job, and the columns of instances.csv. requests, of a KV-cache workload: job, request, arrival_us,
prefill_instance, decode_instance, prompt_tokens, bytes, transfer_start_us, transfer_end_us, transfer_us. The
percentiles that end the file are left out: they follow from the rows. memory: job, time_ns, rank, bytes (held by the
tensors of the nodes that run).
"""
import pathlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd

from clustersim.results.reading import columns
from clustersim.results.reading.records import read_comma_separated

if TYPE_CHECKING:
    from clustersim.results.reading.problem import Problems

REQUESTS = {"request": "text", "arrival_us": "text", "prefill_instance": "text",
            "decode_instance": "text", "prompt_tokens": "text", "bytes": "text",
            "transfer_start_us": "text", "transfer_end_us": "text", "transfer_us": "float"}
PLACES = ("prefill_instance", "decode_instance")
INFERENCE = {"metric": "text", "mean": "float", "p50": "text", "p90": "text", "p99": "text", "max": "text"}
INSTANCES = {"instance": "int", "role": "text", "tp": "int", "pp": "int", "ep": "int", "steps": "int",
             "busy_us": "float",
             "utilization": "float", "prompt_tokens": "int", "output_tokens": "int", "mean_sequences": "float",
             "preemptions": "int", "blocks": "text", "peak_blocks": "int", "mean_blocks": "float"}
MEMORY = {"time_ns": "float", "rank": "int", "bytes": "int"}
WHOLE = ("request", "prefill_instance", "decode_instance", "prompt_tokens", "bytes")


def read_requests(path: pathlib.Path, problems: "Problems") -> pd.DataFrame | None:
    """@return the requests in the order of their ends, or None"""
    frame = read_comma_separated(path, REQUESTS, problems)
    if frame is None:
        return None
    frame = frame[~frame["request"].str.startswith("p")].reset_index(drop=True)
    try:
        return frame.astype({name: "int64" if name in WHOLE else "float64" for name in REQUESTS})
    except (ValueError, OverflowError):
        problems.add(path, 0, "a request has a field that is not a number", ",".join(REQUESTS))
        return None


def is_served(path: pathlib.Path) -> bool:
    """@return whether a requests.csv is that of an INFERENCE workload"""
    try:
        with path.open() as file:
            return "ttft_us" in file.readline()
    except (OSError, UnicodeDecodeError):
        return False


def _numbers(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """@return the frame with numbers in columns that may be empty"""
    return frame.assign(**{name: pd.to_numeric(frame[name], errors="coerce") for name in names})


def read_served(path: pathlib.Path, problems: "Problems") -> pd.DataFrame | None:
    """@return the requests of an INFERENCE workload in the order of their ends, or None"""
    frame = read_comma_separated(path, columns.of("requests"), problems)
    if frame is None:
        return None
    frame = _numbers(frame, columns.may_be_empty("requests"))
    return frame.assign(**{name: frame[name].fillna(-1).astype("int64") for name in PLACES})


def read_inference(path: pathlib.Path, problems: "Problems") -> pd.DataFrame | None:
    """@return the distributions of times, and single numbers as means, or None"""
    frame = read_comma_separated(path, INFERENCE, problems)
    return None if frame is None else _numbers(frame, ("p50", "p90", "p99", "max"))


def read_instances(path: pathlib.Path, problems: "Problems") -> pd.DataFrame | None:
    """@return a row per instance, or None"""
    frame = read_comma_separated(path, INSTANCES, problems)
    return None if frame is None else _numbers(frame, ("blocks",))


def read_memory(path: pathlib.Path, problems: "Problems") -> pd.DataFrame | None:
    """@return the memory trace, or None"""
    return read_comma_separated(path, MEMORY, problems)


def is_memory_trace(path: pathlib.Path) -> bool:
    """@return whether a file of any name is one"""
    try:
        with path.open() as file:
            return file.readline().strip() == ",".join(MEMORY)
    except (OSError, UnicodeDecodeError):
        return False
