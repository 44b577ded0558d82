from pathlib import Path

import numpy as np
import pytest

import localgcl as lg
from localgcl.graph import Graph
from localgcl.methods import configure
from localgcl.report.measures import degrees_of, homophily_of, read_losses
from localgcl.report.nodes import Subject, read_subject
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
