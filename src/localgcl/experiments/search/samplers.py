"""Samplers: which point of the space to try next.

Each is a pure function of the space, a seed and the points tried so far. The log is therefore the only state of a search,
and a search that was stopped resumes as if uninterrupted.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from localgcl.experiments.search.space import Settings, Space

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
