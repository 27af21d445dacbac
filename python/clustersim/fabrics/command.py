# SPDX-License-Identifier: GPL-2.0-only
"""Flags and output of scripts/compare_fabrics.py."""
import argparse
import copy
import dataclasses
import json
import pathlib
import tempfile
from collections.abc import Sequence

from clustersim import command, input_file
from clustersim.errors import InputError
from clustersim.fabrics import candidates, compared
from clustersim.fabrics.candidates import Fabric
from clustersim.fabrics.compared import Outcome, Work
from clustersim.results.tables.table import as_text, write_csv
from clustersim.topology.cluster import InputError as TopologyError
from clustersim.topology.layers import prices
from clustersim.whole_file import write_text
from clustersim.workload.command import plan_command
from clustersim.workload.flags import kernel_flags, model_flags
from clustersim.workload.flags.parser import Parser
from clustersim.workload.estimate import overlapped
from clustersim.workload.planning import carried_out
from clustersim.workload.planning import search

OF_LINKS = ("verdict", "hottest", "utilisation")  # tables that need every flow


def make_parser(description: str) -> argparse.ArgumentParser:
    parser = Parser(prog="compare_fabrics.py", usage="%(prog)s --fabric ... [flags]",
                                     description=description, allow_abbrev=False, formatter_class=command.HelpFormatter)
    add = parser.add_argument
    add("--fabric", "-f", action="append", default=[], metavar="[NAME=]WHAT",
        help="a candidate, once for each: a topology file, a template such as Spectrum-X, or flags of "
        "topologies/gen_Topo_Template.py in quotes; the number of GPUs is --gpus where they do not say it")
    add("--workload", "-w", metavar="FILE", help="carry out this workload in the place of a plan")
    plan_command.add_job_flags(parser)
    plan_command.add_price_flags(parser, "; without it nothing is said of costs")
    plan_command.add_simulation_flags(parser, "flow")
    add("--no_plots", "--no-plots", action="store_true", help="write tables only, which is faster and smaller")
    add("--output_dir", "-o", default="results/fabrics", metavar="DIR",
        help="directory for fabrics.html, fabrics.csv, topologies, workloads and runs (default: results/fabrics)")
    parser.set_defaults(gpu_type=None, gpus_per_server=None, nic_type=None, objective="time", top=1, topology=None,
                        **{f"{group}_overlap": None for group in plan_command.OVERLAPS})
    return parser


def _check(given: argparse.Namespace) -> None:
    if not given.fabric:
        raise InputError("there is no fabric; expected --fabric for each candidate")
    plan_command.check_numbers(given, ("gpus", "seq_length", "global_batch"))
    if given.workload and (given.model_name or given.config or given.here or given.framework):
        raise InputError("--workload is carried out as it is; expected no --model, --config, --here or --framework")
    if not given.workload and given.gpus is None:
        raise InputError("there is no job; expected --workload, or --model and --gpus")


def _timed(given: argparse.Namespace, fabric: Fabric) -> tuple[search.Timed, plan_command.Job]:
    """@return the reader's own plan, or the best one on the fabric"""
    here = copy.copy(given)
    here.topology = str(fabric.path)
    model = model_flags.find_model(here)
    machine, gpu, flags = plan_command.find_machine(here)
    gpu = kernel_flags.with_times(gpu, here, model)
    with tempfile.TemporaryDirectory(prefix="fabrics-") as scratch:
        job = plan_command.job_of(here, model, machine, gpu, flags, scratch)
        timed = plan_command.own_timed(here, job)
        if timed is None:
            timed = plan_command.find_best(here, job)[0][0]
    return timed, job


def _planned(given: argparse.Namespace, fabric: Fabric, directory: pathlib.Path) -> Work:
    """Writes the plan's workload, and that of fewer micro-batches. @return the work"""
    if len(fabric.topology.gpus) != given.gpus:
        raise InputError(f"{fabric.path}: has {len(fabric.topology.gpus)} GPUs; expected --gpus {given.gpus}")
    timed, job = _timed(given, fabric)
    iteration, plan = timed.candidate.iteration, timed.plan
    name = fabric.name.replace("/", "-")
    work = Work(directory / f"{name}.txt", directory / f"{name}-links.txt", plan.describe(),
                plan.sequences * plan.sequence, overlapped.waiting_for_the_slowest(iteration))
    carried_out.write(iteration, job.machine, job.framework, work.workload)
    few = min(plan.micro_batches, plan.pp)
    carried_out.write(iteration.of_plan(dataclasses.replace(plan, global_batch=few * plan.micro_batch * plan.dp)),
                      job.machine, job.framework, work.short)
    return work


def _given_work(path: pathlib.Path) -> Work:
    """@return a workload as it is, with the tokens that workload.py counts in the file beside it"""
    beside, tokens = path.with_suffix(".json"), None
    if beside.is_file():
        facts = json.loads(input_file.read_input(beside, "the facts of a workload"))
        if "global_batch" in facts and "seq_length" in facts:
            tokens = facts["global_batch"] * facts["seq_length"]
    return Work(path, path, "", tokens)


def _page(outcomes: Sequence[Outcome], first: compared.Table, title: str, plots: bool) -> str:
    from clustersim.results.page import render  # loads pandas and matplotlib
    from clustersim.results.tables import MAKER_OF
    links = [each.links for each in outcomes if each.links is not None]
    counted = [MAKER_OF[key](links) for key in OF_LINKS] if links else []
    more = [each for each in counted if each.rows]
    return render([each.run for each in outcomes], title, plots, False, [first, *more])


def run(arguments: Sequence[str], description: str) -> None:
    parser = make_parser(description)
    given = parser.parse_args(arguments)
    _check(given)
    command.tell_idle(parser, given, ((bool(given.prices), "it is for --prices", ("years", "kwh")),))
    with plan_command.settings(given):
        _run(given)


def _run(given: argparse.Namespace) -> None:
    directory = pathlib.Path(given.output_dir)
    directory.mkdir(parents=True, exist_ok=True)
    simulator = carried_out.Simulator(given.network, given.conf, given.bin, given.time_limit)
    try:
        outcomes = []
        for fabric in candidates.find_all(given, directory):
            work = _given_work(pathlib.Path(given.workload)) if given.workload else _planned(given, fabric, directory)
            outcomes.append(compared.carry_out(fabric, work, simulator, directory))
        currency = prices.Prices(given.prices).currency if given.prices else ""
    except TopologyError as error:
        raise InputError(str(error)) from None
    found = compared.table(outcomes, given.years, given.kwh, currency)
    job = given.model_name or given.config or given.model_size
    what = pathlib.Path(given.workload).name if given.workload else f"{job} on {given.gpus} GPUs"
    write_csv(found, directory / "fabrics.csv")
    write_text(directory / "fabrics.html", _page(outcomes, found, f"Fabrics for {what}", not given.no_plots))
    print(as_text(dataclasses.replace(found, title=f"Fabrics for {what}")))
    print(f"the page is {directory / 'fabrics.html'}")
