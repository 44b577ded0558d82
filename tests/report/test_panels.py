from pathlib import Path

import numpy as np
import pytest

import localgcl as lg
from localgcl.commands import main
from localgcl.graph import Graph
from localgcl.methods import configure
from localgcl.report.findings import Section
from localgcl.report.markup import tag
from localgcl.report.measures import degrees_of, homophily_of, read_losses
from localgcl.report.nodes import Subject, read_subject
from localgcl.report.panels import PANELS, Reading
from localgcl.training import RunFolder


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", configure("dgi", {}), {})


def test_every_term_of_a_loss_is_a_line_and_the_loss_comes_first(run: RunFolder) -> None:
    run.write_metrics([{"step": step, "seconds": 0.1, "left": 1.0, "loss": 3.0 - step, "spread": 0.5} for step in range(3)])
    lines, note = read_losses(run)
    assert [line.name for line in lines] == ["loss", "left"]
    assert lines[0].x.tolist() == [0, 1, 2]
    assert lines[0].y.tolist() == [3, 2, 1]
    assert note == ""


@pytest.mark.parametrize("rows", [999, 1000, 1001, 3456])
def test_long_histories_are_thinned_and_keep_both_ends(run: RunFolder, rows: int) -> None:
    run.write_metrics([{"step": step, "seconds": 0.1, "loss": 1.0} for step in range(rows)])
    ((line,), _) = read_losses(run)
    assert len(line.x) <= 1001
    assert (line.x[0], line.x[-1]) == (0, rows - 1)
    assert (line.x[1:] > line.x[:-1]).all()


def test_a_run_without_metrics_says_so(run: RunFolder) -> None:
    assert read_losses(run) == ((), "The run has no metrics.csv, or trained no step.")


def subject(folder: Path, graph: Graph) -> Subject:
    lg.train(graph, folder / "run", method="raw-features", device="cpu")
    return read_subject(RunFolder.open(folder / "run"), graph)


def test_homophily_by_chance_is_that_of_ends_joined_at_random(tmp_path: Path) -> None:
    # A star of class 0 around node 0, an edge of class 1, and an edge to a node without a label, which does not count.
    graph = Graph.from_edges([0, 0, 3, 0], [1, 2, 4, 5], x=np.eye(6), y=[0, 0, 1, 1, 1, -1])
    found = homophily_of(subject(tmp_path, graph))
    assert found["in this graph"] == pytest.approx(2 / 3)
    assert found["by chance"] == pytest.approx((3 / 6) ** 2 + (3 / 6) ** 2)


def test_homophily_counts_weights(tmp_path: Path) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], x=np.eye(3), y=[0, 0, 1], weights=[3.0, 1.0])
    found = homophily_of(subject(tmp_path, graph))
    assert found["in this graph"] == pytest.approx(3 / 4)
    assert found["by chance"] == pytest.approx((7 / 8) ** 2 + (1 / 8) ** 2)


def test_degrees_count_neighbours_once_and_no_loops(tmp_path: Path) -> None:
    graph = Graph.from_edges([0, 1, 0, 2, 2], [1, 0, 1, 2, 0], x=np.eye(4))
    series = degrees_of(subject(tmp_path, graph).edges)
    assert series.x.tolist() == [0, 1, 2]
    assert series.y.tolist() == [1, 2, 1]


# Panels from outside


def ties(reading: Reading) -> Section | None:
    """How many nodes hold together."""
    n = reading.subject.part.num_nodes
    return Section("Ties & knots", tag("p", f"{n} nodes hold together."), {"nodes": n}, {"ties": "Loose ends."}, link="Ties")


def test_a_panel_is_added_by_one_registration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "digits", "--method", "random-init", "--dim", "4", "--quiet", "--out", str(tmp_path / "run")]) == 0
    command = ["report", str(tmp_path / "run"), "--layout", "pca", "--clusters", "2", "--no-scores", "--force"]
    assert main(command) == 0
    assert "Ties" not in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    monkeypatch.setitem(PANELS, "ties", ties)
    monkeypatch.setitem(PANELS, "nothing", lambda _: None)
    capsys.readouterr()

    assert main(command) == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert '<a href="#ties">Ties</a>' in page
    assert '<h2 id="ties-title">Ties &amp; knots</h2><p>1797 nodes hold together.</p></section>' in page
    assert 'id="nothing"' not in page
    assert "ties: Loose ends." in capsys.readouterr().out  # as other notes are printed
    found = lg.write_report(tmp_path / "run", overwrite=True, layout="pca", clusters=2, scores=False)
    assert found.data["ties"] == {"nodes": 1797}
    assert list(found.sections) == [*PANELS][:-1]
