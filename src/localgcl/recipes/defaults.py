"""Defaults for a graph without a recipe, chosen from its statistics; labels are not looked at.

The rules were read off validation nodes of the graphs of `benchmarks.development` (`python -m benchmarks.defaults`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from localgcl.config import plain
from localgcl.graph import Graph
from localgcl.graph.csr import features_to_scipy, select_rows

Chosen = dict[str, tuple[Any, str]]
"""Settings by name, each with its reason in words."""

_AVERAGED = ("SX", "S2X", "BX", "B2X")
# Of features computed from the edges (benchmarks/results/structural.csv); the short ones where every step is a file on disk.
_WALKS, _SHORT_WALKS = ("S2X", "S4X", "S6X", "S8X", "X"), ("S2X", "S4X", "X")
# Of hops, whatever the graph.
_FIXED: Mapping[str, Any] = MappingProxyType({"encoder": "hops", "layers": 1, "temperature": 0.8, "steps": 20, "batch": 512})
ENCODER = ("encoder", "layers", "dim", "channels", "fourier")
"""Settings of Local-GCL's encoder."""
PLAIN_NAMES = frozenset({"scaling", "dim", "batch_norm"})
"""What `plain_defaults` chooses."""
HOPS_NAMES = frozenset({"scaling", *_FIXED, "dim", "learning_rate", "sampled", "channels", "fourier"})
"""What `hops_defaults` chooses."""
_SAMPLE, _COLUMNS = 4000, 128
_NARROW, _FOURIER = 64, 256
_ROWS, _LARGE, _HUGE = 50_000, 100_000, 200_000
_NARROWEST = 4
_ALIKE = 0.55
_NOTHING: Mapping[str, Any] = MappingProxyType({})
# How long baselines train, by their own loss on up to five small graphs, one seed (benchmarks/results/convergence.csv).
# No label was looked at. Patience exceeds the longest wait before 99% of the drop: the losses of DGI and MVGRL rise before they
# fall, and the published 20 steps keep the initial weights. Steps cover 99% of the drop (GCA and AFGRL: 95%), where the
# published number is several times as large. GMI, GRACE, CCA-SSG, SUGRL and AF-GCL keep their published numbers of steps.
_LENGTHS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "dgi": {"steps": 2000, "patience": 300},
        "mvgrl": {"steps": 1500, "patience": 150},
        "gmi": {"patience": 50},
        "gca": {"steps": 700},
        "bgrl": {"steps": 1000, "warmup": 100},
        "afgrl": {"steps": 300},
    }
)


def plain_defaults(graph: Graph) -> Chosen:
    """Settings that suit an encoder over the whole graph."""
    chosen, degree = _scaling(graph), graph.num_edges / graph.num_nodes
    if degree >= 8:
        # Graphs of mean degree 27 and more gained by it, or did not lose; those of 5 and less lost.
        chosen["batch_norm"] = True, f"mean degree {degree:.1f}: batch normalisation"
    dim = 512 if graph.num_nodes <= 50_000 else 256
    return chosen | {"dim": (dim, f"{graph.num_nodes:,} nodes: {dim} dimensions")}


def length_for(method: str, given: Mapping[str, Any] = _NOTHING) -> dict[str, int]:
    """Steps, patience and warm-up of a baseline on a graph without a recipe; empty where the published ones stand."""
    length = dict(_LENGTHS.get(method, {}))
    steps = plain(given.get("steps"))
    if "warmup" in length and isinstance(steps, int):
        length["warmup"] = min(length["warmup"], max(steps, 0) // 10)
    return length


def hops_defaults(graph: Graph, given: Mapping[str, Any] = _NOTHING) -> Chosen:
    """Settings of linear channels over hops. How much a node is like its neighbours decides what the channels read.

    `given` are the settings that the user has set.
    """
    dim = 1024 if graph.num_nodes <= _LARGE else 256
    fixed = {**_FIXED, "dim": dim}
    asked = plain(given.get("dim", dim))
    if graph.structural:
        return _scaling(graph) | _walks(_WALKS if graph.num_nodes <= _HUGE else _SHORT_WALKS, fixed, asked)
    alike = likeness(graph)
    if alike >= _ALIKE:
        own, tier, why = 2, {"learning_rate": 2e-3, "sampled": 4}, "neighbours are alike"
    else:
        # Small steps and all neighbours: what they share is faint, and the node's own features must survive.
        # Twelve at this rate lies between candidates of benchmarks/results/defaults.csv and is not among them.
        own, tier, why = 12, {"learning_rate": 1e-3, "sampled": 0}, "neighbours are not alike: most channels read a node alone"
    channels = ("X", *_AVERAGED, *("X",) * (own - 1))
    if isinstance(asked, int) and len(channels) > max(1, asked // _NARROWEST):
        # Unit rows of one or two dimensions say little. Anything that is no dimension is refused later, with other options.
        first = ("SX", "X") if alike >= _ALIKE else ("X", "SX")
        channels = (*first, *_AVERAGED[1:])[: max(1, asked // _NARROWEST)]
    chosen = _scaling(graph) | {name: (value, "") for name, value in (fixed | tier).items()}
    chosen["channels"] = channels, f"{why} (likeness {alike:.2f} of 1, 0.5 by chance)"
    if alike >= _ALIKE and graph.num_features < _NARROW and graph.x.layout != torch.sparse_csr:
        count = _FOURIER if graph.num_nodes <= _LARGE else _NARROW - graph.num_features  # rows of large graphs take disk space
        chosen["fourier"] = count, f"{graph.num_features} columns are few: {count} random Fourier features beside them"
    return chosen


def _walks(walks: tuple[str, ...], fixed: Mapping[str, Any], asked: Any) -> Chosen:
    """Linear channels over longer walks, for features computed from the edges: they say where a node is, not what it is."""
    chosen: Chosen = {name: (value, "") for name, value in {**fixed, "learning_rate": 2e-3, "sampled": 4}.items()}
    count = max(1, asked // _NARROWEST) if isinstance(asked, int) else len(walks)
    why = f"features are computed from the edges: averages over 2 to {4 if walks == _SHORT_WALKS else 8} steps"
    return chosen | {"channels": (walks[:count], why)}


def _scaling(graph: Graph) -> Chosen:
    if graph.x.layout == torch.sparse_csr:
        return {"scaling": ("l2", "sparse features: rows of unit length")}
    if _bag_of_words(_some(graph.x)):
        return {"scaling": ("l2", "mostly zeros in one unit, like counts of words: rows of unit length")}
    # Columns of a user's table come in different units, and the largest would drown the others.
    return {"scaling": ("standard", "dense features: standardised columns")}


def _some(x: Tensor) -> Tensor:
    """At most 50,000 rows, evenly spread: a larger table may be on disk."""
    return x[:: max(1, len(x) // _ROWS)]


def _bag_of_words(x: Tensor) -> bool:
    """True for words of a document, counted or weighted (TF-IDF), as a dense table from a CSV file holds them.

    No value is negative, half of them or more are zero, and the non-zero values of all columns are of one size: a table that
    mixes categories coded as 0 and 1 with measurements has columns whose values are 10 times as large as the median column's.
    """
    present = x > 0
    if bool((x < 0).any()) or 2 * int(present.sum()) > x.numel():
        return False
    counts = present.sum(dim=0)
    sizes = (x.sum(dim=0) / counts)[counts > 0]
    return sizes.numel() > 0 and bool(sizes.max() <= 10 * sizes.median())


def likeness(graph: Graph, seed: int = 0) -> float:
    """How often a node's features are closer to the mean of its neighbours' than those of a random node are; 0.5 by chance.

    On at most 4,000 random nodes that have neighbours, with features projected to 128 random directions. O(their edges).
    """
    rng = np.random.default_rng(seed)
    neighbours = graph.csr.without_loops
    connected = np.flatnonzero(neighbours.degree.cpu().numpy())
    if len(connected) < 2:
        return 0.5
    nodes = np.sort(rng.choice(connected, min(_SAMPLE, len(connected)), replace=False))
    n, start = graph.num_nodes, neighbours.indptr.cpu()[torch.from_numpy(nodes)].numpy()
    degree = neighbours.degree.cpu().numpy()[nodes]
    # Only the edges of these nodes are read: the graph may be on disk.
    places = np.arange(degree.sum()) + np.repeat(start - np.cumsum(degree) + degree, degree)
    targets = neighbours.indices[torch.from_numpy(places).to(graph.device)].cpu().long().numpy()
    adjacency = sp.csr_array((np.ones(len(targets)), targets, np.r_[0, np.cumsum(degree)]), shape=(len(nodes), n))
    read = np.unique(np.concatenate([nodes, targets]))
    z = _directions(graph, read, rng)
    own = z[np.searchsorted(read, nodes)]
    # Means and sums of neighbours have the same direction.
    around = _unit(adjacency[:, read] @ z)
    likes = (own * around).sum(axis=1)
    other = (own[rng.permutation(len(nodes))] * around).sum(axis=1)
    return float(((likes > other) + 0.5 * (likes == other)).mean())


def _directions(graph: Graph, nodes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Unit rows of the nodes' features, projected and centred; dense columns are standardised first."""
    x: Any = select_rows(graph.x.cpu(), torch.from_numpy(nodes))
    if x.layout == torch.sparse_csr:
        x = features_to_scipy(x)
        x = sp.diags_array(1 / np.maximum(sp.linalg.norm(x, axis=1), 1e-30)) @ x
    else:
        x = x.double().numpy()
        deviation = x.std(axis=0)
        x = (x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    z = x @ rng.standard_normal((graph.num_features, _COLUMNS))
    return _unit(_unit(z) - _unit(z).mean(axis=0))


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    unit: NDArray[np.float64] = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)
    return unit
