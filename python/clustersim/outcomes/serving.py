# SPDX-License-Identifier: GPL-2.0-only
"""Published rates of servers whose requests wait in a queue, and the same requests simulated."""
import dataclasses
import re

import pandas as pd

from clustersim import simulate
from clustersim.accuracy.simulate import write_topology
from clustersim.accuracy.tables import Machine as Links
from clustersim.outcomes import card, runs
from clustersim.whole_file import write_text
from clustersim.workload import gpus, inference_command
from clustersim.workload.collective_times import Machine
from clustersim.workload.errors import InputError
from clustersim.workload.serving import Instance

TASK = "serve"
QUEUED = re.compile(r"(\d+) requests queued at once")
AT_ONCE = 1_000_000  # requests per second: they come before the first is served
MOST_SEQUENCES = 2048  # at a time: the cache is what limits them


@dataclasses.dataclass(frozen=True)
class Server:
    """A published row, written down."""
    fact: object
    gpu: gpus.Gpu
    machine: Machine
    instance: Instance
    requests: int


def write_down(fact):
    """@return the Server of a row; raises CannotBeWritten"""
    queued = QUEUED.search(fact.notes)
    if None in (fact.gpus, fact.tp, fact.lengths, fact.tokens_per_s_gpu) or not queued:
        raise runs.CannotBeWritten(runs.NO_LAYOUT, "the row does not say GPUs, TP, lengths, tokens per second and GPU and requests queued at once")
    dtype = runs.product_of(fact)
    if dtype not in ("bfloat16", "fp8"):
        raise runs.CannotBeWritten("precision", f"servers with products of {dtype} are not modelled")
    _, machine = runs.machine_of(fact)
    eight_bit = dtype == "fp8"
    try:
        instance = Instance(runs.model_of(fact), fact.gpus, fact.tp, fact.pp or 1, fact.ep or 1, fp8=eight_bit, fp8_cache=eight_bit)
    except InputError as error:
        raise runs.CannotBeWritten("plan", str(error)) from None
    return Server(fact, gpus.find(machine.gpu_type, dtype, "roofline"), machine, instance, int(queued[1]))


def write_all_down(facts):
    """@return Servers of the rows that can be written down, and those that cannot as Refused"""
    return card.write_down(facts, (TASK,), write_down)


def _write(server, directory):
    """Writes the workload and the machine of a server. @return their paths"""
    prompt, output = server.fact.lengths
    flags = {"requests": server.requests, "rate": AT_ONCE, "prompt_tokens": prompt, "output_tokens": output, "max_num_seqs": MOST_SEQUENCES}
    given = inference_command.make_parser().parse_args([word for name, value in flags.items() for word in (f"--{name}", str(value))])
    text, _ = inference_command.render(given, server.instance.model, [("colocated", server.instance)], server.gpu)
    workload, topology = directory / "workload.txt", directory / "topology.txt"
    directory.mkdir(parents=True, exist_ok=True)
    write_text(workload, text)
    machine = server.machine
    write_topology(topology, Links(gpu=machine.gpu_type, servers=server.fact.gpus // machine.gpus_per_server, gpus_per_server=machine.gpus_per_server,
                                   nvlink_gbps=8 * machine.line_rates().nvlink, nic_gbps=8 * machine.nic_gbps))
    return workload, topology


def rate_of(server, directory):
    """@return output tokens per second and GPU that a server simulates to"""
    workload, topology = _write(server, directory)
    run = simulate(workload, topology, output=directory / "run", network="analytical", fast_forward=True)
    return run.inference.set_index("metric").loc["output_tokens_per_second", "mean"] / server.fact.gpus


def row_of(server, rate):
    """@return a row of the table of servers"""
    fact, instance = server.fact, server.instance
    prompt, output = fact.lengths
    return {"id": fact.id, "model": fact.model, "gpu": fact.gpu, "gpus": fact.gpus, "precision": fact.precision, "tp": instance.tp, "ep": instance.ep,
            "prompt_tokens": prompt, "output_tokens": output, "published": fact.tokens_per_s_gpu, "simulated": rate,
            "ratio": rate / fact.tokens_per_s_gpu, "source": fact.source}


def frame_of(servers, directory):
    """@return a frame with a row for each Server; runs are left below the directory"""
    return pd.DataFrame([row_of(server, rate_of(server, directory / server.fact.id)) for server in servers])
