"""Every option in its one home: frozen dataclasses, plain data. Recipes, run folders and the command line are made from them.

The groups below are shared by all methods; what only one method needs is that method's own `Options` dataclass. Field
names are unique across groups, so a recipe, a config.toml and a command line are all flat lists of `name = value`.
"""

import dataclasses
import difflib
import inspect
import math
import numbers
import os
import tomllib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar


class LocalGCLWarning(UserWarning):
    """Something the user should know: a default that was chosen, or a sign that results may mislead."""


Group = TypeVar("Group", bound="Checked")
Activation = Literal["relu", "prelu", "rrelu", "elu"]
Scaling = Literal["raw", "binary", "l1", "l2", "standard"]

# Upper bounds that several options share. They are far above what is of use: they stop slips of the keyboard, such as a
# learning rate of 1e25, before anything is allocated. What fits the memory is another question (`training.memory`).
WIDEST = 2**16
"""Columns of a layer at most."""
MOST_STEPS = 10**8
"""Training steps at most."""
MOST_NODES = 10**9
"""Nodes at most."""
MOST_FREQUENCIES = 2**24
"""Random frequencies at most."""
MOST_DRAWN = 10**6
"""Nodes or pairs at most that are drawn for a node or a step."""
MOST_SEEDS = 10_000
"""Seeds or splits at most."""
MOST_JOBS = 1024
"""Processes or threads at most."""
LARGEST_WEIGHT = 1e6
"""Weight of a term of a loss at most."""


def option(
    default: Any,
    text: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    above: float = -math.inf,
    choices: Callable[[], Iterable[str]] | None = None,
    metavar: str = "",
    later: bool = False,
) -> Any:
    """A dataclass field with its help text and what it allows.

    Args:
        default: Its value where none is given.
        text: One line for --help.
        low: Smallest value.
        high: Largest value.
        above: Values must exceed it.
        choices: Lists the words that are allowed, where a registry knows them; a Literal type lists fixed ones.
        metavar: What --help calls a value; by default the name of its type.
        later: Added after results were first stored: left out of their hash while it has its default.
    """
    metadata = {"help": text, "low": low, "high": high, "above": above, "choices": choices, "metavar": metavar, "later": later}
    return dataclasses.field(default=default, metadata=metadata)


class Checked:
    """Base of all option groups: values are checked against type, choices and range when the group is made."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = plain(getattr(self, field.name))
            if isinstance(value, list) and typing.get_origin(field.type) is tuple:  # TOML and JSON have lists only
                value = tuple(value)
            check(field, value)
            # An integer is accepted where a float is declared, and stored as a float.
            object.__setattr__(self, field.name, float(value) if field.type is float else value)


def read_options(group: type[Group], function: Callable[..., Any], given: Mapping[str, Any]) -> Group:
    """The `group` of options that a user gave to `function` by keyword; TypeError names the one that was meant."""
    known = tuple(field.name for field in dataclasses.fields(group))  # type: ignore[arg-type]  # as above
    for name in given:
        if name not in known:
            meant = suggestion(name, (*known, *inspect.signature(function).parameters))
            raise TypeError(f"{function.__name__} has no option {name!r:.100}{meant}")
    return group(**given)


@dataclasses.dataclass(frozen=True)
class Preparation(Checked):
    """What is done to the graph before training. These choices change accuracy, so they are options, not part of a loader."""

    scaling: Scaling = option("raw", "node features: as they are, 0/1, rows of unit L1 or L2 norm, or standardised columns")
    symmetrise: bool = option(True, "add the reverse of every edge")
    drop_loops: bool = option(True, "remove the graph's own self-loops (the GCN adds its own, see self-loops)")
    parallel_edges: Literal["drop", "keep"] = option("drop", "keep one of parallel edges (weights sum), or all of them")


@dataclasses.dataclass(frozen=True)
class EncoderOptions(Checked):
    """The network that maps features to embeddings."""

    encoder: Literal["gcn", "mlp", "hops"] = option(
        "gcn", "gcn: averages over neighbours; mlp: looks at each node alone; hops: channels that do either, side by side"
    )
    dim: int = option(512, "embedding dimension d", low=1, high=WIDEST)
    layers: int = option(2, "number of layers", low=1, high=1000)
    hidden: int = option(0, "width of the layers between; 0 means the embedding dimension", low=0, high=WIDEST)
    activation: Activation = option("relu", "between layers; prelu learns a slope for each, rrelu draws slopes in training")
    activate_last: bool = option(False, "normalise (with batch-norm) and activate after the last layer too")
    batch_norm: bool = option(False, "batch normalisation between layers")
    dropout: float = option(0.0, "share of each layer's input that is set to zero in training", low=0, high=0.99)
    self_loops: float = option(1.0, "weight of the self-loop in GCN averaging; 0 for none", low=0, high=LARGEST_WEIGHT)
    autocast: bool = option(False, "multiply matrices in bfloat16")
    channels: tuple[str, ...] = option(
        ("X", "SX", "S2X", "BX", "B2X"),
        "channels of hops: features X, averaged with a node's own (S) or without (B), once or more often; or a GCN (G2X)",
        metavar="C",
        later=True,
    )
    layer_norm: bool = option(False, "normalise each row after an activation", later=True)
    fourier: int = option(
        0, "random Fourier features beside the columns of a narrow table, for hops; 0 for none", low=0, high=WIDEST, later=True
    )
    projected: int = option(
        0, "columns of a random projection of wide sparse features, for hops; 0 for none", low=0, high=WIDEST, later=True
    )
    pca: int = option(
        0, "principal components that are kept of the channels of hops; 0 keeps all dimensions", low=0, high=WIDEST, later=True
    )


@dataclasses.dataclass(frozen=True)
class TrainingOptions(Checked):
    """The training loop."""

    steps: int = option(50, "number of training steps", low=0, high=MOST_STEPS)
    optimiser: Literal["adam", "adamw"] = option("adam", "adamw decays weights directly, not through the gradient")
    learning_rate: float = option(5e-4, "learning rate; the highest one where a schedule changes it", above=0, high=10)
    schedule: Literal["constant", "cosine"] = option("constant", "learning rate after warm-up: constant, or cosine decay to 0")
    warmup: int = option(0, "steps over which the learning rate rises from 0", low=0, high=MOST_STEPS)
    weight_decay: float = option(0.0, "L2 penalty on all weights (adam), or their decay (adamw)", low=0, high=100)
    keep: Literal["last", "best"] = option("last", "weights to keep: those of the last step, or of the lowest loss")
    seed: int = option(0, "seed of initial weights and random features", low=0, high=2**63 - 1)
    device: str = option("auto", "cpu, cuda, cuda:1...; auto takes a GPU where there is one")
    deterministic: bool = option(False, "bit-identical CPU runs at the recorded number of threads")
    tf32: bool = option(True, "on a GPU, use TF32 for matrix products")
    threads: int = option(0, "CPU threads; 0 leaves torch's choice", low=0, high=MOST_JOBS)
    patience: int = option(0, "stop after this many steps without a lower loss; 0 trains all steps", low=0, high=MOST_STEPS)
    log_every: int = option(1, "steps between rows of metrics.csv", low=1, high=MOST_STEPS)
    checkpoint_every: int = option(10, "steps between checkpoints in the run folder; 0 for none", low=0, high=MOST_STEPS)
    tensorboard: bool = option(False, "also write TensorBoard events into the run folder")
    batch: int = option(0, "random nodes a step; 0 takes the whole graph", low=0, high=MOST_NODES, later=True)
    sampled: int = option(
        0, "neighbours of each node of a batch, drawn at each step; 0 takes all", low=0, high=MOST_DRAWN, later=True
    )


@dataclasses.dataclass(frozen=True)
class Config:
    """Everything that determines a run, except the graph."""

    method: str
    preparation: Preparation
    encoder: EncoderOptions
    training: TrainingOptions
    options: Any  # the method's own Options dataclass

    @classmethod
    def build(cls, method: str, option_class: type, values: Mapping[str, Any]) -> "Config":
        """A configuration from flat `name = value` pairs; whatever is not named keeps its default."""
        groups = {
            "preparation": Preparation,
            "encoder": EncoderOptions,
            "training": TrainingOptions,
            "options": option_class,
        }
        home = {field.name: group for group, kind in groups.items() for field in dataclasses.fields(kind)}
        chosen: dict[str, dict[str, Any]] = {group: {} for group in groups}
        for name, value in values.items():
            if name not in home:
                raise ValueError(f"method {method!r} has no option {name!r:.100}{suggestion(name, home)}")
            chosen[home[name]][name] = value
        return cls(method=method, **{group: kind(**chosen[group]) for group, kind in groups.items()})

    def flat(self) -> dict[str, Any]:
        """The flat pairs that `build` reads."""
        groups = (self.preparation, self.encoder, self.training, self.options)
        return {field.name: getattr(group, field.name) for group in groups for field in dataclasses.fields(group)}

    def decisive(self) -> dict[str, Any]:
        """`flat` without options that were added later and have their default: what the hash of a result is made of."""
        groups = (self.preparation, self.encoder, self.training, self.options)
        fields = [(field, getattr(group, field.name)) for group in groups for field in dataclasses.fields(group)]
        return {field.name: value for field, value in fields if not (field.metadata["later"] and value == field.default)}

    def replace(self, **values: Any) -> "Config":
        return Config.build(self.method, type(self.options), {**self.flat(), **values})


def plain(value: Any) -> Any:
    """A numpy scalar as a Python number: scikit-learn's parameter grids hold numpy scalars."""
    if isinstance(value, numbers.Number) and hasattr(value, "item"):
        return value.item()
    return value


def choices(field: "dataclasses.Field[Any]") -> tuple[Any, ...]:
    """The words that an option allows; empty where it is not a choice of words."""
    listed = field.metadata.get("choices")
    if listed is not None:
        return tuple(listed())
    return typing.get_args(field.type) if typing.get_origin(field.type) is Literal else ()


def check(field: "dataclasses.Field[Any]", value: Any) -> None:
    """Raises ValueError naming the option, the value, what is allowed and an example that works."""
    name, kind = field.name.replace("_", "-"), field.type
    allowed = choices(field)
    if allowed:
        if value not in allowed:
            raise ValueError(f"{name} is {value!r:.100}; choose one of {', '.join(map(str, allowed))}")
        return
    if typing.get_origin(kind) is tuple:
        if not isinstance(value, tuple):
            raise ValueError(f"{name} is {value!r:.100}; give a tuple of values")
        for part in value:
            _check_value(field, name, typing.get_args(kind)[:1], part)
    else:
        _check_value(field, name, typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,), value)


def _check_value(field: "dataclasses.Field[Any]", name: str, accepted: tuple[type, ...], value: Any) -> None:
    fits = (isinstance(value, bool) == (bool in accepted)) and (
        isinstance(value, accepted) or (float in accepted and isinstance(value, int))
    )
    if not fits:
        wanted = " or ".join(part.__name__ for part in accepted)
        raise ValueError(f"{name} is {value!r:.100}; it must be of type {wanted}{_example(field)}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high, above = (field.metadata.get(key, default) for key, default in _NO_RANGE)
        if not (low <= value <= high and above < value < math.inf):
            bounds = ["finite"] * (value == math.inf) + [f"at least {_number(low)}"] * (low > -math.inf)
            bounds += [f"above {_number(above)}"] * (above > -math.inf) + [f"at most {_number(high)}"] * (high < math.inf)
            raise ValueError(f"{name} is {value!r:.100}; it must be {' and '.join(bounds) or 'finite'}{_example(field)}")


def _example(field: "dataclasses.Field[Any]") -> str:
    """The default, as a value that works; nothing where an option has none."""
    return "" if field.default in (None, "") else f", for example {field.default!r}"


def _number(value: float) -> str:
    """A bound in full: 65536 and not 6.6e+04."""
    return str(int(value)) if float(value).is_integer() else f"{value:g}"


_NO_RANGE = (("low", -math.inf), ("high", math.inf), ("above", -math.inf))


_SYNONYMS = {
    "tau": "temperature",
    "lr": "learning_rate",
    "epochs": "steps",
    "hidden_dim": "hidden",
    "embedding_dim": "dim",
    "dimension": "dim",
    "dimensions": "dim",
    "random_state": "seed",
    "seed": "random_state",
    "n_jobs": "jobs",
}
"""What other libraries call an option."""


def closest(name: str, known: Iterable[str], *, cutoff: float = 0.5) -> str | None:
    """The known name that was meant, however it is cased and dashed: the same, a synonym, or the closest spelling.

    Example:
        >>> closest("CCA_SSG", ["cca-ssg", "grace"]), closest("tau", ["steps", "temperature"]), closest("xyz", ["steps"])
        ('cca-ssg', 'temperature', None)
    """
    spelt, word = {_plain_name(one): one for one in known}, _plain_name(name)
    for same in (word, _SYNONYMS.get(word)):
        if same in spelt:
            return spelt[same]
    close = difflib.get_close_matches(word, list(spelt), n=1, cutoff=cutoff)
    return spelt[close[0]] if close else None


def suggestion(name: str, known: Mapping[str, Any] | tuple[str, ...]) -> str:
    """'; did you mean ...?' for an unknown name, or the list of known ones."""
    close = closest(name, known)
    return f"; did you mean {close!r}?" if close else f"; known are {', '.join(sorted(known))}"


def _plain_name(name: str) -> str:
    return name.lstrip("-").replace("-", "_").casefold()


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The tables of a TOML file; ValueError names the file when it is not TOML."""
    try:
        with Path(path).open("rb") as file:
            return tomllib.load(file)
    except (ValueError, RecursionError) as error:  # also an integer of thousands of digits, and thousands of brackets
        raise ValueError(f"{path} is not valid TOML: {error}") from error
