import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localgcl.evaluation.nearest_rows import nearest
from localgcl.report.findings import Column
from localgcl.report.map import CATEGORIES, MISSING, OTHER, SEQUENCE, check_picture, draw_map, gathered, lay_out

RNG = np.random.default_rng(0)
XY = RNG.normal(size=(300, 2)).astype(np.float32)
CLASSES = Column("label", RNG.integers(-1, 25, size=300).astype(np.int32), tuple(f"class ${i}_{{" for i in range(25)))
NUMBERS = Column("income", np.where(RNG.random(300) < 0.1, np.nan, RNG.normal(size=300)).astype(np.float32))
EMPTY = Column("empty", np.full(300, np.nan, dtype=np.float32))
SIGHT = {
    "full": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "tritanopia": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}


@pytest.mark.parametrize("column", [CLASSES, NUMBERS, EMPTY], ids=lambda column: column.name)
def test_columns_of_each_kind_are_drawn(column: Column, tmp_path: Path) -> None:
    path = tmp_path / "map.png"
    draw_map(XY, column, "a $title", "how <it> was made", path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_extension_names_the_format_and_the_same_map_is_the_same_file(tmp_path: Path) -> None:
    for name, start in (("a.svg", b"<?xml"), ("b.pdf", b"%PDF")):
        path, again = tmp_path / name, tmp_path / f"again-{name}"
        for target in (path, again):
            draw_map(XY, CLASSES, "title", "note", target)
        assert path.read_bytes().startswith(start)
        assert path.read_bytes() == again.read_bytes()
    text = (tmp_path / "a.svg").read_text()
    assert "5 other classes" in text  # beyond twenty colours
    assert "none (" in text


def test_other_extensions_are_refused_before_the_work() -> None:
    with pytest.raises(ValueError, match=r"map.gif has the extension '.gif'; a picture is one of .png, .svg, .pdf"):
        check_picture(Path("map.gif"))


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    light: np.ndarray = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return light


def oklab(light: np.ndarray) -> np.ndarray:
    cones = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]])
    axes = np.array([[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])
    seen: np.ndarray = axes @ np.cbrt(cones @ np.clip(light, 0, 1))
    return seen


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize(("first", "apart"), [(8, 0.07), (20, 0.045)])
def test_colours_can_be_told_apart(sight: str, first: int, apart: float) -> None:
    # A difference of .02 in OKLab is just noticeable side by side; twice to three times that is told apart across a map.
    seen = [oklab(SIGHT[sight] @ linear(colour)) for colour in CATEGORIES[:first]]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > apart


def test_colours_show_on_white_and_on_black() -> None:
    for colour in (*CATEGORIES, OTHER, MISSING, *SEQUENCE):
        assert 0.35 < oklab(linear(colour))[0] < 0.9, colour


def test_lightness_of_numbers_rises_evenly() -> None:
    steps = np.diff([oklab(linear(colour))[0] for colour in SEQUENCE])
    assert steps.min() > 0.08
    assert steps.max() < 2 * steps.min()


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
