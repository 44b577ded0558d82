"""Cora, CiteSeer and PubMed: Python 2 pickles of scipy matrices, read by an unpickler that can build nothing else."""

import collections
import functools
import io
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from localgcl.datasets.readers import Reader
from localgcl.datasets.storage import RawFile
from localgcl.graph import Graph, Split

ADDRESS = "https://github.com/kimiyoung/planetoid/raw/master/data"
NUM_VALIDATION = 500

# The only globals that the published files name, with what they are called today. numpy's _reconstruct is taken from an
# array rather than imported: its module is private and has moved between releases.
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


def read_planetoid(contents: Mapping[str, bytes], name: str) -> Graph:
    """The graph of the files `ind.NAME.*` and its public split: 20 training nodes per class, 500 validation, 1000 test.

    Rows of `allx` are the first nodes; row i of `tx` is the node that line i of `test.index` names. CiteSeer's index
    skips 15 nodes: they get zero features and class 0, and are in no part of the split, as in PyG.
    """
    part = {kind: restricted_loads(contents[f"ind.{name}.{kind}"]) for kind in ("allx", "tx", "ally", "ty", "y", "graph")}
    test = np.array(contents[f"ind.{name}.test.index"].split(), dtype=np.int64)
    known, n = part["allx"].shape[0], int(test.max()) + 1

    # `place` has a single 1 per column: its product with `tx` moves row i to its node and leaves skipped nodes zero.
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
    """Unpickles arrays, CSR matrices and dictionaries of lists; anything else is a ValueError before any of it runs."""
    try:
        return _Unpickler(io.BytesIO(content), encoding="latin1").load()
    except (pickle.UnpicklingError, EOFError) as error:
        raise ValueError(f"not a Planetoid file: {error}; delete it, and load again to download it") from error


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no published file does")
        return _ALLOWED[module, name]


def _reader(name: str, folder: str) -> Reader:
    files = [f"ind.{name}.{kind}" for kind in ("allx", "tx", "ally", "ty", "y", "graph", "test.index")]
    raw = tuple(RawFile(f"{folder}/raw/{file}", f"{ADDRESS}/{file}") for file in files)
    return Reader(raw, functools.partial(read_planetoid, name=name))


GRAPHS = {name: _reader(name, folder) for name, folder in (("cora", "Cora"), ("citeseer", "CiteSeer"), ("pubmed", "PubMed"))}
