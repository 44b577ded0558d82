import re

import numpy as np
import pytest

from localgcl.report.clusters import find_clusters


def blobs(sizes: list[int], dim: int = 8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    which = np.repeat(np.arange(len(sizes)), sizes)
    return (10 * np.eye(dim)[which] + rng.normal(scale=0.3, size=(len(which), dim))).astype(np.float32), which


def test_the_silhouette_finds_the_number_of_groups() -> None:
    z, which = blobs([30, 50, 20, 40])
    found = find_clusters(z)
    assert found.num_clusters == 4
    assert "4 of them, because of 2 to 20 this number has the largest mean silhouette" in found.how
    assert np.bincount(found.member).tolist() == [50, 40, 30, 20]  # by falling size
    assert len({(a, b) for a, b in zip(which, found.member, strict=True)}) == 4


def test_the_same_seed_gives_the_same_clusters() -> None:
    z = np.random.default_rng(1).normal(size=(100, 6)).astype(np.float32)
    a, b = find_clusters(z, seed=3), find_clusters(z, seed=3)
    np.testing.assert_array_equal(a.member, b.member)
    assert a.how == b.how


def test_a_number_that_was_asked_for_is_taken() -> None:
    z, _ = blobs([30, 50])
    found = find_clusters(z, 5)
    assert found.num_clusters == 5
    assert found.how.startswith("Clusters by k-means on unit rows; their number, 5, was asked for.")


def test_nodes_near_the_centre_are_closest() -> None:
    z, _ = blobs([30, 30])
    found = find_clusters(z, 2)
    for cluster in range(2):
        unit = z[found.member == cluster] / np.linalg.norm(z[found.member == cluster], axis=1, keepdims=True)
        centre = unit.mean(0) / np.linalg.norm(unit.mean(0))
        np.testing.assert_allclose(found.closeness[found.member == cluster], unit @ centre, rtol=1e-5)


def test_many_columns_are_reduced_first() -> None:
    z, which = blobs([40, 60, 50], dim=200)
    found = find_clusters(z)
    assert "in 64 principal components" in found.how
    assert found.num_clusters == len(np.unique(which)) == len(set(zip(which, found.member, strict=True)))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_handful_of_nodes_has_clusters_too(n: int) -> None:
    found = find_clusters(np.eye(4, dtype=np.float32)[:n])
    assert found.num_clusters in (1, 2)
    assert len(found.member) == n
    assert n == 3 or re.search(rf"because {n} nodes? allows? no more", found.how)  # there was no other number to choose


def test_equal_embeddings_are_one_cluster() -> None:
    assert find_clusters(np.ones((30, 4), dtype=np.float32)).num_clusters == 1


def test_more_clusters_than_nodes_are_refused() -> None:
    with pytest.raises(ValueError, match="clusters is 9; there are 4 nodes, so choose from 1 to 4"):
        find_clusters(np.eye(4, dtype=np.float32), 9)
    with pytest.raises(ValueError, match="clusters is 0"):
        find_clusters(np.eye(4, dtype=np.float32), 0)
