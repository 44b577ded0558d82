from typing import Literal

import pytest
import torch

from localgcl.ops.neighbours import cosine_neighbours
from tests.references.graphs import random_rows


@pytest.mark.parametrize("nodes", [50, 51, 403])  # groups of 2, 2 and 8 columns; the last is not full in two of them
@pytest.mark.parametrize("chunk", [1, 7, 50, None])
@pytest.mark.parametrize("own", ["compete", "first", "exclude"])
def test_neighbours_are_those_of_a_full_sort(
    nodes: int, chunk: int | None, own: Literal["compete", "first", "exclude"]
) -> None:
    queries, keys = random_rows(nodes, 6), random_rows(nodes, 6, seed=1)
    keys[:, 0] -= 9  # most cosines are negative, so that padding with zeros would be found first
    cosine = torch.nn.functional.cosine_similarity(queries[:, None], keys[None], dim=2)
    if own != "compete":
        cosine.fill_diagonal_(2 if own == "first" else -2)
    expected = cosine.argsort(1, descending=True)[:, :5]
    assert torch.equal(cosine_neighbours(queries, keys, 5, own=own, chunk=chunk), expected)


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
