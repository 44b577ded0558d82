"""Cora, CiteSeer and PubMed: pickles of scipy matrices, read by an unpickler that can build nothing else (pickles.py)."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from localgcl.datasets.readers import Reader
from localgcl.datasets.readers.pickles import loads
from localgcl.datasets.storage import RawFile
from localgcl.graph import Graph, Split

ADDRESS = "https://github.com/kimiyoung/planetoid/raw/master/data"
NUM_VALIDATION = 500


def read_planetoid(contents: Mapping[str, bytes], name: str) -> Graph:
    """The graph of the files `ind.NAME.*` and its public split: 20 training nodes per class, 500 validation, 1000 test.

    Rows of `allx` are the first nodes; row i of `tx` is the node that line i of `test.index` names. CiteSeer's index
    skips 15 nodes: they get zero features and class 0, and are in no part of the split, as in PyG.
    """
    allx, tx = (_loaded(contents, f"ind.{name}.{kind}", sp.csr_array) for kind in ("allx", "tx"))
    ally, ty, y = (_loaded(contents, f"ind.{name}.{kind}", np.ndarray) for kind in ("ally", "ty", "y"))
    known = allx.shape[0]
    test = _test_index(contents, f"ind.{name}.test.index", known)
    shapes = {"ally": ally.shape[:1], "tx": tx.shape, "ty": ty.shape}
    if shapes != {"ally": (known,), "tx": (len(test), allx.shape[1]), "ty": (len(test), *ally.shape[1:2])} or len(y) > known:
        raise ValueError(
            f"ind.{name}.* do not fit each other: {known} rows of allx, {len(test)} test nodes, {shapes}; download again"
        )
    n = int(test.max()) + 1

    # `place` has a single 1 per column: its product with `tx` moves row i to its node and leaves skipped nodes zero.
    place = sp.csr_array((np.ones(len(test)), (test - known, np.arange(len(test)))), shape=(n - known, len(test)))
    x = sp.vstack([allx, place @ tx])
    labels = np.concatenate([ally, place @ ty]).argmax(axis=1)

    split = Split(
        train=torch.arange(len(y)),
        val=torch.arange(len(y), len(y) + NUM_VALIDATION),
        test=torch.from_numpy(np.sort(test)),
        name="public",
    )
    source, target = _neighbours(contents, f"ind.{name}.graph")
    return Graph.from_edges(source, target, x=x, y=labels, splits=[split], name=name).without_loops().coalesced()


def _loaded(contents: Mapping[str, bytes], file: str, kind: type) -> Any:
    """What a pickle holds: a matrix, a two-dimensional array or a dictionary."""
    value = loads(contents[file], file)
    if not isinstance(value, kind) or (isinstance(value, np.ndarray) and (value.ndim != 2 or value.size == 0)):
        raise ValueError(f"{file} holds a {type(value).__name__} in place of a {kind.__name__}; delete it, and load again")
    return value


def _test_index(contents: Mapping[str, bytes], file: str, known: int) -> NDArray[np.int64]:
    """The test nodes. They follow the `known` ones and leave few gaps."""
    words = contents[file].split()
    if not words or not all(word.isdigit() and len(word) < 10 for word in words):
        raise ValueError(f"{file} is no list of node numbers; delete it, and load again to download it")
    test = np.array(words, dtype=np.int64)
    last = 2 * (known + len(test))
    if test.min() < known or test.max() >= last or len(np.unique(test)) != len(test):
        raise ValueError(f"{file} names a node twice, or one that is not from {known} to {last}; delete it, and load again")
    return test


def _neighbours(contents: Mapping[str, bytes], file: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both ends of each edge in the dictionary of neighbours."""
    lists = _loaded(contents, file, dict)
    counts = [len(ends) if isinstance(ends, list) else -1 for ends in lists.values()]
    # An entry takes two bytes, but a list can be named again in two. No neighbour lists of different nodes are one.
    if not all(type(node) is int for node in lists) or min(counts, default=-1) < 0 or sum(counts) > len(contents[file]):
        raise ValueError(f"{file} is no dictionary of neighbour lists; delete it, and load again to download it")
    target = np.array([end for ends in lists.values() for end in ends], dtype=np.int64)
    return np.repeat(np.fromiter(lists, dtype=np.int64), counts), target


def _reader(name: str, folder: str) -> Reader:
    files = [f"ind.{name}.{kind}" for kind in ("allx", "tx", "ally", "ty", "y", "graph", "test.index")]
    raw = tuple(RawFile(f"{folder}/raw/{file}", f"{ADDRESS}/{file}") for file in files)
    return Reader(raw, functools.partial(read_planetoid, name=name))


GRAPHS = {name: _reader(name, folder) for name, folder in (("cora", "Cora"), ("citeseer", "CiteSeer"), ("pubmed", "PubMed"))}
