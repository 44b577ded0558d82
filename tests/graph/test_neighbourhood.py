"""Parts of a graph around some nodes, against dense formulas."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from localgcl.graph.csr import CSR
from localgcl.graph.neighbourhood import GrownRows, ball, block_around, closed_edges


def rows_of(matrix: sp.csr_array, *, weighted: bool = False) -> CSR:
    weights = torch.from_numpy(matrix.data) if weighted else None
    return CSR(torch.from_numpy(matrix.indptr).long(), torch.from_numpy(matrix.indices), matrix.shape[1], weights=weights)


def random_matrix(n: int, density: float, seed: int) -> sp.csr_array:
    half = sp.triu(sp.random_array((n, n), density=density, rng=np.random.default_rng(seed)), k=1)
    return sp.csr_array(half + half.T).astype(np.float32)


def averaged(matrix: np.ndarray, x: np.ndarray, steps: int) -> np.ndarray:
    """Symmetrically normalised averages with self-loops."""
    closed = matrix + np.eye(len(matrix))
    root = 1 / np.sqrt(closed.sum(axis=1))
    return np.asarray(np.linalg.matrix_power(root[:, None] * closed * root, steps) @ x)


def test_some_rows() -> None:
    matrix = random_matrix(30, 0.1, 0)
    nodes = torch.tensor([17, 3, 4, 29])
    taken = rows_of(matrix, weighted=True).take(nodes)
    np.testing.assert_array_equal(taken.to_torch().to_dense(), matrix[nodes.numpy()].toarray())
    assert rows_of(matrix).take(nodes[:0]).num_entries == 0


def test_a_ball_is_what_powers_of_the_matrix_reach() -> None:
    matrix = random_matrix(60, 0.02, 1)
    reached = np.eye(60)[[5, 11]].any(axis=0)
    for steps in range(4):
        found = ball(torch.tensor([11, 5, 5]), steps, rows_of(matrix))
        np.testing.assert_array_equal(found, np.flatnonzero(reached))
        reached = reached | (reached @ matrix.toarray() > 0)


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_averages_on_a_part_are_those_on_the_whole_graph(steps: int) -> None:
    matrix, x = random_matrix(80, 0.02, 2), np.random.default_rng(0).normal(size=(80, 3))
    wanted = np.array([7, 40, 41])
    part = block_around(torch.from_numpy(wanted), steps, rows_of(matrix, weighted=True))
    n, inner = part.rows.numel(), part.rows[: part.neighbours.num_rows].numpy()
    source, target, weights = closed_edges(part)
    small = np.zeros((n, n))
    if weights is not None:
        np.add.at(small, (source.numpy(), target.numpy()), weights.numpy())
    np.testing.assert_array_equal(small, small.T)
    assert n < 80  # otherwise nothing is tested
    border = np.full((n - len(inner), 3), 1e3)  # whatever it holds
    found = averaged(small, np.concatenate([x[inner], border]), steps)[np.searchsorted(inner, wanted)]
    np.testing.assert_allclose(found, averaged(matrix.toarray(), x, steps)[wanted], rtol=1e-6)  # weights are float32


@pytest.mark.parametrize("weighted", [False, True])
def test_grown_rows_are_the_sum(weighted: bool) -> None:
    old, new = random_matrix(40, 0.05, 3), random_matrix(50, 0.02, 4)
    ends = np.flatnonzero(new.sum(axis=1))
    more = rows_of(sp.csr_array(new[ends]), weighted=weighted)
    grown = GrownRows(rows_of(old, weighted=weighted), torch.from_numpy(ends), more)
    nodes = torch.tensor([0, 5, 6, 39, 40, 44, 49])
    both = np.zeros((50, 50))
    both[:40, :40] = old.toarray()
    both += new.toarray()
    expected = both[nodes.numpy()]
    found = grown.take(nodes)
    assert all(bool((row.diff() > 0).all()) for row in found.indices.split(found.degree.tolist()))
    np.testing.assert_allclose(found.to_torch().to_dense(), expected if weighted else expected > 0, rtol=1e-6)
