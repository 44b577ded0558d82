import dataclasses
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localgcl.commands import main
from localgcl.experiments.tables import Table
from localgcl.methods import configure
from localgcl.training import fit
from paper import (
    block_models,
    inputs,
    kernel_error,
    memory,
    studies,
    theorem_error,
    theorem_features,
)
from paper.studies import STUDIES, ReproduceOptions, Study, read
from tests.paper.problems import TINY, graph

DATE, COMMIT = "2030-01-02T03:04:05+00:00", "0123456789+"


def options(**changes: Any) -> ReproduceOptions:
    return ReproduceOptions(**{"device": "cpu", **changes})


def made(device: str, commit: str | None) -> Any:
    return SimpleNamespace(date=DATE, commit=commit or COMMIT, hardware="a CPU" if device == "cpu" else "a GPU")


def shown(rows: Any) -> Table:
    return Table("counts", "Counts", "Read me.", ["n"], [[str(row["n"])] for row in rows])


COUNTS = Study("Counts", lambda given: [{"n": len(given.graphs)}, {"n": float("inf")}], shown)


@pytest.fixture
def _made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "provenance", made)


@pytest.mark.usefixtures("_made")
def test_what_is_measured_is_kept_and_shown_with_its_origin(tmp_path: Path) -> None:
    path = tmp_path / "new" / "counts.json"
    kept = COUNTS.run(path, options(graphs=("cora",)))
    assert read(path) == kept
    assert kept == {
        "date": DATE,
        "commit": COMMIT,
        "hardware": "a CPU",
        "rows": [{"n": 1}, {"n": float("inf")}],
    }
    table = COUNTS.show(read(path))
    assert table.rows == [["1"], ["inf"]]
    assert (table.caption, table.source) == ("Read me.", "a CPU; 2030-01-02; commit 0123456+.")
    assert COUNTS.run(path, options(commit="abc"))["commit"] == "abc"
    assert COUNTS.show({**kept, "commit": None}).source.endswith("; commit unknown.")


@pytest.mark.usefixtures("_made")
@pytest.mark.parametrize(
    ("on_device", "device", "hardware"), [(True, "cuda", "a GPU"), (True, "cpu", "a CPU"), (False, "cuda", "a CPU")]
)
def test_the_hardware_is_what_was_used(on_device: bool, device: str, hardware: str, tmp_path: Path) -> None:
    study = dataclasses.replace(COUNTS, on_device=on_device)
    assert study.run(tmp_path / "counts.json", options(device=device))["hardware"] == hardware


def test_a_failure_leaves_what_was_kept_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "counts.json"
    COUNTS.run(path, options())
    before = path.read_text()
    unwritable = dataclasses.replace(COUNTS, measure=lambda _: [{"n": {1, 2}}])  # not JSON: found when half is written
    with pytest.raises(TypeError, match="set is not JSON serializable"):
        unwritable.run(path, options())

    def full(*_: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="no space"):
        COUNTS.run(path, options())
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("_made")
def test_a_long_study_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    path = tmp_path / "counts.json"

    def counted(given: ReproduceOptions, known: tuple[Any, ...]) -> Iterator[dict[str, int]]:
        for n in range(len(known), 4):
            if n == given.seeds:
                raise KeyboardInterrupt
            yield {"n": n}

    study = Study("Counts", counted, shown, resumes=True)
    with pytest.raises(KeyboardInterrupt):
        study.run(path, options(seeds=2))
    assert read(path)["rows"] == [{"n": 0}, {"n": 1}]
    with pytest.raises(ValueError, match=r"measured with commit 0123456789\+, and now it is abc; remove the file"):
        study.run(path, options(commit="abc"))
    assert study.run(path, options()) == read(path)
    assert [row["n"] for row in read(path)["rows"]] == [0, 1, 2, 3]


def test_a_study_that_was_never_run_cannot_be_shown(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"theorem-error\.json is not there; run the study first, without --show"):
        read(tmp_path / "theorem-error.json")


@pytest.fixture
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    measure = functools.partial(kernel_error.measure, num_features=(64,), maps=("rff",), draws=2)
    monkeypatch.setattr(kernel_error, "measure", measure)


@pytest.mark.usefixtures("_few")
def test_kernel_error_of_a_run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = [part for name, value in TINY.items() for part in (f"--{name}", str(value))]
    shared = ["--device", "cpu", "--quiet", "--temperature", "0.7", "--no-symmetrise"]
    assert main(["train", "digits", *tiny, *shared, "--out", str(tmp_path / "run")]) == 0
    calls: list[tuple[Any, Any]] = []
    real = kernel_error.measure

    def kept(*parts: Any, **settings: Any) -> Any:
        calls.append((parts, settings))
        return real(*parts, **settings)

    monkeypatch.setattr(kernel_error, "measure", kept)
    (row,) = STUDIES["kernel-error"].measure(options(run=tmp_path / "run"))
    assert (row["graph"], row["nodes"], row["d"], row["tau"], row["D"]) == ("digits", 1797, 8, 0.7, 64)
    (((z, prepared), settings),) = calls
    assert settings == {"temperature": 0.7}
    assert prepared.num_edges == 17_454
    assert z.shape == (1797, 8)
    json.dumps(row)


@pytest.mark.usefixtures("_few")
def test_kernel_error_of_a_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "load", graph)
    asked = []

    def settings(method: str, name: str) -> Any:
        asked.append((method, name))
        return {**TINY, "scaling": "l2"}

    monkeypatch.setattr("localgcl.methods.settings.recipe", settings)
    (row,) = STUDIES["kernel-error"].measure(options(graphs=("photo",)))
    assert (row["graph"], row["nodes"], row["d"]) == ("photo", 90, 8)
    (row,) = STUDIES["kernel-error"].measure(options())
    assert row["graph"] == "cora"
    assert asked == [("local-gcl", "photo"), ("local-gcl", "cora")]
    with pytest.raises(ValueError, match="kernel-error is about one graph, not 2"):
        STUDIES["kernel-error"].measure(options(graphs=("photo", "cora")))


def test_kernel_error_needs_a_run_of_local_gcl_that_knows_its_graph(tmp_path: Path) -> None:
    fit(graph(), configure("random-init", {"dim": 4, "device": "cpu"}), folder=tmp_path / "other")
    with pytest.raises(ValueError, match="other was trained with random-init; kernel-error is about the loss of local-gcl"):
        STUDIES["kernel-error"].measure(options(run=tmp_path / "other"))
    fit(graph(), configure("local-gcl", {**TINY, "device": "cpu"}), folder=tmp_path / "unknown")
    with pytest.raises(ValueError, match="unknown does not say which graph it was trained on"):
        STUDIES["kernel-error"].measure(options(run=tmp_path / "unknown"))


def test_tables_without_training_are_made_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "load", graph)
    monkeypatch.setattr(studies, "arxiv", lambda: "arxiv-structure")
    for name, count in (("table-datasets", 11), ("table-hyperparameters", len(inputs.list_settings()))):
        STUDIES[name].run(tmp_path / f"{name}.json", options())
        with monkeypatch.context() as patch:  # showing looks at nothing but the file
            patch.setattr(studies, "load", lambda _: None)
            patch.setattr(studies, "list_settings", lambda: None)
            table = STUDIES[name].show(read(tmp_path / f"{name}.json"))
        assert table.name == name
        assert len(table.rows) == count
    (row,) = STUDIES["table-datasets"].measure(options(graphs=("digits",)))
    assert row["graph"] == "digits"


def test_a_theorem_from_numbers_to_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        theorem_error, "default_graphs", lambda names: {name: theorem_error.star(5) for name in ("star", *names)}
    )
    study, path = STUDIES["theorem-error"], tmp_path / "theorem-error.json"
    study.run(path, options(graphs=("mine",)))
    kept = read(path)  # infinite bounds come back, too
    assert {row["graph"] for row in kept["rows"]} == {"star", "mine"}
    assert study.show(kept).name == "theorem-error"
    assert study.plot is not None
    study.plot(kept["rows"], tmp_path / "theorem-error.svg")
    assert (tmp_path / "theorem-error.svg").read_text().rstrip().endswith("</svg>")


def test_seeds_methods_and_graphs_reach_the_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_models, "measure", lambda *, seeds: [{"seeds": list(seeds)}])
    assert STUDIES["block-models"].measure(options()) == [{"seeds": [0, 1, 2]}]
    assert STUDIES["block-models"].measure(options(seeds=1)) == [{"seeds": [0]}]
    monkeypatch.setattr(memory, "measure", lambda *given, known, device: [{"given": (*given, known, device)}])
    assert STUDIES["table-memory"].measure(options(methods=("dgi",), graphs=("cora",), device="cuda"), [{"n": 1}]) == [
        {"given": (("dgi",), ("cora",), [{"n": 1}], "cuda")}
    ]
    monkeypatch.setattr(theorem_features, "measure", lambda: [{"D": 4}])
    assert STUDIES["theorem-features"].measure(options()) == [{"D": 4}]


def test_a_study_is_called_what_its_table_is() -> None:
    assert inputs.settings_table(inputs.list_settings()).name in STUDIES
    assert inputs.graph_table(inputs.count_graphs({"cora": graph()})).name in STUDIES
    assert memory.table([]).name in STUDIES
