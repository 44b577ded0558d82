"""What a graph is like: sizes, components, degrees and homophily, in numbers, in words and as a table."""

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Int
from torch import Tensor

from localgcl.graph.csr import CSR
from localgcl.system.text import html_table

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
    """Sizes, components, isolated nodes and degrees, by name; with weights their sum, and with labels homophily."""
    csr = graph.csr
    components, _ = sp.csgraph.connected_components(csr.to_scipy(), directed=False)
    degree = csr.degree.cpu().numpy()
    statistics: dict[str, float | int] = {
        "nodes": graph.num_nodes,
        "directed edges": graph.num_edges,
        "self-loops": int(graph.loops.sum()),
        "features": graph.num_features,
        "classes": graph.num_classes,
        "components": int(components),
        "isolated nodes": int(((csr.degree == 0) & (csr.transposed[0].diff() == 0)).sum()),
        "mean degree": float(degree.mean()),
        "median degree": float(np.median(degree)),
        "max degree": int(degree.max()),
    }
    if csr.weights is not None:
        statistics["sum of weights"] = float(csr.weights.double().sum())
    if graph.y is not None:
        statistics["homophily"] = graph.homophily()
    return statistics


_MOST = 5
"""Names that are listed; of others, only the number is said."""


def sizes_in_words(graph: "Graph") -> list[str]:
    """Nodes, edges, features, classes and splits."""
    layout = "sparse" if graph.x.layout == torch.sparse_csr else "dense"
    return [
        f"{graph.num_nodes:,} nodes",
        f"{graph.num_edges:,} directed edges{'' if graph.weights is None else ' with weights'}",
        f"{graph.num_features:,} {layout} features",
        f"{graph.num_classes} classes",
        f"{len(graph.splits)} splits",
    ]


def as_html(graph: "Graph") -> str:
    """The sizes, and the first names of nodes, features and classes, as a table."""
    rows = [tuple(line.split(" ", 1)[::-1]) for line in sizes_in_words(graph)]
    named = {"node ids": graph.node_ids[:_MOST].tolist(), "feature names": graph.feature_names or ()}
    for title, names in {**named, "class names": graph.class_names or ()}.items():
        if len(names):
            total = graph.num_nodes if title == "node ids" else len(names)
            rows.append((title, ", ".join(map(str, names[:_MOST])) + (", ..." if total > _MOST else "")))
    return html_table(rows, caption=f"Graph {graph.name}")
