# SPDX-License-Identifier: GPL-2.0-only
"""Does the runs of a sweep: on this machine, or by Snakemake, which knows clusters."""
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence

from clustersim.sweep import runs
from clustersim.errors import InputError
from clustersim.sweep.supervisor import Outcome, SupervisedRun, wait_for_any
from clustersim.whole_file import write_text

SNAKEFILE = pathlib.Path(__file__).with_name("Snakefile")
POLL_S = 0.1
GRACE_S = 10
OnEnd = Callable[[runs.Run, Outcome | None], None]
REMOTE = ("--cluster", "--drmaa", "--slurm", "--flux", "--tes", "--kubernetes", "--tibanna", "--google-lifesciences")


@dataclasses.dataclass(frozen=True)
class Bounds:
    """Resources of the runs: jobs side by side, bytes of memory of all and of each. 0: no bound."""
    jobs: int
    total_bytes: float
    each_bytes: float
    time_limit_s: float


def is_remote(profile: str | None, further: Sequence[str]) -> bool:
    """@return whether runs go to other machines: a profile's, or those that Snakemake's arguments name"""
    return bool(profile) or any(word.startswith(REMOTE) for word in further)


def command(output: pathlib.Path, bounds: Bounds, profile: str | None, further: Sequence[str]) -> list[str]:
    """@return the words that start Snakemake"""
    supervisor = ["env", f"PYTHONPATH={runs.PACKAGES}", sys.executable, "-m", "clustersim.sweep.supervisor"]
    if not is_remote(profile, further):
        supervisor += ["--while-locked", str(output / ".lock")]
    config = {"supervisor": supervisor, "mem_mb": int(bounds.each_bytes / 1e6),
              "minutes": int(-(-bounds.time_limit_s // 60))}
    words = ["snakemake", "--snakefile", SNAKEFILE, "--directory", output, "--nocolor", "--nolock", "--keep-going",
             "--rerun-incomplete", "--rerun-triggers", "mtime", "--scheduler", "greedy",
             "--config", *(f"{key}={json.dumps(value)}" for key, value in config.items())]
    if bounds.jobs:
        words += ["--jobs", bounds.jobs]
    if bounds.total_bytes:
        words += ["--resources", f"mem_mb={int(bounds.total_bytes / 1e6)}"]
    if profile:
        words += ["--profile", profile]
    return [str(word) for word in (*words, *further)]


def _start(output: pathlib.Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
    if not shutil.which(words[0]):
        raise InputError("snakemake: no such program; expected Debian's package snakemake (scripts/setup.sh)")
    with open(output / "snakemake.log", "wb") as log:
        # It keeps sources in a cache, which a user without a home, as in a container, has no folder for.
        environment = {"XDG_CACHE_HOME": str(output.resolve() / ".snakemake" / "cache"), **os.environ}
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment,
                                start_new_session=True)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends Snakemake and what it runs on this machine; it cancels the jobs of a cluster itself."""
    for number, wait_s in ((signal.SIGINT, GRACE_S), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, number)
            process.wait(wait_s)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            pass


def _clean(output: pathlib.Path) -> None:
    for name in ("jobs", "done", "outcomes"):
        directory = output / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()


def _complaint(output: pathlib.Path) -> str:
    """@return the line in which Snakemake says why it ended"""
    lines = [line.strip() for line in (output / "snakemake.log").read_text(errors="replace").splitlines()]
    return next((line for line in lines if "rror" in line), lines[-1] if lines else "it said nothing")


def execute_here(output: pathlib.Path, due: Sequence[runs.Run], bounds: Bounds, on_end: OnEnd,
                 on_look: Callable[[Iterable[runs.Run]], None]) -> None:
    """Does the runs that are due on this machine, as many at a time as bounds say. All end with this process.

    @param on_end called as each run ends
    @param on_look called from time to time with the runs that are under way
    """
    waiting = list(reversed(due))
    running: dict[SupervisedRun, runs.Run] = {}
    try:
        while waiting or running:
            while waiting and len(running) < bounds.jobs:
                run = waiting.pop()
                job = runs.make_job(run, output, bounds.each_bytes, bounds.time_limit_s)
                running[SupervisedRun(job)] = run
            wait_for_any(running)
            on_look(running.values())
            for supervised in list(running):
                if outcome := supervised.poll():
                    on_end(running.pop(supervised), outcome)
    finally:
        for supervised, run in running.items():
            supervised.kill("interrupted")
            while not (outcome := supervised.poll()):
                wait_for_any([supervised])
            on_end(run, outcome)


def execute_by_snakemake(output: pathlib.Path, due: Sequence[runs.Run], bounds: Bounds, profile: str | None,
                         further: Sequence[str], on_end: OnEnd) -> None:
    """Has Snakemake do the runs that are due.

    @param further further arguments of Snakemake
    @param on_end called as each run ends; without an outcome if it left none
    @raise InputError if Snakemake ends before any run does
    """
    _clean(output)
    for run in due:
        job = runs.make_job(run, output, bounds.each_bytes, bounds.time_limit_s)
        write_text(output / "jobs" / f"{run.name}.json", json.dumps(job, indent=2) + "\n")
    waiting = {run.name: run for run in due}

    def report() -> None:
        for entry in list(os.scandir(output / "outcomes")):
            run = waiting.pop(entry.name.removesuffix(".json"), None)
            if run:
                on_end(run, json.loads(pathlib.Path(entry.path).read_text(encoding="utf-8")))

    process = _start(output, command(output, bounds, profile, further))
    try:
        while process.poll() is None:
            time.sleep(POLL_S)
            report()
    finally:
        _stop(process)
        report()
    if process.returncode and len(waiting) == len(due):
        raise InputError(f"{output}/snakemake.log: {_complaint(output)}; expected runs to start")
    for run in waiting.values():
        on_end(run, None)
