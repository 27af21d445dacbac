# SPDX-License-Identifier: GPL-2.0-only
"""requests.csv, of a KV-cache workload, and the trace of local memory.

requests: job, request, arrival_us, prefill_instance, decode_instance, prompt_tokens, bytes,
transfer_start_us, transfer_end_us, transfer_us. The percentiles that end the file are left out: they
follow from the rows. memory: job, time_ns, rank, bytes (held by the tensors of the nodes that run).
"""
from clustersim.results.records import read_comma_separated

REQUESTS = {"request": "text", "arrival_us": "text", "prefill_instance": "text",
            "decode_instance": "text", "prompt_tokens": "text", "bytes": "text",
            "transfer_start_us": "text", "transfer_end_us": "text", "transfer_us": "float"}
MEMORY = {"time_ns": "float", "rank": "int", "bytes": "int"}
WHOLE = ("request", "prefill_instance", "decode_instance", "prompt_tokens", "bytes")


def read_requests(path, problems):
    """@return the requests in the order of their ends, or None"""
    frame = read_comma_separated(path, REQUESTS, problems)
    if frame is None:
        return None
    frame = frame[~frame["request"].str.startswith("p")].reset_index(drop=True)
    try:
        return frame.astype({name: "int64" if name in WHOLE else "float64" for name in REQUESTS})
    except (ValueError, OverflowError):
        problems.add(path, 0, "a request has a field that is no number", ",".join(REQUESTS))
        return None


def read_memory(path, problems):
    """@return the memory trace, or None"""
    return read_comma_separated(path, MEMORY, problems)


def is_memory_trace(path):
    """@return whether a file of any name is one"""
    try:
        with path.open() as file:
            return file.readline().strip() == ",".join(MEMORY)
    except (OSError, UnicodeDecodeError):
        return False
