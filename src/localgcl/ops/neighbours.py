"""Exact nearest neighbours by cosine, in chunks of rows."""

import math
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

# Similarities held at a time: 64 MiB, or 256 on a GPU, where small kernels take longer to launch than to run.
_ENTRIES = {"cpu": 2**24, "cuda": 2**26}


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
        k: Number of neighbours, at most the number of keys that may be found.
        own: How to treat key i for query i when both are the same node: it competes like any other, comes first whatever
            its cosine (AFGRL), or is left out.
        chunk: Queries at a time; chosen by the device when not given.
    """
    n, m = queries.shape[0], keys.shape[0]
    found = m - (own == "exclude")
    if not 1 <= k <= found:
        raise ValueError(f"k is {k}; there are {found} neighbours to find, so choose from 1 to {found}")
    if own != "compete" and n != m:
        raise ValueError(f"own is {own!r} with {n} queries and {m} keys; it needs as many, row i of both the same node")
    group = _group(m, k)
    directions = torch.nn.functional.pad(torch.nn.functional.normalize(keys).T, (0, -m % group)).contiguous()
    nearest = []
    for rows in torch.arange(n, device=queries.device).split(chunk or max(1, _ENTRIES[queries.device.type] // m)):
        similarity = torch.nn.functional.normalize(queries[rows]) @ directions
        similarity[:, m:] = -torch.inf
        if own != "compete":
            similarity.scatter_(1, rows[:, None], torch.inf if own == "first" else -torch.inf)
        nearest.append(_largest(similarity, k, group))
    return torch.cat(nearest)


def _group(m: int, k: int) -> int:
    """Columns per group, a power of two: a row then has about as many groups as k groups have columns."""
    return 1 << (math.isqrt(m // k).bit_length() - 1)


def _largest(rows: Float[Tensor, "b m"], k: int, group: int) -> Int[Tensor, "b k"]:
    """Columns of the k largest entries of each row, largest first; faster than `topk`, which makes several passes.

    They lie in the k groups with the largest maxima, so all other groups are read once.
    """
    grouped = rows.view(len(rows), -1, group)
    groups = grouped.amax(2).topk(min(k, grouped.shape[1]), dim=1).indices
    entries = grouped.gather(1, groups[:, :, None].expand(-1, -1, group)).flatten(1).topk(k, dim=1).indices
    return groups.gather(1, entries // group) * group + entries % group
