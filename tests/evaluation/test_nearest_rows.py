"""Nearest nodes: exact ones against all cosines, approximate ones against exact ones."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import localgcl as lg
from localgcl.evaluation import nearest_rows as module
from localgcl.evaluation.nearest_rows import nearest


def embeddings(n: int, d: int = 100, seed: int = 0) -> NDArray[Any]:
    """Rows whose columns matter less and less, as those of embeddings do."""
    return (np.random.default_rng(seed).normal(size=(n, d)) / np.arange(1, d + 1)).astype(np.float32)


def cosines(z: NDArray[Any]) -> NDArray[Any]:
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    similarity: NDArray[Any] = unit @ unit.T
    np.fill_diagonal(similarity, -np.inf)
    return similarity


def test_exact_neighbours_have_the_largest_cosines() -> None:
    z = embeddings(200)
    found = nearest(z, 7)
    expected = -np.sort(-cosines(z), axis=1)[:, :7]
    # One rounding of a sum of 100 products.
    np.testing.assert_allclose(found.similarity, expected, atol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(cosines(z), found.rows, axis=1), expected, atol=1e-5)
    assert found.note.startswith("Nearest nodes are exact")


def test_it_is_a_public_name() -> None:
    assert lg.nearest is nearest


def test_queries_give_their_own_rows_in_their_order() -> None:
    z = embeddings(50)
    whole, some = nearest(z, 3), nearest(z, 3, queries=[7, 2, 7])
    np.testing.assert_array_equal(some.rows, whole.rows[[7, 2, 7]])


def test_a_row_is_not_its_own_neighbour_among_equal_ones() -> None:
    z = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    found = nearest(z, 3)
    assert (found.rows != np.arange(12)[:, None]).all()
    assert (found.rows // 4 == (np.arange(12) // 4)[:, None]).all()
    np.testing.assert_allclose(found.similarity, 1.0)


def test_rows_of_zeros_are_like_nothing() -> None:
    z = embeddings(10)
    z[4] = 0.0
    assert (nearest(z, 2, queries=[4]).similarity == 0).all()


@pytest.mark.parametrize("d", [30, 100])
def test_approximate_neighbours_are_nearly_all_exact(monkeypatch: pytest.MonkeyPatch, d: int) -> None:
    z = embeddings(3000, d)
    exact = nearest(z, 10)
    monkeypatch.setattr(module, "EXACT_PAIRS", 0)
    found = nearest(z, 10)
    assert "approximate" in found.note
    assert (found.rows != np.arange(3000)[:, None]).all()
    shared = [len({*a} & {*b}) for a, b in zip(found.rows.tolist(), exact.rows.tolist(), strict=True)]
    # 12 of 54 groups hold almost all neighbours: 99.8% were found when this was written.
    assert np.mean(shared) > 9.8
    np.testing.assert_allclose(found.similarity, np.take_along_axis(cosines(z), found.rows, axis=1), atol=1e-5)
    np.testing.assert_array_equal(nearest(z, 10).rows, found.rows)  # the same seed


def test_places_without_a_neighbour_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXACT_PAIRS", 0)
    monkeypatch.setattr(module, "_CELLS", 1)
    z = np.repeat(np.eye(4, dtype=np.float32), 4, axis=0)  # four groups of four, so that each row has three others to find
    found = nearest(z, 5)
    assert (found.rows == -1).any()
    assert (found.similarity[found.rows == -1] == 0).all()
    known = found.rows >= 0
    assert (found.rows // 4 == (np.arange(16) // 4)[:, None])[known].all()


def test_what_cannot_be_found_is_refused() -> None:
    z = embeddings(5)
    with pytest.raises(ValueError, match="k is 5; 5 rows have 4 others each, so choose from 1 to 4"):
        nearest(z, 5)
    with pytest.raises(ValueError, match="queries name row 9; rows run from 0 to 4"):
        nearest(z, 2, queries=[0, 9])
    with pytest.raises(ValueError, match="queries name row -1"):
        nearest(z, 2, queries=[-1])
