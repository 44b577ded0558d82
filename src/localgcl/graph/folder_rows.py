"""A graph folder opened for some of its rows: edges and features stay on disk, and ids are not read."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from localgcl.graph.csr import csr_tensor
from localgcl.graph.neighbourhood import SparseRows
from localgcl.graph.stored import SPARSE, FolderError, Header, open_array, read_header

Array = NDArray[Any]


class FolderRows(NamedTuple):
    """A graph folder, mapped."""

    header: Header
    edges: SparseRows
    x: Array | SparseRows

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> "FolderRows":
        """Maps the arrays; FolderError names a file that is missing, cut, changed or damaged."""
        folder, header = Path(folder), read_header(folder)
        n, f = header.nodes, header.features
        weights = "weights.npy" if "weights.npy" in header.files else None
        edges = _rows(folder, ("indptr.npy", "indices.npy", weights), n)
        if "x.npy" not in header.files:
            return cls(header, edges, _rows(folder, SPARSE, n))
        x = open_array(folder, "x.npy")
        if x.shape != (n, f):
            raise FolderError(f"{folder / 'x.npy'} has shape {x.shape} and not {(n, f)}; run localgcl convert again")
        return cls(header, edges, x)

    def features(self, nodes: Array) -> Tensor:
        """Features of some nodes, as they are stored."""
        if not isinstance(self.x, SparseRows):
            return torch.from_numpy(np.asarray(self.x[nodes], dtype=np.float32))
        entries = self.x.take(nodes)
        assert entries.values is not None
        indptr = np.concatenate([[0], np.bincount(entries.rows, minlength=len(nodes)).cumsum()])
        pointers, columns, values = (torch.from_numpy(array) for array in (indptr, entries.columns, entries.values))
        return csr_tensor(pointers, columns, values, (len(nodes), self.header.features))


def _rows(folder: Path, names: tuple[str, str, str | None], num_rows: int) -> SparseRows:
    indptr, indices = (open_array(folder, name) for name in names[:2])
    values = None if names[2] is None else open_array(folder, names[2])
    if indptr.shape != (num_rows + 1,) or not len(indices) == int(indptr[-1]) == len(indices if values is None else values):
        raise FolderError(f"{folder / names[0]} does not fit the arrays beside it; run localgcl convert again")
    return SparseRows(indptr, indices, values)
