# SPDX-License-Identifier: GPL-2.0-only
"""A deployment in balance, simulated for a window of steps on the fewest servers that hold a few of its instances.

The estimated batch decodes when the window begins: its sequences are half-way through their outputs in all degrees, and
their prompts are in the caches (a shared prefix, which one earlier prompt for each replica has computed). New requests
come as a Poisson process. Outputs end with the window.
"""
import csv
import dataclasses
import io
import itertools
import math
import os
import pathlib
import random
import subprocess
from collections.abc import Iterator, Sequence

from clustersim.serving_plan.deployments import Deployment
from clustersim.serving_plan.estimate import Estimate
from clustersim.serving_plan.layouts import domain
from clustersim.simulation import SimulationError, find_program, run_program
from clustersim.topology.generator import command_line
from clustersim.whole_file import write_text
from clustersim.workload.command import inference_command

STEPS = 100  # of a window
FEW = 16  # GPUs of colocated instances that are simulated together
COLUMNS = ("arrival_s", "prompt_tokens", "output_tokens", "prefix_id", "prefix_tokens")


@dataclasses.dataclass(frozen=True)
class Simulated:
    """Means in ms over the requests of a window; None where there were none, or no simulation."""
    ttft: float | None = None
    tpot: float | None = None
    prompts: int = 0  # with a time to the first token that counts
    gpus: int = 0
    why: str = ""  # there is no simulation


@dataclasses.dataclass(frozen=True)
class Request:
    """A line of a trace. `kind` is seed, old or new."""
    arrival: float
    prompt: int
    output: int
    prefix: int
    kind: str


def counts(deployment: Deployment) -> tuple[list[int], float]:
    """@return instances of each pool that are simulated, and their requests per second"""
    pools, rate = deployment.pools, deployment.load.rate
    if len(pools) == 1:
        few = min(pools[0].instances, max(1, FEW // pools[0].layout.gpus))
        return [few], rate * few / pools[0].instances
    prefill, decode = (pool.instances for pool in pools)
    some = [round(prefill / decode), 1] if prefill >= decode else [1, round(decode / prefill)]
    return some, rate * min(one / pool.instances for one, pool in zip(some, pools))


def requests(deployment: Deployment, few: Sequence[int], rate: float, steps: int = STEPS) -> Iterator[Request]:
    """@return the requests of a window, in the order of their arrivals"""
    load, state = deployment.load, deployment.state
    last = deployment.pools[-1].layout
    replicas = few[-1] * last.steps.instance.replicas
    whole = load.prompt + load.output
    longest = Estimate(deployment.pools[0].layout, dataclasses.replace(load, prompt=whole)).prompts(1).time / 1e9
    random_ = random.Random(1)
    all_replicas = max(count * pool.layout.steps.instance.replicas for count, pool in zip(few, deployment.pools))
    for _ in range(all_replicas):
        yield Request(0.0, whole, 1, 0, "seed")
    # All prefixes are in the caches by then, even if those of all replicas share a network.
    begin = 0.1 + (4 + all_replicas / 4) * longest
    for _ in range(round(state.batch * replicas)):
        age = random_.randrange(load.output)
        yield Request(begin, load.prompt + age, max(2, min(load.output - age, steps)), load.prompt + age - 1, "old")
    step = state.tpot / 1e3
    end, now = begin + steps * step, begin
    while (now := now + random_.expovariate(rate)) < end:
        left = (end - now - state.ttft / 1e3) / step
        yield Request(now, load.prompt, max(2, min(load.output, int(left))), 0, "new")


def _trace(found: Sequence[Request]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for number, each in enumerate(found):
        shares = each.kind != "new"
        writer.writerow([f"{each.arrival:.9f}", each.prompt, each.output, 1 if shares else number + 2,
                         (each.prefix or each.prompt) if shares else 1])
    return text.getvalue()


def generate(gpu: str, gpus: int, nic_gbps: float, directory: pathlib.Path, name: str) -> pathlib.Path:
    """@return a rail-optimised fabric of the fewest servers with so many GPUs"""
    servers = math.ceil(gpus / domain(gpu))
    template = "NVL72" if domain(gpu) > 8 else "Spectrum-X"
    words = ["-topo", template, "-g", servers * domain(gpu), "-gps", domain(gpu), "-gt", gpu, "-bw",
             f"{nic_gbps * 8:g}Gbps", "--fit"]
    given = vars(command_line.make_parser("").parse_args(list(map(str, words))))
    given["output"], given["force"] = str(directory / f"{name}.topology"), True
    return command_line.generate(given)[0]


def _words(deployment: Deployment, few: Sequence[int]) -> list[str]:
    """@return the flags of the instances, of workload.py --inference"""
    pools = deployment.pools
    words = list(pools[0].layout.common)
    if len(pools) == 1:
        return [*words, *pools[0].layout.words(), "--world_size", str(few[0] * pools[0].layout.gpus)]
    for count, pool in zip(few, pools):
        role = pool.layout.role
        words += [f"--{role}_gpus", str(count * pool.layout.gpus), *pool.layout.words(f"{role}_")]
    return words


def _measured(path: pathlib.Path, found: Sequence[Request], gpus: int) -> Simulated:
    firsts, decoded, tokens = [], 0.0, 0
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            request = found[int(row["request"])]
            if request.kind == "new":
                firsts.append(float(row["ttft_us"]) / 1e3)
            elif request.kind == "old":
                decoded += float(row["tpot_us"]) / 1e3 * (request.output - 1)
                tokens += request.output - 1
    return Simulated(sum(firsts) / len(firsts) if firsts else None, decoded / tokens if tokens else None, len(firsts),
                     gpus)


def carry_out(deployment: Deployment, fabric: pathlib.Path, directory: pathlib.Path, name: str, conf: str | None,
              programs: str | None, time_limit: float) -> Simulated:
    """@return the times of a window's requests; files are `directory`/NAME.*"""
    few, rate = counts(deployment)
    if not deployment.pools[0].layout.steps.instance.kept.moves:
        return Simulated(why="its layers do not keep all tokens, so caches cannot be filled beforehand")
    found = list(itertools.islice(requests(deployment, few, rate), 100_000))
    write_text(directory / f"{name}.csv", _trace(found))
    written = inference_command.write(inference_command.parse([
        *_words(deployment, few), "--trace", str(directory / f"{name}.csv"), "-o", str(directory), "--name", name]))
    words: list[str | os.PathLike] = [
        find_program("SimAI_simulator", programs), "-w", written.path, "-n", fabric, *(["-c", conf] if conf else []),
        "-o", directory / name, "--network", "flow", "--fast-forward", "--collectives-limit", "0", "--quiet",
        "--progress", "never"]
    try:
        run_program(words, timeout=time_limit)
    except subprocess.TimeoutExpired:
        return Simulated(why=f"not simulated within {time_limit:g} s")
    except SimulationError as error:
        return Simulated(why=str(error).splitlines()[0])
    return _measured(directory / name / "requests.csv", found, int(written.facts["world_size"]))


def gpus_of(deployment: Deployment) -> int:
    """@return GPUs that are simulated"""
    return sum(count * pool.layout.gpus for count, pool in zip(counts(deployment)[0], deployment.pools))
