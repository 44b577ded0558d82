import numpy as np
import pytest
import scipy.sparse as sp

from localgcl.evaluation import evaluate
from tests.evaluation.toys import clouds, thirds


def test_perfect_clusters() -> None:
    z, y = clouds(classes=2, spread=0.01)
    scores = evaluate(z, y, protocol="kmeans")
    assert list(scores.values) == pytest.approx([100.0] * 10)
    assert list(scores.extra["ARI"]) == pytest.approx([100.0] * 10)
    assert "NMI in %, 10 seeds" in str(scores)
    assert "ARI 100.00" in str(scores)


def test_lengths_do_not_matter_and_unknown_labels_are_not_scored() -> None:
    z, y = clouds(classes=2, spread=0.01)
    z *= np.random.default_rng(0).uniform(0.01, 100, (120, 1)).astype(np.float32)
    y[:20] = -1
    z[:20] = np.roll(z[:20], 1, axis=0)
    scores = evaluate(z, y, protocol="kmeans", repeats=2)
    assert list(scores.values) == pytest.approx([100.0] * 2)


def test_clusters_that_have_nothing_to_do_with_the_classes() -> None:
    z, _ = clouds(n=600)
    scores = evaluate(z, np.random.default_rng(0).integers(3, size=600), protocol="kmeans", repeats=2)
    assert scores.mean < 3
    assert abs(scores.extra["ARI"][0]) < 3


def test_sparse_input() -> None:
    z, y = clouds(classes=2, spread=0.01)
    z[np.abs(z) < 0.5] = 0
    assert evaluate(sp.csr_array(z), y, protocol="kmeans", repeats=1).mean == pytest.approx(100.0)


def test_splits_have_no_place_here() -> None:
    z, y = clouds()
    with pytest.raises(ValueError, match="clusters all nodes at once"):
        evaluate(z, y, [thirds(120)], protocol="kmeans")
    with pytest.raises(ValueError, match="both must be at least 1"):
        evaluate(z, y, protocol="kmeans", repeats=0)
