# SPDX-License-Identifier: GPL-2.0-only
"""The contract of mixers, which combine the tokens of a layer as attention or a state space does, and all mixers by
name.

A `Mixer` is a class whose fields are its sizes; a `Model` holds an object of each that has some. It knows its operators
and parameters, the bytes that serving keeps of a token and of a sequence, how parallelism cuts it, and how a
config.json gives its sizes. So another one is one file, in the folder `mixers` or anywhere:

    @register
    class Average(Mixer):
        name, block = "average", "average"
        taps: int
        def operators(self, model, plan, kind): ...
        def parameters(self, model, kind): ...

    Model(mixers=("average", "attention"), average={"taps": 4}, ...)
"""
import dataclasses
import functools
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Optional, Protocol, Tuple, TypeVar, TYPE_CHECKING

from clustersim.pydantic_v1 import pydantic
from clustersim.workload.model.reach import Reach

if TYPE_CHECKING:
    from clustersim.workload.model.operator import Heads, Operator
    from clustersim.workload.model.transformer import Model
    from clustersim.workload.plan.parallel import Parallelism


class LayerKind(NamedTuple):
    """Layers of one kind have the same operators."""
    experts: bool
    windowed: bool
    mixer: str = "attention"  # of tokens: the name of one, or none
    feeds: bool = True  # whether there is an MLP, or experts
    variant: int = 0  # of the mixer's layers: the ratio of compressed attention
    precise: bool = False  # whether its products keep 16 bits where others have fewer
    shape: int = -1  # which of the model's shapes it has; -1: none


class Keys(Protocol):
    """The keys of a config.json."""
    path: str

    def get(self, *names: str, default: Any = None) -> Any:
        """@return the value of the first key that there is"""

    def need(self, *names: str) -> Any:
        """@return the same; refuses a file without the key"""

    def only(self, name: str, *values: Any) -> None:
        """Refuses a key with another value."""


@dataclasses.dataclass(frozen=True)
class Serving:
    """A rank of a serving instance."""
    plan: "Parallelism"  # of one token
    element: int  # bytes of a number of keys and values
    lengths: Optional[Tuple[int, int]] = None  # tokens of the prompt and the output of requests that are alike

    @property
    def tp(self) -> int:
        return self.plan.tp


@dataclasses.dataclass(frozen=True)
class Served:
    """An operator of a mixer that reads what it keeps of earlier tokens."""
    flops: float  # for a token, and each that it attends to
    read: float  # bytes of each of those
    moved: float  # bytes of the token itself
    windowed: bool = False
    reach: Optional[Reach] = None  # to some of the tokens before a token; None: to all of them, or of a window
    heads: "Optional[Heads]" = None  # of fused attention
    latent_width: int = 0  # columns of a token in its cache of latents; 0: it has keys and values


class Mixer(pydantic.BaseModel, extra=pydantic.Extra.forbid, frozen=True):
    """Its fields are sizes. Figures are those of a rank."""
    name: ClassVar[str]  # by which a Model has its sizes, and layers are named
    block: ClassVar[
        str
    ]  # of its rows in training. If ranks exchange heads, its first and last product are called BLOCK_in and BLOCK_out
    title: ClassVar[str] = ""  # of its layers, for messages
    parts: ClassVar[
        Optional[Tuple[str, ...]]
    ] = None  # mixers that read the same norm beside each other; None: it is one itself
    stands_for: ClassVar[str] = ""  # in a model with its sizes, it carries out the layers of this name
    letter: ClassVar[str] = ""  # in the pattern of a model whose blocks are layers of their own
    has_window: ClassVar[bool] = False  # whether a model's window is for its layers, too
    lists_layers: ClassVar[bool] = False  # whether its sizes say what each layer is
    beside: ClassVar[
        Mapping[str, Tuple[str, ...]]
    ] = {}  # products beside which frameworks put the collectives of its column and its row
    recomputed: ClassVar[Tuple[str, ...]] = ()  # modules of its own that selective recomputation should try
    flags: ClassVar[Mapping[str, str]] = {}  # Megatron-LM's flags of its sizes
    replaced_flags: ClassVar[Mapping[str, str]] = {}  # fields of a Model that say nothing of its layers, and why
    # -- in a config.json
    layer_types: ClassVar[Tuple[str, ...]] = ()  # names of its layers
    windowed_types: ClassVar[Tuple[str, ...]] = ()  # names of its layers with a window
    families: ClassVar[Tuple[str, ...]] = ()  # models that have no other mixer, and no attention
    config_keys: ClassVar[Tuple[str, ...]] = ()  # that say nothing of models without it

    def operators(self, model: "Model", plan: "Parallelism", kind: LayerKind) -> "Iterator[Operator]":
        """@return operators of a layer in their order, the norm of its input first"""
        raise NotImplementedError

    def parameters(self, model: "Model", kind: LayerKind) -> int:
        """@return the parameters of a layer, without the norm of its input"""
        raise NotImplementedError

    def agrees(self, fields: Mapping[str, Any]) -> None:
        """Raises ValueError if its sizes do not agree with the other fields of a model."""

    def variant(self, layer: int) -> int:
        """@return a number that is the same for layers of the same operators"""
        return 0

    def split_heads(self) -> int:
        """@return heads that tensor and context parallelism must divide; 0: those of the model alone"""
        return 0

    def gathered(self, model: "Model") -> int:
        """@return columns of a token that sequence parallelism gathers before the layer"""
        return model.hidden

    def context_columns(self, model: "Model", plan: "Parallelism") -> Optional[int]:
        """@return columns of a token that context parallelism gathers before attention; None: ranks exchange tokens for
        heads"""
        return None

    def token_bytes(self, model: "Model", kind: LayerKind, tp: int, element: int) -> float:
        """@return bytes that serving keeps of a token @param element bytes of a number of keys and values"""
        return 0

    def state_bytes(self, model: "Model", kind: LayerKind, tp: int, element: int) -> float:
        """@return bytes that serving keeps of a sequence, however long it is"""
        return 0

    def cached_heads(self, model: "Model") -> int:
        """@return heads of a layer's cache that tensor parallelism may spread"""
        return 1

    def cached(self, model: "Model", tp: int, element: int) -> float:
        """@return bytes of a token, where layers are alike"""
        return self.token_bytes(model, LayerKind(False, False, self.name), tp, element)

    def served(self, model: "Model", kind: LayerKind, operator: "Operator", serving: Serving) -> Optional[Served]:
        """@return an operator of fused or other attention as serving carries it out; None: it is a scan of the state"""
        return None

    @classmethod
    def read(cls, keys: Keys, family: str, layers: int) -> "Mixer":
        """@return the sizes that a config.json gives"""
        raise NotImplementedError

    @classmethod
    def is_all(cls, keys: Keys, family: str) -> bool:
        """@return whether each layer of a config.json has this mixer"""
        return False

    @classmethod
    def alternates(cls, keys: Keys, family: str) -> bool:
        """@return whether the layers without attention of a config.json have this mixer"""
        return False

    @classmethod
    def is_attention(cls, keys: Keys) -> bool:
        """@return whether the attention of a config.json is of this kind"""
        return False

    @classmethod
    def attention_fields(cls, keys: Keys, heads: int) -> Optional[dict[str, Any]]:
        """@return the fields of Model that the attention of a config.json gives; None: it is of another kind"""
        return None


Kind = TypeVar("Kind", bound=type[Mixer])
PACKAGE = "clustersim.workload.mixers"
_KNOWN: dict[str, type[Mixer]] = {}


def register(kind: Kind) -> Kind:
    """Adds a class to the mixers that models may have."""
    _KNOWN[kind.name] = kind
    _forget_answers()
    return kind


def forget(kind: type[Mixer]) -> None:
    """Takes a class away again."""
    del _KNOWN[kind.name]
    _forget_answers()


def _forget_answers() -> None:
    known.cache_clear()
    alone.cache_clear()
    blocks.cache_clear()


@functools.lru_cache(None)
def known() -> Mapping[str, type[Mixer]]:
    """@return mixers by name: those of the package, and others that have been registered"""
    for module in pkgutil.iter_modules(importlib.import_module(PACKAGE).__path__):
        importlib.import_module(f"{PACKAGE}.{module.name}")
    return dict(_KNOWN)


@functools.lru_cache(None)
def alone(name: str) -> Mixer:
    """@return a mixer whose sizes are all those of the model"""
    return known()[name]()


def parts_of(name: str) -> Tuple[str, ...]:
    """@return the names of a layer's mixers"""
    parts = known()[name].parts
    return (name,) if parts is None else parts


@functools.lru_cache(None)
def blocks() -> dict[str, LayerKind]:
    """@return the blocks of a hybrid model, each a layer of its own, in the letters of Nemotron-H"""
    found = {kind.letter: LayerKind(False, False, name, False) for name, kind in known().items() if kind.letter}
    return {**found, "-": LayerKind(False, False, "none", True), "E": LayerKind(True, False, "none", True)}
