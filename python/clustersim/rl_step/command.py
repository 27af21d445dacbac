# SPDX-License-Identifier: GPL-2.0-only
"""scripts/rl_step.py: the time of a step of GRPO by phase."""
import argparse
import dataclasses
import json
import math
import pathlib
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clustersim import command
from clustersim.errors import InputError
from clustersim.results.tables.table import Table, as_text, write_csv
from clustersim.rl_step import lengths, rollouts, scores, weights
from clustersim.serving_plan import simulated
from clustersim.serving_plan.layouts import domain
from clustersim.topology.cluster import parse_rate
from clustersim.whole_file import write_text
from clustersim.workload.estimate.collective_times import Machine
from clustersim.workload.flags import model_flags
from clustersim.workload.flags.parser import Parser
from clustersim.workload.kernels import frameworks, gpus
from clustersim.workload.plan import pipeline
from clustersim.workload.plan.exchange import Exchange
from clustersim.workload.plan.parallel import RECOMPUTATION, Parallelism
from clustersim.workload.serve import engine
from clustersim.workload.serve.instance import Instance

if TYPE_CHECKING:
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.training.megatron import Iteration

FRAMEWORK = "megatron_2025"


@dataclasses.dataclass(frozen=True)
class Phase:
    """A part of a step. `beside`: it goes on while the weights are trained with the rollouts of the step before."""
    name: str
    seconds: float
    gpus: int
    what: str
    beside: bool = False
    bytes: float = 0  # that cross links or the fabric


def make_parser(description: str) -> argparse.ArgumentParser:
    parser = Parser(prog="rl_step.py", usage="%(prog)s [flags]", description=description, allow_abbrev=False,
                    formatter_class=command.HelpFormatter)
    model_flags.add_model_flags(parser)
    group = parser.add_argument_group("step")
    for name, kind, text in (
            ("--prompts", int, "prompts of a step"), ("--samples", int, "rollouts of each prompt, its group"),
            ("--prompt_tokens", int, "tokens of a prompt"), ("--output_tokens", str, f"tokens of a rollout: "
             f"{lengths.FORMS}; those that are too long for --max_tokens end there"),
            ("--max_tokens", int, "most tokens of a sequence, prompt and rollout"),
            ("--train_batch", int, "rollouts of each update of the weights")):
        group.add_argument(name, type=kind, required=True, metavar="N", help=text)
    group.add_argument("--reference", type=int, choices=(0, 1), default=1,
                       help="whether a reference model scores the rollouts, too (default: 1)")
    group.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the lengths (default: 1)")
    group = parser.add_argument_group("GPUs")
    group.add_argument("--gpus", type=int, metavar="N", help="GPUs that generate and train by turns")
    group.add_argument("--rollout_gpus", type=int, metavar="N", help="GPUs that generate while others train with the "
                       "rollouts of the step before (one step off policy)")
    group.add_argument("--train_gpus", type=int, metavar="N", help="GPUs that train meanwhile")
    group.add_argument("--gpu_type", default="H100", metavar="GPU", help="type of all GPUs (default: H100)")
    group.add_argument("--nic", default="400Gbps", metavar="RATE", help="rate of the NIC of each GPU (default: "
                       "400Gbps)")
    _add_layout_flags(parser)
    group = parser.add_argument_group("simulation")
    group.add_argument("--conf", metavar="FILE", help="configuration of the network")
    group.add_argument("--bin", metavar="DIR", help="directory of the programs")
    group.add_argument("--output_dir", "-o", default="results/rl-step", metavar="DIR",
                       help="directory for the files (default: results/rl-step)")
    return parser


def _add_layout_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("training")
    for name, text in (("tp", "ranks that share a layer"), ("cp", "ranks that share a sequence"),
                       ("pp", "stages of the pipeline"), ("ep", "ranks that share experts, whole"),
                       ("vpp", "chunks of layers of a stage")):
        group.add_argument(f"--train_{name}", type=int, default=1, metavar="N", help=f"{text} (default: 1)")
    for name in ("first", "last"):
        group.add_argument(f"--train_{name}_layers", type=int, default=0, metavar="N",
                           help=f"layers of the {name} stage (default: as many as others)")
    group.add_argument("--reserved_gb", type=float, default=8, metavar="GB",
                       help="memory of a GPU that training may not use (default: 8)")
    group.add_argument("--recompute", choices=RECOMPUTATION, help="activations that backward passes compute again "
                       "(default: the fewest that memory asks for)")
    group = parser.add_argument_group("rollouts")
    group.add_argument("--rollout_tp", type=int, default=1, metavar="N",
                       help="ranks of an instance of the engine (default: 1)")
    group.add_argument("--rollout_ep", type=int, default=1, metavar="N",
                       help="ranks of an instance that share experts, whole (default: 1)")
    group.add_argument("--rollout_flags", metavar="TEXT",
                       help='further flags of workload.py --inference, such as "--speculative_tokens 1 --acceptance '
                       '0.85"')
    group.add_argument("--engine", default="vLLM", metavar="ENGINE",
                       help=f"engine that generates: {', '.join(engine.names())} (default: vLLM)")
    group.add_argument("--gpu_memory_utilization", type=float, default=0.6, metavar="X",
                       help="share of a GPU's memory for the engine (default: 0.6)")


def _check(given: argparse.Namespace) -> None:
    for key in ("prompts", "samples", "prompt_tokens", "max_tokens", "train_batch", "gpus", "rollout_gpus",
                "train_gpus"):
        value = getattr(given, key)
        if value is not None and value < 1:
            raise InputError(f"--{key} is {value}; expected at least 1")
    apart = given.rollout_gpus, given.train_gpus
    if any(apart) != all(apart) or any(apart) == bool(given.gpus):
        raise InputError("the step has no GPUs; expected --gpus, or --rollout_gpus and --train_gpus")
    if given.prompt_tokens >= given.max_tokens:
        raise InputError(f"--prompt_tokens {given.prompt_tokens} leaves no room for a rollout in --max_tokens "
                         f"{given.max_tokens}; expected fewer")
    if given.prompts * given.samples % given.train_batch:
        raise InputError(f"--train_batch {given.train_batch} does not divide {given.prompts} x {given.samples} "
                         "rollouts; expected a divisor")
    if not parse_rate(given.nic):
        raise InputError(f'--nic "{given.nic}" is not a rate; expected one such as 400Gbps')


def _plan(given: argparse.Namespace, ranks: int, sequences: int, document: int) -> Parallelism:
    """@return the layout of training, with at least so many packed sequences"""
    replicas = max(1, ranks // (given.train_tp * given.train_cp * given.train_pp))
    per_server = domain(given.gpu_type)
    return Parallelism(
        ranks, tp=given.train_tp, cp=given.train_cp, pp=given.train_pp, ep=given.train_ep, virtual=given.train_vpp,
        etp=1 if given.train_ep > 1 else 0, sequence_parallel=given.train_tp > 1, zero=1,
        global_batch=math.ceil(sequences / replicas) * replicas, sequence=given.max_tokens, document=document,
        split=pipeline.Split(given.train_first_layers, given.train_last_layers),
        exchange=Exchange(gpus_per_server=min(per_server, ranks)))


class _Training:
    """Log-probabilities and updates of a step."""

    def __init__(self, given: argparse.Namespace, model: "Model", ranks: int, tokens: Sequence[int]) -> None:
        self.given, self.model, self.ranks, self.tokens = given, model, ranks, tokens
        self.profile = frameworks.find(FRAMEWORK)
        self.gpu = frameworks.apply(gpus.find(given.gpu_type, kernels="measured"), self.profile)
        per_server = max(size for size in range(1, domain(given.gpu_type) + 1) if ranks % size == 0)
        self.machine = Machine(self.gpu.name, per_server, (parse_rate(given.nic) or 0.0) / 8e9)
        self.updates = len(tokens) // given.train_batch

    def iteration(self, lengths_: Sequence[int]) -> "Iteration":
        packed = lengths.pack(lengths_, self.given.max_tokens)
        plan = _plan(self.given, self.ranks, packed, self._document(sum(lengths_) / len(lengths_)))
        return scores.iteration(self.model, plan, self.gpu, self.machine, self.profile, self.given.reserved_gb,
                                self.given.recompute)

    def _document(self, mean: float) -> int:
        """@return tokens of a rollout in a packed sequence: the part of a sequence that is nearest to the mean; 0: all
        of it"""
        most = self.given.max_tokens
        parts = [part for part in range(1, most + 1) if most % part == 0 and most // part % self.given.train_cp == 0]
        count = min(parts, key=lambda part: abs(math.log(most / part / mean)))
        return most // count if count > 1 else 0

    def phases(self) -> list[Phase]:
        each = self.iteration(self.tokens[:self.given.train_batch])
        forward = scores.forward_ns(self.iteration(self.tokens), self.machine, self.profile) / 1e9
        update = scores.update_ns(each, self.machine, self.profile) / 1e9
        batch = f"{each.plan.sequences} packed sequences"
        found = [Phase("log-probabilities", forward, self.ranks, "forward passes of the policy")]
        if self.given.reference:
            found.append(Phase("reference", forward, self.ranks, "forward passes of the reference model"))
        return [*found, Phase("training", update * self.updates, self.ranks,
                              f"{self.updates} updates of {batch}, recomputation {each.plan.recompute}")]


def _shared_flags(given: argparse.Namespace) -> list[str]:
    """@return the flags of workload.py --inference that describe the model and the instances"""
    named = (("--model_name", given.model_name), ("--model_size", given.model_size), ("--config", given.config),
             *((flag, getattr(given, field)) for flag, field in model_flags.SIZES.items()))
    words = [word for flag, value in named if value for word in (flag, str(value))]
    words += ["--enable_expert_parallel", "--ep", str(given.rollout_ep)] if given.rollout_ep > 1 else []
    return [*words, "--gpu_type", given.gpu_type, "--engine", given.engine, "--tp", str(given.rollout_tp),
            "--gpu_memory_utilization", str(given.gpu_memory_utilization), *shlex.split(given.rollout_flags or "")]


def _weights(given: argparse.Namespace, model: "Model", training: int, first: int, serving: int) -> weights.Moves:
    instance = Instance(model, serving, tp=given.rollout_tp, ep=given.rollout_ep,
                        dp=1 if given.rollout_ep > 1 else 0)
    plan = _plan(given, training, 1, 0)
    return weights.moves(model, weights.of_training(model, plan), weights.of_serving(instance), first,
                         domain(given.gpu_type))


def _step(phases: Sequence[Phase]) -> float:
    """@return seconds of the step: phases beside others take the time of the longer side"""
    beside = sum(phase.seconds for phase in phases if phase.beside)
    last = sum(phase.seconds for phase in phases if phase.name == "weights")
    others = sum(phase.seconds for phase in phases if not phase.beside and phase.name != "weights")
    return max(beside, others) + last


def _table(phases: Sequence[Phase], title: str) -> Table:
    step = _step(phases)
    rows = [(phase.name, phase.seconds, 100 * phase.seconds / step, phase.gpus, phase.what) for phase in phases]
    return Table("phases", title, ("phase", "s", "% of the step", "GPUs", "consists of"),
                 [*rows, ("step", step, 100.0, max(phase.gpus for phase in phases), "")],
                 digits={"s": 2, "% of the step": 1, "GPUs": 0})


def find_phases(given: argparse.Namespace, model: "Model", outputs: Sequence[int],
                directory: pathlib.Path) -> list[Phase]:
    """@return the phases of a step whose rollouts have these lengths; files of simulations are in the directory"""
    training = given.gpus or given.train_gpus
    serving = given.gpus or given.rollout_gpus
    first = 0 if given.gpus else training
    ranks = first + serving
    trained = _Training(given, model, training, [given.prompt_tokens + output for output in outputs]).phases()
    fabric = simulated.generate(given.gpu_type, ranks, (parse_rate(given.nic) or 0.0) / 8e9, directory, "fabric")
    made = rollouts.generate([*_shared_flags(given), "--world_size", str(serving)],
                             rollouts.trace(given.prompt_tokens, given.samples, outputs), fabric, directory,
                             f"{first}-{ranks - 1}", given.conf, given.bin)
    moved = _weights(given, model, training, first, serving)
    crossing = sum(size for (source, target), size in moved.items() if source != target)
    seconds = rollouts.move("\n".join(weights.goal(moved, ranks)) + "\n", fabric, directory, given.conf,
                            given.bin) if crossing else 0.0
    messages = sum(source != target for source, target in moved)
    return [Phase("rollouts", made.seconds, serving, f"{made.tokens} tokens; half of the answers after "
                  f"{made.median_s:.1f} s", not given.gpus),
            *trained,
            Phase("weights", seconds, ranks, f"{crossing / 1e9:.1f} GB in {messages} messages", bytes=crossing)]


def find_step(given: argparse.Namespace) -> Table:
    """Writes phases.csv and step.json, and the files of simulations. @return the table of phases"""
    _check(given)
    model = model_flags.find_model(given)
    count = given.prompts * given.samples
    outputs = lengths.draw(given.output_tokens, count, given.max_tokens - given.prompt_tokens, given.seed)
    tokens = count * given.prompt_tokens + sum(outputs)
    directory = pathlib.Path(given.output_dir)
    directory.mkdir(parents=True, exist_ok=True)
    phases = find_phases(given, model, outputs, directory)
    table = _table(phases, f"A step of {count} rollouts of {model.name}, {tokens / count:.0f} tokens on average")
    write_csv(table, directory / "phases.csv")
    write_text(directory / "step.json", json.dumps({
        "step_s": _step(phases), "mean_tokens": tokens / count,
        "tokens_per_second_and_gpu": tokens / _step(phases) / max(phase.gpus for phase in phases),
        "phases": [dataclasses.asdict(phase) for phase in phases]}, indent=1) + "\n")
    return table


def run(words: Sequence[str], description: str) -> None:
    given = make_parser(description).parse_args(words)
    print(as_text(find_step(given)))
    print(f"written: {pathlib.Path(given.output_dir) / 'phases.csv'}")
