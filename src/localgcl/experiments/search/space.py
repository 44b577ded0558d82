"""Space: which values of which options a search may try; and samplers: which point of it to try next.

A sampler is a pure function of the space, a seed and the points tried so far. The log is therefore the only state of a search,
and a search that was stopped resumes as if uninterrupted.
"""

import dataclasses
import itertools
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch

from localgcl.config import read_toml, suggestion
from localgcl.methods import configure

Settings = dict[str, Any]
OWN = ("seed", "device")
"""Options that a search sets itself: seeds are what a trial averages over, and the device is the same for all."""


@dataclasses.dataclass(frozen=True)
class Space:
    """Values by option, in the order given; a point of the space has one value for each option.

    Example:
        >>> space = Space({"dim": (64, 128), "layers": (1, 2)})
        >>> space.size, next(space.points())
        (4, {'dim': 64, 'layers': 1})
    """

    values: Mapping[str, tuple[Any, ...]]

    @classmethod
    def checked(cls, values: Mapping[str, Any], method: str) -> "Space":
        """A space whose every value the method accepts; ValueError otherwise, before the first trial is run."""
        if not values:
            raise ValueError("the space is empty; give it at least one option, such as temperature = [0.5, 1.0]")
        known = {}
        for option, given in values.items():
            if option in OWN:
                raise ValueError(f"{option} cannot be searched: a trial is run on all its seeds, on one device; leave it out")
            if not isinstance(given, Sequence) or isinstance(given, str) or not given:
                raise ValueError(f"{option} is {given!r}; a space gives each option a list of values, such as [0.5, 1.0]")
            # The configuration converts to the declared type: 1 and 1.0 are one value, not two.
            known[option] = tuple(dict.fromkeys(configure(method, {option: value}).flat()[option] for value in given))
        return cls(known)

    @property
    def size(self) -> int:
        return math.prod(len(values) for values in self.values.values())

    def points(self) -> Iterator[Settings]:
        """All points, the last option changing fastest."""
        for values in itertools.product(*self.values.values()):
            yield dict(zip(self.values, values, strict=True))

    def without(self, options: Mapping[str, Any]) -> "Space":
        """The space of the other options."""
        return Space({option: values for option, values in self.values.items() if option not in options})

    def including(self, point: Settings) -> "Space":
        """The space with the values of `point` added."""
        return Space({option: tuple(dict.fromkeys([*values, point[option]])) for option, values in self.values.items()})


def read_space(name: str | os.PathLike[str] | None, method: str) -> Space:
    """A space by name (None: the method's first), or from a TOML file of lines such as `temperature = [0.5, 1.0]`."""
    if name is not None and (Path(name).suffix == ".toml" or Path(name).is_file()):
        return Space.checked(read_toml(name), method)
    with resources.as_file(resources.files(__package__) / "spaces" / f"{method}.toml") as file:
        tables: dict[str, Any] = read_toml(file) if file.is_file() else {}
    if not tables:
        raise ValueError(f"method {method!r} has no space of its own; give a TOML file of lines such as dim = [256, 512]")
    if name is not None and str(name) not in tables:
        raise ValueError(
            f"method {method!r} has no space {str(name)!r}{suggestion(str(name), tables)}; a TOML file will do, too"
        )
    return Space.checked(tables[str(name or next(iter(tables)))], method)


Tried = Sequence[tuple[Settings, float | None]]
"""Points and their validation scores, in the order of the log; None while a trial is running. A refused one scores 0."""
Sampler = Callable[[Space, Tried, int], Settings | None]


def grid(space: Space, tried: Tried, seed: int) -> Settings | None:  # noqa: ARG001  # nothing here is random
    """The first point that has not been tried, the last option changing fastest; None if all have been."""
    seen = _keys(tried)
    return next((point for point in space.points() if key(point) not in seen), None)


def random(space: Space, tried: Tried, seed: int) -> Settings | None:
    """The first point of a seeded sequence of uniform draws that has not been tried; None if all have been."""
    seen = _keys(tried)
    if len(seen) >= space.size:
        return None
    generator = torch.Generator().manual_seed(seed)
    while True:
        draw = {option: values[_integer(len(values), generator)] for option, values in space.values.items()}
        if key(draw) not in seen:
            return draw


def tpe(space: Space, tried: Tried, seed: int) -> Settings | None:
    """Optuna's tree-structured Parzen estimator; its first ten trials are random. A point tried before is replaced by a draw.

    Its generator is seeded by `seed` and the number of trials, so it keeps no state.
    """
    try:
        import optuna
    except ImportError as error:
        raise ImportError(
            "optuna is not installed; pip install 'localgcl[hpo]', or choose the sampler random or grid"
        ) from error

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    scales = {option: _scale(values) for option, values in space.values.items()}
    choices: dict[str, optuna.distributions.BaseDistribution] = {
        option: optuna.distributions.IntDistribution(0, len(scale) - 1)
        if _ordered(scale)
        else optuna.distributions.CategoricalDistribution(range(len(scale)))
        for option, scale in scales.items()
    }
    state = int(np.random.SeedSequence([seed, len(tried)]).generate_state(1)[0])
    # Options act together (a temperature suits a number of steps), hence multivariate; running trials count as bad ones,
    # so that workers spread out.
    sampler = optuna.samplers.TPESampler(seed=state, multivariate=True, constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for point, score in tried:
        places = {option: scale.index(point[option]) for option, scale in scales.items()}
        status = optuna.trial.TrialState.RUNNING if score is None else optuna.trial.TrialState.COMPLETE
        study.add_trial(optuna.trial.create_trial(state=status, params=places, distributions=choices, value=score))
    proposed = {option: scales[option][place] for option, place in study.ask(choices).params.items()}
    return random(space, tried, seed) if key(proposed) in _keys(tried) else proposed


def _ordered(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _scale(values: Sequence[Any]) -> list[Any]:
    """Numbers in increasing order, so that the estimator treats neighbours as alike; other values as given."""
    return sorted(values) if _ordered(values) else list(values)


SAMPLERS: Mapping[str, Sampler] = {"random": random, "tpe": tpe, "grid": grid}


def key(settings: Mapping[str, Any]) -> str:
    """Settings as text: equal for equal settings, whatever their order."""
    return json.dumps(settings, sort_keys=True)


def _keys(tried: Tried) -> set[str]:
    return {key(point) for point, _ in tried}


def _integer(below: int, generator: torch.Generator) -> int:
    return int(torch.randint(below, (), generator=generator))
