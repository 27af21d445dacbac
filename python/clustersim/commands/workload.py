# SPDX-License-Identifier: GPL-2.0-only
"""Writes the workload of a training iteration, or of inference, from a model's name and its parallelism, without a GPU.

    scripts/workload.py --model_name llama_70b --world_size 64 --tp 8 --pp 4 --sp --global_batch 32
    scripts/workload.py --config config.json --world_size 64 --ep 8 --format chakra
    scripts/workload.py --inference --help

Operators take the time of measured kernels on --gpu_type, of --kernels roofline, or of --measured. The plan must fit
into the GPU's memory. Beside DIR/NAME.txt (SimAI's text) or DIR/NAME.<rank>.et (Chakra) it writes DIR/NAME.json:
memory, work, sizes.
"""
from clustersim.required_modules import require

require("pydantic", "yaml")

from clustersim import command
from clustersim.errors import InputError
from clustersim.workload.command import inference_command, training_command


def is_inference(arguments: list[str]) -> bool:
    kind = " ".join(arguments).replace("=", " ")
    return "--inference" in arguments or "--workload_type inference" in kind  # AICB's main program has the second


def main(arguments: list[str]) -> None:
    if is_inference(arguments):
        inference_command.run(arguments)
    else:
        training_command.run(arguments, __doc__)


def run() -> None:
    command.run(command.name(), main, InputError)
