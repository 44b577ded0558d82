r"""TODO"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.ops import numba_kernels as kernels
from localgcl.ops.numba_kernels import ADDED, DOUBLE, LANES, MOST_BITS, PLAIN, SIGNED

_MOST_GROUPS = 64
_LEAST_WORK = 2**20


def feature_sum(
    z: Float[Tensor, "n d"],
    weights: Float[Tensor, " n"],
    signs: Float[Tensor, "3 blocks p"],
    scale: float,
    num_features: int,
) -> Float[Tensor, "2 D"]:
    job = _Job(z, signs, scale, num_features)
    partial = job.partial_sums()

    def run(group: int, first: int, last: int) -> None:
        scratch = job.lines(1), job.lines(job.span), job.lines(4)
        scratch = job.lines(job.size), job.lines(job.span), job.lines(4)
        kernels.feature_sum(
            job.z, weights.numpy(), job.signs, job.forward, job.factor, partial[group], first, last, *scratch
        )

    job.each_group(run)
    return job.total(partial)


def balance(
    z: Float[Tensor, "n d"],
    total: Float[Tensor, "2 D"],
    signs: Float[Tensor, "3 blocks p"],
    scale: float,
    num_features: int,
    floor: float,
    living: Float[Tensor, " n"],
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"], Float[Tensor, "2 D"]]:
    job = _Job(z, signs, scale, num_features)
    partial, q, inverse = job.partial_sums(), torch.empty(len(z)), torch.empty(len(z))
    padded = job.padded(total)

    def run(group: int, first: int, last: int) -> None:
        scratch = job.lines(job.size), job.lines(job.all_rows), job.lines(4)
        kernels.balance(
            job.z, padded, job.signs, job.forward, job.factor, num_features, np.float32(floor), living.numpy(), q.numpy(),
            inverse.numpy(), partial[group], first, last, *scratch
        )

    job.each_group(run)
    return q, inverse, job.total(partial)


def pullback(
    z: Float[Tensor, "n d"],
    a: Float[Tensor, " n"],
    u: Float[Tensor, "2 D"],
    b: Float[Tensor, " n"],
    v: Float[Tensor, "2 D"],
    signs: Float[Tensor, "3 blocks p"],
    scale: float,
    num_features: int,
) -> Float[Tensor, "n d"]:
    job = _Job(z, signs, scale, num_features)
    out = torch.empty_like(z)
    pu, pv = job.padded(u), job.padded(v)

    def run(group: int, first: int, last: int) -> None:
        scratch = job.lines(job.size), job.lines(job.span), job.lines(job.size), job.lines(4)
        kernels.pullback(
            job.z, a.numpy(), pu, b.numpy(), pv, job.signs, job.forward, job.backward, job.factor,
            np.float32(math.pi * job.exact_factor), out.numpy(), first, last, *scratch
        )

    job.each_group(run)
    return out


class _Job:
    def __init__(self, z: Tensor, signs: Tensor, scale: float, num_features: int) -> None:
        self.z, self.signs = z.numpy(), signs.numpy()
        _, blocks, self.size = signs.shape
        self.num_features = num_features
        self.exact_factor = scale * self.size**-1.5 / math.pi
        self.factor = np.float32(self.exact_factor)
        self.rows = -(-num_features // LANES) * LANES
        self.span = max(self.size, 2**MOST_BITS)
        self.all_rows = max(self.rows, blocks * self.size)
        self.forward, self.backward = _plans(self.size.bit_length() - 1)

    def lines(self, rows: int) -> np.ndarray:
        return torch.zeros(rows + (rows >> MOST_BITS) + 1, LANES).numpy()

    def partial_sums(self) -> np.ndarray:
        return np.zeros((len(self.groups()), 2, self.rows), np.float32)

    def total(self, partial: np.ndarray) -> Tensor:
        return torch.from_numpy(partial.sum(0, dtype=np.float64)[:, : self.num_features].astype(np.float32))

    def padded(self, pair: Tensor) -> np.ndarray:
        return torch.nn.functional.pad(pair, (0, self.rows - self.num_features)).contiguous().numpy()

    def groups(self) -> list[tuple[int, int]]:
        n = len(self.z)
        chunks = -(-n // LANES)
        count = max(1, min(_MOST_GROUPS, chunks, n * self.rows // _LEAST_WORK))
        edges = [chunks * g // count * LANES for g in range(count)] + [n]
        return list(zip(edges, edges[1:]))

    def each_group(self, run: Callable[[int, int, int], None]) -> None:
        groups = self.groups()
        jobs = [(g, first, last) for g, (first, last) in enumerate(groups)]
        workers = min(torch.get_num_threads(), len(jobs))
        if workers == 1:
            for job in jobs:
                run(*job)
            return
        with ThreadPoolExecutor(workers) as pool:
            for _ in pool.map(lambda job: run(*job), jobs):
                pass


def _plans(bits: int) -> tuple[np.ndarray, np.ndarray]:
    levels = max(1, -(-bits // MOST_BITS))
    top = bits - MOST_BITS * (levels - 1)
    factors = [(top, 1 << MOST_BITS * (levels - 1))] + [(MOST_BITS, 1 << MOST_BITS * l) for l in range(levels - 2, -1, -1)]
    if levels == 1:
        f = factors[0]
        forward = [(SIGNED, *f, 0), (SIGNED, *f, 1), (SIGNED, *f, 2)]
        backward = [(DOUBLE, *f, 2), (SIGNED, *f, 1), (ADDED, 0, 1, 0)]
    else:
        first, *middle, last = factors
        down = [(PLAIN, *f, 0) for f in middle]
        up = down[::-1]
        forward = [(SIGNED, *first, 0), *down, (DOUBLE, *last, 1), *up, (DOUBLE, *first, 2), *down, (PLAIN, *last, 0)]
        backward = [(PLAIN, *last, 0), *up, (DOUBLE, *first, 2), *down, (DOUBLE, *last, 1), *up, (ADDED, *first, 0)]
    return np.array(forward, np.int64), np.array(backward, np.int64)
