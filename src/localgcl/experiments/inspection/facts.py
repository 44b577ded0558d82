"""What a graph is like: sizes, degrees, components, labels."""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from localgcl.graph import Graph
from localgcl.graph.csr import CSR

_MOST_EDGES = 50_000_000
"""Edges whose components are counted: more than these take minutes and gigabytes."""


def structure_facts(graph: Graph, undirected: CSR) -> dict[str, Any]:
    """Sizes as stored; degrees and components of the undirected graph, which is what training sees. O(|E|)."""
    degree = undirected.degree.cpu().numpy()
    facts = {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "pairs": undirected.num_entries // 2,
        "weighted": graph.weights is not None,
        "self_loops": None if graph.folder is not None else int(graph.loops.sum()),
        "isolated": int((degree == 0).sum()),
        "degree": {
            "min": int(degree.min()),
            "median": float(np.median(degree)),
            "mean": float(degree.mean()),
            "max": int(degree.max()),
        },
        "components": None,
        "largest_component": None,
    }
    if undirected.num_entries <= _MOST_EDGES:
        count, member = sp.csgraph.connected_components(undirected.to_scipy(), directed=False)
        facts |= {"components": int(count), "largest_component": int(np.bincount(member).max())}
    return facts


def label_facts(graph: Graph, undirected: CSR) -> dict[str, Any] | None:
    """Classes with their sizes, and how often edges join nodes of one class; None without labels.

    By chance: the same of edges whose ends were drawn among the ends of all edges between labelled nodes.
    """
    if graph.y is None or not bool((graph.y >= 0).any()):
        return None
    y, names = graph.y.cpu(), graph.class_names
    sizes = y[y >= 0].bincount().tolist()
    classes = {str(label) if names is None else names[label]: size for label, size in enumerate(sizes) if size}
    ends = torch.stack([y[undirected.rows.cpu()], y[undirected.indices.cpu().long()]])
    known = ends[:, (ends >= 0).all(dim=0)]
    facts: dict[str, Any] = {"labelled": int((y >= 0).sum()), "classes": classes, "pairs": known.shape[1] // 2}
    if known.shape[1]:
        shares = known.flatten().bincount().double() / known.numel()
        facts |= {"homophily": float((known[0] == known[1]).double().mean()), "by_chance": float((shares**2).sum())}
    return facts


def undirected_edges(graph: Graph) -> CSR:
    """N(i) of each node: both directions of every edge, once, without self-loops. O(|E| log |E|)."""
    # A graph folder is undirected and has none.
    return graph.csr if graph.folder is not None else graph.symmetrized().csr.without_loops
