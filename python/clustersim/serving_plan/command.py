# SPDX-License-Identifier: GPL-2.0-only
"""Flags and output of scripts/serve_plan.py."""
import argparse
import concurrent.futures
import dataclasses
import math
import pathlib
from collections.abc import Iterator, Sequence

from clustersim import command, gpu_rows
from clustersim.errors import InputError
from clustersim.results.tables.table import Table, as_text, write_csv
from clustersim.serving_plan import arguments, deployments, layouts, simulated
from clustersim.serving_plan.deployments import Deployment
from clustersim.serving_plan.estimate import Load
from clustersim.serving_plan.simulated import Simulated
from clustersim.topology.cluster import InputError as TopologyError
from clustersim.topology.cluster import parse_rate
from clustersim.topology.layers import prices
from clustersim.topology.reader import read
from clustersim.workload.command import plan_command
from clustersim.workload.flags import kernel_flags, model_flags
from clustersim.workload.flags.parser import Parser
from clustersim.workload.inference.flags import MOST_TOKENS
from clustersim.workload.kernels import gpus
from clustersim.workload.model.transformer import Model
from clustersim.workload.serve import engine
from clustersim.workload.serve.instance import DTYPES
from clustersim.workload.serve.layout import DISPATCH_BYTES, DISPATCHERS

HOURS = 365 * 24  # of a year
PROCESSES = 2  # simulations at a time
COLUMNS = ("rank", "GPU", "instances", "layout", "GPUs", "prefill:decode", "price per 10^6", "kWh per 10^6", "watts",
           "TTFT ms", "simulated TTFT", "TPOT ms", "simulated TPOT", "batch", "KV %", "NIC %", "breaks first",
           "at rate")


@dataclasses.dataclass(frozen=True)
class Costs:
    """Price and watts of a GPU with its part of the network; the price is None without a list."""
    price: float | None
    watts: float


@dataclasses.dataclass(frozen=True)
class Row:
    """A deployment with its costs, and its simulation if there was one."""
    deployment: Deployment
    costs: Costs
    years: float
    kwh: float
    simulation: Simulated = Simulated()

    @property
    def tokens_per_hour(self) -> float:
        """Millions that go out."""
        return self.deployment.load.rate * self.deployment.load.output * 3600 / 1e6

    @property
    def energy(self) -> float:
        """Kilowatt-hours of a million output tokens."""
        return self.deployment.gpus * self.costs.watts / 1e3 / self.tokens_per_hour

    @property
    def price(self) -> float | None:
        """Of a million output tokens: parts, written off, and their energy."""
        if self.costs.price is None:
            return None
        parts = self.deployment.gpus * self.costs.price / (self.years * HOURS) / self.tokens_per_hour
        return parts + self.energy * self.kwh

    @property
    def order(self) -> tuple[float, ...]:
        return (self.deployment.gpus if self.price is None else self.price, self.deployment.state.ttft)


def make_parser(description: str) -> argparse.ArgumentParser:
    parser = Parser(prog="serve_plan.py", description=description, allow_abbrev=False,
                                     usage="%(prog)s --model NAME --isl N --osl N --rate R [flags]",
                                     formatter_class=command.HelpFormatter)
    model_flags.add_model_flags(parser)
    _add_load_flags(parser.add_argument_group("the load"))
    _add_candidate_flags(parser.add_argument_group("candidates"))
    add = parser.add_argument_group("costs and simulations").add_argument
    add("--prices", nargs="+", metavar="[GPU=]FILE",
        help="files with prices and watts of parts, such as topologies/prices.yaml: one for all GPUs, or one for each. "
        "Without them the fewest GPUs rank first")
    add("--years", type=float, default=4.0, metavar="N", help="years in which prices are written off (default: 4)")
    add("--kwh", type=float, default=0.1, metavar="PRICE", help="price of a kilowatt-hour (default: 0.1)")
    add("--simulate", type=int, default=3, metavar="N", help="simulate the first N deployments (default: 3)")
    add("--time_limit", "--time-limit", type=float, default=40, metavar="S",
        help="seconds that each simulation may take (default: 40)")
    add("--conf", "-c", default=str(plan_command.CONF) if plan_command.CONF.is_file() else None, metavar="FILE",
        help="configuration of the simulations (default: conf/SimAI.conf)")
    add("--bin", metavar="DIR", help="directory of the programs (default: bin, or the PATH)")
    add("--top", type=int, default=10, metavar="N", help="number of deployments to show (default: 10)")
    add("--output_dir", "--output-dir", "-o", default="results/serve_plan", metavar="DIR",
        help="directory for deployments.csv, fabrics, workloads and runs (default: results/serve_plan)")
    return parser


def _add_load_flags(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--isl", "--prompt_tokens", "--prompt-tokens", type=int, metavar="N", help="tokens of a prompt")
    add("--osl", "--output_tokens", "--output-tokens", type=int, metavar="N", help="tokens of an output")
    add("--rate", type=float, metavar="R", help="requests per second, which come as a Poisson process")
    add("--ttft", type=float, default=2000, metavar="MS",
        help="most milliseconds to the first token, on average (default: 2000)")
    add("--tpot", type=float, default=50, metavar="MS",
        help="most milliseconds per further token, on average (default: 50)")


def _add_candidate_flags(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--gpus", "--gpu_type", "--gpu-type", default="H100", metavar="GPU[,GPU...]",
        help=f"types of GPU to compare (default: H100), of {', '.join(gpus.names())}")
    kernel_flags.add_gpu_table(group)
    add("--engine", default="vLLM", metavar="ENGINE",
        help=f"engine whose kernels, limits and time beside kernels count: {', '.join(engine.names())} "
        "(default: vLLM)")
    add("--dtype", choices=DTYPES, metavar="TYPE",
        help=f"type of weights: {', '.join(DTYPES)} (default: fp8 where the GPU has it, else bfloat16)")
    add("--kv_cache_dtype", "--kv-cache-dtype", default="auto", choices=["auto", "bfloat16", "fp8"],
        help="type of keys and values in the cache (default: auto, which is bfloat16)")
    add("--moe_dispatcher", "--moe-dispatcher", default="deepep", choices=DISPATCHERS,
        help="how tokens reach their experts (default: deepep)")
    add("--moe_dispatch_dtype", "--moe-dispatch-dtype", default="fp8", choices=DISPATCH_BYTES,
        help="type of the tokens that are sent to experts (default: fp8)")
    add("--nic", default="400Gbps", metavar="RATE", help="rate of the NIC of each GPU (default: 400Gbps)")
    add("--split", default="both", choices=["both", "colocated", "separate"],
        help="whether instances both prefill and decode, or do one of the two (default: both ways are tried)")


def _check(given: argparse.Namespace) -> None:
    for key in ("isl", "osl", "rate"):
        if getattr(given, key) is None:
            raise InputError(f"--{key} is missing; expected --isl, --osl and --rate")
    for key, least, most in (("isl", 1, MOST_TOKENS), ("osl", 2, MOST_TOKENS), ("top", 1, 10 ** 6),
                             ("simulate", 0, 10 ** 6)):
        if not least <= getattr(given, key) <= most:
            raise InputError(f"--{key} is {getattr(given, key)}; expected a number from {least} to {most}")
    for key in ("rate", "ttft", "tpot", "years", "time_limit"):
        if not 0 < getattr(given, key) <= 1e9:
            raise InputError(f"--{key} is {getattr(given, key):g}; expected a number above 0, at most 1e+09")
    if not 0 <= given.kwh < math.inf:
        raise InputError(f"--kwh is {given.kwh:g}; expected a price, 0 or more")
    if not parse_rate(given.nic):
        raise InputError(f'--nic "{given.nic}" is not a valid rate; expected one such as 400Gbps')
    if engine.find(given.engine) is None:
        raise InputError(f'--engine {engine.NONE} has no kernels; expected one of {", ".join(engine.names())}')


WITHOUT_FRONT_END = ("--frontend_ns", "0", "--frontend_latency_ns", "0")  # limits begin at the engine


def _common(given: argparse.Namespace, gpu: str) -> tuple[str, ...]:
    """@return the flags of workload.py --inference that all layouts on a GPU share"""
    named = (("model_name", given.model_name), ("model_size", given.model_size), ("config", given.config),
             ("gpu_table", given.gpu_table))
    words = ["--inference", *(word for key, value in named if value for word in (f"--{key}", value)), "--gpu_type", gpu,
             "--dtype", given.dtype or layouts.dtype_of(gpu), "--engine", given.engine, "--kv_cache_dtype",
             given.kv_cache_dtype, *WITHOUT_FRONT_END]
    for key, field in model_flags.SIZES.items():
        if getattr(given, field) is not None:
            words += [key, str(getattr(given, field))]
    return tuple(words)


def _on_gpu(given: argparse.Namespace, model: Model, gpu: str, load: Load) -> tuple[list[Deployment], str]:
    """@return deployments on a GPU, or why there is none"""
    served_by = engine.find(given.engine)
    assert served_by is not None
    nic = (parse_rate(given.nic) or 0.0) / 8e9
    sent = tuple((key, getattr(given, key)) for key in ("moe_dispatcher", "moe_dispatch_dtype"))
    bases, why = layouts.find(model, _common(given, gpu), load, nic, served_by, sent)
    if not bases:
        return [], why
    prefill, decode = (layouts.in_role(bases, role) for role in ("prefill", "decode"))
    if given.split == "separate" and not prefill:
        return [], f"transfers of caches of {model.name} are not modelled; expected --split colocated"
    found = []
    if given.split != "separate":
        found += deployments.together(bases, load)
    if given.split != "colocated":
        found += deployments.separate(prefill, decode, load)
    return found, (f"no layout keeps the limits: {deployments.best_times(bases, load)}; expected larger --ttft and "
                   "--tpot, or shorter requests")


def _price_files(given: argparse.Namespace, names: Sequence[str]) -> dict[str, str]:
    """@return the list of prices of each GPU"""
    files: dict[str, str] = {}
    for text in given.prices or ():
        gpu, sign, file = text.rpartition("=")
        matching = [name for name in names if name.lower() == gpu.lower()] if sign else names
        if not matching:
            raise InputError(f'--prices "{text}": {gpu} is not one of --gpus; expected {", ".join(names)}')
        files |= dict.fromkeys(matching, file)
    missing = [name for name in names if name not in files]
    if files and missing:
        raise InputError(f"--prices has no file for {missing[0]}; expected {missing[0]}=FILE")
    return files


class _Fabrics:
    """Generated fabrics by GPU and number of GPUs, and the costs of a GPU with its part of one."""

    def __init__(self, given: argparse.Namespace, files: dict[str, str], directory: pathlib.Path) -> None:
        self.files, self.directory = files, directory
        self.nic_gbps = (parse_rate(given.nic) or 0.0) / 8e9
        self.made: dict[tuple[str, int], pathlib.Path] = {}

    def find(self, gpu: str, count: int) -> pathlib.Path:
        servers = math.ceil(count / layouts.domain(gpu))
        key = gpu, servers
        if key not in self.made:
            self.made[key] = simulated.generate(gpu, count, self.nic_gbps, self.directory,
                                                f"{gpu}-{servers * layouts.domain(gpu)}")
        return self.made[key]

    def costs(self, gpu: str) -> Costs:
        """@return a GPU's, in a fabric of two servers; without a list the watts of the GPU alone"""
        if gpu not in self.files:
            return Costs(None, float(gpu_rows.rows()[gpu].get("watts", 0)))
        topology = read(self.find(gpu, 2 * layouts.domain(gpu)))
        price, watts = prices.per_gpu(topology, prices.Prices(self.files[gpu]))
        return Costs(price, watts)


def _shown(rows: Sequence[Row], top: int) -> list[Row]:
    """@return the first `top` rows, and the first of each GPU and kind that is not among them"""
    ordered = sorted(rows, key=lambda row: row.order)
    first: dict[tuple[str, int], Row] = {}
    for row in ordered:
        first.setdefault((row.deployment.gpu, len(row.deployment.pools)), row)
    return [row for number, row in enumerate(ordered) if number < top or any(row is each for each in first.values())]


def _simulate(given: argparse.Namespace, rows: Sequence[Row], fabrics: _Fabrics) -> Iterator[Row]:
    """@return the rows with the simulations of the first ones"""
    first = rows[:given.simulate]
    paths = [fabrics.find(row.deployment.gpu, simulated.gpus_of(row.deployment)) for row in first]
    with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
        running = [pool.submit(simulated.carry_out, row.deployment, path, fabrics.directory, f"deployment-{number}",
                               given.conf, given.bin, given.time_limit)
                   for number, (row, path) in enumerate(zip(first, paths), 1)]
        yield from (dataclasses.replace(row, simulation=each.result()) for row, each in zip(first, running))
    yield from rows[given.simulate:]


def _cells(rank: int, row: Row) -> tuple[object, ...]:
    deployment, state, ran = row.deployment, row.deployment.state, row.simulation
    name, factor = deployment.breaks
    counts = [pool.instances for pool in deployment.pools]
    return (rank, deployment.gpu, " + ".join(map(str, counts)),
            " + ".join(pool.layout.name for pool in deployment.pools), deployment.gpus,
            "colocated" if len(counts) == 1 else ":".join(str(pool.gpus) for pool in deployment.pools),
            row.price, row.energy, deployment.gpus * row.costs.watts, state.ttft, ran.ttft, state.tpot, ran.tpot,
            state.batch, 100 * state.memory, 100 * state.nic, name, factor * deployment.load.rate)


def table(rows: Sequence[Row], title: str, currency: str) -> Table:
    """@return the deployments, the cheapest first"""
    digits = {"price per 10^6": 4, "kWh per 10^6": 4, "watts": 0, "TTFT ms": 1, "simulated TTFT": 1, "TPOT ms": 2,
              "simulated TPOT": 2, "batch": 1, "KV %": 1, "NIC %": 1, "at rate": 1}
    note = f"prices in {currency} and energy are for 10^6 output tokens" if currency else \
        "energy is that of GPUs, for 10^6 output tokens"
    return Table("deployments", title, COLUMNS, [_cells(rank, row) for rank, row in enumerate(rows, 1)], note, digits,
                 optional=("price per 10^6", "simulated TTFT", "simulated TPOT"))


def _say(rows: Sequence[Row], found: Table) -> None:
    print(as_text(found))
    for number, row in enumerate(rows, 1):
        if row.simulation.why:
            print(f"deployment {number} has no simulation: {row.simulation.why}")
        elif row.simulation.gpus:
            print(f"deployment {number}: GPUs in the simulation: {row.simulation.gpus}, "
                  f"first tokens that count: {row.simulation.prompts}")
    best = rows[0].deployment
    name, factor = best.breaks
    print(f"Of the best, {name} breaks first, at {factor * best.load.rate:.4g} requests per second. To start it:")
    print("\n".join(arguments.of_deployment(best)))


def run(words: Sequence[str], description: str) -> None:
    parser = make_parser(description)
    given = parser.parse_args(words)
    given.frame = "Megatron"
    _check(given)
    command.tell_idle(parser, given, ((bool(given.prices), "it is for --prices", ("years", "kwh")),
                                      (given.simulate > 0, "it is for --simulate", ("time_limit", "conf"))))
    with gpu_rows.using(given.gpu_table):
        try:
            _run(given)
        except TopologyError as error:
            raise InputError(str(error)) from None


def _run(given: argparse.Namespace) -> None:
    model = model_flags.find_model(given)
    load = Load(given.isl, given.osl, given.rate, given.ttft, given.tpot)
    names = list(dict.fromkeys(gpus.find(name).name for name in given.gpus.split(",")))
    files = _price_files(given, names)
    directory = pathlib.Path(given.output_dir)
    directory.mkdir(parents=True, exist_ok=True)
    fabrics = _Fabrics(given, files, directory)
    rows, refused = [], []
    for gpu in names:
        found, why = _on_gpu(given, model, gpu, load)
        costs = fabrics.costs(gpu) if found else Costs(None, 0)
        rows += [Row(each, costs, given.years, given.kwh) for each in found]
        refused += [f"{gpu}: {why}"] if not found else []
    if not rows:
        raise InputError(refused[0])
    for line in refused:
        print(f"left out: {line}")
    rows = list(_simulate(given, _shown(rows, given.top), fabrics))
    currency = prices.Prices(files[names[0]]).currency if files else ""
    found_table = table(rows, f"Deployments of {model.name} for {load.rate:g} requests per second of {load.prompt} + "
                        f"{load.output} tokens", currency)
    write_csv(found_table, directory / "deployments.csv")
    _say(rows, found_table)
    print(f"written: {directory / 'deployments.csv'}")
