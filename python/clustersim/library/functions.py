# SPDX-License-Identifier: GPL-2.0-only
"""Workloads, plans, servings and explanations, as the commands make them."""
from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from clustersim import notices
from clustersim.errors import InputError
from clustersim.library.serving import Serving
from clustersim.simulation import flag_words, simulate

if TYPE_CHECKING:
    from clustersim.results.run import Run
    from clustersim.why.explanation import Explanation
    from clustersim.workload.result.plans import Plans
    from clustersim.workload.result.written import Workload

Result = TypeVar("Result")


def _words(parser: argparse.ArgumentParser, flags: Mapping[str, object]) -> list[str]:
    """@return the command's words for arguments of a function"""
    known = parser._option_string_actions
    spelled = {next((name for name in (flag, flag.replace("_", "-")) if f"--{name}" in known), flag): value
               for flag, value in flags.items()}
    return flag_words(spelled)


def _result(parse: Callable[[], argparse.Namespace], act: Callable[[argparse.Namespace], Result]) -> Result:
    """@return what act() makes of the flags; what it says is a warning in the caller's caller"""
    with notices.collected() as said:
        try:
            given = parse()
        except SystemExit:
            raise InputError("--help and --list_models print and exit; expected flags that describe a result") from None
        result = act(given)
    for line in said:
        warnings.warn(line, stacklevel=3)
    return result


def workload(model_name: str | None = None, *, inference: bool = False, **flags: object) -> Workload:
    """Writes the workload of a training iteration, or of inference, as scripts/workload.py does.

    @param model_name a model of the catalogue, such as "llama3_8b"; None: flags describe it
    @param inference whether instances serve requests; flags are then those of workload.py --inference
    @param flags the command's flags by their names: world_size=16 is --world_size 16; True is the flag alone; a list is
        several words. Memory is in GB (10^9 bytes), lengths are in tokens, batches in sequences
    @return the Workload, which simulate() takes; memory and pools are tables, facts what NAME.json has
    @raise InputError a flag is wrong, or the plan does not fit into the GPUs' memory. Warnings are UserWarnings.
    """
    from clustersim.workload.command import inference_command, training_command

    named: dict[str, object] = {"model_name": model_name, **flags}
    if inference:
        return _result(lambda: inference_command.parse(_words(inference_command.make_parser(), named)),
                       inference_command.write)
    return _result(lambda: training_command.parse(_words(training_command.make_parser(""), named)),
                   training_command.write)


def plan(model_name: str | None = None, *, gpus: int | None = None, **flags: object) -> Plans:
    """Finds the fastest ways to train a model on GPUs, as scripts/plan.py does, and writes them to output_dir.

    @param model_name a model of the catalogue
    @param gpus number of GPUs
    @param flags the command's flags by their names: topology=fabric, framework="megatron_2025", simulate=3;
        global_batch is in sequences, seq_length in tokens, reserved_gb in GB (10^9 bytes), time_limit in seconds
    @return the Plans, the best first; frame has a row for each: times in ms, memory in GB, shares of 1
    @raise InputError a flag is wrong, or no plan fits into the GPUs' memory
    @raise SimulationError a program that times plans did not finish
    """
    from clustersim.workload.command import plan_command

    if flags.get("against"):
        raise InputError("--against compares published layouts; expected scripts/plan.py for it")
    named: dict[str, object] = {"model_name": model_name, "gpus": gpus, **flags}
    return _result(lambda: plan_command.parse(_words(plan_command.make_parser(""), named)), plan_command.find)


def serve(model_name: str | None = None, *, topology: os.PathLike | str, output: os.PathLike | str,
          conf: os.PathLike | str | None = None, network: str | None = None, program: os.PathLike | str | None = None,
          environment: Mapping[str, str] | None = None, **flags: object) -> Serving:
    """Serves requests by instances of a model: writes the workload as scripts/workload.py --inference does, simulates
    it, and reads the times of the requests.

    @param model_name a model of the catalogue
    @param topology, output, conf, network, program, environment as for simulate()
    @param flags of workload.py --inference by their names: world_size=8, tp=2, requests=100, rate=8 (per second),
        prompt_tokens=1024, output_tokens=128
    @return the Serving; latencies has times in ms, requests in us
    @raise InputError a flag is wrong
    @raise SimulationError the simulator refuses its inputs or does not finish
    """
    from clustersim.workload.command import inference_command

    named: dict[str, object] = {"model_name": model_name, **flags}
    written = _result(lambda: inference_command.parse(_words(inference_command.make_parser(), named)),
                      inference_command.write)
    return Serving(written, simulate(written, topology, output=output, conf=conf, program=program,
                                     environment=environment, network=network))


def why(run: Run | os.PathLike | str, **flags: object) -> Explanation:
    """Explains a run by the critical path of its iteration, as scripts/why.py does.

    @param run what simulate() returned, or the directory of a run
    @param flags the command's flags by their names: factor=2, no_confirm=True, top=5, output="results/why"
    @return the Explanation; parts, longest, what_if and path are tables, times in us, shares of 1
    @raise InputError a flag is wrong, or the run has no iteration to explain
    @raise SimulationError a repetition of the run did not finish
    """
    from clustersim.why import flags as why_flags
    from clustersim.why.explanation import explain

    from clustersim.results.run import Run

    directory = os.fspath(run.directory if isinstance(run, Run) else run)

    def act(given: argparse.Namespace) -> Explanation:
        found = explain(given)
        found.measured  # runs the what-ifs now rather than when they are looked at
        return found

    return _result(lambda: why_flags.parse([directory, *_words(why_flags.make_parser(""), flags)]), act)
