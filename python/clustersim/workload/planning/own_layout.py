# SPDX-License-Identifier: GPL-2.0-only
"""A reader's own layout, by flags or by the workload that it is written in, to be timed beside the best plans."""
import argparse
import json
import pathlib
from typing import TYPE_CHECKING

from clustersim import input_file
from clustersim.errors import InputError
from clustersim.workload.estimate import plans
from clustersim.workload.plan.parallel import RECOMPUTATION, Parallelism

if TYPE_CHECKING:
    from clustersim.workload.kernels.frameworks import Framework
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.exchange import Exchange
    from clustersim.workload.plan.precision import Precision

# Flags, and words for people.
DEGREES = {"tp": "GPUs of a tensor-parallel group", "pp": "stages of the pipeline", "vpp": "chunks of each stage",
           "ep": "ranks that share out the experts", "etp": "parts of an expert",
           "cp": "ranks that share out a sequence",
           "zero": "stage of ZeRO", "micro_batch": "sequences of a micro-batch"}
# Keys of a workload's first line, and those of the file that workload.py writes beside it.
HEADER = {"model_parallel_NPU_group": "tp", "pp": "pp", "vpp": "vpp", "ep": "ep", "expert_parallel_npu_group": "ep",
          "etp": "etp", "cp": "cp"}
BESIDE = ("zero", "micro_batch", "recompute")


def add_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("your own layout, shown beside the best plans")
    for flag, words in DEGREES.items():
        spellings = dict.fromkeys((f"--{flag}", f"--{flag.replace('_', '-')}"))
        group.add_argument(*spellings, dest=f"own_{flag}", type=int, metavar="N", help=words)
    group.add_argument("--recompute", dest="own_recompute", choices=RECOMPUTATION,
                       help="activations that it computes again (default: the fewest with which it fits)")
    group.add_argument("--here", metavar="FILE", help="the workload whose layout it is; these flags win over it")


def _of_workload(path: str) -> dict[str, int | str]:
    """@return what a workload's first line says, and the file beside it if there is one"""
    line = input_file.read_input(path, "a workload").split("\n", 1)[0]
    words = line.replace(":", " ").split()
    found: dict[str, int | str] = {}
    for key, number in zip(words, words[1:]):
        if key in HEADER or key in ("ga", "all_gpus"):
            if not number.isdigit() or int(number) < 1:
                raise InputError(f'{path}:1: {key} is "{number}"; expected a whole number of at least 1')
            found[HEADER.get(key, key)] = int(number)
    if "tp" not in found:
        raise InputError(f"{path}:1: the first line has no model_parallel_NPU_group; expected a training workload in "
                         f"SimAI's text")
    facts = pathlib.Path(path).with_suffix(".json")
    if facts.is_file():
        told = json.loads(input_file.read_input(facts, "what workload.py writes beside a workload"))
        found.update({key: told[key] for key in BESIDE if key in told})
    return found


def _micro_batch(known: dict[str, int | str], inner: int, gpus: int, global_batch: int) -> int:
    """@return sequences of a micro-batch, of which the workload may give the number"""
    if "micro_batch" in known or "ga" not in known:
        return int(known.get("micro_batch", 1))
    shared = gpus // inner * int(known["ga"])
    if not shared or global_batch % shared:
        raise InputError(f"{global_batch} sequences do not fill {shared} micro-batches of your layout; expected the "
                         f"--global_batch that it has")
    return global_batch // shared


def find(given: argparse.Namespace, global_batch: int, exchange: "Exchange",
         numbers: "Precision") -> Parallelism | None:
    """@return the layout that the flags describe, None if they do not"""
    own = {flag: getattr(given, f"own_{flag}") for flag in (*DEGREES, "recompute")}
    own = {flag: value for flag, value in own.items() if value is not None}
    if not own and not given.here:
        return None
    known: dict[str, int | str] = {**(_of_workload(given.here) if given.here else {}), **own}
    for flag in DEGREES:
        if flag != "zero" and int(known.get(flag, 1)) < 1:
            raise InputError(f"--{flag} is {known[flag]}; expected at least 1")
    if int(known.get("all_gpus", given.gpus)) != given.gpus:
        raise InputError(f"{given.here}: is for {known['all_gpus']} GPUs; expected --gpus {given.gpus}")
    tp, pp, cp, etp = (int(known.get(key, 1)) for key in ("tp", "pp", "cp", "etp"))
    return Parallelism(world_size=given.gpus, tp=tp, pp=pp, cp=cp, virtual=int(known.get("vpp", 1)),
                       ep=int(known.get("ep", 1)), etp=etp if "etp" in known else 0, sequence_parallel=tp > 1,
                       zero=int(known.get("zero", 1)), recompute=str(known.get("recompute", "none")),
                       micro_batch=_micro_batch(known, tp * pp * cp, given.gpus, global_batch),
                       global_batch=global_batch, sequence=given.seq_length, exchange=exchange, precision=numbers)


def candidate(plan: Parallelism, recomputes: bool, model: "Model", gpu: "Gpu", machine: plans.Machine,
              reserved_gb: float, framework: "Framework | None") -> tuple[plans.Candidate, bool]:
    """
    @param recomputes whether the plan says what it computes again; else as little as fits
    @return the layout as a Candidate, and whether it fits into memory
    """
    fitting = None if recomputes else plans.fitting(model, plan, gpu, machine, reserved_gb, framework)
    if fitting:
        return plans.Candidate(*fitting, 0.0), True
    iteration = plans.iteration_of(framework, model, plan, gpu, machine)
    needed = iteration.needed()
    return plans.Candidate(iteration, needed, 0.0), needed.total <= (gpu.memory_gb - reserved_gb) * 1e9
