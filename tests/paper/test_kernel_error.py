import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.datasets import sbm
from localgcl.graph import Graph
from localgcl.losses import local_contrastive
from localgcl.nn.features import MAPS
from paper.kernel_error import measure, plot, table
from tests.references.graphs import random_rows
from tests.unchecked import unchecked


@pytest.fixture(scope="module")
def problem() -> tuple[torch.Tensor, Graph]:
    graph = sbm(80, classes=4, mean_degree=6, features=2, splits=0)
    return random_rows(80, 8), graph


@pytest.fixture(scope="module")
def rows(problem: tuple[torch.Tensor, Graph]) -> list[dict[str, Any]]:
    measure(*problem, temperature=0.5, num_features=(64,), draws=2)
    with unchecked():
        return measure(*problem, temperature=0.5, num_features=(64, 1024, 16384), draws=4)


def test_against_the_plain_formulas(problem: tuple[torch.Tensor, Graph]) -> None:
    z, graph = problem
    (row,) = measure(z, graph, temperature=0.4, num_features=(50,), maps=("rff",), draws=2, seed=3)
    unit = torch.nn.functional.normalize(z, dim=1)
    exact = (unit @ unit.T / 0.4).exp().sum(1)
    errors, differences, cosines = [], [], []
    leaf = z.clone().requires_grad_()
    loss = local_contrastive(leaf, graph, temperature=0.4, negatives="exact")
    (gradient,) = torch.autograd.grad(loss, leaf)
    for seed in (3, 4):
        psi = MAPS["rff"](50, fixed_seed=seed).draw(8, 0.4, dtype=torch.float64).psi(unit)
        sums = math.exp(1 / 0.4) * (psi @ psi.T).sum(1)
        errors.append(float((sums / exact - 1).abs().mean()))
        differences.append(float((sums.log() - exact.log()).mean()))
        estimate = local_contrastive(leaf, graph, temperature=0.4, negatives=MAPS["rff"](50, fixed_seed=seed))
        (other,) = torch.autograd.grad(estimate, leaf)
        cosines.append(float((gradient * other).sum() / gradient.norm() / other.norm()))
    assert row["clamped"] == 0  # so that the plain sums are what is taken the logarithm of
    assert row["exact_loss"] == pytest.approx(float(loss.detach()))
    assert row["difference"] == pytest.approx(sum(differences) / 2)
    assert row["difference_spread"] == pytest.approx(abs(differences[0] - differences[1]) / math.sqrt(2))
    assert row["surrogate_loss"] - row["exact_loss"] == pytest.approx(row["difference"])
    assert row["sum_error"] == pytest.approx(sum(errors) / 2)
    assert row["gradient_cosine"] == pytest.approx(sum(cosines) / 2)
    assert row["gradient_cosine_least"] == pytest.approx(min(cosines))


@pytest.mark.parametrize("name", ["rff", "orf"])
def test_more_features_come_nearer(rows: list[dict[str, Any]], name: str) -> None:
    few, more, most = (row for row in rows if row["map"] == name)
    # 256 times as many features make a sixteenth of the error; the rest is left to the chance of four draws, whose errors
    # are much the same for all nodes.
    assert few["sum_error"] > 6 * most["sum_error"]
    assert few["difference_spread"] > 3 * most["difference_spread"]
    assert abs(most["difference"]) < 0.02
    assert few["gradient_cosine"] < more["gradient_cosine"] < most["gradient_cosine"]
    assert most["gradient_cosine"] > 0.99
    for column in ("gradient_cosine", "negative_gradient_cosine"):
        # The cosine is 1/sqrt(1 + noise) where the noise is orthogonal to the gradient, and the noise falls as 1/D.
        noise = [1 / row[column] ** 2 - 1 for row in (few, more, most)]
        assert noise[0] > 8 * noise[1] > 64 * noise[2]


def test_structured_features_stay_off(rows: list[dict[str, Any]]) -> None:
    """At d = 8, padded to 64, their kernel is another one, however large D is: all sums are too small."""
    _, more, most = (row for row in rows if row["map"] == "sorf")
    assert most["difference"] < -0.02
    assert most["sum_error"] > 0.3 * more["sum_error"]
    assert most["sum_bias"] == pytest.approx(-most["sum_error"], rel=0.1)


def test_clamped_rows_are_counted(problem: tuple[torch.Tensor, Graph]) -> None:
    (row,) = measure(*problem, temperature=0.05, num_features=(4,), maps=("rff",), draws=2)
    assert 0 < row["clamped"] < 1


def test_rows_of_zeros_are_left_out(problem: tuple[torch.Tensor, Graph]) -> None:
    z, graph = problem
    z = z.clone()
    z[5] = 0
    (row,) = measure(z, graph, num_features=(4096,), maps=("rff",), draws=2)
    assert math.isfinite(row["difference"])
    assert row["sum_error"] < 0.05


def test_one_draw_has_no_deviation(problem: tuple[torch.Tensor, Graph]) -> None:
    with pytest.raises(ValueError, match="draws is 1; a deviation over draws needs 2 or more"):
        measure(*problem, draws=1)


def test_table_and_picture(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    shown = table(rows)
    assert shown.name == "kernel-error"
    assert [line[:2] for line in shown.rows[:3]] == [["rff", "64"], ["rff", "1024"], ["rff", "16384"]]
    assert {len(line) for line in shown.rows} == {len(shown.columns)}
    plot(rows, tmp_path / "kernel.svg")
    ET.parse(tmp_path / "kernel.svg")
