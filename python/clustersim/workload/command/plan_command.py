# SPDX-License-Identifier: GPL-2.0-only
"""Flags and output of scripts/plan.py."""
import argparse
import contextlib
import dataclasses
import pathlib
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from clustersim import command, gpu_rows, notices, variables
from clustersim.errors import InputError
from clustersim.simulation import CHECKOUT, SimulationError, find_program, run_program
from clustersim.topology.cluster import InputError as TopologyError
from clustersim.topology.layers import prices
from clustersim.topology.reader import read as read_topology
from clustersim.workload.flags import exchange_flags, kernel_flags, model_flags
from clustersim.workload.flags.parser import Parser
from clustersim.workload.contention import uplinks
from clustersim.workload.contention.demand import Contention
from clustersim.workload.estimate import overlapped, plans
from clustersim.workload.kernels import frameworks, gpus
from clustersim.workload.plan import precision
from clustersim.workload.plan.exchange import Exchange
from clustersim.workload.planning import against, search
from clustersim.workload.planning import carried_out, own_layout
from clustersim.workload.planning.contended import Contended
from clustersim.workload.result.plans import Plans, Row, by_simulation, row_of
from clustersim.workload.training import memory
from clustersim.workload.write import launch_arguments

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.training.megatron import Iteration

OVERLAPS = ("tp", "dp", "ep", "pp")
LARGEST = 1_000_000_000  # of what is counted; more would be searched for hours
CONF = CHECKOUT / "conf/SimAI.conf"
OBJECTIVES = ("time", "tokens/s/GPU", "cost")

# Peaks of NICs in GB/s, one direction, where no topology says them.
NIC_GBPS = {"cx6": 25, "cx7": 50, "bf3": 50}


def add_job_flags(parser: Parser) -> None:
    """Adds what says which model is trained on how many GPUs, and how."""
    model_flags.add_model_flags(parser)
    exchange_flags.add(parser)
    own_layout.add_flags(parser)
    add = parser.add_argument
    add("--gpus", "--world_size", type=int, metavar="N", help="number of GPUs")
    add("--framework", metavar="NAME", help="framework whose overlaps and launches count in times: "
        + ", ".join(frameworks.names()) +
        " (default: none; only gradients overlap)")
    kernel_flags.add_gpu_table(parser)
    add("--network_kind", "--network-kind", metavar="NAME",
        help="kind of network between servers, as for SimAI_simulator (default: AS_NETWORK_KIND, or none)")
    add("--global_batch", type=int, metavar="N", help="sequences of an iteration (default: as many as GPUs)")
    add("--seq_length", type=int, default=4096, metavar="N", help="tokens of a sequence (default: 4096)")
    kernel_flags.add_kernel_flags(parser)
    add("--dtype", default="bfloat16", metavar="TYPE",
        help=f"type of the numbers of GEMMs: {kernel_flags.DTYPES} (default: bfloat16)")
    add("--reserved_gb", type=float, default=memory.RESERVED_GB, metavar="GB",
        help="memory of each GPU that is left to CUDA and NCCL (default: 5)")
    add("--bin", metavar="DIR", help="directory of the programs (default: bin, or the PATH)")
    parser.set_defaults(frame="Megatron", tp=1)


def add_price_flags(parser: Parser, instead: str) -> None:
    """@param instead what the prices take the place of"""
    add = parser.add_argument
    add("--prices", metavar="FILE", help="file with prices and watts of the topology's parts, such as "
        f"topologies/prices.yaml{instead}")
    add("--years", type=float, default=4.0, metavar="N",
        help="years in which the parts' prices are written off (default: 4)")
    add("--kwh", type=float, default=0.1, metavar="PRICE", help="price of a kilowatt-hour (default: 0.1)")


def add_simulation_flags(parser: Parser, network: str) -> None:
    """@param network the usual back end"""
    add = parser.add_argument
    add("--network", choices=list(carried_out.REUSE), default=network,
        help=f"back end of the simulations (default: {network})")
    add("--conf", "-c", default=str(CONF) if CONF.is_file() else None, metavar="FILE",
        help="configuration of the simulations (default: conf/SimAI.conf)")
    add("--time_limit", type=float, default=600, metavar="S",
        help="seconds that each simulation may take (default: 600)")


def make_parser(description: str) -> argparse.ArgumentParser:
    parser = Parser(prog="plan.py", usage="%(prog)s [flags]", description=description,
                                     allow_abbrev=False, formatter_class=command.HelpFormatter)
    add_job_flags(parser)
    add_price_flags(parser, ", in the place of --gpu_hour")
    add_simulation_flags(parser, "packet")
    add = parser.add_argument
    add("--topology", "-n", metavar="FILE",
        help="topology that gives the GPU type, GPUs per server, rates of links and what switches carry up")
    add("--gpu_type", default=None, metavar="GPU",
        help=f"GPU type where no topology gives it (default: H100), of {', '.join(gpus.names())}")
    add("--gpus_per_server", type=int, default=None, metavar="N",
        help="GPUs per server where no topology gives them (default: 8)")
    add("--nic_type", choices=NIC_GBPS, help="NIC where no topology gives its rate (default: cx7, 400 Gb/s)")
    add("--objective", choices=OBJECTIVES, default="time",
        help="measure of the best plan: time (default) takes all GPUs; the others also try half of them, a "
        "quarter, ...")
    add("--gpu_hour", type=float, default=None, metavar="PRICE", help="price of a GPU for an hour (default: 2)")
    add("--top", type=int, default=10, metavar="N", help="number of plans to show (default: 10)")
    add("--simulate", type=int, default=0, metavar="N",
        help="simulate the best N plans on the topology, and rank them by that (default: 0)")
    add("--output_dir", "-o", default="results/plan", metavar="DIR",
        help="directory for plans.csv, plans.json, plans.png and workloads (default: results/plan)")
    for group in OVERLAPS:
        add(f"--{group}_overlap", type=float, metavar="X",
            help=f"share of {group.upper()} communication that computation hides, 0 to 1")
    add("--print_arguments", "--print-arguments", metavar="NAME",
        help="print the best plan that a framework can carry out, as arguments of "
        f"{', '.join(launch_arguments.WRITERS)}")
    add("--against", metavar="FILE", help="time the layouts of a CSV file with published speeds in the place of a "
        "search, and compare their order")
    return parser


def check_numbers(given: argparse.Namespace, counts: Sequence[str]) -> None:
    """Refuses numbers of a job, its prices and simulations that are out of range. @param counts flags of counts"""
    for flag in counts:
        if getattr(given, flag) is not None and getattr(given, flag) < 1:
            raise InputError(f"--{flag} is {getattr(given, flag)}; expected at least 1")
        if getattr(given, flag) is not None and getattr(given, flag) > LARGEST:
            raise InputError(f"--{flag} is {getattr(given, flag)}; expected at most {LARGEST}")
    for flag in ("time_limit", "reserved_gb"):
        if not 0 <= getattr(given, flag) < float("inf"):
            raise InputError(f"--{flag} is {getattr(given, flag):g}; expected a number, 0 or more")
    if not 0 < given.years < float("inf") or not 0 <= given.kwh < float("inf"):
        raise InputError("--years or --kwh is not valid; expected years above 0 and a price of 0 or more")


def _check(given: argparse.Namespace) -> None:
    if given.gpus is None and not given.against:
        raise InputError("there is no number of GPUs; expected --gpus")
    check_numbers(given, ("gpus", "top", "seq_length", "gpus_per_server", "global_batch"))
    shares = [getattr(given, f"{group}_overlap") for group in OVERLAPS]
    if any(share is not None and not 0 <= share <= 1 for share in shares):
        raise InputError("a share of hidden communication is not valid; expected --tp_overlap and its like from 0 to 1")
    if given.framework and any(share is not None for share in shares):
        raise InputError("--framework says what overlaps; expected no --tp_overlap or its like")
    if given.print_arguments not in (None, *launch_arguments.WRITERS):
        raise InputError(f'--print_arguments "{given.print_arguments}" is not known; expected '
                         f'{", ".join(launch_arguments.WRITERS)}')
    if given.simulate < 0 or (given.gpu_hour is not None and not 0 <= given.gpu_hour < float("inf")):
        raise InputError("--simulate or --gpu_hour is not valid; expected a number, 0 or more")
    if given.prices and (not given.topology or given.gpu_hour is not None):
        raise InputError("--prices counts the parts of a topology; expected --topology, and no --gpu_hour")
    if given.simulate and not given.topology:
        raise InputError("--simulate has no network; expected --topology")
    if given.topology and (given.gpu_type or given.gpus_per_server or given.nic_type):
        raise InputError("--gpu_type, --gpus_per_server and --nic_type contradict --topology, which has them; "
                         "expected one of both")


def tell_idle(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    command.tell_idle(parser, given, (
        (given.simulate, "it is for --simulate", ("network", "conf", "time_limit")),
        (given.prices, "it is for --prices", ("years", "kwh")),
        (not given.against, "--against times published layouts",
         ("top", "simulate", "objective", "gpu_hour", "prices", "global_batch",
                                                                  "seq_length", "print_arguments", "config"))))


def _require_network_kind(given: argparse.Namespace) -> None:
    """Refuses a kind of network that the programs do not know, before plans are looked for."""
    with tempfile.TemporaryDirectory(prefix="plan-") as scratch:
        try:
            run_program([find_program("SimCCL", given.bin), "-o", scratch], {"AS_NETWORK_KIND": given.network_kind})
        except SimulationError as error:
            raise InputError(str(error).replace("environment: AS_NETWORK_KIND", "--network_kind")) from None


def find_machine(given: argparse.Namespace) -> tuple[plans.Machine, gpus.Gpu, list[str]]:
    """@return Machine, the Gpu, and the flags of SimAI_analytical that mean the same"""
    if given.network_kind:
        _require_network_kind(given)
    machine, gpu, flags = _machine_of_topology(given) if given.topology else _machine_of_flags(given)
    for line in gpu_rows.idle(gpu.name):
        notices.warn(line, "plan.py")
    return machine, gpu, flags


def _machine_of_flags(given: argparse.Namespace) -> tuple[plans.Machine, gpus.Gpu, list[str]]:
    gpu = gpus.find(given.gpu_type or "H100", kernel_flags.dtype_of(given), given.kernels)
    per_server = given.gpus_per_server or 8
    if (given.gpus or 0) > per_server and given.gpus % per_server:
        raise InputError(
            f"--gpus {given.gpus} is no multiple of --gpus_per_server {per_server}; expected whole servers"
        )
    nic = given.nic_type or "cx7"
    machine = plans.Machine(per_server, gpu.nvlink_gbps, NIC_GBPS[nic])
    return machine, gpu, ["-g_type", gpu.name, "-g_p_s", str(per_server), "-nic_t", nic]


def _machine_of_topology(given: argparse.Namespace) -> tuple[plans.Machine, gpus.Gpu, list[str]]:
    topology = read_topology(given.topology)
    if len(topology.gpus) < given.gpus:
        raise InputError(f"{given.topology}: has {len(topology.gpus)} GPUs; expected at least --gpus {given.gpus}")
    inside, outside = set(topology.nvswitches) | set(topology.gpus), set(topology.switches) - set(topology.nvswitches)
    first = topology.gpus[0]
    rates = {"nvlink": 0.0, "nic": 0.0}
    for link in topology.links:
        if first in (link.a, link.b):
            other = link.b if link.a == first else link.a
            rates["nic" if other in outside else "nvlink" if other in inside else "nic"] += link.rate_bps / 8e9
    fastest = max(rates.values())
    machine = plans.Machine(topology.gpus_per_server, rates["nvlink"] or fastest, rates["nic"] or fastest)
    return machine, gpus.find(topology.gpu_type, kernel_flags.dtype_of(given), given.kernels), ["-n",
        given.topology]


def gpu_hour(given: argparse.Namespace) -> float:
    """@return price of a GPU for an hour: as given, or its share of the topology's parts, written off, and of their
    power"""
    if not given.prices:
        return 2.0 if given.gpu_hour is None else given.gpu_hour
    topology = read_topology(given.topology)
    price, watts = prices.per_gpu(topology, prices.Prices(given.prices))
    return price / (given.years * 365 * 24) + watts / 1000 * given.kwh


def _counts(given: argparse.Namespace) -> list[int]:
    """@return numbers of GPUs to try"""
    counts = [given.gpus]
    while given.objective != "time" and counts[-1] % 2 == 0:
        counts.append(counts[-1] // 2)
    return counts


def _value(given: argparse.Namespace, timed: search.Timed) -> float:
    return timed.total_ns if given.objective == "time" else -timed.tokens_per_s / timed.plan.world_size


def _framework(given: argparse.Namespace) -> frameworks.Framework | None:
    return frameworks.find(given.framework) if given.framework else None


def _timers(given: argparse.Namespace, machine: plans.Machine, gpu: gpus.Gpu, flags: Sequence[str], directory: str,
            framework: frameworks.Framework | None) -> Callable[[int], search.Timer]:
    """@return a function that gives what times plans of a number of GPUs"""
    shared = uplinks.find(read_topology(given.topology)) if given.topology else None
    servers = carried_out.collective_machine(machine, gpu)
    if framework:
        timer = search.Estimated(dataclasses.replace(servers, contention=Contention(shared) if shared else None),
                                 framework)
        return lambda count: timer
    program = find_program("SimAI_analytical", given.bin)
    shares = {group: getattr(given, f"{group}_overlap") for group in OVERLAPS}
    hidden = {group.upper(): share for group, share in shares.items() if share is not None}
    for group, share in hidden.items():
        flags = [*flags, f"-{group.lower()}_o", str(share)]

    def analytical(count: int) -> search.Analytical:
        return search.Analytical(program, ["-g", str(count), *flags], directory)
    if not shared:
        return analytical
    on_topology = dataclasses.replace(servers, topology=given.topology)
    contention = Contention(shared, alone_counts=True)
    return lambda count: Contended(analytical(count), on_topology, contention, hidden)


@dataclasses.dataclass(frozen=True)
class Job:
    """A model on a machine, for which plans are made, and their timers."""
    model: "Model"
    machine: plans.Machine
    gpu: gpus.Gpu  # with the framework's kernels
    framework: frameworks.Framework | None
    exchange: Exchange
    numbers: precision.Precision
    timer_of: Callable[[int], search.Timer]


def job_of(given: argparse.Namespace, model: "Model", machine: plans.Machine, gpu: gpus.Gpu, flags: Sequence[str],
         directory: str) -> Job:
    framework = _framework(given)
    gpu = frameworks.apply(gpu, framework) if framework else gpu
    numbers = precision.of(kernel_flags.dtype_of(given), reads_either_order=bool(gpu.fp4))
    return Job(model, machine, gpu, framework, exchange_flags.find(given, model), numbers,
                _timers(given, machine, gpu, flags, directory, framework))


def own_timed(given: argparse.Namespace, job: Job) -> search.Timed | None:
    """@return the reader's own layout, timed as the others are; None without one"""
    plan = own_layout.find(given, given.global_batch or given.gpus, job.exchange, job.numbers)
    if plan is None:
        return None
    recomputes = plan.recompute != "none" or given.own_recompute is not None
    candidate, fits = own_layout.candidate(plan, recomputes, job.model, job.gpu, job.machine, given.reserved_gb,
                                           job.framework)
    if not fits:
        notices.warn(f"your layout needs {candidate.memory.describe()} on a GPU, which has less", "plan.py")
    return job.timer_of(plan.world_size).time(candidate, "here")


def find_best(given: argparse.Namespace, job: Job) -> tuple[list[search.Timed], int, int]:
    """@return the best plans, and counts of what was looked at"""
    model, gpu = job.model, job.gpu
    hidden = any(getattr(given, f"{group}_overlap") for group in OVERLAPS)
    found: list[search.Timed] = []
    seen, timed = 0, 0
    for count in _counts(given):
        listed, too_large = plans.candidates(model, gpu, job.machine, count, given.global_batch or given.gpus,
                                             given.seq_length, given.reserved_gb, job.framework, job.exchange, hidden,
                                             job.numbers)
        seen += len(listed) + too_large
        some, runs = search.best(listed, job.timer_of(count), given.top)
        found, timed = found + some, timed + runs
    if not found:
        raise InputError(f"{model.name} fits on {given.gpus} {gpu.name} in none of {seen} plans; expected more GPUs, "
                         "more memory or a --global_batch that can be shared out")
    found.sort(key=lambda each: _value(given, each))
    return found[:given.top], seen, timed


def _file_of(row: Row) -> str:
    return "here" if row["rank"] == "here" else f"plan{row['rank']}"


def _simulate(given: argparse.Namespace, plans_and_rows: Sequence[tuple[search.Timed, Row]],
              directory: pathlib.Path) -> None:
    simulator = carried_out.Simulator(given.network, given.conf, given.bin, given.time_limit)
    for timed, row in plans_and_rows:
        name = _file_of(row)
        if timed.plan.world_size != len(read_topology(given.topology).gpus):
            raise InputError(f"--simulate: {given.topology} has another number of GPUs than plan {row['rank']}; expected "
                             f"{timed.plan.world_size}")
        try:
            simulated = simulator.run(directory / f"{name}.txt", given.topology, directory / name)
        except subprocess.TimeoutExpired:
            notices.warn(f"plan {row['rank']} was not simulated within {given.time_limit:g} s (--time_limit); --network "
                         f"flow is faster", "plan.py")
            continue
        slowest = overlapped.waiting_for_the_slowest(timed.candidate.iteration)
        row["simulated_ms"] = simulated / 1e6 * slowest


def _against(given: argparse.Namespace) -> None:
    """Times published layouts, of --gpus and --model if they are given, and prints how our order compares."""
    layouts = [each for each in against.read(given.against) if given.gpus in (None, each.plan.world_size)
               and given.model_name in (None, each.model)]
    if not layouts:
        raise InputError(
            f"{given.against}: no layout of {given.model_name} on {given.gpus} GPUs; expected at least one"
        )
    machine, gpu, flags = find_machine(given)
    framework = _framework(given)
    gpu = frameworks.apply(gpu, framework) if framework else gpu

    def iteration(layout: against.Layout) -> "Iteration":
        return plans.iteration_of(framework, against.model_of(framework, layout.model), layout.plan, gpu, machine)

    with tempfile.TemporaryDirectory(prefix="plan-") as scratch:
        compared = against.compare(layouts, iteration, _timers(given, machine, gpu, flags, scratch, framework), gpu,
                                   given.reserved_gb)
    directory = pathlib.Path(given.output_dir)
    directory.mkdir(parents=True, exist_ok=True)
    against.write(compared, directory / "against.csv")
    stuck = against.stalled(layouts)
    print(against.table(against.summary(compared)))
    if stuck:
        print(f"\nwithout {len(stuck)} layouts whose micro-batches took {against.STALLED} times as long as elsewhere:")
        print(against.table(against.summary([each for each in compared if each.layout not in stuck])))
    print(f"every layout is in {directory / 'against.csv'}")


def parse(arguments: Sequence[str], description: str = "") -> argparse.Namespace:
    """@return the flags, checked @raise InputError one of them is wrong, or they contradict each other"""
    parser = make_parser(description)
    given = parser.parse_args(arguments)
    _check(given)
    tell_idle(parser, given)
    return given


@contextlib.contextmanager
def settings(given: argparse.Namespace) -> Iterator[None]:
    """Tells the programs that time plans the user's GPU types and kind of network, and where the cost model is."""
    with gpu_rows.using(given.gpu_table), variables.setting(AS_NETWORK_KIND=given.network_kind, PROGRAM_DIR=given.bin):
        yield


def run(arguments: Sequence[str], description: str) -> None:
    given = parse(arguments, description)
    if given.against:
        with settings(given):
            _against(given)
        return
    for line in find(given).lines():
        print(line)


def find(given: argparse.Namespace) -> Plans:
    """Searches for the best plans, simulates some if the flags say so, and writes them to --output_dir.
    @param given what parse() returned"""
    with settings(given):
        return _find(given)


def _find(given: argparse.Namespace) -> Plans:
    model = model_flags.find_model(given)
    try:
        machine, gpu, flags = find_machine(given)
        gpu = kernel_flags.with_times(gpu, given, model)
        with tempfile.TemporaryDirectory(prefix="plan-") as scratch:
            job = job_of(given, model, machine, gpu, flags, scratch)
            here = own_timed(given, job)
            best, seen, timed = find_best(given, job)
        hour = gpu_hour(given)
        rows = [row_of(number, each, gpu, hour) for number, each in enumerate(best, 1)]
        directory = pathlib.Path(given.output_dir)
        directory.mkdir(parents=True, exist_ok=True)
        own = [(here, row_of("here", here, gpu, hour))] if here else []
        for each, row in [*zip(best, rows), *own]:
            carried_out.write(each.candidate.iteration, machine, job.framework, directory / f"{_file_of(row)}.txt")
        _simulate(given, [*zip(best[:given.simulate], rows), *(own if given.simulate else [])], directory)
        best, rows = by_simulation(best, rows, directory)
        best, rows = best + [each for each, _ in own], rows + [row for _, row in own]
    except TopologyError as error:
        raise InputError(str(error)) from None
    title = f"{model.name} on {given.gpus} {gpu.name}, {given.global_batch or given.gpus} x {given.seq_length} tokens"
    found = Plans(title, model, rows, best, seen, timed, directory, machine.gpus_per_server,
                  given.objective == "cost" or bool(given.prices), given.print_arguments)
    found.write()
    return found
