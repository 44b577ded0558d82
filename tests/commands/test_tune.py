import csv
import tomllib
from pathlib import Path

import pytest

from localgcl.commands import main
from localgcl.experiments.search import log
from localgcl.training import RunFolder

FAST = ["--seeds", "1", "--protocol", "knn", "--device", "cpu", "--dim", "4", "--steps", "2", "--negatives", "exact"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Two rings of thirty people in files."""
    edges = [(f"p{30 * ring + i}", f"p{30 * ring + (i + step) % 30}") for ring in (0, 1) for i in range(30) for step in (1, 2)]
    with (tmp_path / "friends.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("source", "target"), *edges])
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "label"), *((f"p{i}", i // 30) for i in range(60))])
    with (tmp_path / "x.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "a", "b"), *((f"p{i}", i % 7, i // 30) for i in range(60))])
    names = {"--edges": "friends.csv", "--features": "x.csv", "--labels": "labels.csv"}
    return [part for flag, name in names.items() for part in (flag, str(tmp_path / name))]


def test_from_files_to_a_recipe_that_trains(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    (tmp_path / "space.toml").write_text("temperature = [0.5, 1.0]\nlayers = [1, 2]\n")
    command = ["tune", *files, *FAST, "--space", str(tmp_path / "space.toml"), "--trials", "3", "--out", str(out)]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "3/3  " in printed
    assert "best by validation accuracy:" in printed
    assert f"--recipe {out / 'recipe.toml'}" in printed
    settings = tomllib.loads((out / "recipe.toml").read_text())["friends"]
    assert {"temperature", "layers", "dim", "steps", "negatives"} <= set(settings)

    assert main(["train", *files, "--recipe", str(out / "recipe.toml"), "--device", "cpu", "--out", str(tmp_path / "run")]) == 0
    assert "the recipe in" in capsys.readouterr().out
    again = [
        "train",
        *files,
        "--recipe",
        str(out / "recipe.toml"),
        "--device",
        "cpu",
        "--out",
        str(tmp_path / "run"),
        "--resume",
    ]
    assert main(again) == 0
    (out / "recipe.toml").write_text("[friends]\ndim = 77\n")
    assert main(again) == 1
    assert "was started with dim 4, not 77" in capsys.readouterr().err
    trained = RunFolder.open(tmp_path / "run").config.flat()
    assert {name: trained[name] for name in settings} == {**settings, "channels": tuple(settings["channels"])}


def test_the_default_folder_is_named_after_method_and_data_set(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["tune", *files, "--method", "random-init", "--seeds", "1", "--protocol", "knn", "--device", "cpu", "--dim", "4"]
    assert main([*command, "--trials", "2", "--commit", "abc", "--sampler", "grid"]) == 0
    rows = log.read(tmp_path / "tuning" / "random-init-friends" / "trials.csv")
    assert [row["commit"] for row in rows] == ["abc", "abc"]
    assert {row["splits"] for row in rows} == {"1"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a data set or give an edge file"),
        (["digits", "--protocol", "kmeans"], "picks nothing on validation nodes"),
        (["digits", "--space", "papper"], "did you mean 'paper'"),
        (["digits", "--method", "grase"], "did you mean 'grace'"),
        (["digits", "--trials", "0"], "trials is 0"),
        (["digits", "--start", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_slips_are_one_line_and_leave_nothing(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["tune", *arguments]) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("localgcl: error: ")
    assert message in errors
    assert errors.count("\n") == 1
    assert not any(tmp_path.iterdir())


def test_a_recipe_of_another_data_set_is_refused(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = tmp_path / "two.toml"
    recipe.write_text("[a]\ndim = 4\n[b]\ndim = 8\n")
    assert main(["train", *files, "--recipe", str(recipe), "--out", str(tmp_path / "run")]) == 1
    assert "has no table [friends]" in capsys.readouterr().err
    recipe.write_text("dim = 4\n")
    assert main(["train", *files, "--recipe", str(recipe), "--out", str(tmp_path / "run")]) == 1
    assert "a recipe is a table of settings by data set" in capsys.readouterr().err
