# SPDX-License-Identifier: GPL-2.0-only
"""Estimates a step of reinforcement learning (GRPO): rollouts, their scores, training, and the weights that move.

    scripts/rl_step.py --model_name llama3_8b --gpus 16 --prompts 64 --samples 32 --prompt_tokens 150 \\
      --output_tokens "lognormal 900 600" --max_tokens 4096 --train_batch 512 --train_pp 2
    scripts/rl_step.py --model_name qwen3_30b_a3b --rollout_gpus 16 --train_gpus 16 --rollout_tp 2 --train_ep 8 ...

Rollouts and the messages with weights are simulated on a fabric; log-probabilities and training are estimated. With
--gpus, all GPUs do one after the other; with --rollout_gpus and --train_gpus, some generate while others train.
"""
from clustersim.required_modules import require

require("numpy", "pandas", "matplotlib", "pydantic", "yaml")

from clustersim import command
from clustersim.errors import InputError
from clustersim.simulation import SimulationError


def main(arguments: list[str]) -> None:
    from clustersim.rl_step import command as rl_step  # loads pandas
    rl_step.run(arguments, __doc__)


def run() -> None:
    command.run(command.name(), main, (InputError, SimulationError))
