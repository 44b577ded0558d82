"""Feature names in models and run folders: a table with its columns in another order embeds the same nodes alike."""

import json
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import localgcl as lg
from localgcl import Graph, LocalGCLWarning
from localgcl.graph.prepare import with_structural_features
from localgcl.methods import configure
from localgcl.training import Model, RunFolder, fit
from localgcl.training.run import default_folder
from localgcl.training.session import Interrupted

NAMES = tuple(f"word {i}" for i in range(8))
MIXED = tuple(np.random.default_rng(1).permutation(NAMES).tolist())
SETTINGS: dict[str, Any] = {"dim": 6, "steps": 4, "scaling": "standard", "device": "cpu"}


def graph(names: tuple[str, ...] | None = NAMES, *, extra: int = 0) -> Graph:
    """Two rings of ten nodes, with columns in the order of `names`; `extra` columns of noise come first."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(20, 8)) * np.arange(1, 9) + (np.arange(20) > 9)[:, None], columns=NAMES)
    table = table[list(names or NAMES)]
    for i in range(extra):
        table.insert(0, f"noise {i}", rng.normal(size=20))
    source = np.arange(20)
    target = (source + 1) % 10 + 10 * (source > 9)
    return Graph.from_edges(source, target, x=table if names else table.to_numpy())


@pytest.fixture(scope="module")
def trained() -> Model:
    return fit(graph(), configure("local-gcl", SETTINGS))


@pytest.fixture(autouse=True)
def _strict() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", LocalGCLWarning)
        yield


@pytest.mark.parametrize("saved", [False, True])
def test_columns_in_another_order_are_put_right(trained: Model, saved: bool, tmp_path: Path) -> None:
    if saved:
        trained.save(tmp_path / "run")
        trained = Model.load(tmp_path / "run")
    z = trained.embed(graph())
    assert torch.equal(trained.embed(graph(MIXED)), z)
    with pytest.warns(LocalGCLWarning, match="not trained on are ignored: 'noise 1', 'noise 0'") as caught:
        assert torch.equal(trained.embed(graph(MIXED, extra=2)), z)
    assert len(caught) == 1
    with pytest.raises(ValueError, match=r"lacks 2 of the 8 feature columns .*: 'word 1', 'word 4'; add them"):
        trained.embed(graph(tuple(name for name in NAMES if name not in ("word 1", "word 4"))))


def test_arrays_go_by_position_and_say_so_where_names_are_known(trained: Model) -> None:
    z = trained.embed(graph())
    with pytest.warns(LocalGCLWarning, match="the graph's features have no names, so .* by position"):
        assert torch.equal(trained.embed(graph(None)), z)
    bare = fit(graph(None), configure("local-gcl", SETTINGS))
    assert torch.equal(bare.embed(graph(None)), z)  # two arrays: nothing to say
    with pytest.warns(LocalGCLWarning, match="trained on features without names"):
        bare.embed(graph(MIXED))
    with pytest.raises(ValueError, match="9 feature columns, but the model was trained on 8"):
        bare.embed(graph(None).with_features(np.ones((20, 9))))


@pytest.mark.parametrize("make", [lambda: lg.LocalGCL(**SETTINGS), lambda: lg.Embedder("random-init", dim=6, device="cpu")])
def test_estimators_match_by_name_also_after_saving(make: Any, tmp_path: Path) -> None:
    model = make().fit(graph())
    z = model.transform(graph())
    np.testing.assert_array_equal(model.transform(graph(MIXED)), z)
    assert model.feature_names_in_.tolist() == list(NAMES)
    model.save(tmp_path / "run")
    loaded = type(model).load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.transform(graph(MIXED)), z)
    assert loaded.feature_names_in_.tolist() == list(NAMES)
    assert not hasattr(model.fit(graph(None)), "feature_names_in_")
    assert not hasattr(make(), "feature_names_in_")


def test_a_frame_with_edges_in_a_frame() -> None:
    rng = np.random.default_rng(0)
    edges = pd.DataFrame({"source": range(20), "target": [(i + 1) % 20 for i in range(20)]})
    x = pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b", "c"]).rename_axis("id")
    model = lg.LocalGCL(dim=4, steps=2).fit(lg.as_graph(edges, x))
    np.testing.assert_array_equal(
        model.transform(lg.as_graph(edges, x[["c", "a", "b"]])), model.transform(lg.as_graph(edges, x))
    )


# Run folders


def test_the_run_folder_keeps_the_names_beside_its_settings(trained: Model, tmp_path: Path) -> None:
    trained.save(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "features.json").read_text()) == {"names": list(NAMES)}
    config = (tmp_path / "run" / "config.toml").read_text()
    assert "feature_names = 8" in config
    assert "word 1" not in config
    assert RunFolder.open(tmp_path / "run").feature_names == NAMES
    fit(graph(None), configure("random-init", {}), folder=tmp_path / "bare")
    assert not (tmp_path / "bare" / "features.json").exists()
    assert RunFolder.open(tmp_path / "bare").feature_names is None


def test_names_of_any_text_come_back(tmp_path: Path) -> None:
    names = ("", " ", "é\n", '"\\', "\x00\x1b[31m", "表", "a" * 10_000, "null")
    RunFolder.create(tmp_path / "run", configure("random-init", {}), {}, feature_names=names)
    assert RunFolder.open(tmp_path / "run").feature_names == names


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is damaged"),
        ("{", "is damaged"),
        ("[1]", "is damaged"),
        ('{"names": 3}', "is damaged"),
        ('{"names": ["a", "b"]}', "2 feature names for 8 feature columns"),
        ('{"names": ["a", "a", "a", "a", "a", "a", "a", "a"]}', "several columns of one name: 'a'"),
        ("[" * 100_000, "is damaged"),
        (None, "is missing, which names the 8 feature columns; restore a copy"),
    ],
)
def test_damaged_names_are_an_error_not_a_guess(trained: Model, tmp_path: Path, content: str | None, message: str) -> None:
    trained.save(tmp_path / "run")
    path = tmp_path / "run" / "features.json"
    path.unlink()
    if content is not None:
        path.write_text(content)
    with pytest.raises((ValueError, FileNotFoundError), match=message) as caught:
        Model.load(tmp_path / "run")
    assert "features.json" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("count", ['"8"', "-1", "true", "9"])
def test_a_count_that_is_none_is_refused(trained: Model, tmp_path: Path, count: str) -> None:
    trained.save(tmp_path / "run")
    path = tmp_path / "run" / "config.toml"
    path.write_text(path.read_text().replace("feature_names = 8", f"feature_names = {count}"))
    with pytest.raises(ValueError, match=r"(not a count|8 feature names for 9 feature columns)"):
        RunFolder.open(tmp_path / "run")


def test_names_and_weights_must_fit(trained: Model, tmp_path: Path) -> None:
    trained.save(tmp_path / "run")
    path = tmp_path / "run" / "config.toml"
    path.write_text(path.read_text().replace("feature_names = 8", "feature_names = 1"))
    (tmp_path / "run" / "features.json").write_text('{"names": ["a"]}')
    with pytest.raises(ValueError, match="1 feature names for 8 feature columns"):
        Model.load(tmp_path / "run")


# Training that goes on


def stopped(folder: Path, names: tuple[str, ...] | None) -> None:
    """A run that was interrupted after its second step."""

    def interrupt(row: dict[str, Any]) -> None:
        if row["step"] == 1:
            raise KeyboardInterrupt

    config = configure("local-gcl", {**SETTINGS, "checkpoint_every": 1})
    with pytest.raises((Interrupted, KeyboardInterrupt)):
        fit(graph(names), config, folder=folder, callbacks=[interrupt])
    (folder / "weights.safetensors").unlink(missing_ok=True)


def test_resuming_takes_columns_in_the_order_it_started_with(trained: Model, tmp_path: Path) -> None:
    stopped(tmp_path / "run", NAMES)
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    config = RunFolder.open(tmp_path / "run").config
    resumed = fit(graph(MIXED), config, folder=tmp_path / "run", resume=True)
    assert resumed.feature_names == NAMES
    assert torch.equal(resumed.embed(graph(MIXED)), trained.embed(graph()))
    with pytest.raises(ValueError, match=r"lacks 1 of the 8 feature columns .*: 'word 3'"):
        fit(graph(tuple(set(NAMES) - {"word 3"})), config, folder=tmp_path / "copy", resume=True)


def test_resuming_a_run_without_names_goes_by_position_and_says_so(tmp_path: Path) -> None:
    stopped(tmp_path / "run", None)
    config = RunFolder.open(tmp_path / "run").config
    with pytest.warns(LocalGCLWarning, match="trained on features without names"):
        assert fit(graph(), config, folder=tmp_path / "run", resume=True).feature_names is None


def test_a_warm_start_takes_columns_in_the_order_of_its_weights(trained: Model, tmp_path: Path) -> None:
    trained.save(tmp_path / "run")
    config = configure("local-gcl", {**SETTINGS, "steps": 0})
    started = fit(graph(MIXED), config, warm_start=tmp_path / "run", folder=tmp_path / "next")
    assert torch.equal(started.embed(graph(MIXED)), trained.embed(graph()))
    assert RunFolder.open(tmp_path / "next").feature_names == NAMES


# Where runs go


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("cora", "cora"),
        ("my graph", "my graph"),
        ("été", "été"),
        ("", "graph"),
        (".", "graph"),
        ("..", "graph"),
        ("...", "graph"),
        (" ", "graph"),
        ("/", "graph"),
        ("../../etc", "etc"),
        ("/etc/passwd", "etc-passwd"),
        ("a\\..\\b", "a-..-b"),
        ("c:evil", "c-evil"),
        ("a\x1b[31m\n\x00b", "a-[31m--b"),
        ("\udcff", "graph"),
    ],
)
def test_a_run_stays_within_runs(name: str, folder: str) -> None:
    chosen = default_folder(name)
    assert chosen == Path("runs") / folder
    assert Path("runs").resolve() == chosen.resolve().parent


def test_training_a_graph_of_any_name_stays_within_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("../outside", ".."):
        lg.train(graph().derived(name=name), method="random-init", dim=4)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs"]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["graph", "outside"]


def test_a_graph_of_another_size_gets_as_many_structural_features_as_the_model_reads() -> None:
    small, large = (with_structural_features(graph(), columns) for columns in (128, 512))
    model = fit(small, configure("local-gcl", {**SETTINGS, "encoder": "gcn"}))
    assert torch.equal(model.embed(large), model.embed(small))
    with pytest.raises(ValueError, match="512 feature columns, but the model was trained on 128"):
        model.embed(large.with_features(large.x))  # the user's own columns are never replaced


def test_weights_start_from_a_run_on_a_smaller_graph_without_features(tmp_path: Path) -> None:
    small, large = (with_structural_features(graph(), columns) for columns in (128, 512))
    config = configure("local-gcl", {**SETTINGS, "encoder": "gcn"})
    fit(small, config, folder=tmp_path / "first")
    assert fit(large, config, warm_start=tmp_path / "first").num_inputs == 128


def test_edges_alone_do_not_pass_for_the_columns_of_a_user(tmp_path: Path) -> None:
    bare = with_structural_features(graph(), 128)
    config = configure("local-gcl", {**SETTINGS, "encoder": "gcn"})
    fit(bare.with_features(bare.x), config, folder=tmp_path / "own")  # as many columns, without names
    with pytest.raises(ValueError, match="no features but those computed from its edges, and the model was trained on 128"):
        Model.load(tmp_path / "own").embed(bare)
    with pytest.raises(ValueError, match="no features but those computed from its edges"):
        fit(bare, config, warm_start=tmp_path / "own")
    fit(bare, config, folder=tmp_path / "bare")
    assert Model.load(tmp_path / "bare").structural
    Model.load(tmp_path / "bare").embed(bare)
