"""Exact nearest neighbours by cosine, in chunks of rows."""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

# Similarities at hand at any time: 64 MiB.
_ENTRIES = 2**24


@torch.no_grad()
def cosine_neighbours(
    queries: Float[Tensor, "n d"],
    keys: Float[Tensor, "m d"],
    k: int,
    *,
    own: Literal["compete", "first", "exclude"] = "compete",
    chunk: int | None = None,
) -> Int[Tensor, "n k"]:
    """The k keys of largest cosine for each query, nearest first. O(n m d) time, O(chunk m) memory; not differentiable.

    Args:
        queries: Rows to look for neighbours of; zero rows have cosine 0 with everything.
        keys: Rows to look among.
        k: How many, at most the number of keys that may be found.
        own: What becomes of key i for query i where the two are the same nodes: it competes like any other, comes first
            whatever its cosine (AFGRL), or is left out.
        chunk: Queries at a time; chosen for 64 MiB of similarities when not given.
    """
    n, m = queries.shape[0], keys.shape[0]
    found = m - (own == "exclude")
    if not 1 <= k <= found:
        raise ValueError(f"k is {k}; there are {found} neighbours to find, so choose from 1 to {found}")
    if own != "compete" and n != m:
        raise ValueError(f"own is {own!r} with {n} queries and {m} keys; it needs as many, row i of both the same node")
    directions = torch.nn.functional.normalize(keys).T.contiguous()
    nearest = []
    for rows in torch.arange(n, device=queries.device).split(chunk or max(1, _ENTRIES // m)):
        similarity = torch.nn.functional.normalize(queries[rows]) @ directions
        if own != "compete":
            similarity.scatter_(1, rows[:, None], torch.inf if own == "first" else -torch.inf)
        nearest.append(similarity.topk(k, dim=1).indices)
    return torch.cat(nearest)
