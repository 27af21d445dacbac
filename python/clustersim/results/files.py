# SPDX-License-Identifier: GPL-2.0-only
"""Which file of a directory holds what."""
import glob
import pathlib
from collections.abc import Mapping
from typing import Any

from clustersim.results.reading.run_json import options_of

# A run's name of a file, and the names of SimAI's and the HPCC simulator's files.
MONITORS = {
    "fct": ("FCT_OUTPUT_FILE", "fct.txt", ("*fct*.txt", "*fct*")),
    "pfc": ("PFC_OUTPUT_FILE", "pfc.txt", ("*pfc*.txt", "*pfc*")),
    "qlen": ("QLEN_MON_FILE", "queue.txt", ("*qlen*.txt", "*qlen*", "queue*.txt")),
    "bandwidth": ("BW_MON_FILE", "bandwidth.txt", ("*bandwidth*.txt", "*_bw*.txt", "bw*.txt")),
    "rate": ("RATE_MON_FILE", "rate.txt", ("*rate*.txt",)),
    "cnp": ("CNP_MON_FILE", "cnp.txt", ("*cnp*.txt",)),
}


def whole_or_part(path: pathlib.Path) -> pathlib.Path:
    """@return the file, or what a run that was killed has left of it"""
    part = path.with_name(path.name + ".part")
    return part if not path.is_file() and part.is_file() else path


def is_inside(path: pathlib.Path, directory: pathlib.Path) -> bool:
    return path.resolve().is_relative_to(directory.resolve())


def find_monitor(directory: pathlib.Path, kind: str, info: Mapping[str, Any]) -> pathlib.Path | None:
    """@return path of a monitor's file; None if there is none"""
    key, usual, patterns = MONITORS[kind]
    configured = str(options_of(info).get(key) or "")
    for name in ((configured,) if configured else ()) + (usual,):
        for path in map(whole_or_part, (directory / name, directory / name.rsplit("/", 1)[-1])):
            if path.is_file() and is_inside(path, directory):
                return path
    if info:
        return None
    for where in (directory, directory / "mix", directory / "monitor_output"):
        for pattern in patterns:
            for path in sorted(where.glob(pattern)):
                if path.is_file():
                    return path
    return None


def monitor_name(kind: str, info: Mapping[str, Any]) -> str:
    """@return the name that the file should have"""
    key, usual, _ = MONITORS[kind]
    return str(options_of(info).get(key) or usual)


def numbered(directory: pathlib.Path, stem: str) -> list[pathlib.Path]:
    """@param stem with the prefix of the run's files
    @return the files STEM.csv or, of several jobs, STEM.0.csv, STEM.1.csv, ... in their order"""
    single = directory / f"{stem}.csv"
    jobs = [path for path in directory.glob(f"{glob.escape(stem)}.*.csv") if path.name.split(".")[-2].isdigit()]
    jobs.sort(key=lambda path: int(path.name.split(".")[-2]))
    return ([single] if single.is_file() else []) + jobs
