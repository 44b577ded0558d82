"""Every method with every command, on 60 nodes in CSV files and on a graph folder made of them."""

import functools
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from localgcl.commands import main
from localgcl.evaluation import evaluate
from localgcl.methods import METHODS, find_method

NODES, DIM = 60, 8
TRAINED = [name for name in METHODS if find_method(name).learns]
Capture = pytest.CaptureFixture[str]


def run(*arguments: object) -> int:
    return main([str(argument) for argument in (*arguments, "--quiet")])


def settings(method: str) -> list[str]:
    """Options of `train` and `tune` that make a run short."""
    steps = ["--steps", "2", "--checkpoint-every", "1"] if method in TRAINED else []
    dim = [] if method == "raw-features" else ["--dim", str(DIM)]
    return ["--method", method, "--device", "cpu", *dim, *steps]


@pytest.fixture(scope="module", autouse=True)
def short_probe() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("localgcl.report.measures.evaluate", functools.partial(evaluate, steps=2))
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three groups of twenty nodes with string ids: a ring and chords in each, an edge from each to the next."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    ids = np.array([f"n{node}" for node in range(NODES)])
    group = np.repeat(np.arange(3), NODES // 3)
    ends = [(node, 20 * (node // 20) + (node + hop) % 20) for node in range(NODES) for hop in (1, 5)]
    ends += [(19, 20), (39, 40), (59, 0)]
    source, target = np.array(ends).T
    x = rng.normal(size=(NODES, 5)) + np.eye(3, 5)[group]
    tables = {
        "edges": {"source": ids[source], "target": ids[target]},
        "features": {"id": ids, **dict(zip("abcde", x.T.round(4), strict=True))},
        "labels": {"id": ids, "label": group},
    }
    words: list[str] = []
    for name, table in tables.items():
        pd.DataFrame(table).to_csv(folder / f"{name}.csv", index=False)
        words += [f"--{name}", str(folder / f"{name}.csv")]
    return words


@pytest.fixture(scope="module")
def graph_folder(files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph") / "graph"
    assert run("convert", files[1], *files[2:], "--out", folder) == 0
    return folder


@pytest.fixture(scope="module", params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def trained(method: str, files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the method on the files."""
    out = tmp_path_factory.mktemp(method) / "run"
    assert run("train", *files, *settings(method), "--out", out) == 0
    return out


def document(capsys: Capture, *arguments: object) -> dict[str, Any]:
    """What a command gives programs; its exit code must be 0."""
    capsys.readouterr()
    code = main([str(argument) for argument in (*arguments, "--json", "--quiet")])
    told = capsys.readouterr()
    assert code == 0, told.err
    found: dict[str, Any] = json.loads(told.out)
    return found


def width(method: str) -> int:
    return 5 if method == "raw-features" else DIM


def test_train_and_embed(method: str, trained: Path, tmp_path: Path) -> None:
    kept = np.load(trained / "embeddings.npy")
    assert kept.shape == (NODES, width(method))
    assert np.isfinite(kept).all()
    assert run("embed", trained, "-o", tmp_path / "z.npy") == 0
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), kept, rtol=0, atol=1e-6)  # float32, other order of sums


def test_resume(method: str, trained: Path, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finished run stays as it is; one that Ctrl-C stopped after a step ends with the weights of one that was not."""
    before = (trained / "weights.safetensors").read_bytes()
    assert run("train", *files, *settings(method), "--out", trained, "--resume") == 0
    assert (trained / "weights.safetensors").read_bytes() == before
    if method not in TRAINED:
        return
    kind, out = find_method(method), tmp_path / "run"

    def stopped(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return loss(*arguments)

    loss = kind.loss
    with monkeypatch.context() as patch:
        patch.setattr(kind, "loss", stopped)
        assert run("train", *files, *settings(method), "--out", out) == 130
    assert run("train", "--resume", "--out", out) == 0
    for name, value in load_file(trained / "weights.safetensors").items():
        torch.testing.assert_close(load_file(out / "weights.safetensors")[name], value, rtol=0, atol=1e-6)


def test_evaluate(method: str, trained: Path, capsys: Capture) -> None:
    found = document(capsys, "evaluate", trained, "--protocol", "knn")
    assert set(found["scores"]) == {method, *(("random-init", "raw-features") if method in TRAINED else ())}


def test_report(method: str, trained: Path, capsys: Capture) -> None:
    found = document(capsys, "report", trained, "--layout", "pca", "--clusters", "3", "--force")
    assert found["nodes"] == NODES
    assert found["scores"][0]["name"] == method
    assert (trained / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_map_similar_and_cluster(trained: Path, tmp_path: Path, capsys: Capture) -> None:
    assert document(capsys, "map", trained, "--layout", "pca", "-o", tmp_path / "map.svg")["nodes"] == NODES
    assert len(document(capsys, "similar", trained, "n0", "-k", "3")["similar"]["n0"]) == 3
    found = document(capsys, "cluster", trained, "-k", "3", "-o", tmp_path / "clusters.csv")
    assert sum(cluster["size"] for cluster in found["clusters"]) == NODES
    assert len(pd.read_csv(tmp_path / "clusters.csv")) == NODES


def test_compare(method: str, files: list[str], tmp_path: Path, capsys: Capture) -> None:
    # What learns nothing is the baseline of a comparison.
    methods = [method, "--no-baselines"] if method in TRAINED else ["cca-ssg", "--baselines"]
    short = ["--methods", *methods, "--seeds", "1", "--protocol", "knn", "--device", "cpu"]
    found = document(capsys, "compare", *files, *short, "--dim", DIM, "--set", "steps=2", "--out", tmp_path / "out")
    assert method in [row["method"] for row in found["methods"]]


def test_tune(method: str, files: list[str], tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "space.toml").write_text("scaling = ['raw', 'l2']\n")
    short = ["--trials", "2", "--seeds", "1", "--splits", "1", "--protocol", "knn", "--space", tmp_path / "space.toml"]
    assert document(capsys, "tune", *files, *settings(method), *short, "--out", tmp_path / "out")["trials"] == 2


def test_a_graph_folder(method: str, graph_folder: Path, tmp_path: Path) -> None:
    """Trains on, resumes, embeds and scores a graph folder."""
    out = tmp_path / "run"
    assert run("train", graph_folder, *settings(method), "--out", out) == 0
    assert run("train", graph_folder, *settings(method), "--out", out, "--resume") == 0
    assert run("embed", out, "-o", tmp_path / "z.npy") == 0
    assert np.load(tmp_path / "z.npy").shape == (NODES, width(method))
    assert run("evaluate", out, "--protocol", "knn") == 0


def test_inspect(files: list[str], graph_folder: Path, capsys: Capture) -> None:
    for graph in (files, [str(graph_folder)]):
        found = document(capsys, "inspect", *graph, "--seconds", "0", "--device", "cpu")
        assert set(found["methods"]) == set(TRAINED)
        assert not found["problems"]
