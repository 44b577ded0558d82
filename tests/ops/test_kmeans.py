import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from torch import Tensor

from localgcl.ops.kmeans import kmeans
from tests.references.graphs import random_rows


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def starts(n: int, clusters: int, runs: int, seed: int = 0) -> list[Tensor]:
    random = generator(seed)
    return [torch.randperm(n, generator=random)[:clusters] for _ in range(runs)]


@pytest.mark.parametrize("iterations", [1, 3, 20])
@pytest.mark.parametrize("chunk", [1, 13, None])
def test_each_run_is_lloyds_algorithm(iterations: int, chunk: int | None) -> None:
    x = random_rows(80, 5)
    found = kmeans(x, 6, generator=generator(), runs=3, iterations=iterations, chunk=chunk)
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
