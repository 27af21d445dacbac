# SPDX-License-Identifier: GPL-2.0-only
"""A published row as what the workload package takes: model, plan, GPU and machine, framework; or why that cannot
be."""
import dataclasses
import functools
import pathlib
import re
from typing import Any

import yaml

from clustersim.errors import InputError
from clustersim.pydantic_v1 import pydantic
from clustersim.workload.estimate.collective_times import Machine
from clustersim.workload.kernels import frameworks, gpus
from clustersim.workload.model import catalogue
from clustersim.workload.model.transformer import Model
from clustersim.workload.plan import adapters, keeping, pipeline, precision
from clustersim.workload.plan.exchange import Exchange
from clustersim.workload.plan.parallel import RECOMPUTATION, Parallelism, check
from clustersim.workload.training import memory
from clustersim_lab.outcomes.facts import Fact


Rule = dict[str, Any]  # an entry of runs.yaml
NO_LAYOUT = "no full layout"
TRAINING, TUNING = ("train",), ("sft", "lora")  # tasks that are written down


class CannotBeWritten(Exception):
    """A row that no workload describes. `group` is the kind of reason, the text the reason itself."""

    def __init__(self, group: str, text: str) -> None:
        super().__init__(text)
        self.group = group


@dataclasses.dataclass(frozen=True)
class Run:
    """A published row, written down."""
    fact: Fact
    step_s: float  # as published
    family: str
    framework: str  # the name of its profile
    profile: frameworks.Framework
    model: Model
    plan: Parallelism
    gpu: gpus.Gpu
    machine: Machine
    fits: bool = True  # into the GPU's memory, as far as we count it


@functools.lru_cache(None)
def rules() -> dict[str, Any]:
    """@return the contents of runs.yaml"""
    return yaml.safe_load(pathlib.Path(__file__).with_name("runs.yaml").read_text(encoding="utf-8"))


def family_of(fact: Fact) -> Rule:
    """@return the rule of the first family whose source is the row's, or else that of the framework that the row
    names"""
    for rule in rules()["families"]:
        if rule["source"] in fact.source:
            return rule
    for rule in rules()["others"]:
        if any(rule["says"].lower() in text.lower() for text in (fact.source, fact.notes, fact.sharding)):
            return {"family": "other sources", **rule}
    raise CannotBeWritten("framework", f"{fact.source} is of no family, and the row names no framework")


def _is_of(fact: Fact, rule: Rule) -> bool:
    """@return whether one of the texts of each column is in the row's; numbers and types of GPUs are the whole cell"""
    for column, wanted in rule["where"].items():
        cell, texts = getattr(fact, column), wanted if isinstance(wanted, list) else [wanted]
        if not (cell in texts if column == "gpu" or not isinstance(cell, str) else any(text in cell for text in texts)):
            return False
    return True


def completed(fact: Fact) -> tuple[Fact, dict[str, Any]]:
    """@return the row with what its source says elsewhere, and fields of its plan from there"""
    plan: dict[str, Any] = {}
    for rule in rules()["also"]:
        if _is_of(fact, rule):
            fact = dataclasses.replace(fact, **rule.get("set", {}))
            plan |= {name: tuple(value) if isinstance(value, list) else value for name,
                     value in rule.get("plan", {}).items()}
    return fact, plan


def _said(fact: Fact, key: str, otherwise: Any) -> Any:
    """@return what the last entry with this key says of a row"""
    return next((rule[key] for rule in reversed(rules()["also"]) if key in rule and _is_of(fact, rule)), otherwise)


def framework_of(fact: Fact, rule: Rule) -> str:
    """@return the name of the profile of a row"""
    return _said(fact, "framework", None) or next((name for text,
                                                   name in rule.get("variants", {}).items() if text in fact.notes),
                                                  rule["framework"])


# -- the model

def _entry(published: str) -> tuple[str, Rule]:
    word = re.sub(r" \(?(w/o MTP|w/ MTP|tokendrop|dropless|production|\d+-node|26\.\d\d)\)?\)?$", "", published).strip()
    for name, entry in rules()["models"].items():
        if word in entry["names"] or published in entry["names"]:
            return name, entry
    try:
        return catalogue.find(word).name, {}
    except InputError:
        raise CannotBeWritten("model", f'"{published}" is not in the catalogue') from None


def _gpt(fact: Fact) -> dict[str, int]:
    """GPT of the sizes that the row prints; the tables give head counts that need not divide evenly into 64."""
    if fact.layers is None or fact.hidden is None or fact.heads is None:
        raise CannotBeWritten("model", f'"{fact.model}" comes without sizes')
    return dict(layers=fact.layers, hidden=fact.hidden, heads=fact.heads, kv_heads=fact.heads,
                head_dim=fact.hidden // fact.heads, ffn=4 * fact.hidden, vocabulary=fact.vocab or 51200)


@functools.lru_cache(None)
def _base(name: str) -> dict[str, Any]:
    try:
        return catalogue.find(name).dict()
    except InputError:
        raise CannotBeWritten("model", f'"{name}" is not in the catalogue') from None


def model_of(fact: Fact) -> Model:
    """@return the Model that a row names"""
    name, entry = _entry(fact.model)
    changes = {key: value for key, value in entry.items() if key not in ("names", "base")}
    fields: dict[str, Any] = {**_base(entry.get("base", name)), **changes, "name": name}
    if name == "gpt":
        fields |= _gpt(fact)
    elif fact.layers and fact.hidden and name.startswith(("gpt_", "llama_like")):
        fields |= dict(layers=fact.layers, hidden=fact.hidden, heads=fact.heads or fields["heads"])
    if fields.get("positions"):
        fields["positions"] = fact.seq_len
    if "MTP" in fact.model:
        fields["predictions"] = 0 if "w/o MTP" in fact.model else 1
    try:
        return Model(**fields)
    except pydantic.ValidationError as error:
        raise CannotBeWritten("model", f"{fact.model}: {error.errors()[0]['msg']}") from None


# -- the machine

def product_of(fact: Fact) -> str:
    """@return the type of the factors of matrix products, as gpus.find() names it"""
    word = fact.precision.lower()
    if word == "fp8/fp4":  # of a benchmark whose entries choose; AMD's MI325X has no 4-bit floats
        word = "fp8" if fact.gpu.startswith("MI3") else "fp4"
    for text, dtype in (("mxfp8", "mxfp8"), ("fp8-mx", "mxfp8"), ("nvfp4", "nvfp4"), ("fp4", "nvfp4"), ("fp8", "fp8")):
        if text in word and "bf16/fp8" not in word:
            return dtype
    return "bfloat16"


def _find_gpu(name: str, dtype: str) -> gpus.Gpu:
    return gpus.find(name, dtype, kernels="measured")


def _machine_entry(name: str) -> Rule:
    """@return the machine of a published name: its own, that of the type it begins with, or usual servers of a known
    type"""
    machines = rules()["machines"]
    begins = [known for known in machines if re.match(re.escape(known) + r"\b", name)]
    if name in machines or begins:
        return machines.get(name) or machines[max(begins, key=len)]
    known = next((known for known in gpus.names() if re.match(re.escape(known) + r"\b", name)), None)
    if known is None:
        raise CannotBeWritten("GPU", f'"{name}" is not a known GPU type')
    return {**rules()["usual"], "gpu": known}


def machine_of(fact: Fact, count: int) -> tuple[gpus.Gpu, Machine]:
    """@return the Gpu and the Machine of a row with so many GPUs"""
    entry = _machine_entry(fact.gpu)
    try:
        gpu = _find_gpu(entry["gpu"], product_of(fact))
    except InputError as error:
        raise CannotBeWritten("precision", str(error)) from None
    found = {key: entry[key] for key in ("gpus_per_server", "nic_gbps", "nvlink_gbps") if key in entry}
    for text, change in rules()["interconnects"].items():
        if text in fact.interconnect:
            found |= change
    if count % found["gpus_per_server"]:
        found["gpus_per_server"] = next(size for size in (72, 36, 32, 16, 8, 4, 2, 1)
                                        if count % size == 0 and size <= max(8, found["gpus_per_server"] + 8))
    gpu = gpu.copy(update=entry.get("fields", {}))
    if "watts" in entry:
        slower = frameworks.clock(entry["watts"], gpu.watts)
        gpu = gpu.copy(update={"tflops": gpu.tflops * slower, "fp8": gpu.fp8 and (gpu.fp8[0] * slower, gpu.fp8[1]),
                               "product": gpu.product and (gpu.product[0] * slower, gpu.product[1])})
    return gpu, Machine(gpu_type=entry["gpu"], **found)


# -- the plan

def _zero_of(fact: Fact) -> int:
    text = fact.sharding
    if "ZeRO-3" in text or text.startswith("FSDP"):
        return 3
    return 0 if "ZeRO-0" in text else 1


def _split_of(fact: Fact, model: Model) -> pipeline.Split:
    """A recipe's own layout; where chunks do not divide the layers but those with the embedding and the loss, these two
    count as layers."""
    chunks = (fact.pp or 1) * (fact.vp or 1)
    layout = rules()["layouts"].get(model.name, {}).get(chunks)
    if layout:
        return pipeline.Split(layout=pipeline.parse(layout if model.predictions else layout.replace("m", "")))
    counted = model.layers % chunks != 0 and (model.layers + 2) % chunks == 0
    return pipeline.Split(embedding=counted, loss=counted)


def _expert_parts_of(fact: Fact, model: Model) -> int:
    """Megatron Bridge does not cut experts; of others, a row's notes may say it."""
    if not model.experts:
        return 0
    stated = re.search(r"ETP (\d+)", fact.notes)
    return fact.etp or (int(stated[1]) if stated else 1 if "NeMo" in fact.notes else 0)


def _precise_of(fact: Fact) -> precision.Precise:
    said = _said(fact, "precise", {})
    return precision.precise(said.get("first", 0), said.get("last", 0), said.get("predictions", False),
                             said.get("operators", ()), gpus.PRECISIONS)


def _adapters_of(fact: Fact) -> adapters.Adapters | None:
    if fact.task != "lora":
        return None
    said = _said(fact, "adapters", None)
    if not said:
        raise CannotBeWritten("adapters", "the source does not say the adapters' rank and layers")
    return adapters.make(said["rank"], said["targets"])


def plan_of(fact: Fact, rule: Rule, model: Model, gpu: gpus.Gpu, recompute: str, exchange: Exchange,
            more: dict[str, Any]) -> Parallelism:
    """@return the Parallelism of a row"""
    numbers = precision.of(product_of(fact), **rule.get("precision", {}), reads_either_order=bool(gpu.fp4))
    tp = fact.tp or 1
    sequence_parallel = rule.get("sequence_parallel", True) if not fact.sp else fact.sp == "yes"
    assert fact.gpus is not None and fact.global_batch is not None and fact.seq_len is not None  # it has a full layout
    plan = Parallelism(
        fact.gpus, tp=tp, pp=fact.pp or 1, virtual=fact.vp or 1, ep=(fact.ep or 1) if model.experts else 1,
        etp=_expert_parts_of(fact, model), split=_split_of(fact, model), cp=fact.cp or 1, zero=_zero_of(fact),
        recompute=recompute, micro_batch=fact.micro_batch or 1, sequence_parallel=tp > 1 and sequence_parallel
        and "all-reduce TP" not in fact.notes,
        global_batch=fact.global_batch, sequence=fact.seq_len, precision=numbers, adapters=_adapters_of(fact),
        keeping=keeping.find(rule.get("keeps", "megatron")), exchange=exchange, precise=_precise_of(fact))
    return dataclasses.replace(plan, **more)


def _choose(fact: Fact, rule: Rule, model: Model, gpu: gpus.Gpu, machine: Machine,
            more: dict[str, Any]) -> tuple[Parallelism, bool]:
    """@return the plan with the recomputation that the row states, or else the least that fits, and whether it does"""
    stated = fact.recompute or (rule["recompute"] if rule["recompute"] != "fits" else "")
    if stated and stated not in RECOMPUTATION:
        raise CannotBeWritten("recomputation", f'"{stated}" is not a kind of recomputation')
    tried = [stated] if stated else RECOMPUTATION
    exchange = Exchange(_said(fact, "dispatcher", "alltoall"), gpus_per_server=machine.gpus_per_server)
    for recompute in tried:
        plan = plan_of(fact, rule, model, gpu, recompute, exchange, more)
        try:
            check(model, plan)
        except InputError as error:
            raise CannotBeWritten("plan", str(error)) from None
        if memory.needed(model, plan).total <= (gpu.memory_gb - memory.RESERVED_GB) * 1e9:
            return plan, True
    return plan, False


def write_down(fact: Fact) -> Run:
    """@return the Run of a row; raises CannotBeWritten"""
    if fact.task not in (*TRAINING, *TUNING):
        raise CannotBeWritten("not training", f"{fact.task} is not training")
    fact, more = completed(fact)
    if fact.step_s is None or fact.gpus is None or not fact.has_full_layout:
        raise CannotBeWritten(NO_LAYOUT, "the source does not say GPUs, TP, PP, batches and step time")
    rule = family_of(fact)
    gpu, machine = machine_of(fact, fact.gpus)
    model = model_of(fact)
    plan, fits = _choose(fact, rule, model, gpu, machine, more)
    name = framework_of(fact, rule)
    profile = frameworks.find(name).copy(update=_said(fact, "constants", {}))
    return Run(fact, fact.step_s, rule["family"], name, profile, model, plan, gpu, machine, fits)
