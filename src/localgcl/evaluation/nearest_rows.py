"""The most similar nodes by cosine: exact where that is quick, else approximate; a note says which."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float32, Int, Int32
from torch import Tensor

from localgcl.evaluation.inputs import read_embeddings
from localgcl.evaluation.task import normalised_rows
from localgcl.ops.rows import cosine_neighbours, kmeans, principal_directions

EXACT_PAIRS = 20_000**2
"""Pairs of rows that are compared exactly, at most: seconds on two cores."""
COMPONENTS = 64
"""Principal components in which candidates are looked for."""
_MORE = 2
"""Candidates for each neighbour wanted, found in components; the exact cosine picks among them."""
_CELLS = 12
"""Groups of rows that each row is compared with."""
_SAMPLE = 50_000
"""Groups and principal components are computed from at most so many rows."""
_ENTRIES = 2**24
"""Similarities held at a time: 64 MiB."""


class Nearest(NamedTuple):
    """For each query the most similar rows, best first, their cosines, and how they were found, in one sentence.

    Where a search found fewer than k rows, the others are -1, with cosine 0.
    """

    rows: Int32[np.ndarray, "q k"]
    similarity: Float32[np.ndarray, "q k"]
    note: str


def nearest(z: Any, k: int = 10, *, queries: Any = None, seed: int = 0) -> Nearest:
    """The k rows of largest cosine for each query, without the query itself.

    Up to 4 * 10^8 pairs of query and row are all compared: O(q n d). Beyond that, k-means makes sqrt(n) groups of rows in 64
    principal components, a row is compared with those of the 12 nearest groups, and the cosine of whole rows picks k of the
    best 2 k. A row of zeros has cosine 0 with all others.

    Args:
        z: Embeddings, one row a node; dense.
        k: How many, at most the number of other rows.
        queries: Positions of the rows to look for neighbours of; all rows when not given.
        seed: Seed of the approximate search; the exact one is not random.

    Example:
        >>> found = nearest([[1.0, 0.0], [0.0, 1.0], [1.0, 0.2]], 1)
        >>> found.rows.ravel().tolist(), found.note
        ([2, 2, 0], 'Nearest nodes are exact: all pairs were compared by cosine.')
    """
    x = read_embeddings(z)
    x = x if isinstance(x, Tensor) else torch.from_numpy(x.toarray())
    n = len(x)
    if not 1 <= k < n:
        raise ValueError(f"k is {k}; {n} rows have {n - 1} others each, so choose from 1 to {n - 1}")
    places = torch.arange(n) if queries is None else torch.as_tensor(np.asarray(queries, dtype=np.int64)).reshape(-1)
    if len(places) and not (int(places.min()) >= 0 and int(places.max()) < n):
        wrong = int(places.min()) if int(places.min()) < 0 else int(places.max())
        raise ValueError(f"queries name row {wrong}; rows run from 0 to {n - 1}")
    unit = normalised_rows(x)
    assert isinstance(unit, Tensor)
    if len(places) * n <= EXACT_PAIRS:
        found = cosine_neighbours(unit[places], unit, k + 1)
        return _picked(unit, places, found, k, "Nearest nodes are exact: all pairs were compared by cosine.")
    found = _candidates(in_components(unit, seed), min(n - 1, _MORE * k) + 1, seed)
    note = (
        f"Nearest nodes are approximate: each was compared with the nodes of its {_CELLS} nearest of {math.isqrt(n):,} groups, "
        f"in {min(COMPONENTS, x.shape[1])} principal components; the best are ranked by their cosine."
    )
    return _picked(unit, places, found[places], k, note)


def _picked(unit: Float[Tensor, "n d"], queries: Tensor, found: Tensor, k: int, note: str) -> Nearest:
    """The k best of the candidates by the cosine of whole rows, a block of queries at a time."""
    rows, similarity = [], []
    for start in range(0, len(queries), 4096):
        own, others = queries[start : start + 4096], found[start : start + 4096]
        cosine = torch.linalg.vecdot(unit[own][:, None, :], unit[others])
        # The query is left out here and not by the search: of equal rows, any may have been found first.
        cosine = torch.where(others == own[:, None], -torch.inf, cosine)
        best, order = cosine.sort(dim=1, descending=True, stable=True)
        missing = best[:, :k] == -torch.inf
        rows.append(torch.where(missing, -1, others.gather(1, order)[:, :k]))
        similarity.append(torch.where(missing, 0.0, best[:, :k].clamp(-1.0, 1.0)))
    return Nearest(torch.cat(rows).int().numpy(), torch.cat(similarity).float().numpy(), note)


def in_components(unit: Float[Tensor, "n d"], seed: int) -> Float[Tensor, "n c"]:
    """Rows in at most 64 dimensions that keep most of their cosines. Not centred: cosines are those of the rows as they are."""
    if unit.shape[1] <= COMPONENTS:
        return unit
    generator = torch.Generator().manual_seed(seed)
    sample = unit[torch.randperm(len(unit), generator=generator)[:_SAMPLE]]
    return unit @ principal_directions(sample, COMPONENTS, generator=generator)


def _candidates(x: Float[Tensor, "n c"], count: int, seed: int) -> Int[Tensor, "n {count}"]:
    """Positions of about the `count` nearest rows of each row. k-means makes cells of rows; a row is compared with a few cells.

    O(n (sqrt(n) + 12 m) c) time for cells of m rows; m is about sqrt(n). The row itself may be among them, and fills the places
    where fewer were found.
    """
    cells = math.isqrt(len(x))
    generator = torch.Generator().manual_seed(seed)
    sample = x[torch.randperm(len(x), generator=generator)[:_SAMPLE]]
    (places,) = kmeans(sample, cells, generator=generator, iterations=10)
    sizes = torch.bincount(places, minlength=cells)
    centres = x.new_zeros(cells, x.shape[1]).index_add_(0, places, sample)[sizes > 0]
    visited = cosine_neighbours(x, centres, min(_CELLS, len(centres)))
    own = visited[:, 0]
    members = own.argsort(stable=True).split(torch.bincount(own, minlength=len(centres)).tolist())
    best = x.new_full((len(x), count), -torch.inf)
    found = torch.arange(len(x))[:, None].expand(-1, count).contiguous()
    for cell in visited.T:  # the nearest cell of each row, then the next one
        asking = cell.argsort(stable=True).split(torch.bincount(cell, minlength=len(centres)).tolist())
        for rows, keys in zip(asking, members, strict=True):
            for part in rows.split(max(1, _ENTRIES // max(1, len(keys)))):
                similarity = torch.cat([best[part], x[part] @ x[keys].T], dim=1)
                best[part], order = similarity.topk(count, dim=1)
                found[part] = torch.cat([found[part], keys.expand(len(part), -1)], dim=1).gather(1, order)
    return found
