"""Arrays and sparse matrices in, tensors out: the raw parts that a Graph is made of, each checked as it enters."""

import warnings
from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

# torch announces on first use that sparse CSR tensors are "beta" and that it does not check them; the little we use of
# them (storage and matrix product) is tested here, and a user can do nothing about the notices.
warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta", category=UserWarning)
warnings.filterwarnings("ignore", message="Sparse invariant checks are implicitly disabled", category=UserWarning)


def as_features(x: Any) -> Tensor:
    """Dense float32 or sparse CSR float32 features from a tensor, an array or a scipy sparse matrix."""
    if sp.issparse(x):
        matrix: Any = x
        # A copy: summing duplicates works in place, and index arrays shared with the caller's matrix would spoil it.
        csr = sp.csr_array(matrix, dtype=np.float32, copy=True)
        csr.sum_duplicates()
        parts = (torch.from_numpy(csr.indptr).long(), torch.from_numpy(csr.indices).long(), torch.from_numpy(csr.data))
        return csr_tensor(*parts, (csr.shape[0], csr.shape[1]))
    if isinstance(x, Tensor) and x.layout != torch.strided:
        return x.to_sparse_csr().float()
    array = x if isinstance(x, Tensor) else np.asarray(x)
    if array.ndim == 0 or (isinstance(array, np.ndarray) and array.dtype.kind not in "biuf"):
        raise ValueError(
            f"features are {type(x).__name__} of {array.dtype}; give an (n, f) array of numbers, text encoded first"
        )
    dense = torch.as_tensor(array)
    return dense.float().contiguous() if dense.ndim != 1 else dense.float()[:, None]


def csr_tensor(indptr: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A sparse CSR tensor whose parts are known to be right, so torch need not check them at every step."""
    return torch.sparse_csr_tensor(indptr, indices, values, size=shape, check_invariants=False)


def select_rows(x: Tensor, nodes: Int[Tensor, " k"]) -> Tensor:
    """Some rows of dense or sparse features, in the order given."""
    if x.layout != torch.sparse_csr:
        return x[nodes]
    starts, counts = x.crow_indices()[nodes], x.crow_indices().diff()[nodes]
    indptr = torch.zeros(nodes.numel() + 1, dtype=torch.int64, device=x.device)
    torch.cumsum(counts, 0, out=indptr[1:])
    total = int(indptr[-1])
    shift = (starts - indptr[:-1]).repeat_interleave(counts, output_size=total)
    where = torch.arange(total, device=x.device) + shift
    return csr_tensor(indptr, x.col_indices()[where], x.values()[where], (nodes.numel(), x.shape[1]))


def insert_diagonal(
    indptr: Int[Tensor, " pointers"], indices: Int[Tensor, " m"]
) -> tuple[Int[Tensor, " pointers"], Int[Tensor, " k"], Bool[Tensor, " k"]]:
    """CSR with an entry (i, i) put in its place in each row, and which entries those are. O(m), without a sort.

    The rows are sorted and have no such entry yet.
    """
    n, device = indptr.numel() - 1, indptr.device
    nodes = torch.arange(n, device=device)
    rows = nodes.repeat_interleave(indptr.diff(), output_size=indices.numel())
    after = indices > rows
    # An entry moves by one for each diagonal entry before it: those of earlier rows, and its own row's if that is smaller.
    place = torch.arange(indices.numel(), device=device) + rows + after
    merged = nodes.new_empty(indices.numel() + n)
    diagonal = torch.ones(merged.numel(), dtype=torch.bool, device=device)
    merged[place] = indices
    diagonal[place] = False
    pointers = indptr + torch.arange(n + 1, device=device)
    # What no other entry took is the diagonal, one place a row.
    return pointers, torch.where(diagonal, diagonal.cumsum(0) - 1, merged), diagonal


def features_to_scipy(x: Tensor) -> sp.csr_array:
    """A sparse CSR tensor as a scipy array."""
    parts = (x.values().cpu().numpy(), x.col_indices().cpu().numpy(), x.crow_indices().cpu().numpy())
    return sp.csr_array(parts, shape=(x.shape[0], x.shape[1]))


def csr_order(
    source: Int[Tensor, " m"], target: Int[Tensor, " m"], n: int
) -> tuple[Int[Tensor, " pointers"], Int[Tensor, " m"], Int[Tensor, " m"]]:
    """Row pointers, column indices, and the position each stored edge had in the list."""
    order = torch.argsort(source * n + target, stable=True)
    indptr = torch.zeros(n + 1, dtype=torch.int64, device=source.device)
    torch.cumsum(torch.bincount(source, minlength=n), 0, out=indptr[1:])
    return indptr, target[order], order


def positions(nodes: Any, role: str) -> Int[Tensor, " m"]:
    """Node positions as int64; `role` is what an error calls them."""
    array = nodes if isinstance(nodes, Tensor) else np.asarray(nodes)
    if 0 in array.shape:
        return torch.zeros(0, dtype=torch.int64)
    kind = array.dtype
    if isinstance(kind, torch.dtype):
        integers = not (kind.is_floating_point or kind.is_complex or kind == torch.bool)
    else:
        integers = kind.kind in "iu"
    if not integers:
        raise ValueError(f"edge {role}s are {array.dtype}, not integers; give node positions 0..n-1")
    return torch.as_tensor(array).long().flatten()


def labels(y: Any) -> Int[Tensor, " n"]:
    """Classes as int64, whole floats included; anything else is refused."""
    array = y.cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    if array.dtype.kind == "f" and array.size and (np.isfinite(array) & (array == np.floor(array))).all():
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        # numpy turns a list with one odd member into one type, so the odd one is looked for in what was given.
        given = list(y) if isinstance(y, list | tuple) else array.ravel().tolist()
        wrong = next((v for v in given if not (v.is_integer() if isinstance(v, float) else isinstance(v, int))), array.dtype)
        raise ValueError(f"labels must be integers, got {wrong!r}; number the classes 0, 1, 2... (-1 for unknown)")
    return torch.from_numpy(array.astype(np.int64)).flatten()


def ids(node_ids: Any) -> NDArray[Any]:
    """Unique node names as an array; empty for None."""
    if node_ids is None:
        return np.empty(0, dtype=np.int64)
    ids = np.asarray(node_ids)
    if ids.ndim != 1:
        raise ValueError(f"node ids have shape {ids.shape}; give a one-dimensional array (of dtype object if ids are tuples)")
    # Objects are told apart by hash, since ids of mixed types have no order.
    distinct = len(set(ids.tolist())) if ids.dtype == object else len(np.unique(ids))
    if distinct != len(ids):
        ((name, count),) = Counter(ids.tolist()).most_common(1)
        raise ValueError(f"node id {name!r} appears {count} times; ids must be unique")
    return ids
