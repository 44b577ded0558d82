"""Statistics of a graph's structure and labels."""

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int
from torch import Tensor

from localgcl.graph.csr import CSR

if TYPE_CHECKING:
    from localgcl.graph.graph import Graph


def edge_homophily(csr: CSR, y: Int[Tensor, " n"]) -> float:
    """The share of weight on edges that join equal labels, of edges whose two labels are known; NaN if there are none."""
    source, target = y[csr.rows], y[csr.indices]
    known = (source >= 0) & (target >= 0)
    if not bool(known.any()):
        return float("nan")
    alike = (source == target)[known].double()
    if csr.weights is None:
        return float(alike.mean())
    weights = csr.weights[known].double()
    return float((alike * weights).sum() / weights.sum())


def homophily_by_chance(csr: CSR, y: Int[Tensor, " n"]) -> float:
    """What `edge_homophily` would be if the ends of edges were joined at random; each edge is there in both directions."""
    ends = y[csr.rows]
    known = (ends >= 0) & (y[csr.indices] >= 0)
    weights = None if csr.weights is None else csr.weights[known].double().numpy()
    counts = np.bincount(ends[known].numpy(), weights)
    return float(((counts / counts.sum()) ** 2).sum())


def summary(graph: "Graph") -> dict[str, float | int]:
    """Sizes, components, degrees and, with labels, homophily, by name."""
    sizes: dict[str, float | int] = {
        "nodes": graph.num_nodes,
        "directed edges": graph.num_edges,
        "self-loops": int(graph.loops.sum()),
        "features": graph.num_features,
        "classes": graph.num_classes,
    }
    labelled = {} if graph.y is None else {"homophily": graph.homophily()}
    return sizes | structure_summary(graph.csr) | labelled


def structure_summary(csr: CSR) -> dict[str, float | int]:
    """Components, isolated nodes and degrees, by name; and the sum of the weights if there are any."""
    components, _ = sp.csgraph.connected_components(csr.to_scipy(), directed=False)
    degree = csr.degree.cpu().numpy()
    statistics: dict[str, float | int] = {
        "components": int(components),
        "isolated nodes": int(((csr.degree == 0) & (csr.transposed[0].diff() == 0)).sum()),
        "mean degree": float(degree.mean()),
        "median degree": float(np.median(degree)),
        "max degree": int(degree.max()),
    }
    if csr.weights is not None:
        statistics["sum of weights"] = float(csr.weights.double().sum())
    return statistics
