# SPDX-License-Identifier: GPL-2.0-only
"""Compares published step times of reinforcement learning (NeMo RL, GRPO on H100 in bfloat16) with those of
scripts/rl_step.py, with the layouts and batches that the source names.

Prints each step's ratio, estimated over published, and its phases. Writes OUTPUT/rl_steps.csv. With --update it also
writes docs/source/data/rl_steps.csv, and the table of the page docs/source/howto/rl-step.rst.

Examples:
  lab/rl_steps.py
  lab/rl_steps.py --only llama
  lab/rl_steps.py --update
"""
from __future__ import annotations

import argparse
import csv
import json
import pathlib
import shlex
from collections.abc import Mapping, Sequence

from clustersim.required_modules import require

require("yaml", "pydantic")

from clustersim import command  # noqa: E402
from clustersim.errors import InputError  # noqa: E402
from clustersim.rl_step import command as rl_step  # noqa: E402
from clustersim.rl_step import lengths  # noqa: E402
from clustersim.rst import escape, list_table  # noqa: E402
from clustersim.simulation import SimulationError  # noqa: E402
from clustersim_lab import ROOT  # noqa: E402

PUBLISHED = pathlib.Path(__file__).with_name("published.csv")
RECORD = ROOT / "docs" / "source" / "data" / "rl_steps.csv"
TABLE = ROOT / "docs" / "source" / "howto" / "rl-steps-table.inc"
# The source has mean lengths of sequences alone. Prompts of its data set (OpenMathInstruct-2) are short problems;
# the deviation of answers over their mean is an assumption.
PROMPT_TOKENS, DEVIATION, SEED = 150, 0.65, 1
PHASES = ("rollouts", "log-probabilities", "reference", "training", "weights")
WITHIN = 0.2  # goal
Row = Mapping[str, str]


def read(path: pathlib.Path = PUBLISHED) -> list[Row]:
    """@return published steps. rollout_gpus is 0 where the same GPUs generate and train; `flags` are further ones of
    rl_step.py, from the source's recipe"""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def mean_output(mean_tokens: float, count: int, most: int) -> int:
    """@return the mean of the distribution of answers, such that sequences cut at `most` tokens have a mean length"""
    low, high = 1, 16 * most
    while low < high:
        middle = (low + high) // 2
        drawn = lengths.draw(_distribution(middle), count, most - PROMPT_TOKENS, SEED)
        if PROMPT_TOKENS + sum(drawn) / count < mean_tokens:
            low = middle + 1
        else:
            high = middle
    return low


def _distribution(mean: int) -> str:
    return f"lognormal {mean} {max(1, round(DEVIATION * mean))}"


def flags(row: Row) -> list[str]:
    """@return the flags of rl_step.py for a published step"""
    count, most = int(row["prompts"]) * int(row["samples"]), int(row["max_tokens"])
    gpus = (["--rollout_gpus", row["rollout_gpus"], "--train_gpus", row["train_gpus"]] if int(row["rollout_gpus"])
            else ["--gpus", row["train_gpus"]])
    return ["--model_name", row["model"], "--prompts", row["prompts"], "--samples", row["samples"], "--prompt_tokens",
            str(PROMPT_TOKENS), "--output_tokens", _distribution(mean_output(float(row["mean_tokens"]), count, most)),
            "--max_tokens", row["max_tokens"], "--train_batch", row["train_batch"], *gpus, "--rollout_tp",
            row["rollout_tp"], "--train_tp", row["tp"], "--train_ep", row["ep"], "--train_pp", row["pp"],
            "--seed", str(SEED), "--conf", str(ROOT / "conf" / "SimAI.conf"), *shlex.split(row["flags"])]


def estimated(row: Row, directory: pathlib.Path) -> dict[str, str]:
    """@return a row of the record"""
    given = rl_step.make_parser("").parse_args([*flags(row), "-o", str(directory)])
    rl_step.find_step(given)
    step = json.loads((directory / "step.json").read_text(encoding="utf-8"))
    phases = {phase["name"]: phase["seconds"] for phase in step["phases"]}
    facts = {name: value for name, value in row.items() if name not in ("flags", "step_s")}
    return {**facts, **{name: f"{phases[name]:.2f}" for name in PHASES}, "published_s": row["step_s"],
            "estimated_s": f"{step['step_s']:.1f}", "ratio": f"{step['step_s'] / float(row['step_s']):.2f}",
            "flags": row["flags"]}


def table(rows: Sequence[Row]) -> str:
    """@return the rows of the record as reStructuredText"""
    text = ".. Written by lab/rl_steps.py --update; do not edit.\n\n"
    cells = [(escape(f"{row['title']}, {row['release']}"),
              f"{row['rollout_gpus']} + {row['train_gpus']}" if int(row["rollout_gpus"]) else row["train_gpus"],
              f"TP {row['rollout_tp']}", f"TP {row['tp']}, EP {row['ep']}, PP {row['pp']}", row["published_s"],
              row["estimated_s"], row["rollouts"], row["ratio"]) for row in rows]
    return text + list_table(("step, release", "GPUs", "rollouts", "training", "published (s)", "estimate (s)",
                              "of it rollouts (s)", "ratio"), cells, (30, 10, 10, 20, 11, 11, 11, 8))


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = command.Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-o", "--output", type=pathlib.Path, default=pathlib.Path("results/rl-steps"), help="directory that is written")
    add("--only", default="", metavar="TEXT", help="estimate the steps whose id contains this text")
    add("--update", action="store_true", help="write the record and the table of the documentation")
    options = parser.parse_args(arguments)
    if options.update and options.only:
        parser.error("--update goes without --only")
    return options


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    chosen = [row for row in read() if options.only in row["id"]]
    if not chosen:
        raise InputError(f'{PUBLISHED}: no row has "{options.only}" in its id; expected at least one')
    print(f"{'step':<18}{'published':>10}{'estimate':>10}{'ratio':>7}  phases (s)")
    made = []
    for row in chosen:
        made.append(estimated(row, options.output / row["id"]))
        phases = ", ".join(f"{name} {made[-1][name]}" for name in PHASES)
        print(f"{row['id']:<18}{row['step_s']:>10}{made[-1]['estimated_s']:>10}{made[-1]['ratio']:>7}  {phases}",
              flush=True)
    within = sum(abs(float(row["ratio"]) - 1) <= WITHIN for row in made)
    print(f"{within} of {len(made)} within {WITHIN:.0%}")
    for path in (options.output / "rl_steps.csv", *([RECORD] if options.update else [])):
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, made[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(made)
    if options.update:
        TABLE.write_text(table(made), encoding="utf-8")
    return 0


def run() -> None:
    command.run(command.name(), main, (InputError, SimulationError))
