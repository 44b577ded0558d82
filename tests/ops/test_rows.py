from typing import Literal

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from torch import Tensor

from localgcl.ops import rows
from localgcl.ops.rows import cosine_neighbours, kmeans, principal_directions
from tests.references.graphs import random_rows


@pytest.mark.parametrize("nodes", [50, 51, 403])  # groups of 2, 2 and 8 columns; the last is not full in two of them
@pytest.mark.parametrize("chunk", [1, 7, 50, 500])
@pytest.mark.parametrize("own", ["compete", "first", "exclude"])
def test_neighbours_are_those_of_a_full_sort(
    nodes: int, chunk: int, own: Literal["compete", "first", "exclude"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(rows._ENTRIES, "cpu", chunk * nodes)
    queries, keys = random_rows(nodes, 6), random_rows(nodes, 6, seed=1)
    keys[:, 0] -= 9  # most cosines are negative, so that padding with zeros would be found first
    cosine = torch.nn.functional.cosine_similarity(queries[:, None], keys[None], dim=2)
    if own != "compete":
        cosine.fill_diagonal_(2 if own == "first" else -2)
    expected = cosine.argsort(1, descending=True)[:, :5]
    assert torch.equal(cosine_neighbours(queries, keys, 5, own=own), expected)


def test_scale_does_not_matter_and_zero_rows_are_no_trouble() -> None:
    queries, keys = random_rows(20, 4), random_rows(30, 4, seed=1)
    scale = torch.linspace(0.1, 10, 30, dtype=torch.float64)[:, None]
    assert torch.equal(cosine_neighbours(queries, keys * scale, 3), cosine_neighbours(queries, keys, 3))
    queries[0] = 0
    assert cosine_neighbours(queries, keys, 30)[0].sort().values.tolist() == list(range(30))


def test_neighbours_do_not_depend_on_the_order_of_nodes() -> None:
    z = random_rows(40, 5)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    found = cosine_neighbours(z, z, 6, own="exclude")
    assert torch.equal(order[cosine_neighbours(z[order], z[order], 6, own="exclude")], found[order])


def test_impossible_questions_are_refused() -> None:
    z = random_rows(4, 3)
    with pytest.raises(ValueError, match="k is 4; there are 3 neighbours to find"):
        cosine_neighbours(z, z, 4, own="exclude")
    with pytest.raises(ValueError, match="k is 0"):
        cosine_neighbours(z, z, 0)
    with pytest.raises(ValueError, match="with 4 queries and 3 keys"):
        cosine_neighbours(z, z[:3], 1, own="first")


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def starts(n: int, clusters: int, runs: int, seed: int = 0) -> list[Tensor]:
    random = generator(seed)
    return [torch.randperm(n, generator=random)[:clusters] for _ in range(runs)]


@pytest.mark.parametrize("iterations", [1, 3, 20])
@pytest.mark.parametrize("chunk", [1, 13, 100])
def test_each_run_is_lloyds_algorithm(iterations: int, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rows._ENTRIES, "cpu", chunk * 3 * 6)
    x = random_rows(80, 5)
    found = kmeans(x, 6, generator=generator(), runs=3, iterations=iterations)
    assert found.shape == (3, 80)
    for labels, start in zip(found, starts(80, 6, 3), strict=True):
        centres = x[start]
        for _ in range(iterations):
            nearest = torch.cdist(x, centres).argmin(1)
            centres = torch.stack([x[nearest == c].mean(0) if (nearest == c).any() else centres[c] for c in range(6)])
        assert torch.equal(labels, torch.cdist(x, centres).argmin(1))


def test_enough_iterations_arrive_where_scikit_learn_does() -> None:
    x = random_rows(60, 3)
    (start,) = starts(60, 4, 1)
    (labels,) = kmeans(x, 4, generator=generator(), iterations=100)
    reference = KMeans(4, init=x[start].numpy(), n_init=1, max_iter=100, tol=0, algorithm="lloyd").fit(x.numpy())
    assert np.array_equal(labels.numpy(), reference.labels_)


def test_the_generator_decides_everything() -> None:
    x = random_rows(200, 8, dtype=torch.float32)
    first, again, other = (kmeans(x, 10, generator=generator(seed), runs=5) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert len({tuple(labels.tolist()) for labels in first}) == 5


def test_separate_groups_are_found() -> None:
    groups = torch.arange(90) % 3
    x = 100 * torch.eye(3)[groups] + random_rows(90, 3, dtype=torch.float32)
    runs = kmeans(x, 3, generator=generator(), runs=10)
    pure = [all(len(labels[groups == g].unique()) == 1 for g in range(3)) for labels in runs]
    # Three random rows are of three groups with probability 2/9, and then Lloyd finds them; all ten runs miss with 8%, and the
    # generator is fixed.
    assert any(pure)


@pytest.mark.parametrize("iterations", [1, 2, 3, 20])
def test_equal_rows_leave_centres_empty_and_where_they_are(iterations: int) -> None:
    labels = kmeans(torch.ones(6, 2), 4, generator=generator(), runs=2, iterations=iterations)
    assert labels.tolist() == [[0] * 6] * 2


def test_impossible_numbers_are_refused() -> None:
    for clusters in (0, 5):
        with pytest.raises(ValueError, match=rf"clusters is {clusters}; there are 4 rows, so choose from 1 to 4"):
            kmeans(torch.ones(4, 2), clusters, generator=generator())


@pytest.mark.parametrize(("n", "d", "count"), [(200, 10, 3), (300, 120, 8), (5, 40, 3), (40, 2, 8)])
def test_directions_are_the_first_right_singular_vectors(n: int, d: int, count: int) -> None:
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(n, d)) / np.arange(1, d + 1))
    found = principal_directions(x, count, generator=torch.Generator().manual_seed(0))
    kept = min(count, n, d)
    assert found.shape == (d, kept)
    torch.testing.assert_close(found.T @ found, torch.eye(kept, dtype=x.dtype))
    _, _, expected = torch.linalg.svd(x, full_matrices=False)
    # Four iterations with 16 more directions leave an error of the 9th power of the ratio of singular values.
    torch.testing.assert_close((found.T @ expected[:kept].T).abs(), torch.eye(kept, dtype=x.dtype), atol=1e-3, rtol=0)


def test_signs_do_not_depend_on_the_draw() -> None:
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(100, 12)) / np.arange(1, 13))
    a, b = (principal_directions(x, 2, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1))
    torch.testing.assert_close(a, b)
