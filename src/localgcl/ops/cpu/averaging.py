"""Averages over neighbours for a range of rows, over arrays that may be mapped from files: a compiled kernel on all threads."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, no_type_check

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


def average_rows(
    indptr: Array, indices: Array, weights: Array | None, scale: Array, x: Array, rows: range, self_loops: float
) -> NDArray[np.float32]:
    r"""Rows of $D^{-1/2}(A + wI)D^{-1/2} X$. O(their edges times the columns), beyond X nothing of the size of the graph.

    Args:
        indptr: Row pointers of the whole, undirected graph.
        indices: Column of each edge.
        weights: Weight of each edge; None for ones.
        scale: $D^{-1/2}$, 0 where D is.
        x: X, one row a node.
        rows: The rows to compute, in steps of one.
        self_loops: w.
    """
    out = np.empty((len(rows), x.shape[1]), dtype=np.float32)
    ones = np.ones(0, dtype=np.float32) if weights is None else weights
    loop = np.float32(self_loops)

    def part(start: int, stop: int) -> None:
        _average(indptr, indices, ones, scale, x, rows.start + start, loop, out[start:stop])

    cuts = np.linspace(0, len(rows), 4 * torch.get_num_threads() + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        list(pool.map(part, cuts[:-1], cuts[1:]))
    return out


# nogil: several threads run at once. no_type_check keeps the test run's shape checks from wrapping it.
@njit(nogil=True, error_model="numpy", fastmath={"contract"}, cache=True)
@no_type_check
def _average(indptr, indices, weights, scale, x, first, loop, out):
    columns = x.shape[1]
    for k in range(out.shape[0]):
        i, row = first + k, out[k]
        own = loop * scale[i]
        for c in range(columns):
            row[c] = own * x[i, c]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            w = scale[j] * weights[e] if weights.size > 0 else scale[j]
            neighbour = x[j]
            for c in range(columns):
                row[c] += w * neighbour[c]
        for c in range(columns):
            row[c] *= scale[i]
