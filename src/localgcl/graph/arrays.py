"""Arrays and sparse matrices of every format, checked: the one place where index arrays of other libraries and files are.

scipy and torch follow index arrays in compiled code and trust them: a wrong one reads and writes memory that is not theirs.
So every part is checked here, before any conversion. O(rows + entries).
"""

import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]

# torch warns that writing to a tensor of a read-only array is undefined. A Graph is never written to.
warnings.filterwarnings("ignore", message="The given NumPy array is not writable", category=UserWarning)


def as_array(values: Any, what: str = "values") -> Array:
    """The values as an array that torch can read, copied only where byte order or strides ask for it.

    Args:
        values: An array or anything numpy makes one of.
        what: What they are, for messages, in the plural.

    Raises:
        ValueError: Some entries are masked.
    """
    check_unmasked(values, what)
    array = np.asarray(values)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    # Not ascontiguousarray: to numpy an axis of length 1 is contiguous whatever its stride, to torch it is not.
    return array.copy() if any(stride < 0 for stride in array.strides) else array


_WIDEST = 64


def text_ids(texts: Array) -> Array:
    """Texts of dtype object as an array of fixed width; as they are if one has more than 64 characters.

    numpy gives every text the room of the longest, so one long name would cost its length for each node.
    """
    return texts if max(map(len, texts.tolist()), default=0) > _WIDEST else texts.astype(str)


def ids_memory(ids: Array) -> int:
    """Bytes of an array of ids. O(n)."""
    return ids.nbytes + (sum(map(sys.getsizeof, ids.tolist())) if ids.dtype == object else 0)


def check_unmasked(values: Any, what: str) -> None:
    """ValueError if `values` is an array with masked entries: numpy would silently use the numbers under the mask."""
    if isinstance(values, np.ma.MaskedArray) and (masked := int(np.ma.getmaskarray(values).sum())):
        raise ValueError(
            f"{what} have {masked:,} masked entries; fill them first, for example by .filled(0), or drop their rows"
        )


def is_frozen(array: Array) -> bool:
    """Whether nobody can write to the memory of the array, as with a file mapped read-only."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return True


_COMPRESSED = ("data", "indices", "indptr")
PARTS: dict[str, tuple[str, ...]] = {
    "csr": _COMPRESSED,
    "csc": _COMPRESSED,
    "bsr": _COMPRESSED,
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}
"""The arrays that make up a matrix of each format, as scipy names them in memory and in files."""


def checked_matrix(matrix: Any, place: str) -> Any:
    """The scipy matrix or torch sparse tensor as a scipy array that shares its memory, checked; safe to convert to any format.

    Args:
        matrix: Sparse, of any format.
        place: What to call it in messages.

    Raises:
        ValueError: Its parts do not fit each other.
    """
    if isinstance(matrix, Tensor):
        return matrix_of_parts(*_torch_parts(matrix, place), place)
    if matrix.ndim != 2:
        raise ValueError(f"{place}: the shape is {matrix.shape}; give a matrix of rows and columns")
    if matrix.format in PARTS:
        parts = {name: getattr(matrix, name) for name in PARTS[matrix.format]}
        return matrix_of_parts(matrix.format, parts, matrix.shape, place)
    if matrix.format == "lil" and [len(row) for row in matrix.rows] != [len(row) for row in matrix.data]:
        raise ValueError(
            f"{place}: a row has another number of columns than of values; build the matrix again from its entries"
        )
    # Lists and dictionaries, which are copied and not followed. CSR of lists: their COO would be checked without the place.
    return checked_matrix(matrix.tocsr() if matrix.format == "lil" else matrix.tocoo(), place)


def matrix_of_parts(kind: str, parts: Mapping[str, Array], shape: tuple[int, int], place: str) -> Any:
    """The scipy array of the arrays `PARTS[kind]`; ValueError if they do not fit each other."""
    parts = {name: as_array(parts[name], f"{place}: {name}") for name in PARTS[kind]}
    values = parts["data"]
    if min(shape) < 0 or shape[0] * shape[1] >= 2**63:
        raise ValueError(f"{place}: the shape is {shape}; rows times columns must be below 2^63")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{place}: values are of type {values.dtype}; give numbers")
    if kind in ("csr", "csc"):
        _check_shape(values, parts["indices"].shape, place)
        check_pointers(parts["indptr"], parts["indices"], *(shape if kind == "csr" else shape[::-1]), place)
    elif kind == "bsr":
        _check_blocks(values, parts["indptr"], parts["indices"], shape, place)
    elif kind == "coo":
        for part, size, axis in (("row", shape[0], "row"), ("col", shape[1], "column")):
            _check_shape(values, parts[part].shape, place)
            check_range(parts[part], size, place, axis)
    else:
        _check_integers(parts["offsets"], place)
        _check_shape(values, (len(parts["offsets"]), *(values.shape[1:2] or (0,))), place)
    return _build(kind, parts, shape)


def check_csr_tensor(x: Tensor, place: str) -> None:
    """ValueError unless the parts of a sparse CSR tensor, on any device, fit each other."""
    if x.ndim != 2 or x.values().shape != x.col_indices().shape:
        shapes = f"{tuple(x.shape)} with values of shape {tuple(x.values().shape)}"
        raise ValueError(f"{place}: a sparse tensor of shape {shapes}; give a matrix, one number per entry")
    check_pointers(x.crow_indices(), x.col_indices(), x.shape[0], x.shape[1], place)


def check_pointers(indptr: Any, indices: Any, rows: int, columns: int, place: str) -> None:
    """ValueError unless these are the pointers and column indices of compressed rows: arrays or tensors, on any device."""
    for array in (indptr, indices):
        _check_integers(array, place)
    if len(indptr) != rows + 1:
        raise ValueError(f"{place}: {len(indptr)} row pointers (indptr) for {rows} rows; there must be one more than rows")
    first, last = int(indptr[0]), int(indptr[-1])
    if first != 0 or last != len(indices) or bool((indptr[1:] < indptr[:-1]).any()):
        raise ValueError(
            f"{place}: row pointers (indptr) must rise from 0 to the number of entries ({len(indices)}), got {first} to "
            f"{last}{' with falls between' * (first == 0 and last == len(indices))}; build the matrix again from its entries"
        )
    check_range(indices, columns, place, "column")


def check_range(indices: Any, size: int, place: str, axis: str) -> None:
    """ValueError unless all indices along an axis are integers from 0 to size - 1."""
    _check_integers(indices, place)
    if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= size):
        raise ValueError(
            f"{place}: {axis} indices run from {int(indices.min())} to {int(indices.max())}, but there are {size} {axis}s; "
            "they count from 0: build the matrix again from its entries"
        )


def _check_integers(array: Any, place: str) -> None:
    whole = array.dtype in (torch.int32, torch.int64) if isinstance(array, Tensor) else array.dtype.kind in "iu"
    if array.ndim != 1 or not whole:
        raise ValueError(
            f"{place}: an index array has shape {tuple(array.shape)} and type {array.dtype}; it must be a list of integers"
        )


def _check_shape(values: Array, shape: tuple[int, ...], place: str) -> None:
    if values.shape != shape:
        raise ValueError(
            f"{place}: values have shape {values.shape}, but the indices ask for {shape}; build it again from its entries"
        )


def _check_blocks(values: Array, indptr: Array, indices: Array, shape: tuple[int, int], place: str) -> None:
    """Checks block sparse rows: compressed rows whose entries are blocks of one shape, which divides that of the matrix."""
    if values.ndim != 3 or 0 in values.shape[1:] or any(n % side for n, side in zip(shape, values.shape[1:], strict=True)):
        raise ValueError(f"{place}: blocks of shape {values.shape[1:]} do not fill the shape {shape}; build the matrix again")
    _check_shape(values, (*indices.shape, *values.shape[1:]), place)
    rows, columns = (n // side for n, side in zip(shape, values.shape[1:], strict=True))
    check_pointers(indptr, indices, rows, columns, place)


def _build(kind: str, parts: Mapping[str, Array], shape: tuple[int, int]) -> Any:
    """The scipy array of parts that are known to be valid."""
    if kind == "coo":
        return sp.coo_array((parts["data"], (parts["row"], parts["col"])), shape=shape)
    if kind == "dia":
        # Entry k of a diagonal stands in column k. Ends of diagonals lie outside of the matrix, and are no entries.
        values, offsets = parts["data"], parts["offsets"].astype(np.int64)
        col = np.broadcast_to(np.arange(values.shape[1]), values.shape)
        row = col - offsets[:, None]
        inside = (row >= 0) & (row < shape[0]) & (col < shape[1]) & (values != 0)
        return sp.coo_array((values[inside], (row[inside], col[inside])), shape=shape)
    make: Any = {"csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array}[kind]
    return make((parts["data"], parts["indices"], parts["indptr"]), shape=shape)


def _torch_parts(x: Tensor, place: str) -> tuple[str, dict[str, Array], tuple[int, int]]:
    """Format, parts and shape of a sparse tensor, in scipy's terms."""
    x = x.detach().cpu()
    if x.ndim != 2 or x.dense_dim() or x.is_complex():
        raise ValueError(f"{place}: a sparse tensor of shape {tuple(x.shape)} and {x.dtype}; give a matrix of real numbers")
    shape = (x.shape[0], x.shape[1])
    # As they are stored: `coalesce` and `to_sparse` follow the indices.
    values = (x._values() if x.layout == torch.sparse_coo else x.values()).float().numpy()
    if x.layout == torch.sparse_coo:
        row, col = x._indices().numpy()
        return "coo", {"data": values, "row": row, "col": col}, shape
    if x.layout in (torch.sparse_csr, torch.sparse_bsr):
        indptr, indices = x.crow_indices().numpy(), x.col_indices().numpy()
        kind = "csr" if x.layout == torch.sparse_csr else "bsr"
    elif x.layout == torch.sparse_csc:
        kind, indptr, indices = "csc", x.ccol_indices().numpy(), x.row_indices().numpy()
    else:
        raise ValueError(f"{place}: a tensor of layout {x.layout}; give .to_sparse_csr()")
    return kind, {"data": values, "indices": indices, "indptr": indptr}, shape
