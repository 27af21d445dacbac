# SPDX-License-Identifier: GPL-2.0-only
"""Memory of a GPU: weights, gradients, optimizer states, and activations of the micro-batches in flight.

Mixed precision as in Megatron-LM: bfloat16 weights (2 bytes), float32 gradients (4), float32 master weights and two
moments (12). ZeRO (Rajbhandari et al., arXiv 1910.02054) spreads the states over the replicas from stage 1 on,
gradients from stage 2, weights from stage 3.
"""
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.workload.model import operators
from clustersim.workload.plan import adapters, parallel, pipeline, recompute, schedules
from clustersim.workload.plan.parallel import RECOMPUTATION
from clustersim.workload.plan.precision import BYTES

if TYPE_CHECKING:
    from clustersim.workload.kernels.gpus import Gpu
    from clustersim.workload.model.operators import Operator
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.parallel import Parallelism

WEIGHT = operators.ELEMENT  # bytes of a bfloat16 weight
RESERVED_GB = 5.0  # CUDA's context, NCCL's buffers, what the allocator cannot use


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes of the GPU of a pipeline stage that needs most."""
    weights: float
    gradients: float
    optimizer: float
    activations: float

    @property
    def total(self) -> float:
        """Bytes in all"""
        return self.weights + self.gradients + self.optimizer + self.activations

    def describe(self) -> str:
        gb = 1e9
        return (f"{self.total / gb:.1f} GB: weights {self.weights / gb:.1f}, gradients {self.gradients / gb:.1f}, "
                f"optimizer {self.optimizer / gb:.1f}, activations {self.activations / gb:.1f}")


def is_expert(operator: "Operator") -> bool:
    """@return whether its weights are those of routed experts"""
    return operator.name.startswith("expert_")


def stage_operators(model: "Model", plan: "Parallelism",
                    stage: int) -> "tuple[list[Sequence[Operator]], list[Operator]]":
    """@return per layer of the stage its operators, and those of the embedding or the head at the ends"""
    layers, ends = [], []
    places, kinds = pipeline.of_stage(plan, model, stage), operators.kinds(model, plan)
    of_kind = {kind: operators.of_kind(model, plan, kind)
               for kind in {kinds[index] for place in places for index in place.layers}}
    for place in places:
        layers += [of_kind[kinds[index]] for index in place.layers]
        ends += operators.embedding(model, plan) if place.embedding else []
        for _ in range(place.predictions):
            ends += [*operators.prediction(model, plan), *operators.prediction_head(model, plan)]
            ends += [o for kind in operators.prediction_kinds(model, plan)
                     for o in operators.of_kind(model, plan, kind)]
        ends += operators.head(model, plan, owns_weights=not model.tied or plan.pp > 1) if place.loss else []
    return layers, ends


def weight_bytes(plan: "Parallelism", some: "Sequence[Operator]") -> float:
    """@return bytes of operators' weights: master weights of the optimizer do not count"""
    return sum(plan.precision.of_weight(operator)[0] for operator in some)


def gathered_bytes(plan: "Parallelism", some: "Sequence[Operator]") -> float:
    """@return the same, as ranks gather them"""
    return sum(plan.precision.of_weight(operator)[1] for operator in some)


def _kept_of(plan: "Parallelism", operator: "Operator") -> float:
    """Bytes of an input that backward needs. Factors of products are kept as products read them; a frozen weight needs
    none."""
    if operator.kind != "matmul":
        return operator.kept
    has_adapter = plan.adapters and operator.name in plan.adapters.operators
    if not (adapters.is_trained(plan, operator) or has_adapter):
        return 0.0
    return operator.kept * (BYTES[operator.precision] if operator.precision
                            else plan.precision.kept) / operators.ELEMENT


def _kept(plan: "Parallelism", layer: "Sequence[Operator]", position: int) -> float:
    """@return bytes of activations that a chunk's layer at `position` keeps of one micro-batch"""
    if recompute.is_whole(plan, position):
        return layer[0].kept
    return sum(_kept_of(plan, operator) for operator in layer if not recompute.is_dropped(plan, operator))


def _activations(model: "Model", plan: "Parallelism", stage: int) -> float:
    kept, again, known, kinds = 0.0, 0.0, {}, operators.kinds(model, plan)
    for place in pipeline.of_stage(plan, model, stage):
        for position, index in enumerate(place.layers):
            key = kinds[index], recompute.is_whole(plan, position)
            if key not in known:
                layer = operators.layer(model, plan, index)
                whole = sum(_kept_of(plan, operator) for operator in layer) if key[1] else 0.0
                known[key] = _kept(plan, layer, position), whole
            kept += known[key][0] if position >= plan.offload_layers else 0.0
            again = max(again, known[key][1])  # the one computed again
    _, ends = stage_operators(model, plan, stage)
    # A layer is computed again when the loss has been passed.
    return schedules.in_flight(plan, stage) * kept + max(again, sum(operator.kept for operator in ends))


def of_stage(model: "Model", plan: "Parallelism", stage: int) -> "Memory":
    """@return the memory of a rank of a pipeline stage, in bytes"""
    layers, ends = stage_operators(model, plan, stage)
    alike: dict[int, tuple[Sequence[operators.Operator], int]] = {}  # layers of one kind are one object
    for block in [*layers, ends]:
        alike[id(block)] = block, alike.get(id(block), (block, 0))[1] + 1
    numbers = plan.precision
    sharded = [(shards, [([o for o in block if is_expert(o) == expert], times) for block, times in alike.values()])
               for expert, shards in ((False, plan.shards), (True, plan.expert_shards))]

    def shared(bytes_each: float, from_stage: int, count: "Callable[[Sequence[Operator]], float]",
               is_spread: bool = True) -> float:
        spread = plan.zero >= from_stage and is_spread
        held = 0.0
        for shards, blocks in sharded:
            held += sum(times * count(some) for some, times in blocks) / (shards if spread else 1)
        return bytes_each * held

    def whole(some: "Sequence[Operator]") -> int:
        return sum(operator.parameters for operator in some)

    def trained(some: "Sequence[Operator]") -> int:
        return adapters.trained(plan, some)

    # Of sharded weights a layer's are whole, and the next one's under way; so are a layer's gradients until they are
    # reduced.
    largest: Sequence[operators.Operator] = max(layers, key=whole, default=[]) if plan.shards_weights else []
    is_cast = (
        plan.shards_weights and not plan.keeping.sharded_copy and not plan.adapters
    )  # frozen weights have no float32 copy
    weights = 0.0 if is_cast else shared(1, 3, lambda some: weight_bytes(plan, some), plan.shards_weights)
    return Memory(weights + 2 * gathered_bytes(plan, largest),
                  shared(numbers.gradient + plan.keeping.gradient_copy, 2, trained, plan.shards_gradients) +
                  WEIGHT * trained(largest),
                  shared(numbers.optimizer, 1, trained) / schedules.holders(plan), _activations(model, plan, stage))


def needed(model: "Model", plan: "Parallelism") -> "Memory":
    """@return Memory of the GPU that needs most"""
    # Of stages that are alike, the first one has most micro-batches in flight.
    are_alike = plan.split == pipeline.Split() and not model.lists_layers
    stages = {0, plan.pp - 1} | ({1} if plan.pp > 2 else set()) if are_alike else range(plan.pp)
    return max((of_stage(model, plan, stage) for stage in stages), key=lambda memory: memory.total)


def _alternatives(plan: "Parallelism") -> "Iterator[tuple[str, Parallelism]]":
    """@return (flags, plan) that need less memory, the smallest change first"""
    def with_recomputation(flags: str, changed: "Parallelism") -> "list[tuple[str, Parallelism]]":
        order = RECOMPUTATION[RECOMPUTATION.index(plan.recompute):]
        return [(" ".join(filter(None, (flags, f"--recompute {kind}" if kind != plan.recompute else ""))),
                 dataclasses.replace(changed, recompute=kind)) for kind in order]

    yield from with_recomputation("", plan)
    if plan.zero == 0:
        yield from with_recomputation("--zero 1", dataclasses.replace(plan, zero=1))
    if plan.micro_batch > 1:
        yield from with_recomputation("--micro_batch 1", dataclasses.replace(plan, micro_batch=1))
    for tp, pp in ((2, 1), (1, 2), (2, 2), (1, 4), (4, 1), (4, 2), (2, 4), (4, 4), (8, 1), (1, 8), (8, 2), (8, 4),
                   (8, 8)):
        flags = [f"--tp {plan.tp * tp} --sp"] * (tp > 1) + [f"--pp {plan.pp * pp}"] * (pp > 1)
        yield from with_recomputation(" ".join(flags),
                                      dataclasses.replace(plan, tp=plan.tp * tp, pp=plan.pp * pp, etp=plan.etp and 1,
                                                                           sequence_parallel=plan.sequence_parallel
                                                          or tp > 1))


def hint(model: "Model", plan: "Parallelism", limit: float) -> str:
    """@return what would fit into `limit` bytes, for the end of a message"""
    for flags, changed in _alternatives(plan):
        try:
            parallel.check(model, changed)
        except InputError:
            continue
        total = needed(model, changed).total
        if total <= limit:
            return f"; fits with {flags} ({total / 1e9:.1f} GB)"
    numbers, layers = plan.precision, [operator for index in range(model.layers)
                                       for operator in operators.layer(model, plan, index)]
    weight = weight_bytes(plan, layers) / sum(operator.parameters for operator in layers)
    states = (weight + numbers.gradient + numbers.optimizer) * model.parameters() / plan.world_size
    if states > limit and not plan.adapters:
        return (
            f"; spread over {plan.world_size} GPUs, weights, gradients and optimizer states alone take"
            f" {states / 1e9:.1f} GB of each"
        )
    return ""


def excess(model: "Model", plan: "Parallelism", gpu: "Gpu",
           reserved_gb: float = RESERVED_GB) -> "tuple[Memory, str | None]":
    """@return Memory of the GPU that needs most, and in a line what does not fit, or None"""
    if not 0 <= reserved_gb < gpu.memory_gb:
        raise InputError(f"{reserved_gb:g} GB cannot be reserved on a GPU with {gpu.memory_gb:g} GB; expected less, "
                         f"and at least 0")
    memory, limit = needed(model, plan), (gpu.memory_gb - reserved_gb) * 1e9
    if memory.total <= limit:
        return memory, None
    return memory, (f"{model.name} with {plan.describe()} needs {memory.describe()} on a GPU; expected at most "
                    f"{limit / 1e9:g} GB of the "
                    f"{gpu.memory_gb:g} GB of {gpu.name}{hint(model, plan, limit)}")


def check(model: "Model", plan: "Parallelism", gpu: "Gpu", reserved_gb: float = RESERVED_GB) -> Memory:
    """@return Memory of the GPU that needs most; refuses a plan that does not fit"""
    memory, line = excess(model, plan, gpu, reserved_gb)
    if line:
        raise InputError(line)
    return memory
