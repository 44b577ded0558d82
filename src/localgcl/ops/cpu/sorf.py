r"""The kernelised negative term with structured features on a CPU: three passes over the nodes, nothing of size n x D.

With angles $\theta_i = W^T z_i$ and $\psi_i = [\cos\theta_i, \sin\theta_i] / \sqrt D$, the term is $\sum_i \log q_i$ with
$q_i = \psi_i^T S$ and $S = \sum_k \psi_k$. Each $\psi_i$ occurs in its own q and, through S, in all others, so

$$\frac{\partial}{\partial\psi_i} \sum_j \log q_j = \frac{S}{q_i} + g, \qquad g = \sum_j \frac{\psi_j}{q_j}.$$

No $q_i$ is known before S is complete, and no gradient before g is: three passes, `feature_sum` (S), `balance` (q and g, the
angles of a few nodes kept in between) and `pullback` (the gradient). Each computes the angles anew, which is cheaper than
to write them to memory and to read them back.

**The transform.** A block of W^T is $c H S_2 H S_1 H S_0$, with H the Hadamard matrix of $\pm 1$, size $p = 2^k$, the $S_i$
diagonal matrices of signs and $c = \mathrm{scale} \cdot p^{-3/2}$, the only multiplication by anything but a sign; it is put
off to the cosine. The gradient needs the transpose, $c S_0 H S_1 H S_2 H$: the same steps backwards.

H is a Kronecker product $H_a \otimes H_b$ (of three, beyond p = 1024) and its factors commute. Each is one sweep over the rows,
in butterflies of 32 rows that stay in registers. Run the factors as a b, then b a, then a b: of the two sweeps on either side
of a sign matrix, both work on the same rows, so $H_b S_1 H_b$ is a single sweep, as is $H_a S_2 H_a$. Four sweeps do three
transforms: $H_a S_0$; $H_b S_1 H_b$; $H_a S_2 H_a$; $H_b$.

**The layout.** 16 nodes at a time, one in each lane (`kernels`): p rows of 64 bytes, in the second-level cache.

**Threads.** Nodes are split in at most 64 groups, by n and D alone. Each has sums of its own, added in order at the end: the
result is the same to the bit with any number of threads. Kernels let go of Python's lock, so ordinary threads will do; they
live for one call, which leaves nothing behind to be forked or to clash with torch's own.

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
from localgcl.ops.cpu.kernels import ADDED, DOUBLE, MOST_BITS, PLAIN, SIGNED
from localgcl.ops.cpu.lanes import LANES

Numbers = NDArray[np.float32]

_MOST_GROUPS = 64
_LEAST_WORK = 2**20  # Angles in a group: a few milliseconds, against which starting a thread is nothing.


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
        scratch = _lines(job.size), _lines(job.span), _lines(1)
        sums = partial[group]
        kernels.feature_sum(job.z, each_weight, job.signs, job.forward, job.factor, sums, first, last, *scratch)

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
    r"""What each node has of `total`, the inverses, and the features balanced by them.

    $q_i = \frac1D \sum_f \cos\theta_{if}\,T_{0f} + \sin\theta_{if}\,T_{1f}$; the inverse is $1/q_i$ for living nodes (1 in
    `living`, not 0) with $q_i \ge$ floor and 0 for all others; and $\sum_i [\cos\theta_i; \sin\theta_i] / q_i$ with it.
    """
    job = _Pass(z, signs, scale, num_features)
    alive, padded, partial = _array("living", living, job.n), job.padded("total", total), job.partial_sums()
    q, inverse = torch.empty(job.n), torch.empty(job.n)

    def run(group: int, first: int, last: int) -> None:
        scratch = _lines(job.size), _lines(job.all_rows), _lines(2)
        constants = job.factor, np.float32(num_features), np.float32(float(floor))
        results = q.numpy(), inverse.numpy(), partial[group]
        kernels.balance(job.z, padded, job.signs, job.forward, *constants, alive, *results, first, last, *scratch)

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
    of_u, of_v = (_array("a", a, job.n), job.padded("u", u)), (_array("b", b, job.n), job.padded("v", v))
    out = torch.empty(job.z.shape)

    def run(_group: int, first: int, last: int) -> None:
        scratch = _lines(job.size), _lines(job.span), _lines(job.size), _lines(2)
        how = job.signs, job.forward, job.backward, job.factor, job.slope
        kernels.pullback(job.z, *of_u, *of_v, *how, out.numpy(), first, last, *scratch)

    job.each_group(run)
    return out


class _Pass:
    """What the three passes share: the transform, its constants, and how nodes are dealt out."""

    def __init__(self, z: Tensor, signs: Tensor, scale: float, num_features: int) -> None:
        self.n, d = z.shape
        self.size, self.num_features = 1 << (d - 1).bit_length(), num_features
        blocks = -(-num_features // self.size)
        self.z, self.signs = _array("z", z, self.n, d), _array("signs", signs, 3, blocks, self.size)
        slope = scale * self.size**-1.5
        self.slope, self.factor = np.float32(slope), np.float32(slope / math.pi)  # radians and half-turns
        self.forward, self.backward = _plans(self.size.bit_length() - 1)
        # Features are taken in tiles of 16 rows and transforms in blocks of p: what is beyond D is computed and dropped.
        self.rows = -(-num_features // LANES) * LANES
        self.all_rows, self.span = max(self.rows, blocks * self.size), max(self.size, 2**MOST_BITS)

        chunks = -(-self.n // LANES)
        count = max(1, min(_MOST_GROUPS, chunks, self.n * self.rows // _LEAST_WORK))
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
        return np.zeros((len(self.groups), 2, self.rows), np.float32)

    def total(self, partial: Numbers) -> Tensor:
        # In NumPy, which adds in one order; torch's depends on the number of threads.
        return torch.from_numpy(partial.sum(0, dtype=np.float64)[:, : self.num_features].astype(np.float32))

    def padded(self, name: str, pair: Tensor) -> Numbers:
        known = _array(name, pair, 2, self.num_features)
        return np.pad(known, ((0, 0), (0, self.rows - self.num_features)))


def _array(name: str, tensor: Tensor, *shape: int) -> Numbers:
    """The tensor's own memory. Kernels do not check where they read, so this does."""
    if tensor.dtype != torch.float32 or tensor.device.type != "cpu" or tensor.shape != shape:
        raise ValueError(
            f"{name} is {tensor.dtype} of shape {tuple(tensor.shape)} on {tensor.device}; it must be torch.float32 of shape "
            f"{shape} on the CPU: for anything else use the plain torch expression"
        )
    array: Numbers = tensor.detach().contiguous().numpy()
    return array


def _lines(rows: int) -> Numbers:
    """Scratch: zeros, since padding is never written. Torch starts it at a multiple of 64 bytes, NumPy need not."""
    array: Numbers = torch.zeros(rows + (rows >> MOST_BITS) + 1, LANES).numpy()
    return array


def _plans(bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sweeps (form, bits of the butterfly, stride, which signs) of the transform and of its transpose."""
    levels = max(1, -(-bits // MOST_BITS))
    strides = [1 << MOST_BITS * level for level in reversed(range(levels))]
    first, *others = [(bits - MOST_BITS * (levels - 1), strides[0]), *((MOST_BITS, stride) for stride in strides[1:])]
    if not others:
        forward = [(SIGNED, *first, which) for which in range(3)]
        backward = [(DOUBLE, *first, 2), (SIGNED, *first, 1), (ADDED, 0, 1, 0)]
    else:
        *middle, last = others
        down, final = [(PLAIN, *factor, 0) for factor in middle], (PLAIN, *last, 0)
        up = down[::-1]
        forward = [(SIGNED, *first, 0), *down, (DOUBLE, *last, 1), *up, (DOUBLE, *first, 2), *down, final]
        backward = [final, *up, (DOUBLE, *first, 2), *down, (DOUBLE, *last, 1), *up, (ADDED, *first, 0)]
    return np.array(forward, np.int64), np.array(backward, np.int64)
