"""CSR, the one adjacency type: compressed sparse rows and what is computed from them. Also sparse matrices in torch."""

import warnings
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from localgcl.graph.arrays import as_array, check_csr_tensor, checked_matrix, is_frozen

# torch announces on first use that sparse CSR tensors are "beta" and that it does not check them. We use only storage and
# matrix products, which our tests cover, and a user can do nothing about the notices.
warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta", category=UserWarning)
warnings.filterwarnings("ignore", message="Sparse invariant checks are implicitly disabled", category=UserWarning)

Transposed = tuple[Int[Tensor, " turned"], Int[Tensor, " m"], Int[Tensor, " m"]]


class CSR:
    """Row i lists its columns in increasing order. Properties are computed on first use and cached.

    The structure of a graph is square. The neighbourhoods of a batch are rectangular: one row for each node of the batch, and
    columns that number the rows of its embeddings, the batch's own nodes first and then those that are only neighbours.

    Args:
        indptr: Row pointers, shape (rows + 1,).
        indices: Column of each entry.
        num_columns: The number of rows when not given.
        rows: The row of each entry, if already known.
        transposed: The result of `transposed`, if already known.
        weights: Weight of each entry, above 0; None stands for 1 everywhere.
        simple: Known to be square and symmetric, without loops: what would take a sort to find out.
    """

    def __init__(
        self,
        indptr: Int[Tensor, " pointers"],
        indices: Int[Tensor, " m"],
        num_columns: int | None = None,
        *,
        rows: Int[Tensor, " m"] | None = None,
        transposed: Transposed | None = None,
        weights: Float[Tensor, " m"] | None = None,
        simple: bool = False,
    ) -> None:
        self.indptr, self.indices, self.weights = indptr, indices, weights
        self.num_columns = self.num_rows if num_columns is None else num_columns
        self._rows, self._transposed = rows, transposed
        if simple:
            self.has_loops, self.is_symmetric = False, True

    @property
    def num_rows(self) -> int:
        return self.indptr.numel() - 1

    @property
    def num_entries(self) -> int:
        return self.indices.numel()

    @property
    def device(self) -> torch.device:
        return self.indices.device

    @cached_property
    def degree(self) -> Int[Tensor, " n"]:
        """Number of entries of each row."""
        return self.indptr.diff()

    @cached_property
    def strength(self) -> Int[Tensor, " n"] | Float[Tensor, " n"]:
        """Sum of the weights of each row, in double precision; the degree where there are none."""
        if self.weights is None:
            return self.degree
        # Single precision could overflow.
        return torch.segment_reduce(self.weights.double(), "sum", offsets=self.indptr, unsafe=True, initial=0)

    @cached_property
    def rows(self) -> Int[Tensor, " m"]:
        """Row of each entry."""
        if self._rows is not None:
            return self._rows
        return torch.arange(self.num_rows, device=self.device).repeat_interleave(self.degree, output_size=self.num_entries)

    @cached_property
    def transposed(self) -> Transposed:
        """Pointers and indices of the transpose, and for each of its entries the position of that entry here."""
        if self._transposed is not None:
            return self._transposed
        order = torch.argsort(self.indices, stable=True)
        return _pointers(self.indices, self.num_columns), self.rows[order], order

    @property
    def reversed(self) -> "CSR":
        """The transpose as a structure of its own, with its weights."""
        indptr, indices, order = self.transposed
        return CSR(indptr, indices, self.num_rows, weights=None if self.weights is None else self.weights[order])

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether every entry (i, j) has an entry (j, i), equally often and of the same weight."""
        indptr, indices, order = self.transposed
        same = torch.equal(indptr, self.indptr) and torch.equal(indices, self.indices)
        return same and (self.weights is None or torch.equal(self.weights[order], self.weights))

    @cached_property
    def loops(self) -> Bool[Tensor, " m"]:
        """Which entries lie on the diagonal."""
        return self.rows == self.indices

    @cached_property
    def has_loops(self) -> bool:
        return bool(self.loops.any())

    @property
    def without_loops(self) -> "CSR":
        """The same rows without their diagonal entries."""
        # Not cached if it is this object: an object that refers to itself is freed late, and every step makes new views.
        return self._loopless if self.has_loops else self

    @cached_property
    def _loopless(self) -> "CSR":
        return self.keep(~self.loops)

    @cached_property
    def with_loops(self) -> "CSR":
        """The same rows with one diagonal entry each, of weight 1."""
        bare = self.without_loops
        indptr, indices, diagonal = insert_diagonal(bare.indptr, bare.indices)
        weights = None if bare.weights is None else insert_weights(bare.weights, diagonal, 1.0)
        return CSR(indptr, indices, self.num_columns, weights=weights)

    def keep(self, mask: Bool[Tensor, " m"]) -> "CSR":
        """The entries that `mask` selects, in their order. O(entries): nothing is sorted.

        The transpose is filtered too, so that many subsets of one structure cost a single sort.
        """
        where = mask.nonzero().flatten()
        before = _counts(mask)
        indptr, indices, order = self.transposed
        reversed_mask = mask[order]
        there = reversed_mask.nonzero().flatten()
        return CSR(
            before[self.indptr],
            self.indices[where],
            self.num_columns,
            rows=self.rows[where],
            transposed=(_counts(reversed_mask)[indptr], indices[there], before[order[there]]),
            weights=None if self.weights is None else self.weights[where],
        )

    def with_weights(self, weights: Float[Tensor, " m"] | None) -> "CSR":
        """The same entries with other weights."""
        parts = self.indptr, self.indices, self.num_columns
        return CSR(*parts, rows=self.rows, transposed=self.transposed, weights=weights)

    def take(self, nodes: Int[Tensor, " b"]) -> "CSR":
        """Some rows, in the order given, with their columns in the whole matrix. O(sum of their lengths)."""
        indptr, where = _entries(self.indptr, nodes)
        weights = None if self.weights is None else self.weights[where]
        return CSR(indptr, self.indices[where].long(), self.num_columns, weights=weights)

    def to(self, device: torch.device | str) -> "CSR":
        """The same rows on another device."""
        if self.device == torch.device(device):
            return self
        weights = None if self.weights is None else self.weights.to(device)
        return CSR(self.indptr.to(device), self.indices.to(device), self.num_columns, weights=weights)

    def to_torch(self) -> Tensor:
        """The matrix of weights, or of ones, as a sparse tensor that shares their memory."""
        values = torch.ones(self.num_entries, device=self.device) if self.weights is None else self.weights
        # A graph folder has smaller numbers.
        return csr_tensor(self.indptr, self.indices.long(), values, (self.num_rows, self.num_columns))

    def to_scipy(self) -> sp.csr_array:
        """The matrix of weights, or of ones."""
        values = np.ones(self.num_entries, dtype=np.float32) if self.weights is None else self.weights.cpu().numpy().copy()
        parts = (values, self.indices.cpu().numpy(), self.indptr.cpu().numpy())
        return sp.csr_array(parts, shape=(self.num_rows, self.num_columns))


def sort_edges(
    source: Int[Tensor, " m"], target: Int[Tensor, " m"], num_nodes: int, weights: Float[Tensor, " m"] | None = None
) -> CSR:
    """The square structure of a list of edges, in any order. O(m log m)."""
    order = torch.argsort(source * num_nodes + target, stable=True)
    return CSR(_pointers(source, num_nodes), target[order], weights=None if weights is None else weights[order])


def insert_diagonal(
    indptr: Int[Tensor, " pointers"], indices: Int[Tensor, " m"]
) -> tuple[Int[Tensor, " pointers"], Int[Tensor, " k"], Bool[Tensor, " k"]]:
    """CSR with an entry (i, i) inserted into each row, and a mask of these entries. O(m), without a sort.

    The rows must be sorted and have no such entry yet.
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
    # The places that no other entry took are the diagonal, one a row.
    return pointers, torch.where(diagonal, diagonal.cumsum(0) - 1, merged), diagonal


def insert_weights(weights: Float[Tensor, " m"], diagonal: Bool[Tensor, " k"], value: float) -> Float[Tensor, " k"]:
    """The weights of the entries that `insert_diagonal` gives: `value` for those that it inserted."""
    return torch.full(diagonal.shape, value, dtype=weights.dtype, device=weights.device).masked_scatter_(~diagonal, weights)


def _pointers(rows: Int[Tensor, " m"], num_rows: int) -> Int[Tensor, " pointers"]:
    indptr = torch.zeros(num_rows + 1, dtype=torch.int64, device=rows.device)
    torch.cumsum(torch.bincount(rows, minlength=num_rows), 0, out=indptr[1:])
    return indptr


def _counts(mask: Bool[Tensor, " m"]) -> Int[Tensor, " counts"]:
    """The number of set entries before each position, and in total."""
    counts = torch.zeros(mask.numel() + 1, dtype=torch.int64, device=mask.device)
    torch.cumsum(mask, 0, out=counts[1:])
    return counts


# Sparse matrices with values, as torch stores them


def as_features(x: Any, *, copy: bool = False) -> Tensor:
    """Dense float32 or sparse CSR float32 features from a tensor, an array or a scipy sparse matrix.

    Features are data: a tensor that requires grad is detached.

    Args:
        x: One row per node.
        copy: Share no memory with `x`, so that nobody changes the features through it. A read-only array, such as a file
            mapped by `np.load(..., mmap_mode="r")`, is not copied if it is float32 already.
    """
    if isinstance(x, Tensor) and x.layout == torch.sparse_csr:
        check_csr_tensor(x, "features")
        return x.detach().to(torch.float32, copy=copy)
    if sp.issparse(x) or (isinstance(x, Tensor) and x.layout != torch.strided):
        # A copy: summing duplicates works in place, and would change the caller's matrix through shared index arrays.
        csr = sp.csr_array(checked_matrix(x, "features"), dtype=np.float32, copy=True)
        csr.sum_duplicates()
        parts = (torch.from_numpy(csr.indptr).long(), torch.from_numpy(csr.indices).long(), torch.from_numpy(csr.data))
        features = csr_tensor(*parts, (csr.shape[0], csr.shape[1]))
        return features.to(x.device) if isinstance(x, Tensor) else features
    array = x if isinstance(x, Tensor) else as_array(x, "features")
    if array.ndim == 0 or (array.is_complex() if isinstance(array, Tensor) else array.dtype.kind not in "biuf"):
        raise ValueError(
            f"features are {type(x).__name__} of {array.dtype}; give an (n, f) array of numbers, text encoded first"
        )
    if isinstance(array, Tensor):
        dense = array.detach().to(torch.float32, copy=copy).contiguous()
    else:
        with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite, and Graph refuses it
            dense = torch.from_numpy(array.astype(np.float32, order="C", copy=copy and not is_frozen(array)))
    return dense[:, None] if dense.ndim == 1 else dense


def csr_tensor(indptr: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A sparse CSR tensor whose parts are known to be valid, so that torch need not check them at every step."""
    return torch.sparse_csr_tensor(indptr, indices, values, size=shape, check_invariants=False)


def select_rows(x: Tensor, nodes: Int[Tensor, " k"]) -> Tensor:
    """Some rows of dense or sparse features, in the order given."""
    if x.layout != torch.sparse_csr:
        return x[nodes]
    indptr, where = _entries(x.crow_indices(), nodes)
    return csr_tensor(indptr, x.col_indices()[where], x.values()[where], (nodes.numel(), x.shape[1]))


def _entries(indptr: Int[Tensor, " pointers"], nodes: Int[Tensor, " b"]) -> tuple[Int[Tensor, " taken"], Int[Tensor, " k"]]:
    """Row pointers of some rows put one after another, and where their entries are."""
    starts = indptr[nodes]
    counts = indptr[nodes + 1] - starts
    taken = torch.zeros(nodes.numel() + 1, dtype=torch.int64, device=indptr.device)
    torch.cumsum(counts, 0, out=taken[1:])
    total = int(taken[-1])
    shift = (starts - taken[:-1]).repeat_interleave(counts, output_size=total)
    return taken, torch.arange(total, device=indptr.device) + shift


def features_to_scipy(x: Tensor) -> sp.csr_array:
    """A sparse CSR tensor as a scipy array."""
    parts = (x.values().cpu().numpy(), x.col_indices().cpu().numpy(), x.crow_indices().cpu().numpy())
    return sp.csr_array(parts, shape=(x.shape[0], x.shape[1]))
