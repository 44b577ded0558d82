"""Effects against their definition, and sentences that people can read."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from localgcl.report.marks import contrast, joined, marks_of


def cohen(values: np.ndarray, inside: np.ndarray) -> float:
    """The difference of means over the pooled deviation."""
    a, b = values[inside], values[~inside]
    pooled = (len(a) * a.var() + len(b) * b.var()) / (len(values) - 2)
    return float((a.mean() - b.mean()) / np.sqrt(pooled))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), offset=st.sampled_from([0.0, 1e6]))
def test_effects_are_differences_of_means_over_pooled_deviations(seed: int, offset: float) -> None:
    rng = np.random.default_rng(seed)
    x = offset + rng.normal(size=(40, 3))
    member = np.concatenate([np.arange(3), rng.integers(3, size=37)]).astype(np.int32)
    found = contrast(x, member, 3)
    for cluster in range(3):
        inside = member == cluster
        # Centred columns keep ten digits, also of numbers around a million.
        np.testing.assert_allclose(found.effect[cluster], [cohen(x[:, j], inside) for j in range(3)], rtol=1e-6)
        np.testing.assert_allclose(found.here[cluster], x[inside].mean(0))
        np.testing.assert_allclose(found.elsewhere[cluster], x[~inside].mean(0))


def test_many_rows_are_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, member = rng.normal(size=(50, 2)), rng.integers(4, size=50).astype(np.int32)
    whole = contrast(x, member, 4)
    monkeypatch.setattr("localgcl.report.marks._ROWS", 7)
    np.testing.assert_allclose(contrast(x, member, 4).effect, whole.effect)


def test_sparse_columns_are_those_of_the_dense_matrix() -> None:
    rng = np.random.default_rng(1)
    x = (rng.random((60, 5)) < 0.3).astype(np.float32) * np.array([1, 1, 2, 0.5, 1], dtype=np.float32)
    member = rng.integers(3, size=60).astype(np.int32)
    dense, sparse = contrast(x, member, 3), contrast(sp.csr_array(x), member, 3)
    np.testing.assert_allclose(sparse.effect, dense.effect, rtol=1e-9)
    assert sparse.shares.tolist() == dense.shares.tolist() == [True, True, False, False, True]


def test_nothing_marks_out_a_constant_column_an_empty_cluster_or_a_single_one() -> None:
    x, member = np.ones((6, 1)), np.array([0, 0, 0, 1, 1, 1], dtype=np.int32)
    assert not contrast(x, member, 2).effect.any()
    moving = np.arange(6.0)[:, None]
    assert not contrast(moving, member, 3).effect[2].any()
    assert not contrast(moving, np.zeros(6, dtype=np.int32), 1).effect.any()


def test_marks_are_sentences_with_units() -> None:
    member = np.repeat(np.array([0, 1], dtype=np.int32), 50)
    noise = np.tile([-0.01, 0.01], 50)  # of mean 0 in both clusters
    columns = {
        "income": 31_000 + 21_000 * (member == 0) + noise,
        "colour = red": np.concatenate([np.arange(50) < 40, np.arange(50) < 6]).astype(float),
        "since": 18_262.0 + 366 * (member == 1) + noise,
        "noise": noise,
        "share": 0.1 + 0.8 * (member == 0) + noise,
    }
    found = joined([contrast(values[:, None], member, 2) for values in columns.values()])
    marks = marks_of(found, 0, list(columns), ["number", "number", "date", "number", "number"])
    assert set(marks) == {
        "income: mean 52,000 here, 31,000 elsewhere",
        "colour = red: 80% here, 12% elsewhere",
        "since: mean 2020-01-01 here, 2021-01-01 elsewhere",
        "share: mean 0.9 here, 0.1 elsewhere",
    }
    assert marks[-1].startswith("colour")  # the weakest of them


def test_shares_near_zero_and_one_are_not_rounded_to_them() -> None:
    member = np.repeat(np.array([0, 1], dtype=np.int32), [500, 500])
    x = np.zeros((1000, 1))
    x[:498] = 1.0
    x[999] = 1.0
    found = contrast(x, member, 2)
    assert marks_of(found, 0, ["word"], ["number"]) == ("word: 99.6% here, 0.2% elsewhere",)
    x[:500], x[999] = 1.0, 0.0
    assert marks_of(contrast(x, member, 2), 1, ["word"], ["number"]) == ("word: 0% here, 100% elsewhere",)
