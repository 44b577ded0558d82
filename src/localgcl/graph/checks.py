"""Checks of the parts of a Graph; each error says what is wrong and how to fix it."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from localgcl.graph.arrays import as_array, check_csr_tensor, check_pointers
from localgcl.system.text import listed


def check_structure(indptr: Int[Tensor, " pointers"], indices: Int[Tensor, " m"], node_ids: NDArray[Any]) -> None:
    """ValueError unless pointers are valid, columns are sorted and in range, and every node has one id."""
    n = indptr.numel() - 1
    if indptr.dtype != torch.int64 or indices.dtype != torch.int64:
        raise ValueError(f"indptr and indices must be int64, got {indptr.dtype} and {indices.dtype}; use .long()")
    check_pointers(indptr, indices, n, n, "the adjacency matrix")
    # `coalesced` and `transposed` rely on sorted rows. With one key for row and column, one comparison is enough.
    rows = torch.arange(n, device=indices.device).repeat_interleave(indptr.diff(), output_size=indices.numel())
    if bool(((rows * n + indices).diff() < 0).any()):
        raise ValueError("CSR rows must list their targets in increasing order; build the graph with Graph.from_edges")
    if len(node_ids) != n:
        raise ValueError(f"{len(node_ids)} node ids for {n} nodes; give one id per node")


def check_features(x: Tensor, node_ids: NDArray[Any]) -> None:
    """ValueError unless every node has one row of finite numbers."""
    n = len(node_ids)
    if x.ndim != 2 or x.shape[0] != n:
        raise ValueError(f"features have shape {tuple(x.shape)}, but the graph has {n} nodes; give one row per node")
    if x.shape[1] == 0:
        raise ValueError("features have no columns; leave them out to get structural features")
    if x.layout == torch.sparse_csr:
        check_csr_tensor(x, "features")
    elif x.layout != torch.strided:
        raise ValueError(f"features are a tensor of layout {x.layout}; build the graph with Graph.from_edges, which converts")
    finite = torch.isfinite(x.values() if x.layout == torch.sparse_csr else x)
    if not bool(finite.all()):
        first = (~finite).nonzero()[0].tolist()
        row = int(torch.searchsorted(x.crow_indices(), first[0], right=True)) - 1 if len(first) == 1 else first[0]
        node = node_ids.tolist()[row]
        raise ValueError(
            f"{int((~finite).sum())} feature values are NaN or infinite (first in the row of node {node!r:.80}); "
            "fill or drop them first"
        )


def column_names(names: Any, num_features: int) -> tuple[str, ...] | None:
    """One name per feature column, all different; None where they have none."""
    if names is None:
        return None
    named = (names,) if isinstance(names, str) else tuple(names)
    wrong = next((name for name in named if not isinstance(name, str)), None)
    if wrong is not None:
        raise ValueError(f"feature name {wrong!r} is of type {type(wrong).__name__}; give text")
    if len(named) != num_features:
        raise ValueError(f"{len(named)} feature names for {num_features} feature columns; give one name per column")
    check_distinct(named, "the table of features")
    return named


def frame_names(x: Any) -> list[str] | None:
    """The names of the columns of a pandas, polars or pyarrow frame; None for anything else."""
    held = getattr(x, "column_names", getattr(x, "columns", None))  # pyarrow's, or pandas' and polars'
    return None if held is None else [str(name) for name in held]


def check_distinct(names: Iterable[str], place: str) -> None:
    """ValueError that lists every name of a column which occurs more than once."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{place} has several columns of one name: {listed(twice)}; rename or drop the repeats")


def check_labels(y: Tensor | None, n: int) -> None:
    """ValueError unless every node has one class, -1 where unknown."""
    if y is None:
        return
    if y.dtype != torch.int64 or y.shape != (n,):
        raise ValueError(f"labels have shape {tuple(y.shape)} and type {y.dtype}; give {n} integers (int64)")
    if int(y.min()) < -1:
        raise ValueError(f"labels must be 0, 1, 2... or -1 for unknown, got {int(y.min())}; renumber the classes")


def named_classes(names: Iterable[str] | None, y: Tensor | None) -> tuple[str, ...] | None:
    """The names of classes as a tuple; ValueError unless they are distinct texts, one for each class of `y`."""
    if names is None:
        return None
    named = tuple(names)
    wrong = next((name for name in named if not isinstance(name, str)), None)
    if wrong is not None:
        raise ValueError(f"class name {wrong!r:.80} is of type {type(wrong).__name__}; give text")
    if len(set(named)) < len(named):
        twice = next(name for name in named if named.count(name) > 1)
        raise ValueError(f"two classes are called {twice!r:.80}; give each class a name of its own")
    most = -1 if y is None or y.numel() == 0 else int(y.max())
    if most >= len(named):
        raise ValueError(f"{len(named)} class names, but a label is {most}; give a name for each of the classes 0 to {most}")
    return named


def check_splits(splits: Iterable[Any], n: int) -> None:
    """ValueError unless node positions are in range and each is in one part of a split."""
    for split in splits:
        parts = torch.cat([split.train, split.val, split.test])
        if parts.numel() and (int(parts.min()) < 0 or int(parts.max()) >= n):
            wrong = int(parts.min()) if int(parts.min()) < 0 else int(parts.max())
            raise ValueError(f"split {split.name!r} names node {wrong}, but nodes run from 0 to {n - 1}; drop it")
        if parts.unique().numel() != parts.numel():
            raise ValueError(f"split {split.name!r} has a node twice within train, val and test; make them disjoint")


def check_ends(source: Int[Tensor, " a"], target: Int[Tensor, " b"], n: int) -> None:
    """ValueError unless edges have as many sources as targets, and both are positions of nodes."""
    if source.shape != target.shape:
        raise ValueError(f"{source.numel()} edge sources but {target.numel()} edge targets; give one of each per edge")
    for role, ends in (("source", source), ("target", target)):
        if ends.numel() and (int(ends.min()) < 0 or int(ends.max()) >= n):
            wrong = int(ends.min()) if int(ends.min()) < 0 else int(ends.max())
            raise ValueError(
                f"an edge has {role} {wrong}, but the features have "
                f"{n} rows, so node positions run from 0 to {n - 1}; add the missing rows or drop the edge"
            )


# User input -> tensors


def positions(nodes: Any, role: str) -> Int[Tensor, " m"]:
    """Node positions as int64; `role` names them in errors."""
    array = nodes if isinstance(nodes, Tensor) else as_array(nodes, f"edge {role}s")
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
    """Classes as int64, also from whole floats; anything else is refused."""
    array = y.detach().cpu().numpy() if isinstance(y, Tensor) else as_array(y, "labels")
    if array.dtype.kind == "f" and array.size and (np.isfinite(array) & (array == np.floor(array))).all():
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        # numpy converts a mixed list to one type, so the invalid value is searched in the original.
        given = list(y) if isinstance(y, list | tuple) else array.ravel().tolist()
        wrong = next((v for v in given if not (v.is_integer() if isinstance(v, float) else isinstance(v, int))), array.dtype)
        raise ValueError(f"labels must be integers, got {wrong!r}; number the classes 0, 1, 2... (-1 for unknown)")
    return torch.from_numpy(array.astype(np.int64)).flatten()


def ids(node_ids: Any) -> NDArray[Any]:
    """Unique node names as an array of their own; empty for None."""
    if node_ids is None:
        return np.empty(0, dtype=np.int64)
    ids = as_array(node_ids, "node ids").copy()
    if ids.ndim != 1:
        raise ValueError(f"node ids have shape {ids.shape}; give a one-dimensional array (of dtype object if ids are tuples)")
    # Objects are compared by hash, because ids of mixed types cannot be sorted.
    distinct = len(set(ids.tolist())) if ids.dtype == object else len(np.unique(ids))
    if distinct != len(ids):
        ((name, count),) = Counter(ids.tolist()).most_common(1)
        raise ValueError(f"node id {name!r:.80} appears {count} times; ids must be unique")
    return ids
