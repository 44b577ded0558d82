r"""The kernelised negative term with structured features on a CPU: three passes over the nodes, nothing of size n x D.

With angles $\theta_i = W^T z_i$ and $\psi_i = [\cos\theta_i, \sin\theta_i] / \sqrt D$, the term is $\sum_i \log q_i$ with
$q_i = \psi_i^T S$ and $S = \sum_k \psi_k$. Each $\psi_i$ occurs in its own q and, through S, in all others, so

$$\frac{\partial}{\partial\psi_i} \sum_j \log q_j = \frac{S}{q_i} + g, \qquad g = \sum_j \frac{\psi_j}{q_j}.$$

No $q_i$ is known before S is complete, and no gradient before g is. Hence three passes: `feature_sum` (S), `balance` (q and g,
which keeps the angles of 16 nodes in between) and `pullback` (the gradient). Each pass computes the angles again, because
writing them to memory and reading them back takes longer.

**The transform.** A block of W^T is $c H S_2 H S_1 H S_0$, with H the Hadamard matrix of $\pm 1$, size $p = 2^k$, the $S_i$
diagonal matrices of signs and $c = \mathrm{scale} \cdot p^{-3/2}$. The cosine multiplies by c; the transform only adds and
subtracts. The gradient needs the transpose, $c S_0 H S_1 H S_2 H$: the same steps backwards.

H is a Kronecker product of matrices of size 8, and one of size 2 or 4 where p asks for it. Each factor is one sweep over the
rows, in butterflies that stay in registers. The signs are multiplied in by the first sweep of each H.

**The layout.** 16 nodes at a time, one in each lane (`kernels`): p rows of 64 bytes, which stay in the first-level cache up to
p = 256 and in the second-level cache beyond.

**Threads.** n and D alone decide how nodes are split into groups, at most 64. Each group has its own sums, which are added in
order at the end: the result is the same to the bit with any number of threads. Kernels release Python's lock, so ordinary
threads run them at once. The threads live for one call: nothing is left that a fork could break or that competes with torch.

Time O(n D log p), memory O(D) a group and O(p + D) lines of 64 bytes a thread.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from jaxtyping import Float32
from numpy.typing import NDArray
from torch import Tensor

from localgcl.ops.cpu import kernels
from localgcl.ops.cpu.kernels import LANES

Numbers = NDArray[np.float32]

_MOST_GROUPS = 64
_LEAST_WORK = 2**20  # Angles in a group: they take milliseconds, starting a thread takes 0.1 ms.


def feature_sum(
    z: Float32[Tensor, "n d"],
    weights: Float32[Tensor, " n"],
    signs: Float32[Tensor, "3 blocks p"],
    scale: float,
    num_features: int,
) -> Float32[Tensor, "2 D"]:
    r"""$\sum_i w_i \cos\theta_{if}$ in row 0 and $\sum_i w_i \sin\theta_{if}$ in row 1, for each frequency f."""
    job = _Pass(z, signs, scale, num_features)
    each_weight, partial = _array("weights", weights, job.n), job.partial_sums()

    def run(group: int, first: int, last: int) -> None:
        scratch = _lines(job.size, job.size, 1)
        kernels.feature_sum(job.z, each_weight, job.signs, job.factor, partial[group], first, last, *scratch)

    job.each_group(run)
    return job.total(partial)


def balance(
    z: Float32[Tensor, "n d"],
    total: Float32[Tensor, "2 D"],
    signs: Float32[Tensor, "3 blocks p"],
    scale: float,
    num_features: int,
    floor: float | Float32[Tensor, ""],
    living: Float32[Tensor, " n"],
) -> tuple[Float32[Tensor, " n"], Float32[Tensor, " n"], Float32[Tensor, "2 D"]]:
    r"""The $q_i$, their inverses, and the sum of features weighted by the inverses.

    $q_i = \frac1D \sum_f \cos\theta_{if}\,T_{0f} + \sin\theta_{if}\,T_{1f}$; the inverse is $1/q_i$ for living nodes (1 in
    `living`, not 0) with $q_i \ge$ floor and 0 for all others; the sum is $\sum_i [\cos\theta_i; \sin\theta_i] / q_i$ over the
    former.
    """
    job = _Pass(z, signs, scale, num_features)
    alive, summed, partial = _array("living", living, job.n), job.pair("total", total), job.partial_sums()
    q, inverse, least = torch.empty(job.n), torch.empty(job.n), np.float32(float(floor))

    def run(group: int, first: int, last: int) -> None:
        scratch = _lines(job.size, job.signs[0].size, 1)
        results = q.numpy(), inverse.numpy(), partial[group]
        kernels.balance(job.z, summed, job.signs, job.factor, least, alive, *results, first, last, *scratch)

    job.each_group(run)
    return q, inverse, job.total(partial)


def pullback(
    z: Float32[Tensor, "n d"],
    a: Float32[Tensor, " n"],
    u: Float32[Tensor, "2 D"],
    b: Float32[Tensor, " n"],
    v: Float32[Tensor, "2 D"],
    signs: Float32[Tensor, "3 blocks p"],
    scale: float,
    num_features: int,
) -> Float32[Tensor, "n d"]:
    r"""The gradient by z of $\sum_{if} \cos\theta_{if}(a_i u_{0f} + b_i v_{0f}) + \sin\theta_{if}(a_i u_{1f} + b_i v_{1f})$."""
    job = _Pass(z, signs, scale, num_features)
    of_u, of_v = (_array("a", a, job.n), job.pair("u", u)), (_array("b", b, job.n), job.pair("v", v))
    out = torch.empty(job.z.shape)

    def run(_group: int, first: int, last: int) -> None:
        scratch = _lines(job.size, job.size, job.size, 1, 1)
        how = job.signs, job.factor, job.slope, LANES
        kernels.pullback(job.z, *of_u, *of_v, *how, out.numpy(), first, last, *scratch)

    job.each_group(run)
    return out


class _Pass:
    """What the three passes share: the transform's constants and the groups of nodes."""

    def __init__(self, z: Tensor, signs: Tensor, scale: float, num_features: int) -> None:
        self.n, d = z.shape
        self.size, self.num_features = signs.shape[-1], num_features
        if self.size < d or self.size & (self.size - 1):
            raise ValueError(f"signs have blocks of {self.size}; they must be a power of two of at least {d}, the width of z")
        blocks = -(-num_features // self.size)
        self.z, self.signs = _array("z", z, self.n, d), _array("signs", signs, 3, blocks, self.size)
        slope = scale * self.size**-1.5
        self.slope, self.factor = np.float32(slope), np.float32(slope / math.pi)  # radians and half-turns

        chunks = -(-self.n // LANES)
        count = max(1, min(_MOST_GROUPS, chunks, self.n * num_features // _LEAST_WORK))
        edges = [*(LANES * (chunks * group // count) for group in range(count)), self.n]
        self.groups = [(group, edges[group], edges[group + 1]) for group in range(count)]

    def each_group(self, run: Callable[[int, int, int], None]) -> None:
        workers = min(torch.get_num_threads(), len(self.groups))
        if workers == 1:
            for group in self.groups:
                run(*group)
        else:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(lambda group: run(*group), self.groups))

    def partial_sums(self) -> Numbers:
        return np.zeros((len(self.groups), 2, self.num_features), np.float32)

    def total(self, partial: Numbers) -> Tensor:
        # NumPy adds in one order; torch's order depends on the number of threads.
        return torch.from_numpy(partial.sum(0, dtype=np.float64).astype(np.float32))

    def pair(self, name: str, pair: Tensor) -> Numbers:
        return _array(name, pair, 2, self.num_features)


def _array(name: str, tensor: Tensor, *shape: int) -> Numbers:
    """The tensor's memory as an array. Kernels do not check bounds, so this checks shapes."""
    if tensor.dtype != torch.float32 or tensor.device.type != "cpu" or tensor.shape != shape:
        raise ValueError(
            f"{name} is {tensor.dtype} of shape {tuple(tensor.shape)} on {tensor.device}; it must be torch.float32 of shape "
            f"{shape} on the CPU: for anything else use the plain torch expression"
        )
    array: Numbers = tensor.detach().contiguous().numpy()
    return array


def _lines(*rows: int) -> list[Numbers]:
    """Scratch arrays of zeros with these numbers of rows. Torch aligns them to cache lines; NumPy need not."""
    return [torch.zeros(LANES * count).numpy() for count in rows]
