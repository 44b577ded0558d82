"""Edge weights of every file, table and library: read alike, refused alike, and every column that is not used is named."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from localgcl.config import LocalGCLWarning
from localgcl.graph import Graph
from localgcl.io.convert import as_graph, to_pyg
from localgcl.io.files import read_graph
from tests.io.helpers import parquet, put, saved
from tests.io.test_convert import DGLGraph

X = np.arange(8, dtype=np.float32).reshape(4, 2)
FEATURES = "id,f,g\n0,0,1\n1,2,3\n2,4,5\n3,6,7\n"
SOURCE, TARGET, WEIGHT = [0, 1], [1, 2], [0.5, 3.0]


def matrix(weights: Any) -> Any:
    return sp.csr_array((np.asarray(weights), (SOURCE, TARGET)), shape=(4, 4))


def csv(weights: Any, separator: str = ",") -> str:
    rows = zip(SOURCE, TARGET, weights, strict=True)
    return "\n".join(separator.join(map(str, row)) for row in [("source", "target", "weight"), *rows]) + "\n"


def table(weights: Any) -> pd.DataFrame:
    return pd.DataFrame({"source": SOURCE, "target": TARGET, "weight": weights})


def network(weights: Any) -> Any:
    graph: Any = nx.DiGraph()
    graph.add_nodes_from(range(4))
    for source, target, weight in zip(SOURCE, TARGET, weights, strict=True):
        graph.add_edge(source, target, weight=weight)
    return graph


def dgl(weights: Any) -> Any:
    graph = DGLGraph(feat=torch.from_numpy(X))
    graph.edata = {"w": torch.tensor(weights)}
    return graph


def data(weights: Any, key: str = "edge_weight") -> Any:
    return Data(torch.from_numpy(X), torch.tensor([SOURCE, TARGET]), **{key: torch.tensor(weights)})


FILES: dict[str, Callable[[Any], str | bytes]] = {
    "e.csv": csv,
    "e.tsv": lambda weights: csv(weights, "\t"),
    "e.parquet": lambda weights: parquet(source=SOURCE, target=TARGET, Weight=weights),
    "decimal.parquet": lambda weights: parquet(
        source=SOURCE, target=TARGET, weight=pa.array([None if w is None else str(w) for w in weights])
    ),
    "ends.npz": lambda weights: saved(np.savez, source=SOURCE, target=TARGET, weight=np.asarray(weights)),
    "index.npz": lambda weights: saved(np.savez, edge_index=[SOURCE, TARGET], weight=np.asarray(weights)[:, None]),
    "matrix.npz": lambda weights: saved(sp.save_npz, matrix(weights)),
}
OBJECTS: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda weights: (table(weights), pd.DataFrame(X).rename_axis("id")),
    "pyarrow": lambda weights: (pa.table(dict(table(weights))), pd.DataFrame(X).rename_axis("id")),
    "scipy": lambda weights: (matrix(weights), X),
    "torch": lambda weights: (torch.sparse_coo_tensor(torch.tensor([SOURCE, TARGET]), torch.tensor(weights), (4, 4)), X),
    "networkx": lambda weights: (network(weights), X),
    "PyG": data,
    "DGL": dgl,
}


def weights_of(graph: Graph) -> dict[tuple[int, int], float]:
    assert graph.weights is not None
    return dict(zip(zip(graph.rows.tolist(), graph.indices.tolist(), strict=True), graph.weights.tolist(), strict=True))


def read(folder: Path, file: str, weights: Any, **options: Any) -> Graph:
    put(folder / "x.csv", FEATURES)
    return read_graph(put(folder / file, FILES[file](weights)), features=folder / "x.csv", **options)


@pytest.mark.parametrize("file", FILES)
def test_files(tmp_path: Path, file: str) -> None:
    assert weights_of(read(tmp_path, file, WEIGHT)) == {(0, 1): 0.5, (1, 2): 3.0}
    assert read(tmp_path, file, [1.0, 1.0]).weights is None


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects(kind: str) -> None:
    assert weights_of(as_graph(OBJECTS[kind](WEIGHT))) == {(0, 1): 0.5, (1, 2): 3.0}
    assert as_graph(OBJECTS[kind]([1.0, 1.0])).weights is None


@pytest.mark.parametrize("wrong", [-2.0, float("nan"), float("inf"), 1e300])
@pytest.mark.parametrize("file", FILES)
def test_a_wrong_weight_in_a_file_names_file_and_edge(tmp_path: Path, file: str, wrong: float) -> None:
    with pytest.raises(ValueError, match=rf"{file}: the weight of edge 1 -> 2 is .*; weights are numbers from 0 to 3\.4e\+38"):
        read(tmp_path, file, [0.5, wrong])


@pytest.mark.parametrize("wrong", [-2.0, float("nan"), float("inf")])
@pytest.mark.parametrize("kind", OBJECTS)
def test_a_wrong_weight_of_an_object_names_the_edge(kind: str, wrong: float) -> None:
    # Of pandas NaN is an empty cell.
    with pytest.raises(ValueError, match=r"the weight of edge 1 -> 2 is (.*; weights are numbers|empty; fill)"):
        as_graph(OBJECTS[kind]([0.5, wrong]))


@pytest.mark.parametrize("file", ["e.csv", "e.parquet"])
def test_an_empty_weight_names_the_edge(tmp_path: Path, file: str) -> None:
    with pytest.raises(ValueError, match=rf"{file}: the weight of edge 1 -> 2 is empty; fill it in or drop the edge"):
        read(tmp_path, file, [0.5, "" if file == "e.csv" else None])


def test_text_that_is_no_number_names_the_first_edge(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i + 1},{'heavy' if i in (37, 61) else i / 8}\n" for i in range(100))
    path = put(tmp_path / "e.csv", f"source,target,weight\n{rows}")
    with pytest.raises(ValueError, match=r"e\.csv: the weight of edge 37 -> 38 is 'heavy', not a number; .*--weight"):
        read_graph(path)


def test_zeros(tmp_path: Path) -> None:
    with pytest.warns(LocalGCLWarning, match=r"1 edges of weight 0 are left out \(first 0 -> 1\)"):
        assert read(tmp_path, "e.csv", [0, 1]).num_edges == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an explicit zero of a matrix never was an edge
        assert as_graph((matrix([0.0, 2.0]), X)).num_edges == 1


# Which column


def test_a_column_by_another_name(tmp_path: Path) -> None:
    put(tmp_path / "x.csv", FEATURES)
    edges = put(tmp_path / "e.csv", "source,target,weight,Score \n0,1,7,0.5\n1,2,8,3\n")
    with pytest.warns(LocalGCLWarning, match=r"e\.csv: edge columns that are not used: 'weight'$"):
        graph = read_graph(edges, features=tmp_path / "x.csv", weight="score")
    assert weights_of(graph) == {(0, 1): 0.5, (1, 2): 3.0}
    arrays = put(tmp_path / "e.npz", saved(np.savez, source=SOURCE, target=TARGET, score=WEIGHT))
    assert weights_of(read_graph(arrays, features=tmp_path / "x.csv", weight="score")) == {(0, 1): 0.5, (1, 2): 3.0}
    renamed = table(WEIGHT).rename(columns={"weight": "score"})
    assert weights_of(as_graph(renamed, pd.DataFrame(X).rename_axis("id"), weight="score")) == {(0, 1): 0.5, (1, 2): 3.0}
    assert weights_of(as_graph(data(WEIGHT, "edge_score"), weight="edge_score")) == {(0, 1): 0.5, (1, 2): 3.0}
    flow: Any = nx.DiGraph([(0, 1, {"flow": 0.5}), (1, 2, {"flow": 3})])
    assert weights_of(as_graph(flow, X[:3], weight="flow")) == {(0, 1): 0.5, (1, 2): 3.0}


@pytest.mark.parametrize("file", FILES)
def test_a_name_that_is_not_there_is_refused(tmp_path: Path, file: str) -> None:
    with pytest.raises(
        ValueError, match=rf"{file} has no edge weights called 'score', but '[Ww]eight'|matrix in .* has no names"
    ):
        read(tmp_path, file, WEIGHT, weight="score")
    with pytest.raises(ValueError, match=r"edge weights called 'source'|has no names"):
        read(tmp_path, file, WEIGHT, weight="source")


@pytest.mark.parametrize("kind", OBJECTS)
def test_a_name_that_an_object_lacks_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match=r"has no edge weights called 'score', but '.*'|but the adjacency matrix has no names"):
        as_graph(OBJECTS[kind](WEIGHT), weight="score")


@pytest.mark.filterwarnings("ignore:.*edge columns that are not used")
@pytest.mark.parametrize("kind", OBJECTS)
def test_the_empty_name_reads_no_weights(tmp_path: Path, kind: str) -> None:
    assert as_graph(OBJECTS[kind](WEIGHT), weight="").weights is None
    assert as_graph(as_graph(OBJECTS[kind](WEIGHT)), weight="").weights is None
    for file in FILES:
        assert read(tmp_path, file, WEIGHT, weight="").weights is None


def test_two_columns_of_weights_are_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "e.csv", "source,target,weight, Weight\n0,1,1,2\n")
    with pytest.raises(ValueError, match=r"e\.csv has several columns of one name: 'weight'"):
        read_graph(path)


# What is not used


def test_every_unused_column_is_named_once(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(9)]
    put(tmp_path / "x.csv", FEATURES)
    edges = put(tmp_path / "e.csv", f",source,target,{','.join(names)}\n0,0,1{',7' * 9}\n")  # pandas counts rows without a name
    with pytest.warns(LocalGCLWarning) as caught:
        read_graph(edges, features=tmp_path / "x.csv")
    (line,) = [str(warning.message) for warning in caught]
    assert line.endswith(
        f"e.csv: edge columns that are not used: {', '.join(map(repr, names))}; if one of them holds weights, name it with "
        "weight= (--weight)"
    )


NETWORK: Any = nx.DiGraph()
NETWORK.add_edge(0, 1, weight=2, time=1)
NETWORK.add_edge(1, 2, kind="a")


@pytest.mark.parametrize(
    ("obj", "unused"),
    [
        (table(WEIGHT).assign(time=1, kind="a"), "the table of edges: edge columns that are not used: 'time', 'kind'"),
        (NETWORK, "the networkx graph: .*: 'time', 'kind'"),
        (data([[1.0, 2.0], [3.0, 4.0]], "edge_attr"), "the Data object: .*: 'edge_attr'; if one"),
        (data([7, 8], "edge_type"), "the Data object: .*: 'edge_type'; if one"),
    ],
    ids=["pandas", "networkx", "edge_attr", "edge_type"],
)
def test_unused_attributes_are_named(obj: Any, unused: str) -> None:
    with pytest.warns(LocalGCLWarning, match=unused) as caught:
        as_graph(obj, *([] if isinstance(obj, Data) else [X[: obj.number_of_nodes()] if isinstance(obj, nx.Graph) else X[:3]]))
    assert len(caught) == 1


def test_unused_arrays_are_named(tmp_path: Path) -> None:
    put(tmp_path / "x.csv", FEATURES)
    path = put(tmp_path / "e.npz", saved(np.savez, source=SOURCE, target=TARGET, edge_attr=[1, 2], x=X, y=[0] * 4))
    with pytest.warns(LocalGCLWarning, match=r"e\.npz: edge columns that are not used: 'edge_attr'; if"):
        read_graph(path, features=tmp_path / "x.csv")


# Libraries


def test_networkx_edges_without_a_weight_have_weight_1() -> None:
    graph: Any = nx.Graph([(0, 1, {"weight": 3}), (1, 2), (2, 3, {"weight": None})])
    assert weights_of(as_graph(graph, X)) == {(0, 1): 3, (1, 0): 3, (1, 2): 1, (2, 1): 1, (2, 3): 1, (3, 2): 1}
    several: Any = nx.MultiGraph([(0, 1, {"weight": 3}), (0, 1, {"weight": 2})])
    summed = as_graph(several, X[:2]).symmetrized()
    assert weights_of(summed) == {(0, 1): 5, (1, 0): 5}


def test_an_edge_attr_of_one_column_is_read_and_said_so() -> None:
    with pytest.warns(
        LocalGCLWarning, match="edge_attr has one column, which is read as edge weights; pass weight=''"
    ) as caught:
        graph = as_graph(data([[0.5], [3.0]], "edge_attr"))
    assert len(caught) == 1
    assert weights_of(graph) == {(0, 1): 0.5, (1, 2): 3.0}
    assert as_graph(data([[1.0], [1.0]], "edge_attr")).weights is None  # nothing to say


def test_edge_weight_comes_before_edge_attr() -> None:
    both = data(WEIGHT)
    both.edge_attr = torch.ones(2, 3)
    with pytest.warns(LocalGCLWarning, match=r"the Data object: edge columns that are not used: 'edge_attr'$"):
        assert weights_of(as_graph(both)) == {(0, 1): 0.5, (1, 2): 3.0}


def test_a_transposed_adjacency_of_pyg() -> None:
    turned = torch.sparse_coo_tensor(torch.tensor([TARGET, SOURCE]), torch.tensor(WEIGHT), (4, 4)).to_sparse_csr()
    turned_data = Data(x=torch.from_numpy(X), adj_t=turned)
    assert weights_of(as_graph(turned_data)) == {(0, 1): 0.5, (1, 2): 3.0}
    assert as_graph(turned_data, weight="").weights is None
    with pytest.raises(ValueError, match="weight is 'score', but adj_t has no names"):
        as_graph(turned_data, weight="score")


def test_pyg_round_trip() -> None:
    graph = Graph.from_edges(SOURCE, TARGET, x=X, weights=WEIGHT)
    assert weights_of(as_graph(to_pyg(graph))) == weights_of(graph)
    assert "edge_weight" not in to_pyg(Graph.from_edges(SOURCE, TARGET, x=X))


def test_structural_features_of_a_weighted_graph() -> None:
    with pytest.warns(LocalGCLWarning, match="no features given"):
        graph = as_graph(matrix(WEIGHT))
    assert weights_of(graph) == {(0, 1): 0.5, (1, 2): 3.0}
    with pytest.warns(LocalGCLWarning, match="no features given"):
        plain = as_graph(matrix([1.0, 1.0]))
    assert not torch.equal(graph.x, plain.x)
