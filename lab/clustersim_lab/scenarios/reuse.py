# SPDX-License-Identifier: GPL-2.0-only
"""Random jobs whose traffic repeats, with --fast-forward and without it: times are the same, or the run says why they
may not be."""
import dataclasses
import json
import pathlib
import random

from clustersim_lab.scenarios.checks import Refused, in_its_folder, require
from clustersim_lab.scenarios.ways import execute, require_same_work
from clustersim_lab.scenarios.wide import WideScenario, wide_scenario

WITHIN = 0.01   # of the time without the flag, unless the run says more
EXACT = 0.001   # with exact: acknowledgements, and events in one picosecond
TIMES = 2       # CPU time in terms of the run without the flag, if reuse does not pay
SECONDS = 0.5   # and this: reuse gives up after six copies of the process, each of 0.02 to 0.065 s
NOT_REUSED = ("COLLECTIVE_ENGINE",)  # refused with --fast-forward


def reuse_scenario(seed: int | str, number: int) -> WideScenario:
    """@return the scenario of that number; the same for the same seed"""
    chance = random.Random(f"reuse {seed} {number}")
    drawn = next(each for each in (wide_scenario(f"reuse {seed} {number}", attempt) for attempt in range(1000))
                 if each.layers)
    factor = chance.choice((1, 1, 4, 16))
    layers = tuple(tuple((compute, operation, size * factor) for compute, operation, size in layer)
                   for layer in drawn.layers)
    flags = [("--passes", 2)] if chance.random() < 0.2 else []
    network = chance.choice(("packet", "packet", "packet", "flow", "analytical"))
    return dataclasses.replace(
        drawn, name=f"{seed}-{number}", flows=(), events=(), layers=layers * chance.choice((1, 2, 4)),
        ga=drawn.ga * chance.choice((1, 2)),
        conf=tuple((key, value) for key, value in drawn.conf if key not in NOT_REUSED),
        flags=(*flags, ("--network", network)))


class Run:
    """A run with what it took."""

    def __init__(self, scenario: WideScenario, programs: pathlib.Path, directory: pathlib.Path, mode: str) -> None:
        self.outcome = execute(scenario, programs, directory, (f"--fast-forward={mode}",))
        self.cpu_s = self.outcome.cpu_s
        path = directory / "out" / "run.json"
        self.record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    @property
    def time_ns(self) -> float:
        """Simulated time of the run"""
        return self.record["simulated_ns"]

    @property
    def reasons(self) -> list[str] | None:
        """Why times may differ, as the run says; None without reuse"""
        reuse = self.record.get("fast_forward")
        return reuse and reuse["approximate"]


def _check_reuse(plain: Run, forward: Run, mode: str) -> None:
    what = f"--fast-forward={mode}"
    status, said = forward.outcome.status, forward.outcome.said[:2]
    require(status == plain.outcome.status, f"{what} ends as without it", f"{plain.outcome.status} and {status} {said}")
    if status:
        return
    require_same_work(plain.outcome, forward.outcome, what)
    off, most = forward.time_ns / plain.time_ns - 1, EXACT if mode == "exact" else WITHIN
    if forward.reasons is None:
        differ = sorted(name for name in plain.outcome.files.keys() | forward.outcome.files.keys()
                        if plain.outcome.files.get(name) != forward.outcome.files.get(name))
        require(not differ, f"{what} that gives up leaves what a run without it does", ", ".join(differ))
    require(abs(off) <= most or forward.reasons, f"{what} tells what it changes",
            f"{off:+.2%}, {forward.record.get('fast_forward')}")
    require(forward.cpu_s <= TIMES * plain.cpu_s + SECONDS, f"{what} costs no more than twice as much",
            f"{forward.cpu_s:.2f} s and {plain.cpu_s:.2f} s")


@in_its_folder
def check(scenario: WideScenario, programs: pathlib.Path, directory: pathlib.Path) -> None:
    """Runs a scenario with and without reuse. @raise Refused if it cannot be run"""
    plain = Run(scenario, programs, directory, "off")
    if plain.outcome.status == 2:
        raise Refused(plain.outcome.said[0])
    for mode in ("on", "exact"):
        _check_reuse(plain, Run(scenario, programs, directory, mode), mode)
