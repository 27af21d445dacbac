# SPDX-License-Identifier: GPL-2.0-only
"""Compares fabrics for a job: step time, cost and energy of a token, and the link that fills up first, on one page.

    scripts/compare_fabrics.py --fabric Spectrum-X --fabric 'thin=Clos2 --oversubscription 4' \\
      --model llama3_8b --gpus 64 --framework megatron_2025 --prices topologies/prices.yaml
    scripts/compare_fabrics.py --fabric results/a --fabric results/b --workload results/job.txt

The job is a model, whose best plan is looked for on each fabric, a plan (--tp, --pp, ... or --here), or a workload. It
is simulated on each, with the overlaps of its framework.
"""
from clustersim.required_modules import require

require("numpy", "pandas", "matplotlib", "jinja2", "pydantic", "yaml")

from clustersim import command
from clustersim.errors import InputError
from clustersim.simulation import SimulationError


def main(arguments: list[str]) -> None:
    from clustersim.fabrics import command as fabrics  # loads pandas and matplotlib
    fabrics.run(arguments, __doc__)


def run() -> None:
    command.run(command.name(), main, (InputError, SimulationError))
