"""Cora, CiteSeer and PubMed: python 2 pickles of scipy matrices, read by an unpickler that can build nothing else."""

import collections
import io
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from localgcl.graph import Graph, Split

NUM_VALIDATION = 500

# The only globals that the published files name, with their present homes. Not numpy's own path to _reconstruct: it is
# private and moved between releases, while every array knows the function that rebuilds it.
_RECONSTRUCT = np.empty(0).__reduce__()[0]
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("scipy.sparse.csr", "csr_matrix"): sp.csr_matrix,
    ("scipy.sparse._csr", "csr_matrix"): sp.csr_matrix,
    ("collections", "defaultdict"): collections.defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
}


def read_planetoid(contents: Mapping[str, bytes], prefix: str, name: str) -> Graph:
    """The graph of the files `ind.PREFIX.*`, with the public split: 20 nodes a class to train on, 500 and 1000.

    Rows of `allx` are the first nodes; row i of `tx` is the node that line i of `test.index` names. CiteSeer's index
    skips 15 nodes: they get zero features and class 0, and are in no part of the split, as in PyG.
    """
    part = {kind: restricted_loads(contents[f"ind.{prefix}.{kind}"]) for kind in ("allx", "tx", "ally", "ty", "y", "graph")}
    test = np.array(contents[f"ind.{prefix}.test.index"].split(), dtype=np.int64)
    known, n = part["allx"].shape[0], int(test.max()) + 1

    # One 1 a column: multiplying moves row i to its node's place and leaves zeros where the index skips one.
    place = sp.csr_array((np.ones(len(test)), (test - known, np.arange(len(test)))), shape=(n - known, len(test)))
    x = sp.vstack([part["allx"], place @ part["tx"]])
    y = np.concatenate([part["ally"], place @ part["ty"]]).argmax(axis=1)

    neighbours = part["graph"]
    source = np.repeat(np.fromiter(neighbours, dtype=np.int64), [len(targets) for targets in neighbours.values()])
    target = np.concatenate([np.asarray(targets, dtype=np.int64) for targets in neighbours.values()])

    num_train = len(part["y"])
    split = Split(
        train=torch.arange(num_train),
        val=torch.arange(num_train, num_train + NUM_VALIDATION),
        test=torch.from_numpy(np.sort(test)),
        name="public",
    )
    return Graph.from_edges(source, target, x=x, y=y, splits=[split], name=name).without_loops().coalesced()


def restricted_loads(content: bytes) -> Any:
    """Unpickles arrays, CSR matrices and dictionaries of lists; ValueError, before anything is run, on all else."""
    try:
        return _Unpickler(io.BytesIO(content), encoding="latin1").load()
    except (pickle.UnpicklingError, EOFError) as error:
        raise ValueError(f"not a Planetoid file: {error}; delete it, and load again to download it") from error


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no published file does")
        return _ALLOWED[module, name]
