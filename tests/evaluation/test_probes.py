"""Probes without gradient steps."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from localgcl.evaluation import evaluate
from localgcl.graph import Split
from tests.evaluation.toys import clouds, thirds


@pytest.mark.parametrize("protocol", ["sklearn", "grace", "bgrl"])
def test_separable_clouds_are_told_apart(protocol: str) -> None:
    z, y = clouds(n=60)
    scores = evaluate(z, y, [thirds(60)], protocol=protocol, strengths=(1.0, 64.0))
    assert scores.values == (100.0,)


def test_one_strength_is_scikit_learn_on_unit_rows() -> None:
    z, y = clouds(spread=0.8)
    z *= np.linspace(0.1, 10, 120, dtype=np.float32)[:, None]
    split = thirds(120)
    train, test = split.train.numpy(), split.test.numpy()
    model = OneVsRestClassifier(LogisticRegression(solver="liblinear", C=2.0)).fit(normalize(z)[train], y[train])
    expected = 100 * float((model.predict(normalize(z)[test]) == y[test]).mean())
    assert evaluate(z, y, [split], protocol="sklearn", strengths=2.0).mean == pytest.approx(expected)


def test_the_strength_is_picked_on_validation_only() -> None:
    z, y = clouds(spread=0.8)
    split = thirds(120)
    grid = (1e-3, 1.0, 1e3)
    whole = evaluate(z, y, [split], protocol="sklearn", strengths=grid)
    alone = {c: evaluate(z, y, [split], protocol="sklearn", strengths=c).validation[0] or 0.0 for c in grid}
    assert len(set(alone.values())) > 1
    assert alone[whole.picks[0]["C"]] == max(alone.values()) == whole.validation[0]
    other = y.copy()
    other[split.test.numpy()] = (other[split.test.numpy()] + 1) % 3
    after = evaluate(z, other, [split], protocol="sklearn", strengths=grid)
    assert after.picks == whole.picks
    assert after.mean < whole.mean - 20


@pytest.mark.parametrize("protocol", ["sklearn", "bgrl"])
def test_sparse_and_dense_input_agree(protocol: str) -> None:
    z, y = clouds(n=60, spread=0.4)
    z[np.abs(z) < 0.2] = 0
    dense, sparse = (evaluate(form, y, [thirds(60)], protocol=protocol, strengths=(1.0, 8.0)) for form in (z, sp.csr_array(z)))
    assert dense.values == sparse.values


def test_grace_tests_on_all_that_is_not_trained_on_and_bgrl_fits_on_validation_too() -> None:
    """Nodes marked wrong: in GRACE's protocol validation nodes count as tested, in BGRL's they teach."""
    z, y = clouds(n=90, spread=0.01)
    split = thirds(90)
    other = y.copy()
    other[split.val.numpy()] = (other[split.val.numpy()] + 1) % 3
    assert evaluate(z, other, [split], protocol="grace", strengths=1.0).values == (50.0,)
    few = Split(split.train[:6], split.val, split.test, "few")
    assert evaluate(z, other, [few], protocol="bgrl", strengths=64.0).mean < 20
    assert evaluate(z, other, [few], protocol="sklearn", strengths=64.0).mean > 80


def test_too_few_nodes_for_folds() -> None:
    z, y = clouds(n=60)
    split = thirds(60)
    train = torch.tensor([0, 1, 2])  # one of each class
    rest = torch.tensor([node for node in split.test.tolist() if node > 2])
    with pytest.raises(ValueError, match="3 nodes to fit on"):
        evaluate(z, y, [Split(train, split.val[:0], rest, "tiny")], protocol="grace")


def test_strengths_must_be_positive() -> None:
    z, y = clouds(n=60)
    with pytest.raises(ValueError, match="strengths is"):
        evaluate(z, y, [thirds(60)], protocol="sklearn", strengths=0.0)


@pytest.mark.parametrize("k", [1, 5, 12])
@pytest.mark.parametrize("chunk", [7, 1024])
def test_equals_scikit_learn(k: int, chunk: int) -> None:
    z, y = clouds(n=300, spread=0.9)
    z *= np.random.default_rng(1).uniform(0.1, 10, (300, 1)).astype(np.float32)  # cosine does not see lengths
    split = thirds(300)
    train, test = split.train.numpy(), split.test.numpy()
    model = KNeighborsClassifier(k, metric="cosine").fit(z[train], y[train])
    expected = 100 * float((model.predict(z[test]) == y[test]).mean())
    assert 40 < expected < 95
    assert evaluate(z, y, [split], protocol="knn", ks=k, chunk=chunk).mean == pytest.approx(expected)


def test_k_is_picked_on_validation() -> None:
    z, y = clouds(n=300, spread=0.9)
    split = thirds(300)
    alone = {k: evaluate(z, y, [split], protocol="knn", ks=k).validation[0] or 0.0 for k in (5, 10, 20)}
    whole = evaluate(z, y, [split], protocol="knn")
    assert len(set(alone.values())) > 1
    assert alone[whole.picks[0]["k"]] == max(alone.values()) == whole.validation[0]


def test_neighbours_of_sparse_and_dense_input_agree() -> None:
    z, y = clouds(n=90, spread=0.5)
    z[np.abs(z) < 0.3] = 0
    dense, sparse = (evaluate(form, y, [thirds(90)], protocol="knn", chunk=11) for form in (z, sp.csr_array(z)))
    assert dense.values == sparse.values


def test_more_neighbours_than_training_nodes() -> None:
    z, y = clouds(n=45)
    assert evaluate(z, y, [thirds(45)], protocol="knn").picks[0]["k"] in (5, 10)  # 15 training nodes: 20 is left out
    with pytest.raises(ValueError, match=r"ks is \(40,\), but 'thirds' has 15 training nodes"):
        evaluate(z, y, [thirds(45)], protocol="knn", ks=40)
    with pytest.raises(ValueError, match=r"ks is \(0,\)"):
        evaluate(z, y, [thirds(45)], protocol="knn", ks=0)


# k-means


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
