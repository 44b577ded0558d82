"""Charts of the kernel: estimates by the map that the run trained with."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import localgcl as lg
from localgcl.report.measures import read_kernel
from localgcl.report.nodes import read_subject
from localgcl.training import RunFolder


def kernel(folder: Path, **settings: Any) -> tuple[list[str], np.ndarray, str]:
    """Names of the series, exact and estimated values one below the other, and the note."""
    graph = lg.sbm(80, classes=2, features=8)
    lg.train(graph, folder / "run", dim=12, steps=1, device="cpu", encoder="gcn", **settings)
    series, note = read_kernel(read_subject(RunFolder.open(folder / "run"), graph))
    return [one.name for one in series], np.array([[one.x, one.y] for one in series]), note


@pytest.mark.parametrize("negatives", ["sorf", "orf", "rff", "positive"])
def test_estimates_lie_around_the_kernel(tmp_path: Path, negatives: str) -> None:
    names, values, note = kernel(tmp_path, negatives=negatives, num_features=2048, temperature=0.8)
    assert names == ["2,048 frequencies"]
    exact, estimate = values[0]
    assert len(exact) == 200
    assert (exact >= np.exp(-2 / 0.8) - 1e-6).all()
    assert (exact <= 1 + 1e-6).all()
    # The mean over 200 pairs of errors of deviation below 1/sqrt(2 * 2048) = 0.016 (positive features: below 0.1 here), which
    # share their frequencies and so do not average out.
    assert abs((estimate - exact).mean()) < (0.1 if negatives == "positive" else 0.06)
    assert note == ""


def test_exact_negatives_have_no_chart(tmp_path: Path) -> None:
    for number, negatives in enumerate(("exact", "auto")):  # auto is exact for so few nodes
        names, _, note = kernel(tmp_path / str(number), negatives=negatives)
        assert names == []
        assert note == "The negative term was computed exactly, without random features."


def test_small_temperatures_stay_finite(tmp_path: Path) -> None:
    _, values, _ = kernel(tmp_path, negatives="sorf", num_features=4096, temperature=0.02, max_clamped=1.0)
    assert np.isfinite(values).all()
