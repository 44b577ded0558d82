import sys
from typing import Any

import numpy as np
import pytest

from localgcl.evaluation.nearest_rows import nearest
from localgcl.report.layout import gathered, lay_out


def groups() -> Any:
    rng = np.random.default_rng(0)
    return (5 * np.eye(6)[np.repeat([0, 1, 2], 30)] + rng.normal(scale=0.3, size=(90, 6))).astype(np.float32)


def test_principal_components_are_those_of_unit_rows() -> None:
    z = groups()
    xy, told = lay_out(z, nearest(z, 5), kind="pca")
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    unit -= unit.mean(0)
    _, singular, _ = np.linalg.svd(unit, full_matrices=False)
    np.testing.assert_allclose(np.linalg.norm(xy, axis=0), singular[:2], rtol=1e-4)
    assert told == "Two principal components of the unit rows."
    # Lengths of rows do not count; unit rows of 100 z round otherwise, at 1e-7.
    np.testing.assert_allclose(lay_out(100 * z, nearest(z, 5), kind="pca")[0], xy, rtol=0, atol=1e-4)


@pytest.mark.parametrize("shape", [(2, 3), (6, 1), (1, 4)])
def test_few_nodes_and_single_numbers_have_a_place(shape: tuple[int, int]) -> None:
    z = np.arange(1.0, 1 + shape[0] * shape[1], dtype=np.float32).reshape(shape)
    near = nearest(z, 1) if shape[0] > 1 else nearest(np.ones((2, 1)), 1)
    xy, _ = lay_out(z, near, kind="pca")
    assert xy.shape == (shape[0], 2)
    assert np.isfinite(xy).all()


def test_where_umap_is_absent_the_layout_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    z = groups()
    _, told = lay_out(z, nearest(z, 5))
    assert "UMAP is not installed (pip install 'localgcl[viz]')" in told
    with pytest.raises(ImportError, match=r"needs: pip install 'localgcl\[viz\]'"):
        lay_out(z, nearest(z, 5), kind="umap")


@pytest.mark.slow  # UMAP takes seconds to import and to compile
def test_umap_keeps_groups_apart_and_follows_the_seed() -> None:
    pytest.importorskip("umap")
    z = groups()
    near = nearest(z, 15)
    xy, told = lay_out(z, near, kind="umap", seed=1)
    assert told.startswith("UMAP of 15 nearest nodes by cosine")
    np.testing.assert_array_equal(lay_out(z, near, kind="umap", seed=1)[0], xy)
    own = np.linalg.norm(xy[:, None] - xy[None], axis=2)
    same = np.repeat([0, 1, 2], 30)[:, None] == np.repeat([0, 1, 2], 30)
    assert own[same].mean() < own[~same].mean() / 2


def test_far_off_nodes_come_nearer_and_the_others_stay() -> None:
    rng = np.random.default_rng(0)
    xy = rng.normal(size=(200, 2)).astype(np.float32)
    xy[:3] += 500
    near = gathered(xy)
    away = np.linalg.norm(xy - np.median(xy, axis=0), axis=1)
    usual = np.quantile(away, 0.95)
    np.testing.assert_allclose(near[away <= usual], xy[away <= usual], atol=1e-6)
    assert np.linalg.norm(near - np.median(xy, axis=0), axis=1).max() < 5 * usual
    order = np.argsort(away)
    moved = np.linalg.norm(near - np.median(xy, axis=0), axis=1)[order]
    assert (np.diff(moved) > -1e-4).all()  # far ones stay farther
    np.testing.assert_array_equal(gathered(np.ones((5, 2), dtype=np.float32)), np.ones((5, 2)))
