"""How a graph is shown: in words, and as a table in a notebook. Only what is known without a pass over the edges."""

from typing import TYPE_CHECKING

import torch

from localgcl.system.text import html_table

if TYPE_CHECKING:
    from localgcl.graph.graph import Graph

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
