"""Layer by layer in blocks of rows: the embeddings and the batch-norm statistics of a pass over the whole graph."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from localgcl.config import EncoderOptions, Preparation
from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.graph.mapped import mapped
from localgcl.graph.prepare import column_statistics, prepare
from localgcl.nn import streamed as module
from localgcl.nn.encoders import GCN, MLP
from tests.losses.problems import seeded
from tests.references.folders import stored
from tests.references.graphs import messy_graph, weighted_graph

DENSE = sbm(150, features=7, seed=0)
GRAPHS = {
    "undirected": DENSE,
    "directed, with loops": messy_graph(60, 300).with_features(torch.randn(60, 7, generator=seeded(0))),
    "weighted": weighted_graph(60, 300).with_features(torch.randn(60, 7, generator=seeded(1))),
    "sparse": DENSE.with_features(((torch.rand(150, 40, generator=seeded(2)) < 0.02) * 1.0).to_sparse_csr()),
}
OPTIONS: list[dict[str, Any]] = [
    {"layers": 1},
    {"layers": 2, "batch_norm": True, "activation": "prelu"},
    {"layers": 3, "batch_norm": True, "activate_last": True, "activation": "rrelu", "self_loops": 0.0, "hidden": 5},
    {"layers": 2, "layer_norm": True, "activation": "elu", "self_loops": 2.5, "dim": 4, "hidden": 12},
]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localgcl.graph.mapped.BLOCK", 40)


def encoder_of(options: dict[str, Any], graph: Graph, kind: Any = GCN) -> Any:
    torch.manual_seed(0)
    return kind(graph.num_features, EncoderOptions(**{"dim": 9, **options}))


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    # Sums of float32 in another order.
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_equals_a_pass_over_the_whole_graph(graph: Graph, options: dict[str, Any]) -> None:
    whole, parts = encoder_of(options, graph), encoder_of(options, graph)
    inputs = whole.inputs(graph)
    whole.refresh_statistics(inputs)
    parts.refresh_rows(graph)
    for name, value in whole.state_dict().items():
        close(parts.state_dict()[name], value)
    whole.eval()
    parts.eval()
    close(torch.cat(list(parts.blocks(graph, range(graph.num_nodes)))), whole(inputs))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_batch_with_all_neighbours_has_the_rows_of_the_whole_graph(options: dict[str, Any]) -> None:
    for graph in GRAPHS.values():
        encoder, rows = encoder_of(options, graph).eval(), torch.tensor([5, 2, 41])
        close(encoder(encoder.take(encoder.reading(graph), rows)), encoder(encoder.inputs(graph))[rows])


def test_layers_that_average_nothing_have_statistics_too() -> None:
    for graph in (GRAPHS["undirected"], GRAPHS["sparse"]):
        whole, parts = (encoder_of({"layers": 2, "batch_norm": True}, graph, MLP) for _ in range(2))
        whole.refresh_statistics(whole.inputs(graph))
        parts.refresh_rows(graph)
        for name, value in whole.state_dict().items():
            close(parts.state_dict()[name], value)
        close(torch.cat(list(parts.eval().blocks(graph, range(graph.num_nodes)))), whole.eval()(whole.inputs(graph)))


@pytest.mark.parametrize("scaling", ["raw", "standard"])
def test_layers_of_a_mapped_graph_are_files_that_vanish(scaling: Any, tmp_path: Path) -> None:
    statistics = column_statistics(DENSE, scaling)
    there = mapped(stored(DENSE, tmp_path / "graph"), Preparation(scaling=scaling), statistics, tmp_path / "cache")
    here = prepare(DENSE, Preparation(scaling=scaling), statistics)
    encoder = encoder_of(OPTIONS[1], DENSE)
    encoder.refresh_rows(there)
    encoder.eval()
    close(torch.cat(list(encoder.blocks(there, range(there.num_nodes)))), encoder(encoder.inputs(here)))
    array = module._empty(there, (4, 3))
    assert isinstance(array, np.memmap)
    array[:] = 1
    assert float(array.sum()) == 12
    assert all(path.suffix == ".npy" for path in (tmp_path / "cache").iterdir())  # scaled features stay, layers do not


def test_a_full_disk_is_an_error_and_not_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    there = mapped(stored(DENSE, tmp_path), Preparation(), {}, tmp_path / "cache")
    with pytest.raises(OSError, match="No space left"):
        list(encoder_of({"layers": 2}, DENSE).eval().blocks(there, range(there.num_nodes)))
    assert not any((tmp_path / "cache").glob("tmp*"))
