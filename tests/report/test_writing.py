from pathlib import Path

import pytest

import localgcl as lg
from localgcl.training import RunFolder
from tests.report.customers import train_customers


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return train_customers(tmp_path_factory.mktemp("customers"))


def test_a_report_is_written_from_python(run: RunFolder, tmp_path: Path) -> None:
    said: list[str] = []
    found = lg.write_report(run.path, tmp_path / "page.html", layout="pca", scores=False, clusters=2, say=said.append)
    assert (tmp_path / "page.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert len(found.clusters) == 2
    assert said == ["embedding the graph", "clustering 60 nodes", "placing nodes in the plane"]


def test_a_report_that_fails_leaves_the_old_one(run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> str:
        raise OSError("the disk is full")

    monkeypatch.setattr("localgcl.report.writing.page", broken)
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(OSError, match="the disk is full"):
        lg.write_report(run, path, overwrite=True, layout="pca", scores=False, clusters=2)
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text() == "old"
