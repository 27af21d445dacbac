# SPDX-License-Identifier: GPL-2.0-only
"""Finds the fastest way to train a model on GPUs: which tensor, pipeline, data, expert and context parallelism.

    scripts/plan.py --model llama_70b --gpus 1024 --topology TOPOLOGY
    scripts/plan.py --model mixtral_8x7b --gpus 64 --objective tokens/s/GPU --global_batch 512

All plans that Megatron-LM allows and that fit into memory are ranked by SimAI_analytical; a plan whose computation and
line-rate communication alone take longer than the best ones is not run. --simulate N simulates the best N on the
topology.
"""
from clustersim.required_modules import require

require("pydantic", "yaml", "matplotlib")

from clustersim import command
from clustersim.errors import InputError
from clustersim.simulation import SimulationError
from clustersim.workload.command import plan_command


def main(arguments: list[str]) -> None:
    plan_command.run(arguments, __doc__)


def run() -> None:
    command.run(command.name(), main, (InputError, SimulationError))
