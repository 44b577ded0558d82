"""PRESETS: every protocol by name. Those named after a method do what its published evaluator does.

Scores of two protocols do not compare: some validate and some do not, and GRACE and BGRL fit on other nodes. A preset sets
the classifier only, not the splits. Every preset reads the test nodes once, also where the published code does not.
CCA-SSG's code keeps the best test accuracy among steps of equal validation accuracy, which lets test labels choose; here
the first of them counts. GMI's code picks its number of steps by test accuracy; here validation picks it. SUGRL sets penalty
and steps by hand for each graph: the preset has Cora's, and `weight_decays` and `steps` can be changed. AFGRL also picks the
epoch of pre-training by validation accuracy, which a classifier cannot do.
"""

from collections.abc import Mapping
from types import MappingProxyType

from localgcl.evaluation.linear import LinearProbe
from localgcl.evaluation.logistic import LogisticProbe
from localgcl.evaluation.similarity import ClusterProbe, NeighbourProbe
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
