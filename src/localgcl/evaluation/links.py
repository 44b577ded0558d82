"""Link prediction: scores held-out edges against pairs without an edge."""

import dataclasses
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from localgcl.evaluation.inputs import read_embeddings
from localgcl.evaluation.scores import Scores, all_scores
from localgcl.evaluation.task import Matrix, normalised_rows, select
from localgcl.graph import Graph

Keys = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class Holdout:
    """Held-out edges and as many pairs without an edge, each a pair of nodes u < v.

    Args:
        edges: Edges held out of training, shape (2, k).
        others: Pairs without an edge in the full graph, shape (2, k).
        num_nodes: Number of nodes of the graph.
        seed: The seed they were drawn with.
    """

    edges: Int[Tensor, "2 k"]
    others: Int[Tensor, "2 k"]
    num_nodes: int
    seed: int

    def seen_in(self, graph: Graph) -> int:
        """Number of held-out edges in `graph`, in either direction; 0 for a graph that may be trained on."""
        hidden = _pair_keys(self.edges[0], self.edges[1], self.num_nodes)
        return int(np.isin(hidden, _edge_keys(graph)).sum())


def hold_out_edges(graph: Graph, fraction: float = 0.1, seed: int = 0) -> tuple[Graph, Holdout]:
    """Holds out a random fraction of the undirected edges. O(|E| log |E|).

    Both directions of an edge and all its parallels are held out together; self-loops stay. Pairs without an edge are drawn
    uniformly, without repeats, from all pairs that the full graph does not join.

    Args:
        graph: The full graph.
        fraction: Share of the undirected edges to hold out, between 0 and 1.
        seed: Seed of both draws.

    Returns:
        The graph to train on, and what to pass to `evaluate_links`.

    Example:
        >>> ring = Graph.from_edges(range(8), [*range(1, 8), 0], x=torch.eye(8)).symmetrized()
        >>> training, holdout = hold_out_edges(ring, 0.25)
        >>> training.num_edges, holdout.seen_in(training), holdout.seen_in(ring)
        (12, 0, 2)
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction is {fraction}; it must be above 0 and below 1, for example 0.1")
    n, keys = graph.num_nodes, _edge_keys(graph)
    count = round(fraction * len(keys))
    free = n * (n - 1) // 2 - len(keys)
    if count < 1:
        raise ValueError(f"fraction is {fraction}, but {fraction} of {len(keys)} undirected edges is none; raise it")
    if count > free:
        raise ValueError(f"{count} edges would be hidden, but only {free} pairs are no edges; lower fraction ({fraction})")
    rng = np.random.default_rng(seed)
    hidden = np.sort(rng.choice(keys, count, replace=False))
    others = _unjoined(keys, np.sort(rng.choice(free, count, replace=False)))

    stored = _pair_keys(graph.rows.cpu(), graph.indices.cpu(), n)
    keep = torch.from_numpy(~np.isin(stored, hidden)).to(graph.device) | graph.loops
    return graph.keep_edges(keep), Holdout(_pairs(hidden, n), _pairs(others, n), n, seed)


def evaluate_links(z: Any, holdout: Holdout) -> Scores:
    """AUC and average precision, in percent; the score of a pair is the cosine of its two embeddings.

    Train on the graph that `hold_out_edges` returned, and embed that graph. z does not show whether held-out edges were
    seen; `holdout.seen_in(graph)` does.

    Args:
        z: One row per node, dense or sparse.
        holdout: The pairs to score.
    """
    x = read_embeddings(z)
    if x.shape[0] != holdout.num_nodes:
        raise ValueError(f"z has {x.shape[0]} rows, but the graph has {holdout.num_nodes} nodes; give one row per node")
    score = np.concatenate([_cosine(x, holdout.edges), _cosine(x, holdout.others)])
    truth = np.repeat([1, 0], [holdout.edges.shape[1], holdout.others.shape[1]])
    scores = all_scores("links", truth, score)
    return Scores(
        protocol="link prediction: cosine of the two embeddings, hidden edges against as many random non-edges",
        metric="AUC",
        values=(scores.pop("AUC"),),
        validation=(None,),
        picks=({},),
        names=(f"hold-out of seed {holdout.seed}",),
        over=f"{holdout.edges.shape[1]} hidden edges",
        seed=holdout.seed,
        extra={name: (value,) for name, value in scores.items()},
    )


def _cosine(x: Matrix, pairs: Int[Tensor, "2 k"], chunk: int = 65536) -> NDArray[Any]:
    found = []
    for part in pairs.split(chunk, dim=1):
        left: Any = normalised_rows(select(x, part[0]))  # tensors and scipy arrays both multiply entry by entry
        right: Any = normalised_rows(select(x, part[1]))
        product = (left * right).sum(1)
        found.append(product.cpu().numpy() if isinstance(product, Tensor) else np.asarray(product))
    return np.concatenate(found)


# A pair u < v is numbered by its place in the list (0, 1), (0, 2), ..., (0, n-1), (1, 2), ...: then the pairs without an
# edge can be counted and drawn exactly, with no rejection and no n x n matrix.


def _first_of(n: int) -> Keys:
    """The number of the pair (u, u + 1), for each u."""
    u = np.arange(n, dtype=np.int64)
    return u * (n - 1) - u * (u - 1) // 2


def _pair_keys(source: Int[Tensor, " k"], target: Int[Tensor, " k"], n: int) -> Keys:
    u, v = torch.minimum(source, target).cpu().numpy(), torch.maximum(source, target).cpu().numpy()
    return np.asarray(_first_of(n)[u] + v - u - 1, dtype=np.int64)


def _pairs(keys: Keys, n: int) -> Int[Tensor, "2 k"]:
    first = _first_of(n)
    u = np.searchsorted(first[: n - 1], keys, side="right") - 1
    return torch.from_numpy(np.stack([u, keys - first[u] + u + 1]))


def _edge_keys(graph: Graph) -> Keys:
    """The undirected edges without loops, each once, in increasing order."""
    between = ~graph.loops
    return np.unique(_pair_keys(graph.rows[between], graph.indices[between], graph.num_nodes))


def _unjoined(edges: Keys, ranks: Keys) -> Keys:
    """The pairs at the given ranks in the list of all pairs without an edge.

    edges[i] - i pairs without an edge lie before the edge at position i of the sorted list. So a rank moves up by the number
    of edges that lie before it.
    """
    return ranks + np.searchsorted(edges - np.arange(len(edges)), ranks, side="right")
