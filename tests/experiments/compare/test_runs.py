from pathlib import Path
from typing import Any

import pytest

import localgcl as lg
from localgcl.evaluation import Scores, evaluate
from localgcl.evaluation.evaluator import EvaluationOptions
from localgcl.experiments.compare import compare_runs
from localgcl.experiments.compare import runs as module
from tests.experiments.compare.problems import graph

# A single step on few dimensions leaves embeddings that look collapsed.
pytestmark = pytest.mark.filterwarnings("ignore::localgcl.LocalGCLWarning")


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two data sets: each the small graph, which has no splits."""
    monkeypatch.setattr("localgcl.datasets.source.load", lambda name: graph(seed=int(name == "another")))


def run(folder: Path, method: str, data: str = "mine", **settings: Any) -> str:
    lg.train(data, folder, method=method, device="cpu", **{"dim": 4, "steps": 1, "encoder": "gcn", **settings})
    return str(folder)


def score(*folders: str, **options: Any) -> dict[str, Scores]:
    return compare_runs(folders, EvaluationOptions(protocol="knn", **options))


@pytest.mark.usefixtures("loads")
def test_runs_of_different_methods_have_a_row_each(tmp_path: Path) -> None:
    ours, other = run(tmp_path / "a", "local-gcl"), run(tmp_path / "b", "cca-ssg", layers=1)
    rows = score(ours, other, splits=3)
    assert list(rows) == ["local-gcl", "cca-ssg", "random-init (as local-gcl)", "random-init (as cca-ssg)", "raw-features"]
    assert {one.over for one in rows.values()} == {"3 splits"}
    alone = score(other, splits=3)
    assert list(alone) == ["cca-ssg", "random-init", "raw-features"]
    assert rows["cca-ssg"].values == alone["cca-ssg"].values  # the same splits
    assert rows["random-init (as cca-ssg)"].values == alone["random-init"].values


@pytest.mark.usefixtures("loads")
def test_baselines_are_scored_once_for_each_encoder_and_scaling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same: dict[str, Any] = {"layers": 2, "hidden": 0, "batch_norm": False, "activation": "relu", "activate_last": False}
    folders = [run(tmp_path / method, method, **same, scaling="l2") for method in ("local-gcl", "dgi")]
    folders.append(run(tmp_path / "raw", "cca-ssg", **same, scaling="raw"))
    scored = []

    def watched(*arguments: Any, **others: Any) -> Scores:
        scored.append(arguments)
        return evaluate(*arguments, **others)

    monkeypatch.setattr(module, "evaluate", watched)
    rows = score(*folders, splits=1)
    assert list(rows)[3:] == [
        "random-init (as local-gcl, dgi)",
        "random-init (as cca-ssg)",
        "raw-features (as local-gcl, dgi)",
        "raw-features (as cca-ssg)",
    ]
    assert len(scored) == 7
    assert list(score(*folders, baselines=False)) == ["local-gcl", "dgi", "cca-ssg"]


@pytest.mark.usefixtures("loads")
def test_runs_that_differ_only_in_the_seed_are_averaged(tmp_path: Path) -> None:
    folders = [run(tmp_path / f"{method}-{seed}", method, seed=seed) for method in ("local-gcl", "dgi") for seed in (0, 1)]
    rows = score(*folders)
    assert [row for row in rows if not row.startswith("ra")] == ["local-gcl", "dgi"]
    assert rows["local-gcl"].over == "2 runs, 1 split each"
    both = score(*folders[:2])
    assert list(both) == ["local-gcl", "random-init", "raw-features"]
    assert both["local-gcl"].values == rows["local-gcl"].values
    assert len(both["raw-features"].values) == 2


@pytest.mark.usefixtures("loads")
def test_other_settings_of_a_method_are_named_by_their_folder(tmp_path: Path) -> None:
    folders = [run(tmp_path / str(steps), "local-gcl", steps=steps) for steps in (1, 2)]
    assert list(score(*folders, splits=1)) == [
        f"local-gcl ({tmp_path}/1)",
        f"local-gcl ({tmp_path}/2)",
        "random-init",
        "raw-features",
    ]


@pytest.mark.usefixtures("loads")
def test_runs_of_two_graphs_are_refused(tmp_path: Path) -> None:
    folders = [run(tmp_path / data, "local-gcl", data) for data in ("mine", "another")]
    with pytest.raises(ValueError, match=r"another was trained on another graph than .*mine; evaluate them apart"):
        score(*folders)
