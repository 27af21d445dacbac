# SPDX-License-Identifier: GPL-2.0-only
"""Writes a workload under the name that SimAI's pages use for it, such as llama_70b_tp8_dp16.txt; else as
scripts/workload.py does.

    python3 -m aicb.main --model_name llama_70b --tp 8 --dp 16 --pp 1 --world_size 128 --output_dir ./workloads/
"""
import argparse

from clustersim import command
from clustersim.commands import workload
from clustersim.errors import InputError
from clustersim.workload.command import training_command
from clustersim.workload.flags import model_flags


def file_name(given: argparse.Namespace) -> str:
    """@return the name without ending; sizes of 1 other than TP and DP are left out"""
    plan = training_command.find_plan(given, model_flags.find_model(given))
    name = given.model_name or model_flags.find_model(given).name
    sizes = [("tp", plan.tp), ("dp", plan.dp)]
    sizes += [(key, size) for key, size in (("pp", plan.pp), ("vpp", plan.virtual), ("ep", plan.ep), ("cp", plan.cp))
              if size > 1]
    return "_".join([name, *(f"{key}{size}" for key, size in sizes)])


def main(arguments: list[str]) -> None:
    if not workload.is_inference(arguments) and not {"-h", "--help"} & set(arguments):
        given = training_command.make_parser("").parse_args(arguments)
        if not given.name:
            arguments = [*arguments, "--name", file_name(given)]
    workload.main(arguments)


if __name__ == "__main__":
    command.run("aicb.main", main, InputError)
