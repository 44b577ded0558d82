import errno
from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.methods import configure
from localgcl.training import Model, RunFolder, fit

GRAPH = sbm(60, classes=3, features=6, seed=0)
CONFIG = configure("local-gcl", {"dim": 8, "steps": 2, "device": "cpu", "scaling": "standard"})


def test_the_folder_is_everything(tmp_path: Path) -> None:
    model = fit(GRAPH, CONFIG, folder=tmp_path / "run", source={"dataset": "somewhere"})
    run = RunFolder.open(tmp_path / "run")
    assert run.config == CONFIG
    assert run.source == {"dataset": "somewhere"}
    assert {"date", "packages", "threads", "python", "processor"} <= set(run.made)
    assert sorted(path.name for path in run.path.iterdir()) == ["config.toml", "metrics.csv", "weights.safetensors"]
    assert len({path.stat().st_mode for path in run.path.iterdir()}) == 1  # all files as readable as the umask allows
    loaded = Model.load(tmp_path / "run")
    assert torch.equal(loaded.embed(GRAPH), model.embed(GRAPH))
    assert loaded.step == 2
    assert [row["step"] for row in loaded.history] == [0, 1]


def test_an_existing_folder_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("dear reader")
    with pytest.raises(FileExistsError, match="already exists; choose another folder"):
        fit(GRAPH, CONFIG, folder=tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["thesis.tex"]
    (tmp_path / "empty").mkdir()
    fit(GRAPH, CONFIG, folder=tmp_path / "empty")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.toml", "method = ", "is not valid TOML"),
        ("config.toml", 'method = "local-gcl"', "lacks settings"),
        ("config.toml", 'method = "local-gcl"\n[settings]\ndimm = 3', "no option 'dimm'; did you mean 'dim'"),
        ("config.toml", 'method = "lokal"\n[settings]', "no method 'lokal'; did you mean 'local-gcl'"),
        ("weights.safetensors", "no weights", "is damaged or not a weights file"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    fit(GRAPH, CONFIG, folder=tmp_path / "run")
    (tmp_path / "run" / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        Model.load(tmp_path / "run")


def test_a_folder_that_is_no_run_or_has_no_weights(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="is not a run folder"):
        Model.load(tmp_path)
    fit(GRAPH, CONFIG, folder=tmp_path / "run")
    (tmp_path / "run" / "weights.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="finish it with --resume"):
        Model.load(tmp_path / "run")


def test_a_full_disk_leaves_no_half_written_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("safetensors.torch.save", full)
    with pytest.raises(OSError, match="No space left"):
        fit(GRAPH, CONFIG, folder=tmp_path / "run")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["config.toml", "metrics.csv"]


def test_other_feature_columns_are_refused(tmp_path: Path) -> None:
    model = fit(GRAPH, CONFIG)
    with pytest.raises(ValueError, match="has 7 feature columns, but the model was trained on 6"):
        model.embed(GRAPH.with_features(torch.ones(60, 7)))
    assert not any(tmp_path.iterdir())


def test_unseen_nodes_are_scaled_with_the_statistics_of_training() -> None:
    model = fit(GRAPH, CONFIG)
    whole = model.embed(GRAPH)
    # A lone edge far from everything keeps its embedding whatever else the graph holds, unless statistics are refitted.
    pair = Graph.from_edges([0], [1], x=GRAPH.x[:2])
    crowd = Graph.from_edges([0], [1], x=torch.cat([GRAPH.x[:2], 100 * torch.ones(5, 6)]))
    torch.testing.assert_close(model.embed(pair), model.embed(crowd)[:2])
    assert whole.shape == (60, 8)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Graph.from_edges([], [], x=torch.ones(1, 2)), "the graph has one node"),
        (Graph.from_edges([], [], x=torch.ones(5, 2)), "no two of the 5 nodes are connected"),
        (Graph.from_edges([0, 1], [0, 1], x=torch.ones(5, 2)), "no two of the 5 nodes are connected"),
    ],
)
def test_graphs_without_pairs_are_refused_before_anything_is_written(tmp_path: Path, graph: Graph, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(graph, configure("local-gcl", {"dim": 4, "device": "cpu"}), folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_devices() -> None:
    with pytest.raises(ValueError, match="choose auto, cpu, cuda"):
        fit(GRAPH, CONFIG.replace(device="toaster"))
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="torch sees 0 GPUs here"):
            fit(GRAPH, CONFIG.replace(device="cuda"))
