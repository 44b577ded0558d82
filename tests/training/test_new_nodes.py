"""New nodes without the whole graph: their embeddings are those of the joined graph."""

import dataclasses
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from localgcl.datasets import sbm
from localgcl.datasets.source import Source
from localgcl.graph import Graph
from localgcl.graph.stored import Header, read_header, write_header
from localgcl.methods import METHODS, configure
from localgcl.training import Model, fit
from localgcl.training.new_nodes import AddedEmbeddings, embed_added
from tests.references.folders import stored

Array = NDArray[Any]
COLUMNS = list("abcdef")
# The acceptance of the command; sums over neighbours in another order differ by far less.
CLOSE: dict[str, Any] = {"rtol": 0, "atol": 1e-5}
FAST: dict[str, Any] = {"dim": 12, "steps": 2, "device": "cpu"}
ENCODERS: dict[str, dict[str, Any]] = {
    "gcn": {"encoder": "gcn", "batch_norm": True},
    "mlp": {"encoder": "mlp", "batch_norm": True},
    "hops": {"encoder": "hops", "layers": 1},
    "channels": {"encoder": "hops", "channels": ("X", "B3X", "G2X"), "pca": 5, "scaling": "standard"},
    "fourier": {"encoder": "hops", "layers": 1, "fourier": 8, "scaling": "standard"},
    "loops": {"encoder": "gcn", "self_loops": 0.0, "drop_loops": False, "scaling": "l2"},
    "directed": {"encoder": "gcn", "symmetrise": False},
    "parallel": {"encoder": "gcn", "parallel_edges": "keep", "scaling": "l1"},
}


def features(count: int, seed: int = 0) -> Tensor:
    return torch.randn(count, len(COLUMNS), generator=torch.Generator().manual_seed(seed))


def graph_of(table: pd.DataFrame, x: Any) -> Graph:
    """The graph that files of these edges and features are read as."""
    weights = np.array(table["weight"]) if "weight" in table else None
    names = None if sp.issparse(x) else COLUMNS
    ends = (np.array(table[end]) for end in ("source", "target"))
    return Graph.from_edges(*ends, x=x, feature_names=names, weights=weights)


def node_table(x: Tensor, first: int) -> pd.DataFrame:
    frame = pd.DataFrame(x.numpy(), columns=COLUMNS).iloc[:, ::-1]  # columns are matched by name
    frame.insert(0, "id", range(first, first + len(x)))
    return frame


def random_edges(count: int, nodes: int, seed: int, *, weighted: bool = False) -> pd.DataFrame:
    """Edges with repeats and loops."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.integers(nodes, size=(count, 2)), columns=["source", "target"])
    table = pd.concat([table, table[:3], pd.DataFrame({"source": [2, 5], "target": [2, 5]})], ignore_index=True)
    return table.assign(weight=rng.uniform(0.2, 4, len(table)).astype(np.float32)) if weighted else table


def addition(nodes: int, *, weighted: bool = False) -> pd.DataFrame:
    """Edges of two new nodes, between stored nodes, one that is stored already, one twice, a loop; the third has none."""
    ends = [(nodes, 3), (8, nodes + 1), (nodes, nodes + 1), (11, 30), (30, 11), (4, 4), (nodes, 3)]
    table = pd.concat([pd.DataFrame(ends, columns=["source", "target"]), random_edges(90, nodes, 0)[:1]], ignore_index=True)
    return table.assign(weight=np.linspace(0.5, 3, len(table)).astype(np.float32)) if weighted else table


def check(found: AddedEmbeddings, model: Model, joined: Graph, before: Graph) -> set[int]:
    """Rows are those of the joined graph, and no node is missing whose embedding changed; returns the changed ones."""
    n = before.num_nodes
    new = joined.num_nodes - n
    nodes, z = found.node_ids.astype(np.int64), torch.cat(list(found.blocks))
    whole = model.embed(joined)
    torch.testing.assert_close(z, whole[nodes], **CLOSE)
    assert (found.num_new, found.num_changed) == (new, len(nodes) - new)
    assert nodes[found.num_changed :].tolist() == list(range(n, n + new))
    assert (np.diff(nodes) > 0).all()
    changed = ((whole[:n] - model.embed(before)).abs() > 1e-6).any(dim=1).nonzero().flatten()  # above rounding
    assert set(changed.tolist()) <= set(nodes.tolist())
    return set(changed.tolist())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_rows_are_those_of_the_joined_graph(encoder: str, weighted: bool) -> None:
    n, table = 60, random_edges(90, 60, 0, weighted=weighted)
    graph, more = graph_of(table, features(n)), addition(n, weighted=weighted)
    model = fit(graph, configure("local-gcl", FAST | ENCODERS[encoder]))
    joined = graph_of(pd.concat([table, more]), torch.cat([features(n), features(3, 1)]))
    new = node_table(features(3, 1), n)
    changed = check(embed_added(model, graph, more, new), model, joined, graph)
    assert bool(changed) == (encoder != "mlp")
    only = embed_added(model, graph, more, new, only_new=True)
    assert (only.node_ids.tolist(), only.num_changed) == ([n, n + 1, n + 2], 0)
    torch.testing.assert_close(torch.cat(list(only.blocks)), model.embed(joined)[n:], **CLOSE)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("encoder", "batch"), [("gcn", 0), ("mlp", 0), ("hops", 0), ("hops", 20), ("fourier", 20), ("parallel", 0)]
)
def test_rows_of_a_folder_are_those_of_the_joined_folder(encoder: str, weighted: bool, batch: int, tmp_path: Path) -> None:
    n, table = 60, random_edges(90, 60, 0, weighted=weighted)
    more = addition(n, weighted=weighted)
    graph = stored(graph_of(table, features(n)), tmp_path / "graph")
    joined = stored(graph_of(pd.concat([table, more]), torch.cat([features(n), features(3, 1)])), tmp_path / "joined")
    model = fit(graph, configure("local-gcl", FAST | ENCODERS[encoder] | {"batch": batch}))
    new = node_table(features(3, 1), n).set_index("id")[COLUMNS].rename_axis("id").reset_index()  # no names in the folder
    with warnings.catch_warnings(action="ignore"):  # of columns matched by position
        for source in (graph, Source(folder=str(tmp_path / "graph"))):
            check(embed_added(model, source, more, new), model, joined, graph)


@cache
def untrained(encoder: str) -> Model:
    graph = graph_of(random_edges(30, 12, 0), features(12))
    return fit(graph, configure("random-init", {"dim": 12, "device": "cpu"} | ENCODERS[encoder]))


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, int, int, pd.DataFrame, pd.DataFrame]:
    encoder = draw(st.sampled_from(sorted(ENCODERS)))
    n, new = draw(st.integers(2, 12)), draw(st.integers(1, 4))
    weighted = draw(st.booleans())

    def table(nodes: int, least: int) -> pd.DataFrame:
        ends = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))
        edges = draw(st.lists(ends, min_size=least, max_size=14))
        frame = pd.DataFrame(edges, columns=["source", "target"], dtype=np.int64)
        if weighted:
            frame["weight"] = draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=len(edges), max_size=len(edges)))
        return frame

    return encoder, n, new, table(n, 0), table(n + new, 1)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_any_graph_and_any_addition(case: tuple[str, int, int, pd.DataFrame, pd.DataFrame]) -> None:
    encoder, n, new, table, more = case
    model, graph = untrained(encoder), graph_of(table, features(n))
    joined = graph_of(pd.concat([table, more]), torch.cat([features(n), features(new, 1)]))
    check(embed_added(model, graph, more, node_table(features(new, 1), n)), model, joined, graph)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("encoder", ["gcn", "hops"])
def test_sparse_features(encoder: str, dense: bool, tmp_path: Path) -> None:
    x = sp.random_array((63, 200), density=0.02, rng=np.random.default_rng(0), dtype=np.float32).tocsr()
    table, more = random_edges(90, 60, 0), addition(60)
    graph, joined = graph_of(table, x[:60]), graph_of(pd.concat([table, more]), x)
    model = fit(graph, configure("local-gcl", FAST | ENCODERS[encoder] | {"scaling": "binary"}))
    path = tmp_path / ("x.npy" if dense else "x.npz")
    if dense:
        np.save(path, x[60:].toarray())
    else:
        sp.save_npz(path, x[60:])
    check(embed_added(model, graph, more, path), model, joined, graph)  # rows without ids are nodes 60, 61 and 62


@pytest.mark.parametrize(
    ("method", "encoder"), [*((name, "gcn") for name in sorted(METHODS)), ("gca", "mlp"), ("gmi", "mlp"), ("sugrl", "mlp")]
)
def test_every_method_agrees_or_refuses(method: str, encoder: str) -> None:
    table, more = random_edges(90, 60, 0), addition(60)
    graph = graph_of(table, features(60))
    model = fit(graph, configure(method, FAST | {"encoder": encoder, "steps": 1}))
    if method == "mvgrl":
        with pytest.raises(ValueError, match="embeddings of mvgrl are more than its encoder's output"):
            embed_added(model, graph, more, node_table(features(3, 1), 60))
        return
    joined = graph_of(pd.concat([table, more]), torch.cat([features(60), features(3, 1)]))
    check(embed_added(model, graph, more, node_table(features(3, 1), 60)), model, joined, graph)


def test_sugrl_averages_once_more_than_its_encoder() -> None:
    graph = graph_of(random_edges(90, 60, 0), features(60))
    for averaged in (False, True):
        options = {"average_features": averaged, "dim": 8, "steps": 1, "device": "cpu"}
        assert fit(graph, configure("sugrl", options)).method.reach() == 1 + averaged


def test_one_undirected_table_and_one_that_is_not_are_summed_as_joined_files_are() -> None:
    """Joined files with weights in one direction only double those that are there in both; so every embedding changes."""
    half = random_edges(90, 60, 0, weighted=True)
    table = pd.concat([half, half.rename(columns={"source": "target", "target": "source"})])
    more = addition(60, weighted=True)
    graph, joined = graph_of(table, features(60)), graph_of(pd.concat([table, more]), torch.cat([features(60), features(3, 1)]))
    model = fit(graph, configure("local-gcl", FAST | ENCODERS["gcn"]))
    found = embed_added(model, graph, more, node_table(features(3, 1), 60))
    assert found.num_changed > 55  # all but isolated ones
    check(found, model, joined, graph)


def test_weights_of_one_side_only(tmp_path: Path) -> None:
    plain, weighted = (random_edges(90, 60, 0, weighted=weighted) for weighted in (False, True))
    new = node_table(features(3, 1), 60)
    graph = graph_of(weighted, features(60))
    model = fit(graph, configure("local-gcl", FAST | ENCODERS["gcn"]))
    for held in (graph, stored(graph, tmp_path / "weighted")):
        with pytest.raises(ValueError, match="the table of edges has no edge weights, but the graph has; add the column"):
            embed_added(model, held, addition(60), new)
    # Edges without weights weigh 1, in files; a folder does not say how often the tables had an edge.
    more, bare = addition(60, weighted=True), graph_of(plain, features(60))
    joined = graph_of(pd.concat([plain.assign(weight=1.0), more]), torch.cat([features(60), features(3, 1)]))
    check(embed_added(model, bare, more, new), model, joined, bare)
    with pytest.raises(ValueError, match="the table of edges has edge weights, but the graph folder has none"):
        embed_added(model, stored(bare, tmp_path / "plain"), more, new)


def test_edges_of_weight_one_are_summed_where_others_have_weights(tmp_path: Path) -> None:
    table = random_edges(90, 60, 0, weighted=True)
    more = pd.DataFrame({"source": [60, 60, 3], "target": [3, 3, 9], "weight": 1.0})
    joined = graph_of(pd.concat([table, more]), torch.cat([features(60), features(1, 1)]))
    graph, both = stored(graph_of(table, features(60)), tmp_path / "graph"), stored(joined, tmp_path / "joined")
    model = fit(graph, configure("local-gcl", FAST | ENCODERS["gcn"]))
    new = node_table(features(1, 1), 60).iloc[:, [0, *range(6, 0, -1)]]
    with warnings.catch_warnings(action="ignore"):  # of columns matched by position
        check(embed_added(model, graph, more, new), model, both, graph)


def resident(file: Path) -> int:
    """KiB of a mapped file that this process has read."""
    kibibytes, here = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if line.startswith("Rss:") and here:
            kibibytes += int(line.split()[1])
        elif "-" in line.split()[0]:  # addresses: another mapping
            here = line.endswith(str(file))
    return kibibytes


def test_a_few_rows_of_a_large_folder_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 2_000_000
    ring = np.sort(np.stack([np.arange(-1, n - 1) % n, np.arange(1, n + 1) % n], axis=1)).astype(np.int32)
    np.save(tmp_path / "indptr.npy", np.arange(0, 2 * n + 1, 2))
    np.save(tmp_path / "indices.npy", ring.ravel())
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(n, 8)).astype(np.float32))
    write_header(tmp_path, Header("ring", n, 2 * n, 8))
    small = sbm(100, features=8, seed=0)
    model = fit(small, configure("local-gcl", {"dim": 20, "steps": 1, "device": "cpu", "encoder": "hops", "layers": 1}))
    monkeypatch.setattr(Graph, "open", None)
    np.save(tmp_path / "new.npy", np.ones((1, 8), dtype=np.float32))
    more = pd.DataFrame({"source": [n], "target": [n // 2]})
    found = embed_added(model, Source(folder=str(tmp_path)), more, tmp_path / "new.npy")
    # Two steps along the ring to either side of the node that the new one is joined to.
    assert found.node_ids.tolist() == [*range(n // 2 - 2, n // 2 + 3), n]
    assert next(found.blocks).shape == (6, 20)
    # Ten nodes with 8 features and 2 edges, asked for some times: a few pages, and the system reads two MiB at a time.
    for name, size in (("x.npy", 62_500), ("indices.npy", 15_625), ("indptr.npy", 15_625)):
        assert 0 < resident(tmp_path / name) < size / 5


def test_blocks_of_nodes_are_the_rows_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(random_edges(90, 60, 0), features(60))
    model = fit(graph, configure("local-gcl", FAST | ENCODERS["hops"]))
    parts = addition(60), node_table(features(3, 1), 60)
    whole = list(embed_added(model, graph, *parts).blocks)
    monkeypatch.setattr("localgcl.training.new_nodes._AT_ONCE", 7)
    blocks = list(embed_added(model, graph, *parts).blocks)
    assert len(whole) == 1
    assert len(blocks) > 3
    torch.testing.assert_close(torch.cat(blocks), whole[0], **CLOSE)


def test_a_part_of_the_addition_is_enough() -> None:
    graph = graph_of(random_edges(90, 60, 0), features(60))
    model = fit(graph, configure("local-gcl", FAST | ENCODERS["gcn"]))
    more = pd.DataFrame({"source": [0], "target": [59]})
    check(embed_added(model, graph, more), model, graph_of(pd.concat([random_edges(90, 60, 0), more]), features(60)), graph)
    alone = embed_added(model, graph, features=node_table(features(2, 1), 60))
    joined = graph_of(random_edges(90, 60, 0), torch.cat([features(60), features(2, 1)]))
    assert check(alone, model, joined, graph) == set()
    assert alone.num_changed == 0
    known = random_edges(90, 60, 0)[:4]
    for arguments in ({"edges": known}, {"edges": more, "only_new": True}, {}):
        with pytest.raises(ValueError, match="there are no new nodes"):
            embed_added(model, graph, **arguments)


def test_columns_that_do_not_fit_are_refused() -> None:
    graph = graph_of(random_edges(90, 60, 0), features(60))
    model = fit(graph, configure("local-gcl", FAST | ENCODERS["gcn"]))
    with pytest.raises(ValueError, match="lacks 1 of the 6 feature columns that the model was trained on: 'c'"):
        embed_added(model, graph, addition(60), node_table(features(3, 1), 60).drop(columns="c"))
    with pytest.raises(TypeError, match="features are a list; give a file, or a table"):
        embed_added(model, graph, addition(60), [1])


def test_computed_features_are_refused(tmp_path: Path) -> None:
    random_edges(90, 60, 0).to_csv(tmp_path / "edges.csv", index=False)
    model = untrained("gcn")
    more = pd.DataFrame({"source": [0], "target": [59]})
    folder = tmp_path / "graph"
    stored(graph_of(random_edges(90, 60, 0), features(60)), folder)
    header = read_header(folder)
    write_header(folder, dataclasses.replace(header, column_types={"structural features": "float"}))  # as convert does
    for source in (Source(edges=str(tmp_path / "edges.csv")), Source("arxiv-structure"), Source(folder=str(folder))):
        with pytest.raises(ValueError, match="are computed from its edges, so new edges change those of all nodes"):
            embed_added(model, source, more)
