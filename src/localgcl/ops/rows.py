"""What rows of numbers have in common: nearest neighbours by cosine, k-means clusters, principal directions.

Nothing here is differentiable.
"""

import math
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

# Similarities or distances held at a time: 64 MiB, or 256 on a GPU, where small kernels take longer to launch than to run.
_ENTRIES = {"cpu": 2**24, "cuda": 2**26}
# More directions than asked for, and repeated products: the ones asked for are then accurate to a fraction of their spectrum.
_MORE, _ITERATIONS = 16, 4


@torch.no_grad()
def cosine_neighbours(
    queries: Float[Tensor, "n d"],
    keys: Float[Tensor, "m d"],
    k: int,
    *,
    own: Literal["compete", "first", "exclude"] = "compete",
) -> Int[Tensor, "n k"]:
    """The k keys of largest cosine for each query, nearest first. O(n m d) time, O(chunk m) memory; not differentiable.

    Args:
        queries: Rows to look for neighbours of; zero rows have cosine 0 with everything.
        keys: Rows to look among.
        k: Number of neighbours, at most the number of keys that may be found.
        own: How to treat key i for query i when both are the same node: it competes like any other, comes first whatever
            its cosine (AFGRL), or is left out.
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
    for rows in torch.arange(n, device=queries.device).split(max(1, _ENTRIES[queries.device.type] // m)):
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


@torch.no_grad()
def kmeans(
    x: Float[Tensor, "n d"],
    clusters: int,
    *,
    generator: torch.Generator,
    runs: int = 1,
    iterations: int = 20,
) -> Int[Tensor, "{runs} n"]:
    r"""The cluster of each row in each run, after a fixed number of iterations. Euclidean; not differentiable.

    Each run starts from `clusters` different random rows. An iteration gives rows to the nearest centre,
    $\arg\min_c \|c\|^2 / 2 - x \cdot c$, ties to the first, and moves centres to the mean of their rows; a centre without rows
    stays. All runs share one matrix product, and means are a product too, so the order of additions is fixed: the same
    generator gives the same clusters, bit for bit on a CPU.

    O(n d clusters runs) time an iteration, O(chunk clusters runs) memory.

    Args:
        x: Rows to cluster.
        clusters: Number of clusters, at most n.
        generator: Draws the starts; on the device of x.
        runs: Number of independent runs.
        iterations: Iterations of each run.
    """
    n = x.shape[0]
    if not 1 <= clusters <= n:
        raise ValueError(f"clusters is {clusters}; there are {n} rows, so choose from 1 to {n}")
    starts = [torch.randperm(n, generator=generator, device=x.device)[:clusters] for _ in range(runs)]
    centres = x[torch.cat(starts)]  # run after run
    chunk = max(1, _ENTRIES[x.device.type] // (runs * clusters))
    for _ in range(iterations):
        sums, counts = torch.zeros_like(centres), centres.new_zeros(len(centres), 1)
        for part in x.split(chunk):
            nearest = _nearest(part, centres, runs)
            member = x.new_zeros(len(part), runs, clusters).scatter_(2, nearest[:, :, None], 1).view(len(part), -1)
            sums += member.T @ part
            counts += member.sum(0)[:, None]
        centres = torch.where(counts > 0, sums / counts.clamp(min=1), centres)
    return torch.cat([_nearest(part, centres, runs) for part in x.split(chunk)]).T.contiguous()


def _nearest(x: Float[Tensor, "b d"], centres: Float[Tensor, "k d"], runs: int) -> Int[Tensor, "b {runs}"]:
    distance = torch.addmm(centres.square().sum(1) / 2, x, centres.T, alpha=-1)
    return distance.view(len(x), runs, -1).argmin(2)


@torch.no_grad()
def principal_directions(x: Float[Tensor, "n d"], count: int, *, generator: torch.Generator) -> Float[Tensor, "d k"]:
    r"""The first k = min(count, n, d) right singular vectors of x, the largest singular value first. O(n d k).

    Randomised subspace iteration (Halko, Martinsson & Tropp, 2011): $Q = \mathrm{qr}(X^T X Q)$ a few times from random Q. Exact
    up to rounding where d is at most k + 16. The largest entry of each vector is positive, so signs do not depend on the draw.

    Args:
        x: Rows; centre them first for principal components.
        count: How many directions.
        generator: Draws the start.
    """
    n, d = x.shape
    start = torch.randn(d, min(count + _MORE, n, d), generator=generator, dtype=x.dtype)
    basis = torch.linalg.qr(start)[0]
    for _ in range(_ITERATIONS):
        basis = torch.linalg.qr(x.T @ (x @ basis))[0]
    _, _, turn = torch.linalg.svd(x @ basis, full_matrices=False)
    found: Tensor = (basis @ turn.T)[:, :count]
    largest = found.gather(0, found.abs().argmax(dim=0, keepdim=True))
    return found * torch.where(largest < 0, -1.0, 1.0)
