"""Parts of a graph around some nodes, against dense formulas."""

import numpy as np
import pytest
import scipy.sparse as sp

from localgcl.graph.neighbourhood import GrownRows, SparseRows, ball, part_around


def rows_of(matrix: sp.csr_array, *, weighted: bool = False) -> SparseRows:
    return SparseRows(matrix.indptr, matrix.indices, matrix.data if weighted else None)


def random_matrix(n: int, density: float, seed: int) -> sp.csr_array:
    half = sp.triu(sp.random_array((n, n), density=density, rng=np.random.default_rng(seed)), k=1)
    return sp.csr_array(half + half.T).astype(np.float32)


def averaged(matrix: np.ndarray, x: np.ndarray, steps: int) -> np.ndarray:
    """Symmetrically normalised averages with self-loops."""
    closed = matrix + np.eye(len(matrix))
    root = 1 / np.sqrt(closed.sum(axis=1))
    return np.asarray(np.linalg.matrix_power(root[:, None] * closed * root, steps) @ x)


def test_entries_of_some_rows() -> None:
    matrix = random_matrix(30, 0.1, 0)
    nodes = np.array([3, 4, 17, 29])
    rows, columns, values = rows_of(matrix, weighted=True).take(nodes)
    assert values is not None
    taken = np.zeros((4, 30))
    taken[rows, columns] = values
    np.testing.assert_array_equal(taken, matrix[nodes].toarray())
    assert rows_of(matrix).take(nodes[:0]).columns.size == 0


def test_a_ball_is_what_powers_of_the_matrix_reach() -> None:
    matrix = random_matrix(60, 0.02, 1)
    reached = np.eye(60)[[5, 11]].any(axis=0)
    for steps in range(4):
        np.testing.assert_array_equal(ball(np.array([11, 5, 5]), steps, rows_of(matrix)), np.flatnonzero(reached))
        reached = reached | (reached @ matrix.toarray() > 0)


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_averages_on_a_part_are_those_on_the_whole_graph(steps: int) -> None:
    matrix, x = random_matrix(80, 0.02, 2), np.random.default_rng(0).normal(size=(80, 3))
    wanted = np.array([7, 40, 41])
    part = part_around(wanted, steps, rows_of(matrix, weighted=True))
    small = np.zeros((part.num_nodes, part.num_nodes))
    if part.values is not None:
        np.add.at(small, (part.source, part.target), part.values)
    np.testing.assert_array_equal(small, small.T)
    assert part.num_nodes < 80  # otherwise nothing is tested
    border = np.full((part.num_nodes - len(part.inner), 3), 1e3)  # whatever it holds
    found = averaged(small, np.concatenate([x[part.inner], border]), steps)[np.searchsorted(part.inner, wanted)]
    np.testing.assert_allclose(found, averaged(matrix.toarray(), x, steps)[wanted], rtol=1e-6)  # weights are float32


@pytest.mark.parametrize("weighted", [False, True])
def test_grown_rows_are_the_sum(weighted: bool) -> None:
    old, new = random_matrix(40, 0.05, 3), random_matrix(50, 0.02, 4)
    ends = np.flatnonzero(new.sum(axis=1))
    grown = GrownRows(rows_of(old, weighted=weighted), 40, ends, rows_of(sp.csr_array(new[ends]), weighted=weighted))
    nodes = np.array([0, 5, 6, 39, 40, 44, 49])
    rows, columns, values = grown.take(nodes)
    both = np.zeros((50, 50))
    both[:40, :40] = old.toarray()
    both += new.toarray()
    found = np.zeros((7, 50))
    np.add.at(found, (rows, columns), 1 if values is None else values)
    expected = both[nodes] if weighted else (both[nodes] > 0).astype(float)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
