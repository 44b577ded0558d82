import itertools
from pathlib import Path

import numpy as np
import pytest

from localgcl.report.findings import Column
from localgcl.report.picture import CATEGORIES, MISSING, OTHER, SEQUENCE, check_picture, draw_map

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
