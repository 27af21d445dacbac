# SPDX-License-Identifier: GPL-2.0-only
"""Rollouts and moved weights, as the simulator carries them out on a topology."""
import csv
import dataclasses
import os
import pathlib
from collections.abc import Sequence

from clustersim.results import open_run
from clustersim.simulation import find_program, run_program
from clustersim.whole_file import write_text
from clustersim.workload.command import inference_command


@dataclasses.dataclass(frozen=True)
class Rollouts:
    """The generation of a step's answers."""
    seconds: float
    median_s: float  # until half of the answers were there
    tokens: int  # of answers


def trace(prompt: int, samples: int, outputs: Sequence[int]) -> str:
    """@return a trace of requests that come together: samples of a prompt share it"""
    lines = [f"0,{prompt},{output},{number // samples + 1},{prompt}" for number, output in enumerate(outputs)]
    return "\n".join(["arrival_s,prompt_tokens,output_tokens,prefix_id,prefix_tokens", *lines]) + "\n"


def _simulate(workload: pathlib.Path | str, fabric: pathlib.Path | str, output: pathlib.Path, conf: str | None,
              programs: str | None, more: Sequence[str]) -> None:
    words: list[str | os.PathLike] = [
        find_program("SimAI_simulator", programs), "-w", workload, "-n", fabric, *(["-c", conf] if conf else []),
        "-o", output, "--network", "flow", "--collectives-limit", "0", "--quiet", "--progress", "never", *more]
    run_program(words)


def generate(flags: Sequence[str], lines: str, fabric: pathlib.Path, directory: pathlib.Path, ranks: str,
             conf: str | None, programs: str | None) -> Rollouts:
    """@param flags of workload.py --inference, with the instances @param lines a trace @param ranks of the fabric"""
    write_text(directory / "rollouts.csv", lines)
    written = inference_command.write(inference_command.parse([
        "--inference", *flags, "--trace", str(directory / "rollouts.csv"), "--frontend_ns", "0",
        "--frontend_latency_ns", "0", "--router", "round_robin", "-o", str(directory), "--name", "rollouts"]))
    _simulate(f"{written.path}@{ranks}", fabric, directory / "rollouts", conf, programs, ["--fast-forward"])
    with (directory / "rollouts" / "requests.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ends = sorted(float(row["e2e_us"]) for row in rows)
    return Rollouts(ends[-1] / 1e6, ends[(len(ends) - 1) // 2] / 1e6, sum(int(row["output_tokens"]) for row in rows))


def move(lines: str, fabric: pathlib.Path, directory: pathlib.Path, conf: str | None, programs: str | None) -> float:
    """@return seconds that the messages of a GOAL schedule take"""
    write_text(directory / "weights.goal", lines)
    _simulate(directory / "weights.goal", fabric, directory / "weights", conf, programs, [])
    found = open_run(directory / "weights").simulated_ns
    assert found is not None
    return found / 1e9
