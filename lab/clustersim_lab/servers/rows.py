# SPDX-License-Identifier: GPL-2.0-only
"""Published rows of servers, and the flags that simulate them as a user would: those of the row, and no others."""
import csv
import dataclasses
import pathlib

from clustersim.errors import InputError
from clustersim.workload.model import catalogue
from clustersim.workload.serve import engine

# The first words of a row's engine, and the profile that stands for it.
PROFILES = {"vLLM": "vLLM", "SGLang": "SGLang", "NIM": "TensorRT-LLM", "TensorRT-LLM": "TensorRT-LLM"}
INFORMS, FAMILY, APART = "informs", "family", "apart"  # what a row has to do with the constants of its profile
SATURATED = "saturated"  # more users than have a place at a time, or all requests at once
USERS = ((1, "1"), (16, "2 to 16"), (64, "17 to 64"), (1 << 31, SATURATED))  # under way at a time, at most
# GenAI-Perf measures windows when rates have settled, the start left out, and says means of times. Other sources say
# medians (vllm bench serve, InferenceX's own script).
STEADY = ("NIM",)
WAVES = 10  # requests of each user (InferenceX's bmk_minimax_sbatch.sh); the second half when rates have settled
# GPUs by source and by the source's name, where its figures contradict the name. Pages on Qwen3 14B and 32B say "H100",
# the first one "H100 SXM". But Qwen3 32B decodes one or two sequences in 43.4 ms (median latency between tokens, vLLM
# and SGLang alike): 1.5 TB/s of weights, close to the A100's 48.6 to 51.6 ms in the same lab, with 2.04 TB/s. An H100
# SXM has 3.35 TB/s, and decodes with Qwen3 8B (15.1 GB of weights) in 7.2 ms there. These latencies score no row.
MEANT = {("gpustack/gpustack docs/performance-lab/qwen3-14b/h100.md", "H100"): "H100PCIe",
         ("gpustack/gpustack docs/performance-lab/qwen3-32b/h100.md", "H100"): "H100PCIe"}
# Closed loops of GPUStack send 100 prompts of ShareGPT, whose lengths rows have the means of.
SHAREGPT, PROMPTS = "gpustack", 100
TEP = "-tep"  # in an id: attention is cut by TP, and experts are whole


@dataclasses.dataclass(frozen=True)
class Row:
    """A published row. Times are in ms, a rate is output tokens per second of the whole server."""
    id: str
    source: str
    engine: str
    model: str
    gpu: str
    gpus: int
    tp: int
    ep: int
    dtype: str
    kv: str
    prompt: str
    output: str
    users: int  # in a closed loop; 0: all requests at once
    requests: int
    published: dict[str, float]  # by metric of MEASURES; those that the source says

    @property
    def profile(self) -> str:
        """@return the name of the engine's profile"""
        first = self.engine.split()[0]
        if first not in PROFILES:
            raise InputError(f'{self.id}: "{first}" is not a known engine; expected one of {", ".join(PROFILES)}')
        return PROFILES[first]

    @property
    def is_steady(self) -> bool:
        """@return whether the source measures a closed loop that has settled"""
        return self.users > 0 and self.engine.split()[0] in STEADY

    @property
    def is_sharegpt(self) -> bool:
        """@return whether users send prompts of ShareGPT"""
        return self.users > 0 and self.source.startswith(SHAREGPT)

    @property
    def has_steps(self) -> bool:
        """@return whether its users and lengths say what its steps consist of"""
        return self.users > 0 and self.prompt.isdigit() and self.output.isdigit()

    @property
    def load(self) -> str:
        """@return how many requests are under way"""
        return next(name for most, name in USERS if self.users <= most) if self.users else SATURATED

    @property
    def kind(self) -> str:
        """@return dense or MoE"""
        return "MoE" if catalogue.find(self.model).experts else "dense"


MEASURES = {"ttft": "ttft_ms", "tpot": "tpot_ms", "rate": "out_tok_s"}  # columns of published.csv


def read(path: pathlib.Path) -> list[Row]:
    """@return the rows of a file like published.csv"""
    with path.open(newline="", encoding="utf-8") as file:
        return [_row(path, number, row) for number, row in enumerate(csv.DictReader(file), 2)]


def _row(path: pathlib.Path, line: int, row: dict[str, str]) -> Row:
    try:
        gpu = MEANT.get((row["source"], row["gpu"]), row["gpu"])
        return Row(row["id"], row["source"], row["engine"], row["model"], gpu, int(row["gpus"]), int(row["tp"]),
                   int(row["ep"]), row["dtype"], row["kv"], row["inlen"], row["outlen"], int(row["conc"]),
                   int(row["n"]), {name: float(row[column]) for name, column in MEASURES.items() if row[column]})
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}:{line}: {error} is not valid; expected a row of published.csv") from None


def standings(rows: list[Row]) -> dict[str, str]:
    """@return for each row's id, whether it informs a constant of its profile, is of the model of a row that does (its
    family), or is apart from these"""
    informing = {name: set(profile.rows) for name in engine.names() if (profile := engine.find(name))}
    families = {(row.profile, row.model) for row in rows if row.id in informing[row.profile]}
    return {row.id: INFORMS if row.id in informing[row.profile]
            else FAMILY if (row.profile, row.model) in families else APART for row in rows}


def flags(row: Row) -> dict[str, object]:
    """@return flags of workload.py --inference; the engine's profile has all others"""
    load: dict[str, object] = {"max_concurrency": row.users} if row.users else {"rate": "inf"}
    whole = {"dp": row.gpus // row.tp, "enable_expert_parallel": True} if row.ep > 1 or TEP in row.id else {}
    drawn = "exponential " if row.is_sharegpt else ""
    requests = PROMPTS if row.is_sharegpt else WAVES * row.users or row.requests
    return {
        "world_size": row.gpus, "tp": row.tp, **whole, "gpu_type": row.gpu, "dtype": row.dtype,
        "kv_cache_dtype": row.kv, "engine": row.profile, "prompt_tokens": drawn + row.prompt,
        "output_tokens": drawn + row.output,
        "requests": requests, **load}
