import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from localgcl.evaluation import Holdout, evaluate_links, hold_out_edges
from localgcl.graph import Graph


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """Any graph of up to 12 nodes: one direction or both, loops and parallel edges included."""
    n = draw(st.integers(3, 12))
    ends = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=40))


def undirected(graph: Graph) -> set[tuple[int, int]]:
    pairs = zip(graph.rows.tolist(), graph.indices.tolist(), strict=True)
    return {(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]}


def listed(pairs: torch.Tensor) -> list[tuple[int, int]]:
    return [(int(u), int(v)) for u, v in pairs.T.tolist()]


@settings(max_examples=100, deadline=None)
@given(drawn=edge_lists(), fraction=st.floats(0.05, 0.95), seed=st.integers(0, 100))
def test_hidden_edges_are_gone_and_the_others_never_were(
    drawn: tuple[int, list[tuple[int, int]]], fraction: float, seed: int
) -> None:
    n, ends = drawn
    graph = Graph.from_edges([edge[0] for edge in ends], [edge[1] for edge in ends], x=torch.eye(n))
    full = undirected(graph)
    count, free = round(fraction * len(full)), n * (n - 1) // 2 - len(full)
    if count < 1 or count > free:
        with pytest.raises(ValueError, match="fraction"):
            hold_out_edges(graph, fraction, seed)
        return
    training, holdout = hold_out_edges(graph, fraction, seed)
    edges, others = listed(holdout.edges), listed(holdout.others)
    assert len(edges) == len(set(edges)) == len(others) == len(set(others)) == count
    assert all(0 <= u < v < n for u, v in edges + others)
    assert set(edges) <= full
    assert undirected(training) == full - set(edges)
    assert not set(others) & full
    assert int(training.loops.sum()) == int(graph.loops.sum())
    kept = [pair for pair in zip(graph.rows.tolist(), graph.indices.tolist(), strict=True) if tuple(sorted(pair)) not in edges]
    assert kept == list(zip(training.rows.tolist(), training.indices.tolist(), strict=True))  # parallels kept or gone together
    assert holdout.seen_in(training) == 0
    assert holdout.seen_in(graph) == count


def test_every_pair_without_an_edge_can_be_drawn() -> None:
    path = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], x=torch.eye(5)).symmetrized()
    drawn = {pair for seed in range(60) for pair in listed(hold_out_edges(path, 0.5, seed)[1].others)}
    assert drawn == {(0, 2), (0, 3), (0, 4), (1, 3), (1, 4), (2, 4)}


def test_the_seed_decides() -> None:
    ring = Graph.from_edges(range(50), [*range(1, 50), 0], x=torch.eye(50)).symmetrized()
    one, same, other = (hold_out_edges(ring, 0.2, seed)[1] for seed in (0, 0, 1))
    assert torch.equal(one.edges, same.edges)
    assert torch.equal(one.others, same.others)
    assert not torch.equal(one.edges, other.edges)


def test_features_labels_and_splits_stay() -> None:
    ring = Graph.from_edges(range(9), [*range(1, 9), 0], x=torch.eye(9), y=[0, 1, 2] * 3).symmetrized()
    training, _ = hold_out_edges(ring, 0.2)
    assert training.x is ring.x
    assert training.y is ring.y


def test_scores_are_those_of_the_cosine() -> None:
    rng = np.random.default_rng(0)
    z = rng.standard_normal((40, 6)).astype(np.float32)
    edges, others = torch.from_numpy(rng.integers(40, size=(2, 30))), torch.from_numpy(rng.integers(40, size=(2, 30)))
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    cosine = unit @ unit.T
    score = np.concatenate([cosine[tuple(edges.numpy())], cosine[tuple(others.numpy())]])
    expected = 100 * roc_auc_score([1] * 30 + [0] * 30, score)
    holdout = Holdout(edges, others, 40, 0)
    assert evaluate_links(z, holdout).mean == pytest.approx(expected)
    assert evaluate_links(sp.csr_array(z), holdout).mean == pytest.approx(expected)


def test_embeddings_that_know_the_blocks_and_some_that_do_not() -> None:
    n = 60
    block = np.arange(n) % 3
    source, target = np.nonzero((block[:, None] == block) & ~np.eye(n, dtype=bool))
    _, holdout = hold_out_edges(Graph.from_edges(source, target, x=torch.eye(n)), 0.2)
    good = evaluate_links(np.eye(3)[block], holdout)
    assert good.mean == 100.0
    assert good.extra["AP"] == (100.0,)
    # 114 pairs of each kind: the deviation of a blind AUC is about 100 / sqrt(6 * 114) = 4.
    assert abs(evaluate_links(np.random.default_rng(0).standard_normal((n, 50)), holdout).mean - 50) < 20


def test_bad_input() -> None:
    triangle = Graph.from_edges([0, 1, 2], [1, 2, 0], x=torch.eye(3)).symmetrized()
    with pytest.raises(ValueError, match="only 0 pairs are no edges"):
        hold_out_edges(triangle, 0.5)
    with pytest.raises(ValueError, match=r"fraction is 1.5; it must be above 0 and below 1"):
        hold_out_edges(triangle, 1.5)
    with pytest.raises(ValueError, match="of 3 undirected edges is none"):
        hold_out_edges(triangle, 0.1)
    holdout = Holdout(torch.tensor([[0], [1]]), torch.tensor([[0], [2]]), 3, 0)
    with pytest.raises(ValueError, match="z has 4 rows, but the graph has 3 nodes"):
        evaluate_links(np.eye(4), holdout)
    with pytest.raises(ValueError, match="NaN"):
        evaluate_links(np.full((3, 2), np.nan), holdout)


def test_edges_that_are_not_hidden_keep_their_weights() -> None:
    graph = Graph.from_edges(range(8), [*range(1, 8), 0], x=torch.eye(8), weights=range(1, 9))
    training, _ = hold_out_edges(graph, 0.25)
    assert training.weights is not None
    assert training.weights.tolist() == [source + 1.0 for source in training.rows.tolist()]
    assert training.num_edges == 6
