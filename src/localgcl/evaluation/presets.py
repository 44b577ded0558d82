"""PRESETS: every protocol by name. Those named after a method do what its published evaluator does.

Scores of two protocols do not compare: some validate and some do not, and GRACE and BGRL fit on other nodes. A preset sets
the classifier only, not the splits. Every preset reads the test nodes once, also where the published code does not.
CCA-SSG's code keeps the best test accuracy among steps of equal validation accuracy, which lets test labels choose; here
the first of them counts. GMI's code picks its number of steps by test accuracy; here validation picks it. SUGRL sets penalty
and steps by hand for each graph: the preset has Cora's, and `weight_decays` and `steps` can be changed. AFGRL also picks the
epoch of pre-training by validation accuracy, which a classifier cannot do.
"""

import dataclasses
import typing
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from localgcl.config import check, suggestion
from localgcl.evaluation.linear import LinearProbe
from localgcl.evaluation.probes import ClusterProbe, LogisticProbe, MultiLabelProbe, NeighbourProbe, RidgeProbe
from localgcl.evaluation.task import Probe


def _adam(learning_rate: float, weight_decay: float, **others: object) -> LinearProbe:
    return LinearProbe(learning_rates=(learning_rate,), weight_decays=(weight_decay,), **others)  # type: ignore[arg-type]


PRESETS: Mapping[str, Probe] = MappingProxyType(
    {
        "linear": LinearProbe(),
        "sklearn": LogisticProbe(),  # as BGRL does on WikiCS, whose validation nodes are given
        "knn": NeighbourProbe(),
        "kmeans": ClusterProbe(),
        "dgi": _adam(1e-2, 0.0, steps=100, pick="final", repeats=50),
        "gca": _adam(1e-2, 0.0, steps=3000, check_every=20, pick="first"),
        "cca-ssg": _adam(1e-2, 1e-4, steps=2000, check_every=1, pick="first", initial="torch"),
        "grace": LogisticProbe(strengths=tuple(2.0**power for power in range(-10, 10)), pick="kfold"),
        "bgrl": LogisticProbe(pick="shuffle"),
        "mvgrl": _adam(1e-2, 0.0, steps=300, pick="final", repeats=50),
        "gmi": _adam(1e-3, 1e-5, steps=20_000, check_every=100, pick="first", repeats=50),
        "sugrl": _adam(1e-2, 5e-3, steps=100, pick="final", normalise="rows", repeats=2),
        "afgrl": _adam(1e-2, 1e-5, steps=100, pick="final"),
        "af-gcl": _adam(5e-4, 1e-5, steps=1500, check_every=10, pick="first"),
    }
)

TARGET_PROBES: Mapping[str, Probe] = MappingProxyType({"multi-label": MultiLabelProbe(), "regression": RidgeProbe()})
"""The protocol of targets that are no classes."""


def find_probe(protocol: str, settings: Mapping[str, Any]) -> Probe:
    """The named preset with some fields changed; ValueError if there is no such preset or field."""
    if protocol not in PRESETS:
        raise ValueError(f"unknown protocol {protocol!r}{suggestion(protocol, PRESETS)}")
    preset: Any = PRESETS[protocol]
    known = {field.name: field for field in dataclasses.fields(preset)}
    changed = {}
    for name, value in settings.items():
        if name not in known:
            raise ValueError(f"protocol {protocol!r} has no setting {name!r}{suggestion(name, known)}")
        if typing.get_origin(known[name].type) is tuple:
            changed[name] = _grid(name, value, typing.get_args(known[name].type)[0])
        else:
            check(known[name], value)
            changed[name] = value
    return typing.cast(Probe, dataclasses.replace(preset, **changed))


def validating_probe(protocol: str, settings: Mapping[str, Any]) -> Probe:
    """The protocol with some fields changed, if it picks on validation nodes; ValueError if it does not."""
    probe = find_probe(protocol, settings)
    if not (probe.uses_splits and probe.validates):
        choices = ", ".join(name for name, preset in PRESETS.items() if preset.uses_splits and preset.validates)
        raise ValueError(
            f"protocol {protocol!r} picks nothing on validation nodes, so it cannot validate; choose one of {choices}"
        )
    return probe


def _grid(name: str, value: Any, kind: type) -> tuple[Any, ...]:
    """One value, or any sequence of them, as a tuple of numbers."""
    parts = np.atleast_1d(np.asarray(value)).ravel().tolist()
    if not all(isinstance(part, int | kind) and not isinstance(part, bool) for part in parts):
        raise ValueError(f"{name} is {value!r}; give one or more numbers of type {kind.__name__}")
    return tuple(kind(part) for part in parts)
