"""k-means by Lloyd's iterations, several runs at once."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

# Distances held at a time: 64 MiB, or 256 on a GPU, where small kernels take longer to launch than to run.
_ENTRIES = {"cpu": 2**24, "cuda": 2**26}


@torch.no_grad()
def kmeans(
    x: Float[Tensor, "n d"],
    clusters: int,
    *,
    generator: torch.Generator,
    runs: int = 1,
    iterations: int = 20,
    chunk: int | None = None,
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
        chunk: Rows at a time; chosen by the device when not given.
    """
    n = x.shape[0]
    if not 1 <= clusters <= n:
        raise ValueError(f"clusters is {clusters}; there are {n} rows, so choose from 1 to {n}")
    starts = [torch.randperm(n, generator=generator, device=x.device)[:clusters] for _ in range(runs)]
    centres = x[torch.cat(starts)]  # run after run
    chunk = chunk or max(1, _ENTRIES[x.device.type] // (runs * clusters))
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
