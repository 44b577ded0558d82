"""Arrays as users have them: byte orders, strides, masks, gradients, and memory that is theirs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

from localgcl import Embedder, LocalGCL, as_graph, evaluate, read_graph
from localgcl.graph import Graph, Split
from localgcl.graph.arrays import as_array, ids_memory, is_frozen, text_ids
from localgcl.graph.csr import as_features
from localgcl.io.export import write_embeddings

X = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32)

FORMS: dict[str, Callable[[Any], Any]] = {
    "reversed rows": lambda x: x[::-1].copy()[::-1],
    "reversed columns": lambda x: x[:, ::-1].copy()[:, ::-1],
    "transposed": lambda x: np.asfortranarray(x),
    "every second": lambda x: np.repeat(x, 2, axis=0)[::2],
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "little-endian": lambda x: x.astype(x.dtype.newbyteorder("<")),
    "masked, but nothing hidden": lambda x: np.ma.masked_array(x),
    "long double": lambda x: x.astype(np.longdouble) if x.dtype.kind == "f" else x,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("copy", [True, False])
def test_features_of_every_layout(form: str, copy: bool) -> None:
    for x in (X, X.astype(np.float64), X.astype(np.int16), X[:1], X[:, :1]):
        assert as_features(FORMS[form](x), copy=copy).tolist() == x.tolist()


@pytest.mark.parametrize("form", ["reversed rows", "every second", "big-endian", "masked, but nothing hidden"])
def test_edges_labels_and_ids_of_every_layout(form: str) -> None:
    make = FORMS[form]
    ends, y, ids = np.array([[0, 1, 1], [1, 2, 0]]), np.array([2, 0, -1]), np.array([30, 10, 20])
    graph = Graph.from_edges(make(ends[0]), make(ends[1]), x=X, y=make(y), node_ids=make(ids))
    assert (graph.rows.tolist(), graph.indices.tolist()) == ([0, 1, 1], [1, 0, 2])
    assert graph.y is not None
    assert graph.y.tolist() == [2, 0, -1]
    assert graph.node_ids.tolist() == [30, 10, 20]
    other = as_graph((np.flip(ends, 0), X), y=make(y))  # a view with negative strides
    assert (other.rows.tolist(), other.indices.tolist()) == ([0, 1, 2], [1, 0, 1])


def hidden(array: Any, *places: int) -> Any:
    mask = np.zeros(array.shape, dtype=bool)
    mask.flat[list(places)] = True
    return np.ma.masked_array(array, mask)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"x": hidden(X, 1, 4)}, r"features have 2 masked entries; fill them first, for example by \.filled\(0\), or drop"),
        ({"source": hidden(np.array([0, 1]), 0)}, "edge sources have 1 masked entries"),
        ({"target": hidden(np.array([0, 1]), 0)}, "edge targets have 1 masked entries"),
        ({"y": hidden(np.array([0, 1, 1]), 2)}, "labels have 1 masked entries"),
        ({"node_ids": hidden(np.array([7, 8, 9]), 2)}, "node ids have 1 masked entries"),
    ],
)
def test_masked_entries_are_refused(parts: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"source": np.array([0, 1]), "target": np.array([1, 2]), "x": X, **parts}
    with pytest.raises(ValueError, match=message):
        Graph.from_edges(given.pop("source"), given.pop("target"), **given)


def test_as_graph_refuses_masked_entries() -> None:
    ends = np.array([[0, 1], [1, 2]])
    with pytest.raises(ValueError, match="features have 6 masked entries"):
        as_graph((ends, hidden(X, *range(6))))
    with pytest.raises(ValueError, match="y: labels have 1 masked entries"):
        as_graph((ends, X), y=hidden(np.array([0, 1, 1]), 0))
    with pytest.raises(ValueError, match="have 1 masked entries"):
        as_graph((hidden(ends, 0), X))


def test_evaluate_refuses_masked_entries() -> None:
    with pytest.raises(ValueError, match="embeddings have 1 masked entries"):
        evaluate(hidden(X, 0), [0, 1, 1], protocol="kmeans")
    with pytest.raises(ValueError, match="labels have 1 masked entries"):
        evaluate(X, hidden(np.array([0, 1, 1]), 0), protocol="kmeans")


# Gradients


@pytest.mark.parametrize("layout", [torch.Tensor.clone, torch.Tensor.to_sparse_csr, torch.Tensor.to_sparse_coo])
def test_features_that_require_grad_are_data(layout: Any) -> None:
    x = layout(torch.tensor(X)).requires_grad_()
    graph = Graph.from_edges([0, 1], [1, 2], x=x)
    assert not graph.x.requires_grad
    assert not Graph(graph.indptr, graph.indices, graph.x.clone().requires_grad_()).x.requires_grad
    assert not graph.with_features(x).x.requires_grad
    wide = layout(torch.eye(20)).requires_grad_()
    assert LocalGCL(dim=4, steps=2).fit_transform(as_graph(([[0, 1], [1, 2]], wide))).shape == (20, 4)
    assert wide.grad is None


def test_complex_features_are_refused() -> None:
    for x in (X.astype(np.complex64), torch.tensor(X, dtype=torch.complex64)):
        with pytest.raises(ValueError, match="complex64; give an"):
            Graph.from_edges([0], [1], x=x)


# Memory


OWNERS: dict[str, Callable[[], Any]] = {
    "numpy": X.copy,
    "a view": lambda: np.vstack([X, X])[:3],
    "tensor": lambda: torch.tensor(X),
    "flat": lambda: X[:, 0].copy(),
    "flat tensor": lambda: torch.tensor(X[:, 0]),
    "sparse": lambda: sp.csr_array(X),
    "sparse tensor": lambda: torch.tensor(X).to_sparse_csr(),
    "sparse coordinates": lambda: torch.tensor(X).to_sparse_coo().coalesce(),
    "frame": lambda: pd.DataFrame(X),
    "numbers of a tensor": lambda: torch.tensor(X).numpy(),
}


def destroy(x: Any) -> None:
    """Sets every stored value to 9."""
    if isinstance(x, pd.DataFrame):
        x.iloc[:, :] = 9
    elif isinstance(x, sp.csr_array):
        x.data[:] = 9
    elif isinstance(x, torch.Tensor) and x.layout != torch.strided:
        x.values().fill_(9)
    else:
        x[:] = 9


@pytest.mark.parametrize("owner", OWNERS)
def test_a_graph_does_not_change_with_the_callers_features(owner: str) -> None:
    x = OWNERS[owner]()
    graph = Graph.from_edges([0, 1], [1, 2], x=x)
    if isinstance(x, pd.DataFrame):
        converted = as_graph(pd.DataFrame({"source": [0, 1], "target": [1, 2]}), x.rename_axis("id"))
    else:
        converted = as_graph(([[0, 1], [1, 2]], x))
    built = graph, converted, graph.with_features(x)
    before = graph.x.to_dense().tolist()
    destroy(x)
    assert [each.x.to_dense().tolist() for each in built] == [before] * 3


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_a_graph_does_not_change_with_the_callers_edges_labels_splits_and_ids(make: Any) -> None:
    source, target, y = make([0, 1]), make([1, 2]), make([0, 1, -1])
    train, val, test = (torch.tensor([i]) for i in range(3))
    ids = np.array(["a", "b", "c"])
    graph = Graph.from_edges(source, target, x=X, y=y, node_ids=ids, splits=[Split(train, val, test)])
    again = graph.with_splits([Split(train, val, test)])
    for array in (source, target, y, train, val, test):
        array[:] = 2
    ids[:] = "z"
    assert (graph.rows.tolist(), graph.indices.tolist()) == ([0, 1], [1, 2])
    assert graph.y is not None
    assert graph.y.tolist() == [0, 1, -1]
    assert graph.node_ids.tolist() == ["a", "b", "c"]
    for split in (*graph.splits, *again.splits):
        assert (split.train.tolist(), split.val.tolist(), split.test.tolist()) == ([0], [1], [2])


def test_embeddings_are_the_callers_own() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], x=X)
    z = Embedder("raw-features", scaling="raw").fit_transform(graph)
    z[:] = 9
    assert graph.x.tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")  # as arrays.py silences it for users
def test_a_file_mapped_read_only_is_used_in_place(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for graph in (Graph.from_edges([0], [1], x=mapped), as_graph(([[0], [1]], mapped))):
        assert graph.x.data_ptr() == mapped.ctypes.data
    assert Graph.from_edges([0], [1], x=np.load(tmp_path / "x.npy", mmap_mode="c")).x.tolist() == X.tolist()


def test_copy_false_saves_the_copy() -> None:
    x = X.copy()
    assert Graph.from_edges([0], [1], x=x, copy=False).x.data_ptr() == x.ctypes.data
    tensor = torch.tensor(X)
    assert Graph.from_edges([0], [1], x=tensor, copy=False).x.data_ptr() == tensor.data_ptr()


def test_frozen_memory() -> None:
    x = X.copy()
    view = x[:]
    view.flags.writeable = False
    assert not is_frozen(x)
    assert not is_frozen(view)  # its owner can still be written to
    x.flags.writeable = False
    assert is_frozen(x)
    assert is_frozen(np.frombuffer(b"12345678"))
    assert not is_frozen(np.frombuffer(bytearray(8)))


def test_an_array_that_torch_can_read_is_not_copied() -> None:
    assert as_array(X) is X
    row = np.arange(3.0)[None][:, ::1]
    assert torch.from_numpy(as_array(row[::-1])).tolist() == [[0, 1, 2]]  # one row: contiguous to numpy, not to torch


def test_one_long_id_does_not_cost_its_length_for_every_node() -> None:
    short = np.array([f"n{i}" for i in range(1000)], dtype=object)
    assert text_ids(short).dtype.kind == "U"
    long = np.array([*short[1:], "x" * 20_000], dtype=object)
    kept = text_ids(long)
    assert kept.tolist() == long.tolist()
    assert ids_memory(kept) < 200_000  # 80 MB at fixed width
    assert ids_memory(text_ids(short)) == text_ids(short).nbytes


def test_long_ids_are_read_joined_and_written(tmp_path: Path) -> None:
    names = ["a", "b", "c" * 5000]
    pd.DataFrame({"source": names, "target": [*names[1:], "a"]}).to_csv(tmp_path / "e.csv", index=False)
    pd.DataFrame({"id": names, "f": [1.0, 2.0, 4.0]}).to_csv(tmp_path / "x.csv", index=False)
    graph = read_graph(tmp_path / "e.csv", features=tmp_path / "x.csv")
    assert graph.node_ids.tolist() == names
    assert graph.node_ids.dtype == object
    write_embeddings(tmp_path / "z.parquet", np.eye(3), graph.node_ids)
    assert pd.read_parquet(tmp_path / "z.parquet")["id"].tolist() == names
