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
BURST = "all at once"
USERS = ((4, "1 to 4"), (32, "5 to 32"), (1 << 31, "above 32"))  # under way at a time, at most
STEADY = ("NIM",)  # GenAI-Perf measures windows when rates have settled, the start left out
WAVES = 10  # requests of each user then, of which the second half counts
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
    def load(self) -> str:
        """@return how many requests are under way"""
        return next(name for most, name in USERS if self.users <= most) if self.users else BURST

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
        return Row(row["id"], row["source"], row["engine"], row["model"], row["gpu"], int(row["gpus"]), int(row["tp"]),
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
    return {
        "world_size": row.gpus, "tp": row.tp, **whole, "gpu_type": row.gpu, "dtype": row.dtype,
        "kv_cache_dtype": row.kv, "engine": row.profile, "prompt_tokens": row.prompt, "output_tokens": row.output,
        "requests": WAVES * row.users if row.is_steady else row.requests, **load}
