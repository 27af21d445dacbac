# SPDX-License-Identifier: GPL-2.0-only
"""Finds the cheapest way to serve a model: GPUs, instances, their parallelism, and whether prefill and decode separate.

    scripts/serve_plan.py --model deepseek_v3 --isl 4000 --osl 1000 --rate 100 --ttft 2000 --tpot 50 --gpus h100,gb200
    scripts/serve_plan.py --model llama3_8b --isl 1000 --osl 200 --rate 50 --prices topologies/prices.yaml

Step times and formulas of queues rank the deployments; the first ones are simulated with their network. The table has
both, and the limit that a higher rate breaks first. Arguments of vLLM, SGLang and Dynamo start the best one.
"""
from clustersim.required_modules import require

require("numpy", "pandas", "matplotlib", "pydantic", "yaml")

from clustersim import command
from clustersim.errors import InputError
from clustersim.simulation import SimulationError


def main(arguments: list[str]) -> None:
    from clustersim.serving_plan import command as serving_plan  # loads pandas
    serving_plan.run(arguments, __doc__)


def run() -> None:
    command.run(command.name(), main, (InputError, SimulationError))
