"""What was trained and on what, in numbers."""

import datetime

import numpy as np

from localgcl.graph.csr import CSR
from localgcl.graph.statistics import edge_homophily
from localgcl.report.findings import Series
from localgcl.report.reading import Subject


def summary_of(subject: Subject) -> dict[str, str]:
    """What was trained and how, in the order of reading."""
    run, graph, made = subject.run, subject.graph, subject.run.made
    history = subject.model.history
    seconds = f" in {history[-1]['seconds']:,.1f} s" if history else ""
    machine = made.get("gpu") or " with ".join(
        part for part in (str(made.get("processor", "")), f"{made['threads']} threads" if "threads" in made else "") if part
    )
    told = {
        "method": run.config.method,
        "graph": graph.name,
        "nodes": f"{graph.num_nodes:,}",
        "edges": f"{subject.edges.num_entries // 2:,}, undirected",
        "features": f"{graph.num_features:,}",
        "dimension": f"{subject.z.shape[1]:,}",
        "training": f"{subject.model.step:,} steps{seconds}",
        "machine": machine,
        "date": _date(str(made.get("date", ""))),
    }
    return {name: value for name, value in told.items() if value}


def _date(text: str) -> str:
    """The time of `system.provenance` as people write it."""
    try:
        return f"{datetime.datetime.fromisoformat(text).astimezone(datetime.UTC):%Y-%m-%d %H:%M} UTC"
    except ValueError:  # a run folder may say something else, or nothing
        return text


def degrees_of(edges: CSR) -> Series:
    """Number of nodes by degree."""
    degree, count = np.unique(edges.degree.numpy(), return_counts=True)
    return Series("nodes", degree.astype(np.float32), count.astype(np.float32))


def homophily_of(subject: Subject) -> dict[str, float]:
    """The share of edges within a class, and what it would be if ends of edges were joined at random."""
    y, edges = subject.graph.y, subject.edges
    if y is None:
        return {}
    found = edge_homophily(edges, y)
    if np.isnan(found):
        return {}
    ends = y[edges.rows]
    known = (ends >= 0) & (y[edges.indices] >= 0)
    weights = None if edges.weights is None else edges.weights[known].double().numpy()
    counts = np.bincount(ends[known].numpy(), weights)  # each edge is there in both directions
    return {"in this graph": found, "by chance": float(((counts / counts.sum()) ** 2).sum())}
