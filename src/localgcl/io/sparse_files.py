"""Sparse matrices that `scipy.sparse.save_npz` wrote -> CSR, checked before scipy builds anything of them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from localgcl.graph.matrices import PARTS, matrix_of_parts
from localgcl.io.damage import check_expansion
from localgcl.io.numpy_files import read_npz

_POINTER_BYTES = 8


def holds_sparse_matrix(names: Iterable[str]) -> bool:
    """Whether an NPZ archive with arrays of these names is a sparse matrix."""
    return {"format", "shape"} <= set(names)


def read_sparse(path: Path, names: Iterable[str], place: str) -> sp.csr_array[Any]:
    """The sparse matrix in an NPZ archive with arrays of these names; ValueError if its parts do not fit each other."""
    head = read_npz(path, place, ("format", "shape"))
    kind, sides = head["format"].item() if head["format"].size == 1 else "", head["shape"]
    if kind not in PARTS:
        raise ValueError(f"{place} is a sparse matrix of format {kind!r:.40}; known are {', '.join(PARTS)}")
    if sides.shape != (2,) or sides.dtype.kind not in "iu" or int(sides.min()) < 0:
        raise ValueError(f"{place}: the shape of its sparse matrix is {sides.tolist()!r:.40}; give two sizes")
    rows, columns = (int(side) for side in sides)
    # CSR has a pointer for each row, however few bytes another format needs to declare them.
    check_expansion(_POINTER_BYTES * rows, path.stat().st_size, place, f"as CSR if it has {rows:,} rows")
    if kind == "coo" and "coords" in names:
        parts = read_npz(path, place, ("data", "coords"))
        if len(parts["coords"].shape) != 2 or len(parts["coords"]) != 2:
            raise ValueError(f"{place}: its coordinates have shape {parts['coords'].shape}; give (2, entries)")
        parts["row"], parts["col"] = parts["coords"]
    else:
        parts = read_npz(path, place, PARTS[kind])
    return sp.csr_array(matrix_of_parts(kind, parts, (rows, columns), place))
