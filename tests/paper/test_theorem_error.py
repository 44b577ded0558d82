import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from localgcl.datasets import load, sbm
from localgcl.graph import Graph
from paper import theorem_error
from paper.theorem_error import _least_within, default_graphs, measure, plot, ring, star, table

# Rounding of eigenvectors in float64, through sums over up to a few hundred nodes.
CLOSE: dict[str, Any] = {"rel": 1e-9, "abs": 1e-9}


def _random(n: int, classes: int, density: float, seed: int) -> Graph:
    """Any graph, with loops, directions and isolated nodes as they come; one edge at least."""
    draw = np.random.default_rng(seed)
    source, target = np.nonzero(draw.random((n, n)) < density)
    edges = np.append(source, 0), np.append(target, 1)
    return Graph.from_edges(*edges, x=np.zeros((n, 1), np.float32), y=draw.integers(0, classes, n), name="random")


def _complete(n: int) -> Graph:
    source, target = np.nonzero(~np.eye(n, dtype=bool))
    return Graph.from_edges(source, target, x=np.zeros((n, 1), np.float32), y=np.arange(n) % 3, name="complete")


def _plain(graph: Graph, d: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Z*, degrees and one-hot labels, straight from the definitions; for graphs without isolated nodes."""
    a = graph.to_scipy().toarray().astype(np.float64)
    degree = a.sum(1)
    values, vectors = np.linalg.eigh(np.eye(len(a)) - a / np.sqrt(np.outer(degree, degree)))
    assert graph.y is not None
    return vectors[:, :d] * np.sqrt(1 - values[:d]), degree, np.eye(graph.num_classes)[graph.y.numpy()]


@pytest.mark.parametrize("d", [1, 3, 10, 40])
def test_errors_and_norms_are_those_of_least_squares(d: int) -> None:
    graph = sbm(120, classes=3, mean_degree=8, homophily=0.7, features=2, seed=1)
    assert int(graph.degree.min()) > 0
    (row,) = measure({"sbm": graph}, [d])
    z, degree, y = _plain(graph, d)
    weight = degree / degree.sum()
    f = z / np.sqrt(weight)[:, None]
    b = np.linalg.lstsq(np.sqrt(weight)[:, None] * f, np.sqrt(weight)[:, None] * y)[0]
    assert row["error_weighted"] == pytest.approx(float((weight[:, None] * (y - f @ b) ** 2).sum()), **CLOSE)
    assert row["norm"] == pytest.approx(float(np.linalg.norm(b)), **CLOSE)
    b = np.linalg.lstsq(z, y)[0]
    assert row["error_uniform"] == pytest.approx(float(((y - z @ b) ** 2).sum(1).mean()), **CLOSE)
    # The ridge solution at some penalty is the best one of its own norm.
    penalty = 0.3
    b = np.linalg.solve(z.T @ z + penalty * np.eye(d), z.T @ y)
    expected = float(((y - z @ b) ** 2).sum(1).mean())
    values = (z**2).sum(0)  # the columns of Z* are orthogonal
    vectors = z / np.linalg.norm(z, axis=0)
    found = _least_within(vectors.T @ y / math.sqrt(len(y)), values, float(np.linalg.norm(b)) / math.sqrt(len(y)))
    assert found == pytest.approx(expected, rel=1e-7)  # bisection stops at 1e-14 in the penalty; eigenvalues may be close


def test_no_classifier_within_the_printed_norm_is_better() -> None:
    graph = sbm(40, classes=2, mean_degree=6, homophily=0.8, features=2, seed=0)
    d = 3
    (row,) = measure({"sbm": graph}, [d])
    z, _, y = _plain(graph, d)
    radius = row["norm_bound_printed"]

    def error(flat: NDArray[np.float64]) -> float:
        b = flat.reshape(d, -1)
        b = b * min(1.0, radius / max(float(np.linalg.norm(b)), 1e-12))
        return float(((y - z @ b) ** 2).sum(1).mean())

    found = minimize(
        error, np.ones(d * y.shape[1]), method="Nelder-Mead", options={"maxiter": 20_000, "xatol": 1e-9, "fatol": 1e-12}
    )
    # A search without derivatives: six digits.
    assert row["error_uniform_within_norm"] == pytest.approx(float(found.fun), rel=1e-6)
    assert row["error_uniform_within_norm"] > row["error_uniform"] + 0.01


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    n=st.integers(4, 40),
    classes=st.integers(1, 5),
    density=st.floats(0.02, 0.6),
    seed=st.integers(0, 10**6),
)
def test_the_corrected_theorem_holds(n: int, classes: int, density: float, seed: int) -> None:
    for row in measure({"random": _random(n, classes, density, seed)}, range(1, n)):
        if row["within_positive"]:
            assert row["holds_corrected"], row


def test_the_corrected_bound_is_reached_by_complete_graphs() -> None:
    """All but one eigenvalue of L are equal there, so the bound is the error, and a wrong factor anywhere would break it."""
    (row,) = measure({"complete": _complete(12)}, [1])
    assert row["within_positive"]
    assert row["error_weighted"] == pytest.approx(row["bound"], **CLOSE)
    # And a labelling along the first eigenvector alone reaches the bound of the norm.
    (row,) = measure({"star": star(5)}, [1])
    assert row["norm"] == pytest.approx(row["norm_bound_corrected"], **CLOSE)


def test_without_the_weights_it_would_not_hold() -> None:
    """One class, so the bound is 0: the star's uniform error is 1 - (1 + √n)²/(2(n + 1)), .127 for five leaves."""
    (row,) = measure({"star": star(5)}, [1])
    assert (row["homophily"], row["bound"], row["lambda_next"]) == (1.0, 0.0, pytest.approx(1.0))
    assert row["error_uniform"] == pytest.approx(1 - (1 + math.sqrt(5)) ** 2 / 12, **CLOSE)
    assert row["error_uniform"] == pytest.approx(0.127, abs=5e-4)
    assert row["error_weighted"] == pytest.approx(0, abs=1e-12)
    assert (row["holds_corrected"], row["holds_printed_error"], row["holds_printed"]) == (True, False, False)


def test_on_a_regular_graph_both_averages_agree_and_the_printed_norm_is_too_small() -> None:
    rows = measure({"ring": ring(60, classes=3)}, [1, 4, 16])
    for row in rows:
        assert row["error_weighted"] == pytest.approx(row["error_uniform"], **CLOSE)
        assert row["holds_corrected"]
        assert row["holds_printed_error"]
    # z* has rows of length sqrt(d/n): within the printed norm, predictions are far from one-hot.
    assert rows[-1]["error_uniform_within_norm"] > rows[-1]["bound"]
    assert not rows[-1]["holds_printed"]


def test_components_make_the_bound_vacuous_and_negative_eigenvalues_end_it() -> None:
    two = Graph.from_edges([0, 2, 3], [1, 3, 4], x=np.zeros((6, 1), np.float32), y=[0, 0, 1, 1, 1, 0]).symmetrized()
    first, second, third, fourth = measure({"two": two}, [1, 2, 3, 4, 5, 6])  # node 5 is isolated, so d is below 5
    assert (first["nodes"], first["dropped"], first["positive_eigenvalues"]) == (5, 1, 2)
    assert (first["lambda_next"], first["bound"], first["holds_corrected"]) == (0.0, math.inf, True)
    assert second["lambda_next"] == pytest.approx(1)
    assert second["error_weighted"] == pytest.approx(0, abs=1e-12)  # a component a class
    assert [row["within_positive"] for row in (first, second, third, fourth)] == [True, True, False, False]
    assert math.isnan(third["norm_bound_corrected"])
    assert fourth["error_weighted"] == pytest.approx(second["error_weighted"], abs=1e-12)  # no column is added to Z*


def test_loops_directions_and_unknown_labels_do_not_count() -> None:
    clean = sbm(60, classes=3, mean_degree=6, homophily=0.7, features=2, seed=3, splits=0)
    assert clean.y is not None
    half = clean.rows < clean.indices  # one direction only
    source = torch.cat([clean.rows[half], torch.tensor([4, 60])])
    target = torch.cat([clean.indices[half], torch.tensor([4, 7])])
    y = torch.cat([clean.y, torch.tensor([-1])])
    dirty = Graph.from_edges(source, target, x=torch.zeros(61, 2), y=y)
    (expected,), (found,) = measure({"g": clean}, [5]), measure({"g": dirty}, [5])
    assert found.pop("dropped") == expected.pop("dropped") + 1
    assert found == pytest.approx(expected)


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(ValueError, match="has no labels"):
        measure({"g": Graph.from_edges([0], [1], x=np.zeros((2, 1), np.float32))})
    with pytest.raises(ValueError, match="has no labelled node"):
        measure({"g": Graph.from_edges([0], [1], x=np.zeros((2, 1), np.float32), y=[-1, -1])})
    with pytest.raises(ValueError, match="has no edge between labelled nodes"):
        measure({"g": Graph.from_edges([0], [1], x=np.zeros((2, 1), np.float32), y=[0, -1])})


def test_positive_eigenvalues_of_cora(graphs_root: Path) -> None:
    rows = measure({"cora": load("cora", graphs_root)}, [64, 512, 2048])
    assert {row["positive_eigenvalues"] for row in rows} == {1166}
    assert [row["within_positive"] for row in rows] == [True, True, False]
    assert rows[0]["bound"] == math.inf  # 78 components
    assert rows[1]["holds_corrected"]


def test_table_and_picture(tmp_path: Path) -> None:
    rows = measure(default_graphs(), [1, 4, 16, 256])
    shown = table(rows)
    assert shown.name == "theorem-error"
    assert len(shown.rows) == len(rows)
    assert {len(line) for line in shown.rows} == {len(shown.columns)}
    lines = {(line[0], line[3]): line for line in shown.rows}
    star_line = dict(zip(shown.columns, lines["star", "1"], strict=True))
    assert (star_line["corrected holds"], star_line["printed holds"], star_line["error, uniform"]) == ("yes", "no", "0.1273")
    assert "outside" in lines["sbm 0.9", "256"]
    plot(rows, tmp_path / "error.svg")
    ET.parse(tmp_path / "error.svg")
    assert theorem_error.DIMS[-1] == 2048
