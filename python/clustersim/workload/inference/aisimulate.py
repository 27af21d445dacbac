# SPDX-License-Identifier: GPL-2.0-only
"""Prediction files of AISimulate (`aisimulate predict --config`, AIConfigurator's successor), as flags of
scripts/workload.py --inference.

Fields and defaults are those of its docs/cli/user-guide.md, sections 11 to 15. A field that counts there and not here
is refused, unless it has the value that changes nothing.
"""
import os
import re
from collections.abc import Iterator

import yaml

from clustersim import notices, yaml_file
from clustersim.errors import InputError

EXPECTED = "a prediction of AISimulate, with engine and traffic"
ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TensorRT-LLM"}
# Ends of models' names, and the flags for their weights.
ENDS = ((r"[-_]fp8(-dynamic|-block)?", ["--dtype", "fp8"]), (r"[-_](nv)?fp4", ["--dtype", "nvfp4"]),
        (r"[-_]awq", ["--quantization", "awq"]), (r"[-_]gptq(-int4)?", ["--quantization", "gptq"]),
        (r"[-_]bf16", ["--dtype", "bfloat16"]))
# Models that are published with such weights, by the beginning of their name.
PUBLISHED = (("deepseek-v3", ["--dtype", "fp8"]), ("deepseek-r1", ["--dtype", "fp8"]),
             ("gpt-oss", ["--quantization", "mxfp4"]))
ROLES = {"aggregated": ("aggregated",), "disaggregated": ("prefill", "decode")}
SIZES = ("replicas", "tensor", "pipeline", "attention_data", "moe_tensor", "moe_expert")
MOST_VALUES, DEEPEST = 1000, 10  # of a file: a few lines of aliases stand for billions
# Sections may be empty.
SECTION = re.compile(r"traffic(\.(source|load|stop))?|engine\.kv_transfer|evaluation(\.sla)?|router|planner"
                     r"|engine\.workers\.\w+(\.(parallelism|scheduler|kv_cache(\.capacity)?|timing))?")


class _Fields:
    """The fields of a file by their whole names. Each is taken once; what is left at the end is refused."""

    def __init__(self, path: str) -> None:
        self._path, self._seen = path, 0
        self._left: dict[str, tuple[str | None, int]] = {}
        self._lines: dict[str, int] = {}
        root = yaml_file.compose(path, EXPECTED, InputError)
        if not isinstance(root, yaml.MappingNode):
            raise InputError(f"{path}:1: is no mapping; expected {EXPECTED}")
        self._add(root, "", 1)
        self.has_traffic = any(name.startswith("traffic") for name in self._left)

    def _add(self, node: yaml.Node, name: str, line: int) -> None:
        self._seen += 1
        if self._seen > MOST_VALUES or name.count(".") > DEEPEST:
            raise InputError(f"{self._path}:{line}: is too long; expected {EXPECTED}")
        if isinstance(node, yaml.MappingNode) and node.value:
            places = yaml_file.lines(node)
            for key, value in yaml_file.keys(self._path, node, InputError).items():
                self._add(value, f"{name}.{key}" if name else key, places[key])
            return
        has_value = isinstance(node, yaml.ScalarNode) and not node.tag.endswith(":null")
        text = node.value if has_value else None if isinstance(node, yaml.ScalarNode) else "a list or a mapping"
        if text is not None and not node.value and SECTION.fullmatch(name):
            return
        self._left[name] = text, line

    def error(self, name: str, what: str) -> InputError:
        """@return an error at the line of a field that was taken"""
        return InputError(f'{self._path}:{self._lines.get(name, 1)}: "{name}" {what}')

    def text(self, name: str, default: str | None = None) -> str | None:
        """@return the value of a field, which is taken"""
        value, self._lines[name] = self._left.pop(name, (None, self._lines.get(name, 1)))
        return default if value is None else value

    def needed(self, name: str) -> str:
        value = self.text(name)
        if not value:
            raise self.error(name, f"is missing; expected {EXPECTED}")
        return value

    def one_of(self, name: str, default: str, *others: str) -> str:
        """@return the value of a field, of these alone"""
        value = self.text(name, default) or default
        if value not in (default, *others):
            raise self.error(name, f"is {value}, which is not modelled; expected {' or '.join((default, *others))}")
        return value

    def number(self, name: str, default: str | None = None, whole: bool = True) -> str | None:
        """@return a positive number as text"""
        value = self.text(name, default)
        form = r"0*[1-9][0-9]{0,9}" if whole else r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,2})?"
        if value is not None and not (re.fullmatch(form, value) and float(value) > 0):
            raise self.error(name, f"is {value}; expected a {'whole ' * whole}number above 0")
        return value

    def refuse_others(self) -> None:
        """@raise InputError for the first field that was not taken"""
        for name, (_, line) in sorted(self._left.items(), key=lambda each: each[1][1]):
            raise InputError(f'{self._path}:{line}: "{name}" is not modelled; expected a prediction without it')


def flags(path: str) -> list[str]:
    """@return the flags that say the same @raise InputError at the first field that none can say"""
    fields = _Fields(path)
    found = [*_traffic(fields), *_engine(fields), *_around(fields)]
    fields.refuse_others()
    return found


def _given(flag: str, value: str | None) -> list[str]:
    return [] if value is None else [flag, value]


def _traffic(fields: _Fields) -> list[str]:
    fields.one_of("traffic.source.type", "synthetic")
    found = ["--prompt_tokens", fields.number("traffic.source.input_tokens", "1024") or "",
             "--output_tokens", fields.number("traffic.source.output_tokens", "128") or ""]
    kind = fields.one_of("traffic.load.type", "concurrency", "poisson", "constant_rate")
    if kind == "concurrency":
        load = fields.number("traffic.load.concurrency", "10") or ""
        found += ["--max_concurrency", load]
    else:
        name = "traffic.load.requests_per_second"
        load = fields.number(name, whole=False) or ""
        if not load:
            raise fields.error(name, f"is missing; expected a rate, as traffic.load.type is {kind}")
        found += ["--rate", load, *(["--burstiness", "inf"] if kind == "constant_rate" else
                                    ["--seed", fields.text("traffic.load.seed", "42") or ""])]
    per_load = fields.number("traffic.stop.requests_per_load_unit", whole=False)
    requests = fields.number("traffic.stop.requests", None if fields.has_traffic else "100")
    if (per_load is None) == (requests is None):
        raise fields.error("traffic.stop.requests", "and requests_per_load_unit are both given or both missing; "
                           "expected one of them")
    return [*found, "--requests", requests or str(max(1, round(float(per_load or 0) * float(load))))]


def _model(name: str) -> list[str]:
    """@return flags of a model and of its weights, which the ends of Hugging Face's names tell"""
    if os.path.isdir(name):
        return ["--config", os.path.join(name, "config.json")]
    short = name.rpartition("/")[2].lower()
    for end, words in ENDS:
        plain = re.sub(end + "$", "", name, flags=re.IGNORECASE)
        if plain != name:
            return ["--model_name", plain, *words]
    return ["--model_name", name, *next((words for first, words in PUBLISHED if short.startswith(first)), [])]


def _engine(fields: _Fields) -> list[str]:
    roles = ROLES[fields.one_of("engine.mode", *ROLES)]
    found = [*_model(fields.needed("engine.model")), "--gpu_type", _gpu(fields.needed("engine.hardware")),
             "--engine", ENGINES[fields.one_of("engine.backend", *ENGINES)]]
    version = fields.text("engine.backend_version")
    if version is not None:
        notices.warn(str(fields.error("engine.backend_version", f"is {version}, which changes nothing: profiles of "
                                      "engines are those of --engine")))
    length = fields.text("engine.context_length", "max")
    found += _given("--max_model_len", None if length == "max" else length)
    for role in roles:
        where, prefix = f"engine.workers.{role}", "" if role == "aggregated" else f"{role}_"
        found += _layout(fields, f"{where}.parallelism", prefix)
        if prefix:
            own = fields.text(f"{where}.hardware")
            found += [f"--{prefix}gpu_type", _gpu(own)] if own else []
        for name, only in (("kv_cache.bytes_per_token", "auto"), ("kv_cache.capacity.cuda_graph_reserved_bytes", "0"),
                           ("timing.type", "default"), ("timing.forward_model", "op_level"), ("startup_seconds", "0"),
                           ("scheduler.prefill_schedule_interval", "1")):
            fields.one_of(f"{where}.{name}", only)
    for name, only in (("bytes_per_token", "auto"), ("timing_mode", "destination_missing")):
        fields.one_of(f"engine.kv_transfer.{name}", only)
    if fields.text("engine.kv_transfer.bandwidth_gb_per_second") is not None:
        raise fields.error("engine.kv_transfer.bandwidth_gb_per_second", "is that of the network here; expected a "
                           "prediction without it, and a topology")
    return [*found, *_limits(fields, roles)]


def _gpu(system: str) -> str:
    return system.lower().removesuffix("_sxm").upper()


def _layout(fields: _Fields, where: str, prefix: str) -> list[str]:
    """@return flags of the GPUs of a role, and of its instances' sizes"""
    sizes = {key: int(fields.number(f"{where}.{key}", "1") or 1) for key in SIZES}
    ranks, experts = sizes["tensor"] * sizes["attention_data"], sizes["moe_tensor"] * sizes["moe_expert"]
    if experts not in (1, ranks):
        raise fields.error(f"{where}.moe_expert", f"times moe_tensor is {experts}; expected tensor times "
                           f"attention_data, {ranks}")
    counts = (sizes["replicas"] * ranks * sizes["pipeline"], sizes["tensor"], sizes["pipeline"],
              sizes["attention_data"], sizes["moe_expert"])
    names = (f"{prefix}gpus", *(f"{prefix}{size}" for size in ("tp", "pp", "dp", "ep")))
    return [word for name, count in zip(names, counts) for word in (f"--{name}", str(count))]


def _common(fields: _Fields, roles: tuple[str, ...], name: str, whole: bool = True) -> str | None:
    """@return a number that all roles share @raise InputError they differ"""
    values = [fields.number(f"engine.workers.{role}.{name}", whole=whole) for role in roles]
    if len(set(values)) > 1:
        raise fields.error(f"engine.workers.{roles[1]}.{name}", f"is {values[1] or 'missing'}, and "
                           f"{values[0] or 'missing'} in {roles[0]}; expected the same, as one flag says both")
    return values[0]


def _limits(fields: _Fields, roles: tuple[str, ...]) -> Iterator[str]:
    """@return flags of schedulers and caches"""
    for name, flag, whole in (("scheduler.max_batched_tokens", "--max_num_batched_tokens", True),
                              ("scheduler.max_sequences", "--max_num_seqs", True),
                              ("kv_cache.block_size", "--block_size", True),
                              ("kv_cache.capacity.memory_fraction", "--gpu_memory_utilization", False),
                              ("kv_cache.capacity.blocks", "--num_gpu_blocks", True)):
        yield from _given(flag, _common(fields, roles, name, whole))
    for role in roles:
        fields.one_of(f"engine.workers.{role}.kv_cache.capacity.type", "default", "fixed")
    caching = {fields.one_of(f"engine.workers.{role}.kv_cache.prefix_caching", "true", "false") for role in roles}
    if len(caching) > 1:
        raise fields.error(f"engine.workers.{roles[1]}.kv_cache.prefix_caching", "is not that of the other role; "
                           "expected the same")
    if caching == {"false"}:
        yield from ("--enable_prefix_caching", "0")


def _around(fields: _Fields) -> list[str]:
    """@return flags of the router and of limits of latency"""
    fields.one_of("router.policy", "round_robin")
    fields.one_of("router.prefill_load_model.type", "none")
    fields.one_of("planner.policy", "disabled")
    return ["--router", "round_robin", *(
        word for name, key in (("ttft", "ttft"), ("itl", "tpot"), ("e2e", "e2e"))
        for word in _given(f"--{key}_limit_ms", fields.number(f"evaluation.sla.{name}_ms", whole=False)))]
