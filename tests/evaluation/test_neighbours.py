import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsClassifier

from localgcl.evaluation import evaluate
from tests.evaluation.toys import clouds, thirds


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


def test_sparse_and_dense_input_agree() -> None:
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
